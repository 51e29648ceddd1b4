"""The solved source of an assignment: Markdown with marked cells, and the notebooks made of it.

Text is text. Code cells are fences with a role::

    ```python setup            runs first, the same for everybody
    ```python solution NAME    between ### BEGIN SOLUTION and ### END SOLUTION: removed
    ```python check NAME       the visible check of NAME
    ```answer NAME             a model answer in words: removed

Every other fence belongs to the text.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "raise NotImplementedError"
ANSWER_STUB = "*Write your answer here.*"
FENCE = re.compile(r"```(?:python (setup|solution|check)|(answer))(?: (\w+))?$")
ALMOST = re.compile(r"\s*```+\s*(python\s+(setup|solution|check)|answer)\b")


@dataclass(frozen=True)
class Cell:
    """One cell: its id, its role ("text", "setup", "solution", "check", "answer"), its source."""

    id: str
    role: str
    name: str
    source: str

    @property
    def is_code(self):
        """Whether it runs."""
        return self.role in ("setup", "solution", "check")


def cells(text):
    """The cells of a source, in order."""
    if unfilled := re.findall(r"<<\w+>>", text):
        raise ValueError(f"nothing fills in {', '.join(sorted(set(unfilled)))}")
    found, lines, texts = [], [], 0
    role = name = None

    def close():
        nonlocal lines, texts
        source = "\n".join(lines).strip("\n")
        lines = []
        if role is None and source.strip():
            texts += 1
            found.append(Cell(f"text-{texts}", "text", "", source))
        elif role is not None:
            cell_id = "-".join(part for part in (role, name) if part)
            found.append(Cell(cell_id, role, name or "", source))

    for line in text.split("\n"):
        if role is None and (fence := FENCE.match(line)):
            close()
            role, name = fence[1] or fence[2], fence[3]
        elif role is None and ALMOST.match(line):  # as text it would show the solution
            raise ValueError(f"{line!r} is no cell: ```python solution NAME, ```answer NAME")
        elif role is not None and line == "```":
            close()
            role = name = None
        else:
            lines.append(line)
    if role is not None:
        raise ValueError(f"the cell {role} {name} is not closed")
    close()
    if len({cell.id for cell in found}) < len(found):
        raise ValueError("two cells have the same role and name")
    return found


def labels(text):
    """By name of a solution or answer: what the text calls it, "6a" or "7", where it has to."""
    found, task, letter = {}, "", ""
    for cell in cells(text):
        if cell.role == "text":
            if numbers := re.findall(r"^## Task (\d+)\.", cell.source, re.M):
                task, letter = numbers[-1], ""
            if letters := re.findall(r"^\*\*(\w)\.\*\*", cell.source, re.M):
                letter = letters[-1]
        elif cell.role == "solution":
            found[cell.name] = f"{task}{letter}" if letter else ""
        elif cell.role == "answer":
            found[cell.name] = task
    return found


def without_solution(cell):
    """The cell as a student gets it."""
    if cell.role == "answer":
        return replace(cell, source=ANSWER_STUB)
    if cell.role != "solution":
        return cell
    if cell.source.count(BEGIN) != 1 or cell.source.count(END) != 1:
        raise ValueError(f"{cell.id} needs one {BEGIN} and one {END}")
    before, rest = cell.source.split(BEGIN)
    after = rest.split(END)[1]
    indent = before[before.rfind("\n") + 1 :]
    stub = f"# Your code goes here.\n{indent}{STUB}" if indent else ""  # a variable keeps its "..."
    return replace(cell, source=f"{before}{stub}{after}".rstrip())


def solved(cell):
    """The cell with its solution, without the markers."""
    kept = [line for line in cell.source.split("\n") if line.strip() not in (BEGIN, END)]
    return replace(cell, source="\n".join(kept))


def fingerprint(some_cells):
    """Eight hex digits that change with the text of a notebook."""
    text = json.dumps([(cell.id, cell.source) for cell in some_cells])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def notebook(some_cells, assignment):
    """Text of a notebook file: the same cells give the same bytes."""
    made = []
    for cell in some_cells:
        metadata = {"coursework": {"role": cell.role, "name": cell.name}}
        if cell.role not in ("solution", "answer"):
            metadata |= {"deletable": False, "editable": False}
        entry = {
            "cell_type": "code" if cell.is_code else "markdown",
            "id": cell.id,
            "metadata": metadata,
            "source": cell.source.splitlines(keepends=True),
        }
        made.append(entry | ({"execution_count": None, "outputs": []} if cell.is_code else {}))
    book = {
        "cells": made,
        "metadata": {
            "coursework": {"assignment": assignment, "release": fingerprint(some_cells)},
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
