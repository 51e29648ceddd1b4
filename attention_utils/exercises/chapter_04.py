"""The exercises of chapter 4."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax

EXERCISES: dict[str, Exercise] = {
    "4.1": exercise(
        [9, 3, 9],
        {
            "You exchanged variance and standard deviation: the variance is the number of terms.": [
                3,
                9,
                9,
            ],
            "The typical size is the root of the variance, not the variance.": [9, 9, 9],
            "The largest value needs all nine coins to agree; it is not the typical size.": [
                9,
                3,
                3,
            ],
        },
    ),
    "4.2": exercise(
        8,
        {
            "That is the root of the model's width; a head's dot product has fewer terms.": 32,
            "That is the width of a head; take its root.": 64,
            "That is the root of the number of keys; it has nothing to do with it.": 20,
            "That is the root of the number of heads.": 4,
        },
    ),
    "4.3": exercise(
        softmax([0, 1, 3]),
        {
            "You did not divide.": softmax([0, 4, 12]),
            "You divided by d_k = 16 instead of its root.": softmax([0, 0.25, 0.75]),
            "You divided the weights after softmax: they must sum to 1.": softmax([0, 4, 12]) / 4,
        },
    ),
    "4.4": exercise(
        1 / np.log(9),
        {
            "That is the factor on the scores; they are divided by the temperature.": np.log(9),
            "You forgot the logarithm: a ratio of weights is a difference of scores.": 1 / 9,
            "You used a logarithm to the base 10.": 1 / np.log10(9),
        },
    ),
    "4.5": exercise(
        [100, 1, 4],
        {
            "The variances of q and k multiply: 4 times 1/4 is 1.": [425, 4.25, 5],
            "Dividing by 10 divides the variance by 100.": [100, 10, 40],
            "That is the standard deviation; the variance was asked.": [10, 1, 2],
        },
    ),
}
