"""softmax_jacobian and entropy: both take weights."""

from math import log, nan

import numpy as np
import pytest

from attention_utils import entropy, softmax, softmax_jacobian
from tests.helpers import assert_close, normal, refuses


def test_jacobian_by_hand():
    expected = [[0.25, -0.125, -0.125], [-0.125, 0.1875, -0.0625], [-0.125, -0.0625, 0.1875]]
    assert_close(softmax_jacobian([0.5, 0.25, 0.25]), expected, atol=0)


def test_jacobian_is_the_derivative_of_softmax():
    x, step = normal(2, 3, 5), 1e-5
    expected = np.zeros((2, 3, 5, 5))
    for j in range(5):
        move = step * (np.arange(5) == j)
        expected[..., j] = (softmax(x + move) - softmax(x - move)) / (2 * step)
    assert_close(softmax_jacobian(softmax(x)), expected, atol=1e-10)


def test_jacobian_rows_and_columns_sum_to_zero():
    jacobian = softmax_jacobian(softmax(normal(3, 5)))
    assert_close(jacobian.sum(-1), np.zeros((3, 5)), atol=1e-15)
    assert_close(jacobian.sum(-2), np.zeros((3, 5)), atol=1e-15)


def test_jacobian_of_a_certain_row_and_of_a_hidden_row_is_zero():
    assert_close(softmax_jacobian([[0, 1, 0], [0, 0, 0]]), np.zeros((2, 3, 3)), atol=0)


def test_jacobian_passes_nan_rows_on():
    jacobian = softmax_jacobian([[nan, nan], [0.5, 0.5]])
    assert np.isnan(jacobian[0]).all()
    assert_close(jacobian[1], [[0.25, -0.25], [-0.25, 0.25]], atol=0)


def test_entropy_by_hand():
    p = [[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    with np.errstate(all="raise"):
        assert_close(entropy(p), [log(4), log(2), 0, 0], atol=1e-15)


def test_entropy_along_another_axis():
    p = softmax(normal(3, 5, 7), axis=1)
    expected = -(p * np.log(p)).sum(axis=1)
    assert_close(entropy(p, axis=1), expected, atol=1e-15)
    assert_close(entropy(p, axis=-2), expected, atol=1e-15)


def test_entropy_passes_nan_rows_on():
    assert_close(entropy([[nan, nan], [0.5, 0.5]]), [nan, log(2)], atol=1e-15)


@pytest.mark.parametrize("function", [softmax_jacobian, entropy])
class TestBoth:
    def test_tolerates_rounded_weights(self, function):
        with np.errstate(all="raise"):
            function([[0.0903, 0.2447, 0.6652 - 0.0012]])

    @pytest.mark.parametrize("p", [[0.5, 0.4], [0.5, 0.6], [3.0, -2.0], [1.2, -0.2], [0.0, 0.5]])
    def test_refuses_what_is_no_distribution(self, function, p):
        with refuses("p"):
            function([[0.5, 0.5], p])

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
    def test_keeps_the_dtype(self, function, dtype):
        assert function(np.array([0.5, 0.5], dtype)).dtype == dtype

    def test_integers_become_float64(self, function):
        assert function([0, 1]).dtype == np.float64

    @pytest.mark.parametrize("bad", [[0.5j, 1 - 0.5j], ["a"], [None]])
    def test_refuses_what_is_not_real(self, function, bad):
        with refuses("p"):
            function(bad)

    def test_refuses_a_number_without_axes(self, function):
        with refuses("p"):
            function(1.0)


@pytest.mark.parametrize("axis", [2, -3, None, (0,), 0.0])
def test_entropy_axis_must_be_one_integer_in_range(axis):
    with refuses("axis"):
        entropy([[0.5, 0.5]], axis)
