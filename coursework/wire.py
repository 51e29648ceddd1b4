"""Messages between the grader and the student's process: JSON and raw numbers, never pickles.

A message is a dict. On the wire it is two lengths, a JSON head and the bytes of its arrays. What
arrives is untrusted: lengths, types, depth and number of values are all bounded before anything
is made from them, and an array can only be plain numbers.
"""

import json
import math
import os
import struct
import time
from select import select

import numpy as np

LIMIT = 16 * 2**20  # bytes of one message
HEAD = 2**20  # bytes of JSON that the grader takes from a student's process
DTYPES = {
    f"{kind}{size}"
    for kind, sizes in {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}.items()
    for size in sizes
} | {"b1"}
DEPTH, WIDTH = 6, 10_000  # nesting of a value; parts of one tuple


class WireError(Exception):
    """What arrived is not a message, or did not arrive."""


class Other:
    """Stands for a value that cannot cross: knows the name of its type only."""

    def __init__(self, name):
        self.name = str(name)[:60]

    def __repr__(self):
        return f"<{self.name}>"


def dumps(message):
    """Bytes of a message; raises `WireError` if it is too large."""
    buffers = []
    head = json.dumps(_encode(message, buffers, 0)).encode()
    body = b"".join(buffers)
    if len(head) + len(body) > LIMIT:
        raise WireError("the value is too large to send")
    return struct.pack("<II", len(head), len(body)) + head + body


def send(fd, message):
    """Write a message to a file descriptor."""
    left = memoryview(dumps(message))
    while left:
        left = left[os.write(fd, left) :]


def receive(fd, deadline=None, head_limit=LIMIT):
    """Read one message; `deadline` is a time of `time.monotonic()`."""
    head_size, body_size = struct.unpack("<II", _exactly(fd, 8, deadline))
    if head_size > head_limit or head_size + body_size > LIMIT:
        raise WireError("sent more than a message may hold")
    head = _exactly(fd, head_size, deadline)
    body = _exactly(fd, body_size, deadline)
    try:
        message = _decode(json.loads(head), memoryview(body), [0])
    except Exception as error:  # untrusted bytes: whatever goes wrong is the sender's fault
        raise WireError(f"sent something unreadable ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise WireError("sent something that is not a message")
    return message


def _exactly(fd, size, deadline):
    parts = []
    while size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select([fd], [], [], left)[0]:
                raise WireError("did not answer in time and was stopped")
        part = os.read(fd, min(size, 2**20))
        if not part:
            raise WireError("ended its own process")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _encode(value, buffers, depth):
    if depth > DEPTH:
        return {"other": "deeply nested value"}
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.str[1:] not in DTYPES:
            return {"other": f"array of {array.dtype}"[:60]}
        array = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        buffers.append(array.tobytes())
        return {"array": array.dtype.str[1:], "shape": array.shape}
    if isinstance(value, tuple | list) and len(value) <= WIDTH:
        return {"items": [_encode(part, buffers, depth + 1) for part in value]}
    if isinstance(value, dict):
        return {"dict": {str(k): _encode(v, buffers, depth + 1) for k, v in value.items()}}
    return {"other": type(value).__name__}


def _decode(tree, body, offset, depth=0):
    if depth > DEPTH + 1:
        raise ValueError("too deep")
    if not isinstance(tree, dict):
        if isinstance(tree, list):
            raise TypeError("a bare list")
        return tree
    if "array" in tree:
        if tree["array"] not in DTYPES:
            raise TypeError("not plain numbers")
        shape = tuple(tree["shape"])
        if len(shape) > 16 or not all(type(n) is int and 0 <= n <= LIMIT for n in shape):
            raise ValueError("not a shape")
        dtype = np.dtype("<" + tree["array"])
        start = offset[0]
        offset[0] += math.prod(shape) * dtype.itemsize
        if offset[0] > len(body):
            raise ValueError("fewer numbers than the shape says")
        return np.frombuffer(body[start : offset[0]], dtype).reshape(shape).copy()
    if "items" in tree:
        return tuple(_decode(part, body, offset, depth + 1) for part in tree["items"])
    if "dict" in tree:
        return {k: _decode(v, body, offset, depth + 1) for k, v in tree["dict"].items()}
    return Other(tree["other"])
