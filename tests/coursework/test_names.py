"""Whose a file is: nobody takes anybody's place; and names and texts command no program."""

import csv
import io
import json
import zipfile

import pytest

from coursework import submissions, tables
from coursework.grading import Grader
from coursework.model import load
from coursework.sandbox import Unprotected
from tests.coursework import handed_in

A1 = load("a1")
NAMES = {question.name for question in A1.questions}
GOOD = json.dumps(handed_in.solved(A1))
BAD = json.dumps({"cells": [{"cell_type": "code", "source": f"{n} = 0"} for n in NAMES] * 3})
ROSTER = [
    {"Student": "Ada", "ID": "815", "SIS Login ID": "ada_lovelace"},
    {"Student": "Mallory", "ID": "99", "SIS Login ID": "mallory"},
]


def collected(where, *names):
    """The submissions of a folder with these files."""
    for name in names:
        path = where / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(BAD if "mallory" in name.lower() else GOOD, "utf-8")
    return submissions.collect(where, NAMES)


def honest(submission):
    """Whether it is the honest notebook, and not the one that answers everything with 0."""
    return "share = 0" not in [cell.source for cell in submission.cells]


def results(found):
    """As much of a result as a table needs."""
    return [
        vars(s) | {"score": 26 if honest(s) else 0, "max_score": 26, "written": [], "questions": []}
        for s in found
    ]


def in_canvas(found):
    """Points by name in the table for Canvas."""
    table = tables.canvas(results(found), "A1", ROSTER)
    return {row["Student"]: row["A1"] for row in csv.DictReader(io.StringIO(table))}


def test_names_that_become_the_same_are_all_marked_and_nobody_has_the_bare_one(tmp_path):
    found = collected(
        tmp_path, "ada_lovelace.ipynb", "ada lovelace.ipynb", "Ada_Lovelace.json", "b.py"
    )
    assert len({s.student.lower() for s in found}) == 4
    assert [s.student for s in found if "~" not in s.student] == ["b"]
    assert all("nearly the same name" in s.notes[0] for s in found if "~" in s.student)
    assert in_canvas(found) == {"Ada": "", "Mallory": ""}
    (tmp_path / "ada lovelace.ipynb").unlink()
    (tmp_path / "Ada_Lovelace.json").unlink()
    assert in_canvas(collected(tmp_path)) == {"Ada": "26", "Mallory": ""}


def test_a_name_made_of_digits_is_no_number_of_canvas(tmp_path):
    found = collected(tmp_path, "815_99_5_mallory.ipynb", "ada_815_6_a1.ipynb")
    assert in_canvas(found) == {"Ada": "26", "Mallory": "0"}
    found = collected(tmp_path, "815.ipynb")
    assert in_canvas(found) == {"Ada": "26", "Mallory": "0"}


@pytest.mark.parametrize("end", ["/a1.ipynb", "a1.ipynb", "/Ada_4711_assignsubmission_file_.ipynb"])
def test_the_number_of_moodle_is_not_the_one_in_a_file_name(tmp_path, end):
    found = collected(
        tmp_path,
        "Mallory_99_assignsubmission_file_Ada Lovelace_4711_assignsubmission_file_",
        f"Ada Lovelace_4711_assignsubmission_file_{end}",
    )
    assert {(s.name, s.moodle, honest(s)) for s in found} == {
        ("Mallory", "99", False),
        ("Ada Lovelace", "4711", True),
    }


def test_the_number_of_canvas_is_not_one_of_moodle_in_a_file_name(tmp_path):
    found = collected(
        tmp_path,
        "mallory_99_5_x_815_assignsubmission_file_.ipynb",
        "mallory_LATE_98_6_815_assignsubmission_file_.ipynb",
        "Ada Lovelace_815_assignsubmission_file_1_2_a1.ipynb",
    )
    assert [(s.name, s.moodle, s.canvas) for s in found] == [
        ("Ada Lovelace", "815", ""),
        ("mallory", "", "98"),
        ("mallory", "", "99"),
    ]


def test_a_common_folder_is_dropped_but_not_the_folder_of_the_only_person(tmp_path):
    for folder, names in (("all", ["ann", "ben"]), ("Ada_7_assignsubmission_file_", ["Ada~7"])):
        path = tmp_path / f"{folder}.zip"
        inner = handed_in._zipped({"a1.ipynb": GOOD.encode()})
        path.write_bytes(handed_in._zipped({f"{folder}/{k}.zip": inner for k in ("ann", "ben")}))
        assert [s.student for s in submissions.collect(path, NAMES)] == names


def test_a_number_that_two_names_carry_counts_for_neither(tmp_path):
    found = collected(
        tmp_path,
        "Mallory_4711_assignsubmission_file_/a1.ipynb",
        "Ada Lovelace_4711_assignsubmission_file_/a1.ipynb",
        "Ben_12_assignsubmission_file_/a1.ipynb",
    )
    assert [(s.name, s.moodle) for s in found] == [
        ("Ada Lovelace", ""),
        ("Ben", "12"),
        ("Mallory", ""),
    ]
    assert "4711" not in tables.moodle(results(found)).replace("~4711", "")


def test_the_same_name_with_another_suffix_is_somebody_else(tmp_path):
    found = collected(tmp_path, "ada.ipynb")
    assert [s.student for s in found] == ["ada"]
    (tmp_path / "ada.json").write_text(BAD, "utf-8")
    found = submissions.collect(tmp_path, NAMES)
    assert [honest(s) for s in found] == [True, False]


@pytest.mark.parametrize("name", ["@ada", "+ada", "-ada", "=ada", ".-ada"])
def test_a_name_never_begins_with_a_sign(tmp_path, name):
    assert [s.student for s in collected(tmp_path, f"{name}.ipynb")] == ["ada"]


def test_no_cell_of_a_table_is_a_formula_wherever_it_is_parted():
    texts = ["=1", "x;=1", 'x;"=1', '"=1', "x\n=1", "x\t-1", 'a;"+"', "@x", ";;-1"]
    texts += ["\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", "x;\uff1d1"]  # full width
    table = tables._text([["first", text, text] for text in texts])
    for separator in ",;\t":
        cells = [c for row in csv.reader(io.StringIO(table), delimiter=separator) for c in row]
        assert not [cell for cell in cells if cell[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20")]


def test_a_comment_for_moodle_is_text_and_not_html():
    result = {"reason": "a1 <img src=x>", "name": "", "moodle": "1", "written": []}
    table = tables.moodle([result | {"score": 0, "max_score": 1}])
    assert "a1 &lt;img src=x&gt;" in table


def test_long_names_and_strange_letters_are_cut(tmp_path):
    name = "\x1b]0;x\x07\u202e\n=1+2" + "y" * 200 + ".ipynb"
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / name).write_text("no notebook", "utf-8")
    (submission,) = submissions.collect(tmp_path, NAMES)
    assert submission.reason.startswith("ann/]0;x =1+2yyy")
    assert len(submission.reason) < 250


@pytest.mark.parametrize("nothing", ["\u200b\u2060", " \xa0\n", "\x00\x1b", "\u202e"])
def test_an_answer_that_nobody_can_see_is_none(nothing):
    book = json.dumps(handed_in.solved(A1, variance=nothing)).encode()
    cells, _, _ = submissions.read(book)
    _, answers, _ = Grader(A1, Unprotected())._sorted_out(
        submissions.Submission("ann", "Ann", cells=cells)
    )
    assert not answers.get("variance")


@pytest.mark.parametrize("common", ["", "all/"])
def test_an_empty_folder_in_a_zip_keeps_its_row(tmp_path, common):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for folder in filter(
            None, (common, f"{common}ann/", f"{common}ann/data/", f"{common}ben/")
        ):
            archive.mkdir(folder)
        archive.writestr(f"{common}ann/a1.ipynb", GOOD)
        archive.writestr("../", "")
    ann, ben = submissions.collect(path, NAMES)
    assert (ann.student, ann.reason, ann.notes) == ("ann", "", [])
    assert (ben.student, ben.reason) == ("ben", "ben: the folder has nothing to grade")


def test_nobody_is_told_the_names_that_a_platform_uses_inside(tmp_path):
    names = (
        "Ada Lovelace_4711_assignsubmission_file_/work.ipynb",
        "Ben X_12_assignsubmission_file_/notes.pdf",
        "Cem Y_13_assignsubmission_file_photo.png",
        "hoppergrace_LATE_815_99001_a1-1.ipynb",
    )
    ada, ben, cem, grace = collected(tmp_path, *names)
    assert (ada.file, grace.file) == ("work.ipynb", "a1-1.ipynb")
    assert ben.reason.startswith("notes.pdf: ")
    assert cem.reason.startswith("photo.png: ")
    assert grace.notes == ["Canvas marks it as late"]
    assert grace.canvas == "815"
    (tmp_path / "Hal_14_assignsubmission_file_").mkdir()
    hal = submissions.collect(tmp_path, NAMES)[3]
    assert hal.reason == "Hal: the folder has nothing to grade"
