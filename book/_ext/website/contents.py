"""Every page shows the contents of the book: when they change, every page is made again.

Sphinx makes only the pages that were edited, and would leave the others without the new chapter.
"""

from __future__ import annotations

from pathlib import Path


def outdated(app, env, added, changed, removed):
    contents = (Path(app.srcdir) / "_toc.yml").read_bytes()
    before = getattr(env, "contents_of_the_book", None)
    env.contents_of_the_book = contents
    return [] if before == contents else sorted(env.found_docs)


def setup(app):
    app.connect("env-get-outdated", outdated)
