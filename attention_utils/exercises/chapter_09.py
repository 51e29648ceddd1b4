"""The exercises of chapter 9."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise

_weights = np.array([[1 / 2, 1 / 2], [1 / 4, 3 / 4]])
_g = np.array([2, 4])
_by_query = np.array([3, -3]) @ np.array([[1, 0, 1, 0], [0, 1, 1, 0]]) / 2

EXERCISES: dict[str, Exercise] = {
    "9.1": exercise(
        [-1, 1, -1],
        {
            "You left g out of the scores: the output is too small, so g is negative.": [-1, -1, 1],
            "You used the values themselves; what counts is their distance from the output.": [
                -1,
                -1,
                -3,
            ],
            "You turned g round: it is the output minus what it should be.": [1, -1, 1],
            "You forgot the weights: each key is only half responsible.": [-1, 2, -2],
        },
    ),
    "9.2": exercise(
        _weights.T @ _g,
        {
            "You used rows: a value hears from all queries that read it, a column.": _weights @ _g,
            "That is the first query alone.": _weights[0] * 2,
            "That is the second query alone.": _weights[1] * 4,
            "You averaged the two queries; their gradients are added.": _weights.T @ _g / 2,
        },
    ),
    "9.3": exercise(
        _by_query,
        {
            "You forgot the scale: the scores are divided by 2.": 2 * _by_query,
            "You divided by d_k = 4; the scores were divided by its root.": _by_query / 2,
            "The signs are exchanged: the first score has the positive gradient.": -_by_query,
            "You added both keys; the second score has a gradient of -3.": [1.5, 1.5, 3, 0],
        },
    ),
    "9.4": exercise(
        [3, 4],
        {
            "You divided by one hundredth; between the two points lie two.": [6, 2],
            "You gave the difference itself.": [0.06, 200],
            "The second number is the code divided by the truth.": [3, 0.25],
        },
    ),
}
