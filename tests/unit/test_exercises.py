"""Each exercise accepts its answer and rejects the usual mistakes, each with its own sentence."""

from itertools import combinations

import numpy as np
import pytest

from attention_utils.exercises import EXERCISES, check, same, verdict
from tests.helpers import refuses

by_exercise = pytest.mark.parametrize("number", EXERCISES)


@by_exercise
@pytest.mark.parametrize("decimals", [2, 3, 15])
def test_the_right_answer_is_right_also_when_rounded(number, decimals, capsys):
    check(number, np.round(1.0 * EXERCISES[number].right, decimals).tolist())
    assert capsys.readouterr().out == f"Exercise {number}: right.\n"


@by_exercise
def test_at_least_two_mistakes_are_known_and_none_is_taken_for_right(number):
    exercise = EXERCISES[number]
    assert len(exercise.wrong) >= 2
    for sentence, wrong in exercise.wrong.items():
        assert verdict(exercise, wrong) == f"not yet. {sentence}"
        assert sentence.endswith(".")


@by_exercise
def test_the_mistakes_are_told_apart(number):
    answers = EXERCISES[number].wrong | {"right": EXERCISES[number].right}
    for (a, first), (b, second) in combinations(answers.items(), 2):
        assert not same(first, second), f"{a!r} and {b!r} look alike"


@by_exercise
def test_other_answers_are_wrong_too(number):
    exercise = EXERCISES[number]
    assert "differ" in verdict(exercise, exercise.right + 17.0)
    assert "shape" in verdict(exercise, np.zeros((2, 3, 5)))
    assert verdict(exercise, np.full(exercise.right.shape, np.nan)).startswith("not yet")


def test_no_answer_yet(capsys):
    check("1.1", None)
    assert "nothing to check yet" in capsys.readouterr().out


def test_check_refuses_what_it_cannot_check():
    with refuses("number", "9.9", "1.1"):
        check("9.9", 1)
    with refuses("yours"):
        check("1.1", "a")
