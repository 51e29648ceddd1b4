"""Batch axes of every argument broadcast by NumPy's rules, as a loop over the batch would."""

import numpy as np
import pytest

from attention_utils import attention_weights, padding_mask, scaled_dot_product_attention
from tests.helpers import assert_close, assert_matches_reference, example, normal

# batch axes of query, key, value, bias (None: no bias), mask (None: no mask)
BATCHES = [
    ((2,), (2,), (2,), None, None),
    ((2, 3), (2, 3), (2, 3), (2, 3), (2, 3)),
    ((2, 3), (3,), (), None, None),
    ((), (2,), (3, 1), None, None),
    ((2, 1), (1, 3), (1, 1), None, None),
    ((), (), (2,), None, None),
    ((2,), (), (), None, None),
    ((), (2,), (), None, None),
    ((), (), (), (2,), None),
    ((), (), (), None, (2,)),
    ((), (), (), (2, 1), (3,)),
    ((3,), (3,), (2, 3), (2, 1), None),
    ((2, 3), (2, 3), (2, 3), None, (2, 1)),
    ((1,), (1,), (1,), (1,), (1,)),
    ((0,), (0,), (0,), None, None),
    ((2, 0), (0,), (1,), None, (2, 1)),
]


@pytest.mark.parametrize(("query", "key", "value", "bias", "mask"), BATCHES)
def test_batch_axes_broadcast(query, key, value, bias, mask):
    options = {"causal": True}
    if bias is not None:
        options["bias"] = normal(*bias, 3, 5, seed=8)
    if mask is not None:
        options["mask"] = normal(*mask, 3, 5, seed=9) > -0.5
    arrays = normal(*query, 3, 7, seed=1), normal(*key, 5, 7, seed=2), normal(*value, 5, 11, seed=3)
    result = assert_matches_reference(scaled_dot_product_attention, *arrays, **options)
    assert_close(attention_weights(*arrays[:2], **options), result.weights, atol=1e-15)


@pytest.mark.parametrize(
    "shape", [(5,), (1, 5), (3, 1), (3, 5), (2, 1, 5), (2, 3, 1), (4, 1, 3, 5)]
)
def test_mask_and_bias_of_any_broadcastable_shape(shape):
    arrays = example((2,))
    for options in ({"mask": normal(*shape, seed=6) > -0.5}, {"bias": normal(*shape, seed=6)}):
        assert_matches_reference(scaled_dot_product_attention, *arrays, **options)


def test_batch_axes_of_the_value_do_not_enlarge_the_weights():
    result = scaled_dot_product_attention(normal(3, 7), normal(5, 7), normal(2, 5, 11))
    assert [a.shape for a in result] == [(2, 3, 11), (3, 5), (3, 5)]


def test_padding_when_the_batch_is_as_long_as_the_queries():
    # three sequences and three queries: a mask of shape (3, 5) would be taken for one row a query
    arrays = example((3,))
    mask = padding_mask([5, 2, 0], 5)
    result = assert_matches_reference(scaled_dot_product_attention, *arrays, mask=mask)
    visible = (result.weights > 0).sum(-1)
    assert visible.tolist() == [[5, 5, 5], [2, 2, 2], [0, 0, 0]]


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 0), (0, 5), (0, 0)])
@pytest.mark.parametrize("causal", [False, True])
def test_no_key_and_no_query(n_q, n_k, causal):
    output, weights, scores = scaled_dot_product_attention(
        *example((2,), n_q=n_q, n_k=n_k), causal=causal
    )
    assert weights.shape == scores.shape == (2, n_q, n_k)
    assert_close(output, np.zeros((2, n_q, 11)), atol=0)


def test_no_key_with_a_mask_and_a_bias():
    query, key, value = example(n_k=0)
    for shape in [(3, 0), (0,), (1, 0), (3, 1), (1,)]:
        output = scaled_dot_product_attention(
            query, key, value, mask=np.ones(shape, bool), bias=np.zeros(shape)
        ).output
        assert_close(output, np.zeros((3, 11)), atol=0)
