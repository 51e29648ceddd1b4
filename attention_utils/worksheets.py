"""Worksheets to fill in by hand: small integers from a seed, blank grids, and the key.

``python -m attention_utils.worksheets 7`` writes a page to print, worksheets-7.html, with the five
sheets of seed 7 and then their key. The numbers are chosen so that no score needs an exponential
that is not in the table of the sheet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np

from attention_utils._arrays import Array
from attention_utils.attention import scaled_dot_product_attention
from attention_utils.masks import causal_mask, padding_mask
from attention_utils.multihead import merge_heads, split_heads
from attention_utils.printing import fixed
from attention_utils.softmax import softmax

LARGEST_SCORE = 4
_CELL = (
    "border: 1px solid; padding: 0.3em 0.6em; min-width: 3.2em; height: 2.2em; text-align: right"
)
_LABEL = "border: 0; padding: 0.3em 0.6em; text-align: right; font-weight: 400; white-space: nowrap"
_SIDE_BY_SIDE = "display: flex; flex-wrap: wrap; gap: 0.6em 2em; align-items: flex-start"


@dataclass(frozen=True, eq=False)
class Grid:
    """A named matrix, given or to be filled in.

    Attributes
    ----------
    name : str
    values : ndarray, 2-D
    rows, columns : tuple of str
        Labels, or empty.
    digits : int
        Decimals of numbers that are not whole.
    """

    name: str
    values: Array
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    digits: int = 3

    def html(self, blank: bool) -> str:
        """The matrix as a table, with empty cells if `blank`."""
        top = "".join(f'<th scope="col" style="{_LABEL}">{escape(c)}</th>' for c in self.columns)
        left = [f'<th scope="row" style="{_LABEL}">{escape(r)}</th>' for r in self.rows]
        corner = '<td style="border: 0"></td>' if left else ""
        lines = [f"<tr>{corner}{top}</tr>"] if top else []
        for label, row in zip(left or [""] * len(self.values), self.values, strict=True):
            cells = ("" if blank else fixed(entry, self.digits) for entry in row)
            line = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
            lines.append(f"<tr>{label}{line}</tr>")
        caption = f"{escape(self.name)} ({' × '.join(map(str, self.values.shape))})"
        return f'<table class="au-sheet"><caption>{caption}</caption>{"".join(lines)}</table>'


@dataclass(frozen=True, eq=False, repr=False)
class Worksheet:
    """One task: what is given, and what is to be filled in.

    Attributes
    ----------
    title, task : str
    given, asked : tuple of Grid
    filled : bool
        Whether the grids that are asked for show their numbers.
    """

    title: str
    task: str
    given: tuple[Grid, ...]
    asked: tuple[Grid, ...]
    filled: bool = False

    @property
    def key(self) -> Worksheet:
        """The same sheet with the answers."""
        return replace(self, filled=True)

    def __repr__(self) -> str:
        return f"Worksheet({self.title!r}{', filled in' if self.filled else ''})"

    def _repr_html_(self) -> str:
        given = "".join(grid.html(blank=False) for grid in self.given)
        asked = "".join(grid.html(blank=not self.filled) for grid in self.asked)
        return (
            f"<p>{escape(self.task)}</p>"
            f'<div style="{_SIDE_BY_SIDE}">{given}</div><p><strong>'
            f"{'The key' if self.filled else 'Fill in'}</strong></p>"
            f'<div style="{_SIDE_BY_SIDE}">{asked}</div>'
        )


def worksheets(seed: int) -> tuple[Worksheet, ...]:
    """The five sheets of a seed.

    Parameters
    ----------
    seed : int
        Not negative. The same seed gives the same sheets.

    Returns
    -------
    sheets : tuple of Worksheet

    Examples
    --------
    >>> worksheets(1)[0]
    Worksheet('One query')
    >>> worksheets(1)[0].key
    Worksheet('One query', filled in)
    """
    kinds = (one_query, whole_head, masks, heads, rows)
    return tuple(kind(np.random.default_rng([seed, n])) for n, kind in enumerate(kinds))


def one_query(rng: np.random.Generator) -> Worksheet:
    """One query of width 4 against three keys."""
    query, keys = _drawn(lambda: (rng.integers(0, 3, (1, 4)), rng.integers(0, 3, (3, 4))))
    values = rng.integers(0, 10, (3, 2))
    result = scaled_dot_product_attention(query, keys, values)
    names = _numbered("key", 3)
    return Worksheet(
        "One query",
        "Multiply the query with each key, divide by √4 = 2, take exponentials, divide by their "
        "sum, and mix the values.",
        (
            Grid("query", query),
            Grid("keys", keys, names),
            Grid("values", values, names),
            _exponentials(),
        ),
        (
            Grid("dot products", query @ keys.T, (), names),
            Grid("scores", result.scores.astype(int), (), names),
            Grid("exponentials", np.exp(result.scores), (), names, digits=2),
            Grid("weights", result.weights, (), names),
            Grid("output", result.output),
        ),
    )


def whole_head(rng: np.random.Generator) -> Worksheet:
    """Three positions, projected and attending to each other."""
    pairs = np.indices((3, 3)).reshape(2, 9).T  # so that no two rows of X are the same

    def draw() -> tuple[Array, ...]:
        x, (w_q, w_k) = rng.permutation(pairs)[:3], rng.integers(-1, 2, (2, 2, 4))
        return x @ w_q, x @ w_k, x, w_q, w_k

    query, key, x, w_q, w_k = _drawn(draw)
    w_v = rng.integers(0, 4, (2, 3))
    result = scaled_dot_product_attention(query, key, x @ w_v)
    names = _numbered("position", 3)
    return Worksheet(
        "A whole head",
        "Project X, multiply every query with every key, divide by √4 = 2, softmax along each "
        "row, and mix the values.",
        (
            Grid("X", x, names),
            Grid("W_Q", w_q),
            Grid("W_K", w_k),
            Grid("W_V", w_v),
            _exponentials(),
        ),
        (
            Grid("Q", query, names),
            Grid("K", key, names),
            Grid("V", x @ w_v, names),
            Grid("dot products", query @ key.T, names),
            Grid("scores", result.scores.astype(int), names),
            Grid("weights", result.weights, names),
            Grid("output", result.output, names),
        ),
    )


def masks(rng: np.random.Generator) -> Worksheet:
    """Three queries at the end of four positions, the last of which is padding."""
    scores = rng.permuted(np.tile(np.arange(4), (3, 1)), axis=1)
    causal, padding = causal_mask(3, 4), padding_mask(3, 4)
    both = causal & padding
    queries, keys = _numbered("query", 3), _numbered("key", 4)
    return Worksheet(
        "Masks",
        "The three queries are the last three of four positions, and the last key is padding. "
        "Write each mask with 1 for “may read” and 0 for “hidden”, then the weights under both.",
        (Grid("scores", scores, queries, keys), _exponentials()),
        (
            Grid("causal mask", causal.astype(int), queries, keys),
            Grid("padding mask", np.tile(padding, (3, 1)).astype(int), queries, keys),
            Grid("both", both.astype(int), queries, keys),
            Grid("weights", softmax(scores, where=both), queries, keys),
        ),
    )


def heads(rng: np.random.Generator) -> Worksheet:
    """Cut a matrix into heads, and put heads side by side."""
    x = rng.permutation(np.arange(1, 19)).reshape(3, 6)
    outputs = rng.permutation(np.arange(1, 13)).reshape(2, 3, 2)
    names = _numbered("position", 3)
    cut = split_heads(x, 3).astype(int)
    return Worksheet(
        "Split and merge heads",
        "Cut the six features of each position of X into three heads. Then put the outputs of "
        "two other heads, A and B, side by side.",
        (
            Grid("X", x, names),
            Grid("output of head A", outputs[0], names),
            Grid("output of head B", outputs[1], names),
        ),
        (
            *(Grid(f"head {a + 1} of X", head, names) for a, head in enumerate(cut)),
            Grid("A and B, merged", merge_heads(outputs).astype(int), names),
        ),
    )


def rows(rng: np.random.Generator) -> Worksheet:
    """Read a matrix of weights by row."""
    shares = [[0, 1, 2, 7], [0, 1, 3, 6], [0, 2, 3, 5]]
    tenths = rng.permuted(shares, axis=1)
    while len(set(tenths.argmax(axis=1))) == 1 or len(set(tenths.argmin(axis=1))) == 1:
        tenths = rng.permuted(shares, axis=1)
    values = 10 * rng.integers(0, 10, (4, 2))
    queries, keys = _numbered("query", 3), _numbered("key", 4)
    changed = tenths[rng.integers(3)].argmin()  # at least one query does not read it
    return Worksheet(
        "Reading rows",
        "The weights are given. Which key does each query read most, and what does it receive? "
        f"The value of key {changed + 1} is changed: which rows of the output move (1), which "
        "stay (0)? How much is each key read by all queries together?",
        (Grid("weights", tenths / 10, queries, keys), Grid("values", values, keys)),
        (
            Grid("key read most", tenths.argmax(axis=1)[:, None] + 1, queries),
            Grid("output", tenths @ values // 10, queries),
            Grid("moves", (tenths[:, [changed]] > 0).astype(int), queries),
            Grid("read by all", tenths.sum(axis=0, keepdims=True) / 10, (), keys),
        ),
    )


def page(seed: int) -> str:
    """The sheets of a seed and their key as one HTML page to print.

    Parameters
    ----------
    seed : int

    Returns
    -------
    html : str
    """
    sheets = worksheets(seed)
    parts = [(f"{n}. {s.title}", s) for n, s in enumerate(sheets, start=1)]
    parts += [(f"Key to {title}", sheet.key) for title, sheet in parts]
    body = "".join(f"<section><h1>{t}</h1>{s._repr_html_()}</section>\n" for t, s in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">\n'
        f"<title>Attention by hand: worksheets, seed {seed}</title>\n"
        "<style>body { font-family: sans-serif } table { border-collapse: collapse } "
        "caption { text-align: left } section { break-after: page }</style>\n"
        f"{body}</html>\n"
    )


def _drawn(draw: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Draw queries, keys and more until the scores are in the table and no two rows read alike."""
    while True:
        query, key, *others = draw()
        scores = query @ key.T / 2
        below = scores - scores.max(axis=1, keepdims=True)
        in_table = np.isin(scores, np.arange(LARGEST_SCORE + 1)).all()
        if in_table and _all_different(below) and _all_different(key):
            return query, key, *others


def _all_different(matrix: Array) -> bool:
    """No two rows are the same, and no row repeats one number."""
    return len(np.unique(matrix, axis=0)) == len(matrix) and bool(np.ptp(matrix, axis=1).all())


def _exponentials() -> Grid:
    powers = np.arange(LARGEST_SCORE + 1)
    names = tuple(f"s = {power}" for power in powers)
    return Grid("table of e^s", np.exp(powers)[None], ("e^s",), names, digits=2)


def _numbered(name: str, n: int) -> tuple[str, ...]:
    return tuple(f"{name} {i}" for i in range(1, n + 1))


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit("usage: python -m attention_utils.worksheets SEED, a number such as 7")
    file = Path(f"worksheets-{sys.argv[1]}.html")
    file.write_text(page(int(sys.argv[1])), "utf-8")
    print(f"{file}: print it from a browser; the key begins on page 6")
