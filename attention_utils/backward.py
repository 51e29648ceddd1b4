"""What attention passes back: from the gradient of its output to those of queries, keys, values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, float_arrays, matmul_where, quiet_rounding
from attention_utils.attention import check_value, scale_factor, scores_of, weighted_sum
from attention_utils.softmax import softmax


class AttentionGradients(NamedTuple):
    """What `scaled_dot_product_attention_backward` returns: each as large as what it belongs to.

    Attributes
    ----------
    query : ndarray, shape of the query
    key : ndarray, shape of the key
    value : ndarray, shape of the value
    """

    query: Array
    key: Array
    value: Array


def scaled_dot_product_attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_output: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> AttentionGradients:
    """How a loss moves with the inputs of attention, given how it moves with the output.

    With weights ``A``, scores ``S`` and ``G = grad_output``. The value path is ``dV = Aᵀ G``. The
    score path is ``dA = G Vᵀ``, then ``dS = A * (dA - rowsum(A * dA))``, and at its end
    ``dQ = dS K * scale`` and ``dK = dSᵀ Q * scale``.

    Parameters
    ----------
    query, key, value, bias, mask, causal, scale
        What `scaled_dot_product_attention` was called with.
    grad_output : array_like, shape (..., n_q, d_v)
        Derivative of the loss by each entry of the output; the shape of that output.

    Returns
    -------
    AttentionGradients
        ``query``, ``key`` and ``value``, each of its input's shape: where an input was broadcast,
        the gradients of its copies are added.

    Raises
    ------
    ValueError
        As `scaled_dot_product_attention`, and if `grad_output` has not the shape of the output.

    Notes
    -----
    The chain rule through equation 1 of Vaswani et al. (2017); derived in chapter 9, the Jacobian
    of softmax in chapter 8.

    A hidden pair passes back exactly 0, even if its query, key, value or `grad_output` is NaN or
    inf. The weights are computed anew, so nothing has to be kept from the forward pass. The dtype
    is the common type of all arrays, as in the forward pass.

    Examples
    --------
    With one key the weight is 1 whatever the score is: only the value path is left.

    >>> scaled_dot_product_attention_backward([[2, 1]], [[1, 3]], [[5]], [[1]])
    AttentionGradients(query=array([[0., 0.]]), key=array([[0., 0.]]), value=array([[1.]]))
    """
    named = {"query": query, "key": key, "value": value, "grad_output": grad_output}
    named |= {} if bias is None else {"bias": bias}
    (query, key, value, grad, *rest), dtype = float_arrays(**named)
    scores = scores_of(query, key, *rest, mask=mask, causal=causal, scale=scale)
    check_value(value, key, query)
    batch = np.broadcast_shapes(scores.shape[:-2], value.shape[:-2])
    shape = (*batch, query.shape[-2], value.shape[-1])
    if grad.shape != shape:
        raise ValueError(f"grad_output must have the output's shape {shape}, got {grad.shape}")

    visible = scores != -np.inf
    # A row with a visible NaN is NaN everywhere, but what is hidden stays without influence.
    weights = np.where(visible, softmax(scores), 0)
    with quiet_rounding():
        grad_value = weighted_sum(_transposed(weights), grad, visible=_transposed(visible))

        grad_weights = matmul_where(grad, _transposed(value), visible)
        grad_weights = np.where(visible, grad_weights, 0)
        # The Jacobian diag(a) - a aᵀ of softmax, applied to each row without being written out.
        mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
        grad_scores = np.where(visible, weights * (grad_weights - mean), 0)

        grad_products = grad_scores * scale_factor(query, scale)
        grad_query = grad_products @ _finite(key)
        grad_key = _transposed(grad_products) @ _finite(query)
        return AttentionGradients(
            *(
                _summed_to(of.shape, grad).astype(dtype, copy=False)
                for of, grad in ((query, grad_query), (key, grad_key), (value, grad_value))
            )
        )


def _transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _finite(rows: Array) -> Array:
    """0 for what is not finite: if it was visible, the gradient of its score is NaN already."""
    return np.where(np.isfinite(rows), rows, 0).astype(rows.dtype, copy=False)


def _summed_to(shape: tuple[int, ...], gradient: Array) -> Array:
    """Add up along the axes along which an array of this shape was copied to broadcast."""
    added = gradient.ndim - len(shape)
    copied = [i + added for i, n in enumerate(shape) if n == 1 and gradient.shape[i + added] != 1]
    total = np.sum(gradient, axis=(*range(added), *copied), keepdims=True)
    return np.asarray(total).reshape(shape)
