"""The game with cards: fair deals, right gradients, and the stored measurement of the scale."""

import json

import numpy as np
import pytest

from attention_utils.models import recall
from tests.helpers import assert_close, refuses

RIVALS = [("w_q", "w_k", "w_v"), ("w_q", "w_v"), ("w_v",)]


@pytest.fixture
def game():
    return recall.Game(np.random.default_rng(3))


@pytest.mark.parametrize("next_key", [False, True])
def test_the_right_card_has_the_key_and_shows_the_answer(next_key):
    game = recall.Game(np.random.default_rng(3), next_key=next_key)
    deal = game.deal(np.random.default_rng(4), 50)
    right = deal.cards[np.arange(50), deal.place]
    wanted = game.keys[(deal.asked + next_key) % recall.N_KEYS]
    assert_close(right, wanted + game.values[deal.answer])
    assert_close(deal.question[:, 0], game.keys[deal.asked] + game.mark)


def test_both_games_are_dealt_the_same_tables():
    same, following = (
        recall.Game(np.random.default_rng(3), next_key=n).deal(np.random.default_rng(4), 50)
        for n in (False, True)
    )
    assert_close(same.cards, following.cards)
    assert_close(same.question, following.question)
    assert (same.place != following.place).all()


def test_no_key_lies_there_twice_and_every_place_is_right_sometimes(game):
    deal = game.deal(np.random.default_rng(4), 400)
    assert all(len(set(row)) == recall.N_CARDS for row in deal.keys)
    assert np.bincount(deal.place, minlength=recall.N_CARDS).min() > 25


def test_entries_of_a_card_have_mean_0_and_variance_1():
    games = [recall.Game(np.random.default_rng(seed)) for seed in range(20)]
    cards = np.array([game.deal(np.random.default_rng(1), 100).cards for game in games])
    assert abs(cards.mean()) < 0.02
    assert abs(cards.var() - 1) < 0.02


@pytest.mark.parametrize("names", RIVALS)
def test_gradients_by_finite_differences(game, names):
    full = recall.random_head(np.random.default_rng(5), 4)
    head = {name: full[name] for name in names}
    deal = game.deal(np.random.default_rng(6), 5)
    _, gradients = recall.loss_and_gradients(head, game, deal, scale=0.3)
    assert gradients.keys() == head.keys()
    rng = np.random.default_rng(7)
    for name, gradient in gradients.items():
        for _ in range(8):
            place = tuple(rng.integers(head[name].shape))
            losses = []
            for step in (1e-5, -1e-5):
                moved = head | {name: head[name].copy()}
                moved[name][place] += step
                losses.append(recall.loss_and_gradients(moved, game, deal, scale=0.3)[0])
            assert_close((losses[0] - losses[1]) / 2e-5, gradient[place], atol=1e-8, what=name)


def test_one_matrix_hears_from_both_jobs(game):
    head = recall.random_head(np.random.default_rng(5), 4)
    deal = game.deal(np.random.default_rng(6), 5)
    head["w_k"] = head["w_q"]
    _, apart = recall.loss_and_gradients(head, game, deal)
    del head["w_k"]
    _, together = recall.loss_and_gradients(head, game, deal)
    assert_close(together["w_q"], apart["w_q"] + apart["w_k"])


def test_training_reaches_its_aim_and_leaves_the_start_alone(game):
    head = recall.random_head(np.random.default_rng(5), 16)
    before = {name: matrix.copy() for name, matrix in head.items()}
    trained = recall.train(head, game, 0, rate=0.01, aim=0.99)
    assert trained.steps is not None
    assert trained.log[0, 1] < 0.2
    assert trained.log[-1, 1] >= 0.99
    assert trained.log[-1, 0] == trained.steps
    for name in head:
        assert_close(head[name], before[name])


def test_too_few_steps_are_said_to_be_too_few(game):
    head = recall.random_head(np.random.default_rng(5), 16)
    assert recall.train(head, game, 0, max_steps=10).steps is None


def test_a_shared_matrix_cannot_learn_a_question_with_a_direction():
    for next_key in (False, True):
        game = recall.Game(np.random.default_rng(3), next_key=next_key)
        head = recall.random_head(np.random.default_rng(5), 32)
        del head["w_k"]
        share = recall.train(head, game, 0, rate=0.01, aim=0.99, max_steps=200).log[-1, 1]
        assert (share > 0.95) is not next_key


STORED = json.loads(recall.MEASURED.read_text("utf-8"))


def test_the_stored_table_has_every_width_and_variant():
    rows = {(row["d_k"], row["variant"]): row for row in STORED}
    assert rows.keys() == {(d, v) for d in (16, 64, 256, 1024) for v in recall.VARIANTS}
    assert all(len(row["steps"]) == 5 for row in STORED)


@pytest.mark.parametrize("variant", recall.VARIANTS)
def test_the_stored_steps_come_out_again(variant):
    (row,) = (row for row in STORED if (row["d_k"], row["variant"]) == (16, variant))
    assert recall.steps_needed(variant, 16, row["rate"], 1) == row["steps"][1]


def test_an_unknown_variant_is_refused():
    with refuses("variant", "scaled", "other"):
        recall.steps_needed("other", 16, 0.01, 0)
