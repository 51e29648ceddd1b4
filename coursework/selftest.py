"""An assignment proves itself before anybody is graded by it."""

import contextlib
import io
from functools import partial

import numpy as np

from coursework import release, source
from coursework.grading import Grader
from coursework.marking import Answers
from coursework.submissions import Submission, read


def selftest(assignment, box):
    """Everything that is wrong with an assignment, as sentences; [] if nothing is.

    - the solved notebook gets all points, the released one none, both as real submissions;
    - each known mistake loses exactly the checks that ``losses.json`` declares, and is named;
    - no check is one that nobody can fail.
    """
    faults = _notebooks(assignment, box)
    killed = kills(assignment)
    for question in assignment.questions:
        declared = assignment.losses.get(question.name, {})
        for mistake in question.mistakes:
            lost, named = killed[question.name][mistake.name]
            label = f"{question.name}, {mistake.name}"
            if not lost:
                faults.append(f"{label}: passes every check")
            elif named != [mistake.name]:
                faults.append(f"{label}: is taken for {' + '.join(named) or 'nothing known'}")
            if assignment.course.key is None and declared.get(mistake.name) != lost:
                faults.append(f"{label}: loses {lost}, declared {declared.get(mistake.name)}")
        faults += _forms(question)
        for check in question.checks:
            if not any(check.name in lost for lost, _ in killed[question.name].values()):
                faults.append(f"{question.name}, check {check.name!r}: no known mistake fails it")
        if assignment.course.key is None and set(declared) - {m.name for m in question.mistakes}:
            faults.append(f"{question.name}: losses.json declares mistakes that do not exist")
    return faults


def _forms(question):
    """Forms of a mistake that are taken for another one."""
    answers, faults = Answers(), []
    for form in question.forms:
        got = {c.name: answers.known(question, c, (form,)) for c in question.checks}
        if (named := [m.name for m in answers.diagnose(question, got)]) != [form.name]:
            label = f"{question.name}, {form.name} ({form.position})"
            faults.append(f"{label}: is taken for {' + '.join(named)}")
    return faults


def kills(assignment):
    """By question and mistake: the checks it fails and the names it is given."""
    answers = Answers()
    found = {}
    for question in assignment.questions:
        found[question.name] = {}
        for mistake in question.mistakes:
            got = {c.name: answers.known(question, c, (mistake,)) for c in question.checks}
            lost = [c.name for c in question.checks if not answers.passes(question, c, got[c.name])]
            if question.judge:
                named = [mistake.name]
            else:
                named = [m.name for m in answers.diagnose(question, got)]
            found[question.name][mistake.name] = lost, named
    return found


def losses(assignment):
    """What ``losses.json`` should say."""
    return {
        question: {mistake: lost for mistake, (lost, _) in mistakes.items()}
        for question, mistakes in kills(assignment).items()
    }


def submitted(assignment, cells):
    """A submission of these cells, through the text of a notebook as everybody's is."""
    found, notes, _ = read(source.notebook(cells, assignment.name).encode())
    return Submission("selftest", "selftest", "selftest.ipynb", found, notes=notes)


def _notebooks(assignment, box):
    faults = []
    grader = Grader(assignment, box)
    solved = grader.grade(submitted(assignment, release.solved_cells(assignment)))
    for question in solved["questions"]:
        for check in question["checks"]:
            if not check["passed"]:
                faults.append(f"reference, {question['name']}, {check['name']}: {check['message']}")
    faults += [f"reference, cell {c['cell']}: {c['error']}" for c in solved["cells"]]
    blank = grader.grade(submitted(assignment, release.student_cells(assignment)))
    if blank["score"]:
        faults.append(f"the released notebook scores {blank['score']:g}")
    if any(w["score"] != 0 for w in blank["written"]):
        faults.append("the released notebook answers a written question")
    return faults


def visible(assignment):
    """By question and mistake: what the visible check says to it, "" if it lets it pass."""
    cells = {c.name: c.source for c in source.cells(assignment.text) if c.role == "check"}
    reference = release.run_visible_checks(assignment)
    found = {}
    for question in assignment.questions:
        if question.name not in cells or question.kind != "call":
            continue
        found[question.name] = {}
        for mistake in question.mistakes:
            space = reference | {question.name: partial(question.known, **mistake.switches)}
            try:
                with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                    exec(compile(cells[question.name], "<visible check>", "exec"), space)
                said = ""
            except Exception as error:  # whatever the check or the mistake raises
                said = str(error) or type(error).__name__
            found[question.name][mistake.name] = said
    return found
