"""What a page says about itself: its description, its security policy, the notebook behind it."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

from . import assets


@lru_cache(1)
def theme_script() -> str:
    """The only inline script: it must run before the first paint."""
    return (assets.SOURCES / "js" / "theme-first.js").read_text().strip()


@lru_cache(1)
def policy() -> str:
    """Content-Security-Policy.  Inline styles are allowed: pre-rendered formulas need them."""
    digest = base64.b64encode(hashlib.sha256(theme_script().encode()).digest()).decode()
    return (
        f"default-src 'self'; script-src 'self' 'sha256-{digest}';"
        " style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none';"
        " base-uri 'none'; form-action 'self'"
    )


def summary(document: nodes.document, limit: int = 155) -> str:
    """The first paragraph, cut at a word."""
    for paragraph in document.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > limit:
            text = text[:limit].rsplit(" ", 1)[0].rstrip(",;:–—") + "…"
        if len(text) > 40:
            return text
    return ""


class Translator(HTML5Translator):
    """Sphinx's HTML with tables in containers that scroll: a wide one never widens the page."""

    def visit_table(self, node):
        self.body.append('<div class="scroll">')
        super().visit_table(node)

    def depart_table(self, node):
        super().depart_table(node)
        self.body.append("</div>\n")


def describe(app, pagename, templatename, context, doctree):
    metadata = context.get("meta") or {}
    context.update(
        policy=policy(),
        theme_script=theme_script(),
        version=assets.version(),
        description=metadata.get("description") or (summary(doctree) if doctree else ""),
        open_in=[],
        is_notebook=bool(doctree) and app.env.doc2path(pagename).endswith(".ipynb"),
    )


def setup(app):
    app.set_translator("html", Translator)
    app.set_translator("singlehtml", Translator)
    app.connect("html-page-context", describe, priority=950)
