"""Worksheets: whole scores, answers by an honest loop, and nothing given away."""

import re
import subprocess
import sys

import numpy as np
import pytest

from attention_utils import worksheets as module
from attention_utils.worksheets import LARGEST_SCORE, page, worksheets

SEEDS = range(30)
by_seed = pytest.mark.parametrize("seed", SEEDS)


def grids(sheet):
    return {grid.name: grid.values for grid in sheet.given + sheet.asked}


def softmax_by_loop(scores):
    total = sum(np.exp(s) for s in scores)
    return [np.exp(s) / total for s in scores]


@by_seed
def test_one_query(seed):
    g = grids(worksheets(seed)[0])
    dots = [sum(a * b for a, b in zip(g["query"][0], key, strict=True)) for key in g["keys"]]
    weights = softmax_by_loop([dot / 2 for dot in dots])
    assert g["dot products"][0].tolist() == dots
    np.testing.assert_allclose(g["weights"][0], weights)
    np.testing.assert_allclose(g["output"][0], np.dot(weights, g["values"]))


@by_seed
def test_whole_head(seed):
    g = grids(worksheets(seed)[1])
    for i, row in enumerate(g["X"] @ g["W_Q"]):
        weights = softmax_by_loop([row @ key / 2 for key in g["X"] @ g["W_K"]])
        np.testing.assert_allclose(g["weights"][i], weights)
        np.testing.assert_allclose(g["output"][i], np.dot(weights, g["X"] @ g["W_V"]))


@by_seed
@pytest.mark.parametrize("number", [0, 1])
def test_scores_are_whole_in_the_table_and_differ(number, seed):
    g = grids(worksheets(seed)[number])
    assert np.array_equal(2 * g["scores"], g["dot products"])
    assert set(g["scores"].ravel()) <= set(range(LARGEST_SCORE + 1))
    assert all(len(set(row)) > 1 for row in g["scores"])
    below = [tuple(row - max(row)) for row in g["scores"]]
    assert len(set(below)) == len(below)  # no two rows have the same weights


@by_seed
def test_masks(seed):
    g = grids(worksheets(seed)[2])
    assert g["causal mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert g["padding mask"].tolist() == [[1, 1, 1, 0]] * 3
    assert g["both"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    for i, visible in enumerate([2, 3, 3]):
        expected = [*softmax_by_loop(g["scores"][i, :visible]), *[0] * (4 - visible)]
        np.testing.assert_allclose(g["weights"][i], expected)


@by_seed
def test_heads(seed):
    g = grids(worksheets(seed)[3])
    for a in range(3):
        assert np.array_equal(g[f"head {a + 1} of X"], g["X"][:, 2 * a : 2 * a + 2])
    for i, row in enumerate(g["A and B, merged"]):
        assert row.tolist() == [*g["output of head A"][i], *g["output of head B"][i]]


@by_seed
def test_rows(seed):
    sheet = worksheets(seed)[4]
    g = grids(sheet)
    np.testing.assert_allclose(g["weights"].sum(axis=1), 1)
    np.testing.assert_allclose(g["output"], g["weights"] @ g["values"])
    changed = int(re.search(r"value of key (\d)", sheet.task)[1]) - 1
    assert g["moves"][:, 0].tolist() == [int(row[changed] > 0) for row in g["weights"]]
    assert 0 in g["moves"]
    for i, row in enumerate(g["weights"]):
        assert row[g["key read most"][i, 0] - 1] == max(row)
    assert len(set(g["key read most"][:, 0])) > 1
    np.testing.assert_allclose(g["read by all"][0], g["weights"].sum(axis=0))


def test_a_seed_is_a_set_of_sheets():
    assert page(3) == page(3)
    assert len({page(seed) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("number", range(5))
def test_a_sheet_keeps_its_answers_to_itself(number):
    sheet = worksheets(2)[number]
    tables = re.findall(r"<table.*?</table>", sheet._repr_html_())
    blank = tables[len(sheet.given) :]
    assert len(blank) == len(sheet.asked)
    assert not re.findall(r"<td[^>]*>[^<]", "".join(blank))
    for grid, table in zip(sheet.asked, blank, strict=True):
        assert len(re.findall(r"<td style=\"border: 1px", table)) == grid.values.size
        assert grid.html(blank=False) in sheet.key._repr_html_()
    assert repr(sheet.key).startswith(repr(sheet)[:-1])


def test_command(tmp_path):
    command = [sys.executable, "-m", module.__name__]
    said = subprocess.run([*command, "7"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "worksheets-7.html" in said.stdout
    written = (tmp_path / "worksheets-7.html").read_text("utf-8")
    assert written == page(7)
    assert written.count("<section>") == 10
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "SEED" in refused.stderr
