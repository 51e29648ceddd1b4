"""How the notes print numbers: fixed decimals, no -0.000, no rounding edge when stored."""

from math import inf, nan

import numpy as np
import pytest

from attention_utils import printing
from attention_utils.printing import fixed, show
from tests.helpers import refuses


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2 / 3, 3, "0.667"),
        (2 / 3, 1, "0.7"),
        (-2.5, 2, "-2.50"),
        (0.0, 3, "0.000"),
        (-0.0, 3, "0.000"),
        (-1e-9, 3, "0.000"),
        (-0.0004, 3, "0.000"),
        (-0.0006, 3, "-0.001"),
        (np.float32(0.25), 3, "0.250"),
        (7, 3, "7"),
        (np.int64(-7), 3, "-7"),
        (True, 3, "True"),
        (np.False_, 3, "False"),
        (inf, 3, "inf"),
        (-inf, 3, "-inf"),
        (nan, 3, "nan"),
    ],
)
def test_fixed(value, digits, text):
    assert fixed(value, digits) == text


def test_show_a_matrix_with_labels(capsys):
    show("A", [[0.5, -0.25], [10, 0]], digits=2, rows=["I", "love"], columns=["a", "b"])
    assert capsys.readouterr().out.splitlines() == [
        "A  (2, 2)",
        "            a      b",
        "  I      0.50  -0.25",
        "  love  10.00   0.00",
    ]


def test_show_a_vector_a_number_and_whole_numbers(capsys):
    show("v", np.array([1, 23]))
    show("x", 0.12345)
    show("n", 5)
    assert capsys.readouterr().out.splitlines() == ["v  (2,)", "  1  23", "x = 0.123", "n = 5"]


def test_show_several_matrices_one_by_one(capsys):
    show("heads", np.zeros((2, 1, 1)))
    assert capsys.readouterr().out.splitlines() == [
        "heads  (2, 1, 1)",
        "  [0]",
        "  0.000",
        "  [1]",
        "  0.000",
    ]


@pytest.mark.parametrize("value", [0.0005, 0.12350001, -0.99954, 2.4995])
def test_numbers_on_a_rounding_edge_are_not_stored(value, monkeypatch):
    fixed(value)
    monkeypatch.setattr(printing, "refuse_rounding_edges", True)
    with refuses("rounding edge"):
        fixed(value)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.1234, -2.4997, inf, nan, 7])
def test_numbers_off_the_rounding_edges_are_stored(value, monkeypatch):
    text = fixed(value)
    monkeypatch.setattr(printing, "refuse_rounding_edges", True)
    assert fixed(value) == text


def test_labels_of_a_vector_and_labels_that_do_not_fit(capsys):
    show("v", [1, 2], rows=["a", "b"])
    assert capsys.readouterr().out == "v  (2,)\n  a  b\n  1  2\n"
    with refuses("columns", "1"):
        show("v", [1, 2], columns=["a"])
    with refuses("rows", "3"):
        show("m", np.eye(2), rows=["a", "b", "c"])
