"""The worked examples: their published numbers, and what makes them tell mistakes apart."""

import numpy as np
import pytest

from attention_utils import scaled_dot_product_attention
from attention_utils.examples import (
    DISCRIMINATING,
    DISCRIMINATING_CAUSAL,
    EXAMPLES,
    TWO_POSITIONS,
)
from tests import reference
from tests.helpers import assert_close

by_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def test_two_positions_is_the_example_of_the_documents():
    query, key = TWO_POSITIONS.x @ TWO_POSITIONS.w_q, TWO_POSITIONS.x @ TWO_POSITIONS.w_k
    assert_close(query, [[1, 1, 2, 0], [0, 0, 2, 2]], atol=0)
    assert_close(key, [[2, 1, 0, 0], [4, 0, 2, 2]], atol=0)
    assert_close(query @ key.T, [[3, 8], [0, 8]], atol=0)
    weights = scaled_dot_product_attention(query, key, TWO_POSITIONS.x).weights
    assert_close(weights, [[0.076, 0.924], [0.018, 0.982]], atol=5e-4)


def test_discriminating_is_the_example_of_the_documents():
    e = DISCRIMINATING
    assert_close((e.x @ e.w_q) @ (e.x @ e.w_k).T, [[2, 6, 0], [3, 4, -4], [4, 7, 2]], atol=0)
    assert_close(e.x @ e.w_v, [[3, 10], [12, 23], [0, 3]], atol=0)
    assert_close(e.output, [[10.468, 20.675], [8.505, 17.922], [9.707, 19.520]], atol=5e-4)
    causal = [[3, 10], [8.602, 18.092], [9.707, 19.520]]
    assert_close(DISCRIMINATING_CAUSAL.output, causal, atol=5e-4)


@by_example
def test_output_by_the_reference(example):
    x, memory = example.asking, example.source
    if example.w_o is None:
        query = reference.project(x, example.w_q)
        key, value = (reference.project(memory, w) for w in (example.w_k, example.w_v))
        expected = reference.attention(query, key, value, mask=example.mask)[0]
    else:
        weights = (example.w_q, example.w_k, example.w_v, example.w_o)
        expected = reference.multi_head(x, memory, *weights, example.n_heads, mask=example.mask)[0]
    assert_close(example.output, expected, atol=1e-12)


@by_example
def test_masks_by_the_reference(example):
    n_q, n_k = example.asking.shape[-2], example.source.shape[-2]
    if example.mask is None:
        assert not example.causal
        assert example.lengths is None
        return
    lengths = [n_k] if example.lengths is None else example.lengths
    for row, length in enumerate(lengths):
        shown = np.broadcast_to(example.mask, (len(lengths), n_q, n_k))[row]
        for i in range(n_q):
            for j in range(n_k):
                past = not example.causal or reference.visible(i, j, (), n_q, n_k, causal=True)
                assert shown[i, j] == (j < length and past)


@by_example
def test_small_whole_numbers_of_different_sizes(example):
    matrices = [example.x, example.w_q, example.w_k, example.w_v]
    matrices += [a for a in (example.w_o, example.memory) if a is not None]
    for matrix in matrices:
        assert matrix.dtype.kind == "i"
        assert np.abs(matrix).max() <= 3
    d_k = example.w_q.shape[1] // example.n_heads
    d_v = example.w_v.shape[1] // example.n_heads
    assert d_k != d_v
    assert d_k != example.x.shape[-1]
