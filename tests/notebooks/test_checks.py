"""Each check of notebooks and pages can fail, and says where."""

from decimal import Decimal
from types import SimpleNamespace

import nbformat
import pytest

from tests.notebooks import checks

ALT = "The weights of the four keys rise from 0.1 to 0.4."
VIEW, STATE = checks.WIDGET_VIEW, checks.WIDGET_STATE


def md(source, name="text"):
    return nbformat.v4.new_markdown_cell(source, id=name)


def code(source="x", *outputs, name="code", count=1, tags=()):
    return nbformat.v4.new_code_cell(
        source,
        id=name,
        outputs=list(outputs),
        execution_count=count,
        metadata={"tags": list(tags)},
    )


def said(text, stream="stdout"):
    return nbformat.v4.new_output("stream", name=stream, text=text)


def shown(**data):
    names = {"png": "image/png", "svg": "image/svg+xml", "text": "text/plain", "html": "text/html"}
    return nbformat.v4.new_output("display_data", {names[key]: v for key, v in data.items()})


def view(name):
    return nbformat.v4.new_output("display_data", {VIEW: {"model_id": name}})


def book(*cells, widgets=None):
    metadata = {"widgets": {STATE: {"state": widgets}}} if widgets else {}
    return nbformat.from_dict(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)}
    )


def stack(frames):
    children = [f"IPY_MODEL_f{n}" for n in range(frames)]
    return {"model_name": "StackModel", "state": {"children": children}}


def frame(value):
    return {"model_name": "HTMLModel", "state": {"value": value}}


GOOD = book(
    md("# One\n\nThe sum is 0.75, `[0.75]`, $0.75$, by 0.25 per step. `f(0.1)` is code.", "a"),
    md("## Two\n\n### Three\n\n```python\n0.99\n```\n\n## Four", "b"),
    code("x = y / 4", said("0.750\n"), shown(html='<td style="--w:0.333">0.25</td>'), name="c"),
    code("fig", shown(png="", svg='<svg role="img" aria-label="x">', text=ALT), name="d", count=2),
    code("w", view("s"), name="e", count=3),
    widgets={"s": stack(1), "f0": frame("<b>0.5</b>")},
)
BAD = [
    (checks.executed_in_order, book(code(count=None))),
    (checks.executed_in_order, book(code(count=2))),
    (checks.executed_in_order, book(code(count=1), code(count=3))),
    (checks.format_and_ids, book(code(name="same"), md("x", "same"))),
    (checks.format_and_ids, book({"cell_type": "markdown", "source": "", "metadata": {}})),
    (checks.format_and_ids, nbformat.from_dict({**book(), "nbformat_minor": 4})),
    (checks.no_errors, book(code("x", said("careful", "stderr")))),
    (checks.no_errors, book(code("x", nbformat.v4.new_output("error")))),
    (checks.short_cells, book(md("x" * 1801))),
    (checks.notebook_headings, book(md("Text without a heading"))),
    (checks.notebook_headings, book(md("# One\n\n# Another"))),
    (checks.notebook_headings, book(md("## Two\n\n# One"))),
    (checks.notebook_headings, book(md("# One", "a"), md("### Three", "b"))),
    (checks.figures_described, book(code("x", shown(png="")))),
    (checks.figures_described, book(code("x", shown(png="", text="Too short, though with 1")))),
    (
        checks.figures_described,
        book(code("x", shown(png="", text="A sentence that has no number in it at all."))),
    ),
    (checks.figures_described, book(code("x", shown(png="", text=f"<Figure with 1 Axes {ALT}>")))),
    (checks.figures_described, book(code("x", shown(svg="<svg>", text=ALT)))),
    (checks.notebook_images, book(md("![short](a.png)"))),
    (checks.notebook_images, book(md('<img src="a.png">'))),
    (checks.widgets_stored, book(code("x", view("s")))),
    (checks.widgets_stored, book(code("x", view("s")), widgets={"s": stack(1)})),
    (checks.few_frames, book(code(), widgets={"s": stack(41)})),
    (checks.unproved_numbers, book(md("# One\n\nIt is 0.5."), code("x", said("0.25")))),
    (checks.unproved_numbers, book(md("It is 0.5."), code("x = 0.5", said("0.5")))),
    (checks.unproved_numbers, book(md("It is 0.5."), code("x = .50", said("0.5")))),
    (checks.unproved_numbers, book(md("It is −0.5."), code("x", said("0.5")))),
    (checks.unproved_numbers, book(md("It is $-0.5$."), code("x", said("0.5")))),
    (checks.unproved_numbers, book(md("It is 0.5."), code("x", said("-0.5")))),
    (checks.unproved_numbers, book(md("It is `[0.5, 1]`."), code())),
    (checks.unproved_numbers, book(md("```{math}\n0.5\n```"), code())),
    (checks.unproved_numbers, book(md("| a |\n|--|\n| 0.5x |"), code())),
    (checks.unproved_numbers, book(md("It is 0.5."), code("assert 0.5 == 0.5"))),
    (checks.unproved_numbers, book(md("It is 0.5."), code("x", shown(html='<b w="0.5">')))),
    (checks.unproved_numbers, book(md("It is 0.5."), code(), widgets={"f0": frame("0.5")})),
]


@pytest.mark.parametrize("check", {check for check, _ in BAD}, ids=lambda check: check.__name__)
def test_a_good_notebook_passes(check):
    assert check(GOOD) == []


@pytest.mark.parametrize(("check", "notebook"), BAD, ids=lambda part: getattr(part, "__name__", ""))
def test_a_bad_notebook_fails(check, notebook):
    assert len(check(notebook)) == 1


def test_the_settings_at_the_top_of_a_page_are_no_heading():
    assert checks.heading_structure("---\nkey: value\n---\n\n# One\n\n## Two\n") == []


@pytest.mark.parametrize(
    "cell",
    [
        code("x", said("0.500")),
        code("x", said("w=0.5,0.25")),
        code("x", shown(text="array([0.5])")),
        code("x", shown(html="<td>0.5</td>")),
        code("assert round(x, 1) == 0.5"),
        code("x", view("s")),
    ],
    ids=["printed", "in a list", "value", "table", "asserted", "widget"],
)
def test_a_computed_number_is_found(cell):
    widgets = {"s": stack(1), "f0": frame("<td>0.5</td>")}
    assert checks.unproved_numbers(book(md("It is 0.5."), cell, widgets=widgets)) == []


def test_the_cell_and_the_number_are_named():
    assert checks.unproved_numbers(book(md("It is 0.70.", "here"))) == [("here", "0.70")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.5, .25 and 1.5e-3", ["0.5", "0.25", "0.0015"]),
        ("-0.5 (−0.25) $e^{-0.125}$", ["-0.5", "-0.25", "-0.125"]),
        ("0.2-0.5 and 1-0.75", ["0.2", "0.5", "0.75"]),
        ("2.5x, \\times0.5", ["2.5", "0.5"]),
        ("version 1.0.4, 12 and 3.", []),
        ("It is 0.5. And 0.25.", ["0.5", "0.25"]),
    ],
)
def test_what_a_decimal_number_is(text, found):
    assert checks.numbers(text) == {Decimal(number) for number in found}


def test_what_claims_nothing():
    assert not checks.numbers(
        checks.claims("[x](https://a.org/1.5) <https://a.org/1.5> `f(1.5)` <a id='1.5'></a>")
    )
    assert not checks.numbers(checks.claims("```\n1.5\n```\n\n~~~python\n1.5\n~~~"))


@pytest.mark.parametrize(
    "cell",
    [
        code(tags=["nbval-ignore-output"]),
        code(tags=["nbval-skip"]),
        code(tags=["raises-exception"]),
        code(tags=["skip-execution"]),
        code("# NBVAL_IGNORE_OUTPUT\nx"),
        code("# PYTEST_VALIDATE_IGNORE_OUTPUT\nx"),
    ],
)
def test_a_cell_with_weaker_checks_is_found(cell):
    assert [name for name, _ in checks.weakened_checks(book(cell))] == ["code"]
    assert checks.weakened_checks(book(code(tags=["hide-input"]))) == []


def test_links(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A *title* of `code`\n\n## Twice\n\n## Twice\n\n(here)=\n\n###### Deep\n")
    path = tmp_path / "from.md"
    for target in ("page.md", "page.md#a-title-of-code", "page.md#twice-1", "page.md#here"):
        assert checks.broken_links(f"[x]({target})", path) == []
    for target in ("gone.md", "page.md#gone", "page.md#twice-2", "page.md#deep"):
        assert len(checks.broken_links(f"[x]({target})", path)) == 1
        assert len(checks.broken_links(f'<a href="{target}">x</a>', path)) == 1
    assert len(checks.broken_links("![x](gone.png)", path)) == 1
    assert checks.broken_links("[x](https://example.org/gone)", path) == []


def test_links_into_notebooks(tmp_path):
    (tmp_path / "n.ipynb").write_text(nbformat.writes(book(md("# One", "a"), md("## Two", "b"))))
    path = tmp_path / "from.md"
    assert checks.broken_links("[x](n.ipynb#two)", path) == []
    assert len(checks.broken_links("[x](n.ipynb#three)", path)) == 1


@pytest.mark.parametrize(
    "text",
    ["see /" + "tmp/x", "in /" + "home/me", "C:" + "\\Users", "https://" + "pypi" + ".org/simple"],
)
def test_private_details(text):
    assert len(checks.private_details(text)) == 1
    assert checks.private_details("a/tmp/b, ./work/x, numpy.org, PyPI") == []


def test_table_of_contents():
    def toc(*names):
        return {"parts": [{"chapters": [{"file": f"chapters/{name}"} for name in names]}]}

    assert checks.chapters_in_order(toc("01_a", "02_b"), ["02_b", "01_a"]) == []
    for listed, there in [
        (["02_b", "01_a"], ["01_a", "02_b"]),
        (["01_a"], ["01_a", "02_b"]),
        (["01_a", "02_b"], ["01_a"]),
    ]:
        assert len(checks.chapters_in_order(toc(*listed), there)) == 1


def test_a_stored_notebook_is_read_as_it_is():
    text = '{"cells": [{"cell_type": "markdown", "source": ["a\\n", "b"], "metadata": {}}], %s}'
    path = SimpleNamespace(
        read_text=lambda _: text % '"nbformat": 4, "nbformat_minor": 5, "metadata": {}'
    )
    notebook = checks.read(path)
    assert notebook.cells[0].source == "a\nb"
    assert len(checks.format_and_ids(notebook)) == 1  # the id was not added on the way
