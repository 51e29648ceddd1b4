"""The cheat sheet computes what the package computes, and agrees with the page on notation."""

import re

import numpy as np

from attention_utils import scaled_dot_product_attention
from tests.notebooks.checks import ROOT

CHEAT_SHEET = (ROOT / "book" / "cheat_sheet.md").read_text("utf-8")
NOTATION = (ROOT / "book" / "notation.md").read_text("utf-8")


def test_the_code_is_attention():
    rng = np.random.default_rng(0)
    names = {"np": np, "d_k": 5, "mask": rng.random((3, 7)) < 0.6}
    names["mask"][:, 0] = True
    names |= {"Q": rng.normal(size=(3, 5)), "K": rng.normal(size=(7, 5))}
    names["V"] = rng.normal(size=(7, 2))
    expected = scaled_dot_product_attention(
        names["Q"], names["K"], names["V"], mask=names["mask"]
    ).output
    exec(re.search(r"```python\n(.*?)```", CHEAT_SHEET, re.S)[1], names)
    np.testing.assert_allclose(names["output"], expected)


def polarity(text, heading):
    """Return {function: whether True in its mask hides} from the table below a heading."""
    table = re.search(rf"^## {heading}.*?(^\|.*?)\n\n", text, re.M | re.S)[1]
    rows = [line for line in table.splitlines()[2:] if "these notes" not in line]
    last_names = [re.findall(r"`([^`]+)`", row)[-1].split(".")[-1] for row in rows]
    return dict(zip(last_names, ["hidden" in row for row in rows], strict=True))


def test_masks_mean_the_same_on_both_pages():
    here = polarity(CHEAT_SHEET, "In the libraries")
    there = polarity(NOTATION, "Masks")
    assert "MultiheadAttention" in here
    assert here == there
