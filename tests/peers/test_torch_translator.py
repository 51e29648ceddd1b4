"""The translator and its gradients against the stock Transformer layers of torch, and its Adam."""

import math

import numpy as np
import pytest

from attention_utils import sinusoidal_positions
from attention_utils.models.adam import Adam
from attention_utils.models.grammar import PAD_ID, batch_of, random_pairs
from attention_utils.models.training import clip, loss_and_gradients
from attention_utils.models.translator import (
    D_HIDDEN,
    D_MODEL,
    N_HEADS,
    Translator,
    parameter_shapes,
)
from tests.helpers import assert_close, normal
from tests.peers import need

torch = need("torch")


def parameters_of(dtype):
    """Random, none of them 0 or 1."""
    shapes = enumerate(parameter_shapes().items())
    return {n: (normal(*s, seed=i) / s[0] ** 0.5).astype(dtype) for i, (n, s) in shapes}


def layer_of(kind, tensors, block, sites):
    """A stock layer that computes with our tensors; torch stores transposes and has more biases."""
    layer = kind(D_MODEL, N_HEADS, D_HIDDEN, dropout=0.0, batch_first=True)
    own = {}
    for name, site in sites.items():
        inputs = [tensors[f"{site}.{w}"].T for w in ("w_q", "w_k", "w_v")]
        own[f"{name}.in_proj_weight"] = torch.cat(inputs)
        own[f"{name}.out_proj.weight"] = tensors[f"{site}.w_o"].T
    for i in (1, 2):
        own[f"linear{i}.weight"] = tensors[f"{block}.w_{i}"].T
        own[f"linear{i}.bias"] = tensors[f"{block}.b_{i}"]
    for i in range(1, len(sites) + 2):
        own[f"norm{i}.weight"] = tensors[f"{block}.norm_{i}.gain"]
        own[f"norm{i}.bias"] = tensors[f"{block}.norm_{i}.shift"]
    dtype = tensors["output.b"].dtype
    for name, parameter in layer.named_parameters():
        if name not in own:
            assert name.endswith(("in_proj_bias", "out_proj.bias")), name
            own[name] = torch.zeros_like(parameter, dtype=dtype)
    return lambda *args, **masks: torch.func.functional_call(layer, own, args, masks)


def torch_logits(tensors, batch, causal):
    def embed(side, ids):
        positions = torch.tensor(sinusoidal_positions(ids.shape[1], D_MODEL))
        table = tensors[f"{side}.embedding"]
        return table[torch.from_numpy(ids)] * math.sqrt(D_MODEL) + positions.to(table.dtype)

    hidden, later = torch.from_numpy(batch.source == PAD_ID), None
    target_hidden = torch.from_numpy(batch.target_input == PAD_ID)
    if causal:
        n = batch.target_input.shape[1]
        later = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    nn = torch.nn
    encoder = layer_of(
        nn.TransformerEncoderLayer, tensors, "encoder", {"self_attn": "encoder_self"}
    )
    decoder = layer_of(
        nn.TransformerDecoderLayer,
        tensors,
        "decoder",
        {"self_attn": "decoder_self", "multihead_attn": "cross"},
    )
    rows = decoder(
        embed("target", batch.target_input),
        encoder(embed("source", batch.source), src_key_padding_mask=hidden),
        tgt_mask=later,
        tgt_key_padding_mask=target_hidden,
        memory_key_padding_mask=hidden,
    )
    return rows @ tensors["output.w"] + tensors["output.b"]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("dtype", "relative"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_logits_loss_and_gradients(dtype, relative, causal):
    parameters = parameters_of(dtype)
    batch = batch_of(random_pairs(np.random.default_rng(0), 16))
    tensors = {n: torch.tensor(a, requires_grad=True) for n, a in parameters.items()}
    logits = torch_logits(tensors, batch, causal)
    target = torch.from_numpy(batch.target)
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD_ID
    )
    loss.backward()

    real = batch.target != PAD_ID
    ours = Translator(parameters, causal=causal)(batch.source, batch.target_input).logits
    theirs = logits.detach().numpy()
    assert_close(ours[real], theirs[real], atol=relative * np.abs(theirs).max())
    our_loss, gradients = loss_and_gradients(parameters, batch, causal=causal)
    assert_close(our_loss, loss.item(), atol=relative * loss.item())
    for name, gradient in gradients.items():
        theirs = tensors[name].grad.numpy()
        norm = np.linalg.norm(theirs)
        assert norm > 0
        assert np.linalg.norm(gradient - theirs) <= relative * norm, name


def test_clip_and_adam():
    parameters = {"a": normal(3, 5), "b": normal(7, seed=1)}
    tensors = {n: torch.tensor(a, requires_grad=True) for n, a in parameters.items()}
    ours = Adam(parameters, beta_2=0.98)
    theirs = torch.optim.Adam(tensors.values(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(5):
        gradients = {n: normal(*a.shape, seed=10 + step) for n, a in parameters.items()}
        for name, tensor in tensors.items():
            tensor.grad = torch.tensor(gradients[name])
        torch.nn.utils.clip_grad_norm_(tensors.values(), 1.0)
        clip(gradients, 1.0)
        rate = 0.1 / (step + 1)
        theirs.param_groups[0]["lr"] = rate
        theirs.step()
        ours.step(gradients, rate)
    for name, tensor in tensors.items():
        assert_close(parameters[name], tensor.detach().numpy(), atol=1e-5)
