"""torch.nn.functional.scaled_dot_product_attention, as read in torch 2.13.

- A boolean `attn_mask` is True where a query may read, as ours; a float one is our bias.
- `is_causal` starts at the upper left; ours ends at the lower right.
- A fully hidden row gives zeros, as ours; so does having no key at all.
- NaN in a hidden key or value spreads to every row: not compared.
"""

import numpy as np
import pytest

from attention_utils import additive_mask, padding_mask, scaled_dot_product_attention
from tests.helpers import assert_parity, example, normal
from tests.peers import need

torch = need("torch")


def torch_attention(query, key, value, attn_mask=None, **options):
    tensors = [torch.from_numpy(a) for a in (query, key, value)]
    if attn_mask is not None:
        attn_mask = torch.from_numpy(attn_mask)
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(*tensors, attn_mask=attn_mask, **options).numpy()


def assert_same(theirs, query, key, value, **options):
    assert_parity(scaled_dot_product_attention(query, key, value, **options), theirs, None, value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3)])
def test_plain(batch, dtype):
    arrays = example(batch, dtype=dtype)
    assert_same(torch_attention(*arrays), *arrays)


@pytest.mark.parametrize("scale", [1.0, 0.3, -0.5, 0.0])
def test_scale(scale):
    arrays = example((2, 3))
    assert_same(torch_attention(*arrays, scale=scale), *arrays, scale=scale)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (3, 1), (3, 3, 5), (2, 1, 1, 5), (2, 3, 3, 5)])
def test_boolean_mask(shape):
    arrays = example((2, 3))
    mask = normal(*shape, seed=5) > -0.5
    if shape[-2] > 1:
        mask[..., 0, :] = False  # a fully hidden row
    assert_same(torch_attention(*arrays, mask), *arrays, mask=mask)


@pytest.mark.parametrize("shape", [(3, 5), (3, 3, 5), (2, 3, 3, 5)])
def test_bias(shape):
    arrays = example((2, 3))
    bias = normal(*shape, seed=5)
    bias[..., 1, 2] = bias[..., 0, :] = -np.inf
    assert_same(torch_attention(*arrays, bias), *arrays, bias=bias)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (5, 3), (4, 4), (1, 5), (5, 1)])
def test_is_causal_starts_at_the_upper_left(n_q, n_k):
    arrays = example((2, 3), n_q, n_k)
    theirs = torch_attention(*arrays, is_causal=True)
    assert_same(theirs, *arrays, mask=np.tri(n_q, n_k, dtype=bool))
    if n_q == n_k:
        assert_same(theirs, *arrays, causal=True)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (4, 4), (1, 5)])
def test_our_causal_is_the_lower_right_bias_of_torch(n_q, n_k):
    # for n_q > n_k torch warns that rows with nothing to read will be NaN
    arrays = example((2, 3), n_q, n_k, d_v=7)
    corner = need("torch.nn.attention.bias").causal_lower_right(n_q, n_k)
    attend = torch.nn.functional.scaled_dot_product_attention
    theirs = attend(*map(torch.from_numpy, arrays), attn_mask=corner).numpy()
    assert_same(theirs, *arrays, causal=True)


def test_padding_of_a_batch_as_long_as_the_heads():
    arrays = example((3, 3))
    mask = padding_mask([5, 2, 0], 5)[:, None]
    assert_same(torch_attention(*arrays, mask), *arrays, mask=mask)
    assert_same(torch_attention(*arrays, additive_mask(mask)), *arrays, mask=mask)


def test_no_key():
    arrays = example((2, 3), n_k=0)
    assert_same(torch_attention(*arrays), *arrays)
