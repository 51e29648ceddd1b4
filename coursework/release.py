"""The notebook that students get."""

import contextlib
import io

import numpy as np

from coursework import source


class ReleaseError(Exception):
    """The source is not fit to be released; the text says why."""


def student_cells(assignment):
    """The cells of the student notebook."""
    return [source.without_solution(cell) for cell in source.cells(assignment.text)]


def solved_cells(assignment):
    """The cells of the reference: what somebody with full marks hands in."""
    return [source.solved(cell) for cell in source.cells(assignment.text)]


def release(assignment):
    """Text of the student notebook; refuses a source that contradicts itself."""
    run_visible_checks(assignment)
    cells = student_cells(assignment)
    text = source.notebook(cells, assignment.name)
    for secret in secrets(assignment):
        if secret in "\n".join(cell.source for cell in cells):
            raise ReleaseError(f"the student notebook would contain the solution line {secret!r}")
    return text


def run_visible_checks(assignment):
    """Run the solved source in this process: it is the instructor's own code."""
    space = {"__name__": "__main__", "np": np}
    for cell in solved_cells(assignment):
        if cell.is_code:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, f"<{assignment.name} {cell.id}>", "exec"), space)
            except Exception as error:
                raise ReleaseError(
                    f"{assignment.name}: {cell.id} fails with the reference solution: "
                    f"{type(error).__name__}: {error}"
                ) from error
    for question in assignment.questions:
        if question.name not in space:
            raise ReleaseError(f"{assignment.name}: no solution cell defines {question.name}")
    asked = {cell.name for cell in source.cells(assignment.text) if cell.role == "answer"}
    read = {written.name for written in assignment.written}
    for name in sorted(asked - read):
        raise ReleaseError(
            f'{assignment.name}.md has the fence "answer {name}", but {assignment.name}.py no '
            f"Written({name!r}, points, rubric): what students write there would be lost"
        )
    for name in sorted(read - asked):
        raise ReleaseError(
            f"{assignment.name}.py has Written({name!r}, ...), but {assignment.name}.md no fence "
            f'"answer {name}" to write in'
        )
    return space


def secrets(assignment):
    """Lines that must never reach a student: of solutions, model answers and feedback."""
    found, cells = [], source.cells(assignment.text)
    given = "\n".join(cell.source for cell in cells if cell.role == "setup")
    for cell in cells:
        if cell.role == "solution":
            inside = cell.source.split(source.BEGIN)[1].split(source.END)[0]
            lines = (line.strip() for line in inside.split("\n"))
            found += [line for line in lines if len(line) > 20 and line not in given]
        elif cell.role == "answer":
            found += [line.strip() for line in cell.source.split("\n") if len(line.strip()) > 20]
    found += [
        mistake.sentence
        for question in assignment.questions
        for mistake in (*question.mistakes, *question.forms)
    ]
    found += [check.hint for question in assignment.questions for check in question.checks]
    return [text for text in found if text]
