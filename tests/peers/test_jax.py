"""jax.nn.dot_product_attention, as read in JAX 0.10.

- Arrays are (batch, positions, heads, features); values are as wide as keys.
- The softmax is computed in float32 whatever the input is, so float32 is what is compared.
- `mask` is True where a query may read, as ours; `bias` is added.
- `is_causal` starts at the upper left; ours ends at the lower right.
- A fully hidden row is uniform over the forbidden keys, not zero: compared without such rows.
- NaN in a hidden value spreads to every row: not compared. In a hidden key it does not.
"""

import numpy as np
import pytest

from attention_utils import combine_masks, padding_mask, scaled_dot_product_attention
from tests.helpers import assert_close, assert_parity, example, normal
from tests.peers import need

jax = need("jax")

SIZES = [(3, 5), (5, 3), (4, 4), (1, 5), (5, 1)]


def jax_attention(query, key, value, **options):
    """Takes and gives arrays in our layout (batch, heads, positions, features)."""
    query, key, value = (np.swapaxes(a, 1, 2) for a in (query, key, value))
    return np.swapaxes(jax.nn.dot_product_attention(query, key, value, **options), 1, 2)


def arrays(n_q=3, n_k=5):
    return example((2, 3), n_q, n_k, d_v=7, dtype=np.float32)


def assert_same(theirs, query, key, value, **options):
    assert_parity(scaled_dot_product_attention(query, key, value, **options), theirs, None, value)


@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_plain(n_q, n_k):
    given = arrays(n_q, n_k)
    assert_same(jax_attention(*given), *given)


@pytest.mark.parametrize("scale", [1.0, 0.3, -0.5, 0.0])
def test_scale(scale):
    assert_same(jax_attention(*arrays(), scale=scale), *arrays(), scale=scale)


@pytest.mark.parametrize("shape", [(1, 1, 3, 5), (2, 1, 1, 5), (2, 3, 3, 5)])
def test_mask(shape):
    mask = normal(*shape, seed=5) > -0.5
    mask[..., 0] = True  # no fully hidden row
    assert_same(jax_attention(*arrays(), mask=mask), *arrays(), mask=mask)


@pytest.mark.parametrize("shape", [(1, 1, 3, 5), (2, 3, 3, 5)])
def test_bias_and_mask(shape):
    bias, mask = normal(*shape, seed=5, dtype=np.float32), normal(*shape, seed=6) > -0.5
    mask[..., 0] = True
    assert_same(jax_attention(*arrays(), bias=bias), *arrays(), bias=bias)
    both = {"bias": bias, "mask": mask}
    assert_same(jax_attention(*arrays(), **both), *arrays(), **both)


@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
def test_is_causal_starts_at_the_upper_left(n_q, n_k):
    given = arrays(n_q, n_k)
    theirs = jax_attention(*given, is_causal=True)
    assert_same(theirs, *given, mask=np.tri(n_q, n_k, dtype=bool))
    if n_q == n_k:
        assert_same(theirs, *given, causal=True)


def test_lengths_are_our_padding():
    padding = padding_mask([4, 2], 5)[:, None]
    theirs = jax_attention(*arrays(), key_value_seq_lengths=np.array([4, 2]))
    assert_same(theirs, *arrays(), mask=padding)
    given = arrays(5, 5)
    theirs = jax_attention(*given, key_value_seq_lengths=np.array([4, 2]), is_causal=True)
    assert_same(theirs, *given, mask=combine_masks(padding, np.tri(5, dtype=bool)))


def test_a_fully_hidden_row_is_where_we_differ():
    query, key, value = arrays()
    mask = np.ones((1, 1, 3, 5), bool)
    mask[..., 1, :] = False
    theirs = jax_attention(query, key, value, mask=mask)
    assert_close(theirs[:, :, 1], value.mean(-2), atol=1e-6)
    ours = scaled_dot_product_attention(query, key, value, mask=mask).output
    assert_close(ours[:, :, 1], np.zeros((2, 3, 7)), atol=0)
    assert_close(ours[:, :, [0, 2]], theirs[:, :, [0, 2]], atol=1e-6)
