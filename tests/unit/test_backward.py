"""The gradients of attention: by hand, by finite differences, and silent about hidden pairs."""

import numpy as np
import pytest

from attention_utils import (
    causal_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    softmax_jacobian,
)
from tests.helpers import D_V, N_K, N_Q, OPTIONS, assert_close, example, normal, refuses

NAMES = ("query", "key", "value")
backward = scaled_dot_product_attention_backward


def output_of(arrays, **options):
    return scaled_dot_product_attention(*arrays, **options).output


def by_differences(arrays, grad_output, step=1e-6, **options):
    """Move each entry a little and see what the loss sum(grad_output * output) does."""
    gradients = []
    for which, array in enumerate(arrays):
        gradient = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            losses = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[which][place] += sign * step
                losses.append(np.sum(grad_output * output_of(moved, **options)))
            gradient[place] = (losses[0] - losses[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


def assert_gradients(actual, expected, atol):
    for name, a, b in zip(NAMES, actual, expected, strict=True):
        assert_close(a, b, atol=atol, what=name)


# By hand


def test_two_keys_by_hand():
    """Scores 0 and log 3, so weights 1/4 and 3/4; the values differ by 8."""
    query, key, value = [[1.0]], [[0.0], [np.log(3)]], [[0.0], [8.0]]
    gradients = backward(query, key, value, [[1.0]])
    slope = 1 / 4 * 3 / 4 * 8  # a(1 - a) times the difference of the values
    assert_close(gradients.value, [[1 / 4], [3 / 4]])
    assert_close(gradients.query, [[slope * np.log(3)]])
    assert_close(gradients.key, [[-slope], [slope]])


def test_value_path_is_the_weights_transposed_times_the_gradient():
    arrays, grad = example(), normal(N_Q, D_V, seed=9)
    weights = scaled_dot_product_attention(*arrays).weights
    assert_close(backward(*arrays, grad).value, weights.T @ grad)


def test_score_path_is_the_jacobian_of_softmax():
    query, key, value = example()
    grad = normal(N_Q, D_V, seed=9)
    weights = scaled_dot_product_attention(query, key, value, scale=1).weights
    rows = zip(softmax_jacobian(weights), grad, strict=True)
    grad_scores = np.array([jacobian @ (value @ g) for jacobian, g in rows])
    gradients = backward(query, key, value, grad, scale=1)
    assert_close(gradients.query, grad_scores @ key)
    assert_close(gradients.key, grad_scores.T @ query)


# By finite differences


@pytest.mark.parametrize("name", OPTIONS)
def test_finite_differences(name):
    arrays, grad = example(), normal(N_Q, D_V, seed=9)
    options = OPTIONS[name](N_Q, N_K)
    assert_gradients(
        backward(*arrays, grad, **options), by_differences(arrays, grad, **options), atol=1e-7
    )


@pytest.mark.parametrize(
    "batches",
    [
        ((), (2,), ()),
        ((2, 1), (3,), ()),
        ((1,), (1,), (2,)),
        ((2,), (), (3, 1)),
        ((1, 2), (2,), ()),
    ],
)
def test_where_an_input_was_broadcast_its_gradients_are_added(batches):
    arrays = [normal(*b, *a.shape, seed=3) for b, a in zip(batches, example(), strict=True)]
    grad = normal(*output_of(arrays).shape, seed=9)
    gradients = backward(*arrays, grad)
    assert [g.shape for g in gradients] == [a.shape for a in arrays]
    assert_gradients(gradients, by_differences(arrays, grad), atol=1e-7)


def test_a_mask_and_a_bias_may_bring_the_batch():
    arrays = example()
    options = {"mask": normal(2, 1, N_K, seed=4) > -1, "bias": normal(3, 1, N_Q, 1, seed=5)}
    grad = normal(3, 2, N_Q, D_V, seed=9)
    assert_gradients(
        backward(*arrays, grad, **options), by_differences(arrays, grad, **options), atol=1e-7
    )


def test_the_loss_falls_against_the_gradient():
    arrays, grad = example(), normal(N_Q, D_V, seed=9)
    gradients = backward(*arrays, grad)
    moved = [a - 1e-3 * g for a, g in zip(arrays, gradients, strict=True)]
    squares = sum(np.sum(g**2) for g in gradients)
    fall = np.sum(grad * output_of(arrays)) - np.sum(grad * output_of(moved))
    assert_close(fall / (1e-3 * squares), 1, atol=0.05)


# Hidden pairs


def test_a_key_that_nobody_reads_gets_exactly_nothing():
    arrays, grad = example(), normal(N_Q, D_V, seed=9)
    visible = np.arange(N_K) != 2
    gradients = backward(*arrays, grad, mask=visible)
    assert not gradients.key[2].any()
    assert not gradients.value[2].any()
    seen = [arrays[0], *(a[visible] for a in arrays[1:])]
    expected = backward(*seen, grad)
    assert_close(gradients.query, expected.query)
    assert_close(gradients.key[visible], expected.key)
    assert_close(gradients.value[visible], expected.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("where", ["mask", "bias", "causal"])
def test_what_is_hidden_has_no_influence_whatever_it_holds(bad, where):
    query, key, value = example(n_q=5)
    grad = normal(5, D_V, seed=9)
    options = {
        "mask": {"mask": causal_mask(5)},
        "bias": {"bias": np.where(causal_mask(5), 0, -np.inf)},
        "causal": {"causal": True},
    }[where]
    clean = backward(query[:4], key[:4], value[:4], grad[:4], causal=True)
    key[4] = value[4] = bad  # only query 4 may read it
    query[4] = grad[4] = 0
    with np.errstate(invalid="ignore"):
        gradients = backward(query, key, value, grad, **options)
    assert_close(gradients.query[:4], clean.query)


def test_a_query_that_reads_nothing_passes_nothing_back_not_even_nan():
    query, key, value = example()
    grad = normal(N_Q, D_V, seed=9)
    mask = np.ones((N_Q, N_K), bool)
    mask[1] = False
    expected = backward(np.delete(query, 1, 0), key, value, np.delete(grad, 1, 0))
    query[1] = grad[1] = np.nan
    gradients = backward(query, key, value, grad, mask=mask)
    assert not gradients.query[1].any()
    assert_close(np.delete(gradients.query, 1, 0), expected.query)
    assert_close(gradients.key, expected.key)
    assert_close(gradients.value, expected.value)


def test_a_visible_nan_is_nan_for_whom_it_concerns():
    query, key, value = example(n_q=5)
    grad = normal(5, D_V, seed=9)
    query[2, 0] = np.nan  # under a causal mask query 2 reads keys 0, 1, 2
    gradients = backward(query, key, value, grad, causal=True)
    assert np.isnan(gradients.query[2]).all()
    assert np.isnan(gradients.value[:3]).all()
    assert np.isfinite(gradients.query[[0, 1, 3, 4]]).all()
    assert np.isfinite(gradients.value[3:]).all()
    assert np.isfinite(gradients.key[3:]).all()


def test_no_key_and_no_query():
    gradients = backward(np.ones((3, 2)), np.ones((0, 2)), np.ones((0, 4)), np.ones((3, 4)))
    assert [g.shape for g in gradients] == [(3, 2), (0, 2), (0, 4)]
    assert not gradients.query.any()
    gradients = backward(np.ones((0, 2)), np.ones((3, 2)), np.ones((3, 4)), np.ones((0, 4)))
    assert not gradients.key.any()
    assert not gradients.value.any()


# Types, errors


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype(dtype):
    arrays = example(dtype=dtype)
    grad = normal(N_Q, D_V, seed=9, dtype=dtype)
    expected = backward(*(a.astype(float) for a in (*arrays, grad)))
    for got, want in zip(backward(*arrays, grad), expected, strict=True):
        assert got.dtype == dtype
        assert_close(got.astype(float), want, atol=20 * np.finfo(dtype).eps)


def test_integers_are_computed_in_float64():
    assert backward([[1]], [[1], [2]], [[3], [4]], [[1]]).query.dtype == np.float64


def test_huge_scores_neither_warn_nor_pass_anything_on():
    gradients = backward([[1e4]], [[1e4], [-1e4]], [[1.0], [2.0]], [[1.0]])
    assert_close(gradients.query, [[0.0]])
    assert_close(gradients.value, [[1.0], [0.0]])


def test_inputs_stay_as_they_were():
    arrays = (*example(), normal(N_Q, D_V, seed=9))
    before = [a.copy() for a in arrays]
    backward(*arrays, causal=True)
    for a, b in zip(arrays, before, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("shape", [(N_Q, D_V + 1), (N_Q + 1, D_V), (D_V,), (2, N_Q, D_V), ()])
def test_grad_output_needs_the_shape_of_the_output(shape):
    with refuses("grad_output", str(shape), str((N_Q, D_V))):
        backward(*example(), np.ones(shape))


def test_other_errors_are_those_of_the_forward_pass():
    query, key, value = example()
    grad = normal(N_Q, D_V, seed=9)
    with refuses("query", "d_k=7", "d_k=2"):
        backward(query, key[:, :2], value, grad)
    with refuses("mask", "boolean"):
        backward(query, key, value, grad, mask=np.ones((N_Q, N_K)))
    with refuses("value", "rows"):
        backward(query, key, value[:2], grad)
    with refuses("grad_output", "real"):
        backward(query, key, value, grad + 1j)
    with refuses("scale"):
        backward(query, key, value, grad, scale=np.nan)
