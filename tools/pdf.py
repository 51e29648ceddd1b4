"""The whole book as one PDF: the pages of the built site, printed by Chromium.

The articles are put on one page in the order of the contents; ids get the name of their page in
front, so that links between pages become links inside the book.  Printed twice: the first time
tells on which page each chapter starts, the second has these numbers in the contents.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
FIRST = "book/index.html"

ARTICLE = re.compile(r"<article>(.*?)</article>", re.S)
CONTENTS = re.compile(r'(<p class="caption" role="heading".*?)</nav>', re.S)
LINK = re.compile(r'\bhref="([^"#:]+\.html)(#[^"]*)?"')
SAME_PAGE = re.compile(r'((?:xlink:)?href="#|url\(#|\b(?:id|for|name)=")([^")]+)')


def slug(page: str) -> str:
    return re.sub(r"\W+", "-", page.removesuffix(".html"))


def anchored(html: str, page: str) -> str:
    """A fragment of a page whose ids are private to the page and whose links stay in the book."""

    def to_page(match):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[1]))
        anchor = f"--{match[2][1:]}" if match[2] else ""
        return f'href="#{slug(target)}{anchor}"'

    html = re.sub(r'<a class="headerlink".*?</a>', "", html)
    html = SAME_PAGE.sub(lambda m: f"{m[1]}{slug(page)}--{m[2]}", html)
    html = LINK.sub(to_page, html)
    return html.replace("<details", "<details open")


def book(numbers: dict[str, int]) -> str:
    """One HTML page: cover, contents with the given page numbers, every article."""
    first = (SITE / FIRST).read_text(encoding="utf-8")
    title = re.search(r'property="og:site_name" content="([^"]*)"', first)[1]
    contents = LINK.sub(
        lambda m: f'href="{m[1]}"', CONTENTS.search(first)[1].replace('role="heading"', "")
    )
    pages = [FIRST]
    for link in re.findall(r'href="([^"]+)"', contents):
        pages.append(posixpath.normpath(posixpath.join("book", link)))
    contents = anchored(contents, FIRST)
    for name, number in numbers.items():
        contents = contents.replace(
            f'href="#{name}">', f'href="#{name}"><span class="number">{number}</span>'
        )
    articles = []
    for page in pages:
        article = ARTICLE.search((SITE / page).read_text(encoding="utf-8"))[1]
        articles.append(
            f'<div data-page="{page.removesuffix(".html")}">'
            f'<article id="{slug(page)}">{anchored(article, page)}</article></div>'
        )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<title>{title}</title><link rel="stylesheet" href="_static/site.css"></head>'
        f'<body class="pdf"><header class="cover"><p>{title}</p>'
        "<p>Transformer attention as executable notes. Text and figures CC BY 4.0, code MIT.</p>"
        f'</header><nav class="printed-contents"><h1>Contents</h1>{contents}</nav>'
        f"<main>{''.join(articles)}</main></body></html>"
    )


def starts(path: Path) -> dict[str, int]:
    """The page on which each article starts, counted from 1."""
    reader = PdfReader(path)
    return {
        name.lstrip("/"): reader.get_destination_page_number(target) + 1
        for name, target in reader.named_destinations.items()
        if "--" not in name
    }


def main(target: Path) -> None:
    source = SITE / "book.tmp.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox refuses root
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"] if root else []
            )
            page = browser.new_page(java_script_enabled=False)
            numbers: dict[str, int] = {}
            for _ in range(2):
                source.write_text(book(numbers), encoding="utf-8")
                page.goto(source.as_uri())
                page.pdf(
                    path=target,
                    outline=True,
                    tagged=True,
                    print_background=True,
                    prefer_css_page_size=True,
                )
                numbers = starts(target)
            browser.close()
    finally:
        source.unlink(missing_ok=True)
    reader = PdfReader(target)
    print(f"{target}: {len(reader.pages)} pages, {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / "attention-by-hand.pdf")
