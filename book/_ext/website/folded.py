"""Cells that are folded away, as plain ``<details>`` with one name that says what is inside.

MyST-NB's own form has two texts and an ``aria-label`` that contradicts both.
"""

from __future__ import annotations

from myst_nb.sphinx_ import HideCodeCellNode

NAMES = {
    "source": "Show the code",
    "content": "Show the code and what it prints",
    "outputs": "Show what it prints",
}


def open_fold(self, node):
    name = NAMES[node["prompt_show"]]
    self.body.append(f'<details class="folded"><summary>{name}</summary>')


def close_fold(self, node):
    self.body.append("</details>\n")


def setup(app):
    app.add_node(HideCodeCellNode, override=True, html=(open_fold, close_fold))
