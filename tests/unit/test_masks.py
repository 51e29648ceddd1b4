"""causal_mask, padding_mask, combine_masks, additive_mask. True = this query may read this key."""

from math import inf

import numpy as np
import pytest

from attention_utils import additive_mask, causal_mask, combine_masks, padding_mask
from tests.helpers import refuses

T, F = True, False


def assert_mask(actual, expected):
    assert isinstance(actual, np.ndarray)
    assert actual.dtype == bool
    np.testing.assert_array_equal(actual, np.array(expected, bool), strict=True)


# causal_mask


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((3,), [[T, F, F], [T, T, F], [T, T, T]]),
        ((3, None), [[T, F, F], [T, T, F], [T, T, T]]),
        ((2, 5), [[T, T, T, T, F], [T, T, T, T, T]]),
        ((1, 4), [[T, T, T, T]]),
        ((5, 2), [[F, F], [F, F], [F, F], [T, F], [T, T]]),
        ((1, 1), [[T]]),
    ],
)
def test_causal_queries_are_the_last_positions(sizes, expected):
    assert_mask(causal_mask(*sizes), expected)


@pytest.mark.parametrize(("n_q", "n_k"), [(0, 5), (3, 0), (0, 0)])
def test_causal_of_size_zero(n_q, n_k):
    assert_mask(causal_mask(n_q, n_k), np.zeros((n_q, n_k)))


def test_causal_takes_numpy_integers():
    assert_mask(causal_mask(np.int64(2), np.uint8(3)), [[T, T, F], [T, T, T]])


@pytest.mark.parametrize("bad", [-1, 2.0, True, "3", [3], np.array([2, 3])])
def test_causal_refuses_other_sizes(bad):
    with refuses("n_q"):
        causal_mask(bad, 3)
    with refuses("n_k"):
        causal_mask(3, bad)


def test_causal_needs_the_number_of_queries():
    with refuses("n_q"):
        causal_mask(None)


# padding_mask


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([2, 0, 5], [[[T, T, F, F, F]], [[F, F, F, F, F]], [[T, T, T, T, T]]]),
        (3, [[T, T, T, F, F]]),
        (np.int8(1), [[T, F, F, F, F]]),
        ([[1, 2]], [[[[T, F, F, F, F]], [[T, T, F, F, F]]]]),
    ],
)
def test_padding_has_one_row_per_sequence(lengths, expected):
    assert_mask(padding_mask(lengths, 5), expected)


def test_padding_of_no_sequence_and_of_no_key():
    assert padding_mask(np.zeros(0, int), 5).shape == (0, 1, 5)
    assert padding_mask([0, 0], 0).shape == (2, 1, 0)


def test_padding_with_small_integers_and_many_keys():
    mask = padding_mask(np.uint8([200]), 300)
    assert mask.shape == (1, 1, 300)
    assert mask.sum() == 200
    assert mask[0, 0, :200].all()


@pytest.mark.parametrize("lengths", [6, -1, [2, 6], [[0], [-1]]])
def test_padding_lengths_must_fit(lengths):
    with refuses("lengths", "0", "5"):
        padding_mask(lengths, 5)


@pytest.mark.parametrize("lengths", [2.0, [1.0, 2.0], [True, False], ["2"], None])
def test_padding_lengths_must_be_integers(lengths):
    with refuses("lengths", "int"):
        padding_mask(lengths, 5)


@pytest.mark.parametrize("n_k", [-1, 5.0, True, None])
def test_padding_number_of_keys_must_be_an_integer(n_k):
    with refuses("n_k"):
        padding_mask([0], n_k)


# combine_masks


def test_combine_is_a_logical_and():
    assert_mask(combine_masks(np.array([T, T, F, F]), np.array([T, F, T, F])), [T, F, F, F])


def test_combine_broadcasts():
    combined = combine_masks(padding_mask([2, 3], 3), causal_mask(3))
    assert_mask(combined, [[[T, F, F], [T, T, F], [T, T, F]], [[T, F, F], [T, T, F], [T, T, T]]])


def test_combine_three_and_ignores_none():
    combined = combine_masks(
        None, np.array([T, T, T, F]), None, np.array([T, T, F, T]), np.array([T, F, T, T])
    )
    assert_mask(combined, [T, F, F, F])
    assert_mask(combine_masks(None, np.array([T, F])), [T, F])


def test_combine_nothing_is_none():
    assert combine_masks() is None
    assert combine_masks(None, None) is None


def test_combine_never_returns_its_input():
    mask = np.array([T, F])
    combined = combine_masks(mask)
    combined[:] = False
    assert_mask(mask, [T, F])


@pytest.mark.parametrize("bad", [np.array([1, 0]), np.array([0.0, -inf]), "mask", [1, 0]])
def test_combine_refuses_what_is_not_boolean(bad):
    with refuses("mask", "bool"):
        combine_masks(np.array([T, F]), bad)


def test_combine_refuses_shapes_that_do_not_broadcast():
    with refuses("mask", "(2, 3)", "(2,)"):
        combine_masks(np.ones((2, 3), bool), np.ones(2, bool))


# additive_mask


@pytest.mark.parametrize("dtype", [float, np.float16, np.float32, np.longdouble, "float32"])
def test_additive_is_zero_or_minus_infinity(dtype):
    bias = additive_mask(np.array([[T, F, T]]), dtype)
    np.testing.assert_array_equal(bias, np.array([[0, -inf, 0]], dtype), strict=True)


def test_additive_is_float64_unless_asked():
    assert additive_mask(np.array([T])).dtype == np.float64


@pytest.mark.parametrize("bad", [None, np.array([1, 0]), np.array([0.0, 1.0]), "mask"])
def test_additive_refuses_what_is_not_boolean(bad):
    with refuses("mask"):
        additive_mask(bad)


@pytest.mark.parametrize("dtype", [int, bool, complex, object, str])
def test_additive_needs_a_floating_dtype(dtype):
    with refuses("dtype", "float"):
        additive_mask(np.array([T, F]), dtype)


def test_ragged_lists_are_refused_by_name():
    ragged = [[True], [True, False]]
    with refuses("mask", "rectangular"):
        additive_mask(ragged)
    with refuses("masks[1]", "rectangular"):
        combine_masks(None, ragged)
    with refuses("lengths", "rectangular"):
        padding_mask([[1], [1, 2]], 3)


def test_additive_mask_needs_a_dtype():
    with refuses("dtype", "nonsense"):
        additive_mask([True], "nonsense")
