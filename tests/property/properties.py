"""What attention keeps whatever the numbers are.

A property is a function of the attention under test and a problem. It can therefore also be shown
to fail, for a known mistake: see test_can_fail.py.
"""

import numpy as np

from attention_utils import scaled_dot_product_attention
from tests import reference
from tests.helpers import assert_close, error_bound
from tests.property.problems import layers, long_problems, problems

PROPERTIES = {}


def holds_for(strategy):
    """Register a property together with the problems it holds for."""

    def register(check):
        PROPERTIES[check.__name__] = (check, strategy)
        return check

    return register


@holds_for(problems())
def rows_are_distributions_or_zero(attention, problem):
    output, weights, _ = problem.run(attention)
    shown = problem.shown
    assert (weights >= 0).all(), "a weight is negative"
    assert (weights[~shown] == 0).all(), "a hidden key has weight"
    assert_close(weights.sum(-1), shown.any(-1).astype(float), what="sums of the rows")
    for row, seen in zip(output, shown, strict=True):
        values = problem.value[seen] if seen.any() else np.zeros((1, problem.value.shape[-1]))
        assert (row >= values.min(0) - 1e-12).all(), "the output lies below what it read"
        assert (row <= values.max(0) + 1e-12).all(), "the output lies above what it read"


@holds_for(problems())
def a_constant_on_all_scores_of_a_query_changes_nothing(attention, problem):
    before = problem.run(attention)
    shift = 100 * problem.rng.standard_normal((problem.n_q, 1))
    after = problem.run(attention, bias=problem.options.get("bias", 0) + shift)
    assert_close(after.weights, before.weights, atol=1e-11)
    assert_close(after.output, before.output, atol=1e-10)


@holds_for(problems(options=("bias", "mask", "scale")))
def the_order_of_the_keys_does_not_matter(attention, problem):
    order = problem.rng.permutation(problem.n_k)
    before = problem.run(attention)
    options = {n: o[:, order] for n, o in problem.options.items() if n in ("bias", "mask")}
    key, value = problem.key[order], problem.value[order]
    after = problem.run(attention, key=key, value=value, **options)
    assert_close(after.output, before.output, atol=1e-12)
    assert_close(after.weights, before.weights[:, order])


@holds_for(problems(options=("bias", "mask", "scale")))
def each_query_is_answered_by_itself(attention, problem):
    order = problem.rng.permutation(problem.n_q)[: problem.n_q // 2 + 1]  # some, in any order
    before = problem.run(attention)
    options = {n: o[order] for n, o in problem.options.items() if n in ("bias", "mask")}
    after = problem.run(attention, query=problem.query[order], **options)
    assert_close(after.output, before.output[order], atol=1e-12)
    assert_close(after.weights, before.weights[order])


@holds_for(problems())
def hidden_pairs_have_no_influence(attention, problem):
    before = problem.run(attention)
    for i, seen in enumerate(problem.shown):
        for poison in (np.nan, np.inf, -np.inf, 1e300):
            key, value = problem.key.copy(), problem.value.copy()
            key[~seen] = value[~seen] = poison
            with np.errstate(all="ignore"):  # other queries may read the poison
                after = problem.run(attention, key=key, value=value)
            assert_close(after.output[i], before.output[i], atol=1e-12, what=f"query {i}, {poison}")
            assert_close(after.weights[i], before.weights[i], what=f"query {i}, {poison}")


@holds_for(problems(square=True, options=("scale",)))
def causal_rows_do_not_change_when_the_sequence_grows(attention, problem):
    whole = problem.run(attention, causal=True)
    for n in range(1, problem.n_k):
        parts = {name: getattr(problem, name)[:n] for name in ("query", "key", "value")}
        prefix = problem.run(attention, causal=True, **parts)
        assert_close(prefix.output, whole.output[:n], atol=1e-12, what=f"the first {n} positions")
        assert_close(prefix.weights, whole.weights[:n, :n])


@holds_for(problems(square=True, options=("scale",)))
def causal_queries_are_the_last_positions(attention, problem):
    whole = problem.run(attention, causal=True)
    for n in range(problem.n_q):
        cached = problem.run(attention, query=problem.query[n:], causal=True)
        assert_close(cached.output, whole.output[n:], atol=1e-12, what=f"{n} cached positions")
        assert_close(cached.weights, whole.weights[n:])


@holds_for(problems(batch=True))
def batch_axes_equal_a_loop(attention, problem):
    result = problem.run(attention)
    given = {"query": problem.query, "key": problem.key, "value": problem.value}
    given |= {name: o for name, o in problem.options.items() if name in ("bias", "mask")}
    batch = np.broadcast_shapes(*(a.shape[:-2] for a in given.values()))
    assert result.output.shape[:-2] == batch
    for name, array in given.items():
        given[name] = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    weights = np.broadcast_to(result.weights, (*batch, problem.n_q, problem.n_k))
    for place in np.ndindex(batch):
        one = problem.run(attention, **{name: array[place] for name, array in given.items()})
        assert_close(result.output[place], one.output, atol=1e-12, what=f"output {place}")
        assert_close(weights[place], one.weights, what=f"weights {place}")


@holds_for(problems(options=("bias", "mask", "causal")))
def scale_is_a_factor_on_the_dot_products(attention, problem):
    d_k = problem.query.shape[-1]
    for scale, used in [(None, d_k**-0.5), (0.25, 0.25), (-2, -2)]:
        scaled = problem.run(attention, scale=scale)
        query = problem.run(attention, query=used * problem.query, scale=1)
        assert_close(scaled.weights, query.weights, what=f"scale={scale}")
        assert_close(scaled.output, query.output, atol=1e-12, what=f"scale={scale}")


@holds_for(problems(options=("bias", "mask", "scale")))
def a_key_given_twice_is_a_bias_of_log_two(attention, problem):
    twice = [*range(problem.n_k), 0]
    options = {n: o[:, twice] for n, o in problem.options.items() if n in ("bias", "mask")}
    key, value = problem.key[twice], problem.value[twice]
    copied = problem.run(attention, key=key, value=value, **options)
    bias = np.log([2] + [1] * (problem.n_k - 1)) + problem.options.get("bias", 0)
    biased = problem.run(attention, bias=np.broadcast_to(bias, (problem.n_q, problem.n_k)))
    assert_close(copied.output, biased.output, atol=1e-12)
    merged = copied.weights[:, :-1] + copied.weights[:, -1:] * (np.arange(problem.n_k) == 0)
    assert_close(merged, biased.weights)


@holds_for(problems())
def a_mask_is_a_bias_of_minus_infinity(attention, problem):
    bias = np.where(problem.shown, problem.options.get("bias", 0), -np.inf)
    by_bias = problem.run(attention, mask=None, causal=False, bias=bias)
    for name, a, b in zip(by_bias._fields, by_bias, problem.run(attention), strict=True):
        assert_close(a, b, what=name)


@holds_for(problems(batch=True))
def the_error_is_within_the_bound(attention, problem):
    expected = problem.run(reference.attention)
    for dtype in (np.float32, np.float64):
        names = ("query", "key", "value", "bias")
        changes = {n: getattr(problem, n).astype(dtype) for n in names[:3]}
        if "bias" in problem.options:
            changes["bias"] = problem.options["bias"].astype(dtype)
        output, weights, scores = problem.run(attention, **changes)
        assert output.dtype == weights.dtype == scores.dtype == dtype
        eps, one = float(np.finfo(dtype).eps), np.ones(1)
        bound = error_bound(expected[2], problem.value, eps)
        assert_close(output.astype(float), expected[0], atol=bound, what=f"output in {dtype}")
        bound = error_bound(expected[2], one, eps)
        assert_close(weights.astype(float), expected[1], atol=bound, what=f"weights in {dtype}")


@holds_for(long_problems())
def blocks_keep_the_error_bound(blockwise, problem):
    """`blockwise` returns the output alone."""
    options = {name: o for name, o in problem.options.items() if name != "block_size"}
    given = problem.query, problem.key, problem.value
    expected, _, scores = reference.attention(*given, **options)
    for dtype in (np.float32, np.float64):
        changes = {n: getattr(problem, n).astype(dtype) for n in ("query", "key", "value")}
        if "bias" in options:
            changes["bias"] = options["bias"].astype(dtype)
        with np.errstate(all="raise"):
            output = problem.run(blockwise, **changes)
        assert output.dtype == dtype
        finite = problem.value[np.isfinite(problem.value)]
        bound = error_bound(scores, finite, float(np.finfo(dtype).eps))
        assert_close(output.astype(float), expected, atol=bound, what=f"output in {dtype}")


@holds_for(layers())
def multi_head_output_is_a_sum_over_heads(multi_head, layer):
    """`multi_head` takes a layer with its input and returns the output."""
    d_k, d_v = layer.w_q.shape[1] // layer.n_heads, layer.w_v.shape[1] // layer.n_heads
    total = 0
    for h in range(layer.n_heads):
        ask, read = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        head = scaled_dot_product_attention(
            layer.x @ layer.w_q[:, ask],
            layer.memory @ layer.w_k[:, ask],
            layer.memory @ layer.w_v[:, read],
            mask=layer.mask,
        )
        total = total + head.output @ layer.w_o[read]
    assert_close(multi_head(layer), total, atol=1e-9)
