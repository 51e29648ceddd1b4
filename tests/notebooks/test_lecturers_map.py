"""The lecturer's map lists every exercise once, and its minutes are those of the chapters."""

import re

import pytest

from tests.notebooks import checks
from tests.notebooks.checks import ROOT

MAP = (ROOT / "book" / "lecturers_map.md").read_text("utf-8")
CHAPTERS = {int(path.stem[:2]): path for path in sorted(ROOT.glob("chapters/*.ipynb"))}


def exercises(chapter):
    """Return {number: minutes} of the exercises of a chapter, as the chapter gives them."""
    text = checks.markdown(checks.read(CHAPTERS[chapter]))
    found = re.findall(r"\*\*Exercise (\d+\.\d+)\*\* · \w+ · (\d+) minutes", text)
    return {number: int(minutes) for number, minutes in found}


def reading(chapter):
    text = checks.markdown(checks.read(CHAPTERS[chapter]))
    return int(re.search(r"About (\d+) minutes", text)[1])


def section(chapter):
    found = re.search(rf"^### Chapter {chapter}\n(.*?)(?=^#|\Z|^\*\*All)", MAP, re.M | re.S)
    assert found, f"chapter {chapter} is not on the map"
    return found[1]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_exercise_once_with_its_minutes(chapter):
    listed = re.findall(r"`ex\. (\d+\.\d+)` \((\d+)\)", section(chapter))
    assert sorted(listed) == sorted((n, str(m)) for n, m in exercises(chapter).items())


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_totals_and_link_of_a_chapter(chapter):
    expected = f"{reading(chapter)} minutes of reading, {sum(exercises(chapter).values())} of exer"
    assert expected in section(chapter)
    assert CHAPTERS[chapter].name in section(chapter)


def test_total():
    read = sum(map(reading, CHAPTERS))
    practised = sum(sum(exercises(chapter).values()) for chapter in CHAPTERS)
    assert f"{read} minutes of reading, {practised} of exercises" in MAP


def test_weeks():
    weeks = re.findall(r"^\| \d \|.*chapters? ([\d, ]+) \((\d+)\).*\| (\d+) \|$", MAP, re.M)
    seen = []
    for numbers, read, practised in weeks:
        chapters = [int(number) for number in numbers.split(", ")]
        assert int(read) == sum(map(reading, chapters))
        assert int(practised) == sum(sum(exercises(n).values()) for n in chapters)
        seen += chapters
    assert seen == sorted(CHAPTERS)
