"""split_heads and merge_heads: (..., n, h * d) <-> (..., h, n, d)."""

import numpy as np
import pytest

from attention_utils import merge_heads, split_heads
from tests.helpers import assert_close, normal, refuses


def test_split_by_hand():
    x = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]
    assert_close(split_heads(x, 2), [[[1, 2, 3], [7, 8, 9]], [[4, 5, 6], [10, 11, 12]]], atol=0)
    assert_close(
        split_heads(x, 3), [[[1, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]], atol=0
    )


def test_merge_by_hand():
    heads = [[[1, 2, 3], [7, 8, 9]], [[4, 5, 6], [10, 11, 12]]]
    assert_close(merge_heads(heads), [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], atol=0)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_head_h_reads_its_own_columns(batch):
    x = normal(*batch, 5, 3 * 7)
    heads = split_heads(x, 3)
    assert heads.shape == (*batch, 3, 5, 7)
    for h in range(3):
        assert_close(heads[..., h, :, :], x[..., 7 * h : 7 * (h + 1)], atol=0)
    assert_close(merge_heads(heads), x, atol=0)


def test_one_head_only_gains_an_axis():
    x = normal(5, 7)
    assert_close(split_heads(x, 1), x[None], atol=0)
    assert_close(merge_heads(x[None]), x, atol=0)


def test_no_position():
    assert split_heads(np.zeros((2, 0, 6)), 3).shape == (2, 3, 0, 2)
    assert merge_heads(np.zeros((2, 3, 0, 2))).shape == (2, 0, 6)


def test_whole_numbers_stay_exact():
    x = np.arange(12).reshape(2, 6)
    assert merge_heads(split_heads(x, 3)).tolist() == x.tolist()


def test_the_width_must_be_divisible():
    with refuses("n_heads", "7", "3"):
        split_heads(np.ones((5, 7)), 3)


@pytest.mark.parametrize("n_heads", [0, -1, 2.0, True, "2", None])
def test_the_number_of_heads_must_be_a_positive_integer(n_heads):
    with refuses("n_heads"):
        split_heads(np.ones((5, 6)), n_heads)


def test_axes_that_are_needed():
    with refuses("x", "(6,)"):
        split_heads(np.ones(6), 2)
    with refuses("x", "(5, 6)"):
        merge_heads(np.ones((5, 6)))
