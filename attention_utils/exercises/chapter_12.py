"""The exercises of chapter 12."""

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise

_in_proj_weight = np.arange(1, 13).reshape(6, 2)
_upper_left = np.tri(2, 4)

EXERCISES: dict[str, Exercise] = {
    "12.1": exercise(
        [2, 5, 3, 7],
        {
            "That is PyTorch's order: JAX takes axis 1 for the positions.": [2, 3, 5, 7],
            "You exchanged positions and features; the features stay last.": [2, 3, 7, 5],
            "Positions come first in PyTorch's layer; JAX begins with the batch.": [5, 2, 3, 7],
        },
    ),
    "12.2": exercise(
        _in_proj_weight[2:4].T,
        {
            "The right rows, but PyTorch stores the transpose.": _in_proj_weight[2:4],
            "That is W_Q: the keys come second.": _in_proj_weight[:2].T,
            "That is W_V: the keys come second.": _in_proj_weight[4:].T,
        },
    ),
    "12.3": exercise(
        _upper_left,
        {
            "That is our causal mask: is_causal lines up the first query with the first key.": (
                np.tri(2, 4, 2)
            ),
            "Inverted: in PyTorch's function 1 means may read.": 1 - _upper_left,
        },
    ),
    "12.4": exercise(
        [[0, 0], [0, 0], [4, 2]],
        {
            "JAX does not return zeros: it spreads the weight evenly over hidden keys.": (
                np.zeros((3, 2))
            ),
            "You exchanged them: these notes return zeros.": [[4, 2], [0, 0], [0, 0]],
            "PyTorch's function returns zeros too.": [[0, 0], [4, 2], [4, 2]],
            "That is the sum of the values; the weights are a third each.": [
                [0, 0],
                [0, 0],
                [12, 6],
            ],
        },
    ),
}
