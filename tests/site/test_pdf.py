"""The book as one PDF: contents, bookmarks, inner links, and the figures with their text."""

import re
import subprocess
import sys

import pytest
from pypdf import PdfReader

from tests.site import SITE
from tools import pdf


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    # In its own process: Playwright's synchronous interface is in use in this one.
    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    subprocess.run([sys.executable, pdf.__file__, str(target)], check=True, cwd=pdf.ROOT)
    return target


@pytest.fixture(scope="module")
def reader(path):
    return PdfReader(path)


def chapters():
    """The titles in the contents of the site."""
    contents = pdf.CONTENTS.search((SITE / pdf.FIRST).read_text())[1]
    titles = re.findall(r'<a class="reference internal".*?</a>', contents)
    return [re.sub(r"<[^>]*>", "", title) for title in titles]


def test_every_page_has_a_bookmark(reader):
    bookmarks = [entry.title for entry in reader.outline if not isinstance(entry, list)]
    assert bookmarks[:2] == ["Contents", "Attention by hand"]
    assert bookmarks[2:] == chapters()


def test_contents_name_the_page_on_which_a_chapter_starts(path, reader):
    first = min(pdf.starts(path).values()) - 1
    contents = re.findall(r"\d+", "".join(page.extract_text() for page in reader.pages[1:first]))
    numbers = [number for name, number in pdf.starts(path).items() if name != "book-index"]
    assert [number for number in map(str, numbers) if number not in contents] == []
    assert (
        "Why attention"
        in reader.pages[pdf.starts(path)["chapters-01_why_attention"] - 1].extract_text()
    )


def test_inner_links_lead_somewhere(reader):
    known = {name.lstrip("/") for name in reader.named_destinations}
    links = [a.get_object() for page in reader.pages for a in page.get("/Annots", [])]
    inner = [str(link["/Dest"]).lstrip("/") for link in links if "/Dest" in link]
    assert len(inner) > 50
    assert set(inner) <= known
    outer = [link["/A"]["/URI"] for link in links if "/A" in link]
    assert [link for link in outer if link.startswith("file:")] == []


def test_every_figure_is_there(reader):
    text = re.sub(r"\s", "", "".join(page.extract_text() for page in reader.pages))
    for page in sorted(SITE.glob("chapters/*.html")):
        for figure in re.findall(
            r'<div class="drawing scroll">(.*?)</svg>', page.read_text(), re.S
        ):
            for label in re.findall(r"<text[^>]*>([A-Za-z ]{4,})</text>", figure):
                assert re.sub(r"\s", "", label) in text
