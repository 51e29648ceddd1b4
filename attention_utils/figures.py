"""One look for all figures: readable on light and dark, real text, a sentence for who cannot see.

A figure is stored twice: as SVG whose colours are CSS variables, so that the website can follow the
reader's theme, and as a small PNG for viewers that show no SVG. Its text form is its description.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from attention_utils.printing import fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from attention_utils._arrays import Array
    from attention_utils.maps import AttentionMap

# Each colour below is unique, so that it can be exchanged for its CSS variable.
INK, MUTED, GRID, PANEL = "#1f2328", "#59636e", "#d1d9e0", "#fffffe"
MAP = "#2f7fd6"
# Told apart also by colour-blind readers, and always together with a marker or a label.
SERIES = ("#0b5cad", "#b34700", "#1b7a57", "#7d4fa3", "#8a6d00", "#a3336b")

_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PANEL: "panel", MAP: "map"} | {
    colour: str(i) for i, colour in enumerate(SERIES, start=1)
}

STYLE: dict[str, Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=SERIES, marker=["o", "s", "^", "D", "v", "P"]),
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


def subplots(
    rows: int = 1, columns: int = 1, *, width: float = 3.6, height: float = 2.4, **options: Any
) -> tuple[Figure, Any]:
    """A figure in the notes' style, as wide as a phone unless told otherwise.

    Parameters
    ----------
    rows, columns : int
        Number of axes.
    width, height : float
        Size in inches; a phone shows 3.6.
    **options
        Passed on to `matplotlib.figure.Figure.subplots`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : Axes or array of Axes

    Notes
    -----
    Applies `STYLE` to matplotlib's defaults, so that what is drawn later follows it too. The
    figure does not belong to pyplot: nothing is displayed until `show_figure` is called.
    """
    matplotlib.rcParams.update(STYLE)  # type: ignore[arg-type]
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def show_figure(figure: Figure, alt: str) -> None:
    """Display a figure together with the sentence that says what it shows.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        At least one full sentence with a number that the cell computed.

    Raises
    ------
    ValueError
        If `alt` is shorter than a sentence or holds no number.
    """
    from IPython.display import display

    if not isinstance(figure, Figure):
        raise ValueError(f"figure must be a matplotlib Figure, got {type(figure).__name__}")
    if not isinstance(alt, str) or len(alt) < 40 or not re.search(r"\d", alt):
        raise ValueError(f"alt must be a sentence with a number from the cell, got {alt!r}")
    bundle = {
        "image/svg+xml": svg(figure, alt),
        "image/png": base64.b64encode(_png(figure)).decode("ascii"),
        "text/plain": alt,
    }
    display(bundle, raw=True)  # type: ignore[no-untyped-call]


def svg(figure: Figure, alt: str) -> str:
    """The figure as SVG that can stand inside a page and follow its colours.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str

    Returns
    -------
    svg : str
        The same text for the same figure: no dates, no random ids.
    """
    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "attention"}):
        figure.savefig(buffer, format="svg", metadata=no_metadata)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].strip()
    # A style element would rule the whole page, and group ids would repeat from figure to figure.
    text = re.sub(r"<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r"<[^>]*>", _tag_for_the_page, text)  # tags alone: labels are the author's
    label = f'role="img" aria-label="{escape(alt)}"'
    joins = 'style="stroke-linejoin:round;stroke-linecap:butt"'
    return text.replace("<svg ", f'<svg class="au-figure" {label} {joins} ', 1)


def draw_map(shown: AttentionMap, ax: Axes | None = None, *, digits: int = 2) -> Axes:
    """Draw an attention map: queries down the side, keys along the top.

    Parameters
    ----------
    shown : AttentionMap
    ax : matplotlib.axes.Axes, optional
        A new figure of fitting size if left out.
    digits : int, default 2
        Decimals of the number in each cell.

    Returns
    -------
    ax : matplotlib.axes.Axes
    """
    from attention_utils.maps import STRONGEST

    n_q, n_k = shown.weights.shape
    if ax is None:
        _, ax = subplots(width=1.0 + 0.55 * max(n_k, 3), height=0.8 + 0.34 * max(n_q, 2))
    for i in range(n_q):
        for j in range(n_k):
            weight = float(shown.weights[i, j])
            ax.fill(
                [j, j + 1, j + 1, j],
                [i, i, i + 1, i + 1],
                color=MAP,
                alpha=STRONGEST * weight,
                lw=0,
            )
            number = fixed(weight, digits)
            ax.text(j + 0.5, i + 0.5, number, ha="center", va="center", color=INK)
    ax.set(xlim=(0, n_k), ylim=(n_q, 0), xlabel="key (is read)", ylabel="query (reads)")
    ax.xaxis.set_label_position("top")
    ax.xaxis.tick_top()
    for set_labels, tokens in (
        (ax.set_xticks, shown.key_tokens),
        (ax.set_yticks, shown.query_tokens),
    ):
        set_labels([k + 0.5 for k in range(len(tokens))], _drawable(tokens), parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def draw_products(ax: Axes, products: Sequence[Sequence[tuple[str, int, int]]]) -> None:
    """Draw matrix products to scale: left times right equals result, one line each.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    products : sequence of (left, right, result)
        Each matrix is (name, rows, columns); one unit is drawn per row and column.
    """
    gap, margin = 2.4, 1.8  # between matrices, in units; below each line, for the names
    top = 0.0
    columns = [max(product[k][2] for product in products) for k in range(3)]
    for product in products:
        tallest = max(rows for _, rows, _ in product)
        left = 0.0
        for k, (name, rows, width) in enumerate(product):
            x, y = left + (columns[k] - width) / 2, top - (tallest - rows) / 2 - rows
            _draw_grid(ax, x, y, rows, width, SERIES[2] if k == 2 else SERIES[0])
            label = f"{name}\n({rows}, {width})"
            middle = left + columns[k] / 2
            ax.text(middle, y - 0.3, label, ha="center", va="top", parse_math=False)
            if k < 2:
                sign = left + columns[k] + gap / 2
                ax.text(sign, top - tallest / 2, "×="[k], ha="center", va="center", size=12)
            left += columns[k] + gap
        top -= tallest + margin + 1
    ax.set(xlim=(-0.5, left - gap + 0.5), ylim=(top + 0.5, 0.5), aspect="equal")
    ax.axis("off")


def draw_rows(
    ax: Axes,
    stages: Sequence[tuple[str, Array]],
    *,
    highlight: int,
    rows: Sequence[str],
) -> None:
    """Draw small matrices side by side with the same row of each framed.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    stages : sequence of (title, matrix)
        Matrices with equally many rows.
    highlight : int
        The row to frame.
    rows : sequence of str
        Labels of the rows, at the left.
    """
    left, n = 0.0, len(rows)
    for title, matrix in stages:
        width = draw_matrix(ax, matrix, (left, 0), title)
        frame = Rectangle((left, n - highlight - 1), width, 1, fill=False, ec=SERIES[1], lw=2.4)
        ax.add_patch(frame)
        left += width + 0.9
    for i, label in enumerate(_drawable(rows)):
        ax.text(-0.2, n - i - 0.5, label, ha="right", va="center", parse_math=False)
    ax.set(xlim=(-0.8, left - 0.8), ylim=(-0.2, n + 0.8), aspect="equal")
    ax.axis("off")


def draw_matrix(
    ax: Axes,
    matrix: ArrayLike,
    at: tuple[float, float],
    title: str,
    *,
    cell_width: float = 1.25,
    digits: int = 3,
) -> float:
    """Draw a matrix with its numbers, rows one unit high.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    matrix : array_like, shape (rows, columns)
    at : (float, float)
        Lower left corner.
    title : str
        Written above.
    cell_width : float, default 1.25
    digits : int, default 3

    Returns
    -------
    width : float
        How wide the drawing is.
    """
    array = np.asarray(matrix)
    n, columns = array.shape
    (x, y), width = at, columns * cell_width
    _draw_grid(ax, x, y, n, columns, SERIES[0], cell_width=cell_width)
    for i, j in np.ndindex(n, columns):
        place = (x + cell_width * (j + 0.5), y + n - i - 0.5)
        ax.text(*place, fixed(array[i, j].item(), digits), ha="center", va="center")
    middle = x + width / 2
    ax.text(middle, y + n + 0.2, title, ha="center", va="bottom", parse_math=False)
    return width


def draw_arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow from one point to another.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    start, end : (float, float)
    """
    arrow = {"arrowstyle": "-|>", "color": MUTED, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=arrow)


def _draw_grid(
    ax: Axes, x: float, y: float, rows: int, columns: int, colour: str, *, cell_width: float = 1
) -> None:
    """Draw a matrix as a grid whose lower left corner is (x, y)."""
    width = columns * cell_width
    ax.add_patch(Rectangle((x, y), width, rows, fc=colour, ec="none", alpha=0.12))
    for j in range(columns + 1):
        ax.plot([x + j * cell_width] * 2, [y, y + rows], color=colour, lw=0.8, marker="")
    for i in range(rows + 1):
        ax.plot([x, x + width], [y + i] * 2, color=colour, lw=0.8, marker="")


def _tag_for_the_page(tag: re.Match[str]) -> str:
    """One tag with the page's font and colours, and without an id that would repeat."""
    text = re.sub(r' id="[\w.]+_\d+"', "", tag[0])
    text = text.replace("'DejaVu Sans'", "system-ui, sans-serif")
    for colour, name in _VARIABLES.items():
        text = text.replace(colour, f"var(--au-{name}, {colour})")
    return text


def _drawable(tokens: Sequence[str]) -> list[str]:
    """Tokens as the font can draw them; one that it cannot is named by its position."""
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    return [
        token if all(font.get_char_index(ord(letter)) for letter in token) else f"[{i}]"
        for i, token in enumerate(tokens)
    ]


def _png(figure: Figure) -> bytes:
    """On its own light card, because such a viewer knows nothing of themes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, facecolor=PANEL, metadata={"Software": None})
    return buffer.getvalue()
