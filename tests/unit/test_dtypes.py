"""Results have the result_type of the inputs if floating, else float64."""

import numpy as np
import pytest

from attention_utils import (
    MultiHeadAttention,
    attention_weights,
    layer_norm,
    scaled_dot_product_attention,
    sinusoidal_positions,
)
from tests import reference
from tests.helpers import assert_agrees, assert_close, example, normal

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_input_keeps_its_dtype_and_precision(dtype):
    query, key, value = example(dtype=dtype)
    result = scaled_dot_product_attention(query, key, value, causal=True)
    assert {a.dtype for a in result} == {np.dtype(dtype)}
    assert attention_weights(query, key).dtype == dtype
    eps = float(np.finfo(dtype).eps)
    result = type(result)(*(a.astype(float) for a in result))
    assert_agrees(result, reference.attention(query, key, value, causal=True), atol=8 * eps + 1e-15)


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="longdouble is float64 here"
)
def test_longdouble_is_computed_in_longdouble():
    weights = attention_weights(*example(dtype=np.longdouble)[:2])
    assert np.abs(weights.sum(-1) - 1).max() < 8 * np.finfo(np.longdouble).eps


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
def test_whole_numbers_are_computed_in_float64(dtype):
    query, key, value = (np.abs(100 * a).astype(dtype) for a in example())
    result = scaled_dot_product_attention(query, key, value)
    assert {a.dtype for a in result} == {np.dtype(float)}
    assert_agrees(result, reference.attention(query, key, value), atol=1e-11)


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ((np.float32, np.float64, np.float32, np.float32), np.float64),
        ((np.float32, np.float32, np.float64, np.float32), np.float64),
        ((np.float32, np.float32, np.float32, np.float64), np.float64),
        ((np.float16, np.float32, np.float16, np.float16), np.float32),
        ((np.float32, np.float16, np.float16, np.longdouble), np.longdouble),
        ((np.float32, np.int8, bool, np.float16), np.float32),
        ((np.float32, np.int64, np.float32, np.float32), np.float64),
    ],
)
def test_mixed_dtypes_follow_result_type(dtypes, expected):
    query, key, value, bias = (
        a.astype(d) for a, d in zip((*example(), normal(3, 5)), dtypes, strict=True)
    )
    result = scaled_dot_product_attention(query, key, value, bias=bias)
    assert {a.dtype for a in result} == {np.dtype(expected)}


def test_mask_and_scale_do_not_change_the_dtype():
    query, key, value = example(dtype=np.float32)
    mask = np.ones((3, 5), bool)
    result = scaled_dot_product_attention(query, key, value, mask=mask, scale=np.float64(0.5))
    assert {a.dtype for a in result} == {np.dtype(np.float32)}
    assert attention_weights(query, key, mask=mask, scale=0.5).dtype == np.float32


def test_byte_order_is_no_obstacle():
    swapped = [a.astype(">f8") for a in example()]
    expected = scaled_dot_product_attention(*example()).output
    assert_close(scaled_dot_product_attention(*swapped).output, expected, atol=1e-15)


def test_float16_scores_beyond_its_range():
    # scores 90000, 180000, 180000, -180000: all beyond 65504, told apart in float32 only
    query = np.array([[300]], np.float16)
    key = np.array([[300], [600], [600], [-600]], np.float16)
    value = np.array([[1], [2], [4], [8]], np.float16)
    with np.errstate(all="raise"):
        output, weights, scores = scaled_dot_product_attention(query, key, value)
    assert_close(weights, np.float16([[0, 0.5, 0.5, 0]]), atol=0)
    assert_close(output, np.float16([[3]]), atol=0)
    assert_close(scores, np.float16([[np.inf, np.inf, np.inf, -np.inf]]), atol=0)
    assert {a.dtype for a in (output, weights, scores)} == {np.dtype(np.float16)}


def test_float16_values_are_summed_in_float32():
    # 4096 equal weights of 1/4096 and values of 1: a float16 sum would lose most of it
    ones = np.ones((4096, 1), np.float16)
    output = scaled_dot_product_attention(ones[:1], ones, ones).output
    assert_close(output, np.ones((1, 1), np.float16), atol=1e-3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_multi_head_attention_keeps_the_dtype(dtype):
    mha = MultiHeadAttention.random(6, 2, np.random.default_rng(0))
    parts = [w.astype(dtype) for w in (mha.w_q, mha.w_k, mha.w_v, mha.w_o)]
    x = normal(5, 6, dtype=dtype)
    result = MultiHeadAttention(*parts, 2)(x)
    assert {a.dtype for a in result} == {np.dtype(dtype)}
    result = type(result)(*(a.astype(float) for a in result))
    expected = reference.multi_head(x, x, *parts, 2)
    assert_agrees(result, expected, atol=16 * float(np.finfo(dtype).eps) + 1e-15)


def test_multi_head_attention_mixes_dtypes_by_result_type():
    mha = MultiHeadAttention.random(6, 2, np.random.default_rng(0))
    assert mha(normal(5, 6, dtype=np.float32)).output.dtype == np.float64
    single = [w.astype(np.float32) for w in (mha.w_q, mha.w_k, mha.w_v, mha.w_o)]
    single = MultiHeadAttention(*single, 2)
    assert single(normal(5, 6)).output.dtype == np.float64
    x = normal(5, 6, dtype=np.float32)
    assert single(x, normal(3, 6)).output.dtype == np.float64
    assert single(x, x).output.dtype == np.float32


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_keeps_the_dtype(dtype):
    result = layer_norm(normal(3, 7, dtype=dtype))
    assert result.dtype == dtype
    assert layer_norm(np.arange(7)).dtype == np.float64


def test_layer_norm_of_float16_is_computed_in_float32():
    x = np.array([[30000, -30000, 60000, -60000]], np.float16)  # squares beyond 65504
    with np.errstate(all="raise"):
        result = layer_norm(x)
    assert_close(result.astype(float), [[0.6325, -0.6325, 1.2649, -1.2649]], atol=1e-3)


def test_positions_are_float64():
    assert sinusoidal_positions(3, 4).dtype == np.float64
