"""The same numbers as the Attention operator of ONNX, run by its reference evaluator.

Read in onnx 1.23.2 (operator versions 23 to 25):
- a boolean `attn_mask` is True where a query may read, as ours; a float one is our bias;
- a fully hidden row gives zeros in the output and in the weights, as ours;
- without a cache `is_causal` starts at the upper left: query i reads keys up to i. With a cache,
  past keys or (from version 24) `nonpad_kv_seqlen`, the queries are the last positions, as in
  our `causal`, also when there are more queries than keys;
- `scale` is split into two float32 square roots, so it cannot be negative, and is compared here
  where the root is exact;
- a mask of one row together with `is_causal` gets the causal row of one query for all of them
  (a bug: the mask should broadcast first), so masks are given in full size there;
- NaN in a hidden key or value spreads to every row: not compared.
"""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from attention_utils import additive_mask, padding_mask, scaled_dot_product_attention
from tests.helpers import assert_parity, example, normal

INPUTS = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
SIZES = [(3, 5), (5, 3), (4, 4), (1, 5), (5, 1)]
WEIGHTS = 3  # the qk_matmul_output_mode that hands out the weights


def onnx_attention(opset=25, **arguments):
    """(output, weights) of the operator. Arrays are its inputs, everything else its attributes."""
    inputs = {n: arguments.pop(n) for n in INPUTS if n in arguments}
    names = [name if name in inputs else "" for name in INPUTS]
    outputs = ["Y", "present_key", "present_value", "weights"]
    node = helper.make_node("Attention", names, outputs, qk_matmul_output_mode=WEIGHTS, **arguments)

    def info(name, dtype):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), None)

    graph = helper.make_graph(
        [node],
        "attention",
        [info(name, array.dtype) for name, array in inputs.items()],
        [info(name, inputs["Q"].dtype) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    output, _, _, weights = ReferenceEvaluator(model).run(None, inputs)
    return output, weights


def four_axes(n_q=3, n_k=5, dtype=float):
    """The operator wants (batch, heads, positions, features)."""
    return example((2, 3), n_q, n_k, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("opset", [23, 24, 25])
def test_plain(opset, dtype):
    query, key, value = four_axes(dtype=dtype)
    ours = scaled_dot_product_attention(query, key, value)
    assert_parity(ours, *onnx_attention(opset, Q=query, K=key, V=value), value)


@pytest.mark.parametrize("scale", [1.0, 0.25, 4.0])
def test_scale(scale):
    query, key, value = four_axes()
    ours = scaled_dot_product_attention(query, key, value, scale=scale)
    assert_parity(ours, *onnx_attention(Q=query, K=key, V=value, scale=scale), value)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (3, 3, 5), (2, 1, 3, 5), (2, 3, 3, 5)])
def test_boolean_mask(shape):
    query, key, value = four_axes()
    mask = normal(*shape, seed=5) > -0.3
    mask[..., 0, :] = False  # a fully hidden row
    ours = scaled_dot_product_attention(query, key, value, mask=mask)
    assert_parity(ours, *onnx_attention(Q=query, K=key, V=value, attn_mask=mask), value)


@pytest.mark.parametrize("shape", [(3, 5), (3, 3, 5), (2, 3, 3, 5)])
def test_bias(shape):
    query, key, value = four_axes()
    bias = normal(*shape, seed=5)
    bias[..., 1, 2] = bias[..., 0, :] = -np.inf
    ours = scaled_dot_product_attention(query, key, value, bias=bias)
    assert_parity(ours, *onnx_attention(Q=query, K=key, V=value, attn_mask=bias), value)


@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_is_causal_without_a_cache_starts_at_the_upper_left(n_q, n_k):
    query, key, value = four_axes(n_q, n_k)
    theirs = onnx_attention(Q=query, K=key, V=value, is_causal=1)
    upper_left = np.tri(n_q, n_k, dtype=bool)
    ours = scaled_dot_product_attention(query, key, value, mask=upper_left)
    assert_parity(ours, *theirs, value)
    if n_q == n_k:
        causal = scaled_dot_product_attention(query, key, value, causal=True)
        assert_parity(causal, *theirs, value)


@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_is_causal_with_an_outer_cache_is_our_causal(n_q, n_k):
    query, key, value = four_axes(n_q, n_k)
    ours = scaled_dot_product_attention(query, key, value, causal=True)
    theirs = onnx_attention(
        Q=query, K=key, V=value, is_causal=1, nonpad_kv_seqlen=np.array([n_k, n_k])
    )
    assert_parity(ours, *theirs, value)


@pytest.mark.parametrize("n_past", [0, 2, 4])
def test_is_causal_with_an_inner_cache_is_our_causal(n_past):
    # the keys of the queries themselves come after those of the cache
    query, key, value = four_axes(5 - n_past, 5)
    ours = scaled_dot_product_attention(query, key, value, causal=True)
    theirs = onnx_attention(
        Q=query,
        K=key[..., n_past:, :],
        V=value[..., n_past:, :],
        past_key=key[..., :n_past, :],
        past_value=value[..., :n_past, :],
        is_causal=1,
    )
    assert_parity(ours, *theirs, value)


def test_padding():
    query, key, value = four_axes()
    lengths = np.array([4, 2])
    mask = padding_mask(lengths, 5)[:, None]
    ours = scaled_dot_product_attention(query, key, value, mask=mask)
    theirs = onnx_attention(Q=query, K=key, V=value, nonpad_kv_seqlen=lengths)
    assert_parity(ours, *theirs, value)


def test_causal_with_padding_and_scale():
    query, key, value = four_axes(5, 5)
    mask = padding_mask([4, 2], 5)[:, None]
    ours = scaled_dot_product_attention(query, key, value, mask=mask, causal=True, scale=0.25)
    full = np.tile(mask, (1, 1, 5, 1))
    for attn_mask in (full, additive_mask(full)):
        theirs = onnx_attention(
            Q=query, K=key, V=value, attn_mask=attn_mask, is_causal=1, scale=0.25
        )
        assert_parity(ours, *theirs, value)
