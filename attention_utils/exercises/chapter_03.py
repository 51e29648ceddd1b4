"""The exercises of chapter 3."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.masks import causal_mask
from attention_utils.softmax import softmax

_scores = np.array([[0, 1], [2, 0], [1, 1]])
_padded = np.array([1, 3, 2, 5])
_real = np.array([True, True, True, False])

EXERCISES: dict[str, Exercise] = {
    "3.1": exercise(
        softmax(_padded, where=_real),
        {
            "You did not hide the padding.": softmax(_padded),
            "You set the weight to 0 after softmax: the row must still sum to 1.": softmax(_padded)
            * _real,
            "You set the hidden score to 0; its exponential is 1, not 0.": softmax(_padded * _real),
        },
    ),
    "3.2": exercise(
        softmax(_scores),
        {
            "Your columns sum to 1, your rows do not: you normalised over the queries.": softmax(
                _scores, axis=0
            ),
            "All six numbers together sum to 1: each row must.": softmax(_scores.ravel()).reshape(
                3, 2
            ),
            "You wrote one row per key; rows belong to queries.": softmax(_scores).T,
        },
    ),
    "3.3": exercise(
        [24, 0.7],
        {
            "That is what query 1 gets: take row 2.": [15, 0.7],
            "That is the sum of the row; how much key 2 is read is a column.": [24, 1.0],
            "That is key 3, or counting from 0: key 2 is the second column.": [24, 0.6],
        },
    ),
    "3.4": exercise(
        causal_mask(2, 5),
        {
            "You counted from the first key: the queries are the last two positions.": np.tri(2, 5),
            "A position may read itself too.": np.tri(2, 5, 2),
            "That is one too many: the first query would read the position after it.": np.tri(
                2, 5, 4
            ),
            "You marked what is hidden: 1 means may read.": 1 - np.tri(2, 5, 3),
        },
    ),
    "3.5": exercise(
        [2, 3],
        {
            "Row and column are exchanged: the one that notices is the query, the row.": [3, 2],
            "Counted from 1, please.": [1, 2],
            "Position 1 did not notice: row 1 is right.": [1, 3],
        },
    ),
}
