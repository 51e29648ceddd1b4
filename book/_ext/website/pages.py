"""What a page says about itself: its description, its security policy, the notebook behind it."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import lru_cache

from docutils import nodes

from . import assets, cards, place

TAG = re.compile(r"<[^>]*>")


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
        " base-uri 'self'; form-action 'self'"
    )


def summary(document: nodes.document, limit: int = 155) -> str:
    """The opening paragraphs, as far as they fit, cut at a word."""
    text = ""
    for paragraph in document.findall(nodes.paragraph):
        text = f"{text} {' '.join(paragraph.astext().split())}".strip()
        if len(text) > limit:
            return text[:limit].rsplit(" ", 1)[0].rstrip(",;:–—") + "…"
    return text


def describe(app, pagename, templatename, context, doctree):
    metadata = context.get("meta") or {}
    source = app.env.doc2path(pagename, base=False) if doctree else ""
    is_notebook = source.endswith(".ipynb")
    title = html.unescape(TAG.sub("", context.get("title") or "")) or app.config.html_title
    context.update(
        policy=policy(),
        theme_script=theme_script(),
        base=app.config.html_baseurl,
        version=assets.version(),
        plain_title=title,
        description=metadata.get("description") or (summary(doctree) if doctree else ""),
        card=cards.write(app.outdir, title, app.config.html_title) if doctree else "",
        is_notebook=is_notebook,
        open_in=place.open_in(source) if is_notebook else [],
        repository=place.setting("REPOSITORY"),
    )


def not_found_page(app):
    return [("404", {"title": "Not found"}, "404.html")] if app.builder.name == "html" else []


def setup(app):
    app.connect("html-page-context", describe, priority=950)
    app.connect("html-collect-pages", not_found_page)
