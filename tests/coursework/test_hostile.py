"""Whatever is handed in is graded, costs its own task at most, gains nothing, and is explained."""

import csv
import json
import tempfile
from pathlib import Path

import pytest

from coursework import __main__ as command
from coursework.model import load
from tests.coursework import handed_in

LEAST = 25  # kinds of attack, and of damage: a folder that lost its files must not pass


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Everything graded once: (expected, results by student, output folder)."""
    folder, out = tmp_path_factory.mktemp("handed in"), tmp_path_factory.mktemp("graded")
    assignment = load("a1")
    expected = handed_in.attacking(assignment, folder)
    assert len(expected) >= LEAST
    damage = handed_in.damaged(assignment, folder)
    assert len(damage) >= LEAST
    assert not set(expected) & set(damage)
    arguments = ["grade", "a1", str(folder), "--out", str(out), "--jobs", "2"]
    limits = ["--cell-seconds", "1", "--call-seconds", "0.5"]
    assert command.main([*arguments, *limits]) == 0
    results = {
        path.stem: json.loads(path.read_text("utf-8")) for path in (out / "results").glob("*.json")
    }
    return expected | damage, results, out


def test_everybody_gets_what_is_expected(graded):
    expected, results, _ = graded
    # A name becomes safe for files: "=HYPERLINK(0)" is the only one that changes.
    expected = {k.replace("=HYPERLINK(0)", "HYPERLINK_0"): v for k, v in expected.items()}
    assert sorted(results) == sorted(expected)
    wrong = []
    for student, (score, words) in expected.items():
        result = results[student]
        said = json.dumps(result, ensure_ascii=False)
        if score is not None and result["score"] != score:
            wrong.append(f"{student}: {result['score']} instead of {score}")
        if words not in said:
            wrong.append(f"{student}: nothing says {words!r}")
    assert not wrong, "\n".join(wrong)


def test_what_could_be_saved_of_a_cut_file_counts(graded):
    result = graded[1]["cut_off"]
    assert 5 <= result["score"] < handed_in.FULL


def test_every_lost_point_has_its_reason(graded):
    for student, result in graded[1].items():
        for question in result["questions"]:
            for check in question["checks"]:
                assert check["passed"] or check["message"], (student, question["name"])
        for written in result["written"]:
            assert written["score"] != 0 or not written["answer"], student


def test_an_attack_costs_its_own_task_only(graded):
    _, results, _ = graded
    for name, cell, *_ in handed_in.attacks():
        for question in results[name]["questions"]:
            full = question["score"] == question["max_score"]
            assert full or question["name"] == cell, (name, question["name"])


def test_tables_hold_everybody_and_no_formula(graded):
    _, results, out = graded
    for table in ("grades.csv", "moodle.csv", "canvas.csv"):
        with open(out / table, newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
        assert len(rows) == len(results) + 1, table
        assert not [c for row in rows for c in row if c[:1] in tuple("=+-@")], table
    page = (out / "summary.html").read_text("utf-8")
    assert f"{len(results)} submissions" in page
    assert all((out / "feedback" / f"{student}.html").is_file() for student in results)
    assert "no_maximum" not in page  # nobody here made it, so it must not be counted


def test_nothing_written_can_command_a_terminal_or_a_page(graded):
    for path in graded[2].rglob("*.*"):
        text = path.read_text("utf-8")
        assert not [c for c in text if ord(c) < 32 and c not in "\n\r\t"], path
        assert "\u202e" not in text
        assert path.suffix != ".html" or "<script" not in text


def test_only_another_release_is_called_one(graded):
    said = "another version or another course"
    assert [s for s, r in graded[1].items() if said in json.dumps(r["notes"])] == ["other_release"]


def test_a_cell_that_begins_a_line_with_an_operator_runs(graded):
    assert graded[1]["operator_first"]["cells"] == []


def test_platform_names_reach_the_tables(graded):
    _, results, out = graded
    assert results["Ada_Lovelace~4711"]["moodle"] == "4711"
    assert "Participant 4711,Ada Lovelace,26,30," in (out / "moodle.csv").read_text("utf-8")
    assert "hoppergrace,815,,,,26" in (out / "canvas.csv").read_text("utf-8")


def test_nothing_stays_behind(graded):
    out = graded[2]
    for place in (Path.cwd(), out, *out.parents, Path(tempfile.gettempdir())):
        assert not [place / name for name in ("slipped.ipynb", "owned") if (place / name).exists()]
    assert not list(out.rglob(".part-*"))
