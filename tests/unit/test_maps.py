"""AttentionMap: looking up rows by token, what it refuses, its HTML and its plot."""

import copy
import io
import pickle
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from attention_utils import AttentionMap
from tests.helpers import assert_close, refuses

WEIGHTS = np.array([[0.5, 0.25, 0.25, 0, 0], [0, 0, 0, 0, 0], [0.1, 0.1, 0.2, 0.3, 0.3]])
QUERIES = ["le", "chat", "dort"]
KEYS = ["the", "cat", "on", "the", "mat"]
AWKWARD = ["我", "$x$", "a_b", "<b>", "&amp;", "^{", "\\frac", '"', "%", "$"]


@pytest.fixture
def cats():
    return AttentionMap(WEIGHTS, QUERIES, KEYS)


@pytest.fixture
def awkward():
    n = len(AWKWARD)
    return AttentionMap(np.full((n, n), 1 / n), AWKWARD, AWKWARD)


def test_it_keeps_what_it_was_given(cats):
    np.testing.assert_array_equal(cats.weights, WEIGHTS)
    assert list(cats.query_tokens) == QUERIES
    assert list(cats.key_tokens) == KEYS


def test_it_does_not_follow_later_changes_of_the_array():
    weights = WEIGHTS.copy()
    cats = AttentionMap(weights, QUERIES, KEYS)
    weights[0] = 9
    assert_close(cats.row(0), WEIGHTS[0], atol=0)


# row and top


@pytest.mark.parametrize(
    ("query", "index"), [("le", 0), ("dort", 2), (0, 0), (2, 2), (-1, 2), (-3, 0), (np.int64(1), 1)]
)
def test_row_by_token_or_index(cats, query, index):
    row = cats.row(query)
    assert isinstance(row, np.ndarray)
    assert_close(row, WEIGHTS[index], atol=0)


def test_row_is_a_copy(cats):
    cats.row("le")[:] = 7
    assert_close(cats.row("le"), WEIGHTS[0], atol=0)


def test_unknown_token_lists_the_tokens(cats):
    with refuses("chien", *QUERIES):
        cats.row("chien")
    with refuses("cat", *QUERIES):  # a key token is no query token
        cats.row("cat")


@pytest.mark.parametrize("index", [3, -4])
def test_index_out_of_range_says_the_range(cats, index):
    with refuses(str(index), "0", "2"):
        cats.row(index)


def test_repeated_token_lists_its_positions():
    repeated = AttentionMap(np.eye(5), KEYS, KEYS)
    with refuses("the", "0", "3"):
        repeated.row("the")
    with refuses("the", "0", "3"):
        repeated.top("the", 1)
    assert_close(repeated.row(3), np.eye(5)[3], atol=0)
    assert_close(repeated.row("cat"), np.eye(5)[1], atol=0)


def test_top_is_sorted_with_ties_by_position(cats):
    assert cats.top("le", 3) == [("the", 0.5), ("cat", 0.25), ("on", 0.25)]
    assert cats.top("dort", 4) == [("the", 0.3), ("mat", 0.3), ("on", 0.2), ("the", 0.1)]
    assert cats.top(0, 1) == [("the", 0.5)]
    assert cats.top(-1, 0) == []
    for entry in cats.top(1, 2):
        assert isinstance(entry, tuple)
        assert isinstance(entry[0], str)
        assert isinstance(entry[1], float)


@pytest.mark.parametrize("k", [-1, 1.0, True, None])
def test_top_needs_a_count(cats, k):
    with refuses("k"):
        cats.top("le", k)


# What it refuses


def test_refuses_a_transposed_map():
    with refuses("weights"):
        AttentionMap(WEIGHTS.T, KEYS, QUERIES)
    square = np.array([[0.9, 0.1, 0], [0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])
    AttentionMap(square, QUERIES, QUERIES)
    with refuses("weights"):
        AttentionMap(square.T, QUERIES, QUERIES)


@pytest.mark.parametrize(
    "row",
    [
        [2.0, 1.0, 0.5, 3.0, -1.0],
        [0.5, 0.25, 0.25, 0.1, 0],
        [1.5, -0.5, 0, 0, 0],
        [0.5, 0, 0, 0, 0],
        [np.nan, 0.5, 0.5, 0, 0],
        [-np.inf, 0, 0, 0, 1],
    ],
)
def test_refuses_rows_that_are_no_distribution(row):
    weights = WEIGHTS.copy()
    weights[2] = row
    with refuses("weights"):
        AttentionMap(weights, QUERIES, KEYS)


def test_accepts_rounded_weights():
    AttentionMap([[0.333, 0.333, 0.333]], ["q"], ["a", "b", "c"])
    AttentionMap(np.float16([[0.3333, 0.3333, 0.3333]]), ["q"], ["a", "b", "c"])


@pytest.mark.parametrize("weights", [WEIGHTS[0], WEIGHTS[None], 1.0])
def test_refuses_other_than_two_axes(weights):
    with refuses("weights", str(np.shape(weights))):
        AttentionMap(weights, QUERIES, KEYS)


def test_refuses_tokens_that_do_not_fit():
    with refuses("query_tokens", "2", "3"):
        AttentionMap(WEIGHTS, QUERIES[:2], KEYS)
    with refuses("key_tokens", "6", "5"):
        AttentionMap(WEIGHTS, QUERIES, [*KEYS, "?"])


def test_refuses_what_is_not_real():
    with refuses("weights", "complex128"):
        AttentionMap(np.eye(3) + 0j, QUERIES, QUERIES)


# HTML


class Table(HTMLParser):
    """The tables of a page as lists of cells (tag, attributes, text); refuses unknown nesting."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.cells, self.caption, self._open = [], [], "", []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("br", "col", "img", "meta"):
            self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] == "style":
            return
        if any(tag in ("td", "th") for tag in self._open):
            self.cells[-1][2] += data
        elif "caption" in self._open:
            self.caption += data

    def texts(self, tag, scope=None):
        return [
            text.strip()
            for name, attributes, text in self.cells
            if name == tag and attributes.get("scope") == scope
        ]


def test_html_is_a_table_with_caption_and_scopes(cats):
    table = Table(cats._repr_html_())
    assert table.tags.count("table") == 1
    assert "Down the side" in table.caption, "the caption says what the rows are"
    assert "Along the top" in table.caption, "and the columns"
    assert table.texts("th", "row") == QUERIES
    assert [text for text in table.texts("th", "col") if text in KEYS] == KEYS
    numbers = [float(text) for text in table.texts("td") if text]
    assert_close(np.reshape(numbers, (3, 5)), WEIGHTS, atol=0.0051)


def test_html_shows_awkward_tokens_as_text(awkward):
    html = awkward._repr_html_()
    assert "<b>" not in html
    table = Table(html)
    assert table.texts("th", "row") == AWKWARD
    assert [text for text in table.texts("th", "col") if text in AWKWARD] == AWKWARD


# Plot


@pytest.fixture
def plt():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(axes):
    """Draw without a warning and give the axes back."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("png", "svg"):
            axes.figure.savefig(io.BytesIO(), format=kind)
    return axes


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_plot_has_queries_down_and_keys_along_the_top(cats, plt):
    axes = drawn(cats.plot())
    assert "quer" in axes.get_ylabel().lower()
    assert "key" in axes.get_xlabel().lower()
    assert axes.xaxis.get_ticks_position() == "top"
    assert axes.xaxis.get_label_position() == "top"
    assert [text for text in labels(axes.xaxis) if text] == KEYS
    assert [text for text in labels(axes.yaxis) if text] == QUERIES
    top, bottom = axes.transData.transform([(0, 0), (0, 2)])[:, 1]
    assert top > bottom, "query 0 is the first row"


def test_plot_writes_every_weight_into_its_cell(cats, plt):
    axes = drawn(cats.plot())
    written = {text.get_position(): float(text.get_text()) for text in axes.texts}
    columns = sorted({x for x, _ in written})
    rows = sorted({y for _, y in written})  # downwards, by the test above
    shown = [[written[x, y] for x in columns] for y in rows]
    assert_close(shown, WEIGHTS, atol=0.0051)


def test_plot_uses_the_axes_it_is_given(cats, plt):
    _, axes = plt.subplots()
    assert cats.plot(axes) is axes
    assert cats.plot(ax=axes) is axes
    assert isinstance(cats.plot(), plt.Axes)


def test_plot_of_awkward_tokens_gives_no_warning(awkward, plt):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = drawn(awkward.plot())
    assert len(labels(axes.xaxis)) == len(AWKWARD)


def test_plot_of_latin_tokens_shows_them_literally(plt):
    tokens = ["$x$", "a_b", "^{"]
    axes = drawn(AttentionMap(np.eye(3), tokens, tokens).plot())
    for axis in (axes.xaxis, axes.yaxis):
        assert labels(axis) == tokens
        assert not any(
            label.get_parse_math() for label in axis.get_ticklabels() if "$" in label.get_text()
        )


def test_many_rounded_weights_are_still_weights():
    AttentionMap(np.full((1, 12), 0.083), ["q"], ["k"] * 12)
    with refuses("sum"):
        AttentionMap(np.full((1, 12), 0.08), ["q"], ["k"] * 12)


def test_a_map_stays_as_it_is():
    shown = AttentionMap([[0.9, 0.1]], ["q"], ["a", "b"])
    for other in (copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):
        assert not other.weights.flags.writeable
        assert other.top("q", 1) == [("a", 0.9)]
    with pytest.raises(AttributeError):
        shown.key_tokens = ("b", "a")


def test_dollars_are_not_mathematics_in_a_notebook():
    assert "mathjax_ignore" in AttentionMap([[1.0]], ["$a$"], ["$b$"])._repr_html_()
