"""Softmax and what is derived from it, for rows that may have hidden entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import (
    Array,
    axis_index,
    bool_array,
    check_weights,
    common_shape,
    float_arrays,
    quiet_rounding,
)


def softmax(x: ArrayLike, axis: int = -1, *, where: ArrayLike | None = None) -> Array:
    """Turn scores into weights: positive numbers that sum to 1 along `axis`.

    For visible entries ``softmax(x)[j] = exp(x[j]) / sum(exp(x))``.

    Parameters
    ----------
    x : array_like, shape (..., n, ...)
        Scores. An entry of -inf counts as hidden.
    axis : int, default -1
        The axis along which the result sums to 1; in attention the axis of the keys.
    where : array_like of bool, optional
        True where an entry takes part; broadcasts with `x`. Hidden entries get weight 0 and
        have no influence, even if they are NaN or inf.

    Returns
    -------
    weights : ndarray, shape of `x` broadcast with `where`
        Each row sums to 1, or is all zero if nothing in it is visible. A visible NaN or +inf
        makes its row NaN (for +inf with NumPy's warning).

    Raises
    ------
    ValueError
        If `x` is not real, `where` is not boolean, or `axis` is not an axis of `x`.

    Notes
    -----
    The largest visible score is subtracted first. That changes nothing in exact arithmetic, since
    numerator and denominator are divided by the same number, and it keeps ``exp`` at or below 1.
    float16 is computed in float32. Derived in chapter 3, "Reading the matrices by row".

    Examples
    --------
    >>> softmax([0, 1, 2]).round(3)
    array([0.09 , 0.245, 0.665])
    >>> softmax([0, 1, 2], where=[True, True, False]).round(3)
    array([0.269, 0.731, 0.   ])
    """
    (scores,), dtype = float_arrays(x=x)
    axis = axis_index(axis, scores.ndim, "x") - scores.ndim  # from the end: `where` may add axes
    if where is not None:
        visible = bool_array("where", where)
        common_shape("x and where", x=scores.shape, where=visible.shape)
        scores = np.where(visible, scores, scores.dtype.type(-np.inf))
    with quiet_rounding():
        exponentials = np.exp(_shifted(scores, axis))
        total = np.sum(exponentials, axis=axis, keepdims=True)
        # A row without a visible entry has total 0 and keeps its zeros.
        weights = exponentials / np.where(total == 0, 1, total)
        return weights.astype(dtype, copy=False)


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """The logarithm of `softmax`, without the detour through numbers too small to represent.

    Parameters
    ----------
    x : array_like, shape (..., n, ...)
        Scores.
    axis : int, default -1
        The axis along which ``exp`` of the result sums to 1.

    Returns
    -------
    log_weights : ndarray, shape of `x`
        At most 0; -inf where `x` is -inf, and in a row that holds nothing else.

    Raises
    ------
    ValueError
        If `x` is not real or `axis` is not an axis of `x`.

    Notes
    -----
    ``log_softmax(x)[j] = x[j] - max(x) - log(sum(exp(x - max(x))))``.

    Examples
    --------
    >>> log_softmax([0.0, 1000.0])
    array([-1000.,     0.])
    """
    (scores,), dtype = float_arrays(x=x)
    axis = axis_index(axis, scores.ndim, "x")
    with quiet_rounding():
        shifted = _shifted(scores, axis)
        total = np.sum(np.exp(shifted), axis=axis, keepdims=True)
        return (shifted - np.log(np.where(total == 0, 1, total))).astype(dtype, copy=False)


def softmax_jacobian(p: ArrayLike) -> Array:
    """How each weight of a row moves with each score: ``diag(p) - p pᵀ``.

    Parameters
    ----------
    p : array_like, shape (..., n)
        Weights, the output of `softmax` along the last axis.

    Returns
    -------
    jacobian : ndarray, shape (..., n, n)
        Entry [j, k] is the derivative of weight j by score k. Symmetric; rows sum to 0; its
        trace is ``sum(p * (1 - p))``, which goes to 0 as the row saturates.

    Raises
    ------
    ValueError
        If a row of `p` is neither a distribution nor all zero.

    Notes
    -----
    ``d p_j / d x_k = p_j * ((j == k) - p_k)``.

    Examples
    --------
    >>> softmax_jacobian([0.5, 0.5])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    (weights,), dtype = float_arrays(p=p)
    axis_index(-1, weights.ndim, "p")
    check_weights("p", weights)
    with quiet_rounding():
        diagonal = weights[..., None] * np.eye(weights.shape[-1], dtype=weights.dtype)
        jacobian = diagonal - weights[..., :, None] * weights[..., None, :]
        return np.asarray(jacobian).astype(dtype, copy=False)


def entropy(p: ArrayLike, axis: int = -1) -> Array:
    """How widely a row of weights spreads, in nats.

    Parameters
    ----------
    p : array_like, shape (..., n, ...)
        Weights, the output of `softmax` along `axis`.
    axis : int, default -1
        The axis along which `p` sums to 1.

    Returns
    -------
    entropy : ndarray, shape of `p` without `axis`
        Between 0 (all weight on one key, or an all-zero row) and ``log(n)`` (uniform weights).

    Raises
    ------
    ValueError
        If a row of `p` is neither a distribution nor all zero.

    Notes
    -----
    ``-sum(p * log(p))`` with ``0 * log(0) = 0``; ``exp(entropy)`` is the number of keys that a
    uniform row of the same entropy would read.

    Examples
    --------
    >>> entropy([0.25, 0.25, 0.25, 0.25]).round(3)
    np.float64(1.386)
    """
    (weights,), dtype = float_arrays(p=p)
    axis = axis_index(axis, weights.ndim, "p")
    weights = np.moveaxis(weights, axis, -1)
    check_weights("p", weights)
    with quiet_rounding():
        logs = np.log(np.where(weights == 0, 1, weights))
        # Adding 0 turns the -0.0 of a one-hot row into 0.0.
        result = 0 - np.sum(weights * logs, axis=-1)
        return result.astype(dtype, copy=False)


def _shifted(scores: Array, axis: int) -> Array:
    """Scores minus the largest of their row; a row of -inf stays as it is."""
    largest = np.max(scores, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isneginf(largest), 0, largest).astype(scores.dtype, copy=False)
    return np.asarray(scores - largest)
