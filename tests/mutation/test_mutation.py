"""Each planted mistake is noticed by the unit test and the cell it names; the right code is not."""

from xml.etree import ElementTree

import pytest

from attention_utils.mistakes import MISTAKES
from tests.mutation.measure import RAISED, Case, Noticed, noticed, outcome
from tests.mutation.report import PAGE, page
from tests.mutation.table import AS_WRITTEN, CONTROLS, TABLE

by_mistake = pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)


@by_mistake
def test_the_unit_test_notices(one, measured):
    assert measured[one.name].unit, f"tests/unit/{one.units[0]} passes"


@by_mistake
def test_the_cell_notices(one, measured):
    failed = measured[one.name].cells
    assert measured[one.name].cell, f"{one.chapter}: {one.cell} should fail; these did: {failed}"


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.chapter)
def test_nobody_notices_the_right_formula(control, measured):
    """So what the others notice is the mistake, not that something was planted."""
    named = [one for one in TABLE if one.chapter == control.chapter]
    as_written = {one.cell for one in named if one.name in AS_WRITTEN}
    assert {one.name for one in named if one.cell in as_written} <= AS_WRITTEN
    assert not measured[control.name].cell
    assert set(measured[control.name].cells) == as_written
    assert measured[control.name].unit == bool(as_written)


def test_every_known_mistake_is_planted_once():
    names = [one.name for one in TABLE + CONTROLS]
    assert len(set(names)) == len(names)
    assert {mistake.name for mistake in MISTAKES} <= set(names)


def test_the_page_shows_what_was_measured(measured):
    assert PAGE.read_text("utf-8") == page(TABLE, measured), "write it again: make mutation"


# The checker can fail


def test_a_mistake_that_changes_nothing_survives(measured):
    changes_nothing = CONTROLS[0]
    assert not measured[changes_nothing.name].killed


def test_the_page_says_what_survived():
    one = TABLE[0]
    for unit, cell in [(True, False), (False, True)]:
        text = page([one], {one.name: Noticed(unit, cell, ())})
        assert "**Caught: 0 of 1.**" in text
        assert "| **no** |" in text


PASSED, DIFFERS, RAISES = Case(failed=False), Case(failed=True), Case(failed=True, raised=True)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([PASSED, DIFFERS], True),
        ([PASSED, RAISES], True),
        ([DIFFERS, DIFFERS], True),
        ([PASSED, PASSED], False),
        ([DIFFERS, PASSED], False),  # another cell noticed, not the one that is named
        ([RAISES, RAISES], False),  # perhaps only because a name is missing
        ([], False),  # there is no cell of this name
    ],
)
def test_the_cell_must_fail_by_itself(cells, expected):
    assert noticed([DIFFERS], dict(enumerate(cells))).cell == expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("<testcase/>", PASSED),
        ("<testcase><skipped/></testcase>", PASSED),
        ("<testcase><error/></testcase>", Case(failed=False, started=False)),  # it notices nothing
        ("<testcase><failure>cell outputs differ</failure></testcase>", DIFFERS),
        (f"<testcase><failure>{RAISED}</failure></testcase>", RAISES),
    ],
)
def test_what_counts_as_failed(report, expected):
    assert outcome(ElementTree.fromstring(report)) == expected
