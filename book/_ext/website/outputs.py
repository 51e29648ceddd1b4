"""A hook into MyST-NB: our own HTML for a MIME type of notebook outputs."""

from __future__ import annotations

from docutils import nodes
from myst_nb.core.render import load_mime_renders


def register(mime_type: str, render) -> None:
    """Let ``render(content, renderer) -> html`` (or None to decline) present outputs of this type.

    MyST-NB finds such plug-ins through the entry points of installed packages; the site is not a
    package, so it adds itself to the list that MyST-NB keeps.
    """

    class Plugin:
        @staticmethod
        def handle_mime(renderer, data, inline):
            if data.mime_type != mime_type:
                return None
            html = render(data.content, renderer)
            return None if html is None else [nodes.raw("", html, format="html")]

    load_mime_renders().append(Plugin)
