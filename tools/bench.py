"""How long attention takes, block by block and as the formula is written, and what an import costs.

Block by block it is compared with torch and with its two matrix products alone, all on two
threads. The runs take turns, so that a busy moment of the machine meets all of them, and the best
of each counts, since everything else only adds time. Runs where torch is: `make bench`.
"""

import os
import subprocess
import sys
import timeit
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from time import perf_counter

import numpy as np
import torch

import attention_utils as au
from attention_utils import blockwise

HEADS, D_K = 8, 64
THREADS = 2
LONGEST = 8192
ROUNDS = 7  # for the longest; more for shorter ones
REPEATS = 5


def formula(query, key, value, causal):
    """The formula as it is written, all weights at once; NumPy runs it on one thread."""
    scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(D_K))
    if causal:
        scores = np.where(au.causal_mask(scores.shape[-1]), scores, np.float32(-np.inf))
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def in_blocks(query, key, value, causal):
    return au.blockwise_attention(query, key, value, causal=causal)


def products_alone(query, key, value, causal):
    """Not attention: what remains of it without softmax, in the same blocks and threads."""
    n = query.shape[1]

    def head(which):
        for start in range(0, n, blockwise.QUERIES):
            stop = min(start + blockwise.QUERIES, n)
            last = stop if causal else n
            for keys in range(0, last, blockwise.KEYS):
                block = slice(keys, min(keys + blockwise.KEYS, last))
                query[which, start:stop] @ key[which, block].T @ value[which, block]

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(head, range(len(query))))


def by_torch(query, key, value, causal):
    tensors = (torch.from_numpy(array)[None] for array in (query, key, value))
    with torch.no_grad():
        return torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)[0]


def compare():
    """Print one line a size: milliseconds, and what each takes in units of torch's time."""
    torch.set_num_threads(THREADS)
    blockwise.THREADS = THREADS
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    today = datetime.now(tz=UTC).date()
    print(f"{today}, {os.cpu_count()} cores, load {load:.1f} before the start")
    print(f"{HEADS} heads, d_k = d_v = {D_K}, float32, {THREADS} threads; ms (x torch)")
    ways = {"torch": by_torch, "products": products_alone, "blocks": in_blocks, "formula": formula}
    print(" " * 13 + "".join(f"{name:>15}" for name in ways))
    rng = np.random.default_rng(0)
    for causal in (False, True):
        for n in (512, 2048, LONGEST):
            given = rng.standard_normal((3, HEADS, n, D_K), dtype=np.float32)
            np.testing.assert_allclose(
                in_blocks(*given, causal), by_torch(*given, causal), rtol=0, atol=1e-4
            )
            times = {name: [] for name in ways if name != "formula" or n < LONGEST}  # 10 GB there
            for _ in range(ROUNDS * LONGEST // n):
                for name, spent in times.items():
                    start = perf_counter()
                    ways[name](*given, causal)
                    spent.append(perf_counter() - start)
            best = {name: min(spent) * 1e3 for name, spent in times.items()}
            cells = (f"{ms:7.0f} ({ms / best['torch']:4.2f})" for ms in best.values())
            print(f"{'causal' if causal else '':6}{n:7}" + "".join(f"{c:>15}" for c in cells))


def ordinary():
    """Print one line a size for the ordinary function."""
    rng = np.random.default_rng(0)
    print(f"scaled_dot_product_attention, d_k = d_v = {D_K}, float64, one head")
    for n in (16, 64, 256, 1024, 2048):
        query, key, value = rng.standard_normal((3, n, D_K))
        run = timeit.Timer(lambda q=query, k=key, v=value: au.scaled_dot_product_attention(q, k, v))
        times, _ = run.autorange()
        best = min(run.repeat(REPEATS, times)) / times
        print(f"{n:6} positions  {best * 1e3:9.3f} ms  {n * n * 8 / 2**20:8.2f} MiB of weights")


def importing():
    """Print how long the package takes to import."""
    start = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    for package in ("numpy", "attention_utils"):
        command = [sys.executable, "-c", start.format(package)]
        runs = [float(subprocess.check_output(command)) for _ in range(REPEATS)]
        print(f"import {package:16}{min(runs) * 1e3:9.0f} ms")


if __name__ == "__main__":
    compare()
    ordinary()
    importing()
