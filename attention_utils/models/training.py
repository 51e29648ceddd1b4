"""Training the translator with gradients written by hand.

Each step of the forward pass returns its result together with a function that goes the same step
back: it takes the gradient of the loss by the result, adds the gradients of its parameters to a
dictionary, and returns the gradient by its input. The backward pass calls these functions in
reverse order. Attention itself is the package's `scaled_dot_product_attention` and its `_backward`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from attention_utils._arrays import Array, BoolArray, count
from attention_utils.attention import scaled_dot_product_attention
from attention_utils.backward import scaled_dot_product_attention_backward
from attention_utils.block import layer_norm, sinusoidal_positions
from attention_utils.masks import causal_mask, padding_mask
from attention_utils.models.adam import Adam, Parameters
from attention_utils.models.grammar import PAD_ID, Batch, Ids, batch_of, random_pairs
from attention_utils.models.translator import D_MODEL, N_HEADS, Translator, parameter_shapes
from attention_utils.multihead import merge_heads, split_heads
from attention_utils.softmax import log_softmax

Back = Callable[[Array], Array]

STEPS, BATCH_SIZE = 800, 64
LEARNING_RATE, WARM_UP, FINAL = 3e-3, 100, 0.05  # the peak, the steps up to it, the share left
MAX_NORM = 1.0


class TrainingRun(NamedTuple):
    """What `train` returns.

    Attributes
    ----------
    translator : Translator
        In float32.
    losses : ndarray, shape (steps,)
        Mean of -log(probability of the right token) over the batch of each step, in nats.
    """

    translator: Translator
    losses: Array


def train(seed: int, steps: int = STEPS, *, causal: bool = True) -> TrainingRun:
    """Train a translator from random weights on fresh sentences.

    Parameters
    ----------
    seed : int
        Of the first weights and of the sentences. On one machine the same seed and number of steps
        give the same weights, bit by bit.
    steps : int, default 800
        Batches of 64 sentences; the learning rate falls to its end within this number.
    causal : bool, default True
        False trains without the causal mask, so each position sees the word it is to write.

    Returns
    -------
    TrainingRun

    Raises
    ------
    ValueError
        If `seed` or `steps` is not an integer, or negative.

    Notes
    -----
    Adam with the constants of Vaswani et al. (2017), section 5.3, under a learning rate that rises
    for 100 steps and falls along half a cosine; a gradient longer than 1 is shortened to 1.
    Chapter 9.
    """
    rng = np.random.default_rng(count("seed", seed))
    parameters = initial_parameters(rng)
    adam = Adam(parameters, beta_2=0.98)
    losses = np.empty(count("steps", steps))
    for step in range(steps):
        batch = batch_of(random_pairs(rng, BATCH_SIZE))
        losses[step], gradients = loss_and_gradients(parameters, batch, causal=causal)
        clip(gradients, MAX_NORM)
        adam.step(gradients, learning_rate(step, steps))
    mask = "" if causal else ", without the causal mask"
    note = f"Trained by attention_utils.models.training: seed {seed}, {steps} steps{mask}."
    return TrainingRun(Translator(parameters, causal=causal, note=note), losses)


def initial_parameters(rng: np.random.Generator) -> dict[str, Array]:
    """Draw random matrices, gains of 1, biases and shifts of 0, all in float32.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    parameters : dict of str to ndarray
        Matrices are uniform with variance 2 / (rows + columns) (Glorot and Bengio, 2010); rows of
        embeddings have length 1 on average, and are multiplied by sqrt(64) when used.
    """

    def draw(name: str, shape: tuple[int, ...]) -> Array:
        if name.endswith("embedding"):
            return rng.standard_normal(shape) / math.sqrt(D_MODEL)
        if len(shape) == 2:
            return rng.uniform(-1, 1, shape) * math.sqrt(6 / sum(shape))
        return np.ones(shape) if name.endswith("gain") else np.zeros(shape)

    shapes = parameter_shapes()
    return {name: draw(name, shape).astype(np.float32) for name, shape in shapes.items()}


def learning_rate(step: int, steps: int) -> float:
    """The learning rate of a step, counted from 0: a short rise, then half a cosine down.

    Parameters
    ----------
    step, steps : int

    Returns
    -------
    rate : float
    """
    rise = min((step + 1) / WARM_UP, 1)
    fall = (1 + math.cos(math.pi * (step + 1) / steps)) / 2
    return LEARNING_RATE * rise * (FINAL + (1 - FINAL) * fall)


def clip(gradients: Mapping[str, Array], longest: float) -> None:
    """Shorten the gradients, taken as one long vector, to at most this length; in place.

    Parameters
    ----------
    gradients : mapping of str to ndarray
    longest : float
    """
    norm = math.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values()))
    if norm > longest:
        for gradient in gradients.values():
            gradient *= gradient.dtype.type(longest / norm)


def loss_and_gradients(
    parameters: Parameters, batch: Batch, *, causal: bool = True
) -> tuple[float, dict[str, Array]]:
    """Mean of -log(probability of the right token), and how it moves with each parameter.

    Parameters
    ----------
    parameters : mapping of str to ndarray
        The names and shapes of `parameter_shapes`; computed in their dtype.
    batch : Batch
    causal : bool, default True

    Returns
    -------
    loss : float
        In nats; padding does not count.
    gradients : dict of str to ndarray
        Each of its parameter's shape.
    """
    steps = _Steps(parameters)
    padding = _padding(batch.source)
    memory, back_encoder = steps.encoder(batch.source, padding)
    target_mask = causal_mask(batch.target.shape[1]) if causal else _padding(batch.target_input)
    rows, back_decoder = steps.decoder(batch.target_input, target_mask, memory, padding)
    logits, back_logits = steps.linear(rows, "output.w", "output.b")

    log_probability = log_softmax(logits)
    right = (*np.indices(batch.target.shape, sparse=True), batch.target)
    share = (batch.target != PAD_ID).astype(logits.dtype)
    share /= share.sum()
    loss = -np.sum(share * log_probability[right])

    grad_logits = np.exp(log_probability)
    grad_logits[right] -= 1
    back_encoder(back_decoder(back_logits(grad_logits * share[..., None])))
    return float(loss), steps.gradients


def _padding(ids: Ids) -> BoolArray:
    """May this key be read? With an axis for the heads."""
    return padding_mask(np.count_nonzero(ids != PAD_ID, axis=-1), ids.shape[-1])[:, None]


class _Steps:
    """The forward pass in steps that can go back; `gradients` fills up on the way back."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.gradients = {name: np.zeros_like(array) for name, array in parameters.items()}

    def encoder(self, source: Ids, padding: BoolArray) -> tuple[Array, Back]:
        x, back_embed = self.embed(source, "source.embedding")
        read, back_attend = self.attend(x, x, "encoder_self", padding)
        x, back_norm_1 = self.norm(x + read, "encoder.norm_1")
        update, back_feed = self.feed_forward(x, "encoder")
        x, back_norm_2 = self.norm(x + update, "encoder.norm_2")

        def back(grad: Array) -> Array:
            grad = back_norm_2(grad)
            grad = back_norm_1(grad + back_feed(grad))
            grad_query, grad_memory = back_attend(grad)
            return back_embed(grad + grad_query + grad_memory)

        return x, back

    def decoder(
        self, target_input: Ids, mask: BoolArray, memory: Array, padding: BoolArray
    ) -> tuple[Array, Back]:
        """Goes back to the memory, and on the way to the embeddings of the target."""
        y, back_embed = self.embed(target_input, "target.embedding")
        own, back_own = self.attend(y, y, "decoder_self", mask)
        y, back_norm_1 = self.norm(y + own, "decoder.norm_1")
        read, back_cross = self.attend(y, memory, "cross", padding)
        y, back_norm_2 = self.norm(y + read, "decoder.norm_2")
        update, back_feed = self.feed_forward(y, "decoder")
        y, back_norm_3 = self.norm(y + update, "decoder.norm_3")

        def back(grad: Array) -> Array:
            grad = back_norm_3(grad)
            grad = back_norm_2(grad + back_feed(grad))
            grad_query, grad_source = back_cross(grad)
            grad = back_norm_1(grad + grad_query)
            grad_query, grad_memory = back_own(grad)
            back_embed(grad + grad_query + grad_memory)
            return grad_source

        return y, back

    def attend(
        self, x: Array, memory: Array, site: str, mask: BoolArray
    ) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
        """Goes back to `x` and to `memory`."""
        query, back_query = self.linear(x, f"{site}.w_q")
        key, back_key = self.linear(memory, f"{site}.w_k")
        value, back_value = self.linear(memory, f"{site}.w_v")
        query_heads, key_heads, value_heads = (
            split_heads(rows, N_HEADS) for rows in (query, key, value)
        )
        read = scaled_dot_product_attention(query_heads, key_heads, value_heads, mask=mask)
        output, back_output = self.linear(merge_heads(read.output), f"{site}.w_o")

        def back(grad: Array) -> tuple[Array, Array]:
            grad_heads = split_heads(back_output(grad), N_HEADS)
            by_head = scaled_dot_product_attention_backward(
                query_heads, key_heads, value_heads, grad_heads, mask=mask
            )
            grad_query, grad_key, grad_value = (merge_heads(g) for g in by_head)
            return back_query(grad_query), back_key(grad_key) + back_value(grad_value)

        return output, back

    def embed(self, ids: Ids, name: str) -> tuple[Array, Back]:
        table = self._parameters[name]
        scale = table.dtype.type(math.sqrt(D_MODEL))
        positions = sinusoidal_positions(ids.shape[1], D_MODEL).astype(table.dtype)

        def back(grad: Array) -> Array:
            # Picking rows is a product with 0s and 1s; its way back is one too, and fast.
            picked = (ids.reshape(-1, 1) == np.arange(len(table))).astype(table.dtype)
            self.gradients[name] += picked.T @ grad.reshape(-1, D_MODEL) * scale
            return grad

        return table[ids] * scale + positions, back

    def feed_forward(self, x: Array, block: str) -> tuple[Array, Back]:
        hidden, back_1 = self.linear(x, f"{block}.w_1", f"{block}.b_1")
        output, back_2 = self.linear(np.maximum(hidden, 0), f"{block}.w_2", f"{block}.b_2")
        return output, lambda grad: back_1(back_2(grad) * (hidden > 0))

    def linear(self, x: Array, weight: str, bias: str | None = None) -> tuple[Array, Back]:
        matrix = self._parameters[weight]
        rows = x.reshape(-1, matrix.shape[0])
        output = rows @ matrix
        if bias is not None:
            output += self._parameters[bias]

        def back(grad: Array) -> Array:
            grad_rows = grad.reshape(-1, matrix.shape[1])
            self.gradients[weight] += rows.T @ grad_rows
            if bias is not None:
                self.gradients[bias] += grad_rows.sum(axis=0)
            return (grad_rows @ matrix.T).reshape(x.shape)

        return output.reshape(*x.shape[:-1], matrix.shape[1]), back

    def norm(self, x: Array, name: str, eps: float = 1e-5) -> tuple[Array, Back]:
        gain = self._parameters[f"{name}.gain"]
        standard = layer_norm(x, eps=eps)

        def back(grad: Array) -> Array:
            axes = tuple(range(x.ndim - 1))
            self.gradients[f"{name}.gain"] += np.sum(grad * standard, axis=axes)
            self.gradients[f"{name}.shift"] += np.sum(grad, axis=axes)
            grad = grad * gain
            # Moving all features together, or along the row itself, changes nothing.
            grad = grad - grad.mean(axis=-1, keepdims=True)
            grad = grad - standard * np.mean(grad * standard, axis=-1, keepdims=True)
            return grad / np.sqrt(x.var(axis=-1, keepdims=True) + grad.dtype.type(eps))

        return standard * gain + self._parameters[f"{name}.shift"], back
