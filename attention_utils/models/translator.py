"""A small trained encoder-decoder, English to French, out of the package's own three sites.

One encoder block, one decoder block, normalisation after each addition as in the first
Transformer; 64 features a row, 4 heads, 98 thousand parameters. `attention_utils.models.grammar`
is the language, `attention_utils.models.training` is where the weights come from: `make train`
with seed 1, 800 steps of 64 sentences. They are stored as float16, with which exactly as many
sentences come out right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, BoolArray, count, int_array, real_array
from attention_utils.block import layer_norm, sinusoidal_positions
from attention_utils.masks import padding_mask
from attention_utils.models.grammar import (
    END,
    END_ID,
    PAD_ID,
    SOURCE_VOCABULARY,
    START,
    START_ID,
    TARGET_VOCABULARY,
    Ids,
    SentencePair,
    source_ids,
    target_tokens,
    words_of,
)
from attention_utils.multihead import MultiHeadAttention, MultiHeadResult
from attention_utils.sites import cross_attention, decoder_self_attention, encoder_self_attention

D_MODEL, N_HEADS, D_HIDDEN = 64, 4, 128
SITES = ("encoder_self", "decoder_self", "cross")
# The grammar's longest sentence has 17 French words; what is not ended by then never will be.
MAX_TOKENS = 20

WEIGHTS = Path(__file__).with_name("french.npz")
SHA256 = "0a6e3865546bd457107350ee88bc936a3e6bcffe5be0042fac2de6039758aed5"


def parameter_shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter, in the order in which training draws them.

    Returns
    -------
    shapes : dict of str to tuple of int
    """
    n_source, n_target = len(SOURCE_VOCABULARY), len(TARGET_VOCABULARY)
    shapes: dict[str, tuple[int, ...]] = {
        "source.embedding": (n_source, D_MODEL),
        "target.embedding": (n_target, D_MODEL),
    }
    for site in SITES:
        shapes |= {f"{site}.{name}": (D_MODEL, D_MODEL) for name in ("w_q", "w_k", "w_v", "w_o")}
    for block, n_norms in (("encoder", 2), ("decoder", 3)):
        shapes |= {
            f"{block}.w_1": (D_MODEL, D_HIDDEN),
            f"{block}.b_1": (D_HIDDEN,),
            f"{block}.w_2": (D_HIDDEN, D_MODEL),
            f"{block}.b_2": (D_MODEL,),
        }
        for i in range(1, n_norms + 1):
            shapes |= {f"{block}.norm_{i}.{name}": (D_MODEL,) for name in ("gain", "shift")}
    return shapes | {"output.w": (D_MODEL, n_target), "output.b": (n_target,)}


class Translation(NamedTuple):
    """A sentence, its translation, and the maps of all heads at all three sites.

    The decoder stands at position i, has read ``input_tokens[: i + 1]``, and writes
    ``target_tokens[i]``. Row i of `decoder_self` and `cross` belongs to this position.

    Attributes
    ----------
    source_tokens : tuple of str, length n
        The English words, then ``</s>``: rows and columns of `encoder_self`, columns of `cross`.
    target_tokens : tuple of str, length m
        What was written: the French words, then ``</s>``.
    encoder_self : ndarray, shape (n_heads, n, n)
    decoder_self : ndarray, shape (n_heads, m, m)
        Rows and columns are `input_tokens`.
    cross : ndarray, shape (n_heads, m, n)
        Rows are `input_tokens` if you ask who reads, `target_tokens` if you ask for which word.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    encoder_self: Array
    decoder_self: Array
    cross: Array

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """What the decoder read: ``<s>``, then all that it wrote except the last token."""
        return (START, *self.target_tokens[:-1])

    @property
    def text(self) -> str:
        """The French words as one string."""
        return " ".join(token for token in self.target_tokens if token != END)


class ForwardPass(NamedTuple):
    """What the model computes from a batch when it is told what to read on both sides.

    Attributes
    ----------
    logits : ndarray, shape (n_pairs, n_target, vocabulary)
        Softmax along the last axis gives the probability of each next token.
    encoder_self, decoder_self, cross : ndarray, shape (n_pairs, n_heads, n_q, n_k)
        The weights, as in `Translation`; rows of padded positions mean nothing.
    """

    logits: Array
    encoder_self: Array
    decoder_self: Array
    cross: Array


class Translator:
    """The parameters of the model, and everything that it does with them.

    Parameters
    ----------
    parameters : mapping of str to array_like
        The names and shapes of `parameter_shapes`.
    causal : bool, default True
        False: the decoder's self-attention hides nothing but padding. For the experiment that
        shows what the causal mask is for.
    note : str, optional
        How the parameters came about.

    Attributes
    ----------
    parameters : dict of str to ndarray
        Read-only.
    encoder_self, decoder_self, cross : MultiHeadAttention
    causal : bool
    note : str

    Raises
    ------
    ValueError
        If a parameter is missing, unknown, of another shape, or not finite.

    Notes
    -----
    Vaswani et al. (2017), figure 1, with one block on each side. Chapter 9.

    Examples
    --------
    >>> Translator.load().translate("my cat never saw these red cars").text
    'mon chat ne voyait jamais ces voitures rouges'
    """

    def __init__(
        self, parameters: Mapping[str, ArrayLike], *, causal: bool = True, note: str = ""
    ) -> None:
        self.parameters = _checked(parameters)
        self.causal = causal
        self.note = note
        self.encoder_self, self.decoder_self, self.cross = map(self._layer, SITES)

    def __repr__(self) -> str:
        n = sum(array.size for array in self.parameters.values())
        return f"Translator({n} parameters{'' if self.causal else ', causal=False'})"

    @classmethod
    def load(cls, path: str | Path | None = None) -> Self:
        """Read weights that `save` wrote.

        Parameters
        ----------
        path : str or Path, optional
            The weights that come with the package if left out; their SHA-256 is checked.

        Returns
        -------
        Translator
            In float32.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is damaged, or not one that `save` wrote.
        """
        file = WEIGHTS if path is None else Path(path)
        try:
            content = file.read_bytes()
        except OSError as error:
            raise FileNotFoundError(
                f"no weights at {file} ({error.strerror}); `make train` writes them"
            ) from None
        if path is None and hashlib.sha256(content).hexdigest() != SHA256:
            raise ValueError(
                f"{file} is damaged, or not of this version: its SHA-256 is not {SHA256[:12]}…; "
                "restore it, or, after `make train`, put what that printed into translator.py"
            )
        try:
            with np.load(BytesIO(content)) as stored:
                arrays = {name: stored[name] for name in stored.files}
            note, causal = str(arrays.pop("note")), bool(arrays.pop("causal"))
        except Exception as error:  # whatever NumPy's reader makes of a damaged file
            raise ValueError(f"{file} does not hold weights of a Translator: {error}") from None
        return cls(
            {name: array.astype(np.float32) for name, array in arrays.items()},
            causal=causal,
            note=note,
        )

    def save(self, path: str | Path) -> None:
        """Write the parameters as float16, with the note; the same model gives the same bytes.

        Parameters
        ----------
        path : str or Path
        """
        halves = {name: array.astype(np.float16) for name, array in self.parameters.items()}
        # Not compressed: it would save little, and compressors differ in their bytes.
        with Path(path).open("wb") as file:
            np.savez(file, note=np.array(self.note), causal=np.array(self.causal), **halves)  # type: ignore[arg-type]

    def without_head(self, site: str, head: int) -> Self:
        """The same model, but nothing that one head read is written into the output.

        Parameters
        ----------
        site : {"encoder_self", "decoder_self", "cross"}
        head : int
            Counted from 0.

        Returns
        -------
        Translator
            A copy in which the rows of ``w_o`` that belong to this head are 0 (chapter 6).

        Raises
        ------
        ValueError
            If there is no such site or head.
        """
        if site not in SITES:
            raise ValueError(f"site must be one of {', '.join(SITES)}, got {site!r}")
        if count("head", head) >= N_HEADS:
            raise ValueError(f"head must be in 0..{N_HEADS - 1}, got {head}")
        name, width = f"{site}.w_o", D_MODEL // N_HEADS
        w_o = self.parameters[name].copy()
        w_o[head * width : (head + 1) * width] = 0
        note = f"{self.note} Without head {head} of {site}.".lstrip()
        return type(self)(self.parameters | {name: w_o}, causal=self.causal, note=note)

    def translate(self, sentence: str) -> Translation:
        """Translate one sentence, word after word, and keep every map.

        Parameters
        ----------
        sentence : str
            English words of the toy language; any order of them is accepted.

        Returns
        -------
        Translation

        Raises
        ------
        ValueError
            If a word is unknown; the message lists near ones.

        Notes
        -----
        The maps come from one more pass over the finished translation. Under the causal mask a
        position never sees what comes later, so these are the maps it had while writing.
        """
        words = words_of(sentence)
        source = source_ids([words])
        written = self.greedy(source)
        start = np.full((1, 1), START_ID)
        _, *maps = self(source, np.concatenate([start, written[:, :-1]], axis=1))
        return Translation((*words, END), target_tokens(written[0]), *(m[0] for m in maps))

    def greedy(self, source: ArrayLike) -> Ids:
        """Translate a batch: always the most probable next token, until ``</s>``.

        Parameters
        ----------
        source : array_like of int, shape (n_sentences, n_source)
            As `source_ids` gives it.

        Returns
        -------
        written : ndarray of int, shape (n_sentences, n_target)
            The French words, then ``</s>``, then padding. A translation that has not ended after
            `MAX_TOKENS` tokens is cut.

        Raises
        ------
        ValueError
            If `source` does not hold ids of the vocabulary, padded at the end.
        """
        source = _checked_ids("source", source, len(SOURCE_VOCABULARY))
        memory, padding, _ = self._encode(source)
        written = np.full((len(source), MAX_TOKENS), PAD_ID)
        active = np.arange(len(source))  # the sentences that have not ended
        given = np.full((len(source), 1), START_ID)
        n = 0
        while n < MAX_TOKENS and active.size:
            rows, _, _ = self._decode(given, memory[active], padding[active])
            token = self._logits(rows[:, -1]).argmax(axis=-1)
            written[active, n] = token
            goes_on = token != END_ID
            active = active[goes_on]
            given = np.concatenate([given, token[:, None]], axis=1)[goes_on]
            n += 1
        return written[:, :n]

    def exact_match(self, pairs: Sequence[SentencePair]) -> float:
        """Share of the sentences whose greedy translation is right to the last word.

        Parameters
        ----------
        pairs : sequence of SentencePair

        Returns
        -------
        share : float

        Raises
        ------
        ValueError
            If there is no pair.
        """
        if not pairs:
            raise ValueError("pairs must hold at least one sentence pair, got none")
        written = self.greedy(source_ids([pair.source for pair in pairs]))
        right = [
            target_tokens(row) == (*pair.target, END)
            for row, pair in zip(written, pairs, strict=True)
        ]
        return float(np.mean(right))

    def __call__(self, source: ArrayLike, target_input: ArrayLike) -> ForwardPass:
        """One pass in which the decoder is told what it has written: teacher forcing.

        Parameters
        ----------
        source, target_input : array_like of int, shape (n_pairs, n_source), (n_pairs, n_target)
            As in a `Batch`.

        Returns
        -------
        ForwardPass

        Raises
        ------
        ValueError
            If they do not hold ids of their vocabularies, padded at the end, in equal number.
        """
        source = _checked_ids("source", source, len(SOURCE_VOCABULARY))
        target_input = _checked_ids("target_input", target_input, len(TARGET_VOCABULARY))
        if len(source) != len(target_input):
            raise ValueError(
                f"target_input has {len(target_input)} rows but source has {len(source)}; "
                "each sentence needs both"
            )
        memory, padding, encoder_self = self._encode(source)
        rows, decoder_self, cross = self._decode(target_input, memory, padding)
        return ForwardPass(self._logits(rows), encoder_self, decoder_self, cross)

    def _encode(self, source: Ids) -> tuple[Array, BoolArray, Array]:
        """The memory, what of it is not padding, and the weights."""
        padding = _padding(source)
        x = self._embed("source", source)
        read = encoder_self_attention(self.encoder_self, x, padding=padding)
        x = self._add_and_norm(x, read.output, "encoder.norm_1")
        x = self._add_and_norm(x, self._feed_forward(x, "encoder"), "encoder.norm_2")
        return x, padding, read.weights

    def _decode(
        self, target_input: Ids, memory: Array, padding: BoolArray
    ) -> tuple[Array, Array, Array]:
        """The decoder's rows, and the weights of its two sites."""
        y = self._embed("target", target_input)
        own = self._read_target(y, _padding(target_input))
        y = self._add_and_norm(y, own.output, "decoder.norm_1")
        read = cross_attention(self.cross, y, memory, memory_padding=padding)
        y = self._add_and_norm(y, read.output, "decoder.norm_2")
        y = self._add_and_norm(y, self._feed_forward(y, "decoder"), "decoder.norm_3")
        return y, own.weights, read.weights

    def _read_target(self, y: Array, padding: BoolArray) -> MultiHeadResult:
        # Without its causal mask the decoder's site is the encoder's.
        attend = decoder_self_attention if self.causal else encoder_self_attention
        return attend(self.decoder_self, y, padding=padding)

    def _layer(self, site: str) -> MultiHeadAttention:
        weights = {name: self.parameters[f"{site}.{name}"] for name in ("w_q", "w_k", "w_v", "w_o")}
        return MultiHeadAttention(**weights, n_heads=N_HEADS)

    def _embed(self, side: str, ids: Ids) -> Array:
        table = self.parameters[f"{side}.embedding"]
        positions = sinusoidal_positions(ids.shape[1], D_MODEL).astype(table.dtype)
        return table[ids] * table.dtype.type(math.sqrt(D_MODEL)) + positions

    def _add_and_norm(self, x: Array, update: Array, name: str) -> Array:
        gain, shift = (self.parameters[f"{name}.{part}"] for part in ("gain", "shift"))
        return layer_norm(x + update, gain, shift)

    def _feed_forward(self, x: Array, block: str) -> Array:
        w_1, b_1, w_2, b_2 = (self.parameters[f"{block}.{n}"] for n in ("w_1", "b_1", "w_2", "b_2"))
        return np.maximum(x @ w_1 + b_1, 0) @ w_2 + b_2

    def _logits(self, rows: Array) -> Array:
        return rows @ self.parameters["output.w"] + self.parameters["output.b"]


def _checked(parameters: Mapping[str, ArrayLike]) -> dict[str, Array]:
    shapes = parameter_shapes()
    wrong = [name for name in shapes if name not in parameters]
    if wrong:
        raise ValueError(f"parameters must have {wrong[0]!r}, of shape {shapes[wrong[0]]}")
    wrong = [name for name in parameters if name not in shapes]
    if wrong:
        raise ValueError(f"parameters has {wrong[0]!r}, which the model does not have")
    checked = {}
    for name, shape in shapes.items():
        array = real_array(f"parameters[{name!r}]", parameters[name]).copy()
        if array.shape != shape:
            raise ValueError(f"parameters[{name!r}] must have shape {shape}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"parameters[{name!r}] must be finite, got NaN or inf")
        array.flags.writeable = False
        checked[name] = array
    return checked


def _checked_ids(name: str, ids: ArrayLike, size: int) -> Ids:
    array = int_array(name, ids).astype(np.int64)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (sentences, tokens), got {array.shape}")
    if array.min() < 0 or array.max() >= size:
        raise ValueError(f"{name} must hold ids in 0..{size - 1}, got {array.min()}..{array.max()}")
    if not np.array_equal(array != PAD_ID, _padding(array)[:, 0]):
        raise ValueError(f"{name} must have its padding (id {PAD_ID}) at the end of each row")
    return array


def _padding(ids: Ids) -> BoolArray:
    return padding_mask(np.count_nonzero(ids != PAD_ID, axis=-1), ids.shape[-1])
