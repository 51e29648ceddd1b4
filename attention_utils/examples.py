"""The worked examples of the notes, as data: small integers, every size different.

Chapters, tests, the known mistakes and the coursework all calculate with these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from attention_utils._arrays import Array, BoolArray, real_array
from attention_utils.attention import scaled_dot_product_attention
from attention_utils.masks import causal_mask, combine_masks, padding_mask
from attention_utils.multihead import MultiHeadAttention


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """Inputs and weights of one attention layer, small enough to calculate by hand.

    Attributes
    ----------
    name : str
    x : ndarray, shape (..., n_q, d_model)
        Where the queries come from.
    w_q, w_k, w_v : ndarray
        Projections, as in `MultiHeadAttention`.
    w_o : ndarray or None
        Output projection; None for a single head that hands out what it read.
    memory : ndarray or None, shape (..., n_k, d_memory)
        Where keys and values come from; None means `x` (self-attention).
    n_heads : int
    causal : bool
    lengths : tuple of int or None
        Real tokens of each sequence in the memory; None means no padding.
    n_cached : int
        Positions of `x` whose keys are in the memory but which ask no more (a KV cache).
    """

    name: str
    x: Array
    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array | None = None
    memory: Array | None = None
    n_heads: int = 1
    causal: bool = False
    lengths: tuple[int, ...] | None = None
    n_cached: int = 0

    def __post_init__(self) -> None:
        # Shared by everybody who imports them: nobody changes them by accident.
        for name in ("x", "w_q", "w_k", "w_v", "w_o", "memory"):
            given = getattr(self, name)
            if given is not None:
                array = real_array(name, given).copy()
                array.flags.writeable = False
                object.__setattr__(self, name, array)
            elif name not in ("w_o", "memory"):
                raise ValueError(f"{name} must be an array, got None")

    @property
    def source(self) -> Array:
        """Where keys and values come from."""
        return self.x if self.memory is None else self.memory

    @property
    def asking(self) -> Array:
        """The rows of `x` that ask: all, or the last ones if the others are cached."""
        return self.x[..., self.n_cached :, :]

    @property
    def mask(self) -> BoolArray | None:
        """The mask of one head: causal and padding together, or None."""
        n_k = self.source.shape[-2]
        return combine_masks(
            causal_mask(self.asking.shape[-2], n_k) if self.causal else None,
            None if self.lengths is None else padding_mask(self.lengths, n_k),
        )

    @property
    def output(self) -> Array:
        """The right answer, by the package."""
        if self.w_o is None:
            query, source = self.asking @ self.w_q, self.source
            return scaled_dot_product_attention(
                query, source @ self.w_k, source @ self.w_v, mask=self.mask
            ).output
        layer = MultiHeadAttention(self.w_q, self.w_k, self.w_v, self.w_o, self.n_heads)
        return layer(self.asking, self.source, mask=self.mask).output


# d_k = 4, so that the scale is 1/2; the gaps of the dot products are 5 and 8 (chapters 3 and 5).
TWO_POSITIONS = Example(
    name="two positions",
    x=np.array([[1, 2, 0], [0, 2, 2]]),
    w_q=np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    w_k=np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 1]]),
    w_v=np.array([[2, 0], [1, 1], [0, 2]]),
)

# Every common mistake gives its own number: each differs from the truth and from all others by at
# least 0.5 somewhere.
DISCRIMINATING = Example(
    name="discriminating",
    x=np.array([[1, 2, 0, 0, 1], [1, 2, 2, 2, 2], [0, 1, 0, 0, 0]]),
    w_q=np.array([[1, -1, -1, 1], [-1, 0, -1, 0], [1, -1, -1, 1], [1, 1, -1, 0], [1, -1, -1, 1]]),
    w_k=np.array([[1, 0, 0, 1], [-1, 1, -1, -1], [-1, 1, -1, 1], [0, -1, 1, 0], [0, 1, -1, -1]]),
    w_v=np.array([[0, 1], [0, 3], [3, 2], [0, 3], [3, 3]]),
)
DISCRIMINATING_CAUSAL = replace(DISCRIMINATING, name="discriminating, causal", causal=True)

# What only several heads can get wrong: cutting, merging, order, the output projection.
TWO_HEADS = Example(
    name="two heads",
    x=np.array([[-1, 1, 0, -1], [-1, 0, 0, 0], [2, 2, 2, 1]]),
    w_q=np.array(
        [[-1, 0, -1, 0, 1, 0], [1, 1, -1, 0, 0, 0], [1, 0, -1, 0, -1, 0], [1, -1, 0, -1, 0, 1]]
    ),
    w_k=np.array(
        [[0, 0, 0, -1, 0, 0], [0, 0, 0, -1, 0, 1], [0, 1, -1, 1, -1, 0], [1, -1, 1, 0, 0, -1]]
    ),
    w_v=np.array([[2, 1, 1, 2], [2, 0, 0, 2], [2, 2, 2, 2], [2, 2, 0, 2]]),
    w_o=np.array([[-1, -1, 2, -1], [-1, 0, 2, 2], [0, 1, 0, 1], [1, 0, -1, 1]]),
    n_heads=2,
)

# Two queries, three keys: what a square matrix would hide.
CROSS = Example(
    name="cross-attention",
    x=np.array([[2, 0, 1, 0], [0, 0, 2, 0]]),
    memory=np.array([[2, 0, 1, 1], [2, 2, -1, 2], [-1, -1, 1, -1]]),
    w_q=np.array([[1, -1, 1, 0, 0], [0, 1, 1, 1, 1], [0, -1, 0, -1, -1], [-1, 1, -1, -1, 0]]),
    w_k=np.array([[1, 1, 0, 1, -1], [0, 1, -1, 0, -1], [1, -1, 1, -1, 1], [0, -1, 0, 1, -1]]),
    w_v=np.array([[2, -1], [1, 1], [0, 2], [2, 0]]),
)

# As many sequences as heads, so that a mask on the wrong axis raises no error.
PADDED = Example(
    name="padded batch",
    x=np.array(
        [[[1, 1, 2, 0], [2, 2, 0, 1], [2, -1, 1, 1]], [[0, 0, -1, -1], [2, 2, 0, -1], [2, 1, 2, 2]]]
    ),
    w_q=np.array(
        [[-1, -1, -1, -1, 0, -1], [1, 1, 1, 0, 1, 1], [1, 1, 0, -1, 0, 0], [-1, -1, 0, 1, 1, 0]]
    ),
    w_k=np.array(
        [[0, 0, 1, 1, -1, 0], [-1, 1, -1, 1, 1, 1], [-1, 0, -1, 0, -1, 0], [1, -1, -1, -1, 0, 0]]
    ),
    w_v=np.array([[2, 2, 0, 0], [-1, 1, 1, 2], [-1, 2, 1, 1], [2, 2, 2, 2]]),
    w_o=np.array([[0, 0, 0, 1], [2, 1, -1, 2], [0, 2, -1, 1], [-1, 2, -1, 1]]),
    n_heads=2,
    lengths=(2, 3),
)

# The first sequence has no real token at all.
NOTHING_TO_READ = Example(
    name="nothing to read",
    x=np.array(
        [
            [[-1, 0, 0, 0], [1, -1, -1, 1], [0, 2, -1, 1]],
            [[2, 1, -1, 0], [-1, -1, 1, 1], [-1, -1, 2, 2]],
        ]
    ),
    w_q=np.array([[-1, -1, 1, 0, -1], [-1, 1, 0, 1, -1], [0, 1, 1, -1, 0], [-1, 1, 0, 0, 1]]),
    w_k=np.array([[0, 0, 0, 1, 0], [1, 1, 0, 0, 0], [1, -1, -1, -1, -1], [0, 1, 0, 0, 1]]),
    w_v=np.array([[-1, 2], [0, 1], [1, -1], [0, 1]]),
    lengths=(0, 2),
)

# Five positions, of which the last three ask: the causal mask is not square.
CACHED = Example(
    name="cached keys",
    x=np.array([[2, -1, 2, 2], [0, 1, -1, -1], [0, 2, 0, 2], [1, -1, 1, 2], [2, 0, 2, 0]]),
    w_q=np.array([[0, -1, 0], [0, 0, 1], [-1, 0, 1], [-1, 0, -1]]),
    w_k=np.array([[-1, 0, -1], [0, 0, 0], [1, 1, 0], [0, -1, 1]]),
    w_v=np.array(
        [[2, -1, 1, 2, 0, 0], [-1, 2, 1, 2, -1, 1], [2, -1, -1, 0, 0, -1], [1, 2, 0, 2, -1, 1]]
    ),
    causal=True,
    n_cached=2,
)

EXAMPLES = (
    TWO_POSITIONS,
    DISCRIMINATING,
    DISCRIMINATING_CAUSAL,
    TWO_HEADS,
    CROSS,
    PADDED,
    NOTHING_TO_READ,
    CACHED,
)
