"""A3, Find the bug: thirteen short functions, each with a published kind of mistake."""

import string
from dataclasses import dataclass, field

import numpy as np

from attention_utils.mistakes import Mistake
from coursework.model import Check, Question

COUNT = 8


@dataclass(frozen=True)
class Snippet:
    """A short function with one mistake.

    Attributes
    ----------
    kind : str
        The mistake as a choice in the list.
    task : str
        What the function is for.
    head : str
        Its arguments.
    wrong, right : str
        Two bodies.
    half : str
        A third body: a repair that does not repair.
    half_said : str
        What to say to that.
    inputs : callable
        ``inputs(course, k)``: the k-th arguments that separate wrong from right.
    dull : tuple
        Arguments that do not.
    advice : str
        Which inputs separate.
    source : str
        Where this kind of mistake was published.
    """

    kind: str
    task: str
    head: str
    wrong: str
    right: str
    half: str
    half_said: str
    inputs: object
    dull: tuple
    advice: str
    source: str
    functions: dict = field(default_factory=dict)

    def function(self, which):
        """The function made of one of the bodies."""
        if which not in self.functions:
            space = {"np": np}
            exec(self.code("made", which), space)
            self.functions[which] = space["made"]
        return self.functions[which]

    def code(self, name, which):
        """Its source under a name."""
        body = {"wrong": self.wrong, "right": self.right, "half": self.half}[which]
        return f'def {name}({self.head}):\n    """{self.task}"""\n{indented(body)}'


def indented(body):
    """A body as it stands in a function."""
    return "\n".join("    " + line for line in body.strip("\n").split("\n"))


SOFTMAX = """
terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
return terms / terms.sum(axis=-1, keepdims=True)
"""
ATTEND = """
scores = query @ key.T / np.sqrt(query.shape[-1])
terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
return terms / terms.sum(axis=-1, keepdims=True) @ value
"""
GUARDED = """
top = scores.max(axis=-1, keepdims=True)
terms = np.exp(scores - np.where(np.isneginf(top), 0, top))
total = terms.sum(axis=-1, keepdims=True)
return terms / np.where(total == 0, 1, total)
"""


def _some_mask(course, k, n_q, n_k):
    """A mask in which every row shows something and hides something."""
    shown = course.rng(f"mask {k}").permuted(np.tile(np.arange(n_k) < 2, (n_q, 1)), axis=1)
    return shown


SNIPPETS = (
    Snippet(
        "softmax runs over the wrong axis",
        "Weights: how much each query reads each key.",
        "query, key",
        "scores = query @ key.T / np.sqrt(query.shape[-1])\n"
        "terms = np.exp(scores - scores.max())\nreturn terms / terms.sum(axis=0)",
        "scores = query @ key.T / np.sqrt(query.shape[-1])" + SOFTMAX,
        "scores = query @ key.T / np.sqrt(query.shape[-1])\n"
        "terms = np.exp(scores - scores.max())\nreturn terms / terms.sum()",
        "Now all weights together sum to 1; each row must.",
        lambda c, k: (c.numbers(f"axis q{k}", 3, 4), c.numbers(f"axis k{k}", 2 + k, 4)),
        (np.zeros((3, 2)), np.zeros((3, 2))),
        "Rows and columns must differ in their sums: more keys than queries, say.",
        "rasbt/machine-learning-book, issue 97",
    ),
    Snippet(
        "the dot products are scaled by the wrong width",
        "Scores of one head: what softmax receives.",
        "x, w_q, w_k",
        "query, key = x @ w_q, x @ w_k\nreturn query @ key.T / np.sqrt(x.shape[-1])",
        "query, key = x @ w_q, x @ w_k\nreturn query @ key.T / np.sqrt(query.shape[-1])",
        "query, key = x @ w_q, x @ w_k\nreturn query @ key.T / query.shape[-1]",
        "Now you divide by d_k; its square root is meant.",
        lambda c, k: (
            c.numbers(f"scale x{k}", 3, 6),
            c.numbers(f"scale q{k}", 6, 2 + k),
            c.numbers(f"scale k{k}", 6, 2 + k),
        ),
        (np.ones((2, 3)), np.eye(3), np.eye(3)),
        "The head must have another width than the model: w_q must not be square.",
        "karpathy/ng-video-lecture, pull request 6",
    ),
    Snippet(
        "the mask is read the wrong way round",
        "Weights; mask is True where a key may be read. Every query may read some key.",
        "scores, mask",
        "scores = np.where(mask, -np.inf, scores)" + SOFTMAX,
        "scores = np.where(mask, scores, -np.inf)" + SOFTMAX,
        "scores = np.where(mask, scores, 0)" + SOFTMAX,
        "Now hidden scores are 0, and exp(0) is 1: hidden keys still get weight.",
        lambda c, k: (c.numbers(f"polarity {k}", 3, 5), _some_mask(c, k, 3, 5)),
        (np.zeros((0, 3)), np.zeros((0, 3), dtype=bool)),
        "There must be a query, with a mask that shows some keys and hides others.",
        "rasbt/LLMs-from-scratch, issue 1061",
    ),
    Snippet(
        "a query with nothing to read is forgotten",
        "Weights; mask is True where a key may be read. Nothing to read: all weights are 0.",
        "scores, mask",
        "scores = np.where(mask, scores, -np.inf)" + SOFTMAX,
        "scores = np.where(mask, scores, -np.inf)" + GUARDED,
        "scores = np.where(mask, scores, -1e9)" + SOFTMAX,
        "A large negative number gives such a query equal weights over forbidden keys.",
        lambda c, k: (c.numbers(f"empty {k}", 3, 4), np.arange(3)[:, None] + np.arange(4) > 3 + k),
        (np.zeros((2, 3)), np.ones((2, 3), dtype=bool)),
        "One row of the mask must be False everywhere.",
        "hyunwoongko/transformer, pull request 40; pytorch/pytorch, issue 64525",
    ),
    Snippet(
        "heads are cut without moving an axis",
        "From (n, width) to (n_heads, n, width / n_heads): head i gets the i-th block.",
        "x, n_heads",
        "n, width = x.shape\nreturn x.reshape(n_heads, n, width // n_heads)",
        "n, width = x.shape\nreturn np.swapaxes(x.reshape(n, n_heads, width // n_heads), 0, 1)",
        "n, width = x.shape\nreturn np.moveaxis(x.reshape(n, width // n_heads, n_heads), -1, 0)",
        "Now the features are dealt out one by one; a head takes a block of neighbours.",
        lambda c, k: (c.whole(f"heads {k}", 3, 12, low=-9, high=10), 2 + k),
        (np.arange(6.0).reshape(2, 3), 1),
        "There must be at least two heads and two positions, and numbers that differ.",
        "exercise",
    ),
    Snippet(
        "the keys are given the number of queries",
        "Output: each row of y reads all rows of the memory.",
        "y, memory",
        "n = len(y)\nquery, key, value = y, memory[:n], memory[:n]" + ATTEND,
        "query, key, value = y, memory, memory" + ATTEND,
        "query, key, value = y, memory[1:], memory[1:]" + ATTEND,
        "Now the first row of the memory is never read.",
        lambda c, k: (c.numbers(f"length y{k}", 2, 3), c.numbers(f"length m{k}", 4 + k, 3)),
        (np.eye(3), np.eye(3) + 1),
        "The memory must be longer than y: with equal lengths the mistake cannot be seen.",
        "huggingface/transformers, pull request 48356",
    ),
    Snippet(
        "cross-attention runs backwards",
        "Output of cross-attention: the decoder (y) asks, the encoder (memory) is read.",
        "y, memory, w_q, w_k, w_v",
        "query, key, value = memory @ w_q, y @ w_k, y @ w_v" + ATTEND,
        "query, key, value = y @ w_q, memory @ w_k, memory @ w_v" + ATTEND,
        "query, key, value = y @ w_q, memory @ w_k, y @ w_v" + ATTEND,
        "Now the values still come from y: keys and values both come from the memory.",
        lambda c, k: tuple(
            c.numbers(f"cross {k} {i}", *s)
            for i, s in enumerate(((3, 4), (3 + k, 4), (4, 2), (4, 2), (4, 3)))
        ),
        (np.eye(2), np.eye(2), np.eye(2), np.eye(2), np.eye(2)),
        "y and memory must differ.",
        "datawhalechina/happy-llm, issue 5; pbloem/former, issue 19",
    ),
    Snippet(
        "padding hides queries, not keys",
        "Weights of a batch, (b, n, n); only the first lengths[b] keys are real.",
        "scores, lengths",
        "position = np.arange(scores.shape[-1])\n"
        "real = position[:, None] < lengths[:, None, None]\n"
        "scores = np.where(real, scores, -np.inf)" + GUARDED,
        "position = np.arange(scores.shape[-1])\n"
        "real = position < lengths[:, None, None]\n"
        "scores = np.where(real, scores, -np.inf)" + GUARDED,
        "position = np.arange(scores.shape[-1])\n"
        "real = position <= lengths[:, None, None]\n"
        "scores = np.where(real, scores, -np.inf)" + GUARDED,
        "Off by one: key number lengths[b], counted from 0, is padding already.",
        lambda c, k: (c.numbers(f"padding {k}", 2, 4, 4), np.array([3 - k, 2])),
        (np.zeros((1, 3, 3)), np.array([3])),
        "A sequence must be shorter than n: without padding nothing is hidden.",
        "harvardnlp/annotated-transformer, issue 37; bentrevett/pytorch-seq2seq, issue 119",
    ),
    Snippet(
        "the mask comes after softmax",
        "Weights; mask is True where a key may be read. Every query may read some key.",
        "scores, mask",
        "terms = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
        "return mask * terms / terms.sum(axis=-1, keepdims=True)",
        "scores = np.where(mask, scores, -np.inf)" + SOFTMAX,
        "scores = scores * mask" + SOFTMAX,
        "Now hidden scores are 0, and exp(0) is 1: hidden keys still get weight.",
        lambda c, k: (c.numbers(f"after {k}", 3, 5), _some_mask(c, f"after {k}", 3, 5)),
        (np.zeros((2, 3)), np.ones((2, 3), dtype=bool)),
        "The mask must hide something.",
        "exercise",
    ),
    Snippet(
        "the causal mask counts from the first key",
        "Causal mask; the queries are the last n_q of n_k positions.",
        "n_q, n_k",
        "return np.tri(n_q, n_k, dtype=bool)",
        "return np.tri(n_q, n_k, n_k - n_q, dtype=bool)",
        "return np.tri(n_q, n_k, n_q - n_k, dtype=bool)",
        "The shift has the wrong sign: the queries stand at the end.",
        lambda c, k: (2 + k, 5 + k),
        (3, 3),
        "There must be more keys than queries.",
        "rasbt/LLMs-from-scratch, pull request 697; meta-llama/llama, issue 899",
    ),
    Snippet(
        "the output projection is missing",
        "Join the heads, (h, n, d), and project: (n, d_model).",
        "heads, w_o",
        "h, n, d = heads.shape\nreturn np.swapaxes(heads, 0, 1).reshape(n, h * d)",
        "h, n, d = heads.shape\nreturn np.swapaxes(heads, 0, 1).reshape(n, h * d) @ w_o",
        "h, n, d = heads.shape\nreturn heads.reshape(n, h * d) @ w_o",
        "The projection is there, but now the heads are joined without moving their axis back.",
        lambda c, k: (c.numbers(f"project h{k}", 2, 3, 2), c.numbers(f"project w{k}", 4, 4 + k)),
        (np.ones((2, 3, 2)), np.eye(4)),
        "w_o must not be the identity.",
        "karpathy/minGPT, issue 135; poloclub/transformer-explainer, issue 71",
    ),
    Snippet(
        "rows and columns of the map are exchanged",
        "For each query, the index of the key that it reads most.",
        "weights",
        "return weights.argmax(axis=0)",
        "return weights.argmax(axis=1)",
        "return weights.argmax(axis=1) + 1",
        "Indices count from 0.",
        lambda c, k: (c.rng(f"map {k}").dirichlet(np.ones(5 + k), size=3).round(2),),
        (np.eye(3),),
        "The map must not look the same from the side: take more keys than queries.",
        "harvardnlp/annotated-transformer, issue 104",
    ),
    Snippet(
        "scores are taken for weights",
        "Weights: how much each query reads each key.",
        "query, key",
        "scores = query @ key.T / np.sqrt(query.shape[-1])\n"
        "return scores / scores.sum(axis=-1, keepdims=True)",
        "scores = query @ key.T / np.sqrt(query.shape[-1])" + SOFTMAX,
        "scores = query @ key.T / np.sqrt(query.shape[-1])\nreturn np.exp(scores)",
        "Now your rows do not sum to 1: divide by their sums.",
        lambda c, k: (
            abs(c.numbers(f"scores q{k}", 3, 2)) + 0.1,
            abs(c.numbers(f"scores k{k}", 3 + k, 2)) + 0.1,
        ),
        (np.ones((2, 2)), np.ones((1, 2))),
        "There must be several keys with different scores.",
        "datawhalechina/happy-llm, issue 161",
    ),
)


def build(course):
    """Everything about A3 that is not text."""
    order = np.arange(len(SNIPPETS))
    if course.key is not None:
        order = course.rng("snippets").permutation(order)
    chosen = [SNIPPETS[i] for i in order[:COUNT]]
    letters = dict(
        zip(
            (SNIPPETS[i].kind for i in course.rng("letters").permutation(len(SNIPPETS))),
            string.ascii_uppercase,
            strict=False,
        )
    )
    questions, tasks = [], []
    for number, snippet in enumerate(chosen, 1):
        questions += snippet_questions(course, snippet, number, letters)
        tasks.append(task(course, snippet, number, letters))
    return {
        "questions": questions,
        "written": (),
        "values": {
            "kinds": "\n".join(f"- **{letter}**: {kind}" for kind, letter in letters.items()),
            "tasks": "\n".join(tasks),
        },
    }


def snippet_questions(course, snippet, number, letters):
    """What it is, the repair, an input that exposes it."""

    def repaired(*args, repair="right"):
        return snippet.function(repair)(*args)

    return (
        Question(
            f"kind_{number}",
            lambda *, chosen=letters[snippet.kind]: chosen,
            (Check("letter", 1, hint="One letter of the list, in quotes."),),
            tuple(
                Mistake(
                    f"took_it_for_{letter}",
                    "chosen",
                    letter,
                    f"You chose {letter} ({kind}); that is not what goes wrong here.",
                )
                for kind, letter in letters.items()
                if kind != snippet.kind
            ),
            kind="get",
        ),
        Question(
            f"fixed_{number}",
            repaired,
            (
                Check("small", 1, snippet.inputs(course, 0), hint="Compare with the task."),
                Check("another size", 1, snippet.inputs(course, 1), hint="Compare with the task."),
            ),
            (
                Mistake(
                    "still_there",
                    "repair",
                    "wrong",
                    f"The mistake is still there: {snippet.kind}.",
                    snippet.source,
                ),
                Mistake("half_repaired", "repair", "half", snippet.half_said),
            ),
        ),
        Question(
            f"input_{number}",
            lambda *, given="separating": {
                "separating": snippet.inputs(course, 2),
                "dull": snippet.dull,
                "nothing": (),
            }[given],
            (Check("separates", 1),),
            (
                Mistake("separates_nothing", "given", "dull", snippet.advice),
                Mistake("no_arguments", "given", "nothing", "Your input has no arguments."),
            ),
            kind="get",
            judge_source=JUDGE.format(
                right=snippet.code("right_version", "right"),
                wrong=snippet.code("wrong_version", "wrong"),
                count=snippet.head.count(",") + 1,
                number=number,
                advice=snippet.advice,
            ),
        ),
    )


# Why an input does not expose the mistake; "" if it does. The input is a stranger's, and nothing of
# it is in the sentence: it may hold what is hidden in other checks.
JUDGE = """
{right}


{wrong}


def judge(value):
    value = value if isinstance(value, tuple) else (value,)
    if len(value) != {count}:
        return "buggy_{number} takes {count} arguments; your input has another number of them."
    arguments = []
    for argument in value:
        array = np.asarray(argument) if isinstance(argument, bool | int | float) else argument
        if (
            not isinstance(array, np.ndarray)
            or array.dtype.kind not in "biuf"
            or array.ndim > 3
            or array.size > 400
            or max(array.shape, default=0) > 50
            or not (abs(array.astype(np.float64)) <= (50 if array.size == 1 else 1e6)).all()
        ):
            return (
                "Each argument is a number, 50 at most, or a finite array of at most 400 numbers, "
                "at most 50 along an axis."
            )
        if array is argument and array.dtype.kind != "b":  # so that no right version overflows
            argument = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        arguments.append(argument)
    with np.errstate(all="ignore"):
        try:
            right = right_version(*arguments)
            if not np.isfinite(right).all():
                return "A right version gives no number on your input."
        except Exception:
            return "A right version refuses your input: run yours on it."
        try:
            wrong = wrong_version(*arguments)
            same = np.shape(right) == np.shape(wrong)
            same = same and np.allclose(right, wrong, rtol=1e-3, atol=1e-3)
        except Exception:
            return ""  # it breaks where a right version does not
    if same:
        return "buggy_{number} and a right version agree on your input. {advice}"
    return ""
"""


def task(course, snippet, number, letters):
    """The text and cells of one snippet."""
    arguments = ", ".join(source(argument) for argument in snippet.inputs(course, 2))
    if "," not in snippet.head:
        arguments += ","
    return TASK.format(
        number=number,
        buggy=snippet.code(f"buggy_{number}", "wrong"),
        head=snippet.head,
        docstring=snippet.task,
        right=indented(snippet.right),
        letter=letters[snippet.kind],
        letters="".join(letters.values()),
        arguments=arguments,
    )


def source(argument):
    """An argument as Python source."""
    if isinstance(argument, np.ndarray):
        return f"np.array({np.array2string(argument, separator=', ')})".replace("\n", "\n    ")
    return repr(argument)


TASK = """
## Snippet {number}

```python setup buggy_{number}
{buggy}
```

```python solution kind_{number}
kind_{number} = ...
### BEGIN SOLUTION
kind_{number} = "{letter}"
### END SOLUTION
```

```python solution fixed_{number}
def fixed_{number}({head}):
    \"\"\"{docstring}\"\"\"
    ### BEGIN SOLUTION
{right}
    ### END SOLUTION
```

```python solution input_{number}
input_{number} = ...
### BEGIN SOLUTION
input_{number} = ({arguments})
### END SOLUTION
```

```python check fixed_{number}
assert kind_{number} in tuple("{letters}"), "kind_{number}: one letter of the list, in quotes"
assert isinstance(input_{number}, tuple), "input_{number}: the arguments, as a tuple"
with np.errstate(all="ignore"):
    mine, theirs = fixed_{number}(*input_{number}), buggy_{number}(*input_{number})
if np.shape(mine) == np.shape(theirs) and np.allclose(mine, theirs, equal_nan=True):
    raise AssertionError("on your input your version and the buggy one give the same")
print("snippet {number}: your version and the buggy one differ on your input")
```
"""
