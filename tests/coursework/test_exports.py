"""The exports, used as they will be: by the real nbgrader, and as Gradescope runs an autograder."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from coursework import gradescope, nbgrader, release, sandbox, source, submissions
from coursework.grading import UNTOLD, Grader, Limits
from coursework.model import load
from tests.coursework import handed_in

NO_SCALE = """
def attention(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    return weights @ value, weights
"""
NO_MAXIMUM = """
def softmax(x, axis=-1):
    terms = np.exp(x)
    return terms / terms.sum(axis=axis, keepdims=True)
"""


NO_MASK = """
def multi_head(x, memory, w_q, w_k, w_v, w_o, n_heads, mask=None):
    scores = split_heads(x @ w_q, n_heads) @ np.swapaxes(split_heads(memory @ w_k, n_heads), -1, -2)
    terms = np.exp(scores / np.sqrt(w_q.shape[-1] // n_heads))
    weights = terms / terms.sum(axis=-1, keepdims=True)
    return merge_heads(weights @ split_heads(memory @ w_v, n_heads)) @ w_o
"""


@pytest.mark.parametrize("name", ["a1", "a2", "a3"])
def test_nbgrader_releases_and_grades_the_export_and_agrees(name, tmp_path, monkeypatch):
    from nbgrader.api import Gradebook

    # It calls alembic, its neighbour, by name.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assignment = load(name)
    nbgrader.export(assignment, tmp_path)

    def run(*command):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command, name],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    run("generate_assignment")
    released = (tmp_path / "release" / name / f"{name}.ipynb").read_text("utf-8")
    assert not [s for s in release.secrets(assignment) if json.dumps(s)[1:-1] in released]
    assert "_graded" not in released
    fresh = release.release(assignment)  # so that a collected folder can be graded here as well
    assert submissions.read(released.encode())[2] == submissions.read(fresh.encode())[2]
    replaced = {
        "a1": {
            "full": {},
            "three_mistakes": {
                "attention": NO_SCALE,
                "softmax": NO_MAXIMUM,
                "share": "share = 0.5",
            },
        },
        "a2": {"full": {}, "no_mask": {"multi_head": NO_MASK}},
        "a3": {"two_mistakes": {"kind_1": "kind_1 = 'Z'", "input_2": "input_2 = ()"}},
    }[name]
    full = {c.name: c.source for c in release.solved_cells(assignment) if c.role == "solution"}
    for student, wrong in replaced.items():
        book = json.loads(released)
        for cell in book["cells"]:
            made = (
                cell["metadata"].get("nbgrader", {}).get("grade_id", "").removeprefix("solution-")
            )
            if made in full:
                cell["source"] = (full | wrong)[made]
        path = tmp_path / "submitted" / student / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(book), "utf-8")
    blank = tmp_path / "submitted" / "blank" / name / f"{name}.ipynb"
    blank.parent.mkdir(parents=True)
    blank.write_text(released, "utf-8")
    run("autograde")
    grader = Grader(assignment, sandbox.Bubblewrap([assignment.folder]), Limits(2, 2))
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        theirs = {s.student.id: s.score for s in gradebook.assignment_submissions(name)}
    ours = {}
    for student in theirs:
        found = submissions.of_one(tmp_path / "submitted" / student, grader.names)
        ours[student] = grader.grade(found)["score"]
    assert theirs == ours
    assert set(ours) == {*replaced, "blank"}
    lost = {student: assignment.points - score for student, score in ours.items()}
    expected = {"full": 0, "no_mask": 2, "three_mistakes": 7, "two_mistakes": 2}
    expected["blank"] = assignment.points
    assert lost == {student: expected[student] for student in ours}


@pytest.fixture
def autograder():
    """A tree like Gradescope's, readable to every user unless the autograder sees to it."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    path = gradescope.export(load("a1", "spring"), root / "autograder.zip")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(root / "source")
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    (root / "submission").mkdir()
    yield root
    shutil.rmtree(root)


def run_autograder(root, **environment):
    done = subprocess.run(
        ["bash", str(root / "source" / "run_autograder")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"AUTOGRADER": str(root), "PYTHON": sys.executable} | environment,
    )
    path = root / "results" / "results.json"
    return done, json.loads(path.read_text("utf-8")) if path.exists() else None


def test_gradescope_zip_is_reproducible_and_whole(tmp_path):
    one, two = (gradescope.export(load("a1"), tmp_path / f"{k}.zip").read_bytes() for k in (1, 2))
    assert one == two
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        names = set(archive.namelist())
    assert {"setup.sh", "run_autograder", "coursework/assignments/a1/a1.md"} <= names
    assert "course_key" not in names
    assert not [n for n in names if "a2" in n or "losses" in n]


def test_a_zip_with_a_key_is_for_its_owner_and_an_empty_key_is_a_key(tmp_path):
    for key in (None, "", "spring"):
        path = gradescope.export(load("a1", key), tmp_path / "a1.zip")
        with zipfile.ZipFile(path) as archive:
            kept = archive.read("course_key").decode() if key is not None else None
            assert ("course_key" in archive.namelist(), kept) == (key is not None, key)
        assert (path.stat().st_mode & 0o077 == 0) == (key is not None)


def test_gradescope_grades_the_course_variant(autograder):
    assignment = load("a1", "spring")
    book = source.notebook(release.solved_cells(assignment), "a1")
    (autograder / "submission" / "renamed.ipynb").write_text(book, "utf-8")
    done, result = run_autograder(autograder)
    assert done.returncode == 0, done.stderr
    assert result["score"] == assignment.points == sum(t["score"] for t in result["tests"])
    assert {t["status"] for t in result["tests"]} == {"passed"}
    assert "read by a person" in result["output"]


def test_gradescope_names_the_mistake_and_keeps_the_right_values(autograder):
    raw = json.dumps(handed_in.solved(load("a1", "spring"), attention=NO_SCALE))
    (autograder / "submission" / "a1.ipynb").write_text(raw, "utf-8")
    _, result = run_autograder(autograder)
    failed = [t for t in result["tests"] if t["status"] == "failed"]
    assert failed
    assert all(t["name"].startswith("attention: ") for t in failed)
    assert "right value" not in json.dumps(result)


TELLTALES = {
    "causal_mask": """
def causal_mask(n_q, n_k):
    source = "\\n" * n_q + "raise ValueError"
    exec(compile(source, "<cell 1>", "exec"))
""",
    "padding_mask": """
def padding_mask(lengths, n_k):
    raise (KeyError, type(f"told_{n_k}", (Exception,), {}))[lengths[0] % 2]
""",
    "softmax": """
def softmax(x, axis=-1):
    return np.zeros((12345, 0))
""",
    "decoder_mask": """
def decoder_mask(lengths, n_q, n_k):
    class Missing(Exception):
        pass
    raise Missing(f"told: {n_q}")
""",
}


def test_gradescope_passes_on_nothing_that_a_student_could_learn_inputs_from(autograder):
    raw = json.dumps(handed_in.solved(load("a1", "spring"), **TELLTALES))
    (autograder / "submission" / "a1.ipynb").write_text(raw, "utf-8")
    _, result = run_autograder(autograder)
    said = {t["output"] for t in result["tests"] if t["name"].startswith("causal_mask")}
    said |= {t["output"] for t in result["tests"] if t["name"].startswith("padding_mask")}
    assert said == {UNTOLD}
    assert "told" not in json.dumps(result)
    assert "12345" not in json.dumps(result)
    assert {t["name"].split(":")[0] for t in result["tests"] if t["status"] == "failed"} == {
        *TELLTALES
    }


def test_gradescope_without_a_notebook_says_so(autograder):
    _, result = run_autograder(autograder)
    assert result["score"] == 0
    assert "nothing was handed in" in result["output"]


SPY = """
import ctypes
import os

seen = []
for folder in {folders!r}:
    try:
        seen += os.listdir(folder)
    except OSError:
        pass
for attempt in (
    lambda: open({results!r}, "w"),
    lambda: os.fork(),
    lambda: os.setuid(0),
    lambda: os.kill(os.getppid(), 9),
):
    try:
        seen.append(attempt())
    except OSError:
        pass
libc = ctypes.CDLL(None)
seen += [call for call in (libc.socket(2, 1, 0), libc.shmget(0, 4096, 0o1600)) if call != -1]
share = {right} if not seen else -1
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a separate user needs root, as Gradescope has it")
def test_gradescope_without_bubblewrap_uses_a_user_who_can_do_nothing(autograder, tmp_path):
    (tmp_path / "bash").symlink_to(shutil.which("bash"))
    assignment = load("a1", "spring")
    folders = [str(autograder / name) for name in ("source", "submission", "results")]
    right = next(q for q in assignment.questions if q.name == "share").known()
    spy = SPY.format(folders=folders, results=f"{folders[2]}/results.json", right=float(right))
    raw = json.dumps(handed_in.solved(assignment, share=spy))
    (autograder / "submission" / "a1.ipynb").write_text(raw, "utf-8")
    done, result = run_autograder(autograder, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [t["name"] for t in result["tests"] if t["status"] == "failed"] == []
    assert result["score"] == assignment.points
    assert (autograder / "source").stat().st_mode & 0o077 == 0


def test_gradescope_refuses_where_nothing_separates(autograder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(autograder))
    with pytest.raises(sandbox.SandboxError, match="root"):
        gradescope.run("a1", autograder)
    assert not (autograder / "results" / "results.json").exists()
