"""SVG outputs are written into the page instead of being linked as images.

Only then do their texts take the page's colours (``var(--au-ink)`` …, so one drawing serves light
and dark), can be selected, searched and read aloud.  Three things in a stand-alone SVG would harm a
page: its XML prologue, its ``<style>`` (which would apply to the whole page), and ids that collide
with those of the next figure.
"""

from __future__ import annotations

import hashlib
import re

from . import outputs

PROLOGUE = re.compile(r"^.*?(?=<svg\b)", re.S)
UNWANTED = re.compile(
    r"<style\b.*?</style>|<metadata\b.*?</metadata>|<!--.*?-->|<title\b[^>]*/>", re.S
)
ID = re.compile(r'(\bid="|(?:xlink:)?href="#|url\(#)([^")]+)')


def inline(svg: str) -> str:
    """The drawing as an HTML fragment, in a container that scrolls when the screen is narrower than
    it.
    """
    svg = UNWANTED.sub("", PROLOGUE.sub("", svg, count=1)).strip()
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:6]
    svg = ID.sub(lambda m: f"{m[1]}{prefix}-{m[2]}", svg)
    return f'<div class="drawing scroll">{svg}</div>'


def setup(app):
    outputs.register("image/svg+xml", lambda content, renderer: inline(content))
