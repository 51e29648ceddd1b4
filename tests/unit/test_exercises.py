"""The exercises: a check accepts the right answer, names the usual wrong ones, refuses others."""

from itertools import combinations
from pathlib import Path

import nbformat
import numpy as np
import pytest

from attention_utils.exercises import EXERCISES, TOLERANCE, check, same
from tests.helpers import refuses

CHAPTERS = Path(__file__).parents[2] / "chapters"
by_exercise = pytest.mark.parametrize("number", EXERCISES)


@pytest.fixture
def said(capsys):
    """What `check` says about an answer."""

    def said(number, answer):
        check(number, answer)
        heading, _, verdict = capsys.readouterr().out.partition(": ")
        assert heading == f"Exercise {number}"
        return verdict.rstrip("\n")

    return said


@by_exercise
def test_the_right_answer_is_right_also_rounded_or_as_a_list(number, said):
    right = EXERCISES[number].right
    for answer in (right, right.tolist(), right.astype(float).round(2)):
        assert said(number, answer) == "right."


@by_exercise
def test_usual_wrong_answers_are_told_apart(number, said):
    exercise = EXERCISES[number]
    assert len(exercise.wrong) >= 2
    for sentence, wrong in exercise.wrong.items():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert said(number, wrong) == f"not yet. {sentence}"
        assert said(number, wrong.astype(float).round(2)) == f"not yet. {sentence}"
    answers = [exercise.right, *exercise.wrong.values()]
    assert not [pair for pair in combinations(answers, 2) if same(*pair)]


@by_exercise
def test_a_right_answer_with_one_number_moved_is_not_right(number, said):
    right = EXERCISES[number].right.astype(float)
    for place in np.ndindex(right.shape):
        for step in (2 * TOLERANCE, -2 * TOLERANCE):
            moved = right.copy()
            moved[place] += step
            assert said(number, moved).startswith("not yet. ")


@by_exercise
def test_an_answer_of_another_shape_is_told_so(number, said):
    right = EXERCISES[number].right
    verdict = said(number, right[None])
    assert verdict == f"not yet. Your answer has shape {(1, *right.shape)}, not {right.shape}."


@by_exercise
def test_nan_is_not_right(number, said):
    right = EXERCISES[number].right
    assert said(number, np.full(right.shape, np.nan)).startswith("not yet. ")


def test_how_many_numbers_differ(said):
    wrong = EXERCISES["3.2"].right.copy()
    wrong[1:] += np.eye(2)
    assert said("3.2", wrong) == "not yet. 2 of 6 numbers differ from the right answer."


def test_no_answer_is_not_a_wrong_answer(said):
    assert said("1.1", None) == "no answer yet."


def test_what_is_no_exercise_or_no_number():
    with refuses("number", "0.1", "1.1"):
        check("0.1", 1)
    for bad in ("four weeks", [[1, 2], [3]], [1 + 2j, 0]):
        with refuses("yours"):
            check("1.1", bad)


# In the chapters


def code_cells(chapter):
    """The code cells of a chapter by id."""
    (path,) = CHAPTERS.glob(f"{int(chapter):02}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    return {cell.id: cell for cell in cells if cell.cell_type == "code"}


@by_exercise
def test_its_chapter_asks_and_solves_it(number):
    chapter, place = number.split(".")
    cells = code_cells(chapter)
    yours = cells[f"ex-{chapter}-{place}-yours"].source
    assert yours.startswith("yours = None")
    assert f'check("{number}", yours)' in yours
    solution = cells[f"ex-{chapter}-{place}-solution"]
    assert f'check("{number}", ' in solution.source
    assert f"Exercise {number}: right.\n" in "".join(o.get("text", "") for o in solution.outputs)
