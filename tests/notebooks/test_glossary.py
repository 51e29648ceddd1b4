"""Each entry of the glossary leads to a page that uses the word, and to every chapter there is."""

import re

import pytest

from tests.notebooks import checks
from tests.notebooks.checks import ROOT

GLOSSARY = (ROOT / "book" / "glossary.md").read_text("utf-8")
DEFINED_HERE, _, ELSEWHERE = GLOSSARY.partition("## Words you meet elsewhere")
ENTRIES = re.findall(r"^### (.+)\n\n(.+)$", DEFINED_HERE, re.M)


def everything(path):
    if path.suffix == ".md":
        return path.read_text("utf-8")
    return "\n".join(cell.source for cell in checks.read(path).cells)


def plain(text):
    """Letters only, so that MultiHeadAttention is multi-head attention."""
    return re.sub(r"[\W_]+", "", text).lower()


@pytest.mark.parametrize(("term", "meaning"), ENTRIES, ids=[term for term, _ in ENTRIES])
def test_the_page_of_a_word_uses_it(term, meaning):
    link = re.search(r"\[[^]]+\]\(([^)#]+)[^)]*\)$", meaning)
    if link is None:
        number = int(re.search(r"Chapter (\d+)$", meaning)[1])
        written = list(ROOT.glob(f"chapters/{number:02d}_*.ipynb"))
        assert not written, f"{term}: chapter {number} is written, link to it"
        return
    stem = term[:-3] if len(term) > 8 else term  # "broadcasting" is used as "broadcast"
    assert plain(stem) in plain(everything(ROOT / "book" / link[1]))


def test_every_entry_is_seen():
    assert len(ENTRIES) + ELSEWHERE.count("\n### ") == GLOSSARY.count("\n### ")
