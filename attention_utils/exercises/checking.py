"""What an exercise is, and what is said about an answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array

# Answers may be rounded to two decimals.
TOLERANCE = 6e-3


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    Attributes
    ----------
    right : ndarray
    wrong : dict of str to ndarray
        The sentence that explains a wrong answer, and that answer.
    """

    right: Array
    wrong: dict[str, Array]


def verdict(exercise: Exercise, answer: Array) -> str:
    """Compare an answer with the right one and the known wrong ones.

    Parameters
    ----------
    exercise : Exercise
    answer : ndarray

    Returns
    -------
    sentence : str
        Starts with "right" only for the right answer.
    """
    if same(answer, exercise.right):
        return "right."
    for sentence, wrong in exercise.wrong.items():
        if same(answer, wrong):
            return f"not yet. {sentence}"
    if answer.shape != exercise.right.shape:
        return f"not yet. Your answer has shape {answer.shape}, not {exercise.right.shape}."
    different = int(np.sum(~np.isclose(answer, exercise.right, rtol=0, atol=TOLERANCE)))
    return f"not yet. {different} of {answer.size} numbers differ from the right answer."


def same(a: Array, b: Array) -> bool:
    """Equal up to rounding to two decimals."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=TOLERANCE))


def exercise(right: ArrayLike, wrong: dict[str, ArrayLike]) -> Exercise:
    """An exercise whose arrays nobody changes by accident."""
    return Exercise(_fixed(right), {why: _fixed(it) for why, it in wrong.items()})


def _fixed(answer: ArrayLike) -> Array:
    array = np.array(answer)
    array.flags.writeable = False
    return array
