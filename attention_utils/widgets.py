"""Widgets that move in JupyterLab and on a static page: all frames are computed beforehand.

Each is a `Stack` of HTML frames driven by `jslink`, so nothing needs a kernel once it is made.
"""

from __future__ import annotations

from html import escape

import ipywidgets as ipw
import numpy as np
from numpy.typing import ArrayLike

from attention_utils.maps import AttentionMap, map_table
from attention_utils.printing import fixed


def row_reader(shown: AttentionMap, value: ArrayLike, *, digits: int = 3) -> ipw.VBox:
    """Step through the queries of a map: the row each one owns, and the sum it makes of it.

    Parameters
    ----------
    shown : AttentionMap
    value : array_like, shape (n_k, d_v)
        The values that the keys hand over.
    digits : int, default 3

    Returns
    -------
    widget : ipywidgets.VBox
        A slider over the queries and one frame per query.

    Raises
    ------
    ValueError
        If `value` does not have one row per key of the map.
    """
    values = np.asarray(value)
    if values.ndim != 2 or values.shape[0] != len(shown.key_tokens):
        raise ValueError(
            f"value must have one row for each of the {len(shown.key_tokens)} keys, "
            f"got shape {values.shape}"
        )
    frames = [_frame(shown, i, values, digits) for i in range(len(shown.query_tokens))]
    return _stepped("query", list(shown.query_tokens), frames)


def _frame(shown: AttentionMap, i: int, values: np.ndarray, digits: int) -> str:
    query, weights = shown.query_tokens[i], shown.weights[i]
    shares = list(zip(weights, shown.key_tokens, values, strict=True))
    read = ", ".join(f"{fixed(w, digits)} {token}" for w, token, _ in shares)
    terms = " + ".join(f"{fixed(w, digits)} · {_vector(v, digits)}" for w, _, v in shares)
    total = _vector(weights @ values, digits)
    table = map_table(shown, highlight=i, caption=f"Row {i + 1}: {query} reads {read}")
    return (
        f"{table}<p>The output row of <b>{escape(query)}</b> is the sum of the values "
        f"in these shares:</p><p>{terms} = <b>{total}</b></p>"
    )


def _vector(entries: np.ndarray, digits: int) -> str:
    return "(" + ", ".join(fixed(entry, digits) for entry in entries) + ")"


def _stepped(description: str, labels: list[str], frames: list[str]) -> ipw.VBox:
    """One frame at a time, chosen by a slider over `labels`."""
    # Options must differ even where tokens repeat.
    options = [(f"{i}. {label}", i) for i, label in enumerate(labels, start=1)]
    slider = ipw.SelectionSlider(options=options, index=0, description=description)
    stack = ipw.Stack([ipw.HTML(frame) for frame in frames], selected_index=0)
    ipw.jslink((slider, "index"), (stack, "selected_index"))
    return ipw.VBox([slider, stack])
