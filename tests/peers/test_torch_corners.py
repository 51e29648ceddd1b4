"""What chapter 12 says in sentences about torch.nn.MultiheadAttention, outside of its tables."""

import numpy as np
import pytest

from attention_utils import MultiHeadAttention
from tests.helpers import normal
from tests.peers import need

torch = need("torch")

X = torch.from_numpy(normal(2, 5, 6))
# The second sequence may read nothing.
EMPTY = torch.tensor([[False] * 5, [True] * 5])


def layer():
    torch.manual_seed(0)
    return torch.nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64)


def test_without_weights_an_empty_row_is_the_bias_while_gradients_are_recorded():
    output, _ = layer()(X, X, X, key_padding_mask=EMPTY, need_weights=False)
    bias = layer().out_proj.bias
    assert torch.allclose(output[1], bias.expand(5, 6))


def test_in_evaluation_it_can_be_nan_there_too():
    with torch.no_grad():
        output, _ = layer().eval()(X, X, X, key_padding_mask=EMPTY, need_weights=False)
    assert torch.isnan(output[1]).all()


@pytest.mark.parametrize("evaluation", [False, True])
def test_which_mask_counts_when_mask_and_hint_disagree(evaluation):
    """The mask lets everybody read key 0 only; the hint says causal."""
    hidden = torch.ones(5, 5, dtype=torch.bool)
    hidden[:, 0] = False
    options = {"attn_mask": hidden, "is_causal": True, "need_weights": False}
    theirs = layer().eval() if evaluation else layer()
    with torch.set_grad_enabled(not evaluation):
        output, _ = theirs(X, X, X, **options)
    mask = ~hidden.numpy() if evaluation else np.tri(5, dtype=bool)
    expected = MultiHeadAttention.from_torch(theirs)(X.numpy(), mask=mask).output
    assert np.allclose(output.detach().numpy(), expected)


def test_setting_nan_to_zero_afterwards_is_too_late_for_the_gradients():
    theirs = layer()
    output, _ = theirs(X, X, X, key_padding_mask=EMPTY)
    loss = torch.where(EMPTY[..., None], 0, output).sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isnan(theirs.in_proj_weight.grad).any()
