"""Known mistakes as switches of one reference implementation, and the search that names them.

`attend` is the formula as written, with a switch at every place where people go wrong. A mistake
is one switch in a wrong position, so any two can be combined. The same switches make the table
"if you got this, you did that", the mutants that the tests must kill, and the coursework feedback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, BoolArray, real_array
from attention_utils.attention import AttentionResult
from attention_utils.examples import Example
from attention_utils.masks import padding_mask
from attention_utils.multihead import (
    MultiHeadAttention,
    MultiHeadResult,
    merge_heads,
    split_heads,
)
from attention_utils.softmax import softmax

# The right position of every switch, and what it decides.
RIGHT: dict[str, str] = {
    "projections": "own",  # which matrix makes which of Q and K
    "sources": "own",  # which sequence asks and which is read
    "split": "features",  # how the width is cut into heads
    "head_axis": "inserted",  # where the mask gets its head axis
    "scale_by": "1/sqrt(d_k)",  # the factor on the dot products
    "causal_edge": "lower right",  # which keys count as "not later"
    "padding_hides": "keys",  # columns or rows
    "polarity": "true reads",  # what True in a mask means
    "masking": "before softmax",  # when and how hidden pairs are hidden
    "nothing_to_read": "zeros",  # a row in which every key is hidden
    "softmax_over": "keys",  # what is normalised, and how
    "weights_used": "by row",  # how weights meet values
    "merge": "side by side",  # how heads come together
    "head_order": "kept",
    "output_projection": "applied",
}


def attend(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
    d_model: int | None = None,
    **switches: str,
) -> AttentionResult:
    """Attention as the formula is written, with switches for what goes wrong.

    Without switches it agrees with `scaled_dot_product_attention` on ordinary input. It does not
    protect hidden NaN or inf: that is what the real one is for.

    Parameters
    ----------
    query, key, value, bias, mask, causal, scale
        As in `scaled_dot_product_attention`.
    d_model : int, optional
        Needed only to scale by it.
    **switches : str
        Positions of the switches in `RIGHT`; those about sources, projections and heads are for
        `attend_in_heads` and `answer`.

    Returns
    -------
    AttentionResult

    Raises
    ------
    ValueError
        If a switch or its position does not exist.
    """
    s = _positions(switches)
    query, key, value = (np.asarray(a) for a in (query, key, value))
    n_q, n_k, d_k = query.shape[-2], key.shape[-2], query.shape[-1]

    factor = _factor(s["scale_by"], scale, d_k, value.shape[-1], n_k, d_model)
    scores = query @ np.swapaxes(key, -1, -2) * factor
    if bias is not None:
        scores = scores + np.asarray(bias)
    visible = _visible(s, mask, causal, n_q, n_k)
    before = visible if s["masking"] == "before softmax" else np.True_
    if s["masking"] == "scores set to 0":
        scores = np.where(visible, scores, 0)
    scores = np.where(before, scores, -np.inf)

    weights = _normalised(s["softmax_over"], scores)
    if s["masking"] == "after softmax":
        weights = np.where(visible, weights, 0)
    if s["scale_by"] == "after softmax":
        weights = weights / np.sqrt(d_k)
    if s["nothing_to_read"] != "zeros":
        filling = {"NaN": np.nan, "uniform": 1 / max(n_k, 1)}[s["nothing_to_read"]]
        weights = np.where(np.any(visible, axis=-1, keepdims=True), weights, filling)
    used = np.swapaxes(weights, -1, -2) if s["weights_used"] == "transposed" else weights
    return AttentionResult(used @ value, weights, scores)


def answer(example: Example, **switches: str) -> Array:
    """The output of a worked example, with switches for what goes wrong.

    Parameters
    ----------
    example : Example
    **switches : str
        Positions of the switches in `RIGHT`.

    Returns
    -------
    output : ndarray
        ``example.output`` if every switch is in its right position.

    Raises
    ------
    ValueError
        If a switch does not exist, or the mistake is impossible with the example's shapes.
    """
    if switches.get("sources", "own") != "own" and example.memory is None:
        raise ValueError(f"{switches['sources']!r} needs a memory; {example.name!r} has none")
    s = _positions(switches)
    x, source = example.asking, example.source
    mask: ArrayLike | None = None
    if example.lengths is not None:
        mask = padding_mask(example.lengths, source.shape[-2])
    options: dict[str, Any] = {"causal": example.causal, **switches}
    weights = (example.w_q, example.w_k, example.w_v)
    if example.w_o is not None:
        layer = MultiHeadAttention(*weights, example.w_o, example.n_heads)
        return attend_in_heads(layer, x, source, mask=mask, **options).output
    x, source, mask = _sources(s["sources"], x, source, mask)
    w_q, w_k, w_v = _projections(s["projections"], *weights)
    options |= {"mask": mask, "d_model": x.shape[-1]}
    return attend(x @ w_q, source @ w_k, source @ w_v, **options).output


def attend_in_heads(
    layer: MultiHeadAttention,
    x: ArrayLike,
    memory: ArrayLike | None = None,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
    **switches: str,
) -> MultiHeadResult:
    """What a layer of several heads computes, with switches for what goes wrong.

    Parameters
    ----------
    layer : MultiHeadAttention
    x, memory, mask
        As in `MultiHeadAttention.__call__`.
    causal : bool, default False
    **switches : str
        Positions of the switches in `RIGHT`.

    Returns
    -------
    MultiHeadResult

    Raises
    ------
    ValueError
        If a switch does not exist, or the mistake is impossible with these shapes.
    """
    s = _positions(switches)
    x = np.asarray(x)
    source = x
    if memory is not None:
        x, source, mask = _sources(s["sources"], x, np.asarray(memory), mask)
    w_q, w_k, w_v = _projections(s["projections"], layer.w_q, layer.w_k, layer.w_v)
    projected = (
        _plus(x @ w_q, layer.b_q),
        _plus(source @ w_k, layer.b_k),
        _plus(source @ w_v, layer.b_v),
    )
    query, key, value = (_split(s["split"], rows, layer.n_heads) for rows in projected)
    if mask is not None and s["head_axis"] == "inserted":
        mask = np.atleast_2d(mask)[..., None, :, :]
    options: dict[str, Any] = {"causal": causal, "d_model": layer.d_model, **switches}
    head_outputs, weights, _ = attend(query, key, value, mask=mask, **options)
    if s["head_order"] == "reversed":
        head_outputs = head_outputs[..., ::-1, :, :]
    output = _merge(s["merge"], head_outputs)
    if s["output_projection"] == "applied":
        output = _plus(output @ layer.w_o, layer.b_o)
    return MultiHeadResult(output, weights, head_outputs)


@dataclass(frozen=True)
class Mistake:
    """One known mistake: a switch in a wrong position.

    Attributes
    ----------
    name : str
        Short, in snake case.
    switch, position : str
        Which switch of `RIGHT` is where it should not be.
    sentence : str
        What went wrong, said to the person who did it.
    source : str
        Where it has been published or discussed; "exercise" if only seen in answers.
    """

    name: str
    switch: str
    position: str
    sentence: str
    source: str = "exercise"

    @property
    def switches(self) -> dict[str, str]:
        """The mistake as an argument for `attend` and `answer`."""
        return {self.switch: self.position}


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "no_scale",
        "scale_by",
        "1",
        "You did not scale: the dot products must be divided by sqrt(d_k) before softmax.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "divided_by_d_k",
        "scale_by",
        "1/d_k",
        "You divided by d_k; its square root is meant, because d_k is a variance, not a spread.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "scaled_by_model_width",
        "scale_by",
        "1/sqrt(d_model)",
        "You scaled by the width of the model; a dot product has only d_k terms.",
        "karpathy/ng-video-lecture, pull request 6",
    ),
    Mistake(
        "scaled_by_value_width",
        "scale_by",
        "1/sqrt(d_v)",
        "You scaled by the width of the values; they take no part in the dot products.",
    ),
    Mistake(
        "scaled_by_number_of_keys",
        "scale_by",
        "1/sqrt(n_k)",
        "You scaled by the number of keys; the sum in a dot product runs over d_k features.",
    ),
    Mistake(
        "multiplied_by_root",
        "scale_by",
        "sqrt(d_k)",
        "You multiplied by sqrt(d_k) where you should divide.",
    ),
    Mistake(
        "scaled_after_softmax",
        "scale_by",
        "after softmax",
        "You scaled the weights after softmax; scale the dot products before it.",
    ),
    Mistake(
        "softmax_over_queries",
        "softmax_over",
        "queries",
        "Your columns sum to 1, your rows do not: you normalised over the queries.",
        "rasbt/machine-learning-book, issue 97; "
        "labmlai/annotated_deep_learning_paper_implementations, issue 146",
    ),
    Mistake(
        "softmax_over_everything",
        "softmax_over",
        "the whole matrix",
        "All your weights together sum to 1: softmax belongs to each row alone.",
    ),
    Mistake(
        "scores_used_as_weights",
        "softmax_over",
        "nothing",
        "You used the scores as weights: softmax is missing.",
        "datawhalechina/happy-llm, issue 161 (scores and weights confused in words)",
    ),
    Mistake(
        "exp_not_normalised",
        "softmax_over",
        "nothing, after exp",
        "You took exp but did not divide by its sum: your rows do not sum to 1.",
    ),
    Mistake(
        "hard_maximum",
        "softmax_over",
        "the largest only",
        "You gave all the weight to the largest score; softmax gives every visible key a share.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "uniform_weights",
        "softmax_over",
        "the number of keys",
        "You averaged the values: your weights do not depend on the scores.",
    ),
    Mistake(
        "swapped_q_and_k",
        "projections",
        "swapped",
        "You exchanged W_Q and W_K: the matrix that asks and the matrix that is matched.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "one_matrix_for_q_and_k",
        "projections",
        "keys with the queries' matrix",
        "You made the keys with W_Q: your dot products are symmetric.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "weights_transposed",
        "weights_used",
        "transposed",
        "You multiplied the values by the transposed weights: row i is no longer query i.",
        "harvardnlp/annotated-transformer, issue 104 (maps with query and key exchanged)",
    ),
    Mistake(
        "mask_ignored",
        "masking",
        "ignored",
        "You ignored the mask: hidden keys still get weight.",
    ),
    Mistake(
        "masked_after_softmax",
        "masking",
        "after softmax",
        "You masked after softmax: the visible weights of a row no longer sum to 1.",
    ),
    Mistake(
        "hidden_scores_zero",
        "masking",
        "scores set to 0",
        "You set hidden scores to 0: exp(0) is 1, so hidden keys still get weight. Use -inf.",
    ),
    Mistake(
        "causal_sees_one_ahead",
        "causal_edge",
        "one later",
        "Your causal mask is off by one: each query also reads the position after it.",
    ),
    Mistake(
        "causal_misses_itself",
        "causal_edge",
        "one earlier",
        "Your causal mask is off by one: a query must be able to read its own position.",
    ),
    Mistake(
        "causal_transposed",
        "causal_edge",
        "transposed",
        "Your causal mask is transposed: each query reads itself and what comes later.",
    ),
    Mistake(
        "causal_upper_left",
        "causal_edge",
        "upper left",
        "Your causal mask counts from the first key; the queries are the last positions.",
        "rasbt/LLMs-from-scratch, pull request 697; meta-llama/llama, issue 899",
    ),
    Mistake(
        "mask_inverted",
        "polarity",
        "true hides",
        "Your mask is inverted: you hid what may be read and read what is hidden.",
        "rasbt/LLMs-from-scratch, issue 1061; pytorch/pytorch, pull request 170415",
    ),
    Mistake(
        "padding_hides_queries",
        "padding_hides",
        "queries",
        "You hid the rows of padded queries; padding hides columns, the padded keys.",
        "harvardnlp/annotated-transformer, issue 37; bentrevett/pytorch-seq2seq, issue 119",
    ),
    Mistake(
        "empty_row_nan",
        "nothing_to_read",
        "NaN",
        "A query with nothing to read became NaN; its weights and its output are zero.",
        "hyunwoongko/transformer, pull request 40; pytorch/pytorch, issue 64525",
    ),
    Mistake(
        "empty_row_uniform",
        "nothing_to_read",
        "uniform",
        "A query with nothing to read spread its weight over forbidden keys, as a large "
        "negative number in place of -inf makes it; its weights are zero.",
        "hyunwoongko/transformer, pull request 40; pytorch/pytorch, issue 64525",
    ),
    Mistake(
        "cross_sources_swapped",
        "sources",
        "swapped",
        "Your cross-attention runs backwards: the decoder asks, the encoder is read.",
        "datawhalechina/happy-llm, issue 5; pbloem/former, issue 19",
    ),
    Mistake(
        "cross_reads_itself",
        "sources",
        "only the queries' sequence",
        "Your cross-attention never read the memory: keys and values come from the encoder.",
        "datawhalechina/learn-nlp-with-transformers, issue 12",
    ),
    Mistake(
        "query_length_for_keys",
        "sources",
        "keys cut to the queries' length",
        "You used the number of queries for the keys too: the end of the memory was never read.",
        "huggingface/transformers, pull request 48356",
    ),
    Mistake(
        "heads_by_one_reshape",
        "split",
        "one reshape",
        "You split heads with one reshape: positions got mixed into heads. Cut the features, "
        "then move the head axis.",
    ),
    Mistake(
        "mask_without_head_axis",
        "head_axis",
        "missing",
        "Your mask has no head axis: sequence b of the batch masked head b of every sequence.",
    ),
    Mistake(
        "merged_by_one_reshape",
        "merge",
        "one reshape",
        "You merged heads with one reshape: move the head axis back behind the positions first.",
    ),
    Mistake(
        "heads_averaged",
        "merge",
        "averaged",
        "You averaged the heads; they are put side by side, and W_O adds up what each writes.",
    ),
    Mistake(
        "heads_reversed",
        "head_order",
        "reversed",
        "Your heads are in reverse order: the rows of W_O belong to the heads in their order.",
    ),
    Mistake(
        "no_output_projection",
        "output_projection",
        "missing",
        "You left out the output projection: multiply the merged heads by W_O.",
        "karpathy/minGPT, issue 135; poloclub/transformer-explainer, issue 71",
    ),
)


def wrong_answers(example: Example) -> dict[Mistake, Array]:
    """Return what each known mistake gives on an example.

    Parameters
    ----------
    example : Example

    Returns
    -------
    outputs : dict of Mistake to ndarray
        In the order of `MISTAKES`; a mistake that is impossible with the example's shapes, or
        changes nothing there, is left out.

    Notes
    -----
    The table "if you got this, you did that" of chapter 5.
    """
    outputs = {}
    for mistake in MISTAKES:
        output = _possible(example, mistake.switches)
        if output is None:
            continue
        if not _same(example.output, output):
            outputs[mistake] = output
    return outputs


def diagnose(output: ArrayLike, example: Example) -> tuple[Mistake, ...] | None:
    """Which known mistake, or which two together, give this output?

    Parameters
    ----------
    output : array_like
        Somebody's output for `example`, exact or rounded to two decimals or more.
    example : Example
        One of `attention_utils.examples`, or your own.

    Returns
    -------
    mistakes : tuple of Mistake, or None
        One mistake if a single one explains the output, else two; None if the output is right or
        no known mistake explains it.

    Raises
    ------
    ValueError
        If `output` is not an array of real numbers or `example` is not an `Example`.

    Notes
    -----
    Every known wrong solution is run on the same input and its output compared. A single
    mistake is preferred to a pair; among equals the first in `MISTAKES` is named. Chapter 5.
    """
    given = real_array("output", output)
    if not isinstance(example, Example):
        raise ValueError(f"example must be an Example, got {type(example).__name__}")
    right = example.output
    if _same(given, right):
        return None
    for together in (1, 2):
        for mistakes in combinations(MISTAKES, together):
            switches = {m.switch: m.position for m in mistakes}
            if len(switches) < together:  # one switch cannot be in two positions
                continue
            wrong = _possible(example, switches)
            if wrong is not None and _same(given, wrong):
                return mistakes
    return None


def _possible(example: Example, switches: Mapping[str, str]) -> Array | None:
    """What the mistakes give; None if they are impossible with these shapes."""
    try:
        with np.errstate(all="ignore"):  # a wrong way may overflow where the right one does not
            return answer(example, **switches)
    except ValueError:
        return None


def _same(given: Array, known: Array) -> bool:
    """Equal up to rounding: to two decimals, or in the dtype that was handed in."""
    if given.shape != known.shape:
        return False
    # Where all numbers are small, two decimals would let every answer pass.
    atol = min(6e-3, 5e-3 * np.ptp(known)) if known.size and np.isfinite(known).all() else 6e-3
    rtol = 4 * np.finfo(given.dtype).eps if given.dtype.kind == "f" else 0
    return np.allclose(given, known, rtol=rtol, atol=atol, equal_nan=True)


def _positions(switches: Mapping[str, str]) -> dict[str, str]:
    unknown = set(switches) - set(RIGHT)
    if unknown:
        raise ValueError(f"switches must be among {sorted(RIGHT)}, got {sorted(unknown)}")
    known = {(m.switch, m.position) for m in MISTAKES} | set(RIGHT.items())
    for switch in switches.items():
        if switch not in known:
            raise ValueError(f"switch {switch[0]!r} has no position {switch[1]!r}")
    return RIGHT | dict(switches)


def _factor(
    scale_by: str, scale: float | None, d_k: int, d_v: int, n_k: int, d_model: int | None
) -> float:
    """What the dot products are multiplied by before softmax."""
    if scale_by == "1/sqrt(d_k)" and scale is not None:
        return scale
    if scale_by == "1/sqrt(d_model)":
        if d_model is None:
            raise ValueError("d_model is needed to scale by the width of the model")
        return d_model**-0.5
    factors = {
        "1/sqrt(d_k)": d_k**-0.5,
        "1": 1.0,
        "after softmax": 1.0,
        "1/d_k": 1 / d_k,
        "1/sqrt(d_v)": d_v**-0.5,
        "1/sqrt(n_k)": max(n_k, 1) ** -0.5,
        "sqrt(d_k)": d_k**0.5,
    }
    return factors[scale_by]


def _visible(
    s: Mapping[str, str], mask: ArrayLike | None, causal: bool, n_q: int, n_k: int
) -> BoolArray:
    """Which pairs are visible, by whoever positioned the switches."""
    visible = np.ones((n_q, n_k), dtype=np.bool_)
    if s["masking"] == "ignored":
        return visible
    if causal:
        lower_right = n_k - n_q
        visible = {
            "lower right": np.tri(n_q, n_k, lower_right, dtype=np.bool_),
            "one later": np.tri(n_q, n_k, lower_right + 1, dtype=np.bool_),
            "one earlier": np.tri(n_q, n_k, lower_right - 1, dtype=np.bool_),
            "upper left": np.tri(n_q, n_k, 0, dtype=np.bool_),
            "transposed": ~np.tri(n_q, n_k, lower_right - 1, dtype=np.bool_),
        }[s["causal_edge"]]
    if mask is not None:
        mask = np.asarray(mask)
        visible = visible & (np.swapaxes(mask, -1, -2) if s["padding_hides"] == "queries" else mask)
    return ~visible if s["polarity"] == "true hides" and (causal or mask is not None) else visible


def _normalised(softmax_over: str, scores: Array) -> Array:
    """The scores turned into weights, or into what was taken for weights."""
    if softmax_over == "keys":
        return softmax(scores)
    if softmax_over == "queries":
        return softmax(scores, axis=-2)
    if softmax_over == "the whole matrix":
        return softmax(scores.reshape(*scores.shape[:-2], -1)).reshape(scores.shape)
    if softmax_over == "nothing":
        return np.where(np.isneginf(scores), 0, scores)
    if softmax_over == "nothing, after exp":
        return np.asarray(np.exp(scores))
    if softmax_over == "the largest only":
        largest = scores == np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
        return softmax(np.zeros(scores.shape), where=largest & (scores > -np.inf))
    return softmax(np.zeros(scores.shape), where=scores > -np.inf)  # the number of keys


def _sources(
    sources: str, x: Array, memory: Array, mask: ArrayLike | None
) -> tuple[Array, Array, ArrayLike | None]:
    """Which rows ask, which are read, and the mask for as many keys."""
    if sources == "own":
        return x, memory, mask
    if sources == "swapped":
        x, memory = memory, x
    elif sources == "only the queries' sequence":
        memory = x
    else:  # keys cut to the queries' length
        memory = memory[..., : x.shape[-2], :]
    return x, memory, None if mask is None else np.asarray(mask)[..., : memory.shape[-2]]


def _projections(
    projections: str, w_q: Array, w_k: Array, w_v: Array
) -> tuple[Array, Array, Array]:
    """The matrices that are used for queries, keys and values."""
    if projections == "swapped":
        return w_k, w_q, w_v
    return w_q, w_k if projections == "own" else w_q, w_v


def _split(split: str, x: Array, n_heads: int) -> Array:
    if split == "features":
        return split_heads(x, n_heads)
    *batch, n, width = x.shape
    return x.reshape(*batch, n_heads, n, width // n_heads)


def _merge(merge: str, heads: Array) -> Array:
    if merge == "one reshape":
        return heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)
    merged = merge_heads(heads)
    return merged / heads.shape[-3] if merge == "averaged" else merged


def _plus(rows: Array, bias: Array | None) -> Array:
    return rows if bias is None else rows + bias
