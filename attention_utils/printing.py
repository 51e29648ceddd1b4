"""The one way numbers are printed in the notebooks: rounded, aligned, never "-0.000"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Set by the tool that stores the notebooks. A number that sits on a rounding edge may print
# differently on another machine, and a reader who computes by hand may round it the other way:
# such an example is changed, not stored.
refuse_rounding_edges = False


def fixed(value: Any, digits: int = 3) -> str:
    """One number with `digits` decimals; integers and booleans as they are.

    Parameters
    ----------
    value : number
    digits : int, default 3

    Returns
    -------
    text : str

    Raises
    ------
    ValueError
        Only while the notebooks are being stored: if `value` lies on a rounding edge.

    Examples
    --------
    >>> fixed(2 / 3), fixed(-1e-9), fixed(7), fixed(-np.inf)
    ('0.667', '0.000', '7', '-inf')
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(value)
    if refuse_rounding_edges and np.isfinite(value):
        unit = 10.0**-digits
        from_edge = abs((float(value) / unit - 0.5) % 1)
        if min(from_edge, 1 - from_edge) * unit < min(5e-5, 0.05 * unit):
            raise ValueError(f"value {value!r} is on a rounding edge for {digits} digits")
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def show(
    name: str,
    value: ArrayLike,
    *,
    digits: int = 3,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Print a named number, vector or matrix with its shape, optionally with labels.

    Parameters
    ----------
    name : str
    value : array_like
        A number, a vector, or a matrix; more axes are printed matrix by matrix.
    digits : int, default 3
        Decimals of floating numbers.
    rows, columns : sequence of str, optional
        Labels of the rows and columns of a matrix (of the entries, for a vector).

    Examples
    --------
    >>> show("weights", [[0.076, 0.924], [0.018, 0.982]], rows=["q1", "q2"])
    weights  (2, 2)
      q1  0.076  0.924
      q2  0.018  0.982
    >>> show("sum", 1.0)
    sum = 1.000
    """
    array = np.asarray(value)
    if array.ndim == 0:
        print(f"{name} = {fixed(array.item(), digits)}")
        return
    if array.ndim == 1 and columns is None:
        rows, columns = None, rows
    for what, labels, size in (("rows", rows, array.shape[:-1]), ("columns", columns, array.shape)):
        if labels is not None and (not size or len(labels) != size[-1]):
            raise ValueError(f"{what} has {len(labels)} labels, but {name} has shape {array.shape}")
    print(f"{name}  {array.shape}")
    if array.ndim <= 2:
        _print_matrix(np.atleast_2d(array), digits, rows, columns)
        return
    for index in np.ndindex(array.shape[:-2]):
        print(f"  [{', '.join(str(i) for i in index)}]")
        _print_matrix(array[index], digits, rows, columns)


def _print_matrix(
    matrix: NDArray[Any], digits: int, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> None:
    body = [[fixed(entry, digits) for entry in row] for row in matrix]
    if columns is not None:
        body.insert(0, list(columns))
    widths = [max(len(cell) for cell in column) for column in zip(*body, strict=True)]
    lines = [
        "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in body
    ]
    labels = [] if rows is None else list(rows)
    if columns is not None and rows is not None:
        labels.insert(0, "")
    if any(east_asian_width(letter) in "WF" for label in labels for letter in label):
        # No two fonts agree on the width of a Chinese character: after the numbers it is harmless.
        lines = [f"{line}  {label}" for label, line in zip(labels, lines, strict=True)]
    elif labels:
        margin = max(len(label) for label in labels)
        lines = [f"  {label:<{margin}}{line}" for label, line in zip(labels, lines, strict=True)]
    print("\n".join(lines))
