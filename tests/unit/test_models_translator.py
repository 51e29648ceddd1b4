"""The translator: its weights, its maps, its greedy translations, a head removed."""

import numpy as np
import pytest

from attention_utils import AttentionMap
from attention_utils.models import translator as module
from attention_utils.models.grammar import (
    END_ID,
    START_ID,
    SentencePair,
    batch_of,
    random_pairs,
    source_ids,
)
from attention_utils.models.training import initial_parameters
from attention_utils.models.translator import (
    MAX_TOKENS,
    N_HEADS,
    SITES,
    Translator,
    parameter_shapes,
)
from tests.helpers import assert_close, normal, refuses

SENTENCE = "these cars of the girl never carried my black dog"
FRENCH = "ces voitures de la fille ne portaient jamais mon chien noir"


@pytest.fixture(scope="module")
def trained():
    return Translator.load()


@pytest.fixture(scope="module")
def untrained():
    """Random weights, none of them 0 or 1: every term of the formula counts."""
    shapes = enumerate(parameter_shapes().items())
    return Translator({name: normal(*s, seed=i) / s[0] ** 0.5 for i, (name, s) in shapes})


def fresh(n, *, seed=11, held_out=False):
    return random_pairs(np.random.default_rng(seed), n, held_out=held_out)


# The weights that come with the package


@pytest.mark.parametrize("held_out", [False, True])
def test_the_stored_weights_translate(trained, held_out):
    assert trained.exact_match(fresh(1000, held_out=held_out)) >= 0.99


def test_the_stored_weights_are_small_and_say_where_they_are_from(trained):
    assert module.WEIGHTS.stat().st_size <= 250_000
    assert trained.note.endswith("seed 1, 800 steps.")
    assert trained.causal
    assert repr(trained) == "Translator(98139 parameters)"
    assert {array.dtype for array in trained.parameters.values()} == {np.dtype(np.float32)}


def test_another_file_in_its_place_is_noticed(tmp_path, monkeypatch):
    content = bytearray(module.WEIGHTS.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "french.npz").write_bytes(content)
    monkeypatch.setattr(module, "WEIGHTS", tmp_path / "french.npz")
    with refuses("french.npz", "SHA-256", module.SHA256[:12], "make train"):
        Translator.load()


def test_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WEIGHTS", tmp_path / "gone.npz")
    with pytest.raises(FileNotFoundError, match=r"gone\.npz.*make train"):
        Translator.load()
    with pytest.raises(FileNotFoundError, match="no weights at"):
        Translator.load(tmp_path)


def test_damaged_files(tmp_path):
    file = tmp_path / "mine.npz"
    content = module.WEIGHTS.read_bytes()
    for damaged in (b"", b"no weights", content[: len(content) // 2], content[:-100]):
        file.write_bytes(damaged)
        with refuses("mine.npz", "does not hold weights"):
            Translator.load(file)
    np.savez(file, something=np.ones(3))
    with refuses("mine.npz", "does not hold weights", "note"):
        Translator.load(file)
    with file.open("wb") as stream:
        np.save(stream, np.ones(3))
    with refuses("mine.npz", "does not hold weights"):
        Translator.load(file)
    np.savez(file, note=np.array({}, dtype=object), causal=True)
    with refuses("mine.npz", "does not hold weights"):
        Translator.load(file)
    np.savez(file, note="", causal=True, **{"output.b": np.ones(3)})
    with refuses("parameters", "source.embedding"):
        Translator.load(file)


def test_saved_and_loaded(tmp_path, untrained):
    first, second = tmp_path / "first", tmp_path / "second.npz"
    model = Translator(untrained.parameters, causal=False, note="Späße.")
    model.save(first)
    loaded = Translator.load(first)
    assert (loaded.note, loaded.causal) == ("Späße.", False)
    for name, array in model.parameters.items():
        assert_close(loaded.parameters[name], array, atol=2e-3)
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()


# One sentence


def test_a_translation_and_its_maps(trained):
    result = trained.translate(f"{SENTENCE.capitalize()}.")
    assert result.text == FRENCH
    assert result.source_tokens == (*SENTENCE.split(), "</s>")
    assert result.target_tokens == (*FRENCH.split(), "</s>")
    assert result.input_tokens == ("<s>", *FRENCH.split())
    n, m = len(result.source_tokens), len(result.target_tokens)
    assert result.encoder_self.shape == (N_HEADS, n, n)
    assert result.decoder_self.shape == (N_HEADS, m, m)
    assert result.cross.shape == (N_HEADS, m, n)
    assert not np.triu(result.decoder_self, 1).any()
    for head in range(N_HEADS):
        AttentionMap(result.encoder_self[head], result.source_tokens, result.source_tokens)
        AttentionMap(result.decoder_self[head], result.input_tokens, result.input_tokens)
        AttentionMap(result.cross[head], result.target_tokens, result.source_tokens)


def test_the_row_of_a_word_is_the_one_that_wrote_it(trained):
    result = trained.translate(SENTENCE)
    source, batch = source_ids([SENTENCE.split()]), batch_of([pair_of(SENTENCE, FRENCH)])
    for i in range(len(result.target_tokens)):
        so_far = trained(source, batch.target_input[:, : i + 1])
        assert so_far.logits[0, i].argmax() == batch.target[0, i]
        assert_close(result.decoder_self[:, i, : i + 1], so_far.decoder_self[0, :, i], atol=1e-6)
        assert_close(result.cross[:, i], so_far.cross[0, :, i], atol=1e-6)


def pair_of(english, french):
    return SentencePair(tuple(english.split()), tuple(french.split()), ())


def test_an_unknown_word_is_named(trained):
    with refuses("'kat'", "cat"):
        trained.translate("the kat saw the dog")


def test_a_translation_that_does_not_end_is_cut(untrained):
    endless = dict(untrained.parameters)
    endless["output.b"] = endless["output.b"].copy()
    endless["output.b"][END_ID] = -1e9
    result = Translator(endless).translate("the cat")
    assert len(result.target_tokens) == len(result.input_tokens) == MAX_TOKENS
    assert result.decoder_self.shape == (N_HEADS, MAX_TOKENS, MAX_TOKENS)
    assert result.text == " ".join(result.target_tokens)


# A batch


def test_a_batch_is_translated_as_its_sentences_are_alone(trained):
    pairs = fresh(40)
    written = trained.greedy(source_ids([pair.source for pair in pairs]))
    for row, pair in zip(written, pairs, strict=True):
        (alone,) = trained.greedy(source_ids([pair.source]))
        assert np.array_equal(row[: len(alone)], alone)
        assert not row[len(alone) :].any()


@pytest.mark.parametrize("causal", [True, False])
def test_greedy_is_the_most_probable_token_again_and_again(trained, causal):
    model = Translator(trained.parameters, causal=causal)
    source = source_ids([SENTENCE.split()])
    read = [START_ID]
    for token in model.greedy(source)[0]:
        assert token == model(source, [read]).logits[0, -1].argmax()
        read.append(token)
    assert read[-1] == END_ID


def test_padding_changes_nothing(untrained):
    short, long = pair_of("the cat saw my dog", "le chat"), pair_of(SENTENCE, FRENCH)
    for causal in (True, False):
        model = Translator(untrained.parameters, causal=causal)
        alone, both = batch_of([short]), batch_of([short, long])
        expected = model(alone.source, alone.target_input)
        for got, want in zip(model(both.source, both.target_input), expected, strict=True):
            inside = (slice(0, 1), *map(slice, want.shape[1:]))
            assert_close(got[inside], want, atol=1e-12)


def test_the_leak_is_above_the_diagonal(untrained):
    batch = batch_of([pair_of(SENTENCE, FRENCH)])
    leaky = Translator(untrained.parameters, causal=False)
    assert repr(leaky) == "Translator(98139 parameters, causal=False)"
    for model, leaks in ((untrained, False), (leaky, True)):
        later = batch.target_input.copy()
        later[0, -1] = 5
        before, after = (model(batch.source, y).logits[0, 0] for y in (batch.target_input, later))
        assert bool(np.abs(before - after).max() > 1e-6) == leaks


def test_exact_match_counts_whole_sentences(trained):
    right = [pair_of(SENTENCE, FRENCH), pair_of("the cat saw my dog", "le chat voyait mon chien")]
    cut = right[0]._replace(target=right[0].target[:-1])
    longer = right[1]._replace(target=(*right[1].target, "noir"))
    assert trained.exact_match(right) == 1
    assert trained.exact_match([*right, cut, longer]) == 0.5
    with refuses("pairs", "at least one"):
        trained.exact_match([])


# A head removed


@pytest.mark.parametrize("site", SITES)
def test_without_a_head(untrained, site):
    for head in range(N_HEADS):
        changed = untrained.without_head(site, head)
        for name, array in changed.parameters.items():
            differs = np.flatnonzero((array != untrained.parameters[name]).any(axis=-1))
            rows = range(16 * head, 16 * (head + 1)) if name == f"{site}.w_o" else []
            assert list(differs) == list(rows)
        assert not changed.parameters[f"{site}.w_o"][16 * head : 16 * (head + 1)].any()
        x = normal(2, 5, 64)
        layer = getattr(untrained, site)
        read = layer(x).head_outputs[:, head] @ layer.w_o[16 * head : 16 * (head + 1)]
        assert_close(getattr(changed, site)(x).output, layer(x).output - read)
        assert changed.note == f"Without head {head} of {site}."


def test_without_a_head_that_is_not_there(untrained):
    with refuses("site", "encoder_self, decoder_self, cross", "'self'"):
        untrained.without_head("self", 0)
    for head in (4, -1, 1.0):
        with refuses("head"):
            untrained.without_head("cross", head)


def test_without_a_head_stays_without_the_mask(untrained):
    assert not Translator(untrained.parameters, causal=False).without_head("cross", 0).causal


# What is refused


def test_parameters_that_do_not_fit():
    good = initial_parameters(np.random.default_rng(0))
    with refuses("parameters", "'cross.w_q'", "(64, 64)"):
        Translator({name: a for name, a in good.items() if name != "cross.w_q"})
    with refuses("parameters", "'extra'"):
        Translator(good | {"extra": np.ones(3)})
    with refuses("parameters['output.b']", "(91,)", "(90,)"):
        Translator(good | {"output.b": np.ones(90)})
    with refuses("parameters['output.b']", "finite"):
        Translator(good | {"output.b": np.full(91, np.nan)})


def test_parameters_are_a_copy_that_nobody_changes():
    good = initial_parameters(np.random.default_rng(0))
    model = Translator(good)
    good["output.b"][:] = 5
    assert not model.parameters["output.b"].any()
    with pytest.raises(ValueError, match="read-only"):
        model.parameters["output.b"][0] = 5


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([3, 1], ["source", "shape", "(2,)"]),
        (np.empty((0, 3), int), ["source", "shape"]),
        (np.empty((3, 0), int), ["source", "shape"]),
        ([[3.0, 1.0]], ["source", "integers"]),
        ([[3, 54]], ["source", "0..53", "3..54"]),
        ([[-1, 3]], ["source", "0..53"]),
        ([[3, 0, 1]], ["source", "padding", "end"]),
    ],
)
def test_ids_that_do_not_fit(untrained, ids, words):
    with refuses(*words):
        untrained.greedy(ids)
    with refuses(*words):
        untrained(ids, [[2]])


def test_target_ids_that_do_not_fit(untrained):
    with refuses("target_input", "0..90"):
        untrained([[3, 1]], [[91]])
    with refuses("target_input", "2 rows", "1"):
        untrained([[3, 1]], [[2], [2]])
