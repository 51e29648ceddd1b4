"""A chapter that needs more than pip gives quickly says in one sentence how to get it."""

import sys

import pytest

from tests.notebooks import checks
from tests.notebooks.checks import ROOT


def test_the_libraries_of_chapter_12(monkeypatch):
    notebook = checks.read(ROOT / "chapters" / "12_to_the_libraries.ipynb")
    setup = next(cell.source for cell in notebook.cells if cell.id == "setup")
    monkeypatch.setitem(sys.modules, "jax", None)  # as if it were not installed
    with pytest.raises(
        ModuleNotFoundError, match=r"^jax is not installed: run `make peers`"
    ) as info:
        exec(setup, {})
    assert str(info.value).count(".") == 1
    assert "\npeers: " in (ROOT / "Makefile").read_text("utf-8")
