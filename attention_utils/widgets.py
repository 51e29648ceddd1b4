"""Widgets that move in JupyterLab and on a static page: all frames are computed beforehand.

Each is a `Stack` of HTML frames driven by `jslink`, so nothing needs a kernel once it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as ipw
import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import Array
from attention_utils.maps import AttentionMap, map_table
from attention_utils.printing import fixed
from attention_utils.softmax import entropy, softmax


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


def chosen(description: str, frames: Mapping[str, str]) -> ipw.VBox:
    """Show one of several HTML frames, picked from a list.

    Parameters
    ----------
    description : str
        What is being chosen.
    frames : mapping of str to str
        The choices and the HTML each one shows; the first is shown at the start.

    Returns
    -------
    widget : ipywidgets.VBox
    """
    menu = ipw.Dropdown(options=list(frames), index=0, description=description)
    return ipw.VBox([menu, _stack(menu, [ipw.HTML(frame) for frame in frames.values()])])


def row_bars(shown: AttentionMap, query: str | int, *, digits: int = 2) -> str:
    """One row of a map as a table with a bar for each key, for rows too long to lie flat.

    Parameters
    ----------
    shown : AttentionMap
    query : str or int
        As in `AttentionMap.row`.
    digits : int, default 2

    Returns
    -------
    html : str
    """
    weights = shown.row(query)
    reader = query if isinstance(query, str) else shown.query_tokens[query]
    lines = [
        f'<tr><th scope="row">{escape(token)}</th><td>{fixed(weight, digits)}</td>{_bar(weight)}'
        for token, weight in zip(shown.key_tokens, weights, strict=True)
    ]
    table = _bar_table(f"What {reader} reads", ("key", "weight"), lines)
    return f'<div class="mathjax_ignore">{table}</div>'


def scale_and_temperature(
    *,
    widths: Sequence[int],
    temperatures: Sequence[float],
    n_keys: int,
    rng: np.random.Generator,
) -> ipw.VBox:
    """One row of weights under three controls: key width, temperature, divided or not.

    Parameters
    ----------
    widths : sequence of int
        Values of d_k.
    temperatures : sequence of float
        What the scores are divided by on top.
    n_keys : int
    rng : numpy.random.Generator
        Draws one query and the keys, as wide as the largest width; smaller ones use the first
        features of the same vectors.

    Returns
    -------
    widget : ipywidgets.VBox
    """
    query = rng.standard_normal(max(widths))
    keys = rng.standard_normal((n_keys, max(widths)))
    width_slider = ipw.SelectionSlider(
        options=[(str(w), i) for i, w in enumerate(widths)], index=0, description="d_k"
    )
    temperature_slider = ipw.SelectionSlider(
        options=[(f"{t:g}", i) for i, t in enumerate(temperatures)],
        index=min(range(len(temperatures)), key=lambda i: abs(temperatures[i] - 1)),
        description="temperature",
    )
    divided = ipw.RadioButtons(options=["yes", "no"], index=0, description="divide by √d_k")

    by_width = []
    for d_k in widths:
        dots = keys[:, :d_k] @ query[:d_k]
        by_temperature = []
        for t in temperatures:
            frames = [_bars(dots / np.sqrt(d_k) / t), _bars(dots / t)]
            by_temperature.append(_stack(divided, [ipw.HTML(frame) for frame in frames]))
        by_width.append(_stack(temperature_slider, by_temperature))
    controls = [width_slider, temperature_slider, divided]
    return ipw.VBox([*controls, _stack(width_slider, by_width)])


def _bars(scores: Array) -> str:
    """One row of scores and weights, a bar for each key."""
    weights = softmax(scores)
    lines = []
    for j, (score, weight) in enumerate(zip(scores, weights, strict=True), start=1):
        numbers = f"<td>{fixed(score, 2)}</td><td>{fixed(weight, 2)}</td>"
        lines.append(f'<tr><th scope="row">{j}</th>{numbers}{_bar(weight)}')
    caption = (
        f"Largest weight {fixed(weights.max(), 2)}, entropy {fixed(float(entropy(weights)), 2)} "
        f"of at most {fixed(np.log(len(weights)), 2)}"
    )
    return _bar_table(caption, ("key", "score", "weight"), lines)


def _bar(weight: float) -> str:
    """The last cell of a line, as long as its weight."""
    bar = f"width:{100 * weight:.1f}%;height:.9em;background:var(--au-map,#2f7fd6)"
    return f'<td style="width:8em;text-align:left"><div style="{bar}"></div></td></tr>'


def _bar_table(caption: str, heads: Sequence[str], lines: Sequence[str]) -> str:
    """Lines that end in a bar, under their heads."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<table class="au-bars"><caption>{escape(caption)}</caption>'
        f'<thead><tr>{cells}<td aria-hidden="true"></td></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _frame(shown: AttentionMap, i: int, values: Array, digits: int) -> str:
    query, weights = shown.query_tokens[i], shown.weights[i]
    shares = list(zip(weights, shown.key_tokens, values, strict=True))
    read = ", ".join(f"{fixed(w, digits)} {token}" for w, token, _ in shares)
    terms = " + ".join(f"{fixed(w, digits)} · {_vector(v, digits)}" for w, _, v in shares)
    total = _vector(weights @ values, digits)
    table = map_table(shown, highlight=i, caption=f"Row {i + 1}: {query} reads {read}")
    return (
        f'{table}<div class="mathjax_ignore"><p>So <b>{escape(query)}</b> receives this sum of '
        f"the values:</p><p>{terms} ≈ <b>{total}</b></p></div>"
    )


def _vector(entries: Array, digits: int) -> str:
    return "(" + ", ".join(fixed(entry, digits) for entry in entries) + ")"


def _stepped(description: str, labels: list[str], frames: list[str]) -> ipw.VBox:
    """One frame at a time, chosen by a slider over `labels`."""
    # Options must differ even where tokens repeat.
    options = [(f"{i}. {label}", i) for i, label in enumerate(labels, start=1)]
    slider = ipw.SelectionSlider(options=options, index=0, description=description)
    return ipw.VBox([slider, _stack(slider, [ipw.HTML(frame) for frame in frames])])


def _stack(control: ipw.DOMWidget, frames: list[ipw.DOMWidget]) -> ipw.Stack:
    """The frames, one visible at a time, as the control says."""
    stack = ipw.Stack(frames, selected_index=control.index)
    ipw.jslink((control, "index"), (stack, "selected_index"))
    return stack
