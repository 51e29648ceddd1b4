"""The exercises of chapter 2."""

import numpy as np

from attention_utils.attention import scaled_dot_product_attention
from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax

_keys = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [2, 0, 1, 1]])
_values = np.array([[10, 0], [0, 10], [10, 20]])
_dots = _keys @ np.array([2, 1, 0, 1])

EXERCISES: dict[str, Exercise] = {
    "2.1": exercise(
        [7, 64, 7, 7, 7, 32],
        {
            "The output is as wide as a value, d_v, not as a key.": [7, 64, 7, 7, 7, 64],
            "The dot products have one row per query and one column per key; the width d_k is "
            "summed away.": [7, 64, 64, 64, 7, 32],
            "Q has one row per token; you gave its transpose.": [64, 7, 7, 7, 7, 32],
        },
    ),
    "2.2": exercise(
        [2, 0, 2, 3],
        {
            "You exchanged queries and keys: that is how well the others' queries find my.": [
                2,
                4,
                2,
                0,
            ],
            "That is the row for I love my dog; house has another key than dog.": [2, 0, 2, 7],
            "You forgot that my is among the keys: a word may read itself.": [2, 0, 3],
        },
    ),
    "2.3": exercise(
        scaled_dot_product_attention([[2, 1, 0, 1]], _keys, _values).output[0],
        {
            "You did not divide the dot products by sqrt(d_k) = 2.": softmax(_dots) @ _values,
            "You divided by d_k = 4; the square root is meant.": softmax(_dots / 4) @ _values,
            "You used the scores as weights: exponentials come first.": (_dots / 2) @ _values,
            "You took the best key alone; the others get their share.": _values[2],
        },
    ),
    "2.4": exercise(
        [[7, 5], [16, 11]],
        {
            "You multiplied from the left: the result is the transpose of Q.": [[7, 16], [5, 11]],
            "You exchanged the two rows of the stored weight.": [[5, 7], [11, 16]],
        },
    ),
}
