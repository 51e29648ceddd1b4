"""Attention maps get a line below them that reads out the row the reader points at.

The room for it is made at build time, so that the page does not move; ``40-maps.js`` fills it.
"""

from __future__ import annotations

import re

from . import outputs
from .writer import mark_chinese

TEXT = re.compile(r"(?<=>)[^<]+")

HINT = "Point at a row, tap it, or move through the rows with the arrow keys: it is read out here."


def present(html, renderer):
    html = "".join(html)
    if html.count('<table class="au-map') != 1:
        return None
    html = TEXT.sub(lambda text: mark_chinese(text[0]), html)
    return (
        f'<div class="output text_html">{html}'
        f'<p class="au-reading" aria-live="polite">{HINT}</p></div>'
    )


def setup(app):
    outputs.register("text/html", present)
