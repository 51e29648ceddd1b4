"""softmax and log_softmax: values, hidden places, extreme numbers, refused input."""

from math import inf, log, nan

import numpy as np
import pytest

from attention_utils import log_softmax, softmax
from tests import reference
from tests.helpers import assert_close, normal, refuses


@pytest.mark.parametrize(
    ("scores", "weights", "places"),
    [
        ([0, 1, 2], [0.0900, 0.2447, 0.6652], 4),
        ([0, 8, 16], [1.12e-7, 3.3535e-4, 0.999665], 6),
        ([3, 1], [0.8808, 0.1192], 4),
        ([3 / 8, 1 / 8], [0.562, 0.438], 3),
        ([1, 0], [0.731, 0.269], 3),
        ([2, 8, 5], [0.002, 0.950, 0.047], 3),
        ([3000, 2800, 2500], [1, 0, 0], 12),
        ([46.875, 43.75, 39.0625], [0.958, 0.042, 0.0004], 3),
        ([0.0], [1.0], 15),
    ],
)
def test_published_values(scores, weights, places):
    assert_close(softmax(scores), weights, atol=0.5 * 10**-places)


def test_the_tail_keeps_its_relative_precision():
    assert_close(softmax([3000, 2800])[1] / np.exp(-200.0), 1, atol=1e-12)


@pytest.mark.parametrize("axis", [-1, 2, 0, 1, -3])
def test_any_axis(axis):
    x = normal(3, 5, 7)
    rows = np.moveaxis(x, axis, -1)
    expected = np.array([[reference.softmax(list(row)) for row in block] for block in rows])
    assert_close(np.moveaxis(softmax(x, axis), axis, -1), expected, atol=1e-15)
    assert_close(np.moveaxis(log_softmax(x, axis), axis, -1), np.log(expected), atol=1e-14)


def test_the_last_axis_is_the_default():
    x = normal(3, 5)
    assert_close(softmax(x), softmax(x, 1), atol=0)
    assert_close(log_softmax(x), log_softmax(x, 1), atol=0)


def test_log_softmax_values():
    assert_close(log_softmax([0, log(3)]), [-log(4), log(3) - log(4)], atol=1e-15)
    assert_close(log_softmax([0, 1000]), [-1000, 0], atol=0)
    assert_close(log_softmax([0, -inf]), [0, -inf], atol=0)


# Hidden places


@pytest.mark.parametrize("filler", [0.0, 1e308, nan, inf, -inf])
def test_where_hides_whatever_stands_there(filler):
    x = np.array([[0, filler, log(3)], [filler, filler, 5]])
    shown = np.array([[True, False, True], [False, False, True]])
    assert_close(softmax(x, where=shown), [[1 / 4, 0, 3 / 4], [0, 0, 1]], atol=1e-15)


def test_where_broadcasts():
    x = normal(3, 5)
    column = np.array([True, True, False, True, False])
    expected = [reference.softmax(np.where(column, row, -inf).tolist()) for row in x]
    assert_close(softmax(x, where=column), expected, atol=1e-15)
    row = np.array([[True], [False], [True]])
    assert_close(softmax(x, where=row), np.where(row, softmax(x), 0), atol=1e-15)


def test_where_follows_the_axis():
    x = normal(3, 5)
    shown = normal(3, 5, seed=3) > 0
    shown[0] = True
    assert_close(softmax(x, 0, where=shown), softmax(x.T, where=shown.T).T, atol=1e-15)


def test_minus_infinity_is_hidden():
    assert_close(softmax([-inf, 0, log(3)]), [0, 1 / 4, 3 / 4], atol=1e-15)


def test_nothing_visible_gives_zeros_and_log_minus_infinity():
    assert_close(softmax([[-inf, -inf], [0, 0]]), [[0, 0], [0.5, 0.5]], atol=0)
    assert_close(softmax([[1, 2], [3, 4]], where=np.zeros((2, 2), bool)), np.zeros((2, 2)), atol=0)
    assert_close(
        log_softmax([[-inf, -inf], [0, 0]]), [[-inf, -inf], [-log(2), -log(2)]], atol=1e-15
    )


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), -1), ((0, 5), -1), ((0,), 0), ((3, 0), 0)])
def test_empty_axes(shape, axis):
    assert softmax(np.zeros(shape), axis).shape == shape
    assert log_softmax(np.zeros(shape), axis).shape == shape


# Numbers that are not finite


def test_visible_nan_spoils_its_row_only():
    x = [[0, nan, 1], [0, 0, -inf]]
    assert_close(softmax(x), [[nan, nan, nan], [0.5, 0.5, 0]], atol=0)
    assert_close(log_softmax(x)[0], [nan, nan, nan], atol=0)
    shown = np.array([[True, True, False], [True, True, True]])
    assert_close(softmax(x, where=shown)[0], [nan, nan, nan], atol=0, what="also at hidden places")


@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_visible_plus_infinity_warns_and_gives_nan(function):
    with pytest.warns(RuntimeWarning, match="invalid"):
        result = function([[0, inf, 1], [2, 2, -inf]])
    assert np.isnan(result[0]).all()
    assert np.isfinite(result[1, :2]).all(), "the other row is untouched"


# Extreme but finite numbers: no warning, not even a quiet floating-point flag


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_extreme_numbers_are_quiet(dtype):
    big = np.finfo(dtype).max
    with np.errstate(all="raise"):
        assert_close(softmax(np.array([-big, big, big], dtype)), [0, 0.5, 0.5], atol=0)
        assert_close(softmax(np.array([-big, -big], dtype)), [0.5, 0.5], atol=0)
        assert_close(softmax(np.array([0, 5, -5, -100], dtype) * 20)[1:], [1, 0, 0], atol=1e-40)
        log_weights = log_softmax(np.array([-big, big], dtype))
        assert log_weights[1] == 0
        assert log_weights[0] <= -big
        assert log_softmax(np.array([-inf, 3], dtype))[0] == -inf


def test_underflow_is_quiet():
    with np.errstate(all="raise"):
        assert_close(softmax(np.float32([0, -88, -95, -104])), [1, 0, 0, 0], atol=1e-35)
        assert_close(softmax([0.0, -720.0, -745.0, -746.0]), [1, 0, 0, 0], atol=1e-300)


# dtypes


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize(
    ("given", "returned"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.longdouble, np.longdouble),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
    ],
)
def test_dtype(function, given, returned):
    result = function(np.array([[0, 1, 1]], given))
    assert result.dtype == returned
    expected = reference.softmax([0, 1, 1])
    expected = np.log(expected) if function is log_softmax else expected
    assert_close(result[0].astype(float), expected, atol=2 * float(np.finfo(returned).eps))


def test_float16_is_computed_in_float32():
    x = np.zeros((1, 4099), np.float16)  # a float16 sum of ones stops at 2048
    assert_close(softmax(x).astype(float), np.full((1, 4099), 1 / 4099), atol=1e-7)


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize(
    "bad", [[1 + 2j], ["a", "b"], [None], np.array(["2020-01-01"], "datetime64[D]")]
)
def test_refuses_what_is_not_real(function, bad):
    with refuses("x"):
        function(bad)


# Errors


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize("axis", [2, -3, None, (0, 1), 1.0, "1"])
def test_axis_must_be_one_integer_in_range(function, axis):
    with refuses("axis"):
        function(np.zeros((3, 5)), axis)


@pytest.mark.parametrize("where", [np.ones((3, 5), int), np.ones((3, 5)), [[1, 0, 1, 0, 1]]])
def test_where_must_be_boolean(where):
    with refuses("where", "bool"):
        softmax(np.zeros((3, 5)), where=where)


def test_where_must_broadcast():
    with refuses("where", "(3,)", "(3, 5)"):
        softmax(np.zeros((3, 5)), where=np.ones(3, bool))


def test_axis_is_an_axis_of_x_even_if_where_has_more():
    where = np.array([[True, True, False], [True, True, True]])
    np.testing.assert_allclose(softmax([1, 1, 1], axis=0, where=where).sum(axis=-1), [1, 1])
    with refuses("axis", "1"):
        softmax([1, 1, 1], axis=1, where=where)
