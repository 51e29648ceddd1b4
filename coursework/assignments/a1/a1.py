"""A1, One head: the checks, their inputs, the mistakes they must notice, and the twists."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from attention_utils.mistakes import Mistake
from coursework import known
from coursework.model import Check, Question, Written

INF = np.inf


@dataclass(frozen=True)
class Twist:
    """One way in which a course differs from the book, and the mistake of forgetting it."""

    rule: str
    code: str = ""
    change: object = None
    forgotten: str = ""
    narrow: int = 1  # features a key needs at least for the twist to matter
    more: tuple = ()  # mistakes that only this rule makes possible

    def mistakes(self):
        """The mistake of having done what the book does, and those of the rule itself."""
        if not self.forgotten:
            return ()
        return (Mistake("as_in_the_book", "followed", "no", self.forgotten), *self.more)


def build(course):
    """Everything about A1 that is not text."""
    base = course.choose("base", (None, 2, 3))
    causal = course.choose("causal", causal_twists(course.size("window", 2, 3)))
    padding = course.choose("padding", padding_twists())
    head = course.choose("head", head_twists(course))
    softmax = softmax_question(course, base)
    masks = mask_questions(course, causal, padding)
    attention = attention_question(course, base, head)
    reading, reading_values = reading_questions(course)
    return {
        "questions": (softmax, *masks, attention, *reading),
        "written": (
            Written(
                "variance",
                4,
                "1 for: the variance of a sum of independent terms is the sum of their variances; "
                "1 for: hence d_k, and a typical size of sqrt(d_k); 1 for: large scores make "
                "softmax put nearly all weight on one key; 1 for: then a(1 - a), and with it the "
                "gradient through the scores, is nearly zero.",
            ),
        ),
        "values": softmax_values(base, softmax)
        | mask_values(causal, padding, masks)
        | head_values(base, head, attention)
        | reading_values,
    }


def literal(array):
    """An array as Python source, three decimals."""
    array = np.asarray(array)
    return repr((array if array.dtype == bool else array.round(3)).tolist())


# ---------------------------------------------------------------- softmax


def softmax_question(course, base):
    """Five checks: by hand, three axes, large scores, another axis, hidden scores."""
    n = course.size("softmax n", 3, 5)
    large = course.whole("large", 2, n, low=0, high=4) + np.array([[2000.0], [-2000.0]])
    large[:, :2] += [[0, 1], [1, 0]]
    large = np.vstack([large, np.linspace(-2000, 2000, n)])
    hidden = np.array([[0.0, -INF, 1.0], [-INF, -INF, -INF], [-INF, 3.0, -INF]])
    hidden[0, 0] = course.whole("hidden", low=0, high=4)
    return Question(
        "softmax",
        partial(known.softmax, base=base or np.e),
        (
            Check(
                "by hand",
                1,
                (np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 1.0], [0.0, 2.0, 2.0]]),),
                hint="Raise, then divide each row by its sum.",
            ),
            Check(
                "three axes",
                1,
                (course.numbers("three axes", 2, n, 4),),
                hint="The last axis is meant, however many there are.",
            ),
            Check("large scores", 1, (large,), hint="Subtract the maximum of each row first."),
            Check(
                "another axis",
                1,
                (course.numbers("another axis", 3, 4),),
                {"axis": 0},
                hint="Use the argument axis in the maximum and in the sum.",
            ),
            Check(
                "hidden scores",
                1,
                (hidden,),
                hint="-inf is a hidden score: its weight is 0, and a row of them gives zeros.",
            ),
        ),
        known.SOFTMAX_MISTAKES
        + (
            (
                Mistake(
                    "as_in_the_book",
                    "power",
                    "e",
                    f"You raised e to the scores, as in the book; here the base is {base}.",
                ),
            )
            if base
            else ()
        ),
        forms=known.SOFTMAX_FORMS,
    )


def softmax_values(base, question):
    """What the text says about softmax."""
    letter = base or "e"
    x = np.array([[0.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    return {
        "softmax_base": letter,
        "softmax_twist": ""
        if base is None
        else (f"**In this course the base is {base}, not $e$**; so it is in `attention` below."),
        "softmax_power": "np.exp(x - top)" if base is None else f"{base}.0 ** (x - top)",
        "softmax_x": literal(x),
        "softmax_expected": literal(question.known(x)),
    }


# ---------------------------------------------------------------- masks


def causal_twists(window):
    """The book's mask, a sliding window, a gap."""
    return (
        Twist("that are not later than itself"),
        Twist(
            f"that are not later than itself **and among the last {window} of these** (its own "
            "position counts)",
            f" & (later > -{window})",
            lambda visible, later: visible & (later > -window),
            f"You made the causal mask of the book; here a query reads only the last {window} keys "
            "that are not later than itself.",
        ),
        Twist(
            "that are not later than itself, **but not the one directly before it**",
            " & (later != -1)",
            lambda visible, later: visible & (later != -1),
            "You made the causal mask of the book; here a query skips the key directly before it.",
        ),
    )


def padding_twists():
    """Real tokens in front, or at the end."""
    return (
        Twist("first", "keys < lengths", False),
        Twist("**last**", "keys >= n_k - lengths", True),
    )


def mask_questions(course, causal, padding):
    """causal_mask, padding_mask, and both at once."""
    make_causal = partial(known.causal_mask, twist=causal.change)
    make_padding = partial(known.padding_mask, front=padding.change)
    long = course.size("cached", 6, 8)

    def both(lengths, n_q, n_k, *, joined="and"):
        later_hidden, real = make_causal(n_q, n_k), make_padding(lengths, n_k)
        real = np.broadcast_to(real, (*real.shape[:-2], n_q, n_k))
        return {
            "and": later_hidden & real,
            "or": later_hidden | real,
            "causal alone": later_hidden,
            "padding alone": real,
            "as numbers": later_hidden + real * 1.0,
        }[joined]

    lengths = np.array(course.choose("lengths", ([3, 4, 1], [1, 4, 3], [3, 1, 4], [1, 3, 4])))
    return (
        Question(
            "causal_mask",
            make_causal,
            (
                Check(
                    "as many queries as keys",
                    1,
                    (5, 5),
                    hint="Row i belongs to query i; True where it may read.",
                ),
                Check(
                    "cached keys",
                    1,
                    (3, long),
                    hint="The queries are the last positions: query i stands at i + n_k - n_q.",
                ),
                Check(
                    "one query",
                    1,
                    (1, course.size("one", 4, 6)),
                    hint="A single query is the newest position.",
                ),
            ),
            known.CAUSAL_MISTAKES + causal.mistakes(),
            forms=known.CAUSAL_FORMS,
        ),
        Question(
            "padding_mask",
            make_padding,
            (
                Check("batch", 2, (lengths, 5), hint="One row of keys for each sequence."),
                Check(
                    "one sequence",
                    1,
                    (np.array(course.size("alone", 2, 3)), 4),
                    hint="A single length gives shape (1, n_k).",
                ),
            ),
            known.PADDING_MISTAKES,
        ),
        Question(
            "decoder_mask",
            both,
            (
                Check("batch", 1, (lengths, 5, 5), hint="Both conditions at once."),
                Check(
                    "cached keys",
                    1,
                    (np.sort(lengths), 3, 5),
                    hint="The shape is (batch, n_q, n_k).",
                ),
            ),
            tuple(
                Mistake(name, "joined", position, sentence)
                for name, position, sentence in (
                    (
                        "masks_by_or",
                        "or",
                        "You joined the masks with or: a key must pass both, so with and.",
                    ),
                    (
                        "padding_forgotten",
                        "causal alone",
                        "Your mask is causal but does not hide the padding.",
                    ),
                    (
                        "causal_forgotten",
                        "padding alone",
                        "Your mask hides the padding but lets queries read what comes later.",
                    ),
                    (
                        "masks_added",
                        "as numbers",
                        "You added the masks: that counts conditions. Join them with &.",
                    ),
                )
            ),
            given=("causal_mask", "padding_mask"),
        ),
    )


def mask_values(causal, padding, questions):
    """What the text says about masks."""
    make_causal, make_padding, _ = (question.known for question in questions)
    return {
        "causal_rule": causal.rule,
        "causal_code": causal.code,
        "causal_expected": literal(make_causal(2, 4)),
        "padding_rule": padding.rule,
        "padding_code": padding.code,
        "padding_expected": literal(make_padding(np.array([1, 3]), 3)),
    }


# ---------------------------------------------------------------- attention


def head_twists(course):
    """Plain attention, the last m keys, a bonus for later keys, keys of unit length."""
    m = course.size("last", 3, 4)
    slope = 0.5 if course.rng("slope").random() < 0.5 else 0.25

    def unit(key, n_q):
        return key / np.linalg.norm(key, axis=-1, keepdims=True), None, None

    return (
        Twist(""),
        Twist(
            f"**Whatever the mask says, only the last {m} keys may be read.**",
            f"    recent = np.arange(key.shape[-2]) >= key.shape[-2] - {m}\n"
            "    mask = recent if mask is None else mask & recent\n",
            lambda key, n_q: (key, None, np.arange(key.shape[-2]) >= key.shape[-2] - m),
            f"You let queries read all keys, as in the book; here only the last {m} may be read.",
        ),
        Twist(
            f"**Key $j$ (counted from 0) gets a bonus: ${slope} \\cdot j$ is added to its scores, "
            "after scaling.**",
            f"    scores = scores + {slope} * np.arange(key.shape[-2])\n",
            lambda key, n_q: (key, slope * np.arange(key.shape[-2]), None),
            "Your weights are those without the bonus that later keys get in this course. Maybe it "
            "is missing, or maybe you added it along the queries, where softmax cancels it.",
            more=(
                Mistake(
                    "bonus_before_scale",
                    "bonus",
                    "before the scale",
                    "You added the bonus before scaling, so it was divided too; it is added to the "
                    "scores after scaling.",
                ),
            ),
        ),
        Twist(
            "**Divide every key by its own length (the square root of the sum of its squares) "
            "before the dot products.**",
            "    key = key / np.sqrt(np.sum(key**2, axis=-1, keepdims=True))\n"
            "    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])\n",
            unit,
            "You used the keys as they are, as in the book; here each is divided by its length.",
            narrow=2,
        ),
    )


def attention_question(course, base, head):
    """Checks that separate scale, mask, batch axes and empty rows: one slip costs little."""
    d_v, d_k = course.size("d_v", 2, 3), 16
    n_k = course.size("n_k", 5, 7)

    def qkv(purpose, n_q, n_k, d_k, *batch):
        return tuple(
            course.numbers(f"{purpose} {name}", *batch, n, d)
            for name, n, d in (("query", n_q, d_k), ("key", n_k, d_k), ("value", n_k, d_v))
        )

    some = course.rng("mask").permuted(np.tile([True, True, True, False, False], (4, 1)), axis=1)
    some[0] = [True, False, True, False, True]
    some[3] = [False, True, False, True, True]
    nothing = np.array([[False, False, False], [True, False, True]])
    padded = np.array([[[True, True, False, True]], [[False, True, True, False]]])
    return Question(
        "attention",
        partial(known.attention, base=base or np.e, twist=head.change),
        (
            Check(
                "one feature",
                1,
                qkv("one feature", 3, 3, head.narrow),
                hint="Dot products, softmax over the keys, times the values.",
            ),
            Check(
                "scale",
                2,
                qkv("scale", 3, n_k, d_k),
                hint="Divide the dot products by the square root of d_k.",
            ),
            Check(
                "mask",
                2,
                (*qkv("mask", 4, 5, head.narrow), some),
                hint="True means: may be read. Hide with -inf before softmax.",
            ),
            Check(
                "batch",
                2,
                (*qkv("batch", 3, 4, 2, 2), padded),
                hint="Axes in front broadcast; transpose the last two axes only.",
            ),
            Check(
                "nothing to read",
                1,
                (*qkv("nothing", 2, 3, head.narrow), nothing),
                hint="Where every key is hidden, weights and output are zero, not NaN.",
            ),
        ),
        tuple(
            m for m in known.HEAD_MISTAKES if not (m.name == "cosine_compared" and head.narrow > 1)
        )
        + head.mistakes()
        + (
            (
                Mistake(
                    "exponential_of_the_book",
                    "power",
                    "e",
                    f"You raised e to the scores here; the base of this course is {base}. Use your "
                    "softmax.",
                ),
            )
            if base
            else ()
        ),
        given=("softmax",),
        forms=known.HEAD_FORMS,
    )


def head_values(base, head, question):
    """What the text says about attention."""
    query = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    key = np.array([[2.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]])
    value = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    output, weights = question.known(query, key, value)
    scores = "    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])\n"
    return {
        "head_rule": head.rule,
        "head_code": (scores + head.code).rstrip("\n"),
        "head_query": literal(query),
        "head_key": literal(key),
        "head_value": literal(value),
        "head_output": literal(output),
        "head_weights": literal(weights),
    }


# ---------------------------------------------------------------- reading a matrix


SENTENCES = (
    ("the", "bird", "fed", "its", "chick"),
    ("a", "baker", "sold", "her", "bread"),
    ("two", "boats", "lost", "their", "way"),
    ("my", "cat", "hid", "your", "key"),
)


def reading_questions(course):
    """Five questions about one printed matrix, with numbers that no two readings share."""
    tokens = course.choose("sentence", SENTENCES)
    for attempt in range(1000):  # until no two readings give the same number
        rng = course.rng(f"reading {attempt}")
        percent = np.stack([rng.multinomial(88, rng.dirichlet(np.ones(5))) for _ in tokens])
        weights = (percent + np.array([1, 2, 3, 2, 4])) / 100
        value = rng.integers(-3, 7, size=(5, 2)) * 1.0
        asked, read, hidden = rng.permutation(5)[:3]
        made = _reading(weights, value, asked, read, hidden)
        if all(_distinct(question) for question in made):
            break
    table = "| | " + " | ".join(tokens) + " |\n| :-- |" + " --: |" * 5
    for token, row in zip(tokens, weights, strict=True):
        table += f"\n| **{token}** | " + " | ".join(f"{x:.2f}" for x in row) + " |"
    values = {
        "reading_sentence": " ".join(tokens),
        "reading_table": table,
        "reading_values": str(value),
        "reading_asked": tokens[asked],
        "reading_read": tokens[read],
        "reading_hidden": tokens[hidden],
    }
    for question in made:
        values[f"{question.name}_answer"] = literal(question.known())
    return made, values


def _reading(weights, value, asked, read, hidden):
    def question(name, right, wrong, hint):
        answers = {"right": np.asarray(right)} | {k: np.asarray(v) for k, (v, _) in wrong.items()}
        return Question(
            name,
            lambda *, read_as="right": answers[read_as],
            (Check("value", 1, hint=hint, atol=0.006),),
            tuple(
                Mistake(k, "read_as", k, sentence, source="exercise")
                for k, (_, sentence) in wrong.items()
            ),
            kind="get",
        )

    row, column = weights[asked], weights[:, asked]
    without = np.where(np.arange(5) == hidden, 0, row)
    shared_out = np.where(np.arange(5) == hidden, 0, row + row[hidden] / 4)
    by_column = "You read a column. Row i belongs to query i, and its columns to the keys."
    one_based = "You counted from 1; indices here count from 0."
    return (
        question(
            "share",
            weights[asked, read],
            {"read_by_column": (weights[read, asked], by_column)},
            "Find the row of the one who reads, then the column of what is read.",
        ),
        question(
            "reads_most",
            np.argmax(row),
            {
                "read_by_column": (np.argmax(column), by_column),
                "counted_from_one": (np.argmax(row) + 1, one_based),
                "weight_given": (row.max(), "You gave the weight; the task asks for the index."),
            },
            "The largest number of one row.",
        ),
        question(
            "read_most_by",
            np.argmax(weights[:, read]),
            {
                "read_by_row": (
                    np.argmax(weights[read]),
                    "You looked along a row. Who reads a key stands in its column.",
                ),
                "counted_from_one": (np.argmax(weights[:, read]) + 1, one_based),
            },
            "The largest number of one column.",
        ),
        question(
            "output_row",
            row @ value,
            {
                "read_by_column": (column @ value, by_column),
                "average_taken": (
                    value.mean(axis=0),
                    "You averaged the values: use the weights of the row.",
                ),
                "most_read_value": (
                    value[np.argmax(row)],
                    "You took the value of the most read token alone; the "
                    "others have their share too.",
                ),
            },
            "A weighted sum of the rows of the values.",
        ),
        question(
            "row_after_hiding",
            without / without.sum(),
            {
                "not_normalised": (
                    without,
                    "Your row no longer sums to 1: what is left shares the weight in proportion.",
                ),
                "shared_equally": (
                    shared_out,
                    "You handed out the lost weight in equal parts; softmax "
                    "leaves the proportions of the others as they were.",
                ),
                "key_dropped": (
                    np.delete(without, hidden) / without.sum(),
                    "You dropped the hidden key: it keeps its place, with weight 0.",
                ),
                "read_by_column": (
                    np.where(np.arange(5) == hidden, 0, column) / (column.sum() - column[hidden]),
                    by_column,
                ),
            },
            "Hide, then divide by what is left of the row.",
        ),
    )


def _distinct(question):
    answers = [question.known(), *(question.known(**m.switches) for m in question.mistakes)]
    return all(
        a.shape != b.shape or np.max(np.abs(a - b)) > 0.02
        for i, a in enumerate(answers)
        for b in answers[:i]
    )
