"""Every property holds for the package."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_utils import (
    MultiHeadAttention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from tests.property.problems import arrays
from tests.property.properties import PROPERTIES


def multi_head(layer):
    mha = MultiHeadAttention(layer.w_q, layer.w_k, layer.w_v, layer.w_o, layer.n_heads)
    return mha(layer.x, layer.memory, mask=layer.mask).output


@pytest.mark.parametrize("name", PROPERTIES)
def test_property(name):
    check, strategy = PROPERTIES[name]
    subject = multi_head if name.startswith("multi_head") else scaled_dot_product_attention

    @given(strategy)
    def holds(problem):
        check(subject, problem)

    holds()


@given(st.data(), st.integers(1, 4), st.integers(0, 4), st.integers(1, 4))
def test_merge_undoes_split(data, n_heads, n, width):
    x = data.draw(arrays(2, n, n_heads * width))
    np.testing.assert_array_equal(merge_heads(split_heads(x, n_heads)), x)
    heads = data.draw(arrays(2, n_heads, n, width))
    np.testing.assert_array_equal(split_heads(merge_heads(heads), n_heads), heads)
