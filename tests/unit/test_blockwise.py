"""Block by block the output is that of the ordinary function, and the memory stays small."""

import tracemalloc
import warnings
from math import inf, nan

import numpy as np
import pytest

from attention_utils import (
    additive_mask,
    blockwise_attention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from tests import reference
from tests.helpers import (
    OPTIONS,
    assert_close,
    error_bound,
    example,
    mask_of,
    normal,
    refuses,
)
from tests.unit.test_attention_errors import GOOD
from tests.unit.test_batch_axes import BATCHES
from tests.unit.test_dtypes import FLOATS
from tests.unit.test_hidden_pairs import POISONS, WAYS
from tests.unit.test_quiet import MAGNITUDES, SIZES

N_Q, N_K = 7, 11  # no multiples of the block sizes
BLOCKS = [1, 2, 3, 5, 100, None]

in_blocks_of = pytest.mark.parametrize("block_size", BLOCKS)


def answer_and_warning(attend, arrays, options):
    """The output, and whether NumPy complained."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output = attend(*arrays, **options)
    return output, bool(caught)


def assert_as_the_ordinary_function(arrays, options, *, block_size=None, atol=1e-13):
    def ordinary(*arrays, **options):
        return scaled_dot_product_attention(*arrays, **options).output

    expected, warned = answer_and_warning(ordinary, arrays, options)
    options = options | {"block_size": block_size}
    output, warns = answer_and_warning(blockwise_attention, arrays, options)
    assert output.dtype == expected.dtype
    assert output.shape == expected.shape
    np.testing.assert_allclose(output, expected, rtol=1e-14, atol=atol)
    assert warns == warned


# The same output


def test_two_blocks_by_hand():
    # weights 1/6, 2/6 and 3/6; the second block brings the larger score
    output = blockwise_attention(
        [[1]], np.log([[1], [2], [3]]), [[6], [12], [0]], scale=1, block_size=2
    )
    assert_close(output, [[5]])


@in_blocks_of
@pytest.mark.parametrize("name", OPTIONS)
def test_every_option(name, block_size):
    arrays, options = example(n_q=N_Q, n_k=N_K), OPTIONS[name](N_Q, N_K)
    expected = reference.attention(*arrays, **options)[0]
    assert_close(blockwise_attention(*arrays, **options, block_size=block_size), expected)


@in_blocks_of
@pytest.mark.parametrize(("n_q", "n_k"), [(11, 7), (7, 11), (1, 9), (9, 1), (6, 6)])
def test_causal_queries_are_the_last_positions(n_q, n_k, block_size):
    arrays = example(n_q=n_q, n_k=n_k)
    expected = reference.attention(*arrays, mask=causal_mask(n_q, n_k))[0]
    assert_close(blockwise_attention(*arrays, causal=True, block_size=block_size), expected)


@pytest.mark.parametrize("block_size", [1, 2, None])
@pytest.mark.parametrize(("query", "key", "value", "bias", "mask"), BATCHES)
def test_batch_axes_broadcast(query, key, value, bias, mask, block_size):
    options = {"causal": True}
    if bias is not None:
        options["bias"] = normal(*bias, 3, 5, seed=8)
    if mask is not None:
        options["mask"] = normal(*mask, 3, 5, seed=9) > -0.5
    arrays = normal(*query, 3, 7, seed=1), normal(*key, 5, 7, seed=2), normal(*value, 5, 11, seed=3)
    assert_as_the_ordinary_function(arrays, options, block_size=block_size)


@pytest.mark.parametrize("n", [255, 256, 257, 1025])
@pytest.mark.parametrize("causal", [False, True])
def test_around_the_edges_of_the_usual_blocks(n, causal):
    query, key, value = example((2,), n_q=n, n_k=n + 3, d_k=2, d_v=1)
    options = {"causal": causal, "mask": mask_of(n, n + 3)}
    assert_as_the_ordinary_function((query, key, value), options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_input_keeps_its_dtype_and_precision(dtype):
    arrays = example(n_q=N_Q, n_k=N_K, dtype=dtype)
    bias = normal(N_Q, N_K, seed=7, dtype=dtype)
    output = blockwise_attention(*arrays, bias=bias, causal=True, block_size=3)
    assert output.dtype == dtype
    expected, _, scores = reference.attention(*arrays, bias=bias, causal=True)
    bound = error_bound(scores, arrays[2].astype(float), float(np.finfo(dtype).eps))
    assert_close(output.astype(float), expected, atol=bound + 1e-15)


@pytest.mark.parametrize(
    "dtypes",
    [
        (np.float32, np.float64, np.float32, np.float32),
        (np.float32, np.float32, np.float32, np.float64),
        (np.float16, np.float16, np.float16, np.int8),
        (np.float32, np.float16, np.float16, np.longdouble),
        (bool, np.int64, np.uint8, bool),
    ],
)
def test_mixed_dtypes_follow_the_ordinary_function(dtypes):
    given = (*example(), normal(3, 5))
    *arrays, bias = (np.abs(10 * a).astype(d) for a, d in zip(given, dtypes, strict=True))
    assert_as_the_ordinary_function(arrays, {"bias": bias}, block_size=2, atol=1e-6)


def test_float16_scores_beyond_its_range():
    query = np.array([[300]], np.float16)
    key = np.array([[300], [600], [600], [-600]], np.float16)
    value = np.array([[1], [2], [4], [8]], np.float16)
    with np.errstate(all="raise"):
        output = blockwise_attention(query, key, value, block_size=1)
    assert_close(output, np.float16([[3]]), atol=0)


# Hidden, and not finite


@pytest.mark.parametrize("block_size", [1, 2, None])
@pytest.mark.parametrize("feature", [0, slice(None)])
@pytest.mark.parametrize("poison", POISONS)
@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("where", ["key", "value", "both"])
def test_poison_spoils_only_those_who_read_it(where, options, poison, feature, block_size):
    query, key, value = example((2,))
    if where != "value":
        key[0, 4, feature] = poison
    if where != "key":
        value[0, 4, feature] = poison
    # 0 and 1 may not read it, 2 may
    assert_as_the_ordinary_function((query, key, value), options, block_size=block_size, atol=1e-12)


@in_blocks_of
@pytest.mark.parametrize("poison", POISONS)
def test_a_query_with_nothing_to_read_gives_zeros(poison, block_size):
    query, key, value = example(n_q=5, n_k=3)  # causal: queries 0 and 1 come before every key
    query[0] = key[2, 0] = value[2, 0] = poison  # visible to query 4 only
    for options in (
        {"causal": True},
        {"mask": causal_mask(5, 3)},
        {"bias": additive_mask(causal_mask(5, 3))},
    ):
        with np.errstate(over="ignore", invalid="ignore"):
            output = blockwise_attention(query, key, value, **options, block_size=block_size)
        assert_close(output[:2], np.zeros((2, 11)), atol=0)
        assert np.isfinite(output[2:4]).all()


@pytest.mark.parametrize("block_size", [1, 2, None])
@pytest.mark.parametrize("where", ["query", "key", "value", "bias"])
@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_is_visible_and_not_finite(where, number, block_size):
    arrays = dict(zip(("query", "key", "value"), example(), strict=True))
    arrays["bias"] = np.zeros((3, 5))
    arrays[where][1, 2] = number
    bias = arrays.pop("bias")
    assert_as_the_ordinary_function(arrays.values(), {"bias": bias}, block_size=block_size)


@pytest.mark.filterwarnings("ignore:invalid:RuntimeWarning")
def test_opposite_infinities_in_a_column_give_nan():
    query, key, value = example()
    value[0, 6], value[3, 6] = inf, -inf
    assert_as_the_ordinary_function((query, key, value), {}, block_size=2)


def test_a_weight_too_small_for_the_dtype_still_reads_its_nan():
    output = blockwise_attention(
        [[1.0]], [[0.0], [-2000.0]], [[1.0, 2.0], [nan, 3.0]], scale=1, block_size=1
    )
    assert_close(output, [[nan, 2]], atol=0)


def test_a_bias_that_is_not_finite_has_no_influence_where_the_mask_hides():
    shown = causal_mask(3, 5)
    bias = np.where(shown, 0.0, nan)
    assert_as_the_ordinary_function(example(), {"mask": shown, "bias": bias}, block_size=2)


# Quiet


@pytest.mark.parametrize("block_size", [1, 2, None])
@pytest.mark.parametrize(("n_q", "n_k"), SIZES)
@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("causal", [False, True])
def test_valid_input_raises_no_flag(n_q, n_k, magnitude, causal, block_size):
    query, key, value = (magnitude * a for a in example((2,), n_q=n_q, n_k=n_k))
    mask = padding_mask([min(2, n_k), 0], n_k)
    with np.errstate(all="raise"):
        output = blockwise_attention(
            query, key, value, mask=mask, causal=causal, block_size=block_size
        )
    assert output.shape == (2, n_q, 11)
    assert np.isfinite(output).all()


def test_a_key_hidden_from_everyone_may_hold_anything():
    query, key, value = example((2,))
    shown = np.array([True, True, False, True, True])
    expected = blockwise_attention(query, key[:, shown], value[:, shown])
    for poison in POISONS:
        key[:, 2] = value[:, 2] = poison
        with np.errstate(all="raise"):
            output = blockwise_attention(query, key, value, mask=shown, block_size=2)
        assert_close(output, expected)


def test_no_input_is_modified_and_the_result_is_new():
    arrays = dict(zip(("query", "key", "value"), example((2,)), strict=True))
    arrays["bias"], arrays["mask"] = normal(3, 5), normal(3, 5, seed=1) > -1
    arrays["key"][0, 0], arrays["value"][0, 0] = nan, inf
    arrays["mask"][:, 0] = False
    before = {name: a.copy() for name, a in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    output = blockwise_attention(**arrays, causal=True, block_size=2)
    assert output.flags.writeable
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


# What it costs


def peak_memory(*arrays, **options):
    """Most bytes in use at once during the call, the output among them; and the output."""
    tracemalloc.start()
    try:
        output = blockwise_attention(*arrays, **options)
        return tracemalloc.get_traced_memory()[1], output
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("causal", [False, True])
def test_memory_of_a_long_sequence(causal):
    """All weights would be 2048 MiB."""
    n = 8192
    arrays = example((8,), n_q=n, n_k=n, d_k=64, d_v=64, dtype=np.float32)
    peak, output = peak_memory(*arrays, causal=causal)
    assert peak <= 80 * 2**20
    some = [0, 1, 4095, n - 1]
    query, key, value = (a[5] for a in arrays)
    mask = causal_mask(n)[some] if causal else None
    expected = scaled_dot_product_attention(query[some], key, value, mask=mask).output
    assert_close(output[5][some], expected, atol=1e-5)


def test_broadcast_mask_and_bias_are_not_written_out():
    """Written out, the mask would be 128 MiB and the bias 512 MiB."""
    shape = 8, 4096, 4096
    arrays = example((8,), n_q=shape[1], n_k=shape[2], d_k=2, d_v=2, dtype=np.float32)
    mask = np.broadcast_to(normal(shape[2]) > 0, shape)
    bias = np.broadcast_to(normal(shape[1], 1, dtype=np.float16), shape)  # another dtype
    peak, _ = peak_memory(*arrays, mask=mask, bias=bias)
    assert peak <= 40 * 2**20


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        ({}, 64),
        ({"causal": True}, 36),  # the diagonal and what lies below it
        ({"mask": causal_mask(64)}, 36),
        ({"mask": np.abs(np.subtract.outer(range(64), range(64))) < 8}, 22),  # a window
        ({"mask": np.zeros((64, 64), bool)}, 0),
    ],
)
def test_a_block_that_nobody_may_read_is_left_out(monkeypatch, options, blocks):
    sizes = []

    def exp(x, out=None, right=np.exp):
        if out is not None:
            sizes.append(x.size)
        return right(x, out=out)

    arrays = example(n_q=64, n_k=64)
    expected = scaled_dot_product_attention(*arrays, **options).output
    monkeypatch.setattr(np, "exp", exp)
    output = blockwise_attention(*arrays, **options, block_size=8)
    assert sizes == [64] * blocks
    assert_close(output, expected)


# Errors: those of all attention are in test_attention_errors.py


@pytest.mark.parametrize("block_size", [0, -1, 2.0, True, "2", [2]])
def test_block_size_must_be_a_positive_integer(block_size):
    with refuses("block_size", repr(block_size)):
        blockwise_attention(**GOOD, block_size=block_size)


def test_the_batch_of_a_value_must_fit_that_of_the_mask():
    arrays = GOOD | {"value": np.ones((4, 5, 11)), "mask": np.ones((2, 3, 5), bool)}
    with refuses("batch", "value", "mask"):
        blockwise_attention(**arrays)


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        blockwise_attention(*GOOD.values(), np.zeros((3, 5)))
