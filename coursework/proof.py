"""The page that shows what every check is worth: which known mistakes it notices."""

from functools import partial

import numpy as np

from attention_utils.mistakes import attend
from coursework import selftest
from coursework.marking import Raised, same
from coursework.model import load

INTRO = """# Coursework: the proof

A check is worth what it notices. Each assignment comes with a list of known wrong solutions,
and each of them has been graded. This page is the result: a dot means that the check in that
column fails that mistake. `python -m coursework proof` writes the page, and a test fails if it
is out of date.

How to read it: the checks named here are those that grade. **visible** is the check that
students see in the notebook; it is there to help, so it need not notice everything. A mistake
with a single dot costs one check, which is how one slip stays one slip. There is no row without
a dot (every known mistake is noticed) and no column without one (every check can be failed).
*Told apart* counts the mistakes that get their own name from what they return; an input in A3
gets a reason instead.

| assignment | questions | graded checks | known mistakes | noticed | told apart |
| :-- | --: | --: | --: | --: | --: |
"""

STYLES = """
## Other ways to check, on the same mistakes

The checks of many published exercises have the habits below. One course's exercise check was
measured to accept attention without scaling, with division by $d_k$ and with a hard maximum; a
popular problem site accepts $K Q^\\top$ for $Q K^\\top$, because in all its tests $W_Q = W_K$.
So here is each habit alone, written by us, on the mistakes of A1's `attention`. A dot means
that it notices.

- **shapes**: the shapes of output and weights are right.
- **sums**: shapes, and each row of weights sums to 1.
- **Q = K**: values compared with the right ones, on an input whose queries equal its keys.
- **saturated**: values compared on scores so far apart that each query reads one key.
- **one example**: values compared on one small input without a mask.
- **A1**: the graded checks of the assignment.
"""


def page(names=("a1", "a2", "a3")):
    """The whole page as Markdown."""
    assignments = [load(name) for name in names]
    kills = {a.name: selftest.kills(a) for a in assignments}
    seen = {a.name: selftest.visible(a) for a in assignments}
    text = [INTRO.rstrip("\n")]
    for a in assignments:
        mistakes = [(m, k) for k in kills[a.name].values() for m, k in k.items()]
        noticed = sum(bool(lost) for _, (lost, _) in mistakes)
        named = sum(
            found == [mistake]
            for question in a.questions
            if not question.judge
            for mistake, (_, found) in kills[a.name][question.name].items()
        )
        checks = sum(len(q.checks) for q in a.questions)
        text.append(
            f"| {a.name.upper()} | {len(a.questions)} | {checks} | {len(mistakes)} "
            f"| {noticed} | {named} |"
        )
    text.append(STYLES)
    text.append(_styles(assignments[0]))
    for a in assignments:
        text.append(f"\n## {a.name.upper()}, check by check")
        for question in a.questions:
            if a.name == "a3" and not question.name.endswith("_1"):
                continue  # eight times the same form
            shown = _question(question, kills[a.name], seen[a.name])
            text.append(f"\n### {a.name.upper()}: `{question.name}`\n\n{shown}")
        if a.name == "a3":
            text.append(
                "\nThe other seven snippets have the same form: "
                "a letter, a repaired function, an input."
            )
    return "\n".join(text) + "\n"


def _question(question, kills, seen):
    """Mistakes by checks."""
    names = [check.name for check in question.checks]
    visible = question.name in seen
    columns = [*(["visible"] if visible else []), *names]
    rows = []
    for mistake in question.mistakes:
        lost = kills[question.name][mistake.name][0]
        dots = [seen[question.name][mistake.name]] if visible else []
        rows.append((f"`{mistake.name}`", [*dots, *(name in lost for name in names)]))
    return _table(columns, rows)


def _table(columns, rows):
    lines = ["| mistake | " + " | ".join(columns) + " |", "| :-- |" + " :-: |" * len(columns)]
    for name, dots in rows:
        lines.append(f"| {name} | " + " | ".join("●" if dot else " " for dot in dots) + " |")
    totals = [sum(bool(dots[i]) for _, dots in rows) for i in range(len(columns))]
    lines.append(f"| **noticed of {len(rows)}** | " + " | ".join(map(str, totals)) + " |")
    return "\n".join(lines)


def _styles(a1):
    """Habits of checking against the mistakes of attention."""
    question = next(q for q in a1.questions if q.name == "attention")
    kills = selftest.kills(a1)["attention"]
    rng = np.random.default_rng(0)
    ordinary = tuple(rng.normal(size=shape) for shape in ((3, 4), (5, 4), (5, 2)))
    equal = rng.normal(size=(4, 4))
    wide = 40 * np.eye(4)
    styles = {
        "shapes": partial(_shapes, ordinary),
        "sums": partial(_sums, ordinary),
        "Q = K": partial(_values, (equal, equal, rng.normal(size=(4, 2)))),
        "saturated": partial(_values, (wide, wide, rng.normal(size=(4, 2)))),
        "one example": partial(_values, ordinary),
    }
    rows = []
    for mistake in question.mistakes:
        function = partial(question.known, **mistake.switches)
        dots = [not accepts(function) for accepts in styles.values()]
        rows.append((f"`{mistake.name}`", [*dots, bool(kills[mistake.name][0])]))
    return _table([*styles, "A1"], rows)


def _result(function, arguments):
    with np.errstate(all="ignore"):
        try:
            return function(*arguments)
        except Exception as error:  # a mistake may not fit the shapes
            return Raised(type(error).__name__)


def _shapes(arguments, function):
    got = _result(function, arguments)
    shapes = [np.shape(part) for part in got] if isinstance(got, tuple) else []
    return shapes == [(3, 2), (3, 5)]


def _sums(arguments, function):
    got = _result(function, arguments)
    return _shapes(arguments, function) and np.allclose(got[1].sum(axis=-1), 1)


def _values(arguments, function):
    right = attend(*arguments)
    return same(_result(function, arguments), (right.output, right.weights))
