"""The chapters that need torch, JAX or a pretrained model are stored as a fresh run leaves them."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path
    for path in sorted(ROOT.glob("chapters/*.ipynb"))
    if nbformat.read(path, as_version=4).metadata.get("needs_peers")
]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_fresh_run_stores_the_same(path):
    """Unlike nbval this sees the state of the widgets, and refuses numbers on a rounding edge."""
    command = [sys.executable, ROOT / "tools" / "notebooks.py", "--check", path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
