"""Read a safetensors file: named arrays, and nothing in it that could run.

The file is 8 bytes with the length of its header, the header in JSON, then all numbers of all
arrays, one array after the other. Every number is stored with its lowest byte first.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from attention_utils._arrays import Array

DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


def read_safetensors(path: str | Path) -> dict[str, Array]:
    """All arrays of a file, by name.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    arrays : dict of str to ndarray
        Read-only views of the file: what is not looked at is not loaded.

    Raises
    ------
    ValueError
        If the file is not what the format says: cut off, longer than its arrays, or a header that
        does not describe them.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    The format has more types; float32 and int64 are those that the model of chapter 10 uses.
    """

    def damaged(what: str) -> ValueError:
        return ValueError(f"path must be a safetensors file, but {Path(path).name} {what}")

    size = Path(path).stat().st_size
    if size < 8:
        raise damaged(f"has {size} bytes, and the length of the header alone takes 8")
    content = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(content[:8].tobytes(), "little")
    if length > size - 8:
        raise damaged(f"announces a header of {length} bytes and has {size - 8} left")
    try:
        header = json.loads(content[8 : 8 + length].tobytes())
    except ValueError as error:
        raise damaged(f"has a header that is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise damaged(f"has a header that is no table: {str(header)[:40]!r}")
    header.pop("__metadata__", None)

    numbers, arrays, places = content[8 + length :], {}, []
    for name, entry in header.items():
        try:
            dtype, shape, (start, stop) = _described(entry)
        except (KeyError, TypeError, ValueError):
            raise damaged(f"describes {name!r} as {str(entry)[:80]}") from None
        if stop - start != math.prod(shape) * dtype.itemsize:
            raise damaged(f"gives {name!r} {stop - start} bytes, which shape {shape} does not fill")
        places.append((start, stop))
        arrays[name] = numbers[start:stop], dtype, shape
    # Laid end to end, the arrays fill the file.
    end = 0
    for start, stop in sorted(places):
        if start != end:
            raise damaged(f"has an array at byte {start}, where {end} was expected")
        end = stop
    if end != numbers.size:
        raise damaged(f"needs {end} bytes for its arrays and has {numbers.size}")
    return {name: raw.view(dtype).reshape(shape) for name, (raw, dtype, shape) in arrays.items()}


def _described(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, int]]:
    """What one entry of the header says; anything strange raises."""
    dtype, (start, stop) = DTYPES[entry["dtype"]], entry["data_offsets"]
    whole = [*entry["shape"], start, stop]
    if any(type(number) is not int or number < 0 for number in whole) or stop < start:
        raise ValueError(whole)
    return dtype, tuple(entry["shape"]), (start, stop)
