"""Grades, diagnoses and feedback of single submissions; batches that stop, go on, and split."""

import contextlib
import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from coursework import __main__ as command
from coursework import (
    batch,
    grading,
    marking,
    pages,
    release,
    sandbox,
    session,
    submissions,
    tables,
    wire,
)
from coursework.grading import Grader, Limits
from coursework.marking import Answers
from coursework.model import load
from tests.coursework import handed_in

A1 = load("a1")


@pytest.fixture(scope="module")
def grader():
    return Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 2))


def graded(grader, **replaced):
    raw = json.dumps(handed_in.solved(A1, **replaced)).encode()
    cells, notes, _ = submissions.read(raw)
    result = grader.grade(submissions.Submission("someone", "Some One", cells=cells, notes=notes))
    return {q["name"]: q for q in result["questions"]}, result


TWO_MISTAKES = """
def attention(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2)
    if mask is not None:
        scores = np.where(mask, -np.inf, scores)
    weights = softmax(scores)
    return weights @ value, weights
"""


CUBE = """
def encoder_self_attention(*arguments):
    n = 320
    x, w = np.ones((n, 1)), np.ones((1, 1))
    return multi_head(x, x, w, w, w, w, 1, np.ones((n, 1, 1), dtype=bool))
"""


def test_the_reference_is_not_asked_for_a_cube():
    a2 = load("a2")
    book = handed_in.solved(a2, encoder_self_attention=CUBE)
    submission = submissions.Submission(
        "e", "E", cells=submissions.read(json.dumps(book).encode())[0]
    )
    result = Grader(a2, sandbox.Bubblewrap([a2.folder])).grade(submission)
    assert result["score"] == a2.points - 3
    assert "no small arrays" in result["questions"][3]["checks"][0]["message"]


def test_two_mistakes_in_one_function_are_both_named(grader):
    questions, result = graded(grader, attention=TWO_MISTAKES)
    assert questions["attention"]["diagnosis"] == ["no_scale", "mask_inverted"]
    assert result["score"] == A1.points - 7
    page = pages.feedback(result)
    assert all(said in page for said in ("You did not scale", "Your mask is inverted"))


def test_one_wrong_softmax_costs_one_task(grader):
    wrong = "def softmax(x, axis=-1):\n    e = np.exp(x)\n    return e / e.sum()\n"
    questions, _ = graded(grader, softmax=wrong)
    assert [n for n, q in questions.items() if q["score"] < q["max_score"]] == ["softmax"]
    assert questions["softmax"]["diagnosis"] == ["softmax_over_everything", "no_maximum"]


def test_an_unknown_mistake_shows_the_input_and_both_values(grader):
    odd = "def causal_mask(n_q, n_k):\n    return np.eye(n_q, n_k, dtype=bool)\n"
    questions, result = graded(grader, causal_mask=odd)
    assert questions["causal_mask"]["diagnosis"] == []
    values = questions["causal_mask"]["checks"][0]["values"]
    assert values["input"] == "causal_mask(5, 5)"
    assert "True" in values["yours"]
    assert values["yours"] != values["right"]
    assert "causal_mask(5, 5)" in pages.feedback(result)


def test_lists_and_other_number_types_are_welcome(grader):
    questions, _ = graded(
        grader,
        output_row=f"output_row = {np.asarray(A1.questions[8].known()).tolist()}",
        share=f"share = np.float32({float(A1.questions[5].known())})",
    )
    assert questions["output_row"]["score"] == 1
    assert questions["share"]["score"] == 1


def test_cells_that_sleep_share_one_limit(monkeypatch):
    monkeypatch.setattr(Limits, "cells", 3)
    sleeps = [{"cell_type": "code", "source": "import time\ntime.sleep(1.2)"} for _ in range(9)]
    book = handed_in.solved(A1)
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(1, 1))
    scores = []
    for cells in ([*book["cells"], *sleeps], [*sleeps, *book["cells"]]):
        raw = json.dumps(book | {"cells": cells}).encode()
        submission = submissions.Submission("e", "E", cells=submissions.read(raw)[0])
        result = grader.grade(submission)
        assert "the cells together took too long" in [c["error"] for c in result["cells"]][-1]
        scores.append(result["score"])
    assert scores == [26, 0]


def slow_cells(count, line):
    """The reference, whose first cells with a solution take their time."""
    tasks = [c for c in release.solved_cells(A1) if c.role == "solution"][:count]
    return {c.name: f"import time\n{line}\n{c.source}" for c in tasks}


def test_cells_may_use_all_of_the_time_that_they_share(monkeypatch):
    monkeypatch.setattr(Limits, "cells", 9)
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 1))
    _, result = graded(grader, **slow_cells(3, "time.sleep(2.7)"))
    assert (result["score"], result["cells"]) == (26, [])


def test_cells_that_must_be_run_again_have_time_of_their_own(monkeypatch):
    monkeypatch.setattr(Limits, "cells", 6)
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 0.2))
    endless = "def softmax(x, axis=-1):\n    while True:\n        pass\n"
    cells = slow_cells(3, "time.sleep(1.2)") | {"softmax": endless}
    _, result = graded(grader, **cells)
    assert (result["score"], result["cells"]) == (21, [])


def test_where_people_may_try_again_several_errors_leave_time_for_slow_cells(monkeypatch):
    """There the notebook is run again after each function that gives no value."""
    monkeypatch.setattr(Limits, "cells", 4)
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 1), retries=True)
    tasks = ("softmax", "attention", "decoder_mask")
    wrong = {name: f"def {name}(*a, **k):\n    raise KeyError\n" for name in tasks}
    _, result = graded(grader, **slow_cells(3, "time.sleep(1.1)") | wrong)
    assert (result["score"], result["cells"]) == (26 - 5 - 8 - 2, [])


def test_cells_that_never_end_leave_time_to_the_others(monkeypatch):
    monkeypatch.setattr(Limits, "cells", 6)
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 1))
    _, result = graded(grader, **slow_cells(3, "while True: pass"))
    assert result["score"] == 26 - 11


def test_a_call_that_takes_longer_by_the_clock_than_its_processor_time_is_not_lost():
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 1))
    source = slow_cells(1, "")["softmax"].replace(
        "x = np.asarray", "time.sleep(1.2); x = np.asarray"
    )
    assert "sleep" in source
    questions, _ = graded(grader, softmax=source)
    assert (questions["softmax"]["score"], questions["softmax"]["note"]) == (5, "")


def test_a_function_that_sleeps_is_not_waited_for_again_and_again():
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(5, 1))
    slow = "def softmax(x, axis=-1):\n    import time\n    time.sleep(2.2)\n    return x\n"
    questions, _ = graded(grader, softmax=slow)
    not_run = ["not run" in check["message"] for check in questions["softmax"]["checks"]]
    assert not_run == [False, False, False, False, True]


THREE_GUESSES = """
def softmax(x, axis=-1):
    if "attention" in globals():
        raise ValueError("no guess yet")
    terms = np.exp(np.where(np.isneginf(x), -np.inf, x) - np.nan_to_num(x).max(axis, keepdims=True))
    return terms / terms.sum(axis, keepdims=True) + 0.001 * ("helper" in globals())
"""


def test_the_first_value_counts_and_no_second_guess(grader):
    book = handed_in.solved(A1, softmax=THREE_GUESSES)
    scores = []
    for helper in ("helper = 1", "pass"):
        cell = {"cell_type": "code", "source": helper}
        raw = json.dumps(book | {"cells": [cell, *book["cells"]]}).encode()
        submission = submissions.Submission("e", "E", cells=submissions.read(raw)[0])
        scores.append(grader.grade(submission)["questions"][0]["score"])
    assert scores == [0, 4]


def test_an_error_names_type_text_and_line(grader):
    questions, _ = graded(grader, padding_mask="\ndef padding_mask(a, b):\n    return a.nothing\n")
    message = questions["padding_mask"]["checks"][0]["message"]
    assert message == (
        "AttributeError: 'numpy.ndarray' object has no attribute 'nothing' (line 3 of the cell)"
    )


def test_the_answer_in_words_waits_for_a_person(grader):
    _, result = graded(grader)
    assert result["written"][0]["score"] is None
    assert result["written"][0]["answer"].startswith("A dot product is a sum")
    assert tables.unread(result) == 1
    assert "1 submission</h1>" in pages.class_summary([result])
    assert "1 written answer still to be read" in pages.class_summary([result])
    assert "2 written answers still to be read" in pages.class_summary([result, result])


def markdown(text, **more):
    return {"cell_type": "markdown", "source": text} | more


@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("where", ["in its cell", "in a new cell", "in two cells", "nowhere"])
def test_an_answer_in_words_is_found(grader, where, stripped):
    book = json.loads(release.release(A1))
    assert book["cells"][-1]["id"] == "answer-variance"
    if where == "in its cell":
        book["cells"][-1]["source"] = "Because."
    elif where != "nowhere":
        book["cells"].append(markdown("Because."))
    if where == "in two cells":
        book["cells"].append(markdown("And so on.", id="mine"))
    if stripped:
        book["cells"] = [
            {"cell_type": c["cell_type"], "source": c["source"]} for c in book["cells"]
        ]
    cells, _, _ = submissions.read(json.dumps(book).encode())
    _, answers, _ = grader._sorted_out(submissions.Submission("ann", "Ann", cells=cells))
    expected = {"nowhere": {}, "in two cells": {"variance": "Because.\n\nAnd so on."}}
    assert answers == expected.get(where, {"variance": "Because."})


@pytest.mark.parametrize("question", A1.questions, ids=lambda q: q.name)
def test_every_pair_of_known_mistakes_is_named_as_far_as_it_can_be_seen(question):
    answers = Answers()
    pairs = [
        (a, b)
        for i, a in enumerate(question.mistakes)
        for b in question.mistakes[:i]
        if a.switch != b.switch
    ]
    for pair in pairs[::7]:
        got = {c.name: answers.known(question, c, pair) for c in question.checks}
        named = answers.diagnose(question, got)
        right = all(answers.passes(question, c, got[c.name]) for c in question.checks)
        assert named or right, [m.name for m in pair]


TELLS_WHEN_ALONE = """
if "attention" not in globals():
    raise RuntimeError("told")
"""


@pytest.mark.parametrize("retries", [True, False])
def test_where_people_try_again_errors_speak_only_before_the_inputs_are_known(monkeypatch, retries):
    opened, beside = grading._Run._opened, []
    monkeypatch.setattr(
        grading._Run, "_opened", lambda run: beside.append(len(run.sessions)) or opened(run)
    )
    book = handed_in.solved(A1, softmax="def softmax(x, axis=-1):\n    raise KeyError\n")
    cells = [{"cell_type": "code", "source": s} for s in ("import torch", TELLS_WHEN_ALONE)]
    raw = json.dumps(book | {"cells": [*book["cells"], *cells]}).encode()
    submission = submissions.Submission("e", "E", cells=submissions.read(raw)[0])
    grader = Grader(A1, sandbox.Bubblewrap([A1.folder]), Limits(2, 2), retries)
    result = grader.grade(submission)
    assert result["score"] == A1.points - 5
    assert "torch is not here" in json.dumps(result)
    assert ("told" in json.dumps(result)) is not retries
    assert any(beside) is not retries


# ---------------------------------------------------------------- batches


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "in"
    where.mkdir()
    good = json.dumps(handed_in.solved(A1))
    for student in ("ann", "ben", "cem", "dora"):
        (where / f"{student}.ipynb").write_text(good, encoding="utf-8")
    (where / "eve.ipynb").write_text(release.release(A1), encoding="utf-8")
    return where


def run(folder, out, *options):
    return command.main(["grade", "a1", str(folder), "--out", str(out), *options])


def rows(out):
    with open(out / "grades.csv", newline="", encoding="utf-8") as stream:
        return {row["student"]: row for row in csv.DictReader(stream)}


def read_answers(out, where, **filled):
    """A table of answers.csv, in which somebody has filled in every row."""
    with open(out / "answers.csv", newline="", encoding="utf-8") as stream:
        table = [row | filled for row in csv.DictReader(stream)]
    with open(where / "filled.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, table[0].keys())
        writer.writeheader()
        writer.writerows(table)
    return str(where / "filled.csv")


def test_a_batch_goes_on_where_it_stopped(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(folder, out) == 0
    before = {p.name: p.stat().st_mtime_ns for p in (out / "results").iterdir()}
    first = json.loads((out / "results" / "ann.json").read_text("utf-8"))
    (out / "results" / "ben.json").write_text('{"version": "half', encoding="utf-8")
    (folder / "cem.ipynb").write_text(release.release(A1), encoding="utf-8")
    capsys.readouterr()
    assert run(folder, out) == 0
    assert "3 of 5 are graded already" in capsys.readouterr().err
    assert json.loads((out / "results" / "ann.json").read_text("utf-8")) == first
    scores = {student: row["total"] for student, row in rows(out).items()}
    assert scores == {"ann": "26", "ben": "26", "cem": "0", "dora": "26", "eve": "0"}
    assert before.keys() == {p.name for p in (out / "results").iterdir()}


def test_shards_make_one_table(folder, tmp_path):
    out = tmp_path / "out"
    assert run(folder, out, "--shard", "0/2") == 0
    assert len((out / "grades.csv").read_text("utf-8").splitlines()) == 1 + 3
    assert run(folder, out, "--shard", "1/2", "--jobs", "1") == 0
    assert len((out / "grades.csv").read_text("utf-8").splitlines()) == 1 + 5
    assert run(folder, out, "--shard", "2/2") == 2


def test_the_zip_of_a_platform_is_taken_as_it_is(folder, tmp_path):
    import zipfile

    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for k, file in enumerate(sorted(folder.iterdir())):
            archive.write(file, f"{file.stem.title()} X_{k}_assignsubmission_file_/{file.name}")
        archive.writestr("Fay X_9_assignsubmission_file_/notes.txt", "sorry")
    assert run(path, tmp_path / "out") == 0
    table = rows(tmp_path / "out")
    assert {s: r["total"] for s, r in table.items()} == {
        "Ann_X~0": "26",
        "Ben_X~1": "26",
        "Cem_X~2": "26",
        "Dora_X~3": "26",
        "Eve_X~4": "0",
        "Fay_X~9": "0",
    }
    assert "no notebook" in table["Fay_X~9"]["remarks"]


def test_scores_of_written_answers_come_back(folder, tmp_path):
    out = tmp_path / "out"
    run(folder, out)
    filled = read_answers(out, tmp_path, score="3", comment="well said")
    assert run(folder, out, "--manual", filled) == 0
    assert rows(out)["ann"]["total"] == "29"
    assert rows(out)["ann"]["unread"] == "0"
    assert "well said" in (out / "feedback" / "ann.html").read_text("utf-8")
    filled = read_answers(out, tmp_path, score="9")
    assert run(folder, out, "--manual", filled) == 2


def test_a_score_is_for_the_answer_that_was_read(folder, tmp_path, capsys):
    out = tmp_path / "out"
    run(folder, out)
    filled = read_answers(out, tmp_path, score="3", comment="well said, Ann")
    book = json.dumps(handed_in.solved(A1, variance="I do not know."))
    (folder / "ann.ipynb").write_text(book, "utf-8")
    assert run(folder, out, "--manual", filled) == 0
    said = "ann variance: no score, the answer is not the one that was read"
    assert said in capsys.readouterr().err.splitlines()
    assert rows(out)["ann"]["unread"] == "1"
    assert rows(out)["ben"]["total"] == "29"
    assert "well said" not in (out / "feedback" / "ann.html").read_text("utf-8")
    (folder / "ben.ipynb").rename(folder / "bob.ipynb")
    assert run(folder, out, "--manual", filled) == 0
    assert "ben variance: no score" in capsys.readouterr().err
    assert rows(out)["cem"]["total"] == "29"


def test_canvas_rows_follow_the_roster(folder, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,A1 (99)\n    Points Possible,,,,,30\n"
        '"Berg, Ann",17,s17,ann,1,\n"Fox, Fay",18,s18,fay,1,\n',
        "utf-8",
    )
    out = tmp_path / "out"
    assert run(folder, out, "--canvas", str(roster), "--column", "A1 (99)") == 0
    assert (out / "canvas.csv").read_text("utf-8").splitlines() == [
        "Student,ID,SIS User ID,SIS Login ID,Section,A1 (99)",
        '"Berg, Ann",17,s17,ann,1,26',
        '"Fox, Fay",18,s18,fay,1,',
    ]


def hand_in(where, key, *students):
    """Blank notebooks, released with a key."""
    for student in students:
        (where / f"{student}.ipynb").write_text(release.release(load("a1", key)), encoding="utf-8")


def test_most_from_another_course_stops_the_batch_and_writes_nothing(folder, tmp_path, capsys):
    out = tmp_path / "out"
    hand_in(folder, "autumn", "ann", "ben", "cem")
    (folder / "eve.ipynb").write_text(json.dumps({"cells": [markdown("Mine.")]}), "utf-8")
    assert run(folder, out) == 2
    said = capsys.readouterr().err
    assert (
        "3 of 4 submissions were released with another COURSE (or another version, or another "
        "assignment): give the same COURSE" in said
    )
    assert not out.exists()
    assert run(folder, out, "--course", "autumn") == 0
    assert run(folder, out, "--any-release") == 0


def test_half_from_another_course_is_told_and_no_check_was_edited(folder, tmp_path):
    out = tmp_path / "out"
    hand_in(folder, "autumn", "ann", "ben")
    (folder / "eve.ipynb").unlink()
    assert run(folder, out) == 0
    page = (out / "feedback" / "ann.html").read_text("utf-8")
    assert "another version or another course" in page
    assert "was edited" not in page
    assert "another version" not in (out / "feedback" / "cem.html").read_text("utf-8")


def test_each_assignment_has_its_own_results(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a1", "a2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ann.ipynb").write_text(release.release(load(name)), "utf-8")
        assert command.main(["grade", name, name]) == 0
        assert capsys.readouterr().out == f"1 submission: graded/{name}/summary.html\n"
    for name in ("a1", "a2"):
        stored = json.loads((tmp_path / "graded" / name / "results" / "ann.json").read_text())
        assert stored["assignment"] == name


def test_an_empty_folder_is_an_error(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    assert run(tmp_path / "in", tmp_path / "out") == 2
    assert "there are no submissions in" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_release_says_which_variant_it_wrote(tmp_path, capsys):
    arguments = ["release", "a1", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    assert command.main([*arguments, "--course", "autumn"]) == 0
    path = tmp_path / "a1.ipynb"
    said = f"{path}: the open variant\n{path}: the variant of your key\n"
    assert capsys.readouterr().out == said


def test_without_a_sandbox_nothing_is_graded_unless_told(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "out"
    assert run(folder, out) == 2
    said = capsys.readouterr().err
    assert "bubblewrap is not installed" in said
    assert not out.exists()
    assert run(folder, out, "--unsafe") == 0
    assert "can read your files" in capsys.readouterr().err


def test_a_sandbox_that_does_not_start_says_how_to_mend_it(monkeypatch):
    monkeypatch.setattr(sandbox, "_worker", lambda *a, **k: ["/nothing/here"])
    with pytest.raises(sandbox.SandboxError, match="sysctl"):
        batch.open_box(False, [])


def test_results_inside_the_submissions_are_refused(folder, capsys):
    assert run(folder, folder / "graded") == 2
    assert "--out must not lie inside" in capsys.readouterr().err


def test_a_fault_of_the_grader_costs_one_row_and_not_the_batch(monkeypatch):
    grader = Grader(A1, sandbox.Unprotected())
    monkeypatch.setattr(batch, "_grader", grader)
    monkeypatch.setattr(grader, "_sorted_out", lambda submission: 1 / 0)
    cells = [submissions.Cell("code", "x = 1")]
    result = batch._grade(submissions.Submission("ann", "Ann", cells=cells))
    assert result["score"] == 0
    assert "the grader itself failed (ZeroDivisionError" in result["reason"]


def test_a_file_that_the_reader_chokes_on_keeps_its_place(folder, monkeypatch):
    monkeypatch.setattr(submissions, "_cells", lambda book: book["nothing"])
    found = submissions.collect(folder, set())
    assert len(found) == 5
    assert found[0].reason == "ann.ipynb: no notebook (KeyError('nothing'))"


def test_what_is_no_zip_is_not_graded(tmp_path, capsys):
    (tmp_path / "all.zip").write_text("sorry", "utf-8")
    assert run(tmp_path / "all.zip", tmp_path / "out") == 2
    assert "all.zip cannot be opened" in capsys.readouterr().err


def test_a_process_of_the_grader_that_dies_costs_one_row(folder, tmp_path, monkeypatch):
    honest = Grader.grade

    def deadly(self, submission):
        if submission.student == "ben" and submission.cells:
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(self, submission)

    monkeypatch.setattr(Grader, "grade", deadly)
    assert run(folder, tmp_path / "out") == 0
    table = rows(tmp_path / "out")
    scores = {student: row["total"] for student, row in table.items()}
    assert scores == {"ann": "26", "ben": "0", "cem": "26", "dora": "26", "eve": "0"}
    assert "ended the process of the grader" in table["ben"]["remarks"]


def test_the_grader_itself_has_little_memory(monkeypatch):
    limits = {}
    monkeypatch.setattr(batch.resource, "setrlimit", limits.__setitem__)
    batch._prepare("a1", None, A1.folder.parent, sandbox.Unprotected(), Limits())
    assert limits == {batch.resource.RLIMIT_AS: (4 * 2**30,) * 2}


def test_a_value_is_converted_once_and_not_for_every_known_mistake(grader, monkeypatch):
    seen, convert = [], marking.as_array
    monkeypatch.setattr(marking, "as_array", lambda v: seen.append(repr(v)) or convert(v))
    questions, _ = graded(grader, causal_mask="def causal_mask(n_q, n_k):\n    return [[7]]\n")
    assert seen.count("((7,),)") == len(questions["causal_mask"]["checks"])


def test_assignments_inside_the_interpreter_are_refused(tmp_path):
    inside = sandbox._interpreter()[0]
    with pytest.raises(sandbox.SandboxError, match="move it"):
        sandbox.Bubblewrap([inside / "assignments"])


def test_a_new_version_of_a_check_grades_again(folder, tmp_path):
    job = SimpleNamespace(course=None, cell_seconds=1, call_seconds=1)
    first = batch._version(A1, job)
    job.course = "autumn"
    assert batch._version(A1, job) != first


def test_check_prints_one_notebook(tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(handed_in.solved(A1, attention=TWO_MISTAKES)), "utf-8")
    assert command.main(["check", "a1", str(path)]) == 0
    said = capsys.readouterr().out
    assert "You did not scale" in said
    assert "19 of 30  1 written answer to be read" in said


FORGED = """
def softmax(x, axis=-1):
    raise ValueError("x\\n   5 of 5  softmax\\r\\n  30 of 30  0 written answers to be read")
"""


def test_an_error_cannot_add_a_line_to_what_check_prints(tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    path.write_text(json.dumps(handed_in.solved(A1, softmax=FORGED)), "utf-8")
    assert command.main(["check", "a1", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.strip().startswith(("5 of 5", "30 of 30"))] == []
    assert "   0 of 5  softmax  " in lines


# ---------------------------------------------------------------- the wire


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        "text",
        np.arange(6).reshape(2, 3),
        np.float32(2),
        np.array(True),
        np.zeros((0, 3)),
        (np.ones(2), (1, None)),
        np.arange(12.0)[::2],
        np.asfortranarray(np.eye(3)),
    ],
)
def test_values_cross_unchanged(value):
    read, write = os.pipe()
    wire.send(write, {"value": value, "kwargs": {"axis": 0}})
    got = wire.receive(read)
    os.close(read), os.close(write)
    assert got["kwargs"] == {"axis": 0}
    np.testing.assert_equal(got["value"], value)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"7",
        b"[]",
        b"{",
        b'{"dict": 5}',
        b'{"array": "O8", "shape": [1]}',
        b'{"dict": {"v": {"array": "f8", "shape": [1000000]}}}',
        b'{"dict": {"v": {"array": "f8", "shape": [-1]}}}',
        b'{"dict": {"v": {"array": "f8", "shape": [1.5]}}}',
        b'{"dict": {"v": ' + b'{"items": [' * 5000 + b"]}" * 5000 + b"}}",
        b'{"dict": {"v": ' + b"9" * 10**5 + b"}}",
    ],
)
def test_nonsense_on_the_wire_is_an_error_and_nothing_else(head):
    import struct
    import threading

    read, write = os.pipe()
    data = struct.pack("<II", len(head), 0) + head
    writer = threading.Thread(target=os.write, args=(write, data))
    writer.start()
    with pytest.raises(wire.WireError):
        wire.receive(read)
    writer.join()
    os.close(read), os.close(write)


def test_values_that_would_cost_the_grader_time_or_memory():
    assert marking.as_array((("a" * 1000,) + ("",) * 10,)) is None
    assert marking.as_array(((1, 2), (3.5, True))).shape == (2, 2)
    assert not grading._small([((1, 2), (3,))])  # ragged
    assert grading._small([np.ones((3, 4)), 2, None])
    assert grading._written(np.zeros((6,) * 6)) == "numbers of shape (6, 6, 6, 6, 6, 6)"
    assert grading._written(({"a": 1}, None, wire.Other("set"))) == "(dict,\nNone,\n<set>)"
    many = np.full((2,) * 10, 1 / 3)
    for _ in range(5):
        many = (many,) * 4
    assert len(grading._written(many)) < 1500


def test_what_a_process_calls_an_error_is_a_text_or_nothing():
    told = session._plain_error({"error": np.zeros(3), "text": ["x"], "line": 1.5})
    assert told == {"error": "Exception", "text": "", "line": None}
    told = session._plain_error({"error": "E" * 99, "text": "x" * 999, "line": 7})
    assert told == {"error": "E" * 60, "text": "x" * 300, "line": 7}


@pytest.mark.parametrize("cells", ["5", "true", "1.5", "null", '"x"'])
def test_an_old_format_without_a_list_of_cells_is_unreadable(cells):
    with pytest.raises(submissions.Unreadable):
        submissions.read(f'{{"worksheets": [{{"cells": {cells}}}]}}'.encode())


def test_files_respect_the_mask_and_grades_are_for_one_user(folder, tmp_path):
    out = tmp_path / "out"
    before = os.umask(0o027)
    try:
        assert command.main(["grade", "a1", str(folder), "--out", str(out), "--jobs", "1"]) == 0
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o077 == 0
    assert (out / "grades.csv").stat().st_mode & 0o777 == 0o640


def test_a_key_is_the_same_in_every_locale(tmp_path):
    made = set()
    for name, locale in (("a", {"LC_ALL": "C.UTF-8"}), ("b", {"LC_ALL": "C", "PYTHONUTF8": "0"})):
        environment = os.environ | {"PYTHONCOERCECLOCALE": "0"} | locale
        options = ["release", "a1", "--course", "ключ", "--out", str(tmp_path / name)]
        command_line = [sys.executable, "-m", "coursework", *options]
        subprocess.run(command_line, env=environment, check=True, capture_output=True)
        made.add((tmp_path / name / "a1.ipynb").read_bytes())
    assert len(made) == 1


@pytest.mark.parametrize("key", ["pa$$word", "$1 x", 'it\'s "so" `true` $(HOME)', "(a, b)"])
def test_make_passes_a_key_as_it_was_typed(key):
    for target in (["release"], ["grade", "ASSIGNMENT=a1", f"FOLDER={key}"]):
        line = ["make", "-n", "--no-print-directory", "-o", ".venv/ready", *target]
        line.append(f"COURSE={key}")
        said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
        assert f"--course={key}" in shlex.split(said.strip().split("\n")[-1])
        assert target[-1].removeprefix("FOLDER=") in shlex.split(said)


@contextlib.contextmanager
def an_ordinary_user():
    """For whom permissions hold, also where these tests run as root; gives a folder to all."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        if user == 0:
            os.seteuid(12345)
        try:
            yield Path(name)
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("mode", [0o444, 0o111, 0o000])
def test_a_folder_that_may_not_be_opened_is_a_row(mode):
    with an_ordinary_user() as folder:
        (folder / "ann").mkdir()
        (folder / "ann" / "a1.ipynb").write_text("{}", "utf-8")
        (folder / "ann").chmod(mode)
        try:
            found = submissions.collect(folder, set())
        finally:
            (folder / "ann").chmod(0o755)
    assert [s.student for s in found] == ["ann"]
    assert found[0].reason.endswith("cannot be read: Permission denied")


def test_a_place_that_may_not_be_read_or_written_is_told_in_a_sentence(capsys):
    with an_ordinary_user() as folder:
        (folder / "closed").mkdir(mode=0)
        place = folder / "closed" / "new"
        assert command.main(["release", "a1", "--out", str(place)]) == 2
        with pytest.raises(PermissionError, match="closed"):
            submissions.collect(folder / "closed", set())
        (folder / "closed").chmod(0o755)
    assert capsys.readouterr().err == f"coursework: [Errno 13] Permission denied: '{place}'\n"


def test_a_command_that_is_killed_leaves_no_process(tmp_path):
    sleeper = {"cell_type": "code", "source": "import time\ntime.sleep(20)"}
    book = handed_in.solved(A1)
    (tmp_path / "in").mkdir()
    for name, cells in (("a", []), ("b", [sleeper])):
        raw = json.dumps(book | {"cells": [*cells, *book["cells"]]})
        (tmp_path / "in" / f"{name}.ipynb").write_text(raw, "utf-8")
    out = tmp_path / "out"
    line = ["-m", "coursework", "grade", "a1", str(tmp_path / "in"), "--out", str(out)]
    process = subprocess.Popen([sys.executable, *line, "--jobs", "1"], stderr=subprocess.DEVNULL)
    first = _soon((out / "results" / "a.json").exists)  # the second is being graded
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait()
    assert first
    assert workers
    assert _soon(lambda: not any(map(_runs, workers)))


def _soon(happens):
    end = time.monotonic() + 15
    while not (got := happens()) and time.monotonic() < end:
        time.sleep(0.1)
    return got


def _runs(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
