"""What an assignment is: questions, their checks, and the mistakes that the checks must notice."""

import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from attention_utils.mistakes import Mistake
from coursework.course import Course

OWN = Path(__file__).resolve().parent / "assignments"


@dataclass(frozen=True, eq=False)
class Check:
    """One graded comparison: the student's code and the reference get the same inputs.

    Attributes
    ----------
    name : str
        Unique within its question.
    points : float
    args, kwargs : tuple, dict
        What the function is called with; nothing for a variable.
    hint : str
        Said when it fails and no known mistake explains why.
    atol : float
        How far a number may be off.
    """

    name: str
    points: float
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    hint: str = ""
    atol: float = 1e-7


@dataclass(frozen=True, eq=False)
class Question:
    """A function to write or a variable to fill in.

    Attributes
    ----------
    name : str
        Of the function or variable, and of its solution cell.
    known : callable
        The reference: ``known(*args, **kwargs)`` is right, ``known(..., **switches)`` is what
        somebody gets who makes that mistake.
    checks : tuple of Check
    mistakes : tuple of Mistake
    given : tuple of str
        Earlier functions that the reference answers while this one is checked.
    kind : {"call", "get"}
        A function is called, a variable is fetched.
    judge_source : str
        For answers of which many are right: source of a function ``judge(value)`` that needs
        numpy alone and returns why not, or "".
    forms : tuple of Mistake
        Other ways to write some of the mistakes: the same name, another result.
    """

    name: str
    known: Callable
    checks: tuple[Check, ...]
    mistakes: tuple[Mistake, ...]
    given: tuple[str, ...] = ()
    kind: str = "call"
    judge_source: str = ""
    forms: tuple[Mistake, ...] = ()

    @cached_property
    def judge(self):
        """The function ``judge``, or None."""
        space = {"np": np}
        exec(self.judge_source, space)
        return space.get("judge")

    @property
    def points(self):
        """The sum over its checks."""
        return sum(check.points for check in self.checks)


@dataclass(frozen=True)
class Written:
    """A question that a person reads."""

    name: str
    points: float
    rubric: str


@dataclass(frozen=True, eq=False)
class Assignment:
    """Everything that one folder of sources says, for one course."""

    name: str
    text: str
    questions: tuple[Question, ...]
    written: tuple[Written, ...]
    losses: dict[str, dict[str, list[str]]]
    folder: Path
    course: Course

    @property
    def points(self):
        """The most that the checks can give; written questions come on top."""
        return sum(question.points for question in self.questions)

    @property
    def written_points(self):
        """The most that a person can give."""
        return sum(written.points for written in self.written)


def load(name, key=None, folder=OWN):
    """Read the sources of one assignment.

    Parameters
    ----------
    name : str
        A folder with ``NAME.md`` (the solved notebook) and ``NAME.py`` (a function ``build``).
    key : str, optional
        The course variant; None is the open one.
    folder : path
        Where assignments are kept.
    """
    home = Path(folder).resolve() / name
    for suffix in (".md", ".py"):
        if not (home / (name + suffix)).is_file():
            there = sorted(p.parent.name for p in Path(folder).glob("*/*.md"))
            raise FileNotFoundError(f"no {name}{suffix} in {home}; assignments there: {there}")
    spec = importlib.util.spec_from_file_location(f"assignment_{name}", home / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    course = Course(name, key)
    built = module.build(course)
    text = (home / f"{name}.md").read_text(encoding="utf-8")
    for placeholder, value in built["values"].items():
        if f"<<{placeholder}>>" not in text:
            raise ValueError(f"{name}.py fills in <<{placeholder}>>, which {name}.md does not have")
        text = text.replace(f"<<{placeholder}>>", str(value))
    losses = home / "losses.json"
    return Assignment(
        name=name,
        text=text,
        questions=tuple(built["questions"]),
        written=tuple(built["written"]),
        losses=json.loads(losses.read_text(encoding="utf-8")) if losses.exists() else {},
        folder=home,
        course=course,
    )
