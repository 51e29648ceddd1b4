"""Visible NaN and infinity spoil exactly what reads them; a +inf score keeps NumPy's warning."""

from math import inf, nan

import numpy as np
import pytest

from attention_utils import attention_weights, scaled_dot_product_attention
from tests.helpers import assert_close, example


def test_nan_in_a_query_spoils_its_row():
    query, key, value = example()
    clean = scaled_dot_product_attention(query, key, value)
    query[1, 2] = nan
    output, weights, _ = scaled_dot_product_attention(query, key, value)
    assert np.isnan(weights[1]).all()
    assert np.isnan(output[1]).all()
    assert_close(weights[[0, 2]], clean.weights[[0, 2]], atol=1e-15)
    assert_close(output[[0, 2]], clean.output[[0, 2]], atol=1e-15)


def test_nan_in_a_row_shows_also_at_its_hidden_places():
    query, key, value = example()
    query[1, 2] = nan
    mask = np.array([True, True, True, True, False])
    output, weights, _ = scaled_dot_product_attention(query, key, value, mask=mask)
    assert np.isnan(weights[1]).all()
    assert np.isnan(output[1]).all()
    assert (weights[[0, 2], 4] == 0).all()


def test_nan_in_the_bias_spoils_its_row():
    bias = np.zeros((3, 5))
    bias[1, 3] = nan
    weights = attention_weights(*example()[:2], bias=bias)
    assert np.isnan(weights).any(axis=-1).tolist() == [False, True, False]
    assert np.isnan(weights[1]).all()


@pytest.mark.parametrize("where", ["query", "key", "bias"])
def test_a_score_of_plus_infinity_warns_and_gives_nan(where):
    query, key, value = np.ones((3, 2)), np.ones((5, 2)), np.ones((5, 11))
    bias = np.zeros((3, 5))
    {"query": query, "key": key, "bias": bias}[where][1, 0] = inf
    with pytest.warns(RuntimeWarning, match="invalid"):
        output, weights, scores = scaled_dot_product_attention(query, key, value, bias=bias)
    spoiled = [True, True, True] if where == "key" else [False, True, False]
    assert np.isnan(weights).all(axis=-1).tolist() == spoiled
    assert np.isnan(output).all(axis=-1).tolist() == spoiled
    assert np.isposinf(scores).any(axis=-1).tolist() == spoiled


def test_nan_in_a_value_spoils_its_column_for_those_who_read_it():
    query, key, value = example()
    mask = np.ones((3, 5), bool)
    mask[0, 2] = False
    clean = scaled_dot_product_attention(query, key, value, mask=mask).output
    value[2, 6] = nan
    output = scaled_dot_product_attention(query, key, value, mask=mask).output
    clean[1:, 6] = nan
    assert_close(output, clean, atol=1e-15)


@pytest.mark.parametrize("infinity", [inf, -inf])
def test_infinity_in_a_value_stays_infinity(infinity):
    query, key, value = example()
    mask = np.ones((3, 5), bool)
    mask[0, 2] = False
    clean = scaled_dot_product_attention(query, key, value, mask=mask).output
    value[2, 6] = infinity
    output = scaled_dot_product_attention(query, key, value, mask=mask).output
    clean[1:, 6] = infinity
    assert_close(output, clean, atol=1e-15)


@pytest.mark.filterwarnings("ignore:invalid:RuntimeWarning")
def test_opposite_infinities_in_a_column_give_nan():
    query, key, value = example()
    clean = scaled_dot_product_attention(query, key, value).output
    value[0, 6], value[3, 6] = inf, -inf
    output = scaled_dot_product_attention(query, key, value).output
    clean[:, 6] = nan
    assert_close(output, clean, atol=1e-15)


def test_opposite_infinities_for_different_readers_do_not_meet():
    mask = np.array([[True, False], [False, True]])
    output = scaled_dot_product_attention(
        np.ones((2, 1)), np.ones((2, 1)), [[inf, 1], [-inf, 2]], mask=mask
    ).output
    assert_close(output, [[inf, 1], [-inf, 2]], atol=0)
