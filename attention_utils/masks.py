"""Masks say which query may read which key: True = may read.

This is the convention of `torch.nn.functional.scaled_dot_product_attention`, JAX and Keras, and
the opposite of the masks of `torch.nn.MultiheadAttention`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from attention_utils._arrays import Array, BoolArray, bool_array, common_shape, count, int_array


def causal_mask(n_q: int, n_k: int | None = None) -> BoolArray:
    """Each position may read itself and what came before it.

    Parameters
    ----------
    n_q : int
        Number of queries.
    n_k : int, optional
        Number of keys; `n_q` if left out. The queries are the *last* positions of the keys.

    Returns
    -------
    mask : ndarray of bool, shape (n_q, n_k)
        ``mask[i, j] = (j <= i + (n_k - n_q))``. If ``n_q > n_k`` the first ``n_q - n_k`` rows
        have nothing to read.

    Raises
    ------
    ValueError
        If a size is not an integer >= 0.

    Notes
    -----
    Aligned at the lower right, as a KV cache and FlashAttention need it. Derived in chapter 3.

    Examples
    --------
    >>> causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    >>> causal_mask(1, 3).astype(int)
    array([[1, 1, 1]])
    """
    n_q = count("n_q", n_q)
    n_k = n_q if n_k is None else count("n_k", n_k)
    return np.tri(n_q, n_k, n_k - n_q, dtype=np.bool_)


def padding_mask(lengths: ArrayLike, n_k: int) -> BoolArray:
    """Real tokens may be read, padding may not.

    Parameters
    ----------
    lengths : array_like of int, shape (...)
        Number of real tokens of each sequence, each in ``0..n_k``.
    n_k : int
        Number of keys, padding included.

    Returns
    -------
    mask : ndarray of bool, shape (..., 1, n_k)
        ``mask[..., 0, j] = (j < length)``: columns of the scores, the same for every query.

    Raises
    ------
    ValueError
        If a length is not an integer in ``0..n_k``.

    Notes
    -----
    Padding hides *keys*. A padded position still asks as a query; nobody reads its output.
    Derived in chapter 3.

    Examples
    --------
    >>> padding_mask([1, 3], 3).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    n_k = count("n_k", n_k)
    array = int_array("lengths", lengths)
    if np.any((array < 0) | (array > n_k)):
        raise ValueError(f"lengths must be in 0..{n_k} (n_k), got {array.tolist()}")
    return np.arange(n_k) < array[..., None, None]


def combine_masks(*masks: ArrayLike | None) -> BoolArray | None:
    """A pair is visible if every mask allows it.

    Parameters
    ----------
    *masks : array_like of bool, or None
        Masks whose shapes broadcast together; None means "no restriction" and is ignored.

    Returns
    -------
    mask : ndarray of bool, or None
        The logical and of all masks; None if there is none.

    Raises
    ------
    ValueError
        If a mask is not boolean or the shapes do not broadcast.

    Examples
    --------
    >>> combine_masks(causal_mask(2), None, padding_mask(1, 2)).astype(int)
    array([[1, 0],
           [1, 0]])
    """
    arrays = {
        f"masks[{i}]": bool_array(f"masks[{i}]", mask)
        for i, mask in enumerate(masks)
        if mask is not None
    }
    if not arrays:
        return None
    shape = common_shape("masks", **{name: array.shape for name, array in arrays.items()})
    combined = np.ones(shape, dtype=np.bool_)
    for array in arrays.values():
        combined &= array
    return combined


def additive_mask(mask: ArrayLike, dtype: DTypeLike = float) -> Array:
    """The mask as numbers to add to the scores: 0 where visible, -inf where hidden.

    Parameters
    ----------
    mask : array_like of bool
        True = may read.
    dtype : floating dtype, default float

    Returns
    -------
    bias : ndarray of `dtype`, shape of `mask`

    Raises
    ------
    ValueError
        If `mask` is not boolean or `dtype` is not floating.

    Examples
    --------
    >>> additive_mask([True, False])
    array([  0., -inf])
    """
    visible = bool_array("mask", mask)
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ValueError(f"dtype must be a floating dtype, got {dtype!r}") from None
    if kind.kind != "f":
        raise ValueError(f"dtype must be floating, got {kind}: integers have no -inf")
    return np.where(visible, kind.type(0), kind.type(-np.inf))
