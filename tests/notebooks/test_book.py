"""Every notebook and every page of the book passes every check."""

import subprocess
import sys
from collections import Counter

import pytest
import yaml

from tests.helpers import assert_a_fresh_run_stores_the_same
from tests.notebooks import checks
from tests.notebooks.checks import ROOT

NOTEBOOKS = sorted(ROOT.glob("chapters/*.ipynb")) + sorted(ROOT.glob("book/*.ipynb"))
BOOK_PAGES = sorted(ROOT.glob("book/*.md"))
PAGES = BOOK_PAGES + sorted(ROOT.glob("*.md"))
LARGEST_NOTEBOOK = 500_000

# Cells that switch off a part of the checks, as {(notebook, tag): how many}. Each needs a reason.
WEAKENED = {}

# Decimal numbers in prose that nothing computes, as {(file, number): reason}.
NOT_COMPUTED = {
    ("references.md", "3.2"): "the number of a section in a paper",
    ("museum.ipynb", "0.27"): "what nobody can compute again, shown as such",
}

# `make test-peers` runs the others.
RUN_HERE = [path for path in NOTEBOOKS if not checks.read(path).metadata.get("needs_peers")]

by_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
by_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


def passes(problems):
    assert not problems, "\n".join(problems)


@by_notebook
@pytest.mark.parametrize(
    "check",
    [
        checks.executed_in_order,
        checks.format_and_ids,
        checks.no_errors,
        checks.short_cells,
        checks.notebook_headings,
        checks.figures_described,
        checks.notebook_images,
        checks.widgets_stored,
        checks.few_frames,
    ],
    ids=lambda check: check.__name__,
)
def test_notebook(check, path):
    passes(check(checks.read(path)))


@pytest.mark.parametrize("path", RUN_HERE, ids=lambda path: path.stem)
def test_a_fresh_run_stores_the_same(path):
    assert_a_fresh_run_stores_the_same(path)


@by_notebook
def test_notebook_size(path):
    assert path.stat().st_size <= LARGEST_NOTEBOOK


@by_notebook
def test_numbers_in_prose(path):
    unproved = checks.unproved_numbers(checks.read(path))
    passes(
        [
            f"cell {cell}: {number} is in the text, but no cell computes it"
            for cell, number in unproved
            if (path.name, number) not in NOT_COMPUTED
        ]
    )


@pytest.mark.parametrize("path", BOOK_PAGES, ids=lambda path: path.name)
def test_numbers_on_pages(path):
    text = path.read_text("utf-8")
    known = checks.numbers(checks.sample_output(text)).union(
        *(checks.proved(checks.read(notebook)) for notebook in NOTEBOOKS)
    )
    unproved = [str(number) for number in checks.numbers(checks.claims(text)) - known]
    passes(
        [
            f"{number} is in the text, but neither a sample nor a notebook computes it"
            for number in unproved
            if (path.name, number) not in NOT_COMPUTED
        ]
    )


def test_every_exception_for_a_number_is_needed():
    used = set()
    for path in NOTEBOOKS:
        used |= {(path.name, number) for _, number in checks.unproved_numbers(checks.read(path))}
    for path in BOOK_PAGES:
        claimed = checks.numbers(checks.claims(path.read_text("utf-8")))
        used |= {(path.name, str(number)) for number in claimed}
    assert not NOT_COMPUTED.keys() - used


def test_cells_with_weaker_checks_are_all_listed():
    found = Counter(
        (path.name, mark)
        for path in NOTEBOOKS
        for _, mark in checks.weakened_checks(checks.read(path))
    )
    assert found == WEAKENED


@by_page
def test_page(path):
    text = path.read_text("utf-8")
    passes(checks.heading_structure(text) + checks.images_described(text))


@pytest.mark.parametrize("path", PAGES + NOTEBOOKS, ids=lambda path: path.name)
def test_links(path):
    notebook = path.suffix == ".ipynb"
    text = checks.markdown(checks.read(path)) if notebook else path.read_text("utf-8")
    passes(checks.broken_links(text, path))


def test_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    names = [path.stem for path in ROOT.glob("chapters/*.ipynb")]
    passes(checks.chapters_in_order(toc, names))


def test_nothing_names_a_machine_or_a_registry():
    folders = [".ci", ".github", "attention_utils", "book", "chapters", "coursework"]
    folders += ["tests", "tools"]
    files = [path for path in ROOT.glob("*") if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    problems = []
    for path in files:
        if "node_modules" in path.parts or "__pycache__" in path.parts:
            continue
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:  # a picture or a font
            continue
        problems += [f"{path.relative_to(ROOT)} {what}" for what in checks.private_details(text)]
    passes(problems)


def test_spelling_in_notebooks(tmp_path):
    """`make lint` spells everything but the notebooks, whose JSON is full of pictures."""
    for path in NOTEBOOKS:
        sources = [f"[{cell.id}]\n{cell.source}" for cell in checks.read(path).cells]
        (tmp_path / f"{path.stem}.md").write_text("\n\n".join(sources), "utf-8")
    command = [sys.executable, "-m", "codespell_lib", "--toml", ROOT / "pyproject.toml", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
