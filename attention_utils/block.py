"""The two small helpers around attention in a Transformer block: positions and normalisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import (
    Array,
    axis_index,
    count,
    finite_number,
    float_arrays,
    quiet_rounding,
)


def sinusoidal_positions(n: int, d_model: int) -> Array:
    """One row of sines and cosines per position, to be added to the embeddings.

    Parameters
    ----------
    n : int
        Number of positions, counted from 0.
    d_model : int
        Width of a row; the last sine has no cosine if it is odd.

    Returns
    -------
    positions : ndarray, shape (n, d_model)
        ``positions[i, 2m] = sin(i / 10000**(2m / d_model))`` and ``positions[i, 2m+1]`` the
        cosine of the same angle.

    Raises
    ------
    ValueError
        If `n` is not an integer >= 0 or `d_model` not an integer >= 1.

    Notes
    -----
    Vaswani et al. (2017), section 3.5. Attention itself has no order (chapter 3); chapter 7 adds
    it this way.

    Examples
    --------
    >>> sinusoidal_positions(2, 4).round(3)
    array([[0.   , 1.   , 0.   , 1.   ],
           [0.841, 0.54 , 0.01 , 1.   ]])
    """
    n, d_model = count("n", n), count("d_model", d_model, least=1)
    pairs = np.arange(0, d_model, 2)
    angles = np.arange(n)[:, None] / 10000 ** (pairs / d_model)
    positions = np.empty((n, d_model))
    positions[:, 0::2] = np.sin(angles)
    positions[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return positions


def layer_norm(
    x: ArrayLike,
    gain: ArrayLike | None = None,
    shift: ArrayLike | None = None,
    *,
    eps: float = 1e-5,
) -> Array:
    """Bring each row to mean 0 and variance 1, then apply gain and shift.

    Parameters
    ----------
    x : array_like, shape (..., d)
    gain, shift : array_like, shape (d,), optional
        Learned factors and offsets, one per feature.
    eps : float, default 1e-5
        Added to the variance, so that a constant row gives zeros.

    Returns
    -------
    y : ndarray, shape (..., d)
        ``(x - mean) / sqrt(variance + eps) * gain + shift`` along the last axis, with the variance
        that divides by d.

    Raises
    ------
    ValueError
        If `gain` or `shift` does not have one entry per feature, or `eps` is negative.

    Notes
    -----
    Ba, Kiros and Hinton, "Layer normalization" (2016). Chapter 7.

    Examples
    --------
    >>> layer_norm([1, 3], eps=0)
    array([-1.,  1.])
    """
    named = {"x": x, "gain": gain, "shift": shift}
    named = {name: value for name, value in named.items() if value is not None}
    arrays, dtype = float_arrays(**named)  # type: ignore[arg-type]
    given = dict(zip(named, arrays, strict=True))
    rows = given.pop("x")
    axis_index(-1, rows.ndim, "x")
    if rows.shape[-1] == 0:
        raise ValueError(f"x must have at least one feature a row, got shape {rows.shape}")
    for name, array in given.items():
        if array.shape != rows.shape[-1:]:
            raise ValueError(
                f"{name} must have shape {rows.shape[-1:]}, one number a feature, got {array.shape}"
            )
    if finite_number("eps", eps) < 0:
        raise ValueError(f"eps must be >= 0, got {eps!r}")
    # From the first entry on: the mean of equal numbers, rounded, need not be that number.
    rows = rows - rows[..., :1]
    centred = rows - rows.mean(axis=-1, keepdims=True)
    with quiet_rounding():
        variance = np.mean(centred**2, axis=-1, keepdims=True)
        result = centred / np.sqrt(variance + rows.dtype.type(eps))
        result = result * given.get("gain", 1) + given.get("shift", 0)
        return np.asarray(result.astype(dtype, copy=False))
