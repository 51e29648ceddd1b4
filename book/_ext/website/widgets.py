"""Saved ipywidgets state becomes native HTML: no widget manager, no kernel, no eval.

A widget of the notes is a set of frames in a ``Stack`` and a control whose value or index is linked
to it with ``jslink`` or ``jsdlink``.  Here each control becomes the HTML element that it imitates
and each Stack a grid whose frames share one cell, so that nothing moves when they change.  The
saved state is what a reader sees without JavaScript and in print; ``widgets.js`` follows the links.
A model that is not listed here fails the build: a widget may not die silently.
"""

from __future__ import annotations

import json
import re
from html import escape

from sphinx.errors import SphinxError

from . import maths, outputs

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
FORMULA = re.compile(r"(?<!\\)(\$\$?)(.+?)(?<!\\)\1", re.S)


class WidgetError(SphinxError):
    category = "Static widget"


def bare(reference: str) -> str:
    return reference.removeprefix("IPY_MODEL_")


class Page:
    """The widgets of one notebook, and the ids they get on its page (in order of appearance, so
    builds repeat).
    """

    def __init__(self, state: dict, prefix: str = "w"):
        self.state = state
        self.prefix = prefix
        self.ids: dict[str, str] = {}

    def id(self, model: str) -> str:
        return self.ids.setdefault(model, f"{self.prefix}{len(self.ids) + 1}")

    def root(self, model: str) -> str:
        """One displayed widget with its links."""
        body = self.render(model)
        links = escape(json.dumps(self.links(model), separators=(",", ":")))
        return (
            f'<div class="au-widget scroll" data-links="{links}">{body}'
            '<p class="au-said" role="status" aria-live="polite"></p></div>'
        )

    def render(self, reference: str) -> str:
        model = bare(reference)
        if model not in self.state:
            raise WidgetError(
                f"no saved state for widget {model}: run the notebook with its widget state stored"
            )
        name = self.state[model]["model_name"].removesuffix("Model")
        if name not in FORMS:
            raise WidgetError(f"{name} has no static form; use one of {', '.join(sorted(FORMS))}")
        return FORMS[name](self, self.id(model), self.state[model]["state"])

    def children(self, state: dict) -> list[str]:
        return [self.render(child) for child in state["children"]]

    def links(self, model: str) -> list[list]:
        """[source id, attribute, target id, attribute, both ways?] for every link inside this
        widget.
        """
        inside = self.descendants(bare(model))
        found = []
        for other in self.state.values():
            if other["model_name"] in ("LinkModel", "DirectionalLinkModel"):
                (source, attribute), (target, target_attribute) = (
                    other["state"]["source"],
                    other["state"]["target"],
                )
                if bare(source) in inside and bare(target) in inside:
                    both = int(other["model_name"] == "LinkModel")
                    found.append(
                        [
                            self.id(bare(source)),
                            attribute,
                            self.id(bare(target)),
                            target_attribute,
                            both,
                        ]
                    )
        return sorted(found)

    def descendants(self, model: str) -> set[str]:
        found = {model}
        for child in self.state[model]["state"].get("children", ()):
            found |= self.descendants(bare(child))
        return found


def row(page, key, state):
    return f'<div class="au-row">{"".join(page.children(state))}</div>'


def column(page, key, state):
    return f'<div class="au-column">{"".join(page.children(state))}</div>'


def stack(page, key, state):
    """All frames in one grid cell; the stylesheet hides those that are ``inert`` without giving up
    their room.
    """
    chosen = state["selected_index"]
    frames = (
        f"<div{'' if number == chosen else ' inert'}>{frame}</div>"
        for number, frame in enumerate(page.children(state))
    )
    return f'<div id="{key}" class="au-stack">{"".join(frames)}</div>'


def html(page, key, state):
    return f'<div id="{key}" class="au-html">{state["value"]}</div>'


def html_math(page, key, state):
    value = FORMULA.sub(lambda m: maths.render(m[2].strip(), display=m[1] == "$$"), state["value"])
    return html(page, key, {"value": value})


def label(page, key, state):
    return f'<span id="{key}" class="au-label">{escape(state["value"])}</span>'


def slider(page, key, state):
    return _range(
        key, state, state["min"], state["max"], state["step"], state["value"], f"{state['value']:g}"
    )


def selection_slider(page, key, state):
    options, index = state["_options_labels"], state["index"]
    data = f' data-options="{escape(json.dumps(options, ensure_ascii=False))}"'
    return _range(key, state, 0, len(options) - 1, 1, index, options[index], data)


def _range(key, state, low, high, step, value, text, data=""):
    return (
        f'<div class="au-control"><label for="{key}">{escape(_name(state))}</label>'
        f'<input type="range" id="{key}" min="{low}" max="{high}" step="{step or "any"}"'
        f' value="{value}"{data} aria-valuetext="{escape(text)}" autocomplete="off">'
        f'<output for="{key}">{escape(text)}</output></div>'
    )


def dropdown(page, key, state):
    options = "".join(
        f"<option{' selected' if number == state['index'] else ''}>{escape(text)}</option>"
        for number, text in enumerate(state["_options_labels"])
    )
    return (
        f'<div class="au-control"><label for="{key}">{escape(_name(state))}</label>'
        f'<select id="{key}" autocomplete="off">{options}</select></div>'
    )


def radio(page, key, state):
    options = "".join(
        f'<label><input type="radio" name="{key}" value="{number}" autocomplete="off"'
        f"{' checked' if number == state['index'] else ''}><span>{escape(text)}</span></label>"
        for number, text in enumerate(state["_options_labels"])
    )
    return (
        f'<fieldset id="{key}" class="au-control au-radio">'
        f"<legend>{escape(_name(state))}</legend>{options}</fieldset>"
    )


def checkbox(page, key, state):
    checked = " checked" if state["value"] else ""
    return (
        f'<div class="au-control"><input type="checkbox" id="{key}"{checked} autocomplete="off">'
        f'<label for="{key}">{escape(_name(state))}</label></div>'
    )


def _name(state: dict) -> str:
    name = state.get("description") or state.get("tooltip")
    if not name:
        raise WidgetError("a control needs a description: it is its only name for a screen reader")
    return name


FORMS = {
    "Box": row,
    "HBox": row,
    "VBox": column,
    "Stack": stack,
    "HTML": html,
    "HTMLMath": html_math,
    "Label": label,
    "IntSlider": slider,
    "FloatSlider": slider,
    "SelectionSlider": selection_slider,
    "Dropdown": dropdown,
    "ToggleButtons": radio,
    "RadioButtons": radio,
    "Checkbox": checkbox,
}


def present(content, renderer) -> str:
    """HTML for a widget-view output.  One `Page` serves a whole notebook, kept on the client that
    renders it.
    """
    client = renderer.renderer.nb_client
    page = getattr(client, "static_widgets", None)
    if page is None:
        state = client.nb_metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        # The single-page build puts all chapters on one page: their names keep the ids apart.
        chapter = re.sub(r"\W", "-", client.path.stem) if client.path else "w"
        page = client.static_widgets = Page(state, f"w-{chapter}-")
    return page.root(content["model_id"])


def drop_state(app, pagename, templatename, context, doctree):
    """The state has been rendered: MyST-NB's copy and the widget manager stay off the page."""
    context["script_files"] = []


def setup(app):
    outputs.register(VIEW, present)
    app.connect("html-page-context", drop_state, priority=900)
