"""The exercises of chapter 5."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax

_two_values = np.array([[4, 2], [2, 6]])

EXERCISES: dict[str, Exercise] = {
    "5.1": exercise(
        [2, 6],
        {
            "You added the two values; with weights of a half each, the sum is one of them.": [
                4,
                12,
            ],
            "That is the value of good, id 3; the sentence has two times id 1.": [4, 2],
            "That is the mean of the values of good and morning.": [3, 4],
        },
    ),
    "5.2": exercise(
        softmax([0, 0, 4]),
        {
            "You did not divide the dot products by 2.": softmax([0, 0, 8]),
            "You divided by d_k = 4 instead of its root.": softmax([0, 0, 2]),
            "The word good stands there twice, and both are keys.": softmax([0, 4]),
            "That is the row of good: the last word is morning.": softmax([1.5, 1.5, 4]),
        },
    ),
    "5.3": exercise(
        np.array([2 * softmax([1.5, 4]), softmax([3, 8])]) @ _two_values,
        {
            "Doubling W_Q doubles the scores, not the output: softmax stands between.": 2
            * np.array([softmax([1.5, 4]), softmax([1.5, 4])])
            @ _two_values,
            "Doubling W_V does not touch the weights: they depend on queries and keys.": np.array(
                [2 * softmax([3, 8]), softmax([3, 8])]
            )
            @ _two_values,
            "You doubled W_Q before dividing by 2 twice: the scores are 3 and 8.": np.array(
                [2 * softmax([1.5, 4]), softmax([1.5, 4])]
            )
            @ _two_values,
        },
    ),
    "5.4": exercise(
        2,
        {
            "That is the plain average; this output is flat, but not that flat.": 13,
            "Close, but each number must agree: look at the first one.": 3,
            "That one is sharper than the right answer, not flatter.": 1,
        },
    ),
}
