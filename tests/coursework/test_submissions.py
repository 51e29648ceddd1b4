"""What is handed in costs the grader little time and memory, and nobody the grade of another."""

import errno
import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from coursework import __main__ as command
from coursework import files, release, submissions
from coursework.model import load
from tests.coursework import handed_in


@pytest.fixture
def peak():
    """The most memory in use since the test began, in MiB."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_lies_about_a_size_takes_no_memory(tmp_path, method, peak):
    raw = handed_in.lying_zip(method)
    (tmp_path / "ann.zip").write_bytes(raw)
    tracemalloc.reset_peak()
    (submission,) = submissions.collect(tmp_path, set())
    assert submission.cells is None
    assert peak() < 4


def test_the_longest_names_that_a_disk_takes_are_graded_like_others(tmp_path):
    letters = "\U00020000" * 60  # of four bytes each
    number = "1" * 249
    names = [f"{letters}.ipynb", f"{letters}.py", f"a_{number}_1_x", f"a_1_{number}_x"]
    names += [f"a_{number[:229]}_assignsubmission_file_", "ann.ipynb"]
    for name in names:
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(release.release(load("a1")), "utf-8")
    arguments = ["grade", "a1", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert command.main(arguments) == 0
    stored = [path.name for path in (tmp_path / "out" / "feedback").iterdir()]
    assert len(stored) == len(names)
    assert max(len(os.fsencode(name)) for name in stored) < 200


def test_a_result_that_cannot_be_written_costs_nobody_elses(tmp_path, monkeypatch, capsys):
    def refuse(path, data, write=files.write_json):
        if path.name == "ann.json":
            raise OSError(errno.ENAMETOOLONG, "File name too long")
        write(path, data)

    monkeypatch.setattr(files, "write_json", refuse)
    (tmp_path / "in").mkdir()
    for name in ("ann", "ben"):
        (tmp_path / "in" / f"{name}.ipynb").write_text(release.release(load("a1")), "utf-8")
    out = tmp_path / "out"
    assert command.main(["grade", "a1", str(tmp_path / "in"), "--out", str(out)]) == 2
    assert "ann (File name too long)" in capsys.readouterr().err
    assert "ben" in (out / "grades.csv").read_text("utf-8")


def test_a_file_that_cannot_be_looked_at_keeps_its_place(tmp_path, monkeypatch):
    def refuse(path, look=Path.lstat):
        if path.name == "a1.ipynb":
            raise PermissionError(errno.EACCES, "Permission denied")
        return look(path)

    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "a1.ipynb").write_text("{}", "utf-8")
    (tmp_path / "ben.ipynb").write_text(json.dumps({"cells": [{"source": "x"}]}), "utf-8")
    monkeypatch.setattr(Path, "lstat", refuse)
    ann, ben = submissions.collect(tmp_path, set())
    assert ann.reason == "ann/a1.ipynb: cannot be read: Permission denied"
    assert ben.cells


@pytest.mark.parametrize("cell", ["{}", "[]", '{"source":""}'])
def test_a_notebook_of_nothing_but_cells_takes_no_memory(cell, peak):
    raw = ('{"cells":[' + ",".join([cell] * (2**20 + 2**17)) + "]}").encode()
    tracemalloc.reset_peak()
    with pytest.raises(submissions.Unreadable, match="too many lists and objects"):
        submissions.read(raw)
    assert peak() < 3 * len(raw) / 2**20 + 1


def test_cells_are_counted_before_they_are_made(monkeypatch):
    monkeypatch.setattr(submissions, "Cell", None)
    raw = json.dumps({"cells": [{"source": ""}] * 2001}).encode()
    with pytest.raises(submissions.Unreadable, match="2001 cells"):
        submissions.read(raw)
