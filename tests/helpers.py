"""What several test files share: example arrays, comparisons, and the check of an error message."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import reference

N_Q, N_K, D_K, D_V = 3, 5, 7, 11  # different primes: an exchanged axis cannot go unnoticed


def normal(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def example(batch=(), n_q=N_Q, n_k=N_K, d_k=D_K, d_v=D_V, *, seed=0, dtype=float):
    """query, key and value with normal entries."""
    return (
        normal(*batch, n_q, d_k, seed=seed, dtype=dtype),
        normal(*batch, n_k, d_k, seed=seed + 1, dtype=dtype),
        normal(*batch, n_k, d_v, seed=seed + 2, dtype=dtype),
    )


def bias_of(n_q, n_k):
    return normal(n_q, n_k, seed=7)


def mask_of(n_q, n_k):
    return normal(n_q, n_k, seed=8) > -0.3


# Every option of attention by itself, then all together, for scores of n queries x k keys
OPTIONS = {
    "plain": lambda n, k: {},
    "bias": lambda n, k: {"bias": bias_of(n, k)},
    "bias of one row": lambda n, k: {"bias": bias_of(n, k)[0]},
    "bias of one column": lambda n, k: {"bias": bias_of(n, k)[:, :1]},
    "mask": lambda n, k: {"mask": mask_of(n, k)},
    "mask of one row": lambda n, k: {"mask": mask_of(n, k)[0]},
    "mask of one column": lambda n, k: {"mask": mask_of(n, k)[:, :1]},
    "causal": lambda n, k: {"causal": True},
    "scale": lambda n, k: {"scale": 0.3},
    "scale zero": lambda n, k: {"scale": 0},
    "scale negative": lambda n, k: {"scale": np.float32(-0.5)},
    "all": lambda n, k: {
        "bias": bias_of(n, k),
        "mask": mask_of(n, k),
        "causal": True,
        "scale": 0.3,
    },
}


def assert_close(actual, expected, *, atol=1e-13, what=""):
    """Same shape, same NaN and inf, and close in absolute terms."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (
        f"{what} has shape {actual.shape}, expected {expected.shape}"
    )
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol, err_msg=what)


def assert_agrees(result, expected, *, atol=1e-13):
    """A named tuple of arrays against the reference's tuple, field by field."""
    assert len(result) == len(expected)
    for name, actual, wanted in zip(result._fields, result, expected, strict=True):
        assert_close(actual, wanted, atol=atol, what=name)


def assert_matches_reference(attend, query, key, value, *, atol=1e-13, **options):
    """Compare `attend` with the loop-written reference on the same input; return the result."""
    result = attend(query, key, value, **options)
    assert_agrees(result, reference.attention(query, key, value, **options), atol=atol)
    return result


def refuses(*words):
    """The block raises ValueError, and the message contains each of the words."""

    def pattern(word):
        return rf"\b{word}\b" if len(word) == 1 else re.escape(word)

    return pytest.raises(ValueError, match="(?s)" + "".join(f"(?=.*{pattern(w)})" for w in words))


def assert_a_fresh_run_stores_the_same(notebook):
    """Unlike nbval this sees the state of the widgets, and refuses numbers on a rounding edge."""
    tool = Path(__file__).parents[1] / "tools" / "notebooks.py"
    command = [sys.executable, tool, "--check", notebook]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def error_bound(scores, value, eps):
    """How far an output may lie from the exact one: scores round by their own size."""
    visible = np.abs(scores[np.isfinite(scores)])
    return 8 * eps * (1 + visible.max(initial=0)) * np.abs(value).max(initial=0)


def assert_parity(result, output, weights, value):
    """Our result against a peer's output and weights (None: the peer does not tell)."""
    eps = float(np.finfo(result.output.dtype).eps)
    scores = result.scores.astype(float)
    assert_close(result.output, output, atol=error_bound(scores, value, eps), what="output")
    if weights is not None:
        one = np.ones(1)
        assert_close(result.weights, weights, atol=error_bound(scores, one, eps), what="weights")
