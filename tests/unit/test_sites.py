"""The three places of attention in the encoder-decoder: who asks, who is read, what is hidden."""

import numpy as np
import pytest

from attention_utils import (
    MultiHeadAttention,
    cross_attention,
    decoder_self_attention,
    encoder_self_attention,
    padding_mask,
)
from tests import reference
from tests.helpers import assert_agrees, assert_close, normal, refuses

RNG = np.random.default_rng(0)
# two heads and two sequences: a padding mask without a head axis would broadcast without an error
SELF = MultiHeadAttention.random(6, 2, RNG, d_k=5, d_v=7)
SOURCE, TARGET = normal(2, 5, 6, seed=1), normal(2, 3, 6, seed=2)
LENGTHS = [5, 2]


def expected(x, memory, mask):
    return reference.multi_head(x, memory, SELF.w_q, SELF.w_k, SELF.w_v, SELF.w_o, 2, mask=mask)


def test_encoder_self_attention():
    assert_agrees(encoder_self_attention(SELF, SOURCE), expected(SOURCE, SOURCE, None))
    result = encoder_self_attention(SELF, SOURCE, padding=padding_mask(LENGTHS, 5))
    shown = np.array([[j < length for j in range(5)] for length in LENGTHS])
    assert_agrees(result, expected(SOURCE, SOURCE, shown[:, None]))


def test_decoder_self_attention():
    past = np.array([[j <= i for j in range(5)] for i in range(5)])
    assert_agrees(decoder_self_attention(SELF, SOURCE), expected(SOURCE, SOURCE, past))
    result = decoder_self_attention(SELF, SOURCE, padding=padding_mask(LENGTHS, 5))
    shown = np.array([[j < length for j in range(5)] for length in LENGTHS])
    assert_agrees(result, expected(SOURCE, SOURCE, past & shown[:, None]))


def test_cross_attention_asks_from_the_target_and_reads_the_source():
    result = cross_attention(SELF, TARGET, SOURCE)
    assert result.weights.shape == (2, 2, 3, 5)
    assert_agrees(result, expected(TARGET, SOURCE, None))
    result = cross_attention(SELF, TARGET, SOURCE, memory_padding=padding_mask(LENGTHS, 5))
    shown = np.array([[j < length for j in range(5)] for length in LENGTHS])
    assert_agrees(result, expected(TARGET, SOURCE, shown[:, None]))


def test_cross_attention_has_no_causal_mask():
    equal = cross_attention(SELF, SOURCE, normal(2, 5, 6, seed=3))
    assert (equal.weights > 0).all()


@pytest.mark.parametrize("site", [encoder_self_attention, decoder_self_attention])
def test_one_sequence_without_a_batch(site):
    padding = padding_mask(2, 5)
    alone = site(SELF, SOURCE[1], padding=padding)
    in_batch = site(SELF, SOURCE, padding=padding_mask(LENGTHS, 5))
    assert_close(alone.output, in_batch.output[1])


def test_padded_positions_still_ask():
    # padding hides key columns, not query rows
    result = encoder_self_attention(SELF, SOURCE, padding=padding_mask(LENGTHS, 5))
    assert_close(result.weights.sum(-1), np.ones((2, 2, 5)))


def test_an_empty_sequence_gives_zeros():
    for site in (encoder_self_attention, decoder_self_attention):
        output = site(SELF, SOURCE, padding=padding_mask([0, 5], 5)).output
        assert_close(output[0], np.zeros((5, 6)), atol=0)


def test_padding_must_be_a_mask_that_fits():
    for site in (encoder_self_attention, decoder_self_attention):
        with refuses("padding"):
            site(SELF, SOURCE, padding=np.array(LENGTHS))
        with refuses("padding"):
            site(SELF, SOURCE, padding=padding_mask(LENGTHS, 7))
    with refuses("memory_padding"):
        cross_attention(SELF, TARGET, SOURCE, memory_padding=np.array(LENGTHS))
    with refuses("memory_padding"):
        cross_attention(SELF, TARGET, SOURCE, memory_padding=padding_mask([3, 2], 3))


def test_errors_name_the_argument_of_the_site():
    with refuses("y", "6"):
        decoder_self_attention(SELF, np.zeros((3, 5)))
    with refuses("y", "y[None, :]"):
        cross_attention(SELF, np.zeros(6), SOURCE)
    with refuses("memory", "6"):
        cross_attention(SELF, TARGET, np.zeros((3, 5)))
    with refuses("y", "rectangular"):
        decoder_self_attention(SELF, [[1, 2], [3]])
    for site in (encoder_self_attention, decoder_self_attention):
        with refuses("mha", "NoneType"):
            site(None, SOURCE)
