"""Attention block by block: the same output, without ever holding all the weights."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attention_utils._arrays import (
    Array,
    BoolArray,
    common_shape,
    count,
    dtypes,
    quiet_rounding,
    real_array,
)
from attention_utils.attention import (
    check_pairs,
    check_value,
    scale_factor,
    scaled_dot_product_attention,
)

# Scores of one block: 1 MiB in float32. That fits into the cache of a core, where the steps after
# the first find them again, and is large enough for a fast matrix product.
QUERIES, KEYS = 256, 1024
# NumPy leaves Python's lock while it computes, so threads can share the work, each with a block of
# its own. Not where its matrix products use threads themselves, as they do unless told otherwise:
# two layers of threads wait for each other.
_told = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")
THREADS = min(4, os.cpu_count() or 1) if _told == "1" else 1

# Which batch element, and where its block of queries starts
Job = tuple[tuple[int, ...], int]


def blockwise_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
    block_size: int | None = None,
) -> Array:
    """The output of `scaled_dot_product_attention`, from one small block of scores at a time.

    Parameters
    ----------
    query, key, value, bias, mask, causal, scale
        As in `scaled_dot_product_attention`.
    block_size : int, optional
        Number of queries and of keys in a block; 256 queries and 1024 keys if left out.

    Returns
    -------
    output : ndarray, shape (..., n_q, d_v)
        Row i is the weighted sum of the values that query i reads.

    Raises
    ------
    ValueError
        As `scaled_dot_product_attention`, and if `block_size` is not an integer >= 1.

    Notes
    -----
    The online softmax of Milakov and Gimelshein (2018), in blocks as in FlashAttention (Dao et
    al., 2022); derived in chapter 11. Each query goes through the keys block by block and keeps
    three things: the largest score so far, the sum of the exponentials so far, and the sum of the
    values weighted by them. When a larger score comes, the two sums are scaled down to it.

    It saves memory, not operations: what is needed beside input and output is a few blocks,
    instead of all ``n_q * n_k`` weights. A block that is hidden as a whole is left out, which
    halves the work of a causal mask. Bias and mask are read block by block, so a broadcast view
    stays a view.

    All promises of `scaled_dot_product_attention` hold. Queries that meet something that is not
    finite, even where it is hidden, are handed to it, one block of queries with all its keys at a
    time.

    Examples
    --------
    >>> blockwise_attention([[1, 0]], [[1, 0], [0, 1]], [[10], [20]], scale=1).round(2)
    array([[12.69]])
    """
    named = {"query": query, "key": key, "value": value} | ({} if bias is None else {"bias": bias})
    arrays = {name: real_array(name, array) for name, array in named.items()}
    dtype, work = dtypes(*[array.dtype for array in arrays.values()])
    # Not the bias: to convert it would be to copy all of it.
    query, key, value = (arrays[n].astype(work, copy=False) for n in ("query", "key", "value"))
    arrays |= {"query": query, "key": key, "value": value}
    visible = check_pairs(query, key, arrays.get("bias"), mask=mask, causal=causal)
    if visible is not None:
        arrays["mask"] = visible
    check_value(value, key, query)
    factor = scale_factor(query, scale)
    n_q, n_k = query.shape[-2], key.shape[-2]
    rows, step = QUERIES, KEYS
    if block_size is not None:
        rows = step = count("block_size", block_size, least=1)
    rows, step = min(rows, max(n_q, 1)), min(step, max(n_k, 1))

    batch = common_shape("the batch axes", **{n: a.shape[:-2] for n, a in arrays.items()})
    for name, array in arrays.items():
        last_axes = (n_q, n_k) if name in ("bias", "mask") else array.shape[-2:]
        # A view: nothing is copied, however often an axis repeats.
        arrays[name] = np.broadcast_to(array, (*batch, *last_axes))
    output = np.empty((*batch, n_q, value.shape[-1]), work)

    def part(place: tuple[int, ...], start: int) -> dict[str, Any]:
        """One block of queries, and the keys that they may read."""
        stop = min(start + rows, n_q)
        # The queries are the last positions, and causal ones read up to themselves.
        last = max(0, stop + n_k - n_q) if causal else n_k
        cut = {
            "query": np.s_[start:stop],
            "key": np.s_[:last],
            "value": np.s_[:last],
            "bias": np.s_[start:stop, :last],
            "mask": np.s_[start:stop, :last],
        }
        return {name: array[place][cut[name]] for name, array in arrays.items()}

    def compute(jobs: list[Job]) -> list[Job]:
        """Fill in the output of these jobs; return those whose result is not finite."""
        buffer = np.empty((rows, step), work)
        # Hidden pairs may hold anything, and what comes of it is thrown away below.
        with np.errstate(all="ignore"):
            for place, start in jobs:
                output[place][start : start + rows] = _online_softmax(
                    **part(place, start), causal=causal, factor=factor, buffer=buffer
                )
        return [
            (place, start)
            for place, start in jobs
            if not np.isfinite(output[place][start : start + rows]).all()
        ]

    jobs = list(product(np.ndindex(batch), range(0, n_q, rows)))
    with ThreadPoolExecutor(THREADS) as pool:
        # With a causal mask later queries read more: every thread gets some of each.
        shares = [jobs[thread::THREADS] for thread in range(THREADS)]
        not_finite = list(chain.from_iterable(pool.map(compute, shares)))
    for place, start in not_finite:
        output[place][start : start + rows] = scaled_dot_product_attention(
            **part(place, start), causal=causal, scale=scale
        ).output
    with quiet_rounding():
        return output.astype(dtype, copy=False)


def _online_softmax(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None = None,
    mask: BoolArray | None = None,
    *,
    causal: bool,
    factor: np.floating[Any],
    buffer: Array,
) -> Array:
    """The output of a block of queries, from one block of keys after the other."""
    n_q, n_k, step = len(query), len(key), buffer.shape[1]
    largest = np.full((n_q, 1), -np.inf, query.dtype)  # score of each query so far
    total = np.zeros((n_q, 1), query.dtype)  # of its exponentials
    output = np.zeros((n_q, value.shape[1]), query.dtype)  # sum of values, not yet divided
    for start in range(0, n_k, step):
        stop = min(start + step, n_k)
        seen = None if mask is None else mask[:, start:stop]
        if causal and stop - 1 > n_k - n_q:  # the first query may not read the last key
            diagonal = np.tri(n_q, stop - start, n_k - n_q - start, dtype=np.bool_)
            seen = diagonal if seen is None else seen & diagonal
        if seen is not None and not seen.any():
            continue

        # In place from here on: a new array for every step would cost more than the step.
        scores = buffer[:n_q, : stop - start]
        np.matmul(query, key[start:stop].T, out=scores)
        scores *= factor
        if bias is not None:
            scores += bias[:, start:stop]
        if seen is not None:
            np.copyto(scores, -np.inf, where=~seen)

        higher = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        # Before a query has read anything, it is -inf, and -inf - -inf would be nan.
        shift = np.maximum(higher, np.finfo(query.dtype).min)
        scores -= shift
        exponentials = np.exp(scores, out=scores)
        # What was summed under a smaller maximum is scaled down to the new one.
        rescale = np.exp(largest - shift)
        total = rescale * total + exponentials.sum(axis=-1, keepdims=True)
        output = rescale * output + exponentials @ value[start:stop]
        largest = higher
    # A query that may read nothing has total 0 and keeps its zeros.
    return output / np.where(total == 0, 1, total)
