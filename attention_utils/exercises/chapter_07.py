"""The exercises of chapter 7."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise

_left = np.array([0, 1, 1, 1])

EXERCISES: dict[str, Exercise] = {
    "7.1": exercise(
        [7, 7, 4, 4, 4, 7],
        {
            "Cross-attention the wrong way round: the target asks, so it has the rows.": [
                7,
                7,
                4,
                4,
                7,
                4,
            ],
            "Cross-attention reads the source: its columns are the 7 source words.": [
                7,
                7,
                4,
                4,
                4,
                4,
            ],
        },
    ),
    "7.2": exercise(
        np.tri(4) * _left,
        {
            "You struck out the row: padding hides columns, the filler itself may ask.": (
                np.tri(4) * _left[:, None]
            ),
            "You hid the last word; here the padding is on the left.": np.tri(4) * _left[::-1],
            "The causal mask is missing.": np.tile(_left, (4, 1)),
            "The padding is missing: nobody may read position 1.": np.tri(4),
        },
    ),
    "7.3": exercise(
        [4, 5, 3, 2],
        {
            "Rows and columns are exchanged: the row is the output that notices.": [5, 4, 2, 3],
            "The right places in the wrong order: the leak first.": [3, 2, 4, 5],
            "Counted from 1, please.": [3, 4, 2, 1],
        },
    ),
    "7.4": exercise(
        [4 * 512 * 512, 2 * 512 * 2048],
        {
            "You forgot W_O: attention has four matrices.": [3 * 512 * 512, 2 * 512 * 2048],
            "The feed-forward network has two matrices, there and back.": [
                4 * 512 * 512,
                512 * 2048,
            ],
            "You exchanged the two.": [2 * 512 * 2048, 4 * 512 * 512],
        },
    ),
    "7.5": exercise(
        [0, 1 / 3, 1 / 3, 1 / 3, 0, 0],
        {
            "That is what the words are, not what they hand over: the next ones.": [
                1 / 3,
                1 / 3,
                1 / 3,
                0,
                0,
                0,
            ],
            "That is a sum; the weights are a third each.": [0, 1, 1, 1, 0, 0],
            "The last word sees three words, not six.": [0, 1 / 6, 1 / 6, 1 / 6, 0, 0],
        },
    ),
}
