"""Claims checked: 33 of them, each listed, computed, and with one verdict."""

import re
from itertools import pairwise

from tests.notebooks import checks
from tests.notebooks.checks import ROOT

CELLS = checks.read(ROOT / "book" / "claims_checked.ipynb").cells
NUMBERS = list(range(1, 34))


def test_each_claim_is_stated_in_order_and_followed_by_a_computation():
    stated = []
    for cell, following in pairwise(CELLS):
        if heading := re.match(r"### Claim (\d+)\n\n> ", cell.source):
            stated.append(int(heading[1]))
            assert following.cell_type == "code", f"claim {heading[1]} computes nothing"
    assert stated == NUMBERS


def test_each_claim_is_in_the_list():
    listed = [int(n) for cell in CELLS for n in re.findall(r"^\| \[(\d+)\]", cell.source, re.M)]
    assert listed == NUMBERS


def test_each_claim_has_one_verdict():
    verdicts = next(cell.source for cell in CELLS if cell.id == "verdicts")
    kinds = re.findall(r"^\*\*.*?:\*\* (.*)$", verdicts, re.M)
    without_remarks = re.sub(r"\([^)]*\)", "", " ".join(kinds))
    assert sorted(map(int, re.findall(r"\d+", without_remarks))) == NUMBERS
