"""Every widget, moved by keyboard, shows what attention_utils computes now.

The notebook runs again in this process.  Its fresh widgets say what each position must show; the
page, built from the state that is stored in the notebook, must show the same.
"""

import html
import re

import ipywidgets
import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from ipywidgets.widgets.widget_link import DirectionalLink, Link

from attention_utils import softmax
from tests.site import ROOT

CONTROLS = ".au-control input[type=range], .au-control select, fieldset.au-radio"
SLIDERS = (ipywidgets.SelectionSlider, ipywidgets.IntSlider)
KINDS = (*SLIDERS, ipywidgets.Dropdown, ipywidgets.RadioButtons)


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
    if isinstance(control, ipywidgets.RadioButtons):  # Tab stops at the chosen one; arrows go round
        chosen = element.locator("input:checked")
        chosen.focus()
        steps = (position - int(chosen.get_attribute("value"))) % len(control.options)
    else:
        element.focus()
        tab.page.keyboard.press("Home")
        steps = position - (0 if hasattr(control, "options") else int(control.min))
    for _ in range(steps):
        tab.page.keyboard.press("ArrowRight" if isinstance(control, SLIDERS) else "ArrowDown")


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
        controls = [w for w in descendants(widget) if isinstance(w, KINDS)]
        elements = here.locator(CONTROLS).all()
        assert len(controls) == len(elements) > 0
        for control, element in zip(controls, elements, strict=True):
            for position in positions(control):
                press(tab, element, control, position)
                choose(control, position, links)
                assert here.evaluate(VISIBLE) == texts(widget)
                assert here.locator(".au-said").text_content().strip()
    assert tab.complaints == []


def test_radio_buttons_divide_the_scores(address, open_tab):
    """Chapter 4, at d_k = 256: scores 16 times as large, and in both frames weights that fit."""
    tab = open_tab()
    tab.page.goto(address("chapters/04_variance_and_scale.html"))
    tab.page.get_by_role("slider", name="d_k").press("End")
    radios = tab.page.get_by_role("group", name="divide by √d_k")
    read = []
    for answer, key in (("yes", None), ("no", "ArrowDown"), ("yes", "ArrowUp")):
        if key:
            radios.locator("input:checked").press(key)
        assert radios.get_by_label(answer).is_checked()
        frame = tab.page.locator(".au-bars:not([inert] *)")
        said = tab.page.locator(".au-widget .au-said").text_content()
        assert said == frame.locator("caption").text_content()
        rows = [row.split() for row in frame.locator("tbody tr").all_inner_texts()]
        score, weight = np.array(rows).astype(float).T[1:]
        read.append(score)
        np.testing.assert_allclose(weight, softmax(score), atol=0.01)
    np.testing.assert_allclose(read[1], 16 * read[0], atol=16 * 0.005 + 0.005)
    np.testing.assert_array_equal(read[2], read[0])


def test_frames_share_one_place(address, open_tab):
    """Nothing below a widget moves when its frame changes."""
    tab = open_tab()
    tab.page.goto(address("chapters/03_reading_by_row.html"))
    widget = tab.page.locator(".au-widget").first
    before = widget.bounding_box()["height"]
    widget.locator("input[type=range]").focus()
    tab.page.keyboard.press("End")
    assert widget.bounding_box()["height"] == before
