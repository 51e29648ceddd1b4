"""Mistakes as people write them, in every variant of the rules, get their names; and no others."""

import re

import numpy as np
import pytest

from coursework import known, release
from coursework.marking import Answers, Raised, settled
from coursework.model import load

KEYS = [None, *(f"rules {k}" for k in range(12))]  # every rule of every task is among them
BONUS = r"    scores = scores \+ (\S+) \* np.arange\(key.shape\[-2\]\)\n"
ROOT = " / np.sqrt(query.shape[-1])"
EXP = "np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)"
HIDE = "scores = np.where(mask, scores, -np.inf)"
RECENT = r"(    mask = recent if mask is None else) mask & recent\n"

# What is written, in which function, by which changes of the solution; what it is called.
NATURAL = {
    "axis 0 by default": ("softmax", [("axis=-1", "axis=0")], ["softmax_over_queries"]),
    "axis 0 always": (
        "softmax",
        [("    x = np", "    axis = 0\n    x = np")],
        ["softmax_over_queries"],
    ),
    "axis 0 in attention": (
        "attention",
        [(r"softmax\(scores\)", "softmax(scores, axis=0)")],
        ["softmax_over_queries"],
    ),
    "axis 0 in attention, not scaled": (
        "attention",
        [(r"softmax\(scores\)", "softmax(scores, axis=0)"), (re.escape(ROOT), "")],
        ["no_scale", "softmax_over_queries"],
    ),
    "the whole causal rule inverted": (
        "causal_mask",
        [("return (.*)", r"return ~(\1)")],
        ["mask_inverted"],
    ),
    "the whole padding rule inverted": (
        "padding_mask",
        [("return (.*)", r"return ~(\1)")],
        ["mask_inverted"],
    ),
    "positions without the offset": (
        "causal_mask",
        [(r" \+ n_k - n_q", "")],
        ["causal_upper_left"],
    ),
    "positions exchanged": (
        "causal_mask",
        [(r"np.arange\(n_k\) - position_of_query", "position_of_query - np.arange(n_k)")],
        ["causal_transposed"],
    ),
    "the given mask inverted": ("attention", [(RECENT, r"\1 ~mask & recent\n")], ["mask_inverted"]),
    "everything inverted": (
        "attention",
        [(re.escape(HIDE), "scores = np.where(mask, -np.inf, scores)")],
        ["mask_inverted"],
    ),
    "the bonus before the scale": (
        "attention",
        [(re.escape(ROOT), ""), (BONUS, rf"\g<0>    scores = scores{ROOT}\n")],
        ["bonus_before_scale"],
    ),
    "encoder mask inverted": (
        "encoder_self_attention",
        [("n_heads, real", "n_heads, ~real")],
        ["mask_inverted"],
    ),
    "decoder mask inverted": (
        "decoder_self_attention",
        [("real & earlier", "~(real & earlier)")],
        ["mask_inverted"],
    ),
    "cross mask inverted": (
        "cross_attention",
        [("n_heads, real", "n_heads, ~real")],
        ["mask_inverted"],
    ),
}


def diagnosed(assignment, name, edits):
    """What a solution is taken for when its text is changed so; None if it cannot be."""
    source = next(c.source for c in release.solved_cells(assignment) if c.id == f"solution-{name}")
    for pattern, new in edits:
        source, changed = re.subn(pattern, new, source)
        if not changed:
            return None
    space = release.run_visible_checks(assignment)
    question = next(q for q in assignment.questions if q.name == name)
    exec(source, space)
    got = {}
    with np.errstate(all="ignore"):
        for check in question.checks:
            try:
                value = space[name](*check.args, **check.kwargs)
            except Exception as error:
                value = Raised(type(error).__name__)
            got[check.name] = settled(question, value)
    answers = Answers()
    assert not all(answers.passes(question, c, got[c.name]) for c in question.checks)
    return answers.diagnose(question, got)


@pytest.mark.parametrize("written", NATURAL)
def test_a_mistake_has_its_name_however_it_is_written(written):
    name, edits, expected = NATURAL[written]
    found = []
    for key in KEYS:
        for assignment in (load("a1", key), load("a2", key)):
            if name in {q.name for q in assignment.questions}:
                said = diagnosed(assignment, name, edits)
                found += [] if said is None else [(key, [m.name for m in said])]
    assert found
    assert [(key, names) for key, names in found if names != expected] == []


def test_the_exponential_of_the_book_is_named_in_attention_too():
    for key in KEYS[1:]:
        names = [
            m.name for m in diagnosed(load("a1", key), "attention", [(r"softmax\(scores\)", EXP)])
        ]
        assert names in (["empty_row_nan", "exponential_of_the_book"],)


def test_a_bonus_along_the_queries_is_not_said_to_be_missing():
    edit = [(BONUS, r"    scores = scores + \1 * np.arange(query.shape[-2])[:, None]\n")]
    said = [diagnosed(load("a1", key), "attention", edit) for key in KEYS]
    sentences = {m.sentence for found in said if found for m in found}
    assert len(sentences) == 1
    assert "along the queries" in sentences.pop()


def test_feedback_on_softmax_speaks_of_rows_and_of_any_base():
    strange = r"exp\(1000\)|A query|its output|the values|as soon as"
    for mistake in known.SOFTMAX_MISTAKES:
        assert not re.search(strange, mistake.sentence)
