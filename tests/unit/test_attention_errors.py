"""Bad input is a ValueError that names the argument, what it got and what it needs."""

import numpy as np
import pytest

from attention_utils import (
    attention_weights,
    blockwise_attention,
    scaled_dot_product_attention,
)
from tests.helpers import refuses

GOOD = {"query": np.ones((3, 7)), "key": np.ones((5, 7)), "value": np.ones((5, 11))}


def attend(**changes):
    """Call with good arrays but for the changes; without a value if the value is good."""
    arguments = GOOD | changes
    scaled_dot_product_attention(**arguments)


def weigh(**changes):
    arguments = GOOD | changes
    del arguments["value"]
    attention_weights(**arguments)


def in_blocks(**changes):
    arguments = GOOD | changes
    blockwise_attention(**arguments)


every_function = pytest.mark.parametrize("call", [attend, weigh, in_blocks])


@every_function
def test_the_good_call_is_good(call):
    call()


@every_function
@pytest.mark.parametrize("name", ["query", "key"])
class TestQueryAndKey:
    def test_needs_two_axes(self, call, name):
        with refuses(name, "axes", "(7,)"):
            call(**{name: np.ones(7)})
        with refuses(name):
            call(**{name: np.float64(1)})

    @pytest.mark.parametrize(
        "bad", [np.ones((5, 7), complex), np.full((5, 7), "1"), np.ones((5, 7), object), None]
    )
    def test_must_be_real(self, call, name, bad):
        with refuses(name):
            call(**{name: bad})

    def test_must_say_which_dtype_it_got(self, call, name):
        with refuses(name, "complex128"):
            call(**{name: np.ones((5, 7), complex)})
        with refuses(name, "datetime64"):
            call(**{name: np.ones((5, 7), "datetime64[s]")})

    def test_ragged_lists(self, call, name):
        with refuses(name):
            call(**{name: [[1, 2, 3], [1, 2]]})


@every_function
def test_a_single_query_is_told_how_to_become_a_matrix(call):
    with refuses("query[None, :]"):
        call(query=np.ones(7))


@every_function
def test_query_and_key_must_be_equally_wide(call):
    with refuses("query has d_k=64", "key has d_k=32"):
        call(query=np.ones((3, 64)), key=np.ones((5, 32)))


@every_function
def test_rows_need_at_least_one_number(call):
    with refuses("d_k"):
        call(query=np.ones((3, 0)), key=np.ones((5, 0)))


@every_function
def test_batches_of_query_and_key_must_broadcast(call):
    with refuses("query", "key", "2", "4"):
        call(query=np.ones((2, 3, 7)), key=np.ones((4, 5, 7)))


@pytest.mark.parametrize("call", [attend, in_blocks])
class TestValue:
    def test_needs_two_axes(self, call):
        with refuses("value", "(5,)"):
            call(value=np.ones(5))

    def test_needs_one_row_a_key(self, call):
        with refuses("key", "value", "5", "4"):
            call(value=np.ones((4, 11)))

    def test_batch_must_broadcast(self, call):
        with refuses("value", "4", "2"):
            call(query=np.ones((2, 3, 7)), value=np.ones((4, 5, 11)))

    @pytest.mark.parametrize(
        "bad", [np.ones((5, 11), complex), np.full((5, 11), "1"), np.ones((5, 11), object)]
    )
    def test_must_be_real(self, call, bad):
        with refuses("value", str(bad.dtype)):
            call(value=bad)


@every_function
class TestMask:
    @pytest.mark.parametrize(
        "mask", [np.ones((3, 5), int), np.ones((3, 5)), np.ones((3, 5), object)]
    )
    def test_must_be_boolean(self, call, mask):
        with refuses("mask", "bool", str(mask.dtype)):
            call(mask=mask)

    def test_whole_numbers_are_told_how_to_become_boolean(self, call):
        with refuses("mask", ".astype(bool)"):
            call(mask=np.ones((3, 5), int))

    @pytest.mark.parametrize(
        "shape", [(3, 7), (5, 3), (3, 3), (4,), (2, 5), (2, 4, 5), (3, 0), (0, 5)]
    )
    def test_must_fit_the_scores(self, call, shape):
        with refuses("mask", str(shape), "3", "5"):
            call(mask=np.ones(shape, bool))

    def test_batch_must_broadcast(self, call):
        with refuses("mask", "4", "2"):
            call(query=np.ones((2, 3, 7)), mask=np.ones((4, 3, 5), bool))

    def test_one_query_does_not_stretch_to_the_mask(self, call):
        # broadcasting alone would accept this and invent three queries
        with refuses("mask", "(3, 5)"):
            call(query=np.ones((1, 7)), mask=np.ones((3, 5), bool))

    def test_one_key_does_not_stretch_to_the_mask(self, call):
        with refuses("mask", "(3, 5)"):
            call(key=np.ones((1, 7)), value=np.ones((1, 11)), mask=np.ones((3, 5), bool))


@every_function
class TestBias:
    @pytest.mark.parametrize("shape", [(3, 7), (5, 3), (4,), (2, 5), (2, 4, 5), (0, 5)])
    def test_must_fit_the_scores(self, call, shape):
        with refuses("bias", str(shape), "3", "5"):
            call(bias=np.ones(shape))

    def test_batch_must_broadcast(self, call):
        with refuses("bias", "4", "2"):
            call(query=np.ones((2, 3, 7)), bias=np.ones((4, 3, 5)))

    def test_one_query_does_not_stretch_to_the_bias(self, call):
        with refuses("bias", "(3, 5)"):
            call(query=np.ones((1, 7)), bias=np.ones((3, 5)))

    @pytest.mark.parametrize(
        "bad", [np.ones((3, 5), complex), np.full((3, 5), "1"), np.ones((3, 5), object)]
    )
    def test_must_be_real(self, call, bad):
        with refuses("bias", str(bad.dtype)):
            call(bias=bad)


@every_function
@pytest.mark.parametrize("causal", [np.ones((3, 5), bool), 1, 0, None, "yes"])
def test_causal_must_be_true_or_false(call, causal):
    with refuses("causal"):
        call(causal=causal)


@every_function
@pytest.mark.parametrize(
    "scale", [np.nan, np.inf, -np.inf, "0.5", True, False, np.ones(5), [0.5], 1j, np.True_]
)
def test_scale_must_be_a_finite_number(call, scale):
    with refuses("scale"):
        call(scale=scale)


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        scaled_dot_product_attention(*GOOD.values(), np.zeros((3, 5)))
    with pytest.raises(TypeError):
        attention_weights(GOOD["query"], GOOD["key"], np.zeros((3, 5)))


@pytest.mark.parametrize("scale", [10**400, 1e39])
def test_a_scale_beyond_the_dtype(scale):
    one = np.ones((1, 1), dtype=np.float32)
    with refuses("scale", "finite"):
        scaled_dot_product_attention(one, one, one, scale=scale)
