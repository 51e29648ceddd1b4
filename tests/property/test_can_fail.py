"""Every property fails for at least one known mistake: none of them is empty."""

import numpy as np
import pytest
from hypothesis import Phase, given, reject, settings

from attention_utils import scaled_dot_product_attention
from attention_utils.mistakes import answer, attend
from tests.property.properties import PROPERTIES


def mistaken(**switches):
    """Attention with a known mistake."""

    def attention(*arrays, **options):
        with np.errstate(all="ignore"):
            return attend(*arrays, **options, **switches)

    return attention


def mistaken_heads(**switches):
    def multi_head(layer):
        with np.errstate(all="ignore"):
            return answer(layer, **switches)

    return multi_head


def half_precision(*arrays, **options):
    result = scaled_dot_product_attention(*(a.astype(np.float16) for a in arrays), **options)
    return type(result)(*(a.astype(arrays[0].dtype) for a in result))


def first_of_the_batch(query, key, value, **options):
    """Every sequence reads the values of the first one."""
    first = value[(0,) * (value.ndim - 2)]
    return scaled_dot_product_attention(query, key, np.broadcast_to(first, value.shape), **options)


def prefers_the_first_key(query, key, value, *, bias=0, **options):
    position = -np.arange(key.shape[-2]) / 4
    return scaled_dot_product_attention(query, key, value, bias=bias + position, **options)


def mistaken_blocks(
    *, total="rescaled", output="rescaled", last_block="whole", mask="used", causal_edge="its own"
):
    """An online softmax as chapter 11 builds it, one query at a time, with a known mistake."""

    def blockwise(query, key, value, *, bias=0, block_size, scale=None, **options):
        (n_q, d_k), n_k = query.shape, len(key)
        shown = np.ones((n_q, n_k), bool)
        if options["causal"]:
            shown &= np.tri(n_q, n_k, 0 if causal_edge == "upper left" else n_k - n_q, dtype=bool)
        if mask == "used":
            shown &= options.get("mask", True)
        biases = np.broadcast_to(bias, (n_q, n_k))
        rows = np.zeros((n_q, value.shape[1]), value.dtype)
        end = n_k - n_k % block_size if last_block == "forgotten" else n_k
        for i in range(n_q):
            largest, summed, row = -np.inf, value.dtype.type(0), rows[i]
            for start in range(0, end, block_size):
                keys = np.flatnonzero(shown[i, start : start + block_size]) + start
                if not len(keys):
                    continue
                factor = query.dtype.type(d_k**-0.5 if scale is None else scale)
                scores = key[keys] @ query[i] * factor + biases[i, keys]
                with np.errstate(all="ignore"):
                    higher = np.maximum(largest, scores.max())
                    shrink = np.exp(value.dtype.type(largest - higher))
                    exponentials = np.exp(scores - higher)
                    summed = summed * (shrink if total == "rescaled" else 1) + exponentials.sum()
                    row = row * (shrink if output == "rescaled" else 1) + exponentials @ value[keys]
                largest = higher
            rows[i] = row / (summed or 1)
        return rows

    return blockwise


MISTAKES = [
    ("rows_are_distributions_or_zero", mistaken(softmax_over="queries")),
    ("rows_are_distributions_or_zero", mistaken(softmax_over="the whole matrix")),
    ("rows_are_distributions_or_zero", mistaken(softmax_over="nothing")),
    ("rows_are_distributions_or_zero", mistaken(softmax_over="nothing, after exp")),
    ("rows_are_distributions_or_zero", mistaken(scale_by="after softmax")),
    ("rows_are_distributions_or_zero", mistaken(masking="after softmax")),
    ("rows_are_distributions_or_zero", mistaken(masking="ignored")),
    ("rows_are_distributions_or_zero", mistaken(masking="scores set to 0")),
    ("rows_are_distributions_or_zero", mistaken(nothing_to_read="NaN")),
    ("rows_are_distributions_or_zero", mistaken(nothing_to_read="uniform")),
    ("rows_are_distributions_or_zero", mistaken(polarity="true hides")),
    ("rows_are_distributions_or_zero", mistaken(causal_edge="upper left")),
    ("rows_are_distributions_or_zero", mistaken(causal_edge="one later")),
    ("rows_are_distributions_or_zero", mistaken(causal_edge="transposed")),
    ("a_constant_on_all_scores_of_a_query_changes_nothing", mistaken(softmax_over="queries")),
    ("a_constant_on_all_scores_of_a_query_changes_nothing", mistaken(softmax_over="nothing")),
    (
        "a_constant_on_all_scores_of_a_query_changes_nothing",
        mistaken(softmax_over="nothing, after exp"),
    ),
    ("a_constant_on_all_scores_of_a_query_changes_nothing", mistaken(masking="scores set to 0")),
    ("the_order_of_the_keys_does_not_matter", prefers_the_first_key),
    ("the_order_of_the_keys_does_not_matter", mistaken(weights_used="transposed")),
    ("each_query_is_answered_by_itself", mistaken(softmax_over="queries")),
    ("each_query_is_answered_by_itself", mistaken(softmax_over="the whole matrix")),
    ("hidden_pairs_have_no_influence", mistaken()),  # 0 * nan: attend does not protect
    ("hidden_pairs_have_no_influence", mistaken(masking="after softmax")),
    ("causal_rows_do_not_change_when_the_sequence_grows", mistaken(masking="ignored")),
    ("causal_rows_do_not_change_when_the_sequence_grows", mistaken(causal_edge="one later")),
    ("causal_rows_do_not_change_when_the_sequence_grows", mistaken(causal_edge="transposed")),
    ("causal_rows_do_not_change_when_the_sequence_grows", mistaken(masking="after softmax")),
    ("causal_rows_do_not_change_when_the_sequence_grows", mistaken(scale_by="1/sqrt(n_k)")),
    ("causal_queries_are_the_last_positions", mistaken(causal_edge="upper left")),
    ("batch_axes_equal_a_loop", first_of_the_batch),
    ("scale_is_a_factor_on_the_dot_products", mistaken(scale_by="1")),
    ("scale_is_a_factor_on_the_dot_products", mistaken(scale_by="1/d_k")),
    ("scale_is_a_factor_on_the_dot_products", mistaken(scale_by="after softmax")),
    ("scale_is_a_factor_on_the_dot_products", mistaken(scale_by="1/sqrt(d_v)")),
    ("a_key_given_twice_is_a_bias_of_log_two", mistaken(softmax_over="the largest only")),
    ("a_key_given_twice_is_a_bias_of_log_two", mistaken(softmax_over="the number of keys")),
    ("a_key_given_twice_is_a_bias_of_log_two", mistaken(scale_by="1/sqrt(n_k)")),
    ("a_mask_is_a_bias_of_minus_infinity", mistaken(polarity="true hides")),
    ("a_mask_is_a_bias_of_minus_infinity", mistaken(causal_edge="one earlier")),
    ("a_mask_is_a_bias_of_minus_infinity", mistaken(masking="ignored")),
    ("a_mask_is_a_bias_of_minus_infinity", mistaken(nothing_to_read="uniform")),
    ("the_error_is_within_the_bound", half_precision),
    ("blocks_keep_the_error_bound", mistaken_blocks(output="as it was")),
    ("blocks_keep_the_error_bound", mistaken_blocks(total="as it was")),
    ("blocks_keep_the_error_bound", mistaken_blocks(last_block="forgotten")),
    ("blocks_keep_the_error_bound", mistaken_blocks(mask="forgotten")),
    ("blocks_keep_the_error_bound", mistaken_blocks(causal_edge="upper left")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(split="one reshape")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(merge="one reshape")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(merge="averaged")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(head_order="reversed")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(output_projection="missing")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(head_axis="missing")),
    ("multi_head_output_is_a_sum_over_heads", mistaken_heads(sources="only the queries' sequence")),
]


def search(name, subject, max_examples=300):
    """Look for a problem for which the property fails; raise what it raises."""
    check, strategy = PROPERTIES[name]

    def careful(*arguments, **options):
        try:
            return subject(*arguments, **options)
        except ValueError:  # impossible with these shapes
            reject()

    @settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
    )
    @given(strategy)
    def holds(problem):
        check(careful, problem)

    holds()


@pytest.mark.parametrize(("name", "mistake"), MISTAKES)
def test_property_notices_the_mistake(name, mistake):
    with pytest.raises(AssertionError):
        search(name, mistake)


def test_every_property_has_its_mistake():
    assert {name for name, _ in MISTAKES} == set(PROPERTIES)


@pytest.mark.parametrize("name", sorted(PROPERTIES.keys() - {"hidden_pairs_have_no_influence"}))
def test_without_the_mistake_the_property_holds(name):
    kinds = {"multi": mistaken_heads, "blocks": mistaken_blocks}
    right = kinds.get(name.split("_")[0], mistaken)()
    search(name, right, max_examples=50)
