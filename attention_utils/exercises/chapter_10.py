"""The exercises of chapter 10."""

from math import comb

import numpy as np

from attention_utils.exercises.checking import Exercise, exercise

# 10.1: weights of four pairs, (pair, adjective, noun), in tenths
_weights = np.array(
    [[[6, 2], [3, 1]], [[1, 4], [1, 6]], [[5, 2], [2, 3]], [[2, 3], [3, 1]]],
)
_gap = _weights[..., 0] - _weights[..., 1]
_moves = int(np.sum(_gap[:, 0] > _gap[:, 1]))
_both = int(np.sum((_gap[:, 0] > 0) & (_gap[:, 1] < 0)))

# 10.2: nine or ten of ten
_nine_or_ten = (comb(10, 9) + comb(10, 10)) / 2**10

# 10.3: [CLS] no , no , no [SEP]
_tokens, _readers, _no, _comma = 7, 5, 3, 2
_others = _no * (_no - 1) + _comma * (_comma - 1)

# 10.4: weights and values
_read = np.array([0.8, 0.15, 0.05])
_values = np.array([[0.1, 0], [4, 3], [0, -8]])
_length = np.linalg.norm(_values, axis=1)

EXERCISES: dict[str, Exercise] = {
    "10.1": exercise(
        [_moves, _both],
        {
            "Both readings: above 0 with the first adjective and also below 0 with the second.": [
                _moves,
                int(np.sum(_gap[:, 0] > 0)),
            ],
            "To move the right way, the gap must only fall; it need not change its sign.": [
                _both,
                _both,
            ],
        },
    ),
    "10.2": exercise(
        [_nine_or_ten, 72 * _nine_or_ten],
        {
            "Nine or more: ten of ten counts too.": [
                comb(10, 9) / 2**10,
                72 * comb(10, 9) / 2**10,
            ],
            "There are ten ways to have one wrong, not one.": [2 / 2**10, 72 * 2 / 2**10],
            "That is the probability that there is one; asked is how many to expect.": [
                _nine_or_ten,
                1 - (1 - _nine_or_ten) ** 72,
            ],
        },
    ),
    "10.3": exercise(
        _others / _tokens / _readers,
        {
            "Elsewhere: a token is not its own double.": (_no**2 + _comma**2) / _tokens / _readers,
            "The marks are read as well: each token spreads over all seven.": (
                _others / _readers / _readers
            ),
            "That is one of seven; a 'no' has two others.": 1 / _tokens,
            "That is the sum over all readers; take the average.": _others / _tokens,
        },
    ),
    "10.4": exercise(
        _read * _length,
        {
            "Those are the weights; what moves is weight times value.": _read,
            "Those are the lengths of the values; only a part of each was read.": _length,
            "A length is the root of the sum of squares, not the sum of the entries.": (
                _read * np.abs(_values).sum(axis=1)
            ),
        },
    ),
}
