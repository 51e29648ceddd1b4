"""Compare what the student's code gave with the reference, and name the mistake."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from coursework.submissions import in_a_line
from coursework.wire import Other

RTOL = 1e-5


@dataclass(frozen=True)
class Raised:
    """Somebody's code raised this instead of giving a value."""

    error: str
    text: str = ""
    line: int | None = None


class Answers:
    """What the reference and its mistakes give on every check, each calculated once."""

    def __init__(self):
        self._kept = {}

    def known(self, question, check, mistakes=()):
        """The value or `Raised` of the reference with these mistakes."""
        key = question.name, check.name, tuple((m.switch, m.position) for m in mistakes)
        if key not in self._kept:
            switches = {}
            for mistake in mistakes:
                switches |= mistake.switches
            with np.errstate(all="ignore"):
                try:
                    value = question.known(*check.args, **check.kwargs, **switches)
                except Exception as error:  # a mistake may not fit the shapes
                    value = Raised(type(error).__name__, str(error))
            self._kept[key] = settled(question, value)
        return self._kept[key]

    def diagnose(self, question, got):
        """The known mistake, or the two together, that give exactly this; () if none does.

        Parameters
        ----------
        question : Question
        got : dict
            By name of check: a `settled` value or `Raised`.
        """
        for together in (1, 2):
            for mistakes in combinations((*question.mistakes, *question.forms), together):
                names, switches = {m.name for m in mistakes}, {m.switch for m in mistakes}
                if len(names) == len(switches) == together and all(
                    same(got[check.name], self.known(question, check, mistakes), check.atol)
                    for check in question.checks
                ):
                    return mistakes
        return ()

    def passes(self, question, check, got):
        """Whether the value is right."""
        if question.judge is not None:
            return not isinstance(got, Raised) and not question.judge(got)
        right = self.known(question, check)
        return not isinstance(got, Raised) and same(got, right, check.atol)


def same(got: Any, want: Any, atol: float = 1e-7) -> bool:
    """Same structure, shape, kind (boolean or number) and values; exceptions by their type."""
    if isinstance(got, Raised) or isinstance(want, Raised):
        return isinstance(got, Raised) and isinstance(want, Raised) and got.error == want.error
    if isinstance(want, str):
        return isinstance(got, str) and got.strip() == want
    if isinstance(want, tuple):
        return (
            isinstance(got, tuple)
            and len(got) == len(want)
            and all(same(g, w, atol) for g, w in zip(got, want, strict=True))
        )
    if not isinstance(got, np.ndarray) or got.shape != want.shape:
        return False
    if (got.dtype == bool) != (want.dtype == bool):
        return False
    return np.allclose(got, want, RTOL, atol, equal_nan=True)


def settled(question, value):
    """A value as it is compared: numbers are arrays, and so are lists of numbers.

    Once for each value: the comparison with every known mistake must not do it again.
    """
    if question.judge is not None:
        return value
    array = as_array(value)
    if array is not None:
        return array
    return tuple(settled(question, v) for v in value) if isinstance(value, tuple) else value


def as_array(value):
    """An untrusted value as an array of numbers, or None."""
    if value is None or isinstance(value, str | dict | Other | Raised):
        return None
    try:
        # Numbers only, looked at one by one: NumPy would make each of many short texts as wide as
        # the longest one.
        if isinstance(value, tuple) and not all(map(_is_number, _leaves(value))):
            return None
        array = np.asarray(value)
    except (ValueError, OverflowError, RecursionError, MemoryError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _leaves(value):
    for part in value:
        if isinstance(part, tuple):
            yield from _leaves(part)
        else:
            yield part


def _is_number(value):
    return isinstance(value, int | float | np.generic) or (
        isinstance(value, np.ndarray) and not value.ndim
    )


def shape_of(value):
    """What to call the form of a value in feedback."""
    if isinstance(value, str):
        return "a text"
    if isinstance(value, tuple):
        return "(" + ", ".join(shape_of(part) for part in value[:6]) + ")"
    array = as_array(value)
    if array is None:
        return (
            repr(value)[:60]
            if isinstance(value, Other) or value is None
            else f"a {type(value).__name__}"
        )
    kind = "boolean" if array.dtype == bool else "number"
    return f"{kind}s of shape {array.shape}" if array.ndim else f"a {kind}"


def misnamed(wanted, defined):
    """Sentences about names that are there, only written otherwise."""
    plain = {name.lower().replace("_", ""): name for name in sorted(defined - wanted)}
    missing = [(name, name.lower().replace("_", "")) for name in sorted(wanted - defined)]
    return [
        f"nothing is called {name}, but there is a {in_a_line(plain[key], 60)}: keep the names"
        for name, key in missing
        if key in plain
    ]
