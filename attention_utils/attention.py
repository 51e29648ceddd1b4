"""Scaled dot-product attention, the whole of it: scores, weights, output."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import (
    Array,
    BoolArray,
    batch_of_pairs,
    bool_array,
    check_matrix,
    common_shape,
    finite_number,
    float_arrays,
    matmul_where,
    quiet_rounding,
)
from attention_utils.masks import causal_mask, combine_masks
from attention_utils.softmax import softmax


class AttentionResult(NamedTuple):
    """What `scaled_dot_product_attention` returns.

    Attributes
    ----------
    output : ndarray, shape (..., n_q, d_v)
        Row i is the weighted sum of the values that query i reads.
    weights : ndarray, shape (..., n_q, n_k)
        Row i is how query i divides its attention over the keys; it sums to 1 or is all zero.
    scores : ndarray, shape (..., n_q, n_k)
        What softmax received: scaled dot products plus bias, -inf where hidden.
    """

    output: Array
    weights: Array
    scores: Array


def attention_weights(
    query: ArrayLike,
    key: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Which keys each query reads, and how much: ``softmax(query @ keyᵀ * scale)`` by row.

    Parameters
    ----------
    query, key, bias, mask, causal, scale
        As in `scaled_dot_product_attention`.

    Returns
    -------
    weights : ndarray, shape (..., n_q, n_k)
        Row i belongs to query i and sums to 1, or is all zero if query i may read nothing.

    Raises
    ------
    ValueError
        As `scaled_dot_product_attention`.

    Notes
    -----
    Derived in chapter 2 for one query and in chapter 3 for all of them.

    Examples
    --------
    >>> attention_weights([[1, 0]], [[1, 0], [0, 1]], scale=1).round(3)
    array([[0.731, 0.269]])
    """
    named = {"query": query, "key": key} | ({} if bias is None else {"bias": bias})
    arrays, dtype = float_arrays(**named)
    scores = scores_of(*arrays, mask=mask, causal=causal, scale=scale)
    with quiet_rounding():
        return softmax(scores).astype(dtype, copy=False)


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> AttentionResult:
    """Each query reads the values, weighted by how well their keys match it.

    ``output = softmax(query @ keyᵀ * scale + bias) @ value``, softmax along the keys, with hidden
    pairs left out.

    Parameters
    ----------
    query : array_like, shape (..., n_q, d_k)
        One row per position that asks.
    key : array_like, shape (..., n_k, d_k)
        One row per position that can be read: what it is matched by.
    value : array_like, shape (..., n_k, d_v)
        One row per position that can be read: what it hands over.
    bias : array_like, shape (..., n_q, n_k), optional
        Added to the scaled dot products; -inf hides a pair.
    mask : array_like of bool, shape (..., n_q, n_k), optional
        True = this query may read this key. Axes of length 1 broadcast.
    causal : bool, default False
        Also apply ``causal_mask(n_q, n_k)``: the queries are the last positions of the keys.
    scale : float, optional
        Factor on the dot products; ``1 / sqrt(d_k)`` if left out.

    Returns
    -------
    AttentionResult
        ``output`` (..., n_q, d_v), ``weights`` and ``scores`` (..., n_q, n_k).

    Raises
    ------
    ValueError
        If shapes do not fit, an argument is not real, or `mask` is not boolean. The message names
        the argument, what it got and what it needs.

    Notes
    -----
    Equation 1 of Vaswani et al., "Attention is all you need" (2017); derived in chapters 2 and 3.

    Batch axes of every argument broadcast. A hidden pair has no influence at all, even if its
    key or value is NaN or inf and another query reads that same key. A query that may read
    nothing gives zero weights and a zero output. The dtype is the common type of all arrays if
    floating, else float64; float16 is computed in float32, and scores beyond its range come back
    as inf while weights and output are right.

    Examples
    --------
    >>> result = scaled_dot_product_attention([[1, 0]], [[1, 0], [0, 1]], [[10], [20]], scale=1)
    >>> result.weights.round(3), result.output.round(2)
    (array([[0.731, 0.269]]), array([[12.69]]))
    """
    named = {"query": query, "key": key, "value": value} | ({} if bias is None else {"bias": bias})
    (query, key, value, *rest), dtype = float_arrays(**named)
    scores = scores_of(query, key, *rest, mask=mask, causal=causal, scale=scale)
    check_value(value, key, query)
    weights = softmax(scores)
    with quiet_rounding():
        return AttentionResult(
            weighted_sum(weights, value, visible=scores != -np.inf).astype(dtype, copy=False),
            weights.astype(dtype, copy=False),
            scores.astype(dtype, copy=False),
        )


def scores_of(
    query: Array,
    key: Array,
    bias: Array | None = None,
    *,
    mask: ArrayLike | None,
    causal: bool,
    scale: float | None,
) -> Array:
    """What softmax receives: scaled dot products plus bias, -inf where hidden."""
    mask = check_pairs(query, key, bias, mask=mask, causal=causal)
    n_q, n_k = query.shape[-2], key.shape[-2]
    factor = scale_factor(query, scale)
    visible = combine_masks(
        mask,
        causal_mask(n_q, n_k) if causal else None,
        None if bias is None else bias != -np.inf,
    )
    scores = matmul_where(query, np.swapaxes(key, -1, -2), visible)
    # A hidden pair may hold inf or NaN; a visible inf meets NumPy's warning in softmax.
    with np.errstate(all="ignore"):
        scores = scores * factor
        if bias is not None:
            scores = scores + bias
    if visible is not None:
        scores = np.where(visible, scores, scores.dtype.type(-np.inf))
    return scores


def check_pairs(
    query: Array, key: Array, bias: Array | None, *, mask: ArrayLike | None, causal: bool
) -> BoolArray | None:
    """Refuse what does not say of each query and key whether and how they meet; return the mask."""
    _check_query_and_key(query, key)
    n_q, n_k = query.shape[-2], key.shape[-2]
    if not isinstance(causal, (bool, np.bool_)):
        raise ValueError(f"causal must be True or False, got {causal!r}; a mask goes to mask=")
    shapes = {"query": query.shape[:-2], "key": key.shape[:-2]}
    visible = None if mask is None else bool_array("mask", mask)
    if visible is not None:
        shapes["mask"] = batch_of_pairs("mask", visible, n_q, n_k)
    if bias is not None:
        shapes["bias"] = batch_of_pairs("bias", bias, n_q, n_k)
    common_shape("the batch axes", **shapes)
    return visible


def scale_factor(query: Array, scale: float | None) -> np.floating[Any]:
    """The factor on the dot products, in the dtype of the query."""
    with quiet_rounding():
        if scale is None:
            return 1 / np.sqrt(query.dtype.type(query.shape[-1]))
        factor = query.dtype.type(finite_number("scale", scale))
    if not np.isfinite(factor):
        raise ValueError(f"scale must be finite in {query.dtype}, got {scale!r}")
    return factor


def weighted_sum(weights: Array, value: Array, visible: BoolArray) -> Array:
    """``weights @ value`` in which a hidden value does not count: ``0 * nan`` would be nan."""
    finite = np.isfinite(value)
    if finite.all():
        return np.asarray(weights @ value)
    output = weights @ np.where(finite, value, 0)

    def read(pairs: BoolArray, values: BoolArray) -> BoolArray:
        """Does query i read, through one of `pairs`, a key whose entry is among `values`?"""
        return np.asarray(pairs.astype(np.float32) @ values.astype(np.float32) > 0)

    used = visible & (weights > 0)
    up, down = read(used, np.isposinf(value)), read(used, np.isneginf(value))
    output = np.where(up, np.inf, np.where(down, -np.inf, output))
    # inf - inf, 0 * inf and anything with NaN are NaN, as in ordinary arithmetic.
    broken = (up & down) | read(visible & ~used, np.isinf(value)) | read(visible, np.isnan(value))
    return np.where(broken, np.nan, output).astype(value.dtype, copy=False)


def _check_query_and_key(query: Array, key: Array) -> None:
    check_matrix("query", query, "query")
    check_matrix("key", key)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query has d_k={query.shape[-1]} but key has d_k={key.shape[-1]}; "
            "a dot product needs equally many features"
        )
    if query.shape[-1] == 0:
        raise ValueError("query and key must have d_k >= 1 features, got d_k=0")


def check_value(value: Array, key: Array, query: Array) -> None:
    """Refuse values that do not belong to these keys."""
    check_matrix("value", value)
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"value has {value.shape[-2]} rows but key has {key.shape[-2]}; "
            "each key needs exactly one value"
        )
    shapes = {"query": query, "key": key, "value": value}
    common_shape("the batch axes", **{name: a.shape[:-2] for name, a in shapes.items()})
