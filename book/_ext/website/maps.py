"""Attention maps get a line below them that reads out the row the reader points at.

The room for it is made at build time, so that the page does not move; ``40-maps.js`` fills it.
"""

from __future__ import annotations

from . import outputs

HINT = "Point at a row, or move through the rows with the arrow keys, to read it as a sentence."


def present(html, renderer):
    html = "".join(html)
    if html.count('<table class="au-map') != 1:
        return None
    return (
        f'<div class="output text_html">{html}'
        f'<p class="au-reading" aria-live="polite">{HINT}</p></div>'
    )


def setup(app):
    outputs.register("text/html", present)
