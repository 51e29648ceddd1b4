"""The chapters that need torch, JAX or a pretrained model are stored as a fresh run leaves them."""

from pathlib import Path

import nbformat
import pytest

from tests.helpers import assert_a_fresh_run_stores_the_same

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [
    path
    for path in sorted(ROOT.glob("chapters/*.ipynb"))
    if nbformat.read(path, as_version=4).metadata.get("needs_peers")
]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_fresh_run_stores_the_same(path):
    assert_a_fresh_run_stores_the_same(path)
