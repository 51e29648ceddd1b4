"""A game with cards that one head learns in a second, and the training of that head.

Eight cards lie on the table; each shows a key and a value. The question shows a key, and the answer
is the value of the right card: the one with the same key, or, in the harder game, with the next
key. One query reads eight keys, so all that is learned can be seen in a single row of weights.

``python -m attention_utils.models.recall`` measures again what is stored in `recall_scale.json`:
how many steps a head needs with and without the scale (a quarter of an hour on one core).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attention_utils._arrays import Array
from attention_utils.attention import AttentionResult, scaled_dot_product_attention
from attention_utils.backward import scaled_dot_product_attention_backward
from attention_utils.models.adam import Adam
from attention_utils.softmax import log_softmax, softmax

N_KEYS, N_VALUES, N_CARDS, WIDTH = 20, 20, 8, 64
MEASURED = Path(__file__).with_name("recall_scale.json")

Head = dict[str, Array]


class Deal(NamedTuple):
    """Some rounds of the game.

    Attributes
    ----------
    cards : ndarray, shape (n, 8, 64)
        One row per card: what its key looks like plus what its value looks like.
    question : ndarray, shape (n, 1, 64)
        What the key asked for looks like, plus a mark.
    keys : ndarray of int, shape (n, 8)
        The key of each card, a number from 0 to 19. The head does not see it.
    asked : ndarray of int, shape (n,)
        The key in the question.
    place : ndarray of int, shape (n,)
        Where the right card lies.
    answer : ndarray of int, shape (n,)
        Its value, a number from 0 to 19.
    """

    cards: Array
    question: Array
    keys: Array
    asked: Array
    place: Array
    answer: Array


class Game:
    """What keys and values look like, and which card is the right one.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the looks; every entry of a card has mean 0 and variance 1.
    next_key : bool, default False
        The right card has the key after the one in the question, instead of the same.
    """

    def __init__(self, rng: np.random.Generator, *, next_key: bool = False) -> None:
        self.next_key = next_key
        self.keys = rng.standard_normal((N_KEYS, WIDTH)) / np.sqrt(2)
        self.values = rng.standard_normal((N_VALUES, WIDTH)) / np.sqrt(2)
        self.mark = rng.standard_normal(WIDTH) / np.sqrt(2)  # says: this row is the question

    def deal(self, rng: np.random.Generator, n: int) -> Deal:
        """Deal `n` rounds. The cards with the key asked for and with the next one always lie there.

        So both games see the same tables and questions, and differ only in the right answer.
        """
        asked = rng.integers(N_KEYS, size=(n, 1))
        others = 2 + rng.random((n, N_KEYS - 2)).argsort(axis=1)[:, : N_CARDS - 2]
        after = np.concatenate([np.zeros((n, 1), int), np.ones((n, 1), int), others], axis=1)
        after = rng.permuted(after, axis=1)
        values = rng.integers(N_VALUES, size=(n, N_CARDS))
        place = np.argmax(after == int(self.next_key), axis=1)
        keys = (asked + after) % N_KEYS
        return Deal(
            self.keys[keys] + self.values[values],
            self.keys[asked] + self.mark,
            keys,
            asked[:, 0],
            place,
            values[np.arange(n), place],
        )


def random_head(rng: np.random.Generator, d_k: int, *, size: float = 1.0) -> Head:
    """Three matrices with entries N(0, 1/64), those of queries and keys times `size`."""
    shapes = {"w_q": (WIDTH, d_k), "w_k": (WIDTH, d_k), "w_v": (WIDTH, WIDTH)}
    head = {name: rng.standard_normal(shape) / np.sqrt(WIDTH) for name, shape in shapes.items()}
    return head | {name: size * head[name] for name in ("w_q", "w_k")}


def play(head: Head, deal: Deal, scale: float | None = None) -> AttentionResult:
    """What each question reads. Without w_k, keys use w_q; without both, the rows as they are."""
    return scaled_dot_product_attention(*_projected(head, deal), scale=scale)


def _projected(head: Head, deal: Deal) -> tuple[Array, Array, Array]:
    w_q = head.get("w_q", np.eye(WIDTH))
    return deal.question @ w_q, deal.cards @ head.get("w_k", w_q), deal.cards @ head["w_v"]


def loss_and_gradients(
    head: Head, game: Game, deal: Deal, scale: float | None = None
) -> tuple[float, Head]:
    """Minus the mean log weight of the right answer, and how it moves with each matrix.

    What was read is compared with the look of each value by a dot product; softmax turns these into
    a weight for each answer.
    """
    query, key, value = _projected(head, deal)
    read = scaled_dot_product_attention(query, key, value, scale=scale).output
    answers = read[:, 0] @ game.values.T
    n = len(deal.answer)
    right = np.arange(n), deal.answer
    loss = -log_softmax(answers)[right].mean()

    grad_answers = softmax(answers)
    grad_answers[right] -= 1
    grad_read = (grad_answers @ game.values / n)[:, None]
    back = scaled_dot_product_attention_backward(query, key, value, grad_read, scale=scale)
    by_query = _rows(deal.question).T @ _rows(back.query)
    by_key = _rows(deal.cards).T @ _rows(back.key)
    gradients = {"w_v": _rows(deal.cards).T @ _rows(back.value)}
    if "w_k" in head:
        gradients |= {"w_q": by_query, "w_k": by_key}
    elif "w_q" in head:  # one matrix does both jobs and hears from both
        gradients |= {"w_q": by_query + by_key}
    return float(loss), gradients


def _rows(batch: Array) -> Array:
    return batch.reshape(-1, batch.shape[-1])


class Training(NamedTuple):
    """What `train` returns.

    Attributes
    ----------
    head : dict of str to ndarray
    steps : int or None
        After how many steps the aim was reached; None if it was not.
    log : ndarray, shape (checks, 3)
        Every ten steps: the step, the share of right answers, and the mean weight on the right
        card, in 500 rounds that are not trained on.
    """

    head: Head
    steps: int | None
    log: Array


def train(
    head: Head,
    game: Game,
    seed: int,
    *,
    scale: float | None = None,
    rate: float = 0.003,
    aim: float = 0.95,
    max_steps: int = 400,
) -> Training:
    """Train a head, 64 rounds a step, until `aim` of its answers are right.

    Parameters
    ----------
    head : dict of str to ndarray
        From `random_head`; it is not changed. Leave out w_k, or w_k and w_q, to do without.
    game : Game
    seed : int
        Of the rounds that are dealt.
    scale : float, optional
        As in `scaled_dot_product_attention`.
    rate, aim, max_steps
        Step size of Adam, and when to stop.

    Returns
    -------
    Training
    """
    head = {name: matrix.copy() for name, matrix in head.items()}
    examination = game.deal(np.random.default_rng(seed + 5000), 500)
    rng = np.random.default_rng(seed + 1000)
    adam, log, reached = Adam(head), [], None
    for step in range(max_steps + 1):
        if step % 10 == 0:
            result = play(head, examination, scale)
            answers = (result.output[:, 0] @ game.values.T).argmax(axis=1)
            right = (answers == examination.answer).mean()
            weight = result.weights[np.arange(500), 0, examination.place].mean()
            log.append((step, right, weight))
            if right >= aim:
                reached = step
                break
        _, gradients = loss_and_gradients(head, game, game.deal(rng, 64), scale)
        adam.step(gradients, rate)
    return Training(head, reached, np.array(log))


# With and without the scale

VARIANTS = ("scaled", "not scaled", "not scaled, small start")


def steps_needed(
    variant: str, d_k: int, rate: float, seed: int, *, max_steps: int = 2000
) -> int | None:
    """How many steps until 95 % of the answers are right; None if that many are not enough.

    With a small start the scores begin as small as scaled ones, but nothing keeps them small.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
    game = Game(np.random.default_rng(seed))
    size = d_k**-0.25 if variant == "not scaled, small start" else 1.0
    head = random_head(np.random.default_rng(seed + 100), d_k, size=size)
    scale = None if variant == "scaled" else 1.0
    return train(head, game, seed, scale=scale, rate=rate, max_steps=max_steps).steps


def best_rate(variant: str, d_k: int) -> tuple[float | None, list[int]]:
    """The rate with which five seeds together need the fewest steps, and the steps of each.

    A rate counts only if every seed succeeds; None and no steps if that happens with no rate.
    """
    best: tuple[float | None, list[int]] = None, []
    for rate in (0.001, 0.003, 0.01, 0.03):
        steps: list[int] = []
        for seed in range(5):
            needed = steps_needed(variant, d_k, rate, seed)
            if needed is None:
                break
            steps.append(needed)
        if len(steps) == 5 and (not best[1] or sum(steps) < sum(best[1])):
            best = rate, steps
    return best


def measure_scale() -> None:
    """Write `recall_scale.json`: the best rate and its steps, for each width and variant."""
    table = []
    for d_k in (16, 64, 256, 1024):
        for variant in VARIANTS:
            rate, steps = best_rate(variant, d_k)
            table.append({"d_k": d_k, "variant": variant, "rate": rate, "steps": steps})
            print(table[-1], flush=True)
    lines = ",\n".join(json.dumps(row) for row in table)
    MEASURED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    measure_scale()
