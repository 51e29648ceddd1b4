"""The known mistakes: each is what it says, gives its own number, and is named by diagnose."""

from dataclasses import replace
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from attention_utils import MultiHeadAttention, diagnose
from attention_utils.examples import (
    DISCRIMINATING,
    DISCRIMINATING_CAUSAL,
    EXAMPLES,
    PADDED,
    TWO_HEADS,
)
from attention_utils.mistakes import MISTAKES, RIGHT, Mistake, answer, attend, attend_in_heads
from tests import reference
from tests.helpers import (
    OPTIONS,
    assert_agrees,
    assert_close,
    assert_matches_reference,
    normal,
    refuses,
)
from tests.helpers import example as arrays

BY_NAME = {mistake.name: mistake for mistake in MISTAKES}
LIST_OF_THE_DOCUMENTS = [
    "no_scale",
    "divided_by_d_k",
    "scaled_by_model_width",
    "scaled_by_value_width",
    "scaled_by_number_of_keys",
    "multiplied_by_root",
    "softmax_over_queries",
    "softmax_over_everything",
    "scaled_after_softmax",
    "swapped_q_and_k",
    "weights_transposed",
    "scores_used_as_weights",
    "exp_not_normalised",
    "hard_maximum",
    "uniform_weights",
]
CAUSAL_LIST_OF_THE_DOCUMENTS = [
    *LIST_OF_THE_DOCUMENTS,
    "mask_ignored",
    "masked_after_softmax",
    "hidden_scores_zero",
    "causal_sees_one_ahead",
    "causal_misses_itself",
    "mask_inverted",
    "causal_transposed",
]
by_mistake = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)


def wrong(example, name):
    return answer(example, **BY_NAME[name].switches)


def gap(a, b):
    return np.inf if a.shape != b.shape or np.isnan(a - b).any() else np.abs(a - b).max()


# The right position of every switch


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(("n_q", "n_k"), [(3, 5), (5, 3)])
def test_attend_without_switches_is_right(name, n_q, n_k):
    assert_matches_reference(attend, *arrays((2,), n_q, n_k), **OPTIONS[name](n_q, n_k))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_answer_without_switches_is_right(example):
    assert_close(answer(example), example.output)
    assert_close(answer(example, **RIGHT), example.output)


@pytest.mark.parametrize("memory", [None, normal(2, 5, 13, seed=1)])
@pytest.mark.parametrize("masked", [True, False])
def test_heads_without_switches_are_right(memory, masked):
    x = normal(2, 3, 7)
    d_memory, n_k = (7, 3) if memory is None else (13, 5)
    shapes = [(7, 6), (d_memory, 6), (d_memory, 22), (22, 7)]
    weights = [normal(*shape, seed=seed) for seed, shape in enumerate(shapes, start=2)]
    biases = {f"b_{name}": normal(w.shape[1]) for name, w in zip("qkvo", weights, strict=True)}
    layer = MultiHeadAttention(*weights, n_heads=2, **biases)
    mask = normal(3, n_k, seed=9) > -0.5 if masked else None
    assert_agrees(attend_in_heads(layer, x, memory, mask=mask), layer(x, memory, mask=mask))


# Each mistake


def test_there_are_enough_and_they_are_told_apart():
    assert len(MISTAKES) >= 24
    assert len(BY_NAME) == len(MISTAKES)
    assert len({(m.switch, m.position) for m in MISTAKES}) == len(MISTAKES)
    assert len({m.sentence for m in MISTAKES}) == len(MISTAKES)


@by_mistake
def test_a_mistake_has_a_switch_a_sentence_and_a_source(mistake):
    assert mistake.position != RIGHT[mistake.switch]
    assert mistake.switches == {mistake.switch: mistake.position}
    assert mistake.name.isidentifier()
    assert len(mistake.sentence) > 30
    assert mistake.sentence.endswith(".")
    assert mistake.source


@by_mistake
def test_every_mistake_shows_and_is_named_in_some_example(mistake):
    named = []
    for example in EXAMPLES:
        try:
            output = answer(example, **mistake.switches)
        except ValueError:
            continue  # impossible with these shapes
        if gap(output, example.output) >= 0.1:
            named += [diagnose(output, example)]
    assert (mistake,) in named


def parts(e):
    return e.x @ e.w_q, e.x @ e.w_k, e.x @ e.w_v


SCALES = {
    "no_scale": 1,
    "divided_by_d_k": 1 / 4,
    "scaled_by_model_width": 1 / sqrt(5),
    "scaled_by_value_width": 1 / sqrt(2),
    "scaled_by_number_of_keys": 1 / sqrt(3),
    "multiplied_by_root": 2,
    "uniform_weights": 0,
    "hard_maximum": 1e4,
}


@pytest.mark.parametrize("name", SCALES)
def test_mistakes_in_the_scale_by_the_reference(name):
    for example in (DISCRIMINATING, DISCRIMINATING_CAUSAL):
        expected = reference.attention(*parts(example), scale=SCALES[name], causal=example.causal)
        assert_close(wrong(example, name), expected[0], atol=1e-12)


LOWER, UPPER = np.tri(3, dtype=bool), ~np.tri(3, k=-1, dtype=bool)
CAUSAL_EDGES = {
    "mask_ignored": np.ones((3, 3), bool),
    "causal_sees_one_ahead": np.tri(3, k=1, dtype=bool),
    "causal_misses_itself": np.tri(3, k=-1, dtype=bool),
    "causal_transposed": UPPER,
    "mask_inverted": ~LOWER,
}


@pytest.mark.parametrize("name", CAUSAL_EDGES)
def test_mistakes_in_the_causal_mask_by_the_reference(name):
    expected = reference.attention(*parts(DISCRIMINATING), mask=CAUSAL_EDGES[name])
    assert_close(wrong(DISCRIMINATING_CAUSAL, name), expected[0], atol=1e-12)


def test_other_mistakes_by_the_formula():
    query, key, value = parts(DISCRIMINATING)
    _, weights, scores = (np.array(a) for a in reference.attention(query, key, value))
    exponentials = np.exp(scores)
    raw = np.array(reference.attention(query, key, value, scale=1)[1])
    columns = exponentials / exponentials.sum(axis=0)
    expected = {
        "swapped_q_and_k": reference.attention(key, query, value)[0],
        "one_matrix_for_q_and_k": reference.attention(query, query, value)[0],
        "weights_transposed": weights.T @ value,
        "softmax_over_queries": columns @ value,
        "softmax_over_everything": exponentials / exponentials.sum() @ value,
        "scaled_after_softmax": raw / 2 @ value,
        "scores_used_as_weights": scores @ value,
        "exp_not_normalised": exponentials @ value,
    }
    for name, output in expected.items():
        assert_close(wrong(DISCRIMINATING, name), output, atol=1e-9, what=name)
    hidden = {
        "masked_after_softmax": np.where(LOWER, weights, 0) @ value,
        "hidden_scores_zero": reference.attention(
            query, key, value, scale=0, bias=np.where(LOWER, scores, 0)
        )[0],
    }
    for name, output in hidden.items():
        assert_close(wrong(DISCRIMINATING_CAUSAL, name), output, atol=1e-12, what=name)


@pytest.mark.parametrize(
    ("example", "names"),
    [
        (DISCRIMINATING, LIST_OF_THE_DOCUMENTS),
        (DISCRIMINATING_CAUSAL, CAUSAL_LIST_OF_THE_DOCUMENTS),
    ],
)
def test_every_mistake_gives_its_own_number(example, names):
    outputs = {"the right answer": example.output} | {n: wrong(example, n) for n in names}
    for (a, first), (b, second) in combinations(outputs.items(), 2):
        assert gap(first, second) >= 0.56, f"{a} and {b} look alike"


# diagnose


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_diagnose_has_nothing_to_say_about_the_right_answer(example):
    assert diagnose(example.output, example) is None
    assert diagnose(example.output.round(3).tolist(), example) is None


@pytest.mark.parametrize("name", LIST_OF_THE_DOCUMENTS)
@pytest.mark.parametrize("decimals", [2, 3, 12])
def test_diagnose_names_a_mistake_in_rounded_numbers(name, decimals):
    (mistake,) = diagnose(wrong(DISCRIMINATING, name).round(decimals), DISCRIMINATING)
    assert isinstance(mistake, Mistake)
    assert mistake.name == name


@pytest.mark.parametrize(
    ("example", "names"),
    [
        (DISCRIMINATING, {"no_scale", "swapped_q_and_k"}),
        (DISCRIMINATING, {"divided_by_d_k", "softmax_over_queries"}),
        (DISCRIMINATING_CAUSAL, {"no_scale", "mask_ignored"}),
        (DISCRIMINATING_CAUSAL, {"causal_sees_one_ahead", "swapped_q_and_k"}),
        (TWO_HEADS, {"no_scale", "heads_reversed"}),
        (PADDED, {"mask_without_head_axis", "no_scale"}),
    ],
)
def test_diagnose_names_two_mistakes_made_together(example, names):
    first, second = names
    output = answer(example, **BY_NAME[first].switches, **BY_NAME[second].switches)
    assert {mistake.name for mistake in diagnose(output, example)} == names


def test_diagnose_does_not_guess():
    assert diagnose(DISCRIMINATING.output + 0.1, DISCRIMINATING) is None
    assert diagnose(wrong(DISCRIMINATING, "no_scale") + 0.02, DISCRIMINATING) is None
    assert diagnose(np.zeros((3, 2)), DISCRIMINATING) is None
    assert diagnose(np.zeros((2, 2)), DISCRIMINATING) is None
    assert diagnose(DISCRIMINATING.output[0], DISCRIMINATING) is None


@pytest.mark.parametrize("output", [None, [["a", "b"]], [[1j, 0]], "right"])
def test_diagnose_needs_numbers(output):
    with refuses("output"):
        diagnose(output, DISCRIMINATING)


@pytest.mark.parametrize("example", [None, "DISCRIMINATING", np.zeros((3, 2))])
def test_diagnose_needs_an_example(example):
    with refuses("example"):
        diagnose(np.zeros((3, 2)), example)


def test_unknown_switches_are_refused():
    with refuses("scale_bye"):
        attend(*arrays(), scale_bye="1")
    with refuses("scale_by", "7"):
        answer(DISCRIMINATING, scale_by="7")
    with refuses("d_model"):
        attend(*arrays(), scale_by="1/sqrt(d_model)")


def test_diagnose_on_an_example_with_small_or_large_numbers():
    small = replace(DISCRIMINATING, w_v=DISCRIMINATING.w_v * 1e-3)
    large = replace(DISCRIMINATING, w_v=DISCRIMINATING.w_v * 1e5)
    for example, dtype in ((small, float), (large, np.float32)):
        (mistake,) = diagnose(answer(example, scale_by="1").astype(dtype), example)
        assert mistake.name == "no_scale"
        assert diagnose(example.output.astype(dtype), example) is None


def test_diagnose_is_quiet_where_a_wrong_way_overflows():
    big = replace(DISCRIMINATING, x=DISCRIMINATING.x * 30)
    assert diagnose(big.output + 1, big) is None


def test_diagnose_without_any_key():
    nothing = replace(DISCRIMINATING, memory=np.zeros((0, 5)))
    assert diagnose(np.zeros((3, 2)), nothing) is None


def test_worked_examples_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        DISCRIMINATING.x[0, 0] = 9
