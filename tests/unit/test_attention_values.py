"""Attention in numbers: worked out by hand, and compared with the loop-written reference."""

from math import inf, log

import numpy as np
import pytest

from attention_utils import (
    AttentionResult,
    attention_weights,
    causal_mask,
    scaled_dot_product_attention,
)
from tests.helpers import OPTIONS, assert_close, assert_matches_reference, example, normal

# Two tokens, d_model = 3, d_k = 4: the calculation of chapter 5
WORKED_X = np.array([[1, 2, 0], [0, 2, 2]])
WORKED_W_Q = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
WORKED_W_K = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 1]])
# Three tokens, d_model = 5, d_k = 4, d_v = 2: every common mistake gives a number of its own
TELLING_X = np.array([[1, 2, 0, 0, 1], [1, 2, 2, 2, 2], [0, 1, 0, 0, 0]])
TELLING_W_Q = np.array(
    [[1, -1, -1, 1], [-1, 0, -1, 0], [1, -1, -1, 1], [1, 1, -1, 0], [1, -1, -1, 1]]
)
TELLING_W_K = np.array(
    [[1, 0, 0, 1], [-1, 1, -1, -1], [-1, 1, -1, 1], [0, -1, 1, 0], [0, 1, -1, -1]]
)
TELLING_W_V = np.array([[0, 1], [0, 3], [3, 2], [0, 3], [3, 3]])


def telling(**options):
    """The discriminating example."""
    query, key, value = TELLING_X @ TELLING_W_Q, TELLING_X @ TELLING_W_K, TELLING_X @ TELLING_W_V
    return scaled_dot_product_attention(query, key, value, **options)


def test_the_worked_example():
    query, key = WORKED_X @ WORKED_W_Q, WORKED_X @ WORKED_W_K
    value = np.array([[1, 0, 2, 3, 1], [0, 4, 1, 1, 2]])
    output, weights, scores = scaled_dot_product_attention(query, key, value)
    assert_close(scores, [[1.5, 4], [0, 4]], atol=0)
    assert_close(weights, [[0.076, 0.924], [0.018, 0.982]], atol=5e-4)
    assert_close(output[0], [0.0759, 3.6966, 1.0759, 1.1517, 1.9241], atol=5e-5)
    assert_close(output[1], [0.0180, 3.9281, 1.0180, 1.0360, 1.9820], atol=5e-5)


def test_the_discriminating_example():
    output, weights, scores = telling()
    assert_close(scores, [[1, 3, 0], [1.5, 2, -2], [2, 3.5, 1]], atol=0)
    assert_close(output, [[10.468, 20.675], [8.505, 17.922], [9.707, 19.520]], atol=5e-4)
    assert_close(weights[0], [0.1142, 0.8438, 0.0420], atol=5e-5)


def test_the_discriminating_example_with_a_causal_mask():
    output, weights, scores = telling(causal=True)
    assert_close(output, [[3, 10], [8.602, 18.092], [9.707, 19.520]], atol=5e-4)
    assert_close(scores, [[1, -inf, -inf], [1.5, 2, -inf], [2, 3.5, 1]], atol=0)
    assert_close(weights[:2], [[1, 0, 0], [0.3775, 0.6225, 0]], atol=5e-5)


def test_one_query_three_keys_by_hand():
    # dot products 2, 0, 4 and d_k = 4, so scores 1, 0, 2: the softmax of the documents
    query, key = [[2, 0, 0, 0]], [[1, 5, 0, 0], [0, 0, 7, 0], [2, 0, 0, 3]]
    output, weights, scores = scaled_dot_product_attention(query, key, [[100, 0], [10, 0], [1, 1]])
    assert_close(scores, [[1, 0, 2]], atol=0)
    assert_close(weights, [[0.2447, 0.0900, 0.6652]], atol=5e-5)
    assert_close(output, [[26.0384, 0.6652]], atol=5e-5)


def test_the_result_is_a_named_tuple():
    result = scaled_dot_product_attention(*example())
    assert isinstance(result, AttentionResult)
    assert isinstance(result, tuple)
    assert result._fields == ("output", "weights", "scores")
    assert [a.shape for a in result] == [(3, 11), (3, 5), (3, 5)]
    assert all(isinstance(a, np.ndarray) for a in result)


def test_equal_scores_give_the_mean():
    value = normal(5, 11)
    output = scaled_dot_product_attention(np.zeros((3, 7)), normal(5, 7), value).output
    assert_close(output, np.tile(value.mean(0), (3, 1)), atol=1e-15)


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (5, 3), (1, 5), (3, 1), (5, 5)])
def test_every_option_against_the_reference(name, n_q, n_k):
    options = OPTIONS[name](n_q, n_k)
    query, key, value = example(n_q=n_q, n_k=n_k)
    result = assert_matches_reference(scaled_dot_product_attention, query, key, value, **options)
    assert_close(attention_weights(query, key, **options), result.weights, atol=0)


def test_scale_multiplies_before_the_bias_is_added():
    weights = attention_weights([[1.0]], [[1.0], [3.0]], bias=[[log(2), 0]], scale=log(5))
    assert_close(weights, [[2 / 27, 25 / 27]], atol=1e-15)  # 2 * 5 against 1 * 125


def test_bias_minus_infinity_equals_the_mask():
    query, key, value = example()
    mask = normal(3, 5, seed=4) > 0
    by_mask = scaled_dot_product_attention(query, key, value, mask=mask)
    by_bias = scaled_dot_product_attention(query, key, value, bias=np.where(mask, 0, -inf))
    for name, a, b in zip(by_mask._fields, by_mask, by_bias, strict=True):
        assert_close(a, b, atol=0, what=name)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (5, 3), (4, 4), (1, 5), (5, 1)])
def test_causal_equals_causal_mask(n_q, n_k):
    query, key, value = example(n_q=n_q, n_k=n_k)
    by_flag = scaled_dot_product_attention(query, key, value, causal=True)
    by_mask = scaled_dot_product_attention(query, key, value, mask=causal_mask(n_q, n_k))
    for name, a, b in zip(by_flag._fields, by_flag, by_mask, strict=True):
        assert_close(a, b, atol=0, what=name)


def test_causal_with_more_queries_than_keys():
    # the last query stands at the last key: the first two queries come before every key
    output, weights, _ = scaled_dot_product_attention(
        np.ones((4, 1)), [[1.0], [1.0]], [[6.0], [8.0]], causal=True
    )
    assert_close(weights, [[0, 0], [0, 0], [1, 0], [0.5, 0.5]], atol=0)
    assert_close(output, [[0], [0], [6], [7]], atol=0)


def test_causal_and_mask_and_bias_all_hide():
    mask = np.array([[True, True, True], [False, True, True]])
    bias = np.array([[0, 0, 0], [0, -inf, 0]])
    weights = attention_weights(
        np.zeros((2, 1)), np.zeros((3, 1)), mask=mask, bias=bias, causal=True
    )
    assert_close(weights, [[0.5, 0.5, 0], [0, 0, 1]], atol=0)


def test_lists_and_non_contiguous_views_are_welcome():
    query, key, value = example()
    expected = scaled_dot_product_attention(query, key, value)
    views = [np.asfortranarray(a)[::-1][::-1] for a in (query, key, value)]
    for given in (views, [a.tolist() for a in (query, key, value)]):
        assert_close(scaled_dot_product_attention(*given).output, expected.output)
