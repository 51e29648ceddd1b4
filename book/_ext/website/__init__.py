"""The website of the notes, as one Sphinx extension.

Each module holds one idea and its own ``setup``; this file only lists them.  What they share is the
aim: everything a page needs is made at build time from pinned packages, so that a page loads one
stylesheet and one small script, asks nothing of any other host, and reads the same from a server, a
sub-path, a folder on disk, or with JavaScript off.
"""

from . import (
    api,
    assets,
    contents,
    figures,
    folded,
    maps,
    maths,
    pages,
    place,
    search,
    widgets,
    writer,
)

PARTS = (contents, writer, maths, figures, maps, folded, api, widgets, search, place, pages, assets)


def setup(app):
    # Jupyter Book sets this for an extension that the site does without.
    app.add_config_value("comments_config", {}, "")
    for part in PARTS:
        part.setup(app)
    # Pages are written in one process: a single KaTeX process serves them all.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
