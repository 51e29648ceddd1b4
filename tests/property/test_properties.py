"""Every property holds for the package."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_utils import (
    MultiHeadAttention,
    blockwise_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from tests.property.problems import arrays
from tests.property.properties import PROPERTIES


def multi_head(layer):
    mha = MultiHeadAttention(layer.w_q, layer.w_k, layer.w_v, layer.w_o, layer.n_heads)
    return mha(layer.x, layer.memory, mask=layer.mask).output


def subject(name):
    """What the property of this name is about."""
    if name.startswith("multi_head"):
        return multi_head
    return blockwise_attention if name.startswith("blocks") else scaled_dot_product_attention


@pytest.mark.parametrize("name", PROPERTIES)
def test_property(name):
    check, strategy = PROPERTIES[name]

    @given(strategy)
    def holds(problem):
        check(subject(name), problem)

    holds()


OF_ATTENTION = [name for name in PROPERTIES if subject(name) is scaled_dot_product_attention]


@pytest.mark.parametrize("name", OF_ATTENTION)
def test_the_output_block_by_block_has_the_property(name):
    check, strategy = PROPERTIES[name]

    @given(strategy, st.integers(1, 6))
    def holds(problem, block_size):
        def in_blocks(*arrays, **options):
            output = blockwise_attention(*arrays, **options, block_size=block_size)
            return scaled_dot_product_attention(*arrays, **options)._replace(output=output)

        check(in_blocks, problem)

    holds()


@given(st.data(), st.integers(1, 4), st.integers(0, 4), st.integers(1, 4))
def test_merge_undoes_split(data, n_heads, n, width):
    x = data.draw(arrays(2, n, n_heads * width))
    np.testing.assert_array_equal(merge_heads(split_heads(x, n_heads)), x)
    heads = data.draw(arrays(2, n_heads, n, width))
    np.testing.assert_array_equal(split_heads(merge_heads(heads), n_heads), heads)
