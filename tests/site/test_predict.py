"""Predictions of a number and of a row of numbers, written as the top of 50-predict.js says."""

import re

import pytest
from markdown_it import MarkdownIt

from tests.site import SITE

QUESTIONS = """
# Predictions

<details class="predict" data-id="number" data-answer="-0.5" data-within="0.02">
<summary>Predict the score</summary>

The score is *negative*.

</details>

<details class="predict" data-id="row" data-answer="0.80 0.15 0.05">
<summary>Predict the three weights</summary>

The first key takes most.

<p data-if="0.33 0.33 0.33">If you spread it evenly: the scores differ.</p>

</details>
"""


class Question:
    """One of the two: its form, and the fold with the explanation."""

    def __init__(self, page, name):
        self.form = page.locator("form").filter(has_text=name)
        self.input = self.form.get_by_label(name)
        self.fold = page.locator("form + details").nth(0 if name == "Predict the score" else 1)

    def commit(self, text):
        self.input.fill(text)
        self.input.press("Enter")

    @property
    def verdict(self):
        return self.form.locator("[role=status]").text_content()

    @property
    def revealed(self):
        return self.fold.locator("p").first.is_visible()


@pytest.fixture
def tab(address, open_tab):
    """A page of the site whose article was replaced by the two questions."""
    built = (SITE / "book" / "notation.html").read_text(encoding="utf-8")
    article = MarkdownIt().render(QUESTIONS)
    page = re.sub(r"(<article[^>]*>).*(</article>)", rf"\1{article}\2", built, flags=re.S)
    tab = open_tab()
    tab.page.route("**/predict.html", lambda r: r.fulfill(body=page, content_type="text/html"))
    tab.page.goto(address("book/predict.html"))
    yield tab
    assert tab.complaints == []


@pytest.fixture
def number(tab):
    return Question(tab.page, "Predict the score")


@pytest.fixture
def row(tab):
    return Question(tab.page, "Predict the three weights")


def test_nothing_is_shown_before_a_prediction(number, row):
    assert [number.verdict, row.verdict] == ["", ""]
    assert [number.revealed, row.revealed] == [False, False]
    assert row.input.get_attribute("placeholder") == "3 numbers"


@pytest.mark.parametrize("text", ["-0.5", "−0.49", "-1/2", "-50 %"])
def test_a_right_number_survives_a_reload(text, tab, number, row):
    number.commit(text)
    for _ in range(2):
        assert number.verdict == f"Right: you predicted {text}."
        assert number.revealed
        assert not row.revealed
        tab.page.reload()
    assert number.input.input_value() == text


def test_a_wrong_number_is_told_the_answer(tab, number):
    number.commit("0.5")
    for _ in range(2):
        assert number.verdict == "You predicted 0.5; it is -0.5."
        assert number.revealed
        tab.page.reload()


def test_a_right_row_survives_a_reload(tab, row):
    row.commit("0.8, 0.15, 0.05")
    for _ in range(2):
        assert row.verdict == "Right: you predicted 0.8, 0.15, 0.05."
        assert row.revealed
        assert row.fold.locator(".for-you").count() == 0
        tab.page.reload()


def test_a_foreseen_row_has_its_explanation_marked(tab, row):
    row.commit("0.33 0.33 0.34")
    for _ in range(2):
        assert row.verdict == "You predicted 0.33 0.33 0.34; it is 0.80 0.15 0.05."
        assert "If you spread it evenly" in row.fold.locator(".for-you").inner_text()
        tab.page.reload()
    row.commit("0.9 0.05 0.05")
    assert row.fold.locator(".for-you").count() == 0


def test_a_row_that_cannot_be_weights(row):
    row.commit("0.8 0.15 0.5")
    assert "Yours add up to 1.45" in row.verdict


def test_a_row_of_another_length_is_no_prediction(tab, row):
    row.commit("0.8 0.2")
    assert row.verdict == "That is 2 numbers; the question asks for 3."
    assert not row.revealed
    tab.page.reload()
    assert row.verdict == ""
    assert row.input.input_value() == ""


def test_without_a_script_the_explanation_opens(address, open_tab):
    page = open_tab(javascript=False).page
    page.set_content(MarkdownIt().render(QUESTIONS))
    fold = page.locator("details").first
    assert not fold.locator("p").is_visible()
    fold.locator("summary").click()
    assert fold.locator("p").is_visible()
