"""The API page comes from docstrings, and links run both ways between it and the chapters.

A docstring says "Derived in chapter 3": that becomes a link to the chapter, once the chapter
exists.  In a chapter, the first mention of a public name, written as code, becomes a link to its
entry.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import attention_utils

CHAPTER = re.compile(r"\b([Cc]hapter (\d+))\b")
CALL = re.compile(r"(?:attention_utils\.)?(\w+)(?:\(.*\))?")


def link_chapters(app, what, name, obj, options, lines):
    """Turn "chapter 3" into a link to the page whose file name starts with 03_."""
    pages = {
        int(number[1]): page
        for page in app.env.found_docs
        if (number := re.match(r"chapters/(\d+)_", page))
    }
    for i, line in enumerate(lines):
        lines[i] = CHAPTER.sub(
            lambda m: f":doc:`{m[1]} </{pages[int(m[2])]}>`" if int(m[2]) in pages else m[0], line
        )


class LinkNames(SphinxTransform):
    """Link the first mention of each public name in a chapter to its entry on the API page."""

    default_priority = 600

    def apply(self, **kwargs):
        if not self.env.docname.startswith("chapters/"):
            return
        linked = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = CALL.fullmatch(literal.astext())
            if not name or name[1] not in attention_utils.__all__ or name[1] in linked:
                continue
            if isinstance(literal.parent, nodes.reference | nodes.title | addnodes.pending_xref):
                continue
            linked.add(name[1])
            target = f"attention_utils.{name[1]}"
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True
            )
            literal.replace_self(link)
            link += literal


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.connect("autodoc-process-docstring", link_chapters, priority=900)
    app.add_transform(LinkNames)
