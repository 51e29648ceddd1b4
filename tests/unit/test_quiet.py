"""Valid input raises no floating-point flag, and no input is ever modified."""

import numpy as np
import pytest

from attention_utils import (
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from tests.helpers import example, normal

SIZES = [(3, 5), (5, 3), (3, 0), (0, 5), (0, 0), (1, 1)]
MAGNITUDES = [0.0, 1e-200, 1.0, 1e3, 1e100]


@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_raises_no_flag(n_q, n_k, magnitude, causal):
    query, key, value = (magnitude * a for a in example((2,), n_q=n_q, n_k=n_k))
    mask = padding_mask([min(2, n_k), 0], n_k)
    with np.errstate(all="raise"):
        result = scaled_dot_product_attention(query, key, value, mask=mask, causal=causal)
        attention_weights(query, key, mask=mask, causal=causal)
    assert np.isfinite(result.output).all()
    assert np.isfinite(result.weights).all()


@pytest.mark.parametrize(
    ("dtype", "large"), [(np.float16, 6e4), (np.float32, 1e18), (np.float64, 1e150)]
)
def test_large_scores_of_both_signs_raise_no_flag(dtype, large):
    query = np.array([[large, 0], [-large, 0], [0, 1]], dtype)
    key = np.array([[large, 1], [-large, 2], [0, 3], [1, 4]], dtype)
    with np.errstate(all="raise"):
        weights = scaled_dot_product_attention(query, key, np.eye(4, dtype=dtype)).weights
    np.testing.assert_allclose(weights[:2].astype(float), [[1, 0, 0, 0], [0, 1, 0, 0]], atol=1e-3)


def test_no_input_is_modified():
    arrays = dict(zip(("query", "key", "value"), example((2,)), strict=True))
    arrays["bias"], arrays["mask"] = normal(3, 5), normal(3, 5, seed=1) > -1
    arrays["key"][0, 0], arrays["value"][0, 0] = np.nan, np.inf
    arrays["mask"][:, 0] = False
    before = {name: a.copy() for name, a in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    scaled_dot_product_attention(**arrays, causal=True)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_results_are_new_arrays():
    # even with one key, when the output equals the value and the scores equal the bias
    query, key, value = np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 3))
    bias = np.zeros((1, 1))
    result = scaled_dot_product_attention(query, key, value, bias=bias)
    for array in result:
        assert array.flags.writeable
        array += 5
    assert value.tolist() == [[1, 1, 1]]
    assert bias.tolist() == [[0]]


def test_multi_head_attention_raises_no_flag():
    mha = MultiHeadAttention.random(6, 2, np.random.default_rng(0))
    with np.errstate(all="raise"):
        mha(normal(2, 5, 6), mask=padding_mask([0, 3], 5))
        mha(normal(2, 3, 6), normal(2, 5, 6), mask=causal_mask(3, 5))
        mha(normal(2, 0, 6))
