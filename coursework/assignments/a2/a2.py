"""A2, Many heads, three sites: checks, inputs, mistakes, twists."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from attention_utils.mistakes import Mistake
from coursework import known
from coursework.known import shared
from coursework.model import Check, Question, Written

FORGOTTEN = "as_in_the_book"


def build(course):
    """Everything about A2 that is not text."""
    cut = course.choose("cut", CUTS)
    twist = course.choose("several", SEVERAL)
    encoder = course.choose("encoder", ENCODER)
    decoder = course.choose("decoder", decoder_sites(course.size("window", 2, 3)))
    cross = course.choose("cross", cross_sites(course.size("prefix", 4, 5)))
    count = course.choose("count", COUNTS)
    split, merge = heads_questions(course, cut)
    several = several_question(course, cut, twist)
    sites = site_questions(course, several.known, encoder, decoder, cross)
    return {
        "questions": (split, merge, several, *sites, count_question(course, count)),
        "written": (
            Written(
                "several_heads",
                4,
                "1 for: one head has one distribution a query and blends what it reads; 1 for: "
                "heads look from different projections, so they can read different places at once; "
                "1 for: the width is shared, so the projections cost the same; 1 for: W_O mixes "
                "what the heads wrote, without it each head could write to its own features only.",
            ),
        ),
        "values": {
            "cut_rule": cut.rule,
            "split_code": cut.split,
            "merge_code": cut.merge,
            "split_expected": literal(split.known(EXAMPLE, 2)),
            "several_rule": twist.rule,
            "several_before": twist.code_before,
            "several_after": twist.code_after,
            "encoder_rule": encoder.rule,
            "encoder_code": encoder.code,
            "decoder_rule": decoder.rule,
            "decoder_code": decoder.code,
            "cross_rule": cross.rule,
            "cross_code": cross.code,
            "count_rule": count.rule,
            "count_code": count.code,
            "count_expected": count.formula(6, 2, 3, 4),
        },
    }


def literal(array):
    """An array as Python source."""
    return repr(np.asarray(array).tolist())


# ---------------------------------------------------------------- cutting and joining

EXAMPLE = np.arange(12).reshape(3, 4)


@dataclass(frozen=True)
class Cut:
    """Which features belong to which head."""

    like: str
    rule: str
    split: str
    merge: str


CUTS = (
    Cut(
        "blocks",
        "Head $i$ takes the features from $i \\cdot d$ to $(i + 1) \\cdot d - 1$: neighbours stay "
        "together.",
        "    return np.swapaxes(x.reshape(*batch, n, n_heads, width // n_heads), -2, -3)",
        "    return np.swapaxes(x, -2, -3).reshape(*batch, n, h * d)",
    ),
    Cut(
        "interleaved",
        "**In this course the features are dealt out like cards**: of $h$ heads, head $i$ takes "
        "the features $i$, $i + h$, $i + 2h$ and so on.",
        "    return np.moveaxis(x.reshape(*batch, n, width // n_heads, n_heads), -1, -3)",
        "    return np.moveaxis(x, -3, -1).reshape(*batch, n, h * d)",
    ),
    Cut(
        "reversed",
        "**In this course the heads are counted from the end**: head 0 takes the last block of $d$ "
        "features, the last head takes the first.",
        "    blocks = np.swapaxes(x.reshape(*batch, n, n_heads, width // n_heads), -2, -3)\n"
        "    return blocks[..., ::-1, :, :]",
        "    return np.swapaxes(x[..., ::-1, :, :], -2, -3).reshape(*batch, n, h * d)",
    ),
)


def heads_questions(course, cut):
    """split_heads and merge_heads, on every number of axes."""
    h, d = course.size("h", 2, 3), 3

    def other_cuts(switch, say):
        return tuple(
            Mistake(FORGOTTEN if like == "blocks" else f"heads_{like}", switch, like, say[like])
            for like in ("blocks", "interleaved", "reversed")
            if like != cut.like
        )

    return (
        Question(
            "split_heads",
            partial(known.split_heads, like=cut.like),
            (
                Check(
                    "one sequence",
                    1,
                    (course.whole("split", 5, h * d, low=-9, high=10), h),
                    hint="Cut the last axis into heads and features, then move the head axis.",
                ),
                Check(
                    "batch",
                    2,
                    (course.whole("split batch", 2, 5, h * d, low=-9, high=10), h),
                    hint="Axes in front of positions and features stay where they are.",
                ),
            ),
            known.SPLIT_MISTAKES
            + other_cuts(
                "split",
                {
                    "blocks": "You gave each head a block of neighbours, as in the book; here the "
                    "features are dealt out as the task says.",
                    "interleaved": "You dealt the features out one by one; a head takes those "
                    "that the task says.",
                    "reversed": "Your heads are in reverse order.",
                },
            ),
        ),
        Question(
            "merge_heads",
            partial(known.merge_heads, like=cut.like),
            (
                Check(
                    "one sequence",
                    1,
                    (course.whole("merge", h, 5, d, low=-9, high=10),),
                    hint="Move the head axis back, then join it with the features.",
                ),
                Check(
                    "batch",
                    2,
                    (course.whole("merge batch", 2, h, 5, d, low=-9, high=10),),
                    hint="merge_heads must undo split_heads, for a batch too.",
                ),
            ),
            known.MERGE_MISTAKES
            + other_cuts(
                "merge",
                {
                    "blocks": "You put the heads side by side in blocks, as in the book; here each "
                    "feature goes back to where split_heads took it from.",
                    "interleaved": "You mixed the heads one feature at a time; each goes back to "
                    "where split_heads took it from.",
                    "reversed": "You joined the heads in reverse order.",
                },
            ),
        ),
    )


# ---------------------------------------------------------------- several heads


@dataclass(frozen=True)
class Several:
    """What a course adds to multi-head attention."""

    rule: str = ""
    code_before: str = ""
    code_after: str = "    return merge_heads(heads) @ w_o"
    before: object = staticmethod(lambda heads: heads)
    after: object = staticmethod(lambda output, x: output)
    forgotten: str = ""


def _gain(heads):
    h = heads.shape[-3]
    return heads * ((np.arange(h) + 1) / h)[:, None, None]


SEVERAL = (
    Several(),
    Several(
        "**Before the heads are joined, the output of head $i$ (counted from 0) is multiplied by "
        "$(i + 1) / h$.**",
        "    heads = heads * ((np.arange(n_heads) + 1) / n_heads)[:, None, None]\n",
        before=_gain,
        forgotten="You left out the factor that each head gets in this course.",
    ),
    Several(
        "**The result is added to `x`** (a residual connection).",
        code_after="    return x + merge_heads(heads) @ w_o",
        after=lambda output, x: output + x,
        forgotten="You left out the residual connection: the result is added to x.",
    ),
)


def weights(course, purpose, d_model, h, d_k, d_v, d_memory=None):
    """Projections with two decimals."""
    shapes = (
        (d_model, h * d_k),
        (d_memory or d_model, h * d_k),
        (d_memory or d_model, h * d_v),
        (h * d_v, d_model),
    )
    return tuple(course.numbers(f"{purpose} {i}", *shape) for i, shape in enumerate(shapes))


def several_question(course, cut, twist):
    """multi_head: self, cross, masked."""
    d = 6
    x = course.numbers("x", 4, d)
    same = weights(course, "same", d, 2, 3, 3)
    batch = course.numbers("batch x", 2, 3, d)
    read = course.numbers("batch memory", 2, 5, d)
    mask = np.array([[[True, True, True, False, False]], [[True, False, True, True, True]]])
    causal = np.tri(4, 4, dtype=bool)
    forgotten = (Mistake(FORGOTTEN, "followed", "no", twist.forgotten),) if twist.forgotten else ()
    return Question(
        "multi_head",
        partial(known.multi_head, like=cut.like, twist=twist),
        (
            Check(
                "one head",
                2,
                (x, x, *weights(course, "one", d, 1, 4, 5), 1),
                hint="With one head this is attention between the projections, times W_O.",
            ),
            Check(
                "two heads",
                2,
                (x, x, *same, 2),
                hint="Project, cut into heads, attend, join, times W_O.",
            ),
            Check(
                "memory",
                2,
                (x, course.numbers("memory", 3, d), *same, 2),
                hint="Queries come from x, keys and values from memory.",
            ),
            Check("mask", 1, (x, x, *same, 2, causal), hint="Every head uses the same mask."),
            Check(
                "batch with mask",
                1,
                (batch, read, *same, 2, mask),
                hint="The mask needs an axis for the heads: mask[..., None, :, :].",
            ),
        ),
        known.MULTI_HEAD_MISTAKES + forgotten,
        given=("split_heads", "merge_heads"),
    )


# ---------------------------------------------------------------- three sites


@dataclass(frozen=True)
class Site:
    """What a course changes about who may read whom: ``change(mask, n_q, n_k)``."""

    rule: str = ""
    code: str = ""
    change: object = None
    forgotten: str = ""

    def mask(self, followed, mask, n_q, n_k, inverted="no"):
        """The mask as this course wants it."""
        mask = np.broadcast_to(mask, (*mask.shape[:-2], n_q, n_k))
        mask = self.change(mask, n_q, n_k) if self.change and followed == "yes" else mask
        return mask if inverted == "no" else ~mask

    def mistakes(self):
        """The mistake of having done what the book does."""
        found = Mistake(FORGOTTEN, "followed", "no", self.forgotten)
        return (found,) if self.forgotten else ()


def _later(n_q, n_k):
    return np.arange(n_k) - np.arange(n_q)[:, None]


ENCODER = (
    Site(),
    Site(
        "**No position may read itself.**",
        "    real = real & ~np.eye(x.shape[-2], dtype=bool)\n",
        lambda mask, n_q, n_k: mask & (_later(n_q, n_k) != 0),
        "You let positions read themselves, as in the book; in this course they may not.",
    ),
    Site(
        "**A position may read only itself and positions at most 2 places away.**",
        "    away = np.abs(np.arange(x.shape[-2]) - np.arange(x.shape[-2])[:, None])\n"
        "    real = real & (away <= 2)\n",
        lambda mask, n_q, n_k: mask & (abs(_later(n_q, n_k)) <= 2),
        "You let positions read the whole sequence, as in the book; here only 2 places away.",
    ),
)


def decoder_sites(window):
    """The book's decoder, or one with a window."""
    return (
        Site(),
        Site(
            f"**A position may read only the last {window} of these** (its own counts).",
            f"    later = np.arange(n) - np.arange(n)[:, None]\n    earlier &= later > -{window}\n",
            lambda mask, n_q, n_k: mask & (_later(n_q, n_k) > -window),
            f"You let positions read everything before them; here only the last {window}.",
        ),
    )


def cross_sites(prefix):
    """The book's cross-attention, or one that reads the beginning of the memory only."""
    return (
        Site(),
        Site(
            f"**Only the first {prefix} positions of the memory may be read.**",
            f"    real = real & (np.arange(memory.shape[-2]) < {prefix})\n",
            lambda mask, n_q, n_k: mask & (np.arange(n_k) < prefix),
            f"You read the whole memory; in this course only its first {prefix} positions.",
        ),
    )


def site_questions(course, several, encoder, decoder, cross):
    """encoder_self_attention, decoder_self_attention, cross_attention."""
    d = 4
    w = weights(course, "sites", d, 2, 3, 2)
    x, y = course.numbers("site x", 2, 6, d), course.numbers("site y", 2, 5, d)
    memory = course.numbers("site memory", 2, 7, d)

    def padding(lengths, n, padding_used, **switches):
        if padding_used == "no":
            return np.ones((len(lengths), 1, n), dtype=bool)
        return known.padding_mask(lengths, n, **switches)

    def encode(
        x, lengths, *w, padding_used="yes", order="any", followed="yes", inverted="no", **switches
    ):
        n = np.shape(x)[-2]
        real = padding(lengths, n, padding_used, **switches)
        mask = encoder.mask(followed, real, n, n, inverted)
        return several(x, x, *w, mask & np.tri(n, dtype=bool) if order == "causal" else mask)

    def decode(
        y,
        lengths,
        *w,
        padding_used="yes",
        order="causal",
        joined="and",
        followed="yes",
        inverted="no",
        **switches,
    ):
        n = np.shape(y)[-2]
        edge = {k: v for k, v in switches.items() if k == "causal_edge"}
        rest = {k: v for k, v in switches.items() if k != "causal_edge"}
        real = padding(lengths, n, padding_used, **rest)
        earlier = known.causal_mask(n, n, **edge) | (order == "any")
        mask = real & earlier if joined == "and" else real | earlier
        return several(y, y, *w, decoder.mask(followed, mask, n, n, inverted))

    def cross_attend(
        y,
        memory,
        lengths,
        *w,
        padding_used="yes",
        order="any",
        sources="own",
        followed="yes",
        inverted="no",
        **switches,
    ):
        if sources == "keys cut to the queries' length":
            memory = memory[..., : np.shape(y)[-2], :]
        n_q, n_k = np.shape(y)[-2], np.shape(memory)[-2]
        real = padding(lengths, n_k, padding_used, **switches)
        mask = cross.mask(followed, real, n_q, n_k, inverted)
        if order == "causal":
            mask = mask & np.tri(n_q, n_k, dtype=bool)
        if sources == "only the queries' sequence":
            memory, mask = y, mask[..., :n_q]
        elif sources == "swapped":
            y, memory, mask = memory, y, np.swapaxes(mask, -1, -2)
        return several(y, memory, *w, mask)

    no_padding = Mistake(
        "padding_ignored",
        "padding_used",
        "no",
        "You did not use the lengths: padded positions are still read.",
    )
    short = Mistake(
        "one_token_too_few",
        "edge",
        "one fewer",
        "You are off by one: the last real token of each sequence is hidden.",
    )
    too_causal = Mistake(
        "causal_where_it_is_not",
        "order",
        "causal",
        "You hid later positions; only the decoder's own sequence is causal.",
    )
    hidden = shared("mask_inverted")
    all_hidden = shared("mask_inverted", "inverted", "the whole rule")
    rows = shared("padding_hides_queries", "axis", "of queries")
    lengths = np.array(course.choose("lengths", ([6, 4], [4, 6], [5, 3])))
    return (
        Question(
            "encoder_self_attention",
            encode,
            (
                Check(
                    "no padding",
                    1,
                    (x, np.array([6, 6]), *w, 2),
                    hint="Queries, keys and values all come from x.",
                ),
                Check("padding", 2, (x, lengths, *w, 2), hint="Padding hides keys, not queries."),
            ),
            (no_padding, rows, hidden, short, too_causal, *encoder.mistakes()),
            given=("split_heads", "merge_heads", "multi_head"),
            forms=(all_hidden,),
        ),
        Question(
            "decoder_self_attention",
            decode,
            (
                Check(
                    "no padding",
                    2,
                    (y, np.array([5, 5]), *w, 2),
                    hint="A position reads itself and what comes before.",
                ),
                Check(
                    "padding", 2, (y, np.array([3, 5]), *w, 2), hint="Causal and padding at once."
                ),
            ),
            (
                no_padding,
                rows,
                short,
                Mistake(
                    "not_causal",
                    "order",
                    "any",
                    "You let positions read later ones: the decoder's own sequence is causal.",
                ),
                *(
                    shared(n)
                    for n in ("causal_sees_one_ahead", "causal_misses_itself", "causal_transposed")
                ),
                all_hidden,
                Mistake(
                    "masks_by_or",
                    "joined",
                    "or",
                    "You joined the masks with or: a key must pass both.",
                ),
                *decoder.mistakes(),
            ),
            given=("split_heads", "merge_heads", "multi_head"),
        ),
        Question(
            "cross_attention",
            cross_attend,
            (
                Check(
                    "no padding",
                    2,
                    (y[:, :3], memory, np.array([7, 7]), *w, 2),
                    hint="Queries come from y, keys and values from memory.",
                ),
                Check(
                    "padding",
                    3,
                    (y[:, :3], memory, np.array([7, 2]), *w, 2),
                    hint="The lengths are those of the memory.",
                ),
            ),
            (
                no_padding,
                hidden,
                short,
                too_causal,
                *(
                    shared(n)
                    for n in (
                        "cross_sources_swapped",
                        "cross_reads_itself",
                        "query_length_for_keys",
                    )
                ),
                *cross.mistakes(),
            ),
            given=("split_heads", "merge_heads", "multi_head"),
            forms=(all_hidden,),
        ),
    )


# ---------------------------------------------------------------- counting


@dataclass(frozen=True)
class Count:
    """How the parameters are counted."""

    rule: str
    code: str
    formula: object
    forgotten: str = ""


COUNTS = (
    Count(
        "No matrix has a bias.",
        "    return d_model * n_heads * (2 * d_k + 2 * d_v)",
        lambda d, h, k, v: d * h * (2 * k + 2 * v),
    ),
    Count(
        "**Each of the four matrices has a bias**, one number per column.",
        "    return (d_model + 1) * n_heads * (2 * d_k + d_v) + (n_heads * d_v + 1) * d_model",
        lambda d, h, k, v: (d + 1) * h * (2 * k + v) + (h * v + 1) * d,
        "You left out the biases, which count in this course.",
    ),
    Count(
        "**All heads share one $W_K$ and one $W_V$** (multi-query attention); there is no bias.",
        "    return d_model * (n_heads * d_k + d_k + d_v) + n_heads * d_v * d_model",
        lambda d, h, k, v: d * (h * k + k + v) + h * v * d,
        "You counted a W_K and a W_V for every head; here the heads share them.",
    ),
)


def count_question(course, count):
    """parameter_count: sizes that no wrong formula meets by chance."""

    def counted(d_model, n_heads, d_k, d_v, *, counts="right"):
        d, h, k, v = d_model, n_heads, d_k, d_v
        return {
            "right": count.formula(d, h, k, v),
            "as in the book": COUNTS[0].formula(d, h, k, v),
            "without W_O": count.formula(d, h, k, v) - h * v * d,
            "one head": count.formula(d, 1, k, v),
            "W_O for one head": count.formula(d, h, k, v) - (h - 1) * v * d,
            "values as wide as keys": count.formula(d, h, k, k),
            "square": 4 * d * d,
        }[counts]

    def mistake(name, position, sentence):
        return Mistake(name, "counts", position, sentence)

    return Question(
        "parameter_count",
        counted,
        (
            Check("small", 1, (12, 3, 5, 7), hint="Four matrices: count rows times columns."),
            Check(
                "large",
                1,
                (512, course.size("heads", 8, 16), 48, 96),
                hint="W_Q and W_K have n_heads * d_k columns, W_V has n_heads * d_v.",
            ),
        ),
        (
            mistake("output_matrix_not_counted", "without W_O", "You did not count W_O."),
            mistake("one_head_counted", "one head", "You counted one head only."),
            mistake(
                "small_output_matrix",
                "W_O for one head",
                "W_O has a row for every feature of every head: n_heads * d_v rows.",
            ),
            mistake(
                "values_counted_like_keys",
                "values as wide as keys",
                "You counted d_k for the values; they have d_v features.",
            ),
            mistake(
                "four_squares",
                "square",
                "4 * d_model ** 2 holds only if the heads fill the width exactly.",
            ),
        )
        + ((mistake(FORGOTTEN, "as in the book", count.forgotten),) if count.forgotten else ()),
    )
