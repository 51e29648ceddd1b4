"""MultiHeadAttention: by hand, by the loop-written reference, masks, biases, random weights."""

import numpy as np
import pytest

from attention_utils import (
    MultiHeadAttention,
    MultiHeadResult,
    causal_mask,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    split_heads,
)
from tests import reference
from tests.helpers import assert_agrees, assert_close, normal

D_MODEL, D_MEMORY, HEADS, D_K, D_V = 7, 13, 3, 2, 5


def parts(d_memory=D_MODEL, heads=HEADS, *, biases=""):
    """Weights of MultiHeadAttention and the biases asked for, as keyword arguments."""
    shapes = {
        "w_q": (D_MODEL, heads * D_K),
        "w_k": (d_memory, heads * D_K),
        "w_v": (d_memory, heads * D_V),
        "w_o": (heads * D_V, D_MODEL),
        "b_q": (heads * D_K,),
        "b_k": (heads * D_K,),
        "b_v": (heads * D_V,),
        "b_o": (D_MODEL,),
    }
    return {
        name: normal(*shape, seed=seed)
        for seed, (name, shape) in enumerate(shapes.items())
        if name[0] == "w" or name[2] in biases
    }


def assert_matches_loops(x, memory=None, *, mask=None, loop_mask=None, heads=HEADS, biases="qkvo"):
    """Compare with the reference; `loop_mask` is the mask with the head axis removed by hand."""
    d_memory = D_MODEL if memory is None else memory.shape[-1]
    weights = parts(d_memory, heads, biases=biases)
    result = MultiHeadAttention(**weights, n_heads=heads)(x, memory, mask=mask)
    source = x if memory is None else memory
    expected = reference.multi_head(
        x, source, n_heads=heads, mask=mask if loop_mask is None else loop_mask, **weights
    )
    assert_agrees(result, expected, atol=1e-12)
    return result


def test_two_heads_by_hand():
    # head 0 looks at feature 0 and copies it, head 1 at feature 1; scale 1 because d_k = 1
    big = np.array([[50.0, 0], [0, 50]])
    mha = MultiHeadAttention(
        w_q=big, w_k=np.eye(2), w_v=np.eye(2), w_o=[[1, 2], [10, 0]], n_heads=2
    )
    output, weights, head_outputs = mha([[1, -1], [0, 1], [1, 1]])
    half = [0.5, 0, 0.5]
    third = [1 / 3, 1 / 3, 1 / 3]
    late = [0, 0.5, 0.5]
    assert_close(weights, [[half, third, half], [[1, 0, 0], late, late]], atol=1e-12)
    assert_close(head_outputs, [[[1], [2 / 3], [1]], [[-1], [1], [1]]], atol=1e-12)
    assert_close(output, [[1 - 10, 2], [2 / 3 + 10, 4 / 3], [1 + 10, 2]], atol=1e-11)


def test_the_result_and_the_attributes():
    mha = MultiHeadAttention(**parts(D_MEMORY), n_heads=HEADS)
    assert (mha.d_model, mha.d_memory, mha.n_heads, mha.d_k, mha.d_v) == (7, 13, 3, 2, 5)
    result = mha(normal(2, 5, 7), normal(2, 11, 13))
    assert isinstance(result, MultiHeadResult)
    assert result._fields == ("output", "weights", "head_outputs")
    assert [a.shape for a in result] == [(2, 5, 7), (2, 3, 5, 11), (2, 3, 5, 5)]


@pytest.mark.parametrize("biases", ["", "q", "k", "v", "o", "qkvo"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_self_attention(batch, biases):
    assert_matches_loops(normal(*batch, 5, 7, seed=20), biases=biases)


@pytest.mark.parametrize("biases", ["", "qkvo"])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
def test_cross_attention_with_another_width_and_length(batch, biases):
    assert_matches_loops(
        normal(*batch, 5, 7, seed=20), normal(*batch, 11, 13, seed=21), biases=biases
    )


def test_memory_of_the_same_width_is_really_read():
    x, memory = normal(5, 7, seed=20), normal(5, 7, seed=21)
    assert_matches_loops(x, memory)
    mha = MultiHeadAttention(**parts(), n_heads=HEADS)
    assert_close(mha(x).output, mha(x, x).output, atol=0)


def test_one_memory_serves_a_batch_of_queries():
    x, memory = normal(2, 5, 7, seed=20), normal(11, 7, seed=21)
    mha = MultiHeadAttention(**parts(), n_heads=HEADS)
    result = mha(x, memory)
    assert_close(result.output, np.stack([mha(row, memory).output for row in x]))


# Masks are those of one head


@pytest.mark.parametrize("heads", [2, 3])
@pytest.mark.parametrize("batch", [2, 3])
def test_padding_mask(batch, heads):
    # with batch == heads a mask without a head axis would be read as one mask a head
    lengths = [5, 2, 0][:batch]
    mask = padding_mask(lengths, 5)
    result = assert_matches_loops(normal(batch, 5, 7, seed=20), mask=mask, heads=heads)
    visible = (result.weights > 0).sum(-1)  # (batch, heads, n_q)
    for sequence, length in enumerate(lengths):
        assert (visible[sequence] == length).all()


@pytest.mark.parametrize("shape", [(5,), (1, 5), (5, 1), (5, 5), (2, 1, 5), (2, 5, 5), (1, 5, 5)])
def test_mask_of_any_shape_of_one_head(shape):
    mask = normal(*shape, seed=22) > -0.5
    for batch in [(2,), (1,)]:
        assert_matches_loops(normal(*batch, 5, 7, seed=20), mask=mask, heads=2)


def test_mask_may_add_the_batch():
    mask = padding_mask([5, 2], 5)
    result = MultiHeadAttention(**parts(), n_heads=HEADS)(normal(5, 7, seed=20), mask=mask)
    assert result.output.shape == (2, 5, 7)
    assert_matches_loops(np.tile(normal(5, 7, seed=20), (2, 1, 1)), mask=mask)


def test_mask_with_two_batch_axes():
    mask = padding_mask([[5, 2, 1], [3, 0, 4]], 5)  # (2, 3, 1, 5)
    assert_matches_loops(normal(2, 3, 5, 7, seed=20), mask=mask)


def test_causal_mask_in_cross_attention_of_unequal_lengths():
    for n_q, n_k in [(3, 5), (5, 3)]:
        x, memory = normal(n_q, 7, seed=20), normal(n_k, 13, seed=21)
        assert_matches_loops(x, memory, mask=causal_mask(n_q, n_k))


def test_a_query_with_nothing_to_read_returns_the_output_bias():
    weights = parts(biases="qkvo")
    mha = MultiHeadAttention(**weights, n_heads=HEADS)
    output, maps, head_outputs = mha(normal(2, 5, 7), mask=padding_mask([0, 5], 5))
    assert_close(output[0], np.tile(weights["b_o"], (5, 1)), atol=0)
    assert (maps[0] == 0).all()
    assert (head_outputs[0] == 0).all()
    assert np.abs(output[1] - weights["b_o"]).max() > 0.1


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e308])
def test_hidden_memory_may_hold_anything(poison):
    mha = MultiHeadAttention(**parts(D_MEMORY, biases="qkvo"), n_heads=HEADS)
    x, memory = normal(2, 5, 7, seed=20), normal(2, 11, 13, seed=21)
    mask = padding_mask([4, 11], 11)
    clean = mha(x, memory, mask=mask)
    memory[0, 4:] = poison
    with np.errstate(all="raise"):
        result = mha(x, memory, mask=mask)
    for name, actual, expected in zip(clean._fields, result, clean, strict=True):
        assert_close(actual, expected, what=name)


def test_memory_hidden_from_some_queries_does_not_reach_them():
    mha = MultiHeadAttention(**parts(biases="qkvo"), n_heads=HEADS)
    x, memory = normal(3, 7, seed=20), normal(5, 7, seed=21)
    clean = mha(x, memory, mask=causal_mask(3, 5))
    memory[4] = np.nan  # the last query alone may read it
    result = mha(x, memory, mask=causal_mask(3, 5))
    assert_close(result.output[:2], clean.output[:2])
    assert_close(result.weights[:, :2], clean.weights[:, :2])
    assert np.isnan(result.output[2]).all()


def test_a_query_of_nan_with_nothing_to_read_returns_the_output_bias():
    weights = parts(biases="qkvo")
    x = normal(3, 7, seed=20)
    x[0] = np.nan
    output = MultiHeadAttention(**weights, n_heads=HEADS)(x, x[1:], mask=causal_mask(3, 2)).output
    assert_close(output[0], weights["b_o"], atol=0)
    assert np.isfinite(output).all()


# What the class is


def test_the_output_is_a_sum_over_heads_of_w_o_blocks():
    weights = parts(biases="o")
    output, _, heads = MultiHeadAttention(**weights, n_heads=HEADS)(normal(5, 7))
    blocks = weights["w_o"].reshape(HEADS, D_V, D_MODEL)
    assert_close(
        output, sum(h @ block for h, block in zip(heads, blocks, strict=True)) + weights["b_o"]
    )


def test_the_bias_of_the_keys_changes_nothing():
    # it adds the same number to all scores of a query, and softmax does not see that
    weights = parts(biases="qkvo")
    with_it = MultiHeadAttention(**weights, n_heads=HEADS)(normal(5, 7))
    without = MultiHeadAttention(**weights | {"b_k": None}, n_heads=HEADS)(normal(5, 7))
    assert_close(with_it.output, without.output)
    assert_close(with_it.weights, without.weights)


def test_one_head_is_plain_attention():
    weights = parts(heads=1)
    x = normal(5, 7)
    result = MultiHeadAttention(**weights, n_heads=1)(x)
    plain = scaled_dot_product_attention(*(x @ weights[w] for w in ("w_q", "w_k", "w_v")))
    assert_close(result.weights, plain.weights[None])
    assert_close(result.output, plain.output @ weights["w_o"])


def test_the_weights_are_kept_as_given():
    weights = parts(biases="qkvo")
    before = {name: w.copy() for name, w in weights.items()}
    mha = MultiHeadAttention(**weights, n_heads=HEADS)
    mha(normal(5, 7))
    for name, w in weights.items():
        np.testing.assert_array_equal(w, before[name])
        np.testing.assert_array_equal(getattr(mha, name), before[name])
    assert MultiHeadAttention(**parts(), n_heads=HEADS).b_q is None


# random


def test_random_draws_in_order_with_variance_one_over_fan_in():
    mha = MultiHeadAttention.random(7, 3, np.random.default_rng(5), d_k=2, d_v=5)
    rng = np.random.default_rng(5)
    for name, shape in [("w_q", (7, 6)), ("w_k", (7, 6)), ("w_v", (7, 15)), ("w_o", (15, 7))]:
        expected = rng.standard_normal(shape) / np.sqrt(shape[0])
        assert_close(getattr(mha, name), expected, atol=1e-15, what=name)
    assert (mha.b_q, mha.b_k, mha.b_v, mha.b_o) == (None, None, None, None)


def test_random_divides_the_width_among_the_heads():
    mha = MultiHeadAttention.random(12, 3, np.random.default_rng(0))
    assert (mha.d_k, mha.d_v, mha.d_model, mha.d_memory) == (4, 4, 12, 12)
    mha = MultiHeadAttention.random(12, 3, np.random.default_rng(0), d_k=5)
    assert (mha.d_k, mha.d_v) == (5, 4)
    mha = MultiHeadAttention.random(12, 3, np.random.default_rng(0), d_v=5)
    assert (mha.d_k, mha.d_v) == (4, 5)


def test_heads_are_copies_and_so_are_the_parameters():
    x = np.arange(8.0).reshape(2, 4)
    heads = split_heads(x, 2)
    heads *= 0
    merged = merge_heads(x[None])
    merged *= 0
    assert x.sum() == 28
    w = np.ones((4, 4))
    layer = MultiHeadAttention(w, w, w, w, 2)
    before = layer(x).output
    w[0, 0] = 100
    np.testing.assert_array_equal(layer(x).output, before)


@pytest.mark.parametrize("narrow", [np.int8, np.bool_])
def test_the_common_dtype_of_narrow_integers_and_float32(narrow):
    w = np.ones((4, 4), np.float32)
    assert MultiHeadAttention(w, w, w, w, 2)(np.ones((3, 4), narrow)).output.dtype == np.float32
    w = np.ones((4, 4), narrow)
    layer = MultiHeadAttention(w, w, w, w, 2)
    assert layer(np.ones((3, 4), np.float32)).output.dtype == np.float32
