"""Formulas become HTML and MathML at build time: pages carry no maths JavaScript.

KaTeX runs in one Node process that answers over its standard streams.  Its stylesheet and fonts
come from the same npm package, so the markup and the styles cannot drift apart.  A formula that
KaTeX refuses fails the build.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import lru_cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.util import logging

from . import node as nodejs

log = logging.getLogger(__name__)


class KaTeXError(SphinxError):
    category = "KaTeX"


@lru_cache(1)
def process() -> subprocess.Popen:
    nodejs.install()
    return subprocess.Popen(
        [str(nodejs.NODE), str(Path(__file__).with_name("katex.js"))],
        env={**os.environ, "NODE_PATH": str(nodejs.PACKAGES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


@lru_cache(None)
def render(tex: str, display: bool = False) -> str:
    """HTML with MathML for one formula.  Raises `KaTeXError` when the formula is wrong."""
    server = process()
    server.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    if "error" in answer:
        raise KaTeXError(answer["error"])
    return answer["html"]


def checked(node: nodes.Element, display: bool) -> str:
    """As `render`, with a located warning (an error in our builds) instead of an exception."""
    tex = node.astext() + node.get("after", "")
    try:
        return render(tex, display)
    except KaTeXError as error:
        log.warning("%s in %r", error, tex, location=node, type="katex")
        return f"<code>{escape(tex)}</code>"


def hold_punctuation(app, doctree, docname):
    """Move the comma after a formula into its last box: a browser may break a line between them."""
    if app.builder.format != "html":
        return
    for formula in doctree.findall(nodes.math):
        neighbours = formula.parent.children
        place = neighbours.index(formula) + 1
        following = neighbours[place] if place < len(neighbours) else None
        if isinstance(following, nodes.Text) and following[0] in ",.;:!?)":
            formula["after"] = rf"\text{{{following[0]}}}"
            formula.parent[place] = nodes.Text(following[1:])


def visit_inline(self, node):
    self.body.append(checked(node, display=False))
    raise nodes.SkipNode


def visit_display(self, node):
    anchor = f' id="{node["ids"][0]}"' if node["ids"] else ""
    self.body.append(f'<div class="math scroll"{anchor}>')
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(checked(node, display=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.connect("doctree-resolved", hold_punctuation)
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
