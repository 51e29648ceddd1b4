"""Export for a JupyterHub with nbgrader: a course folder that nbgrader itself releases and grades.

nbgrader runs the tests in the student's own process, so a submission there can forge points; and
it names no mistakes. The points of honest submissions are the same.
"""

import json
import re

import numpy as np

from coursework import files, release, source

CONFIG = """c = get_config()
c.CourseDirectory.course_id = {course!r}
c.ClearSolutions.code_stub = {{"python": "# Your code goes here.\\nraise NotImplementedError"}}
c.ClearSolutions.text_stub = {stub!r}
"""

# One hidden test: everything it needs is in the cell, the reference of earlier functions too.
TEST = """# Graded: {question}, {check}.
### BEGIN HIDDEN TESTS
def _graded():
    import warnings

    import numpy as np
    from numpy import array, inf, nan

    def same(got, want):
        if isinstance(want, str):
            return isinstance(got, str) and got.strip() == want
        if isinstance(want, tuple):
            fits = isinstance(got, tuple | list) and len(got) == len(want)
            return fits and all(same(g, w) for g, w in zip(got, want))
        got, want = np.asarray(got), np.asarray(want)
        if got.dtype.kind not in "biuf" or (got.dtype == bool) != (want.dtype == bool):
            return False
        return got.shape == want.shape and np.allclose(got, want, {rtol}, {atol}, equal_nan=True)

    own = {{name: globals().get(name) for name in {given!r}}}
    try:
        with warnings.catch_warnings():  # nbgrader takes anything on the error stream for a failure
            warnings.simplefilter("ignore")
            exec({reference!r}, globals())
            {verdict}
    finally:
        globals().update(own)


_graded()
### END HIDDEN TESTS"""
COMPARE = "assert same({get}, {want}), {hint!r}"
JUDGE = "exec({judge!r}, globals()); assert not judge({name}), judge({name})"


def export(assignment, out):
    """Write ``source/NAME/NAME.ipynb`` and a configuration; returns the notebook's path."""
    released = json.loads(release.release(assignment))
    reference = release.run_visible_checks(assignment)
    solutions = {c.name: c.source for c in release.solved_cells(assignment) if c.role == "solution"}
    questions = {question.name: question for question in assignment.questions}
    points = {written.name: written.points for written in assignment.written}
    made = []
    for cell in source.cells(assignment.text):
        made.append(_cell(cell.id, cell.source, cell.is_code, **_roles(cell, points)))
        if cell.role == "solution":
            for check in questions[cell.name].checks:
                test = _test(questions[cell.name], check, reference, solutions)
                name = f"graded-{cell.name}-{re.sub(r'[^a-z0-9]+', '_', check.name.lower())}"
                made.append(_cell(name, test, True, grade=True, locked=True, points=check.points))
    book = released | {"cells": made}
    path = out / "source" / assignment.name / f"{assignment.name}.ipynb"
    files.write(path, json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    config = CONFIG.format(course="attention", stub=source.ANSWER_STUB)
    files.write(out / "nbgrader_config.py", config)
    return path


def _roles(cell, points):
    if cell.role == "solution":
        return {"solution": True}
    if cell.role == "answer":
        return {"solution": True, "grade": True, "points": points[cell.name]}
    return {"locked": True}


def _cell(cell_id, text, is_code, **roles):
    kind = "code" if is_code else "markdown"
    said = {"grade": False, "solution": False, "locked": False, "task": False} | roles
    said |= {"schema_version": 3, "grade_id": cell_id, "cell_type": kind}
    made = {"cell_type": kind, "id": cell_id[:64], "metadata": {"nbgrader": said}}
    made["source"] = text.splitlines(keepends=True)
    return made | ({"execution_count": None, "outputs": []} if is_code else {})


def _test(question, check, reference, solutions):
    """Source of one hidden test."""
    if question.judge:
        verdict = JUDGE.format(judge=question.judge_source, name=question.name)
    else:
        get, want = question.name, reference[question.name]
        if question.kind == "call":
            given = [literal(a) for a in check.args]
            given += [f"{name}={literal(a)}" for name, a in check.kwargs.items()]
            get = f"{question.name}({', '.join(given)})"
            with np.errstate(all="ignore"):
                want = want(*check.args, **check.kwargs)
        verdict = COMPARE.format(get=get, want=literal(want), hint=check.hint)
    earlier = "\n\n".join(solutions[name] for name in question.given)
    return TEST.format(
        question=question.name,
        check=check.name,
        rtol=1e-5,
        atol=check.atol,
        given=question.given,
        reference=earlier,
        verdict=verdict,
    )


def literal(value):
    """A value as Python source, exactly."""
    if isinstance(value, tuple):
        return "(" + "".join(literal(part) + ", " for part in value) + ")"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return f"array({array.tolist()!r}, dtype={str(array.dtype)!r}).reshape({array.shape})"
    return repr(value)
