"""The exercises of the chapters: right answers, the usual wrong ones, and a check between them.

Each wrong answer comes with the sentence that says how one arrives at it. A check that could not
tell it from the right answer is refused by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, real_array
from attention_utils.attention import scaled_dot_product_attention
from attention_utils.masks import causal_mask
from attention_utils.softmax import softmax

# Answers may be rounded to two decimals.
TOLERANCE = 6e-3


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise.

    Attributes
    ----------
    right : ndarray
    wrong : dict of str to ndarray
        The sentence that explains a wrong answer, and that answer.
    """

    right: Array
    wrong: dict[str, Array]


def check(number: str, yours: ArrayLike | None) -> None:
    """Say whether an answer is right and, if it is a usual mistake, which.

    Parameters
    ----------
    number : str
        Chapter and exercise, as "2.3".
    yours : array_like or None
        Your answer, exact or rounded to two decimals or more; None if there is none yet.

    Raises
    ------
    ValueError
        If there is no such exercise, or the answer is not made of real numbers.
    """
    if not isinstance(number, str) or number not in EXERCISES:
        raise ValueError(f"number must be one of {', '.join(EXERCISES)}, got {number!r}")
    if yours is None:
        print(f"Exercise {number}: no answer yet.")
        return
    exercise, answer = EXERCISES[number], real_array("yours", yours)
    print(f"Exercise {number}: {verdict(exercise, answer)}")


def verdict(exercise: Exercise, answer: Array) -> str:
    """Compare an answer with the right one and the known wrong ones.

    Parameters
    ----------
    exercise : Exercise
    answer : ndarray

    Returns
    -------
    sentence : str
        Starts with "right" only for the right answer.
    """
    if same(answer, exercise.right):
        return "right."
    for sentence, wrong in exercise.wrong.items():
        if same(answer, wrong):
            return f"not yet. {sentence}"
    if answer.shape != exercise.right.shape:
        return f"not yet. Your answer has shape {answer.shape}, not {exercise.right.shape}."
    different = int(np.sum(~np.isclose(answer, exercise.right, rtol=0, atol=TOLERANCE)))
    return f"not yet. {different} of {answer.size} numbers differ from the right answer."


def same(a: Array, b: Array) -> bool:
    """Equal up to rounding to two decimals."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=TOLERANCE))


def _exercise(right: ArrayLike, wrong: dict[str, ArrayLike]) -> Exercise:
    return Exercise(_fixed(right), {why: _fixed(it) for why, it in wrong.items()})


def _fixed(answer: ArrayLike) -> Array:
    """An answer that nobody changes by accident."""
    array = np.array(answer)
    array.flags.writeable = False
    return array


_said = np.array([[2, 1], [4, 3], [6, 2], [8, 5]])
_quarter = [0.25, 0.25, 0.25, 0.25]
_listening = np.array([_quarter, [1, 0, 0, 0], [0.1, 0.6, 0.2, 0.1], _quarter])
_place = np.array([0, 0, 4, 0, 0])
_keys = np.array([[1, 1, 0, 1], [0, 1, 0, 0], [2, 0, 1, 1]])
_values = np.array([[10, 0], [0, 10], [10, 20]])
_dots = _keys @ np.array([2, 1, 0, 1])
_scores = np.array([[0, 1], [2, 0], [1, 1]])
_padded = np.array([1, 3, 2, 5])
_left = np.array([0, 1, 1, 1])
_mixed = softmax([2, 4]) @ np.array([[0, 3], [2, 0]])
_new_block = np.array([[2, 0, 0], [0, 1, 0]])
_two_values = np.array([[4, 2], [2, 6]])
_real = np.array([True, True, True, False])

EXERCISES: dict[str, Exercise] = {
    "1.1": _exercise(
        [0.4, 0.3, 0.2, 0.1] @ _said,
        {
            "You used the shares of the first meeting.": [0.1, 0.6, 0.2, 0.1] @ _said,
            "You averaged all four; the weights are not equal.": _said.mean(axis=0),
            "You gave the shares to the wrong people: Ana comes first.": [0.1, 0.2, 0.3, 0.4]
            @ _said,
        },
    ),
    "1.2": _exercise(
        0.5 ** (1 / 20),
        {
            "You subtracted the same amount in each step; the factor multiplies.": 1 - 0.5 / 20,
            "You divided by the number of steps; you need the 20th root of a half.": 0.5 / 20,
            "You took the power instead of the root.": 0.5**20,
        },
    ),
    "1.3": _exercise(
        _listening @ _said,
        {
            "You used the columns of the weights: row i must belong to listener i.": _listening.T
            @ _said,
            "You gave only Chloe's proposal; all four listen.": _listening[2] @ _said,
            "You let everybody listen like Chloe.": np.tile(_listening[2] @ _said, (4, 1)),
        },
    ),
    "1.4": _exercise(
        softmax(_place),
        {
            "You divided the matches by their sum; softmax takes exponentials first.": _place / 4,
            "You took exponentials but did not divide by their sum.": np.exp(_place),
            "You looked for a living thing; that is the row of the text.": softmax([4, 0, 0, 0, 2]),
        },
    ),
    "2.1": _exercise(
        [7, 64, 7, 7, 7, 32],
        {
            "The output is as wide as a value, d_v, not as a key.": [7, 64, 7, 7, 7, 64],
            "The dot products have one row per query and one column per key; the width d_k is "
            "summed away.": [7, 64, 64, 64, 7, 32],
            "Q has one row per token; you gave its transpose.": [64, 7, 7, 7, 7, 32],
        },
    ),
    "2.2": _exercise(
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
    "2.3": _exercise(
        scaled_dot_product_attention([[2, 1, 0, 1]], _keys, _values).output[0],
        {
            "You did not divide the dot products by sqrt(d_k) = 2.": softmax(_dots) @ _values,
            "You divided by d_k = 4; the square root is meant.": softmax(_dots / 4) @ _values,
            "You used the scores as weights: exponentials come first.": (_dots / 2) @ _values,
            "You took the best key alone; the others get their share.": _values[2],
        },
    ),
    "2.4": _exercise(
        [[7, 5], [16, 11]],
        {
            "You multiplied from the left: the result is the transpose of Q.": [[7, 16], [5, 11]],
            "You exchanged the two rows of the stored weight.": [[5, 7], [11, 16]],
        },
    ),
    "3.1": _exercise(
        softmax(_padded, where=_real),
        {
            "You did not hide the padding.": softmax(_padded),
            "You set the weight to 0 after softmax: the row must still sum to 1.": softmax(_padded)
            * _real,
            "You set the hidden score to 0; its exponential is 1, not 0.": softmax(_padded * _real),
        },
    ),
    "3.2": _exercise(
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
    "3.3": _exercise(
        [24, 0.7],
        {
            "That is what query 1 gets: take row 2.": [15, 0.7],
            "That is the sum of the row; how much key 2 is read is a column.": [24, 1.0],
            "That is key 3, or counting from 0: key 2 is the second column.": [24, 0.6],
        },
    ),
    "3.4": _exercise(
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
    "3.5": _exercise(
        [2, 3],
        {
            "Row and column are exchanged: the one that notices is the query, the row.": [3, 2],
            "Counted from 1, please.": [1, 2],
            "Position 1 did not notice: row 1 is right.": [1, 3],
        },
    ),
    "4.1": _exercise(
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
    "4.2": _exercise(
        8,
        {
            "That is the root of the model's width; a head's dot product has fewer terms.": 32,
            "That is the width of a head; take its root.": 64,
            "That is the root of the number of keys; it has nothing to do with it.": 20,
            "That is the root of the number of heads.": 4,
        },
    ),
    "4.3": _exercise(
        softmax([0, 1, 3]),
        {
            "You did not divide.": softmax([0, 4, 12]),
            "You divided by d_k = 16 instead of its root.": softmax([0, 0.25, 0.75]),
            "You divided the weights after softmax: they must sum to 1.": softmax([0, 4, 12]) / 4,
        },
    ),
    "4.4": _exercise(
        1 / np.log(9),
        {
            "That is the factor on the scores; they are divided by the temperature.": np.log(9),
            "You forgot the logarithm: a ratio of weights is a difference of scores.": 1 / 9,
            "You used a logarithm to the base 10.": 1 / np.log10(9),
        },
    ),
    "4.5": _exercise(
        [100, 1, 4],
        {
            "The variances of q and k multiply: 4 times 1/4 is 1.": [425, 4.25, 5],
            "Dividing by 10 divides the variance by 100.": [100, 10, 40],
            "That is the standard deviation; the variance was asked.": [10, 1, 2],
        },
    ),
    "5.1": _exercise(
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
    "5.2": _exercise(
        softmax([0, 0, 4]),
        {
            "You did not divide the dot products by 2.": softmax([0, 0, 8]),
            "You divided by d_k = 4 instead of its root.": softmax([0, 0, 2]),
            "The word good stands there twice, and both are keys.": softmax([0, 4]),
            "That is the row of good: the last word is morning.": softmax([1.5, 1.5, 4]),
        },
    ),
    "5.3": _exercise(
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
    "5.4": _exercise(
        2,
        {
            "That is the plain average; this output is flat, but not that flat.": 13,
            "Close, but each number must agree: look at the first one.": 3,
            "That one is sharper than the right answer, not flatter.": 1,
        },
    ),
    "6.1": _exercise(
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
    "6.2": _exercise(
        _mixed @ _new_block,
        {
            "That is what head 2 read; it still has to pass its block of W_O.": _mixed,
            "You used the old block.": _mixed @ np.array([[0, 0, 1], [1, 0, -1]]),
            "That is what head 2 writes for good, which averages.": np.array([1, 1.5]) @ _new_block,
        },
    ),
    "6.3": _exercise(
        [[3, 4], [7, 8]],
        {
            "That is one reshape: head 2 would be word 2, torn in half.": [[5, 6], [7, 8]],
            "That is head 1.": [[1, 2], [5, 6]],
            "You took every second feature; a head gets neighbouring columns.": [[2, 4], [6, 8]],
        },
    ),
    "6.4": _exercise(
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
    "7.1": _exercise(
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
    "7.2": _exercise(
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
    "7.3": _exercise(
        [4, 5, 3, 2],
        {
            "Rows and columns are exchanged: the row is the output that notices.": [5, 4, 2, 3],
            "The right places in the wrong order: the leak first.": [3, 2, 4, 5],
            "Counted from 1, please.": [3, 4, 2, 1],
        },
    ),
    "7.4": _exercise(
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
    "7.5": _exercise(
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
