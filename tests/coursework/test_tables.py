"""Tables that go to a platform and come back from a spreadsheet."""

import csv
import io
import json
import re

import pytest

from coursework import __main__ as command
from coursework import pages, release, submissions, tables
from coursework.grading import Grader
from coursework.model import load
from coursework.sandbox import Bubblewrap
from tests.coursework import handed_in

A1 = load("a1")
WORKSHEET = (
    "ID,Persona,Stato,Voto,Massimo,Ultima modifica (consegna),Ultima modifica (voto),Commenti\r\n"
    'Partecipante 4711,Ada Lovelace,"Consegnato, puntuale",,30,"domenica, 1 marzo 2026",-,\r\n'
    "Partecipante 12,Ben X,Nessuna consegna,,30,-,-,-\r\n"
)
TITLES = ("--column", "Voto", "--comments", "Commenti")


@pytest.fixture
def folder(tmp_path):
    """Two people as Moodle names them."""
    for top in ("Ada Lovelace_4711_assignsubmission_file_", "Cem Y_13_assignsubmission_file_"):
        (tmp_path / "in" / top).mkdir(parents=True)
        (tmp_path / "in" / top / "a1.ipynb").write_text(json.dumps(handed_in.solved(A1)), "utf-8")
    return tmp_path / "in"


def run(folder, *options):
    out = folder.parent / "out"
    return command.main(["grade", "a1", str(folder), "--out", str(out), *options]), out


def read(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_moodle_gets_every_column_that_its_importer_demands(folder):
    _, out = run(folder)
    head, first, _ = read(out / "moodle.csv")
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(head)
    assert dict(zip(head, first, strict=True))["Last modified (grade)"] == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_worksheet_of_moodle_is_filled_in_and_nothing_else_changes(folder, capsys, encoding):
    path = folder.parent / "worksheet.csv"
    path.write_bytes(WORKSHEET.encode(encoding))
    code, out = run(folder, "--moodle", str(path), *TITLES)
    assert code == 0
    before, after = list(csv.reader(io.StringIO(WORKSHEET))), read(out / "moodle.csv")
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert after[1][3] == "26"
    assert "right" in after[1][7]
    assert [c for k, c in enumerate(after[1]) if k not in (3, 7)] == [
        c for k, c in enumerate(before[1]) if k not in (3, 7)
    ]
    said = capsys.readouterr().err
    assert f"not in {path}, so not in the table: Cem_Y~13" in said


def test_a_worksheet_in_another_language_asks_for_its_titles_before_anything_runs(folder, capsys):
    path = folder.parent / "worksheet.csv"
    path.write_text(WORKSHEET, "utf-8")
    code, out = run(folder, "--moodle", str(path))
    assert code == 2
    assert "no column 'Grade'" in (said := capsys.readouterr().err)
    assert "Voto, Massimo" in said
    assert not out.exists()
    assert run(folder, "--moodle", str(path), "--column", "Voto")[0] == 0
    assert "no comments in moodle.csv" in capsys.readouterr().err


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,A1 (99)\n"
    '"Berg, Ann",17,s17,ann,1,\n"Fox, Fay",18,s18,fay,1,\n'
)


def test_a_column_that_canvas_does_not_have_is_refused(folder, capsys):
    path = folder.parent / "export.csv"
    path.write_text(CANVAS, "utf-8")
    code, out = run(folder, "--canvas", str(path), "--column", "A1 (98)")
    assert code == 2
    assert "no column 'A1 (98)'" in (said := capsys.readouterr().err)
    assert "Section, A1 (99)" in said
    assert not out.exists()


def test_people_who_are_not_in_the_export_of_canvas_are_named(folder, capsys):
    (folder / "ann.ipynb").write_text(json.dumps(handed_in.solved(A1)), "utf-8")
    path = folder.parent / "export.csv"
    path.write_text(CANVAS, "utf-8")
    code, out = run(folder, "--canvas", str(path), "--column", "A1 (99)")
    assert code == 0
    assert [row[-1] for row in read(out / "canvas.csv")] == ["A1 (99)", "26", ""]
    assert f"not in {path}, so not in the table: Ada_Lovelace~4711, Cem_Y~13" in (
        capsys.readouterr().err
    )


# ---------------------------------------------------------------- answers in words


def filled(out, path, separator=",", encoding="utf-8", **more):
    """answers.csv as somebody saves it who has filled it in."""
    head, *rows = read(out / "answers.csv")
    rows = [list((dict(zip(head, row, strict=True)) | more).values()) for row in rows]
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows([head, *rows])
    path.write_bytes(stream.getvalue().encode(encoding))
    return str(path)


def column(path, title):
    head, *rows = read(path)
    return [row[head.index(title)] for row in rows]


def test_grade_says_that_answers_wait_before_anything_is_uploaded(folder, capsys):
    _, out = run(folder)
    said = capsys.readouterr().out
    assert f"2 answers in words to be read, in {out / 'answers.csv'}" in said
    assert "--manual" in said
    comments = column(out / "moodle.csv", "Feedback comments")
    assert all("not read yet" in comment for comment in comments)
    manual = filled(out, folder.parent / "m.csv", score="3", comment="Say why, not only that")
    assert run(folder, "--manual", manual)[0] == 0
    assert "in words to be read" not in capsys.readouterr().out
    comment = column(out / "moodle.csv", "Feedback comments")[0]
    assert comment == (
        "Everything that is checked is right. "
        "Task 7 variance, in words (3 of 4): Say why, not only that."
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_answers_come_back_as_any_spreadsheet_saves_them(folder, separator, encoding):
    _, out = run(folder)
    assert (out / "answers.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    text = {"score": "3,5", "comment": "Schön – très bien"}
    manual = filled(out, folder.parent / "m.csv", separator, encoding, **text)
    assert run(folder, "--manual", manual)[0] == 0
    assert column(out / "grades.csv", "total") == ["29.5", "29.5"]
    assert all("Schön – très bien" in c for c in column(out / "moodle.csv", "Feedback comments"))


def test_all_bad_rows_of_a_table_are_named_with_its_name(folder, capsys):
    _, out = run(folder)
    path = folder.parent / "m.csv"
    manual = filled(out, path, score="good")
    assert run(folder, "--manual", manual)[0] == 2
    said = capsys.readouterr().err
    assert f"{path}, row 2: the score 'good' is no number; row 3: the score" in said
    manual = filled(out, path, score="9")
    assert run(folder, "--manual", manual)[0] == 2
    said = capsys.readouterr().err
    assert f"{path}, row 2: Ada_Lovelace~4711 variance: 9 points of 4; row 3: Cem" in said
    path.write_text("student;score\r\na;1\r\n", "utf-8")
    assert run(folder, "--manual", manual)[0] == 2
    assert f"{path} has no column question, version" in capsys.readouterr().err
    path.write_text("", "utf-8")
    assert run(folder, "--manual", manual)[0] == 2
    assert f"{path} is empty" in capsys.readouterr().err


def test_a_score_for_nobody_says_so(folder, capsys):
    _, out = run(folder)
    manual = filled(out, folder.parent / "m.csv", student="eve", score="3")
    assert run(folder, "--manual", manual)[0] == 0
    assert "eve variance: no score, nobody of that name is graded" in capsys.readouterr().err
    manual = filled(out, folder.parent / "m.csv", question="why", score="3")
    assert run(folder, "--manual", manual)[0] == 0
    assert "no question in words has that name" in capsys.readouterr().err


def test_scores_survive_a_regrade_and_are_never_lost_in_silence(folder, capsys):
    _, out = run(folder)
    run(folder, "--manual", filled(out, folder.parent / "m.csv", score="3", comment="Fine."))
    assert run(folder, "--call-seconds", "4")[0] == 0  # which grades everybody again
    assert column(out / "grades.csv", "total") == ["29", "29"]
    assert "Fine." in (out / "feedback" / "Cem_Y~13.html").read_text("utf-8")
    ada = next(folder.glob("Ada*")) / "a1.ipynb"
    ada.write_text(json.dumps(handed_in.solved(A1, variance="Because.")), "utf-8")
    capsys.readouterr()
    assert run(folder)[0] == 0
    assert "Ada_Lovelace~4711 variance: the answer or its points have changed; the 3 points" in (
        capsys.readouterr().err
    )
    assert column(out / "grades.csv", "total") == ["26", "29"]


def test_pages_of_people_who_are_gone_are_put_aside_and_come_back(folder, capsys):
    _, out = run(folder)
    run(folder, "--manual", filled(out, folder.parent / "m.csv", score="3"))
    top = next(folder.glob("Cem*"))
    away = top.replace(folder.parent / top.name)
    capsys.readouterr()
    assert run(folder)[0] == 0
    assert f"no longer in {folder}: Cem_Y~13" in capsys.readouterr().err
    for kind in ("results", "feedback"):
        assert [p.stem for p in (out / kind).iterdir()] == ["Ada_Lovelace~4711"]
    assert (out / "put_aside" / "feedback" / "Cem_Y~13.html").exists()
    away.replace(top)
    assert run(folder)[0] == 0
    assert column(out / "grades.csv", "total") == ["29", "29"]


# ---------------------------------------------------------------- comments


def commented(**replaced):
    """The comment for Moodle and the page of somebody whose cells are these."""
    book = json.dumps(handed_in.solved(A1, **replaced)).encode()
    return said(book)


def said(raw):
    cells, notes, _ = submissions.read(raw)
    grader = Grader(A1, Bubblewrap([A1.folder]))
    result = grader.grade(submissions.Submission("ann", "Ann", cells=cells, notes=notes))
    return tables.summary(result), pages.feedback(result)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("import torch\ndef softmax(x, axis=-1):\n    return x\n", "torch is not here"),
        ("def softmax(x, axis=-1)\n    return x\n", "SyntaxError"),
    ],
    ids=["import", "syntax"],
)
def test_the_reason_why_nothing_is_defined_is_in_the_comment_and_beside_it(cell, reason):
    comment, page = commented(softmax=cell)
    assert reason in comment
    assert "no function" not in comment
    assert reason in page.partition("<code>softmax</code>")[2]


def test_a_comment_says_that_the_file_was_cut_off():
    raw = json.dumps(handed_in.solved(A1), indent=1).encode()
    comment, _ = said(raw[: len(raw) // 2])
    assert "cut off or damaged" in comment


def test_the_comment_on_a_blank_notebook_reads_as_a_list():
    comment, _ = said(release.release(A1).encode())
    assert comment.startswith("softmax (0 of 5), causal_mask (0 of 3), ")
    assert comment.endswith(
        "(0 of 1): not written yet. Task 7 variance, in words (0 of 4): no answer."
    )


def test_a_name_in_other_letters_is_told():
    comment, page = commented(softmax="def Softmax(x, axis=-1):\n    return x\n")
    told = "nothing is called softmax, but there is a Softmax: keep the names"
    assert told in comment
    assert told in page


@pytest.mark.parametrize("stripped", [False, True])
def test_the_notebook_of_something_else_is_not_a1(stripped):
    book = handed_in.solved(load("a2"))
    if stripped:
        book = {"cells": [{"cell_type": "code", "source": "import numpy as np\nx = 1"}]}
    raw = json.dumps(book).encode()
    cells, notes, made_from = submissions.read(raw)
    submission = submissions.Submission("ann", "Ann", cells=cells, notes=notes, release=made_from)
    grader = Grader(A1, Bubblewrap([A1.folder]))
    _, _, notes = grader._sorted_out(submission)
    assert notes == ["this is not A1: none of its cells are in it"]
    assert grader._sorted_out(of(A1, "autumn"))[2] != notes


def of(assignment, key):
    """The blank notebook of another course."""
    cells, _, made_from = submissions.read(release.release(load(assignment.name, key)).encode())
    return submissions.Submission("ann", "Ann", cells=cells, release=made_from)


def test_what_is_asked_for_is_said_in_english():
    comment, _ = commented(
        share="share = '0.3'\n", causal_mask="def causal_mask(a, b):\n    pass\n"
    )
    assert "Task 6a share (0 of 1): You gave a text; this asks for a number." in comment
    assert "causal_mask (0 of 3): You gave None; this asks for booleans of shape (5, 5)." in comment


def test_pages_and_comments_call_questions_as_the_task_does():
    comment, page = commented(read_most_by="read_most_by = 9\n", variance="")
    assert "Task 6c read_most_by (0 of 1)" in comment
    assert "Task 7 variance, in words" in comment
    assert "Task 6c, <code>read_most_by</code>: 0 of 1" in page
    assert "<h2><code>softmax</code>: 5 of 5" in page


def summarised(*scores, **more):
    """The summary of a class with these scores, of 30 points."""
    question = {"name": "f", "label": "", "score": 0, "max_score": 30, "checks": []}
    question |= {"diagnosis": [], "feedback": []} | more
    result = {"assignment": "a1", "student": "ann", "name": "Ann", "max_score": 30, "written": []}
    result |= {"questions": [question], "reason": "", "notes": []}
    return pages.class_summary([result | {"score": score} for score in scores])


def test_each_score_is_in_one_bin_and_the_labels_do_not_overlap():
    page = summarised(0, 3, 26.9, 27, 30)
    bins = re.findall(r"<tr><td>([\d.]+ to [^<]+)<td>(\d)", page)
    assert bins[:2] == [("0 to under 3", "1"), ("3 to under 6", "1")]
    assert bins[-2:] == [("24 to under 27", "1"), ("27 to 30", "2")]


def test_mistakes_made_together_count_for_each_of_them():
    one = {"diagnosis": ["no_scale"], "feedback": ["You did not scale."]}
    two = {"diagnosis": ["no_scale", "mask_inverted"], "feedback": ["You did not scale.", "Turn."]}
    page = summarised(1, 2, **two)
    assert page.count("<td>2 (2 with another)<td><code>f</code>") == 2
    assert "<td>1<td><code>f</code><td><strong>no_scale</strong>" in summarised(1, **one)
