"""Export for Gradescope: the zip of an autograder, and what it runs there."""

import io
import os
import sys
import zipfile
from pathlib import Path

import attention_utils
from coursework import batch, files, release, submissions, tables
from coursework.grading import Grader
from coursework.model import load
from coursework.sandbox import Bubblewrap, SandboxError, SeparateUser

SETUP = """#!/usr/bin/env bash
set -e
apt-get update
apt-get install -y python3 python3-venv bubblewrap
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install 'numpy>=2.0'
"""
RUN = """#!/usr/bin/env bash
# AUTOGRADER and PYTHON are for trying it elsewhere.
root="${{AUTOGRADER:-/autograder}}"
cd "$root/source" || exit 1
exec "${{PYTHON:-/autograder/venv/bin/python}}" -B -m coursework.gradescope {name} "$root"
"""


def export(assignment, path):
    """Write the zip; the same sources give the same bytes."""
    release.release(assignment)
    home, own = Path(__file__).parent, Path(attention_utils.__file__).parent
    texts = {"setup.sh": SETUP, "run_autograder": RUN.format(name=assignment.name)}
    keyed = assignment.course.key is not None
    if keyed:
        texts["course_key"] = assignment.course.key
    for folder in (home, own):
        for file in sorted(folder.glob("*.py")):
            texts[f"{folder.name}/{file.name}"] = file.read_text(encoding="utf-8")
    for suffix in ("md", "py"):
        file = assignment.folder / f"{assignment.name}.{suffix}"
        texts[f"coursework/assignments/{assignment.name}/{file.name}"] = file.read_text("utf-8")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (
                0o100755 if name in ("setup.sh", "run_autograder") else 0o100644
            ) << 16
            archive.writestr(entry, text)
    files.write(path, stream.getvalue(), private=keyed)
    return Path(path)


def run(name, root):
    """Grade ``root/submission`` and write ``root/results/results.json``, last of all."""
    root = Path(root)
    key = root / "source" / "course_key"
    assignment = load(name, key.read_text("utf-8") if key.exists() else None)
    (root / "results").mkdir(exist_ok=True)
    submission = submissions.of_one(root / "submission", {q.name for q in assignment.questions})
    box = _box([root / "source", root / "submission", root / "results"])
    grader = Grader(assignment, box, retries=True)
    result = grader.grade(submission)  # its processes are dead when it returns
    files.write_json(root / "results" / "results.json", report(result))


def _box(hidden):
    """The sandbox; where it cannot start, a user of its own."""
    try:
        box = Bubblewrap(hidden)
        if batch.prove(box) is None:
            return box
    except SandboxError:
        pass
    box = SeparateUser(hidden)
    if (reason := batch.prove(box)) is not None:
        raise SandboxError(f"neither bubblewrap nor a separate user works here: {reason}")
    return box


def report(result):
    """The result as Gradescope shows it; right values stay hidden, since people may try again."""
    tests = []
    for q in result["questions"]:
        for c in q["checks"]:
            said = " ".join(q["feedback"]) or c["message"]
            tests.append(
                {
                    "name": f"{q['name']}: {c['name']}",
                    "score": c["score"],
                    "max_score": c["max_score"],
                    "status": "passed" if c["passed"] else "failed",
                    "output": "" if c["passed"] else said,
                    "visibility": "visible",
                }
            )
    lines = [result["reason"], *result["notes"]]
    lines += [f"cell {c['cell']} stopped: {c['error']}" for c in result["cells"]]
    if tables.unread(result):
        lines.append("Your answer in words is read by a person; its points come later.")
    return {
        "score": result["score"],
        "output": "\n".join(filter(None, lines)),
        "tests": tests,
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }


if __name__ == "__main__":
    os.umask(0o077)
    try:
        run(*sys.argv[1:])
    except SandboxError as error:
        sys.exit(f"coursework: {error}")
