"""layer_norm and sinusoidal_positions."""

from math import cos, sin, sqrt

import numpy as np
import pytest

from attention_utils import layer_norm, sinusoidal_positions
from tests import reference
from tests.helpers import assert_close, normal, refuses


def test_layer_norm_by_hand():
    # mean 3, variance 4
    assert_close(layer_norm([[1, 5], [0, 0]], eps=0.0 + 1e-12), [[-1, 1], [0, 0]], atol=1e-11)
    assert_close(layer_norm([1.0, 5.0], eps=12), [-0.5, 0.5], atol=1e-15)


def test_layer_norm_uses_the_population_variance():
    x = [1.0, 2.0, 3.0, 6.0]  # mean 3, variance 14 / 4
    assert_close(layer_norm(x), (np.array(x) - 3) / sqrt(3.5 + 1e-5), atol=1e-15)


def test_layer_norm_of_each_row_by_the_reference():
    x = 3 + 5 * normal(2, 3, 7)
    expected = [[reference.layer_norm(list(row)) for row in block] for block in x]
    assert_close(layer_norm(x), expected, atol=1e-14)
    expected = [[reference.layer_norm(list(row), eps=0.5) for row in block] for block in x]
    assert_close(layer_norm(x, eps=0.5), expected, atol=1e-14)


def test_gain_and_shift_by_feature():
    x, gain, shift = normal(3, 7), normal(7, seed=1), normal(7, seed=2)
    plain = layer_norm(x)
    assert_close(layer_norm(x, gain), plain * gain, atol=1e-15)
    assert_close(layer_norm(x, shift=shift), plain + shift, atol=1e-15)
    assert_close(layer_norm(x, gain, shift), plain * gain + shift, atol=1e-15)


def test_a_constant_row_is_quietly_zero():
    with np.errstate(all="raise"):
        assert_close(layer_norm(np.full((3, 7), 1e3)), np.zeros((3, 7)), atol=0)


@pytest.mark.parametrize("name", ["gain", "shift"])
def test_layer_norm_refuses_vectors_of_another_width(name):
    for bad in (np.ones(6), np.ones(1), np.ones((3, 1))):
        with refuses(name, "7"):
            layer_norm(np.ones((3, 7)), **{name: bad})


def test_layer_norm_refuses_what_is_not_real():
    with refuses("x", "complex128"):
        layer_norm(np.ones((3, 7), complex))
    with refuses("x"):
        layer_norm(1.0)


@pytest.mark.parametrize("eps", [-1e-5, np.nan, np.inf, "a"])
def test_layer_norm_eps_must_be_a_small_number(eps):
    with refuses("eps"):
        layer_norm(np.ones((3, 7)), eps=eps)


def test_positions_by_hand():
    expected = [
        [0, 1, 0, 1],
        [sin(1), cos(1), sin(0.01), cos(0.01)],
        [sin(2), cos(2), sin(0.02), cos(0.02)],
    ]
    assert_close(sinusoidal_positions(3, 4), expected, atol=1e-15)
    assert_close(sinusoidal_positions(2, 4)[1], [0.8415, 0.5403, 0.0100, 1.0000], atol=5e-5)


@pytest.mark.parametrize(("n", "d_model"), [(11, 6), (3, 2), (0, 4)])
def test_positions_by_the_reference(n, d_model):
    expected = [[reference.sinusoid(p, c, d_model) for c in range(d_model)] for p in range(n)]
    assert_close(sinusoidal_positions(n, d_model), np.reshape(expected, (n, d_model)), atol=1e-13)


def test_a_step_is_the_same_rotation_everywhere():
    positions = sinusoidal_positions(13, 6)
    products = positions @ positions.T
    for step in range(13):
        assert np.ptp(np.diagonal(products, step)) < 1e-12, (
            "the product depends on the distance alone"
        )


@pytest.mark.parametrize(
    ("n", "d_model", "name"),
    [(-1, 4, "n"), (2.0, 4, "n"), (True, 4, "n"), (3, 0, "d_model"), (3, 4.0, "d_model")],
)
def test_positions_refuse_other_sizes(n, d_model, name):
    with refuses(name):
        sinusoidal_positions(n, d_model)


@pytest.mark.parametrize("value", [123456.7, 1e4 / 3])
def test_a_constant_row_gives_exact_zeros(value):
    # the rounded mean of equal float32 numbers need not be that number
    for d in (7, 512):
        assert (layer_norm(np.full(d, value, np.float32)) == 0).all()
