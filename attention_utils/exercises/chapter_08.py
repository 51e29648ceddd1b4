"""The exercises of chapter 8."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax, softmax_jacobian

_even_third = [1 / 3, 1 / 3, 1 / 3]
_weights = np.array([0.5, 0.3, 0.2])
_jacobian = softmax_jacobian(_weights)
_trace = np.trace(_jacobian)
_two = np.array([0.9, 0.1])
_slope = 0.9 * 0.1 * 10

EXERCISES: dict[str, Exercise] = {
    "8.1": exercise(
        89,
        {
            "The exponential of 88 still fits: the next whole number breaks it.": 88,
            "That is where float64 breaks.": 710,
            "That is where float16 breaks.": 12,
            "You used logarithms to the base 10; the exponential has base e.": 39,
        },
    ),
    "8.2": exercise(
        softmax(np.log([1, 2, 5])),
        {
            "You divided the logarithms by their sum; take exponentials first.": np.log([1, 2, 5])
            / np.log(10),
            "That is the row of a computer that forgot the small differences.": _even_third,
            "You took the largest alone; the others are only 5 and 2.5 times smaller.": [0, 0, 1],
            "You gave the exponentials; divide by their sum.": [1, 2, 5],
        },
    ),
    "8.3": exercise(
        [2 / 3, 1 / 3, 0, 1 / 2, 1 / 4, 1 / 4],
        {
            "You exchanged the rows: the right one first.": [
                1 / 2,
                1 / 4,
                1 / 4,
                2 / 3,
                1 / 3,
                0,
            ],
            "The second row: a score of 0 has exponential 1, not 0.": [
                2 / 3,
                1 / 3,
                0,
                2 / 3,
                1 / 3,
                0,
            ],
            "The first row must sum to 1: you hid the key after softmax.": [
                2 / 8,
                1 / 8,
                0,
                1 / 2,
                1 / 4,
                1 / 4,
            ],
        },
    ),
    "8.4": exercise(
        [*_jacobian[0], _trace],
        {
            "Another score takes away: the entries off the diagonal are negative.": [
                *np.abs(_jacobian[0]),
                _trace,
            ],
            "You forgot the square on the diagonal: 0.5 - 0.25.": [0.5, *_jacobian[0, 1:], _trace],
            "That is the diagonal; its sum is right.": [*np.diag(_jacobian), _trace],
            "The sum of the diagonal is 1 minus the sum of squares.": [*_jacobian[0], 1 - _trace],
        },
    ),
    "8.5": exercise(
        [*_two, -_slope, _slope],
        {
            "The signs of the scores are exchanged: the first value lies below the output.": [
                *_two,
                _slope,
                -_slope,
            ],
            "You left out the output: each value counts by how far it is from what is read.": [
                *_two,
                0,
                1,
            ],
            "Values first, then scores.": [-_slope, _slope, *_two],
            "The gradient by a value is its own weight.": [0.1, 0.9, -_slope, _slope],
        },
    ),
}
