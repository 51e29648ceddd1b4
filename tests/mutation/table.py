"""The planted mistakes: how each is planted, and the unit test and the one cell that must notice.

To plant another known mistake, add a line with `known`; if its switch is new, say in `PLACES` of
plant.py which functions have it. A mistake that is no switch is a `Planted` of its own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from attention_utils import (
    AttentionGradients,
    AttentionMap,
    attention_weights,
    blockwise,
    decoder_self_attention,
    encoder_self_attention,
    entropy,
    layer_norm,
    log_softmax,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    softmax,
    softmax_jacobian,
)
from attention_utils._arrays import check_weights
from attention_utils.mistakes import MISTAKES, attend
from tests.mutation.plant import (
    ATTENTION,
    LAYER,
    MISTAKEN,
    PLACES,
    mistaken_weights,
    plant_switches,
    replace,
)

CHAPTERS = Path(__file__).parents[2] / "chapters"


@dataclass(frozen=True)
class Planted:
    """A mistake to plant.

    `cell` is the id of the cell of this chapter that must notice it, `units` has the one pytest
    node id, below tests/unit, of the unit test that must. `sentence` and `source` are like those
    of `attention_utils.mistakes.Mistake`.
    """

    name: str
    chapter: str
    cell: str
    units: tuple[str, ...]
    plant: Callable[[], None]
    sentence: str
    source: str = ""


def known(name, chapter, cell, unit, *, into=None):
    """A mistake of `MISTAKES`, planted into the functions that have its switch."""
    (mistake,) = (mistake for mistake in MISTAKES if mistake.name == name)
    functions = PLACES[mistake.switch] if into is None else into
    plant = partial(plant_switches, functions, **mistake.switches)
    return Planted(name, chapter, cell, (unit,), plant, mistake.sentence, mistake.source)


def other(name, chapter, cell, unit, plant, sentence, source=""):
    """A mistake that is no switch; without a source it is made up."""
    return Planted(name, chapter, cell, (unit,), plant, sentence, source)


# Mistakes that are no switches


def without(option):
    """Attention that does not look at one of its options."""
    for right, wrong in zip(ATTENTION, (attend, mistaken_weights), strict=True):
        replace(right, lambda *a, wrong=wrong, **options: wrong(*a, **options | {option: None}))


def naive_softmax(x, axis=-1, *, where=True):
    exponentials = np.exp(np.where(where, x, -np.inf))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def log_of_softmax(x, axis=-1):
    return np.log(softmax(x, axis))


def diagonal_alone(p):
    p = np.asarray(p)
    return p[..., None] * (1 - p[..., None]) * np.eye(p.shape[-1])


def gradient_not_scaled(query, *a, right=scaled_dot_product_attention_backward, **options):
    gradients = right(query, *a, **options)
    root = np.sqrt(np.shape(query)[-1])
    return AttentionGradients(root * gradients.query, root * gradients.key, gradients.value)


def gradient_without_row_sum(query, key, value, grad_output, *, scale=None, **options):
    weights = attention_weights(query, key, scale=scale, **options)
    factor = np.shape(query)[-1] ** -0.5 if scale is None else scale
    by_scores = factor * weights * (grad_output @ np.swapaxes(value, -1, -2))
    to_rows = np.swapaxes(by_scores, -1, -2), np.swapaxes(weights, -1, -2)
    return AttentionGradients(by_scores @ key, to_rows[0] @ query, to_rows[1] @ grad_output)


def gradient_not_causal(*a, causal=False, right=scaled_dot_product_attention_backward, **options):
    return right(*a, **options)


def keys_handed_over(query, key, value, **options):
    return attend(query, key, key, **options)


def sums_not_rescaled(query, key, value, bias=None, mask=None, *, causal, factor, buffer):
    """The online softmax, each block relative to its own largest score."""
    scores = attend(query, key, value, bias=bias, mask=mask, causal=causal, scale=factor).scores
    total = output = 0
    for start in range(0, len(key), buffer.shape[1]):
        block = slice(start, start + buffer.shape[1])
        largest = scores[:, block].max(axis=-1, keepdims=True)
        exponentials = np.exp(scores[:, block] - np.where(largest == -np.inf, 0, largest))
        total = total + exponentials.sum(axis=-1, keepdims=True)
        output = output + exponentials @ value[block]
    return output / np.where(total == 0, 1, total)


def blocks_without_mask(*arrays, mask=None, right=blockwise._online_softmax, **options):
    return right(*arrays, **options)


def entropy_in_bits(p, axis=-1):
    return entropy(p, axis) / np.log(2)


def over_positions(x, gain=None, shift=None, *, eps=1e-5, right=layer_norm):
    """`layer_norm` down the columns."""
    return np.swapaxes(right(np.swapaxes(x, -1, -2), eps=eps), -1, -2)


def read_down(self, query):
    return self.weights[:, self._position(query)].copy()


def labels_exchanged(self, weights, query_tokens, key_tokens, *, right=AttentionMap.__init__):
    right(self, weights, query_tokens, key_tokens)
    self._query_tokens, self._key_tokens = self._key_tokens, self._query_tokens


def anything_is_a_weight(name, weights, axis=-1):
    pass


CH1, CH2, CH3 = "01_why_attention", "02_query_key_value", "03_reading_by_row"
CH4, CH5, CH6 = "04_variance_and_scale", "05_single_head", "06_multi_head"
CH7, CH8, CH9 = "07_three_sites", "08_numerics_and_masks", "09_learning_to_attend"
CH11 = "11_cost_and_long_sequences"

# fmt: off
TABLE = [
    # Chapter 1
    other("map_read_down", CH1, "meeting-map",
          "test_maps.py::test_row_by_token_or_index",
          partial(replace, AttentionMap.row, read_down),
          "You read the map down a column; what one query reads is a row."),
    known("uniform_weights", CH1, "window-against-content",
          "test_softmax.py::test_published_values"),
    other("scale_ignored", CH1, "tired-or-wide",
          "test_attention_values.py::test_scale_multiplies_before_the_bias_is_added",
          partial(without, "scale"),
          "You ignored the scale that was given and divided by sqrt(d_k)."),
    # Chapter 2
    other("softmax_overflows", CH2, "start-matters",
          "test_softmax.py::test_published_values",
          partial(replace, softmax, naive_softmax),
          "You took exp of large scores: subtract the largest of the row first."),
    known("no_scale", CH2, "one-query-package",
          "test_attention_values.py::test_the_worked_example"),
    other("keys_handed_over", CH2, "one-query-package",
          "test_attention_values.py::test_one_query_three_keys_by_hand",
          partial(replace, scaled_dot_product_attention, keys_handed_over),
          "You added up the keys; a key is what is matched, the value is what is handed over."),
    # Chapter 3
    known("scores_used_as_weights", CH3, "softmax-facts",
          "test_softmax.py::test_published_values"),
    known("softmax_over_queries", CH3, "axis-matters",
          "test_softmax.py::test_any_axis"),
    known("softmax_over_everything", CH3, "axis-matters",
          "test_softmax.py::test_any_axis"),
    other("hidden_nan_leaks", CH3, "hidden-is-hidden-run",
          "test_hidden_pairs.py::test_a_key_hidden_from_everyone_may_hold_anything",
          partial(plant_switches, ATTENTION),
          "You multiplied hidden values by a weight of 0: if they are NaN, that is NaN."),
    known("causal_sees_one_ahead", CH3, "causal-mask",
          "test_masks.py::test_causal_queries_are_the_last_positions"),
    known("causal_misses_itself", CH3, "causal-mask",
          "test_masks.py::test_causal_queries_are_the_last_positions"),
    known("causal_transposed", CH3, "causal-mask",
          "test_masks.py::test_causal_queries_are_the_last_positions"),
    known("causal_upper_left", CH3, "causal-mask",
          "test_masks.py::test_causal_queries_are_the_last_positions"),
    other("transposed_map_accepted", CH3, "map-refuses",
          "test_maps.py::test_refuses_a_transposed_map",
          partial(replace, check_weights, anything_is_a_weight),
          "You let a map through whose columns sum to 1: it is transposed.",
          "harvardnlp/annotated-transformer, issue 104"),
    other("map_labels_exchanged", CH3, "who-is-asking",
          "test_maps.py::test_it_keeps_what_it_was_given",
          partial(replace, AttentionMap.__init__, labels_exchanged),
          "You exchanged the labels of the two sides: queries go down, keys across.",
          "harvardnlp/annotated-transformer, issue 104; poloclub/transformer-explainer, issue 19"),
    known("mask_ignored", CH3, "who-moves",
          "test_attention_values.py::test_the_discriminating_example_with_a_causal_mask",
          into=ATTENTION),
    known("masked_after_softmax", CH3, "masked-after",
          "test_softmax.py::test_where_broadcasts", into=(softmax,)),
    known("hidden_scores_zero", CH3, "masked-after",
          "test_softmax.py::test_where_broadcasts", into=(softmax,)),
    # Chapter 4
    known("hard_maximum", CH4, "three-sizes",
          "test_softmax.py::test_published_values"),
    known("divided_by_d_k", CH4, "chain-measured",
          "test_attention_values.py::test_the_worked_example"),
    known("scaled_by_number_of_keys", CH4, "over-keys",
          "test_attention_values.py::test_the_discriminating_example"),
    other("entropy_in_bits", CH4, "chain-measured",
          "test_jacobian_entropy.py::test_entropy_by_hand",
          partial(replace, entropy, entropy_in_bits),
          "You took logarithms to base 2: entropy here is in nats."),
    # Chapter 5
    known("multiplied_by_root", CH5, "six-lines-code",
          "test_attention_values.py::test_the_worked_example"),
    known("exp_not_normalised", CH5, "six-lines-code",
          "test_attention_values.py::test_the_worked_example", into=ATTENTION),
    known("scaled_by_value_width", CH5, "discriminating",
          "test_attention_values.py::test_the_discriminating_example"),
    known("weights_transposed", CH5, "discriminating",
          "test_attention_values.py::test_the_discriminating_example"),
    known("scaled_after_softmax", CH5, "discriminating",
          "test_attention_values.py::test_the_discriminating_example"),
    # Chapter 6
    known("merged_by_one_reshape", CH6, "all-at-once-run",
          "test_heads.py::test_merge_by_hand"),
    known("no_output_projection", CH6, "all-at-once-run",
          "test_multihead.py::test_two_heads_by_hand"),
    known("heads_by_one_reshape", CH6, "split-wrong",
          "test_heads.py::test_split_by_hand"),
    known("heads_averaged", CH6, "loop-over-heads",
          "test_heads.py::test_merge_by_hand"),
    known("heads_reversed", CH6, "loop-over-heads",
          "test_multihead.py::test_two_heads_by_hand"),
    known("swapped_q_and_k", CH6, "loop-over-heads",
          "test_multihead.py::test_self_attention"),
    known("one_matrix_for_q_and_k", CH6, "loop-over-heads",
          "test_multihead.py::test_self_attention"),
    known("scaled_by_model_width", CH6, "loop-over-heads",
          "test_multihead.py::test_self_attention", into=LAYER),
    known("mask_without_head_axis", CH6, "mask-for-all-heads",
          "test_multihead.py::test_padding_mask"),
    # Chapter 7
    other("layer_norm_over_positions", CH7, "block-run",
          "test_block.py::test_layer_norm_of_each_row_by_the_reference",
          partial(replace, layer_norm, over_positions),
          "You normalised each feature over the positions; each position is normalised by itself."),
    other("bias_ignored", CH7, "bias-for-distance",
          "test_attention_values.py::test_scale_multiplies_before_the_bias_is_added",
          partial(without, "bias"),
          "You ignored the bias: it is added to the scaled dot products."),
    known("cross_sources_swapped", CH7, "three-functions-run",
          "test_sites.py::test_cross_attention_asks_from_the_target_and_reads_the_source"),
    known("cross_reads_itself", CH7, "three-functions-run",
          "test_sites.py::test_cross_attention_asks_from_the_target_and_reads_the_source"),
    known("query_length_for_keys", CH7, "three-functions-run",
          "test_sites.py::test_cross_attention_asks_from_the_target_and_reads_the_source"),
    other("decoder_reads_ahead", CH7, "three-functions-run",
          "test_sites.py::test_decoder_self_attention",
          partial(replace, decoder_self_attention, encoder_self_attention),
          "Your decoder has no causal mask: it reads the words that it should predict."),
    known("mask_inverted", CH7, "influence-by-intervention",
          "test_attention_values.py::test_bias_minus_infinity_equals_the_mask", into=ATTENTION),
    known("padding_hides_queries", CH7, "influence-by-intervention",
          "test_sites.py::test_padded_positions_still_ask"),
    known("empty_row_nan", CH7, "nothing-to-read-run",
          "test_sites.py::test_an_empty_sequence_gives_zeros"),
    known("empty_row_uniform", CH7, "nothing-to-read-run",
          "test_sites.py::test_an_empty_sequence_gives_zeros"),
    # Chapter 8
    other("half_precision", CH8, "half-precision-scores",
          "test_dtypes.py::test_float16_scores_beyond_its_range",
          partial(plant_switches, ATTENTION),
          "You computed the dot products in float16: its largest number is 65504."),
    other("log_of_softmax", CH8, "logs-run",
          "test_softmax.py::test_log_softmax_values",
          partial(replace, log_softmax, log_of_softmax),
          "You took the logarithm of a weight that had been rounded to 0."),
    other("jacobian_diagonal_alone", CH8, "jacobian-run",
          "test_jacobian_entropy.py::test_jacobian_by_hand",
          partial(replace, softmax_jacobian, diagonal_alone),
          "You left out what a score does to the other weights: the rows must sum to 0."),
    # Chapter 9
    other("gradient_not_scaled", CH9, "matrix-run",
          "test_backward.py::test_finite_differences[plain]",
          partial(replace, scaled_dot_product_attention_backward, gradient_not_scaled),
          "You forgot the scale on the way back: what was divided stays divided."),
    other("gradient_without_row_sum", CH9, "matrix-run",
          "test_backward.py::test_score_path_is_the_jacobian_of_softmax",
          partial(replace, scaled_dot_product_attention_backward, gradient_without_row_sum),
          "You left out the row sum: what one weight gains, the others of its row lose."),
    other("gradient_not_causal", CH9, "hidden-run",
          "test_backward.py::test_finite_differences[causal]",
          partial(replace, scaled_dot_product_attention_backward, gradient_not_causal),
          "You went back without the mask: what is hidden must learn nothing."),
    # Chapter 11
    other("sums_not_rescaled", CH11, "online-agrees",
          "test_blockwise.py::test_two_blocks_by_hand",
          partial(replace, blockwise._online_softmax, sums_not_rescaled),
          "You added sums that belong to different largest scores: rescale the old ones first."),
    other("blocks_without_mask", CH11, "window-lost",
          "test_blockwise.py::test_every_option",
          partial(replace, blockwise._online_softmax, blocks_without_mask),
          "You forgot the mask in the blocks: each block needs its part of it."),
    other("cache_from_the_wrong_corner", CH11, "cache-steps",
          "test_attention_values.py::test_causal_equals_causal_mask",
          partial(plant_switches, ATTENTION, causal_edge="upper left"),
          "You counted the causal mask from the upper left: the queries are the last positions."),
    other("causal_ignored", CH11, "prefill-run",
          "test_attention_values.py::test_the_discriminating_example_with_a_causal_mask",
          partial(without, "causal"),
          "You ignored the causal mask: a prompt that is read at once needs it."),
]
# fmt: on


def right_formula(chapter):
    """The machinery with every switch right, in the whole notebook.

    Nobody must notice it, but for the cells where the formula as it is written is the mistake.
    """
    cells = json.loads((CHAPTERS / f"{chapter}.ipynb").read_text("utf-8"))["cells"]
    last = [cell["id"] for cell in cells if cell["cell_type"] == "code"][-1]
    units = dict.fromkeys(one.units[0] for one in TABLE if one.chapter == chapter)
    plant = partial(plant_switches, MISTAKEN)
    return Planted(f"right_{chapter}", chapter, last, tuple(units), plant, "Nothing changed.")


# Planted as the formula itself: it multiplies by a weight of 0, in the dtype it is given.
AS_WRITTEN = {"hidden_nan_leaks", "half_precision"}
CONTROLS = [right_formula(chapter) for chapter in sorted({one.chapter for one in TABLE})]


def plant(name):
    """Plant the mistake of this name."""
    (one,) = (one for one in TABLE + CONTROLS if one.name == name)
    one.plant()
