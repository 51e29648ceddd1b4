"""What every public function does with its arguments first: check, convert, and multiply quietly.

The rules are those of the book's page "Notation and conventions"; they live here once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
BoolArray = NDArray[np.bool_]

# Weights handed in by people are often rounded to three decimals: each may be off by half a unit.
ROW_SUM_TOLERANCE = 2e-3
ROUNDED_ENTRY = 5.5e-4


def real_array(name: str, value: ArrayLike) -> Array:
    """`value` as an array of real numbers, its dtype unchanged."""
    array = _array(name, value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return array


def float_arrays(**named: ArrayLike) -> tuple[list[Array], np.dtype[Any]]:
    """The arguments in the dtype to compute in, and the dtype to give the result back in.

    The result has NumPy's common type of all arguments if that is floating, else float64.
    float16 is computed in float32: 65504 is its largest number, and scores pass it easily.
    """
    arrays = [real_array(name, value) for name, value in named.items()]
    dtype, work = dtypes(*[array.dtype for array in arrays])
    return [array.astype(work, copy=False) for array in arrays], dtype


def dtypes(*given: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Give the dtype of the result and the one to compute in, as `float_arrays` says."""
    common = np.result_type(*given)
    dtype = common if common.kind == "f" else np.dtype(np.float64)
    return dtype, np.dtype(np.float32) if dtype == np.float16 else dtype


def bool_array(name: str, value: ArrayLike) -> BoolArray:
    """`value` as a boolean array; 0/1 integers are refused, they are where polarity goes wrong."""
    array = _array(name, value)
    if array.dtype != np.bool_:
        raise ValueError(
            f"{name} must be boolean (True = may be read), got dtype {array.dtype}; use "
            f"{name}.astype(bool) if 1 means 'may be read'; 0 and -inf to be added are a bias"
        )
    return array


def int_array(name: str, value: ArrayLike) -> NDArray[np.integer[Any]]:
    """Return `value` as an array of integers."""
    array = _array(name, value)
    if array.size == 0 and array.dtype.kind == "f":  # np.asarray([]) is a float array
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got dtype {array.dtype}")
    return array


def _array(name: str, value: ArrayLike) -> Array:
    try:
        return np.asarray(value)
    except Exception as error:  # ragged lists, and whatever an object's own conversion raises
        raise ValueError(f"{name} must be a rectangular array: {error}") from None


def count(name: str, value: Any, *, least: int = 0) -> int:
    """`value` as a plain int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return int(value)


def finite_number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    numbers = (int, float, np.integer, np.floating)
    try:
        if not isinstance(value, bool) and isinstance(value, numbers) and np.isfinite(float(value)):
            return float(value)
    except OverflowError:  # an integer beyond every float
        pass
    raise ValueError(f"{name} must be a finite number, got {value!r}")


def axis_index(axis: Any, ndim: int, name: str) -> int:
    """`axis` of the array called `name` as a non-negative index."""
    if ndim == 0:
        raise ValueError(f"{name} must have at least one axis, got a single number")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise ValueError(f"axis must be one integer, got {axis!r}")
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"axis must be in {-ndim}..{ndim - 1} for {name} with {ndim} axes, got {axis}"
        )
    return int(axis) % ndim


def common_shape(what: str, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that the named shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{what} must broadcast together, got {got}") from None


def batch_of_pairs(name: str, array: Array, n_q: int, n_k: int) -> tuple[int, ...]:
    """Batch axes of a mask or bias, after checking that its last two axes fit the scores."""
    for axis, size, what in ((-1, n_k, "keys"), (-2, n_q, "queries")):
        if array.ndim >= -axis and array.shape[axis] not in (1, size):
            raise ValueError(
                f"{name} must fit {n_q} queries x {n_k} keys, got shape {array.shape}: "
                f"its axis {axis} must be {size} ({what}) or 1"
            )
    return array.shape[:-2]


def check_matrix(name: str, array: Array, row: str = "position") -> None:
    """Refuse an array without the axes of rows and features."""
    if array.ndim < 2:
        hint = f"; one {row} is {name}[None, :]" if array.ndim == 1 else ""
        rows = "queries" if row == "query" else f"{row}s"
        raise ValueError(
            f"{name} must have at least 2 axes ({rows}, features), got shape {array.shape}{hint}"
        )


def check_rows(name: str, array: Array, width: int) -> None:
    """Refuse anything but matrices whose rows have `width` features."""
    check_matrix(name, array)
    if array.shape[-1] != width:
        raise ValueError(
            f"{name} must have {width} features a row, as the weights expect, "
            f"got shape {array.shape}"
        )


def check_weights(name: str, weights: Array, axis: int = -1) -> None:
    """Refuse anything but distributions along `axis`; all-zero rows and NaN rows pass."""
    if np.any(weights < 0):
        raise ValueError(
            f"{name} must hold attention weights, got a negative entry "
            f"({weights[weights < 0].flat[0]:.4g}); scores become weights by softmax"
        )
    with np.errstate(over="ignore"):
        sums = np.sum(weights, axis=axis, dtype=np.result_type(weights.dtype, np.float64))
    tolerance = max(ROW_SUM_TOLERANCE, min(0.05, ROUNDED_ENTRY * weights.shape[axis]))
    wrong = (np.abs(sums - 1) > tolerance) & np.any(weights != 0, axis=axis)
    if np.any(wrong):
        first = ", ".join(str(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must sum to 1 along the last axis (or be all zero), "
            f"got a sum of {sums[wrong].flat[0]:.4g}" + (f" in row {first}" if first else "")
        )


@contextmanager
def quiet_rounding() -> Iterator[None]:
    """No complaint when a finite number becomes too large or too small for the dtype."""
    with np.errstate(over="ignore", under="ignore"):
        yield


def matmul_where(a: Array, b: Array, visible: BoolArray | None) -> Array:
    """``a @ b``, warning only about entries where `visible` is True.

    A hidden pair may hold inf or huge numbers, and NumPy would warn about a product nobody
    reads. For a visible entry that turned into NaN, NumPy's own warning is kept.
    """
    if visible is None:
        with np.errstate(under="ignore"):
            return np.asarray(a @ b)
    with np.errstate(all="ignore"):
        product = np.asarray(a @ b)
    known = np.isnan(a).any(axis=-1, keepdims=True) | np.isnan(b).any(axis=-2, keepdims=True)
    born = np.asarray(np.isnan(product) & visible & ~known)
    if born.any():
        shape = np.broadcast_shapes(born.shape, product.shape)
        first = np.unravel_index(np.broadcast_to(born, shape).argmax(), shape)
        rows = np.broadcast_to(a, shape[:-2] + a.shape[-2:])
        columns = np.swapaxes(np.broadcast_to(b, shape[:-2] + b.shape[-2:]), -1, -2)
        np.sum(rows[first[:-1]] * columns[(*first[:-2], first[-1])])
    return product
