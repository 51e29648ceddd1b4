"""Reference implementations with switches, for what the notes' own `attend` does not cover.

As in `attention_utils.mistakes`: without switches a function here is right, and every keyword
named like a switch puts one thing wrong. Attention itself is `attend`; softmax, masks and heads
as students write them are here. ``SHARED`` looks up a mistake that the notes already know.
"""

from dataclasses import replace

import numpy as np

from attention_utils import mistakes
from attention_utils.mistakes import Mistake, attend

SHARED = {mistake.name: mistake for mistake in mistakes.MISTAKES}


def shared(name, switch=None, position=None, sentence=None):
    """A mistake of the notes: same name and source, maybe at a switch of this module."""
    known = SHARED[name]
    return replace(
        known,
        switch=switch or known.switch,
        position=position or known.position,
        sentence=sentence or known.sentence,
    )


# ---------------------------------------------------------------- softmax


def softmax(
    x,
    axis=-1,
    *,
    base=np.e,
    over="the axis",
    shift="row maximum",
    power="base",
    total="sum",
    empty="zeros",
):
    """``base ** x``, normalised along an axis; -inf is hidden, a row of nothing else is zero."""
    x = np.asarray(x, dtype=float)
    axis = {
        "the axis": axis,
        "queries": max(-2, -x.ndim),
        "the first axis": 0,
        "the first axis by default": 0 if axis == -1 else axis,
        "the whole matrix": None,
        "the last axis": -1,
    }[over]
    if empty == "uniform":
        x = np.where(np.isneginf(x), -1e9, x)
    with np.errstate(all="ignore"):
        top = {
            "row maximum": lambda: np.max(x, axis=axis, keepdims=True),
            "global maximum": lambda: np.max(x),
            "row minimum": lambda: np.min(x, axis=axis, keepdims=True),
            "nothing": lambda: 0.0,
        }[shift]()
        if empty == "zeros" and shift != "row minimum":
            top = np.where(np.isneginf(top), 0, top)
        number = {"base": base, "e": np.e, "2": 2.0}[power]
        raised = {
            "x": lambda: np.where(np.isneginf(x), 0, x),
            "the largest": lambda: (x == np.max(x, axis=axis, keepdims=True)) & ~np.isneginf(x),
            "the number": lambda: ~np.isneginf(x),
        }.get(total, lambda: number ** (x - top))() * 1.0
        below = np.sum(raised, axis=axis, keepdims=True)
        if total == "sum, without keepdims":
            return raised / np.sum(raised, axis=axis)
        if total == "root of the sum of squares":
            below = np.sqrt(np.sum(raised**2, axis=axis, keepdims=True))
        elif total == "nothing":
            below = 1.0
        elif total == "one plus the sum":
            below = below + 1
        if empty == "zeros":
            below = np.where(below == 0, 1, below)
        result = raised / below
        return np.log(result) if total == "sum, then the logarithm" else result


OVER_QUERIES = (
    "Your columns sum to 1, your rows do not: you normalised over the queries, which are one axis "
    "before the last."
)
FIRST_AXIS = (
    "You normalised along the first axis (axis=0): in a matrix the columns then sum to 1, not the "
    "rows. That is softmax over the queries."
)
SOFTMAX_MISTAKES = (
    shared("softmax_over_queries", "over", "queries", OVER_QUERIES),
    shared(
        "softmax_over_everything",
        "over",
        "the whole matrix",
        "All your weights together sum to 1: softmax works along one axis alone.",
    ),
    Mistake(
        "axis_ignored",
        "over",
        "the last axis",
        "Your function ignores its argument axis: it always works on the last one.",
    ),
    Mistake(
        "no_maximum",
        "shift",
        "nothing",
        "You did not subtract the maximum of the row: the power of a large score is inf, and "
        "inf / inf is NaN. "
        "It cancels in the ratio, so subtracting it changes nothing else.",
        "chapter 8 of these notes",
    ),
    Mistake(
        "maximum_of_everything",
        "shift",
        "global maximum",
        "You subtracted the maximum of the whole array. A row far below it turns into 0 / 0: "
        "subtract each row's own maximum.",
    ),
    Mistake(
        "minimum_subtracted",
        "shift",
        "row minimum",
        "You subtracted the minimum of the row: the exponents are then positive and overflow.",
    ),
    shared(
        "exp_not_normalised",
        "total",
        "nothing",
        "You raised to powers but did not divide by their sum: your rows do not sum to 1.",
    ),
    shared(
        "scores_used_as_weights",
        "total",
        "x",
        "You divided the numbers themselves by their sum: the power is missing.",
    ),
    shared(
        "hard_maximum",
        "total",
        "the largest",
        "You gave all the weight to the largest number; softmax gives every visible one a share.",
    ),
    shared(
        "uniform_weights",
        "total",
        "the number",
        "All your weights of a row are equal: they do not depend on x.",
    ),
    Mistake(
        "divided_by_length",
        "total",
        "root of the sum of squares",
        "You divided by the length of the row as a vector; its terms should sum to 1, not "
        "their squares.",
    ),
    Mistake(
        "one_added_below",
        "total",
        "one plus the sum",
        "You added 1 below the fraction, as in a sigmoid: your rows sum to less than 1.",
    ),
    Mistake(
        "logarithm_returned",
        "total",
        "sum, then the logarithm",
        "You returned the logarithm of the weights: that is log-softmax.",
    ),
    Mistake(
        "sum_without_keepdims",
        "total",
        "sum, without keepdims",
        "Your sum lost the axis (keepdims=True keeps it), so the division pairs numbers with the "
        "sums of other rows, or fails.",
    ),
    shared(
        "empty_row_nan",
        "empty",
        "NaN",
        "Where everything is -inf your weights are NaN: dividing by a sum of 0 makes that. There "
        "all weights are 0.",
    ),
    shared(
        "empty_row_uniform",
        "empty",
        "uniform",
        "Where everything is -inf your weights are equal, as a large negative number in place of "
        "-inf makes them. There all weights are 0.",
    ),
)
SOFTMAX_FORMS = (
    shared("softmax_over_queries", "over", "the first axis", FIRST_AXIS),
    shared("softmax_over_queries", "over", "the first axis by default", FIRST_AXIS),
)

# ---------------------------------------------------------------- masks


def causal_mask(
    n_q,
    n_k,
    *,
    twist=None,
    made_of="booleans",
    shape="own",
    followed="yes",
    positions="own",
    inverted="no",
    **edge,
):
    """Which keys each query may read; ``twist(visible, later)`` changes it."""
    switches = {k: v for k, v in edge.items() if k in ("causal_edge", "polarity", "masking")}
    if shape == "queries twice":
        n_k = n_q
    q, k = np.zeros((n_q, 1)), np.zeros((n_k, 1))
    visible = attend(q, k, k, causal=True, **switches).scores > -np.inf
    later = np.arange(n_k) - (np.arange(n_q)[:, None] + n_k - n_q)
    if positions != "own":
        later = {"without the offset": later + n_k - n_q, "exchanged": -later}[positions]
        visible = later <= 0
    if twist is not None and followed == "yes":
        visible = twist(visible, later)
    if inverted == "the whole rule":
        visible = ~visible
    return _made_of(visible.T if shape == "keys by queries" else visible, made_of)


CAUSAL_MISTAKES = (
    shared("causal_sees_one_ahead"),
    shared("causal_misses_itself"),
    shared("causal_transposed"),
    shared("causal_upper_left"),
    shared("mask_inverted"),
    Mistake(
        "everything_visible",
        "masking",
        "ignored",
        "Your mask hides nothing: a causal mask is False where the key comes later.",
    ),
    Mistake(
        "square_mask",
        "shape",
        "queries twice",
        "Your mask is square: it needs a row for each query and a column for each key.",
    ),
    Mistake(
        "mask_transposed",
        "shape",
        "keys by queries",
        "Your mask has a row for each key: rows belong to queries.",
    ),
    Mistake(
        "mask_of_numbers",
        "made_of",
        "ones and zeros",
        "Your mask is made of numbers; masks here are boolean (dtype bool).",
    ),
    Mistake(
        "mask_to_be_added",
        "made_of",
        "zeros and -inf",
        "You made the mask that is added to scores (0 and -inf); a boolean one is asked for.",
    ),
)
CAUSAL_FORMS = (
    shared("mask_inverted", "inverted", "the whole rule"),
    shared("causal_upper_left", "positions", "without the offset"),
    shared("causal_transposed", "positions", "exchanged"),
)


def padding_mask(
    lengths,
    n_k,
    *,
    front=False,
    edge="own",
    polarity="true reads",
    end="own",
    axis="of keys",
    one_length="own",
    made_of="booleans",
):
    """Real keys, shape (..., 1, n_k): the first ``length``, or the last ones with ``front``."""
    lengths = np.asarray(lengths)[..., None]
    lengths = lengths + {"own": 0, "one more": 1, "one fewer": -1}[edge]
    if one_length == "longest":
        lengths = np.full_like(lengths, lengths.max())
    elif one_length == "first":
        lengths = np.full_like(lengths, lengths.ravel()[0])
    keys = np.arange(n_k)
    real = keys >= n_k - lengths if front != (end == "other") else keys < lengths
    real = ~real if polarity == "true hides" else real
    shaped = {
        "of keys": lambda: real[..., None, :],
        "missing": lambda: real,
        "of queries": lambda: real[..., :, None],
        "square": lambda: real[..., :, None] & real[..., None, :],
    }[axis]()
    return _made_of(shaped, made_of)


PADDING_MISTAKES = (
    shared("mask_inverted"),
    shared("padding_hides_queries", "axis", "of queries"),
    Mistake(
        "no_query_axis",
        "axis",
        "missing",
        "Your mask has no axis for the queries: (batch, n_k) would meet the scores as "
        "(n_q, n_k). Its shape is (..., 1, n_k).",
    ),
    Mistake(
        "queries_hidden_too",
        "axis",
        "square",
        "You hid the rows of padded queries as well as the columns of padded keys; padding "
        "hides keys.",
    ),
    Mistake(
        "one_token_too_many",
        "edge",
        "one more",
        "You are off by one: key number `length`, counted from 0, is padding already.",
    ),
    Mistake(
        "one_token_too_few",
        "edge",
        "one fewer",
        "You are off by one: you hid the last real token of each sequence.",
    ),
    Mistake("wrong_end", "end", "other", "You put the padding at the wrong end of the sequence."),
    Mistake(
        "longest_for_all",
        "one_length",
        "longest",
        "You used the longest length for every sequence of the batch.",
    ),
    Mistake(
        "first_for_all",
        "one_length",
        "first",
        "You used the length of the first sequence for the whole batch.",
    ),
    Mistake(
        "mask_of_numbers",
        "made_of",
        "ones and zeros",
        "Your mask is made of numbers; masks here are boolean (dtype bool).",
    ),
    Mistake(
        "mask_to_be_added",
        "made_of",
        "zeros and -inf",
        "You made the mask that is added to scores (0 and -inf); a boolean one is asked for.",
    ),
)


def _made_of(visible, what):
    if what == "ones and zeros":
        return visible.astype(float)
    if what == "zeros and -inf":
        return np.where(visible, 0, -np.inf)
    return visible


# ---------------------------------------------------------------- one head


def attention(
    query,
    key,
    value,
    mask=None,
    *,
    base=np.e,
    twist=None,
    followed="yes",
    axes="last two",
    read="values",
    compared="as they are",
    returns="both",
    power="base",
    bonus="after the scale",
    inverted="no",
    over="the keys",
    **switches,
):
    """(output, weights) of `attend`; ``twist(key, n_q)`` may give another key, a bias, a mask."""
    if axes == "all reversed" and np.ndim(key) > 2:
        raise ValueError("matmul: shapes do not fit")
    if axes == "key by query":
        if np.shape(query) != np.shape(key):
            raise ValueError("shapes do not fit")
        query, key = key, query
    bias, extra = None, None
    if compared == "unit length":
        query, key = (a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (query, key))
    compared_key = key
    if twist is not None and followed == "yes":
        compared_key, bias, extra = twist(key, np.shape(query)[-2])
    if bias is not None and bonus == "before the scale":
        bias = bias / np.sqrt(np.shape(query)[-1])
    if mask is not None and inverted == "the given mask":
        mask = ~np.asarray(mask)
    if extra is not None:
        mask = extra if mask is None else mask & extra
    plain = switches.get("softmax_over") == "nothing" or power == "e"
    factor = 1.0 if plain else np.log(base)
    result = attend(
        query * factor,
        compared_key,
        key if read == "keys" else value,
        bias=None if bias is None else bias * factor,
        mask=mask,
        **switches,
    )
    if over == "the first axis":
        weights = softmax(result.scores, axis=0)
        result = result._replace(output=weights @ value, weights=weights)
    both = {
        "both": (result.output, result.weights),
        "weights first": (result.weights, result.output),
        "output alone": result.output,
        "scores for weights": (result.output, result.scores / factor),
    }
    return both[returns]


HEAD_MISTAKES = (
    *(
        shared(name)
        for name in (
            "no_scale",
            "divided_by_d_k",
            "scaled_by_value_width",
            "scaled_by_number_of_keys",
            "multiplied_by_root",
            "scaled_after_softmax",
            "softmax_over_queries",
            "softmax_over_everything",
            "scores_used_as_weights",
            "exp_not_normalised",
            "hard_maximum",
            "uniform_weights",
            "weights_transposed",
            "mask_ignored",
            "masked_after_softmax",
            "hidden_scores_zero",
            "mask_inverted",
            "empty_row_nan",
            "empty_row_uniform",
        )
    ),
    Mistake(
        "all_axes_reversed",
        "axes",
        "all reversed",
        "key.T reverses all axes, so a batch breaks it. Exchange the last two: "
        "np.swapaxes(key, -1, -2).",
    ),
    Mistake(
        "keys_ask",
        "axes",
        "key by query",
        "You multiplied K by Q transposed: your rows belong to keys. Rows belong to queries.",
        "a published exercise check accepts it",
    ),
    Mistake(
        "keys_read",
        "read",
        "keys",
        "You applied the weights to the keys; what is read are the values.",
    ),
    Mistake(
        "cosine_compared",
        "compared",
        "unit length",
        "You compared directions only (cosine): the dot product also counts the lengths.",
    ),
    Mistake(
        "weights_returned_first",
        "returns",
        "weights first",
        "You returned (weights, output); the task asks for (output, weights).",
    ),
    Mistake(
        "output_alone",
        "returns",
        "output alone",
        "You returned the output alone; the task asks for (output, weights).",
    ),
    Mistake(
        "scores_returned",
        "returns",
        "scores for weights",
        "You returned the scores where the weights are asked for: softmax makes weights of scores.",
        "datawhalechina/happy-llm, issue 161 (scores and weights confused in words)",
    ),
)

HEAD_FORMS = (
    shared("softmax_over_queries", "over", "the first axis", FIRST_AXIS),
    shared("mask_inverted", "inverted", "the given mask"),
)

# ---------------------------------------------------------------- several heads


def split_heads(x, n_heads, *, like="blocks", split="right"):
    """(..., n, h * d) -> (..., h, n, d); ``like`` says which features belong to which head."""
    x = np.asarray(x)
    *batch, n, width = x.shape
    d = width // n_heads
    blocks = np.moveaxis(x.reshape(*batch, n, n_heads, d), -2, -3)
    return {
        "blocks": lambda: blocks,
        "interleaved": lambda: np.moveaxis(x.reshape(*batch, n, d, n_heads), -1, -3),
        "reversed": lambda: blocks[..., ::-1, :, :],
        "one reshape": lambda: x.reshape(*batch, n_heads, n, d),
        "axis not moved": lambda: x.reshape(*batch, n, n_heads, d),
        "features before positions": lambda: np.swapaxes(blocks, -1, -2),
        "not cut": lambda: np.stack([x] * n_heads, axis=-3),
        "batch flattened": lambda: blocks.reshape(-1, n, d),
    }[like if split == "right" else split]()


def merge_heads(x, *, like="blocks", merge="right"):
    """(..., h, n, d) -> (..., n, h * d), the way back."""
    x = np.asarray(x)
    *batch, h, n, d = x.shape
    blocks = np.moveaxis(x, -3, -2).reshape(*batch, n, h * d)
    return {
        "blocks": lambda: blocks,
        "interleaved": lambda: np.moveaxis(x, -3, -1).reshape(*batch, n, h * d),
        "reversed": lambda: np.moveaxis(x[..., ::-1, :, :], -3, -2).reshape(*batch, n, h * d),
        "one reshape": lambda: x.reshape(*batch, n, h * d),
        "averaged": lambda: x.mean(axis=-3),
        "summed": lambda: x.sum(axis=-3),
        "axis not joined": lambda: np.moveaxis(x, -3, -2),
        "along positions": lambda: x.reshape(*batch, h * n, d),
    }[like if merge == "right" else merge]()


def multi_head(
    x,
    memory,
    w_q,
    w_k,
    w_v,
    w_o,
    n_heads,
    mask=None,
    *,
    like="blocks",
    twist=None,
    followed="yes",
    sources="own",
    projections="own",
    split="right",
    merge="right",
    head_axis="inserted",
    heads="all",
    output_projection="applied",
    **switches,
):
    """Multi-head attention; ``twist.before`` and ``twist.after`` may change heads and output."""
    if sources == "swapped":
        x, memory = memory, x
    read = x if sources == "only the queries' sequence" else memory
    if projections == "swapped":
        w_q, w_k = w_k, w_q
    elif projections == "keys with the queries' matrix":
        w_k = w_q
    values = x if sources == "values from the queries' sequence" else read
    h = 1 if heads == "one" else n_heads
    query, key, value = (
        split_heads(rows @ w, h, like=like, split=split)
        for rows, w in ((x, w_q), (read, w_k), (values, w_v))
    )
    if mask is not None and head_axis == "inserted":
        mask = np.asarray(mask)[..., None, :, :]
    made = attend(query, key, value, mask=mask, **switches)
    outputs = made.output
    if heads == "with one map":
        outputs = made.weights.mean(axis=-3, keepdims=True) @ value
    elif heads == "the first":
        outputs = np.where(np.arange(h)[:, None, None] == 0, outputs, 0)
    if twist is not None and followed == "yes":
        outputs = twist.before(outputs)
    merged = merge_heads(outputs, like=like, merge=merge)
    output = merged if output_projection == "missing" else merged @ w_o
    return twist.after(output, x) if twist is not None and followed == "yes" else output


SPLIT_MISTAKES = (
    shared("heads_by_one_reshape"),
    Mistake(
        "head_axis_not_moved",
        "split",
        "axis not moved",
        "You cut the features but left the head axis behind the positions: move it in front.",
    ),
    Mistake(
        "features_before_positions",
        "split",
        "features before positions",
        "Each of your heads is transposed: rows are positions, columns are features.",
    ),
    Mistake(
        "heads_not_cut",
        "split",
        "not cut",
        "You gave every head the whole width; a head gets its own part of the features.",
    ),
    Mistake(
        "batch_flattened",
        "split",
        "batch flattened",
        "You merged the batch axes with the head axis: keep (..., heads, positions, features).",
    ),
)

MERGE_MISTAKES = (
    shared("merged_by_one_reshape"),
    shared("heads_averaged"),
    Mistake(
        "heads_summed",
        "merge",
        "summed",
        "You added the heads up; they are put side by side, and W_O adds up what each writes.",
    ),
    Mistake(
        "heads_not_joined",
        "merge",
        "axis not joined",
        "You moved the head axis but did not join it with the features.",
    ),
    Mistake(
        "joined_along_positions",
        "merge",
        "along positions",
        "You put the heads below one another, as more positions; they go side by side.",
    ),
)

MULTI_HEAD_MISTAKES = (
    *(
        shared(name)
        for name in (
            "no_output_projection",
            "mask_without_head_axis",
            "mask_ignored",
            "mask_inverted",
            "swapped_q_and_k",
            "one_matrix_for_q_and_k",
            "cross_sources_swapped",
            "cross_reads_itself",
            "heads_by_one_reshape",
            "merged_by_one_reshape",
            "heads_averaged",
        )
    ),
    Mistake(
        "values_from_the_queries",
        "sources",
        "values from the queries' sequence",
        "You took the values from x: keys and values both come from the memory.",
    ),
    Mistake(
        "a_single_head",
        "heads",
        "one",
        "You ran one wide head: cut queries, keys and values into heads first.",
    ),
    Mistake(
        "one_map_for_all",
        "heads",
        "with one map",
        "You averaged the maps of the heads: each head uses its own weights.",
    ),
    Mistake(
        "only_the_first_head",
        "heads",
        "the first",
        "Only the first head arrives in your output; all of them are joined.",
    ),
)
