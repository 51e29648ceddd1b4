"""The row reader: one frame per query, moved by a link that needs no kernel."""

import ipywidgets as ipw
import numpy as np
import pytest

from attention_utils import AttentionMap
from attention_utils.widgets import row_bars, row_reader
from tests.helpers import refuses

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0, 0, 1]])
VALUES = np.array([[4, 0], [8, 2], [0, 1]])


@pytest.fixture
def parts():
    reader = row_reader(AttentionMap(WEIGHTS, ["<q>", "<q>"], ["a", "b", "c"]), VALUES)
    slider, stack = reader.children
    yield slider, stack
    ipw.Widget.close_all()


def test_one_frame_per_query(parts):
    slider, stack = parts
    assert len(stack.children) == len(slider.options) == 2
    assert len({label for label, _ in slider.options}) == 2, "repeated tokens stay apart"
    assert stack.selected_index == slider.index == 0


def test_each_frame_shows_its_output(parts):
    _, stack = parts
    first, second = (frame.value for frame in stack.children)
    assert "(4.000, 0.750)" in first
    assert "(0.000, 1.000)" in second
    assert "(4.000, 0.750)" not in second


def test_each_frame_marks_its_row(parts):
    _, stack = parts
    for i, frame in enumerate(stack.children):
        rows = frame.value.split("<tr")[2:]  # after the head
        assert ["aria-current" in row for row in rows] == [i == 0, i == 1]


def test_tokens_are_escaped(parts):
    _, stack = parts
    assert all("<q>" not in frame.value for frame in stack.children)


def test_the_link_needs_no_kernel(parts):
    slider, stack = parts
    state = ipw.Widget.get_manager_state()["state"].values()
    (link,) = [model["state"] for model in state if model["model_name"] == "LinkModel"]
    assert link["source"] == [f"IPY_MODEL_{slider.model_id}", "index"]
    assert link["target"] == [f"IPY_MODEL_{stack.model_id}", "selected_index"]


@pytest.mark.parametrize("value", [VALUES[:2], VALUES[0], VALUES.T])
def test_one_value_per_key(value):
    with refuses("value", "3"):
        row_reader(AttentionMap(WEIGHTS, ["p", "q"], ["a", "b", "c"]), value)


@pytest.mark.parametrize("query", ["<q>", 1, -1])
def test_bars_of_one_row(query):
    shown = AttentionMap(WEIGHTS[::-1], ["p", "<q>"], ["a", "$b", "c<"])
    table = row_bars(shown, query)
    assert "What &lt;q&gt; reads" in table
    assert 'class="mathjax_ignore"' in table
    lines = table.split("<tr>")[2:]
    for line, token, number, width in zip(
        lines, ["a", "$b", "c&lt;"], ["0.50", "0.25", "0.25"], [50, 25, 25], strict=True
    ):
        assert f">{token}</th><td>{number}</td>" in line
        assert f"width:{width}.0%" in line
