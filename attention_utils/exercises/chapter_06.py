"""The exercises of chapter 6."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise
from attention_utils.softmax import softmax

_mixed = softmax([2, 4]) @ np.array([[0, 3], [2, 0]])
_new_block = np.array([[2, 0, 0], [0, 1, 0]])

EXERCISES: dict[str, Exercise] = {
    "6.1": exercise(
        [512, 512, 8, 10, 10, 512, 512],
        {
            "That is one head's matrix; the big one has the columns of all heads.": [
                512,
                64,
                8,
                10,
                10,
                512,
                512,
            ],
            "The weights are queries x keys for each head; d_k is summed away.": [
                512,
                512,
                8,
                10,
                64,
                512,
                512,
            ],
            "Concatenating does not expand: 8 heads of 64 are 512 wide.": [
                512,
                512,
                8,
                10,
                10,
                4096,
                512,
            ],
        },
    ),
    "6.2": exercise(
        _mixed @ _new_block,
        {
            "That is what head 2 read; it still has to pass its block of W_O.": _mixed,
            "You used the old block.": _mixed @ np.array([[0, 0, 1], [1, 0, -1]]),
            "That is what head 2 writes for good, which averages.": np.array([1, 1.5]) @ _new_block,
        },
    ),
    "6.3": exercise(
        [[3, 4], [7, 8]],
        {
            "That is one reshape: head 2 would be word 2, torn in half.": [[5, 6], [7, 8]],
            "That is head 1.": [[1, 2], [5, 6]],
            "You took every second feature; a head gets neighbouring columns.": [[2, 4], [6, 8]],
        },
    ),
    "6.4": exercise(
        [648, 699],
        {
            "You forgot W_O.": [468, 507],
            "You used d_k for the values too; here d_v is 5.": [576, 624],
            "Not every bias has 12 numbers: W_V has 15 columns.": [
                648,
                696,
            ],
        },
    ),
}
