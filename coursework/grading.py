"""Grade one submission: run it in a sandbox, compare values here, say what went wrong."""

import builtins
import math
import re
import time
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from coursework import release, source, submissions
from coursework.marking import Answers, Raised, as_array, misnamed, settled, shape_of
from coursework.sandbox import SandboxError
from coursework.session import PATIENCE, Session, SessionError
from coursework.submissions import in_a_line, printable
from coursework.wire import Other

NOT_WRITTEN = {"NotImplementedError": "not written yet"}
WAITS = 1, 5, 0  # seconds after a process that did not start
UNTOLD = "it raises an exception; which one is not shown, since people may try again"
SILENT = {"NotImplementedError", "Missing", "TimeUp", "Died", "NotRun"}  # nothing to diagnose


@dataclass(frozen=True)
class Limits:
    """Processor seconds for a cell and a call; seconds for everything; processes for a task."""

    cell: float = 10
    call: float = 5
    total: float = 120
    lives: int = 8

    @property
    def cells(self):
        """Seconds by the clock for all cells, and twice as many for running them again."""
        return 10 + 2 * self.cell


class Grader:
    """Grades submissions of one assignment in one kind of box.

    With `retries` people may hand in again and again: feedback then holds nothing that their code
    could have put there, since it sees the inputs of the checks.
    """

    def __init__(self, assignment, box, limits=None, retries=False):
        self.assignment, self.box, self.limits = assignment, box, limits or Limits()
        self.retries = retries
        self.answers = Answers()
        self.names = {question.name for question in assignment.questions}
        self.labels = source.labels(assignment.text)
        self.reference = release.run_visible_checks(assignment)
        self.released = {cell.id: cell for cell in release.student_cells(assignment)}
        self.texts = {_squeezed(c.source): c.id for c in self.released.values()}
        self.release = source.fingerprint(self.released.values())

    def grade(self, submission):
        """The result of one submission, as plain data."""
        start = time.monotonic()
        result = {
            "assignment": self.assignment.name,
            "student": submission.student,
            "name": submission.name,
            "moodle": submission.moodle,
            "canvas": submission.canvas,
            "file": submission.file,
            "status": "graded",
            "reason": submission.reason,
            "notes": list(submission.notes),
            "cells": [],
        }
        if submission.cells is None:
            result["status"] = "not readable"
            questions = [self._nothing(q, submission.reason) for q in self.assignment.questions]
            answers = {}
        else:
            code, answers, notes = self._sorted_out(submission)
            result["notes"] += notes
            run = _Run(self, code, start + self.limits.total)
            try:
                questions = [run.question(question) for question in self.assignment.questions]
            finally:
                run.close()
            result["cells"] = [
                {
                    "cell": number + 1,
                    "error": text,
                    "defines": sorted(submissions.defined(code[number]) & self.names),
                }
                for number, text in sorted(run.errors.items())
            ]
        result["questions"] = [q | {"label": self.labels[q["name"]]} for q in questions]
        result["written"] = [
            {
                "name": written.name,
                "label": self.labels[written.name],
                "max_score": written.points,
                "rubric": written.rubric,
                "answer": answers.get(written.name, ""),
                "comment": "",
                "score": None if answers.get(written.name) else 0.0,
            }
            for written in self.assignment.written
        ]
        result["score"] = sum(question["score"] for question in questions)
        result["max_score"] = self.assignment.points
        result["seconds"] = round(time.monotonic() - start, 3)
        return result

    def _sorted_out(self, submission):
        """Code to run by position, answers in words, notes."""
        code, answers, notes, asked = {}, {}, [], None
        other = submission.release not in ("", self.release)
        for number, cell in enumerate(submission.cells):
            known = self.texts.get(_squeezed(cell.source))
            released = self.released.get(known or cell.id)
            role = released.role if released else ""
            if cell.kind == "markdown":
                if released is not None:
                    asked = released.name if role == "answer" else self._answer_after(released)
                if asked and not known and role in ("answer", ""):
                    answers.setdefault(asked, []).append(cell.source.strip())
            elif cell.source.strip():
                own = submissions.defined(cell.source) & self.names
                if role == "check" and (known or not own):
                    if not known and not other:  # the checks of another release are others
                        notes.append(f"the check {released.name} was edited; it does not count")
                else:
                    code[number] = cell.source
        everything = [n for s in code.values() for n in submissions.defined(s)]
        definitions = [n for n in everything if n in self.names]
        found = {self.texts.get(_squeezed(cell.source), "setup") for cell in submission.cells}
        if all(cell_id.startswith(("setup", "answer")) for cell_id in found) and (
            other or not definitions
        ):
            notes.append(f"this is not {self.assignment.name.upper()}: none of its cells are in it")
        elif other:
            said = "it was released from another version or another course of this assignment"
            notes.append(said)
        notes += misnamed(self.names, set(everything))
        for name in sorted({n for n in definitions if definitions.count(n) > 1}):
            notes.append(f"{name} is defined {definitions.count(name)} times; the last one counts")
        answers = {name: printable("\n\n".join(texts))[:5000] for name, texts in answers.items()}
        return code, answers, notes

    def _answer_after(self, text):
        """The written question that this text asks: what follows it is an answer, id or not."""
        order = list(self.released.values())
        after = order[order.index(text) + 1 :][:1]
        return after[0].name if after and after[0].role == "answer" else None

    def _nothing(self, question, reason):
        """A question of a submission that could not be read."""
        return {
            "name": question.name,
            "score": 0.0,
            "max_score": question.points,
            "diagnosis": [],
            "feedback": [],
            "note": "",
            "checks": [
                {
                    "name": check.name,
                    "score": 0.0,
                    "max_score": check.points,
                    "passed": False,
                    "message": reason,
                    "values": {},
                }
                for check in question.checks
            ],
        }


class _Run:
    """The processes of one submission."""

    def __init__(self, grader, code, deadline):
        self.grader, self.code, self.deadline = grader, code, deadline
        self.limits, self.answers = grader.limits, grader.answers
        self.errors, self.lives = {}, 0
        cells = grader.limits.cells
        self.seconds = [cells, 2 * cells]  # for cells: the first time, and again
        self.ran = set()  # cells that have been run before
        self.left_out = set()  # cells that ended or hung their process
        self.slow = set()  # cells that were stopped: no second wait for them
        self.quick = set()  # cells that are run again when time is up
        self.all = frozenset(code)
        self.sessions = {}  # open processes, by the cells that they have run
        self.words = True  # whether what an error says is shown

    def close(self):
        """End all processes."""
        while self.sessions:
            self.sessions.popitem()[1].close()

    def _close(self, cells):
        if cells in self.sessions:
            self.sessions.pop(cells).close()

    def question(self, question):
        """Grade one question; where it gives no value, ask once more without the other questions.

        A value, right or wrong, is an answer and is not asked for again: no second guess.
        """
        self.lives = self.limits.lives
        got, changed = self._got(question, self.all, question.checks)
        note = "it changes the array that it is given" if changed else ""
        if question.kind == "call" and not _is_blank(got) and not self._diagnosis(question, got):
            for cells in self._alone(question):
                failed = [c for c in question.checks if isinstance(got[c.name], Raised)]
                if not failed:
                    break
                if self.grader.retries:  # nobody is left who could tell the new process anything
                    self._close(self.all)
                again, _ = self._got(question, cells, failed, patience=1)
                self._close(cells)
                if values := {n: v for n, v in again.items() if not isinstance(v, Raised)}:
                    got |= values
                    note = "something else in the notebook disturbed it; it was graded alone"
        return self._report(question, got, self._diagnosis(question, got), note)

    def _diagnosis(self, question, got):
        """Known mistakes; () if there are none, or none that is known."""
        right = all(self.answers.passes(question, c, got[c.name]) for c in question.checks)
        silent = all(isinstance(g, Raised) and g.error in SILENT for g in got.values())
        return () if right or silent or question.judge else self.answers.diagnose(question, got)

    def _alone(self, question):
        """Smaller choices of cells: without those of other questions; those of this one alone."""
        names = self.grader.names
        owned = {n: submissions.defined(s) & names for n, s in self.code.items()}
        without = frozenset(n for n in self.all if question.name in owned[n] or not owned[n])
        alone = frozenset(n for n in self.all if question.name in owned[n])
        return [cells for cells in (without, alone) if cells and cells != self.all]

    def _opened(self):
        """A process that is ready; that none starts is the machine's fault and costs no points."""
        for wait in WAITS:
            try:
                session = Session(self.grader.box, self.deadline)
                session.open()
                return session
            except (SessionError, OSError) as error:
                why = error
                time.sleep(wait)
        raise SandboxError(f"no process starts in the sandbox: {why}")

    def _start(self, cells):
        """A process in which these cells have run, or None; cells that break it are left out."""
        while cells not in self.sessions and self.lives and time.monotonic() < self.deadline:
            self.sessions[cells] = self._opened()
            try:
                for number in sorted(cells - self.left_out):
                    again = number in self.ran
                    if (left := self.seconds[again]) <= 0 and number not in self.quick:
                        self.errors.setdefault(number, "not run: the cells together took too long")
                        continue
                    message = {"op": "cell", "source": self.code[number], "number": number + 1}
                    seconds = 1 if number in self.slow else self.limits.cell
                    start, stopped = time.monotonic(), True
                    try:
                        reply = self.sessions[cells].ask(message, seconds, most=max(left, 2))
                        stopped = reply.get("error") == "TimeUp"
                    finally:
                        self.ran.add(number)
                        took = time.monotonic() - start
                        # One that has to be stopped leaves half to the others.
                        self.seconds[again] = max(left - took, left / 2 * stopped)
                    if took < 1:
                        self.quick.add(number)
                    if "error" in reply:
                        error = _raised(reply, self.words)
                        self.errors.setdefault(number, self._said(error, self.limits.cell))
                    if stopped:
                        self.slow.add(number)
            except SessionError as error:
                self.lives -= 1
                self._close(cells)
                self.left_out.add(number)
                self.errors[number] = f"the process {error}"
        return self.sessions.get(cells)

    def _got(self, question, cells, checks, patience=2):
        """What the student's code gives on these checks, and whether it changed its input."""
        got, changed, lost = {}, False, 0
        for check in checks:
            session = self._start(cells) if lost < patience else None
            if session is None:
                why = "calls before it took too long" if lost else "the notebook could not be run"
                got[check.name] = Raised("NotRun", f"not run: {why}")
                continue
            message = {"op": question.kind, "name": question.name}
            if question.kind == "call":
                message |= {"args": check.args, "kwargs": check.kwargs, "given": question.given}
            self.words = not self.grader.retries  # from here on the input is known
            start = time.monotonic()
            try:
                reply = session.ask(message, self.limits.call, self._serve(question))
            except SessionError as error:
                self.lives -= 1
                self._close(cells)
                got[check.name] = Raised("Died", f"the process {error}")
                lost += 1
                continue
            if "error" in reply:
                got[check.name] = _raised(reply, self.words)
                if reply["error"] == "TimeUp":  # it may have been stopped in mid-sentence
                    self._close(cells)
                    lost += 1
                    continue
            else:
                got[check.name] = settled(question, reply.get("value"))
                changed |= reply.get("changed") is True
            # Asleep is lost as well; on a busy machine a call may take longer than its limit.
            lost += time.monotonic() - start > PATIENCE * self.limits.call
        return got, changed

    def _serve(self, question):
        """Answers to calls of earlier functions, from the reference, for small inputs."""

        def serve(need):
            name, args, kwargs = need.get("need"), need.get("args"), need.get("kwargs")
            if not (isinstance(name, str) and name in question.given and isinstance(args, tuple)):
                return {"error": "Refused", "text": "not given here"}
            if not (isinstance(kwargs, dict) and _small((*args, *kwargs.values()))):
                return {"error": "Refused", "text": "the arguments are no small arrays or numbers"}
            with np.errstate(all="ignore"):
                try:
                    value = self.grader.reference[name](*args, **kwargs)
                except Exception as error:  # the student's arguments, the reference's complaint
                    return {"error": type(error).__name__, "text": str(error)[:300]}
            return {"value": value}

        return serve

    def _report(self, question, got, diagnosis, note):
        checks, values = [], {}
        for check in question.checks:
            passed = self.answers.passes(question, check, got[check.name])
            message = "" if passed else self._message(question, check, got[check.name])
            explained = passed or diagnosis or values  # the values of one check are enough
            values = values if explained else self._values(question, check, got[check.name])
            checks.append(
                {
                    "name": check.name,
                    "score": check.points * passed,
                    "max_score": check.points,
                    "passed": passed,
                    "message": message,
                    "values": {} if explained else values,
                }
            )
        return {
            "name": question.name,
            "score": sum(c["score"] for c in checks),
            "max_score": question.points,
            "diagnosis": [m.name for m in diagnosis],
            "feedback": [m.sentence for m in diagnosis],
            "note": note,
            "checks": checks,
        }

    def _message(self, question, check, got):
        if isinstance(got, Raised):
            return self._said(got, self.limits.call)
        if question.judge:
            return question.judge(got)
        want, mine = shape_of(self.answers.known(question, check)), in_a_line(shape_of(got))
        if mine == want:
            return check.hint
        said = "This asks for" if self.grader.retries else f"You gave {mine}; this asks for"
        return f"{said} {want}. {check.hint}"

    def _said(self, raised, seconds):
        """An error as a sentence."""
        if raised.error == "TimeUp":
            return f"it did not end within {seconds:g} seconds of processor time"
        if raised.error in NOT_WRITTEN:
            return NOT_WRITTEN[raised.error]
        if raised.error in ("Missing", "NotRun", "Died"):
            return raised.text or "nothing of that name is defined"
        if not self.words:
            return UNTOLD
        said = f"{raised.error}: {raised.text}" if raised.text else raised.error
        return f"{said} (line {raised.line} of the cell)" if raised.line else said

    def _values(self, question, check, got):
        """The failing input and both values, short, for a mistake that nobody knows."""
        if question.judge or (isinstance(got, Raised) and got.error in SILENT):
            return {}
        call = [_shown(a) for a in check.args] + [
            f"{k}={_shown(v)}" for k, v in check.kwargs.items()
        ]
        mine = f"{got.error}" if isinstance(got, Raised) else _shown(got)
        between = ",\n" if any("\n" in argument for argument in call) else ", "
        return {
            "input": f"{question.name}({between.join(call)})"
            if question.kind == "call"
            else question.name,
            "yours": mine,
            "right": _shown(self.answers.known(question, check)),
        }


def _is_blank(got):
    return all(
        isinstance(g, Raised) and g.error in ("NotImplementedError", "Missing")
        for g in got.values()
    )


def _squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def _raised(reply, with_words):
    """An error as the student's process tells it: untrusted words, cut short or left out."""
    name = in_a_line(reply["error"]) or "Exception"
    if with_words:
        return Raised(name, in_a_line(reply["text"], 300), reply.get("line"))
    known = name in SILENT or hasattr(builtins, name)  # by it a known mistake is recognized
    return Raised(name if known else "Exception")


def _small(values):
    """Whether untrusted arguments cannot make the reference work hard."""
    arrays = [as_array(value) for value in values if value is not None]
    if any(array is None for array in arrays):
        return False
    return all(map(_is_small, arrays)) and _work(arrays) <= 2**18


def _work(arrays):
    """The most numbers that broadcasting and matrix products make of arrays.

    All leading axes together, times three of the longest: queries, keys, and heads or features.
    """
    leading = zip_longest(*(array.shape[-3::-1] for array in arrays), fillvalue=1)
    longest = max((n for array in arrays for n in array.shape), default=1)
    return math.prod(map(max, leading)) * longest**3


def _is_small(array):
    if array.ndim > 4 or array.dtype.kind not in "biuf":
        return False
    if array.dtype.kind in "iu" or array.size == 1:  # what may be taken for a size
        return bool(((array >= -1000) & (array <= 1000) | ~np.isfinite(array)).all())
    return True


def _shown(value):
    return printable(_written(value))


def _written(value, most=1200):
    """A value as text, made of at most so many characters: nothing large is ever written out."""
    if isinstance(value, tuple):
        parts = []
        for part in value[:4]:
            parts.append(_written(part, most) if most > 0 else "…")
            most -= len(parts[-1])
        return "(" + ",\n".join(parts) + ")"
    if isinstance(value, np.ndarray):
        if value.ndim and value[:8].size > 2000:  # NumPy never abbreviates short axes
            return f"numbers of shape {value.shape}"
        text = np.array2string(
            value[:8] if value.ndim else value,
            precision=4,
            max_line_width=64,
            threshold=80,
            separator=", ",
            suppress_small=True,
        )
        return text if len(text) < most else text[:most] + " …"
    if isinstance(value, str):
        return repr(value[:300])
    return (
        repr(value)
        if isinstance(value, bool | int | float | Other | None)
        else type(value).__name__
    )
