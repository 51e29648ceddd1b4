"""Sphinx's HTML with five things put right for narrow screens and screen readers."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

CHINESE = re.compile(r"[\u3400-\u9fff]+")
PERCENT = re.compile(r"(?<=\d) %")


def mark_chinese(text):
    """Say which language this is: for the voice that reads it and the font that draws it."""
    return CHINESE.sub(r'<span lang="zh-Hans">\g<0></span>', text)


class Writer(HTML5Translator):
    def visit_table(self, node):
        """A table scrolls in its own box and never widens the page."""
        self.body.append('<div class="scroll">')
        super().visit_table(node)

    def depart_table(self, node):
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_entry(self, node):
        """The empty corner of a table is not a header."""
        if isinstance(node.parent.parent, nodes.thead) and not node.astext():
            node.parent.column += 1
            self.body.append(self.starttag(node, "td", ""))
            self.context.append("</td>\n")
        else:
            super().visit_entry(node)

    def visit_Text(self, node):
        """A number stays with its "%", and Chinese is marked."""
        before = len(self.body)
        super().visit_Text(node)
        for i in range(before, len(self.body)):
            self.body[i] = mark_chinese(PERCENT.sub("\N{NO-BREAK SPACE}%", self.body[i]))

    def starttag(self, node, tagname, suffix="\n", empty=False, **attributes):
        """The entries of docutils' list of references are list items for a screen reader."""
        if attributes.get("role") == "doc-biblioentry":
            attributes["role"] = "listitem"
        return super().starttag(node, tagname, suffix, empty, **attributes)


def setup(app):
    app.set_translator("html", Writer)
    app.set_translator("singlehtml", Writer)
