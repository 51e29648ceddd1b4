"""What MultiHeadAttention refuses, and how it says so."""

import numpy as np
import pytest

from attention_utils import MultiHeadAttention
from tests.helpers import refuses

# d_model 7, d_memory 13, 3 heads, d_k 2, d_v 5
GOOD = {
    "w_q": np.ones((7, 6)),
    "w_k": np.ones((13, 6)),
    "w_v": np.ones((13, 15)),
    "w_o": np.ones((15, 7)),
    "n_heads": 3,
}


def build(**changes):
    return MultiHeadAttention(**(GOOD | changes))


def random(d_model=6, n_heads=2, rng=None, **options):
    rng = np.random.default_rng(0) if rng is None else rng
    return MultiHeadAttention.random(d_model, n_heads, rng, **options)


def test_the_good_calls_are_good():
    build()(np.ones((4, 7)), np.ones((5, 13)), mask=np.ones((4, 5), bool))
    random()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"w_k": np.ones((13, 9))}, ["w_q", "w_k", "6", "9"]),
        ({"w_k": np.ones((11, 6))}, ["w_k", "w_v", "11", "13"]),
        ({"w_v": np.ones((13, 14))}, ["w_v", "14", "3"]),
        ({"w_o": np.ones((14, 7))}, ["w_o", "14", "15"]),
        ({"w_o": np.ones((15, 6))}, ["w_o", "6", "7"]),
        ({"n_heads": 4}, ["n_heads", "4", "6"]),
        ({"n_heads": 0}, ["n_heads"]),
        ({"n_heads": -3}, ["n_heads"]),
        ({"n_heads": 3.0}, ["n_heads"]),
        ({"n_heads": True}, ["n_heads"]),
        ({"n_heads": None}, ["n_heads"]),
    ],
)
def test_shapes_must_fit_together(changes, words):
    with refuses(*words):
        build(**changes)


@pytest.mark.parametrize("name", ["w_q", "w_k", "w_v", "w_o"])
def test_weights_must_be_real_matrices(name):
    shape = GOOD[name].shape
    with refuses(name, str((2, *shape))):
        build(**{name: np.ones((2, *shape))})
    with refuses(name):
        build(**{name: np.ones(shape[1])})
    with refuses(name, "complex128"):
        build(**{name: np.ones(shape, complex)})
    with refuses(name):
        build(**{name: np.full(shape, "a")})


@pytest.mark.parametrize(("name", "width"), [("b_q", 6), ("b_k", 6), ("b_v", 15), ("b_o", 7)])
def test_biases_must_be_real_vectors_of_the_width(name, width):
    build(**{name: np.ones(width)})
    for bad in (np.ones(width + 1), np.ones(1), np.ones((1, width)), np.float64(1)):
        with refuses(name, str(width)):
            build(**{name: bad})
    with refuses(name, "complex128"):
        build(**{name: np.ones(width, complex)})


@pytest.mark.parametrize("x", [np.ones((4, 6)), np.ones((2, 4, 13))])
def test_x_must_be_as_wide_as_the_model(x):
    with refuses("x", str(x.shape[-1]), "7"):
        build()(x, np.ones((5, 13)))


def test_memory_must_be_as_wide_as_the_weights():
    with refuses("memory", "7", "13"):
        build()(np.ones((4, 7)), np.ones((5, 7)))


def test_memory_is_needed_when_the_widths_differ():
    with refuses("memory", "7", "13"):
        build()(np.ones((4, 7)))


def test_x_and_memory_need_two_axes():
    with refuses("x", "axes", "(7,)"):
        build()(np.ones(7), np.ones((5, 13)))
    with refuses("memory", "axes", "(13,)"):
        build()(np.ones((4, 7)), np.ones(13))


def test_x_and_memory_must_be_real():
    with refuses("x", "complex128"):
        build()(np.ones((4, 7), complex), np.ones((5, 13)))
    with refuses("memory", "complex128"):
        build()(np.ones((4, 7)), np.ones((5, 13), complex))


def test_batches_of_x_and_memory_must_broadcast():
    with refuses("batch", "2", "3"):
        build()(np.ones((2, 4, 7)), np.ones((3, 5, 13)))


@pytest.mark.parametrize("mask", [np.ones((4, 5), int), np.ones((4, 5))])
def test_mask_must_be_boolean(mask):
    with refuses("mask", "bool"):
        build()(np.ones((4, 7)), np.ones((5, 13)), mask=mask)


@pytest.mark.parametrize("shape", [(5, 4), (4, 4), (3, 5), (4,), (3, 4, 5), (2, 3, 4, 5)])
def test_mask_must_be_that_of_one_head(shape):
    # (2, 3, 4, 5) already has the head axis: with one more it fits no batch of two
    with refuses("mask"):
        build()(np.ones((2, 4, 7)), np.ones((2, 5, 13)), mask=np.ones(shape, bool))


def test_mask_is_a_keyword():
    with pytest.raises(TypeError):
        build()(np.ones((4, 7)), np.ones((5, 13)), np.ones((4, 5), bool))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_heads": 4}, ["d_model", "n_heads", "6", "4"]),
        ({"n_heads": 0}, ["n_heads"]),
        ({"d_model": 0}, ["d_model"]),
        ({"d_model": 6.0}, ["d_model"]),
        ({"d_k": 0}, ["d_k"]),
        ({"d_v": -1}, ["d_v"]),
        ({"d_k": 2.5}, ["d_k"]),
        ({"rng": 5}, ["rng", "Generator", "int"]),
        ({"rng": np.random.RandomState(0)}, ["rng"]),
        ({"rng": np.random}, ["rng"]),
    ],
)
def test_random_refuses(arguments, words):
    with refuses(*words):
        random(**arguments)


def test_random_needs_no_divisible_width_when_both_widths_are_given():
    mha = random(7, 2, d_k=3, d_v=4)
    assert (mha.d_k, mha.d_v) == (3, 4)


def test_from_torch_needs_the_module():
    with refuses("module", "torch.nn.MultiheadAttention", "object"):
        MultiHeadAttention.from_torch(object())


def test_batches_that_do_not_fit_are_named():
    layer = MultiHeadAttention.random(6, 2, np.random.default_rng(0))
    with refuses("x", "memory", "broadcast"):
        layer(np.zeros((2, 3, 6)), np.zeros((3, 5, 6)))
