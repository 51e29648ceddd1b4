"""How long attention takes, by the number of positions, and what the package costs to import."""

import subprocess
import sys
import timeit

import numpy as np

import attention_utils as au

D_K = 64
REPEATS = 5


def main():
    """Print one line a size: the best of a few runs, since everything else only adds time."""
    rng = np.random.default_rng(0)
    print(f"scaled_dot_product_attention, d_k = d_v = {D_K}, float64, one head")
    for n in (16, 64, 256, 1024, 2048):
        query, key, value = rng.standard_normal((3, n, D_K))
        run = timeit.Timer(lambda q=query, k=key, v=value: au.scaled_dot_product_attention(q, k, v))
        times, _ = run.autorange()
        best = min(run.repeat(REPEATS, times)) / times
        print(f"{n:6} positions  {best * 1e3:9.3f} ms  {n * n * 8 / 2**20:8.2f} MiB of weights")
    start = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    for package in ("numpy", "attention_utils"):
        command = [sys.executable, "-c", start.format(package)]
        runs = [float(subprocess.check_output(command)) for _ in range(REPEATS)]
        print(f"import {package:16}{min(runs) * 1e3:9.0f} ms")


if __name__ == "__main__":
    main()
