"""A hidden (query, key) pair has no influence at all, whatever stands in that key and value."""

from math import inf, nan

import numpy as np
import pytest

from attention_utils import (
    additive_mask,
    attention_weights,
    causal_mask,
    scaled_dot_product_attention,
)
from tests.helpers import assert_close, example, normal

SHOWN = causal_mask(3, 5)  # key 4 is hidden for queries 0 and 1 and visible for query 2
WAYS = {
    "mask": {"mask": SHOWN},
    "bias": {"bias": additive_mask(SHOWN)},
    "causal": {"causal": True},
    "mask and bias": {"mask": SHOWN, "bias": normal(3, 5, seed=5)},
}
POISONS = [nan, inf, -inf, 1e308]

by_every_way = pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
of_every_poison = pytest.mark.parametrize("poison", POISONS)
# where query 2 reads the poison
poison_may_warn = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@by_every_way
@of_every_poison
@pytest.mark.parametrize("feature", [0, slice(None)])
@poison_may_warn
def test_poisoned_key_does_not_reach_a_query_that_may_not_read_it(options, poison, feature):
    query, key, value = example()
    clean = scaled_dot_product_attention(query, key, value, **options)
    key[4, feature] = poison
    result = scaled_dot_product_attention(query, key, value, **options)
    for name, actual, expected in zip(result._fields, result, clean, strict=True):
        assert_close(actual[:2], expected[:2], atol=1e-15, what=name)
    assert (result.scores[:2, 4] == -inf).all()
    assert (result.weights[:2, 4] == 0).all()
    if np.isnan(poison):
        assert np.isnan(result.weights[2]).all()
        assert np.isnan(result.output[2]).all()


@by_every_way
@of_every_poison
@poison_may_warn
def test_poisoned_value_does_not_reach_a_query_that_may_not_read_it(options, poison):
    query, key, value = example()
    clean = scaled_dot_product_attention(query, key, value, **options)
    value[4] = poison
    result = scaled_dot_product_attention(query, key, value, **options)
    assert_close(result.output[:2], clean.output[:2], atol=1e-15)
    assert_close(
        result.weights, clean.weights, atol=0, what="the weights do not depend on the values"
    )
    if not np.isfinite(poison):
        assert_close(result.output[2], np.full(11, poison))
    else:
        assert (result.output[2] > 1e300).all()


@pytest.mark.parametrize("way", ["mask", "bias"])
@of_every_poison
def test_a_key_hidden_from_everyone_may_hold_anything(way, poison):
    query, key, value = example((2,))
    shown = np.array([True, True, False, True, True])
    options = {"mask": shown} if way == "mask" else {"bias": additive_mask(shown)}
    expected = scaled_dot_product_attention(query, key[:, shown], value[:, shown])
    key[:, 2] = value[:, 2] = poison
    with np.errstate(all="raise"):
        result = scaled_dot_product_attention(query, key, value, **options)
        weights = attention_weights(query, key, **options)
    assert_close(result.output, expected.output)
    assert_close(result.weights[..., shown], expected.weights)
    assert_close(result.weights[..., 2], np.zeros((2, 3)), atol=0)
    assert_close(weights, result.weights, atol=0)


def test_poison_in_one_sequence_of_a_batch_stays_there():
    query, key, value = example((2,))
    clean = scaled_dot_product_attention(query, key, value)
    key[0, 1], value[0, 2] = nan, nan
    result = scaled_dot_product_attention(query, key, value)
    assert_close(result.output[1], clean.output[1], atol=1e-15)
    assert np.isnan(result.output[0]).all()


def test_a_bias_that_is_not_finite_has_no_influence_where_the_mask_hides():
    query, key, value = example()
    bias = np.where(SHOWN, 0.0, nan)
    with np.errstate(all="raise"):
        result = scaled_dot_product_attention(query, key, value, mask=SHOWN, bias=bias)
    assert_close(
        result.output,
        scaled_dot_product_attention(query, key, value, mask=SHOWN).output,
        atol=1e-15,
    )


@pytest.mark.parametrize("way", ["mask", "bias", "causal", "all"])
@of_every_poison
def test_a_query_with_nothing_to_read_gives_zeros(way, poison):
    query, key, value = example(n_q=5, n_k=3)  # causal: queries 0 and 1 come before every key
    query[0] = key[2, 0] = value[2, 0] = poison  # visible to query 4 only
    shown = causal_mask(5, 3)
    options = {
        "mask": {"mask": shown},
        "bias": {"bias": additive_mask(shown)},
        "causal": {"causal": True},
        "all": {"mask": shown, "bias": additive_mask(shown), "causal": True},
    }[way]
    with np.errstate(over="ignore", invalid="ignore"):
        output, weights, scores = scaled_dot_product_attention(query, key, value, **options)
    assert_close(weights[:2], np.zeros((2, 3)), atol=0)
    assert_close(output[:2], np.zeros((2, 11)), atol=0)
    assert (scores[:2] == -inf).all()
    assert np.isfinite(output[2:4]).all()


def test_everything_hidden():
    output, weights, scores = scaled_dot_product_attention(
        *example((2,)), mask=np.zeros((3, 5), bool)
    )
    assert_close(weights, np.zeros((2, 3, 5)), atol=0)
    assert_close(output, np.zeros((2, 3, 11)), atol=0)
    assert_close(scores, np.full((2, 3, 5), -inf), atol=0)


def test_a_score_of_minus_infinity_is_hidden_however_it_came():
    query, key = [[1.0, 1.0]], [[-inf, 1.0], [2.0, 3.0]]
    output, weights, scores = scaled_dot_product_attention(
        query, key, [[nan, nan, nan], [4.0, 5.0, 6.0]]
    )
    assert_close(weights, [[0, 1]], atol=0)
    assert_close(output, [[4, 5, 6]], atol=0)
    assert scores[0, 0] == -inf


def test_a_tiny_visible_weight_is_not_hidden():
    # weight 0 by underflow is still visible: a NaN there must not be silently dropped
    output = scaled_dot_product_attention(
        [[1.0]], [[0.0], [-2000.0]], [[1.0, 2.0], [nan, 3.0]], scale=1
    ).output
    assert_close(output, [[nan, 2]], atol=0)
