"""What the book says about coursework is so, and the built site gives nothing away."""

import html
import re
from fnmatch import fnmatch
from pathlib import Path

from coursework import __main__ as command
from coursework import proof, release, selftest, source
from coursework.model import OWN, load
from coursework.sandbox import Bubblewrap

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
SITE = ROOT / "_build" / "html"
NAMES = sorted(path.parent.name for path in OWN.glob("*/*.md"))


def test_the_page_of_proof_is_current():
    page = (BOOK / "coursework_proof.md").read_text("utf-8")
    assert page == proof.page(NAMES), "run: python -m coursework proof"


def test_the_released_assignments_in_the_book_are_current():
    stored = {path.stem: path.read_text("utf-8") for path in (BOOK / "assignments").glob("*.ipynb")}
    fresh = {name: release.release(load(name)) for name in NAMES}
    assert stored == fresh, "run: python -m coursework release --out book/assignments"


def test_the_assignment_of_the_instructors_page_works_as_printed(tmp_path, capsys):
    page = (BOOK / "coursework_instructors.md").read_text("utf-8")
    text = re.search(r"^````text\n(.*?)^````$", page, re.M | re.S)[1]
    code = re.search(
        r"^```python\n(import numpy.*?Mistake.*?)^```$", page.split("````")[-1], re.M | re.S
    )[1]
    (tmp_path / "a9").mkdir()
    (tmp_path / "a9" / "a9.md").write_text(text, "utf-8")
    (tmp_path / "a9" / "a9.py").write_text(code, "utf-8")
    where = ["a9", "--assignments", str(tmp_path)]
    assert command.main(["selftest", *where, "--declare"]) == 0
    assert command.main(["selftest", *where]) == 0
    assert command.main(["release", *where, "--out", str(tmp_path)]) == 0
    assert '"in_bits": [' in (tmp_path / "a9" / "losses.json").read_text("utf-8")
    for key in ("one", "two"):
        assignment = load("a9", key, tmp_path)
        assert selftest.selftest(assignment, Bubblewrap([tmp_path])) == []
    (tmp_path / "a9" / "a9.md").write_text(f"{text}\n```answer why\nBecause.\n```\n", "utf-8")
    for refused in (["selftest", *where], ["release", *where, "--out", str(tmp_path)]):
        capsys.readouterr()
        assert command.main(refused) == 2
        assert 'the fence "answer why"' in capsys.readouterr().err
    declared = re.search(r"^```python\n([^`]*Written[^`]*)^```$", page, re.M)[1]
    code = f"{code}\n{declared}".replace('"written": []', '"written": written')
    (tmp_path / "a9" / "a9.py").write_text(code, "utf-8")
    assert command.main(["selftest", *where]) == 0


def test_what_the_commands_write_by_default_is_not_committed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command.main(["release", "a1"])
    command.main(["export", "nbgrader", "a1"])
    command.main(["export", "gradescope", "a1"])
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    made = [p.name + "/" * p.is_dir() for p in tmp_path.iterdir()]
    assert len(made) == 3
    assert not [name for name in made if not any(fnmatch(name, rule) for rule in ignored)]


def test_points_and_minutes_on_the_instructors_page():
    page = (BOOK / "coursework_instructors.md").read_text("utf-8")
    for name in NAMES:
        assignment = load(name)
        row = re.search(rf"^\| {name.upper()} \|(.*)\|$", page, re.M)[1].split("|")
        points, words, minutes = (cell.strip() for cell in row[-3:])
        assert float(points) == assignment.points + assignment.written_points
        assert words == (f"{assignment.written_points:g}" if assignment.written else "")
        told = [int(m) for m in re.findall(r"· (\d+) minutes · ", assignment.text)]
        told += [8 * int(m) for m in re.findall(r"(\d+) minutes a snippet", assignment.text)]
        assert int(minutes) == -(-sum(told) // 5) * 5


def test_points_in_the_text_are_the_points_of_the_checks():
    for name in NAMES:
        assignment = load(name)
        told = [int(p) for p in re.findall(r"^\*Difficulty .* (\d+) points", assignment.text, re.M)]
        if name == "a3":
            told = told * 8
        assert sum(told) == assignment.points + assignment.written_points


def _seen(path):
    """The words of a page or notebook, without marks of code, in one line."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix == ".ipynb":
        text = text.replace('\\"', '"').replace('\\n",', " ").replace("\\n", " ")
        text = re.sub(r'^\s+"', "", text, flags=re.M)
    else:
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return re.sub(r"\s+", "", text)


def test_the_built_site_has_no_solutions():
    pages = [p for p in SITE.rglob("*") if p.suffix in (".html", ".ipynb", ".md", ".txt", ".js")]
    assert len(pages) > 20, "make book first"
    seen = {path: _seen(path) for path in pages}
    assignments = [load(name) for name in NAMES]
    hidden = []
    for assignment in assignments:
        for cell in source.cells(assignment.text):
            if cell.role == "answer":
                hidden.append(cell.source)
            elif cell.role == "solution" and assignment.name == "a3":
                hidden.append(source.solved(cell).source)  # bodies alone occur in other snippets
            elif cell.role == "solution":
                body = cell.source.split(source.BEGIN)[1].split(source.END)[0]
                if body.count("\n") >= 4:  # a shorter one may well stand in a chapter
                    hidden.append(body)
        hidden += [written.rubric for written in assignment.written]
    assert len(hidden) >= 15
    squeezed = [re.sub(r"\s+", "", text) for text in hidden]
    for path, words in seen.items():
        assert not [text for text in squeezed if text in words], path
        if path.stem != "coursework_instructors":  # which explains the marks
            assert re.sub(r"\s+", "", source.BEGIN) not in words, path
    # The search can find what is there: a task of A1 is in the page and in its notebook.
    task = re.sub(r"\s+", "", "Scores like 2000 or -2000 must not overflow or vanish.")
    assert len([path for path, words in seen.items() if task in words]) >= 2
