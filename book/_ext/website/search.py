"""Full-text search without a server, over ``file://`` too, and for Chinese terms inside longer
runs.

Sphinx's own search splits text into words of one language and fetches each hit for its summary,
which a page opened from disk may not do.  The notes are small enough for something simpler: the
text of every section in one script, loaded by the search page alone, in which ``js/search.js``
looks for substrings.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes

LEFT_OUT = (
    nodes.comment,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.section,
    nodes.title,
)


def words(node: nodes.Node) -> str:
    """The prose of a section: no subsections, markup, formulas, code or outputs."""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, LEFT_OUT) or "cell_output" in node.get("classes", ()):
        return " "
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(words(child) for child in node.children)


def sections(document: nodes.document) -> list[list[str]]:
    """[anchor, heading, text] for each section of a page; the first is the page itself."""
    return [
        [
            section["ids"][0],
            section.next_node(nodes.title).astext(),
            " ".join(" ".join(map(words, section)).split()),
        ]
        for section in document.findall(nodes.section)
    ]


def index(app) -> dict[str, list[list[str]]]:
    if not hasattr(app.env, "notes_sections"):
        app.env.notes_sections = {}
    return app.env.notes_sections


def collect(app, document):
    index(app)[app.env.docname] = sections(document)


def forget(app, env, docname):
    index(app).pop(docname, None)


def merge(app, env, docnames, other):
    index(app).update({name: other.notes_sections[name] for name in docnames})


def use_own_search(app):
    app.builder.search = False  # Sphinx's index, scripts and page


def search_page(app):
    return (
        [("search", {"title": "Search", "body": ""}, "search.html")]
        if app.builder.name == "html"
        else []
    )


def write(app, failed):
    if failed or app.builder.name != "html":
        return
    pages = {name: index(app)[name] for name in sorted(app.env.found_docs) if name in index(app)}
    target = Path(app.outdir) / "_static" / "search-index.js"
    target.write_text(
        f"var searchIndex = {json.dumps(pages, ensure_ascii=False, separators=(',', ':'))};\n"
    )


def setup(app):
    app.connect("builder-inited", use_own_search)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write)
