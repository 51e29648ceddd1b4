"""The exercises of chapter 1."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax

_said = np.array([[2, 1], [4, 3], [6, 2], [8, 5]])
_quarter = [0.25, 0.25, 0.25, 0.25]
_listening = np.array([_quarter, [1, 0, 0, 0], [0.1, 0.6, 0.2, 0.1], _quarter])
_place = np.array([0, 0, 4, 0, 0])

EXERCISES: dict[str, Exercise] = {
    "1.1": exercise(
        [0.4, 0.3, 0.2, 0.1] @ _said,
        {
            "You used the shares of the first meeting.": [0.1, 0.6, 0.2, 0.1] @ _said,
            "You averaged all four; the weights are not equal.": _said.mean(axis=0),
            "You gave the shares to the wrong people: Ana comes first.": [0.1, 0.2, 0.3, 0.4]
            @ _said,
        },
    ),
    "1.2": exercise(
        0.5 ** (1 / 20),
        {
            "You subtracted the same amount in each step; the factor multiplies.": 1 - 0.5 / 20,
            "You divided by the number of steps; you need the 20th root of a half.": 0.5 / 20,
            "You took the power instead of the root.": 0.5**20,
        },
    ),
    "1.3": exercise(
        _listening @ _said,
        {
            "You used the columns of the weights: row i must belong to listener i.": _listening.T
            @ _said,
            "You gave only Chloe's proposal; all four listen.": _listening[2] @ _said,
            "You let everybody listen like Chloe.": np.tile(_listening[2] @ _said, (4, 1)),
        },
    ),
    "1.4": exercise(
        softmax(_place),
        {
            "You divided the matches by their sum; softmax takes exponentials first.": _place / 4,
            "You took exponentials but did not divide by their sum.": np.exp(_place),
            "You looked for a living thing; that is the row of the text.": softmax([4, 0, 0, 0, 2]),
        },
    ),
}
