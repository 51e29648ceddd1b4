"""Our gradients against torch.autograd through torch.nn.functional.scaled_dot_product_attention."""

import numpy as np
import pytest

from attention_utils import causal_mask, scaled_dot_product_attention_backward
from tests.helpers import assert_close, example, normal
from tests.peers import need

torch = need("torch")


def torch_gradients(arrays, grad_output, attn_mask=None, **options):
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    if attn_mask is not None:
        attn_mask = torch.from_numpy(attn_mask)
    attend = torch.nn.functional.scaled_dot_product_attention
    attend(*tensors, attn_mask=attn_mask, **options).backward(torch.from_numpy(grad_output))
    return [tensor.grad.numpy() for tensor in tensors]


def assert_same(arrays, theirs, atol=1e-12, **options):
    grad = normal(*theirs_shape(arrays, options), seed=9, dtype=arrays[0].dtype)
    ours = scaled_dot_product_attention_backward(*arrays, grad, **options)
    for name, a, b in zip(ours._fields, ours, theirs(grad), strict=True):
        assert_close(a, b, atol=atol, what=name)


def theirs_shape(arrays, options):
    mask = options.get("mask", options.get("bias"))
    batches = [a.shape[:-2] for a in arrays] + ([] if mask is None else [mask.shape[:-2]])
    return (*np.broadcast_shapes(*batches), arrays[0].shape[-2], arrays[2].shape[-1])


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 2e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_plain(batch, dtype, atol):
    arrays = example(batch, dtype=dtype)
    assert_same(arrays, lambda grad: torch_gradients(arrays, grad), atol)


def test_scale():
    arrays = example((2, 3))
    assert_same(arrays, lambda grad: torch_gradients(arrays, grad, scale=0.3), scale=0.3)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (2, 1, 3, 5)])
def test_bias(shape):
    arrays, bias = example((2, 3)), normal(*shape, seed=5)
    assert_same(arrays, lambda grad: torch_gradients(arrays, grad, bias), bias=bias)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (4, 4), (1, 5)])
def test_causal(n_q, n_k):
    arrays, corner = example((2, 3), n_q, n_k), causal_mask(n_q, n_k)
    assert_same(arrays, lambda grad: torch_gradients(arrays, grad, corner), causal=True)


def test_mask_with_a_row_that_reads_nothing():
    arrays = example((2, 3))
    mask = normal(3, 5, seed=5) > -0.5
    mask[0] = False
    assert_same(arrays, lambda grad: torch_gradients(arrays, grad, mask), mask=mask)


@pytest.mark.parametrize("batches", [((), (2,), ()), ((2, 1), (3,), (1,)), ((1,), (1,), (2,))])
def test_broadcast_axes(batches):
    """torch is given the copies; autograd adds their gradients, as ours must."""
    arrays = [normal(*b, *a.shape, seed=3) for b, a in zip(batches, example(), strict=True)]
    batch = np.broadcast_shapes(*batches)

    def theirs(grad):
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
        copies = [t.expand(*batch, *t.shape[-2:]) for t in tensors]
        output = torch.nn.functional.scaled_dot_product_attention(*copies)
        output.backward(torch.from_numpy(grad))
        return [tensor.grad.numpy() for tensor in tensors]

    assert_same(arrays, theirs)
