"""Every widget, moved by keyboard, shows what attention_utils computes now.

The notebook runs again in this process.  Its fresh widgets say what each position must show; the
page, built from the state that is stored in the notebook, must show the same.
"""

import html
import re

import ipywidgets
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from ipywidgets.widgets.widget_link import DirectionalLink, Link

from tests.site import ROOT

CONTROLS = ".au-control input[type=range], .au-control select"


def notebooks_with_widgets():
    for path in sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("book/*.ipynb")]):
        if "widgets" in nbformat.read(path, as_version=4).metadata:
            yield path.relative_to(ROOT)


def run(path, monkeypatch):
    """The widgets that a notebook displays, and the links it makes."""
    shown, links = [], []
    create = Link.__init__
    monkeypatch.setattr(
        Link,
        "__init__",
        lambda self, *a, **k: (create(self, *a, **k), links.append(self))[0],
    )
    monkeypatch.setattr(
        ipywidgets.DOMWidget, "_repr_mimebundle_", lambda self, **k: shown.append(self) or {}
    )
    monkeypatch.chdir((ROOT / path).parent)
    shell = InteractiveShell()
    with capture_output():
        for cell in nbformat.read(ROOT / path, as_version=4).cells:
            if cell.cell_type == "code":
                shell.run_cell(cell.source).raise_error()
    return shown, links


def descendants(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from descendants(child)


def choose(control, position, links):
    """Set a fresh control and follow the links, as the browser does."""
    attribute = "index" if hasattr(control, "index") else "value"
    todo, seen = [(control, attribute, position)], set()
    while todo:
        widget, name, value = todo.pop()
        if (widget.model_id, name) in seen:
            continue
        seen.add((widget.model_id, name))
        setattr(widget, name, value)
        for link in links:
            ends = [(link.source, link.target)]
            if not isinstance(link, DirectionalLink):
                ends.append((link.target, link.source))
            todo += [(*to, value) for start, to in ends if start == (widget, name)]


def texts(widget):
    """What a reader sees in the visible frames: words and numbers, without spaces."""
    if isinstance(widget, ipywidgets.Stack):
        index = widget.selected_index
        return texts(widget.children[index]) if index is not None else []
    if isinstance(widget, ipywidgets.HTML | ipywidgets.Label):
        return [re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]*>", "", widget.value)))]
    return [text for child in getattr(widget, "children", ()) for text in texts(child)]


VISIBLE = """w => [...w.querySelectorAll('.au-html, .au-label')].filter(e => !e.closest('[inert]'))
    .map(e => e.textContent.replace(/\\s/g, ''))"""


def positions(control):
    last = len(control.options) - 1 if hasattr(control, "options") else int(control.max)
    first = 0 if hasattr(control, "options") else int(control.min)
    return [last, first, (first + last) // 2]


def press(tab, element, control, position):
    """By keyboard alone: to the start, then step by step."""
    element.focus()
    tab.page.keyboard.press("Home")
    first = 0 if hasattr(control, "options") else int(control.min)
    for _ in range(position - first):
        tab.page.keyboard.press(
            "ArrowDown" if element.evaluate("e => e.tagName") == "SELECT" else "ArrowRight"
        )


@pytest.mark.parametrize("scheme", ["http", "file"])
@pytest.mark.parametrize("path", list(notebooks_with_widgets()), ids=str)
def test_widgets(path, scheme, address, open_tab, monkeypatch):
    fresh, links = run(path, monkeypatch)
    tab = open_tab()
    tab.page.goto(address(path.with_suffix(".html").as_posix(), scheme))
    built = tab.page.locator(".au-widget").all()
    assert len(built) == len(fresh) > 0
    for here, widget in zip(built, fresh, strict=True):
        assert here.evaluate(VISIBLE) == texts(widget)
        kinds = (ipywidgets.SelectionSlider, ipywidgets.IntSlider, ipywidgets.Dropdown)
        controls = [w for w in descendants(widget) if isinstance(w, kinds)]
        elements = here.locator(CONTROLS).all()
        assert len(controls) == len(elements) > 0
        for control, element in zip(controls, elements, strict=True):
            for position in positions(control):
                press(tab, element, control, position)
                choose(control, position, links)
                assert here.evaluate(VISIBLE) == texts(widget)
                assert here.locator(".au-said").text_content().strip()
    assert tab.complaints == []


def test_frames_share_one_place(address, open_tab):
    """Nothing below a widget moves when its frame changes."""
    tab = open_tab()
    tab.page.goto(address("chapters/03_reading_by_row.html"))
    widget = tab.page.locator(".au-widget").first
    before = widget.bounding_box()["height"]
    widget.locator("input[type=range]").focus()
    tab.page.keyboard.press("End")
    assert widget.bounding_box()["height"] == before
