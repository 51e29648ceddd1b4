"""Figures: the same bytes for the same figure, colours that follow the page, a sentence for alt."""

import base64

import numpy as np
import pytest

from attention_utils import AttentionMap
from attention_utils.figures import draw_map, show_figure, subplots, svg
from tests.helpers import refuses

ALT = "Query a reads key x with weight 0.9 & key y with the rest."


def figure():
    drawn, axes = subplots()
    draw_map(AttentionMap([[0.9, 0.1], [0.3, 0.7]], ["a", "b"], ["x", "$y$"]), axes)
    return drawn


def test_svg_is_the_same_text_every_time():
    assert svg(figure(), ALT) == svg(figure(), ALT)


def test_svg_follows_the_colours_of_the_page_and_has_real_text():
    text = svg(figure(), ALT)
    assert text.startswith("<svg ")
    assert "var(--au-ink, #1f2328)" in text
    assert "var(--au-map, #2f7fd6)" in text
    for word in ("key (is read)", "query (reads)", "$y$", "0.90"):
        assert word in text
    assert "<style" not in text, "it would rule the whole page"


def test_svg_carries_the_alt_text():
    assert 'role="img"' in svg(figure(), ALT)
    assert f'aria-label="{ALT.replace("&", "&amp;")}"' in svg(figure(), ALT)


@pytest.mark.parametrize(
    "alt", ["", "A map 0.9", "A sentence that is long enough but has no number in it."]
)
def test_alt_must_be_a_sentence_with_a_number(alt):
    with refuses("alt"):
        show_figure(figure(), alt)


def test_show_figure_stores_svg_png_and_the_sentence(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append((data, raw)))
    show_figure(figure(), ALT)
    ((data, raw),) = shown
    assert raw
    assert data["image/svg+xml"] == svg(figure(), ALT)
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert data["text/plain"] == ALT


def test_weights_are_drawn_as_strongly_as_they_are():
    _, axes = subplots()
    weights = np.array([[0.9, 0.1, 0], [0.25, 0.5, 0.25]])
    draw_map(AttentionMap(weights, ["a", "b"], ["x", "y", "z"]), axes)
    strengths = np.reshape([patch.get_alpha() for patch in axes.patches], (2, 3))
    np.testing.assert_allclose(strengths / strengths[0, 0], weights / weights[0, 0])
