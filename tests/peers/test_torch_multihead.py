"""torch.nn.MultiheadAttention through MultiHeadAttention.from_torch, as read in torch 2.13.

- True in its masks means hidden, the opposite of ours: `key_padding_mask` is (batch, n_k),
  `attn_mask` is (n_q, n_k) or (batch * heads, n_q, n_k). Float masks are added to the scores.
- Unless `batch_first` is set, positions come before the batch.
- A fully hidden row is NaN when weights are asked for, and `b_o` as ours when they are not.
"""

import numpy as np
import pytest

from attention_utils import (
    MultiHeadAttention,
    additive_mask,
    causal_mask,
    combine_masks,
    padding_mask,
)
from tests.helpers import assert_close, normal, refuses
from tests.peers import need

torch = need("torch")
pytestmark = pytest.mark.filterwarnings("error")

D_MODEL, HEADS, D_MEMORY = 6, 2, 7
LENGTHS = [5, 2]  # two sequences and two heads: a missing head axis would not be an error


def module(d_memory=D_MODEL, **options):
    """A torch layer with no parameter left at its initial zero."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(
        D_MODEL, HEADS, kdim=d_memory, vdim=d_memory, dtype=torch.float64, **options
    )
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    return layer


def theirs(layer, x, memory, need_weights=True, **masks):
    """(output, weights of every head) for arrays with the batch first."""
    flip = x.ndim == 3 and not layer.batch_first
    x, memory = (torch.from_numpy(a) for a in (x, memory))
    if flip:
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
    masks = {name: torch.from_numpy(mask) for name, mask in masks.items()}
    output, weights = layer(
        x, memory, memory, need_weights=need_weights, average_attn_weights=False, **masks
    )
    output = (output.transpose(0, 1) if flip else output).detach().numpy()
    return output, weights.detach().numpy() if need_weights else None


def assert_same(layer, x, memory=None, *, mask=None, **masks):
    """Compare; `mask` is ours, `masks` are those of torch."""
    ours = MultiHeadAttention.from_torch(layer)(x, memory, mask=mask)
    output, weights = theirs(layer, x, x if memory is None else memory, **masks)
    assert_close(ours.output, output, what="output")
    assert_close(ours.weights, weights, what="weights")


def hidden(mask):
    """Our mask in the polarity of torch's layer."""
    return ~mask


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
class TestLayers:
    def test_self_attention(self, bias, batch_first):
        assert_same(module(bias=bias, batch_first=batch_first), normal(2, 5, 6))

    def test_cross_attention(self, bias, batch_first):
        assert_same(
            module(bias=bias, batch_first=batch_first), normal(2, 3, 6), normal(2, 5, 6, seed=1)
        )

    def test_memory_of_another_width(self, bias, batch_first):
        layer = module(D_MEMORY, bias=bias, batch_first=batch_first)
        assert_same(layer, normal(2, 3, 6), normal(2, 5, 7, seed=1))
        ours = MultiHeadAttention.from_torch(layer)
        assert (ours.d_model, ours.d_memory, ours.n_heads, ours.d_k, ours.d_v) == (6, 7, 2, 3, 3)

    def test_one_sequence_without_a_batch(self, bias, batch_first):
        assert_same(module(bias=bias, batch_first=batch_first), normal(3, 6), normal(5, 6, seed=1))

    def test_padding_and_causal_mask_together(self, bias, batch_first):
        padding, causal = padding_mask(LENGTHS, 5), causal_mask(5)
        assert_same(
            module(bias=bias, batch_first=batch_first),
            normal(2, 5, 6),
            mask=combine_masks(padding, causal),
            key_padding_mask=hidden(padding[:, 0]),
            attn_mask=hidden(causal),
        )


def test_padding_in_cross_attention():
    padding = padding_mask(LENGTHS, 5)
    assert_same(
        module(batch_first=True),
        normal(2, 3, 6),
        normal(2, 5, 6, seed=1),
        mask=padding,
        key_padding_mask=hidden(padding[:, 0]),
    )


def test_float_masks_are_added():
    padding, causal = padding_mask(LENGTHS, 5), causal_mask(5)
    assert_same(
        module(batch_first=True),
        normal(2, 5, 6),
        mask=combine_masks(padding, causal),
        key_padding_mask=additive_mask(padding[:, 0]),
        attn_mask=additive_mask(causal),
    )


def test_a_mask_for_each_sequence():
    mask = normal(2, 3, 5, seed=4) > -0.5
    assert_same(
        module(batch_first=True),
        normal(2, 3, 6),
        normal(2, 5, 6, seed=1),
        mask=mask,
        attn_mask=hidden(np.repeat(mask, HEADS, axis=0)),
    )


def test_causal_mask_of_unequal_lengths():
    causal = causal_mask(3, 5)
    assert_same(
        module(batch_first=True),
        normal(2, 3, 6),
        normal(2, 5, 6, seed=1),
        mask=causal,
        attn_mask=hidden(causal),
    )


def test_an_empty_sequence_returns_the_output_bias():
    layer, x, padding = module(batch_first=True), normal(2, 5, 6), padding_mask([0, 5], 5)
    ours = MultiHeadAttention.from_torch(layer)(x, mask=padding).output
    output, _ = theirs(layer, x, x, need_weights=False, key_padding_mask=hidden(padding[:, 0]))
    assert_close(ours, output)
    assert_close(ours[0], np.tile(layer.out_proj.bias.detach().numpy(), (5, 1)), atol=0)


def test_float32_layer():
    layer = module(batch_first=True).float()
    x = normal(2, 5, 6, dtype=np.float32)
    ours = MultiHeadAttention.from_torch(layer)(x)
    output, weights = theirs(layer, x, x)
    assert ours.output.dtype == np.float32
    assert_close(ours.output, output, atol=2e-5)
    assert_close(ours.weights, weights, atol=2e-5)


def test_later_training_does_not_change_what_was_taken():
    layer = module(batch_first=True)
    ours = MultiHeadAttention.from_torch(layer)
    before = ours(normal(5, 6)).output
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    assert_close(ours(normal(5, 6)).output, before, atol=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"add_bias_kv": True}, ["add_bias_kv"]),
        ({"add_zero_attn": True}, ["add_zero_attn"]),
        ({"kdim": 7, "vdim": 5}, ["kdim", "vdim", "7", "5"]),
    ],
)
def test_refuses_what_has_no_counterpart(options, words):
    with refuses(*words):
        MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(6, 2, **options))
