"""Write the page of the book that shows which planted mistakes are caught."""

import re
from itertools import groupby

from tests.mutation.measure import ROOT, measure
from tests.mutation.table import TABLE
from tests.notebooks.checks import headings, read

PAGE = ROOT / "book" / "mutation_report.md"
INTRODUCTION = """\
# Which mistakes the checks catch

A test that passes tells you little until you have seen it fail. So break something on purpose and \
look: does anybody notice?

That is a **mutation check**, and this page is its result. Each mistake below is planted into \
`attention_utils`, one at a time. Then two things are run again: one unit test, and one chapter up \
to the cell named here. The test must fail, and the cell must print something else than what you \
read in the chapter, or stop with an error. Only if both happen does the mistake count as caught.

One more run keeps this honest. The formula as it is written, with no mistake in it, is planted in \
the same way, and then every chapter must come out as you read it. Two cells may differ, because \
there the formula as it is written is the mistake: in chapter 3 a hidden value is `nan`, and in \
chapter 8 the numbers are too large for half precision.

What does this not prove? That there are no other mistakes. Most of these are mistakes that people \
have made, in published material or in answers to exercises; the others were made up for this \
check. A mistake that nobody has thought of has no row here.
"""
HEAD = """\
| the mistake, and where it was seen | who must notice it | caught |
| :-- | :-- | :-- |
"""


def page(planted, measured):
    """Return the page, in Markdown, for these planted mistakes."""
    caught = sum(measured[one.name].killed for one in planted)
    parts = [INTRODUCTION, f"**Caught: {caught} of {len(planted)}.**\n"]
    for chapter, ones in groupby(planted, key=lambda one: one.chapter):
        notebook = read(ROOT / "chapters" / f"{chapter}.ipynb")
        title = headings(notebook.cells[0].source)[0][1]
        rows = [row(one, notebook, measured[one.name]) for one in ones]
        parts.append(f"## Chapter {title}\n\n{HEAD}{''.join(rows)}")
    return "\n".join(parts)


def row(one, notebook, noticed):
    file, test = re.fullmatch(r"test_(\w+)\.py::test_(\w+(?:\[.+\])?)", one.units[0]).groups()
    test = test.replace("[", " (").replace("]", ")")
    cell = f"[{one.cell}](../chapters/{one.chapter}.ipynb{anchor(one, notebook)})"
    columns = [
        f"{one.sentence}<br>{seen_in(one.source)}",
        f"test *{file}: {test}*".replace("_", " ") + f"<br>cell {cell}",
        "yes" if noticed.killed else "**no**",
    ]
    return f"| {' | '.join(columns)} |\n"


def seen_in(source):
    """Say where a mistake was seen; `owner/name, issue 1` becomes a link to it."""
    if source == "exercise":
        return "Seen in answers to exercises."
    if not source:
        return "Made up."

    def link(match):
        owner, name, kind, number = match.groups()
        place = {"issue": "issues", "pull request": "pull"}[kind]
        text = f"{name.replace('_', ' ')}, {kind} {number}"
        return f"[{text}](https://github.com/{owner}/{name}/{place}/{number})"

    linked = re.sub(r"([\w-]+)/([\w.-]+), (issue|pull request) (\d+)", link, source)
    return f"Seen in {linked}." if linked != source else f"{source[0].upper()}{source[1:]}."


def anchor(one, notebook):
    """Return the link to the last heading above the cell, nothing if that is the title."""
    ids = [cell.id for cell in notebook.cells]
    above = notebook.cells[: ids.index(one.cell)]
    text = "\n\n".join(cell.source for cell in above if cell.cell_type == "markdown")
    level, _, slug = headings(text)[-1]
    return "" if level == 1 else f"#{slug}"


if __name__ == "__main__":
    PAGE.write_text(page(TABLE, measure(TABLE)), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
