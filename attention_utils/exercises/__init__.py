"""The exercises of the chapters: right answers, the usual wrong ones, and a check between them.

Each wrong answer comes with the sentence that says how one arrives at it. A check that could not
tell it from the right answer is refused by the tests.
"""

from numpy.typing import ArrayLike

from attention_utils._arrays import real_array
from attention_utils.exercises import (
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
)
from attention_utils.exercises.checking import TOLERANCE, Exercise, same, verdict

__all__ = ["EXERCISES", "TOLERANCE", "Exercise", "check", "same"]

EXERCISES: dict[str, Exercise] = {
    **chapter_01.EXERCISES,
    **chapter_02.EXERCISES,
    **chapter_03.EXERCISES,
    **chapter_04.EXERCISES,
    **chapter_05.EXERCISES,
    **chapter_06.EXERCISES,
    **chapter_07.EXERCISES,
    **chapter_08.EXERCISES,
    **chapter_09.EXERCISES,
    **chapter_10.EXERCISES,
    **chapter_11.EXERCISES,
    **chapter_12.EXERCISES,
}


def check(number: str, yours: ArrayLike | None) -> None:
    """Say whether an answer is right and, if it is a usual mistake, which.

    Parameters
    ----------
    number : str
        Chapter and exercise, as "2.3".
    yours : array_like or None
        Your answer, exact or rounded to two decimals or more; None if there is none yet.

    Raises
    ------
    ValueError
        If there is no such exercise, or the answer is not made of real numbers.
    """
    if not isinstance(number, str) or number not in EXERCISES:
        raise ValueError(f"number must be one of {', '.join(EXERCISES)}, got {number!r}")
    if yours is None:
        print(f"Exercise {number}: no answer yet.")
        return
    exercise, answer = EXERCISES[number], real_array("yours", yours)
    print(f"Exercise {number}: {verdict(exercise, answer)}")
