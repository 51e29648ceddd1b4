"""The three places where the encoder-decoder Transformer uses attention.

The mechanism is the same. What differs is where queries, keys and values come from, and what is
hidden.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import BoolArray, bool_array
from attention_utils.masks import causal_mask, combine_masks
from attention_utils.multihead import MultiHeadAttention, MultiHeadResult


def encoder_self_attention(
    mha: MultiHeadAttention, x: ArrayLike, *, padding: ArrayLike | None = None
) -> MultiHeadResult:
    """Every source position reads every real source position.

    Parameters
    ----------
    mha : MultiHeadAttention
    x : array_like, shape (..., n, d_model)
        The source sequence: queries, keys and values all come from it.
    padding : array_like of bool, shape (..., 1, n), optional
        What `padding_mask` returns for the source.

    Returns
    -------
    MultiHeadResult
        Maps of shape (..., n_heads, n, n).

    Raises
    ------
    ValueError
        As `MultiHeadAttention.__call__`.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.3. Chapter 7.
    """
    return mha(x, mask=_hides_keys("padding", padding, x))


def decoder_self_attention(
    mha: MultiHeadAttention, y: ArrayLike, *, padding: ArrayLike | None = None
) -> MultiHeadResult:
    """Every target position reads itself and the real target positions before it.

    Parameters
    ----------
    mha : MultiHeadAttention
    y : array_like, shape (..., n, d_model)
        The target sequence so far: queries, keys and values all come from it.
    padding : array_like of bool, shape (..., 1, n), optional
        What `padding_mask` returns for the target.

    Returns
    -------
    MultiHeadResult
        Maps of shape (..., n_heads, n, n), zero above the diagonal.

    Raises
    ------
    ValueError
        As `MultiHeadAttention.__call__`.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.3. Chapter 7.
    """
    padding = _hides_keys("padding", padding, y)
    n = np.shape(y)[-2] if np.ndim(y) >= 2 else 0  # the call below refuses a wrong shape
    return mha(y, mask=combine_masks(causal_mask(n), padding))


def cross_attention(
    mha: MultiHeadAttention,
    y: ArrayLike,
    memory: ArrayLike,
    *,
    memory_padding: ArrayLike | None = None,
) -> MultiHeadResult:
    """Every target position reads every real source position.

    Parameters
    ----------
    mha : MultiHeadAttention
    y : array_like, shape (..., n_q, d_model)
        The decoder's rows: the queries come from here.
    memory : array_like, shape (..., n_k, d_memory)
        The encoder's output: keys and values come from here.
    memory_padding : array_like of bool, shape (..., 1, n_k), optional
        What `padding_mask` returns for the source.

    Returns
    -------
    MultiHeadResult
        Maps of shape (..., n_heads, n_q, n_k): target rows, source columns.

    Raises
    ------
    ValueError
        As `MultiHeadAttention.__call__`.

    Notes
    -----
    Vaswani et al. (2017), section 3.2.3. Chapter 7.
    """
    if memory is None:
        raise ValueError("memory is needed: cross-attention reads the encoder's output")
    return mha(y, memory, mask=_hides_keys("memory_padding", memory_padding, memory))


def _hides_keys(name: str, padding: ArrayLike | None, keys: ArrayLike) -> BoolArray | None:
    """Refuse a padding mask that does not come in the shape `padding_mask` gives it."""
    if padding is None:
        return None
    mask, shape = bool_array(name, padding), np.shape(keys)
    if len(shape) >= 2 and (mask.ndim < 2 or mask.shape[-2:] != (1, shape[-2])):
        raise ValueError(
            f"{name} must have shape (..., 1, {shape[-2]}), as padding_mask(lengths, {shape[-2]}) "
            f"gives it, got {mask.shape}"
        )
    return mask
