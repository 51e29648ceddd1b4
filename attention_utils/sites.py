"""The three places where the encoder-decoder Transformer uses attention.

The mechanism is the same. What differs is where queries, keys and values come from, and what is
hidden.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from attention_utils._arrays import Array, BoolArray, bool_array, check_rows, real_array
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
    x = _rows("x", x, _layer(mha).d_model)
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
    y = _rows("y", y, _layer(mha).d_model)
    padding = _hides_keys("padding", padding, y)
    return mha(y, mask=combine_masks(causal_mask(y.shape[-2]), padding))


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
    y = _rows("y", y, _layer(mha).d_model)
    if memory is None:
        raise ValueError("memory is needed: cross-attention reads the encoder's output")
    memory = _rows("memory", memory, mha.d_memory)
    return mha(y, memory, mask=_hides_keys("memory_padding", memory_padding, memory))


def _layer(mha: MultiHeadAttention) -> MultiHeadAttention:
    if not isinstance(mha, MultiHeadAttention):
        raise ValueError(f"mha must be a MultiHeadAttention, got {type(mha).__name__}")
    return mha


def _rows(name: str, value: ArrayLike, width: int) -> Array:
    """Refuse rows that do not fit the layer, under the name they have here."""
    rows = real_array(name, value)
    check_rows(name, rows, width)
    return rows


def _hides_keys(name: str, padding: ArrayLike | None, keys: Array) -> BoolArray | None:
    """Refuse a padding mask that does not come in the shape `padding_mask` gives it."""
    if padding is None:
        return None
    mask, n_k = bool_array(name, padding), keys.shape[-2]
    if mask.ndim < 2 or mask.shape[-2:] != (1, n_k):
        raise ValueError(
            f"{name} must have shape (..., 1, {n_k}), as padding_mask(lengths, {n_k}) "
            f"gives it, got {mask.shape}"
        )
    return mask
