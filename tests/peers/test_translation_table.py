"""Every cell of every table of chapter 12, as printed there, against the installed libraries."""

import re
from pathlib import Path

import nbformat
import pytest

from tests.peers.translation import CHECKS, LIBRARIES, packed_layers

CHAPTER = Path(__file__).parents[2] / "chapters" / "12_to_the_libraries.ipynb"
CELLS = nbformat.read(CHAPTER, as_version=4).cells
TABLES = {cell.id: cell.source for cell in CELLS if re.search(r"^\| :?--", cell.source, re.M)}


def parse(source):
    """Return {(row, column): text} of a Markdown table, with ordinary spaces."""
    lines = [line for line in source.replace("\xa0", " ").splitlines() if line.startswith("|")]
    heading, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        (row[0], column): text
        for row in rows
        for column, text in zip(heading[1:], row[1:], strict=True)
    }


PRINTED = {
    (table, *place): text for table in TABLES for place, text in parse(TABLES[table]).items()
}


def try_cell(table, row, column, text):
    who = packed_layers()[1] if table == "table-packing" else LIBRARIES
    CHECKS[table][column](who[row], text)


@pytest.mark.parametrize("cell", PRINTED, ids=" / ".join)
def test_the_library_does_what_the_cell_says(cell):
    try_cell(*cell, PRINTED[cell])


@pytest.mark.parametrize("cell", PRINTED, ids=" / ".join)
def test_another_text_in_the_cell_would_be_noticed(cell):
    table, _, column = cell
    others = {text for (t, _, c), text in PRINTED.items() if (t, c) == (table, column)}
    for text in others - {PRINTED[cell]}:
        try:
            try_cell(*cell, text)
        except Exception:  # whatever the library says to it
            continue
        pytest.fail(f"the check of {' / '.join(cell)} accepts {text!r} too")


def test_no_table_row_or_column_is_left_out():
    rows = dict.fromkeys(CHECKS, LIBRARIES) | {"table-packing": packed_layers()[1]}
    expected = [
        (table, row, column) for table in CHECKS for row in rows[table] for column in CHECKS[table]
    ]
    assert sorted(PRINTED) == sorted(expected)


# --- the short table of the cheat sheet says nothing else

ROWS = {
    "these notes": "these notes",
    "PyTorch `scaled_dot_product_attention`": "PyTorch function",
    "PyTorch `nn.MultiheadAttention`": "PyTorch layer",
    "JAX `nn.dot_product_attention`": "JAX",
    "ONNX `Attention`": "ONNX",
}
COLUMNS = {
    "true in a mask": ("table-masks", "True means"),
    "causal starts": ("table-causal", "starts at"),
    "nothing to read": ("table-nothing", "a row with nothing to read"),
}
# What the sentence under the table of the cheat sheet completes.
SHORTER = {
    "as the mask; without weights upper left": "with your own mask",
    "upper left; with a cache lower right": "upper left",
    "NaN; without weights $b_O$": "NaN or 0",
}
_, _, SHEET = (
    (CHAPTER.parents[1] / "book" / "cheat_sheet.md")
    .read_text("utf-8")
    .partition("## In the libraries")
)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("column", COLUMNS)
def test_the_cheat_sheet_agrees(row, column):
    table, own_column = COLUMNS[column]
    printed = PRINTED[table, ROWS[row], own_column]
    assert parse(SHEET)[row, column] == SHORTER.get(printed, printed)
