"""Every code sample of the pages in book/ prints what the page says it prints."""

import doctest
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "book").glob("*.md"))


def samples(page: Path) -> str:
    """The ```pycon blocks of a page, in order: later ones may use names from earlier ones."""
    return "\n".join(re.findall(r"^```pycon\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S))


@pytest.mark.parametrize("page", [p for p in PAGES if samples(p)], ids=lambda page: page.stem)
def test_page_samples(page):
    test = doctest.DocTestParser().get_doctest(samples(page), {}, page.name, str(page), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.attempted > 0
    assert result.failed == 0
