"""Pages made for paper: the cheat sheet is one page, each worksheet begins on its own."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from website import maths


def paper(tab, address, page):
    """The number of pages that a browser prints."""
    tab.page.goto(address(f"book/{page}.html"))
    return len(re.findall(rb"/Type /Page\b(?!s)", tab.page.pdf(prefer_css_page_size=True)))


@pytest.mark.parametrize(
    ("page", "count"),
    [("cheat_sheet", 1), ("worksheets", 7)],  # five sheets between an opening and a last page
)
def test_pages_on_paper(open_tab, address, page, count):
    assert paper(open_tab(), address, page) == count


def test_worksheets_show_no_code_on_paper(open_tab, address):
    tab = open_tab()
    tab.page.goto(address("book/worksheets.html"))
    tab.page.emulate_media(media="print")
    assert tab.page.locator(".folded:visible").count() == 0
    assert tab.page.locator(".au-sheet:visible").count() > 20


@pytest.mark.parametrize(
    ("text", "after", "left"),
    [(", and so on", r"\text{,}", " and so on"), ("?", r"\text{?}", ""), (" and", "", " and")],
)
def test_a_formula_keeps_the_comma_after_it(text, after, left):
    formula = nodes.math("", "d_k")
    paragraph = nodes.paragraph("", "", formula, nodes.Text(text))
    maths.hold_punctuation(SimpleNamespace(builder=SimpleNamespace(format="html")), paragraph, "")
    assert formula.get("after", "") == after
    assert paragraph[1].astext() == left


def test_a_formula_at_the_end_of_a_paragraph_stays_alone():
    formula = nodes.math("", "d_k")
    paragraph = nodes.paragraph("", "", nodes.Text("by "), formula)
    maths.hold_punctuation(SimpleNamespace(builder=SimpleNamespace(format="html")), paragraph, "")
    assert "after" not in formula
