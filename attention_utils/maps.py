"""An attention map that cannot be mislabelled: weights together with the tokens of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array, check_weights, count, dtypes, real_array
from attention_utils.printing import fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The strongest weight colours its cell this much: text stays legible on light and on dark.
STRONGEST = 0.6


class AttentionMap:
    """Weights of one head, with the tokens that read and the tokens that are read.

    Parameters
    ----------
    weights : array_like, shape (n_q, n_k)
        Row i is the distribution of query i over the keys. Each row sums to 1 or is all zero:
        scores and transposed maps are refused.
    query_tokens : sequence of str, length n_q
        The positions that ask, down the side.
    key_tokens : sequence of str, length n_k
        The positions that are read, along the top.

    Attributes
    ----------
    weights : ndarray, shape (n_q, n_k)
        Read-only copy.
    query_tokens, key_tokens : tuple of str

    Raises
    ------
    ValueError
        If `weights` is not a matrix of distributions or the tokens do not fit its shape.

    Notes
    -----
    All figures of the notes get their weights through this class. Chapter 3.

    Examples
    --------
    >>> two = AttentionMap([[0.9, 0.1], [0.3, 0.7]], ["it", "was"], ["cat", "tired"])
    >>> two.top("was", 1)
    [('tired', 0.7)]
    """

    def __init__(
        self, weights: ArrayLike, query_tokens: Sequence[str], key_tokens: Sequence[str]
    ) -> None:
        array = real_array("weights", weights)
        if array.ndim != 2:
            raise ValueError(
                f"weights must be one matrix (queries x keys), got shape {array.shape}; "
                "choose one head and one sequence first"
            )
        self._query_tokens = _tokens("query_tokens", query_tokens, array.shape[0], "rows")
        self._key_tokens = _tokens("key_tokens", key_tokens, array.shape[1], "columns")
        if not np.isfinite(array).all():
            raise ValueError("weights must be finite, got NaN or inf")
        try:
            check_weights("weights", array)
        except ValueError as error:
            transposed = array.shape[0] and np.allclose(array.sum(axis=0), 1, atol=1e-3)
            hint = "; the columns sum to 1: is the map transposed?" if transposed else ""
            raise ValueError(f"{error}{hint}") from None
        self._weights: Array = array.astype(dtypes(array.dtype)[0])
        self._weights.flags.writeable = False

    @property
    def weights(self) -> Array:
        """Row i is the distribution of query i; read-only."""
        return self._weights

    @property
    def query_tokens(self) -> tuple[str, ...]:
        """The positions that ask."""
        return self._query_tokens

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The positions that are read."""
        return self._key_tokens

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.weights, self.query_tokens, self.key_tokens)

    def __repr__(self) -> str:
        n_q, n_k = self.weights.shape
        return f"AttentionMap({n_q} queries x {n_k} keys)"

    def row(self, query: str | int) -> Array:
        """How one query divides its attention.

        Parameters
        ----------
        query : str or int
            A query token, or its position counted from 0.

        Returns
        -------
        weights : ndarray, shape (n_k,)

        Raises
        ------
        ValueError
            If the token is unknown or occurs more than once, or the position does not exist.
        """
        return self.weights[self._position(query)].copy()

    def top(self, query: str | int, k: int) -> list[tuple[str, float]]:
        """The `k` keys that one query reads most.

        Parameters
        ----------
        query : str or int
            As in `row`.
        k : int
            At most ``n_k`` pairs are returned.

        Returns
        -------
        pairs : list of (key token, weight)
            Largest weight first; equal weights in the order of the keys.

        Raises
        ------
        ValueError
            As `row`, or if `k` is not an integer >= 0.
        """
        k = count("k", k)
        weights = self.row(query)
        order = np.argsort(-weights.astype(np.float64), kind="stable")[:k]
        return [(self.key_tokens[j], float(weights[j])) for j in order]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map with matplotlib: queries down the side, keys along the top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A new figure in the notes' style if left out.

        Returns
        -------
        ax : matplotlib.axes.Axes

        Notes
        -----
        Tokens that the font cannot draw are shown by their position, as ``[2]``; the HTML form of
        the map shows every token.
        """
        from attention_utils.figures import draw_map

        return draw_map(self, ax)

    def _repr_html_(self) -> str:
        return map_table(self)

    def _position(self, query: str | int) -> int:
        n_q = len(self.query_tokens)
        if isinstance(query, str):
            found = [i for i, token in enumerate(self.query_tokens) if token == query]
            if not found:
                raise ValueError(
                    f"query {query!r} is not among the query tokens {list(self.query_tokens)}"
                )
            if len(found) > 1:
                raise ValueError(f"query {query!r} occurs at positions {found}: give one of them")
            return found[0]
        if isinstance(query, bool) or not isinstance(query, (int, np.integer)):
            raise ValueError(f"query must be a token or a position, got {query!r}")
        if not -n_q <= query < n_q:
            raise ValueError(f"query must be a position in 0..{n_q - 1}, got {query}")
        return int(query) % n_q


def map_table(
    shown: AttentionMap, *, highlight: int | None = None, caption: str = "", digits: int = 2
) -> str:
    """The map as an HTML table that a screen reader can walk through.

    Parameters
    ----------
    shown : AttentionMap
    highlight : int, optional
        A query whose row is marked as the current one.
    caption : str, optional
        Plain text above the table.
    digits : int, default 2

    Returns
    -------
    html : str
    """
    caption = caption or "Down the side: who reads. Along the top: what is read."
    head = "".join(f'<th scope="col">{escape(token)}</th>' for token in shown.key_tokens)
    body = []
    for i, token in enumerate(shown.query_tokens):
        current = ' aria-current="true" style="outline:2px solid currentColor"'
        cells = "".join(_cell(weight, digits) for weight in shown.weights[i])
        body.append(
            f"<tr{current if i == highlight else ''}>"
            f'<th scope="row">{escape(token)}</th>{cells}</tr>'
        )
    return (
        f'<table class="au-map mathjax_ignore"><caption>{escape(caption)}</caption>'
        f'<thead><tr><td aria-label="query, down; key, across"></td>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _cell(weight: float, digits: int) -> str:
    # --w lets a style sheet choose the colour; the rgba serves where there is none.
    alpha = f"{STRONGEST * float(weight):.2f}"
    style = f"--w:{float(weight):.3f};background:rgba(47,127,214,{alpha})"
    return f'<td style="{style}">{fixed(weight, digits)}</td>'


def _tokens(name: str, tokens: Sequence[str], n: int, what: str) -> tuple[str, ...]:
    if isinstance(tokens, str):
        raise ValueError(f"{name} must be a list of tokens, got one string {tokens!r}")
    try:
        result = tuple(tokens)
    except TypeError:
        raise ValueError(f"{name} must be a list of tokens, got {tokens!r}") from None
    strange = [token for token in result if not isinstance(token, str)]
    if strange:
        raise ValueError(f"{name} must hold strings, got {strange[0]!r}")
    if len(result) != n:
        raise ValueError(
            f"{name} has {len(result)} tokens but weights has {n} {what}; "
            "rows belong to queries, columns to keys"
        )
    return tuple(str(token) for token in result)
