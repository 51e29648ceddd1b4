"""Colours are legible in both themes, by arithmetic."""

import pytest
from website import palette

from attention_utils import figures, maps

THEMES = {"light": palette.LIGHT, "dark": palette.DARK}
TEXT = ("ink", "muted", "link", "visited", "good", "bad", "au-ink", "au-muted")
CODE = ("code-keyword", "code-string", "code-number", "code-comment", "code-name")
LINES = ("edge", "au-grid", *(f"au-{i}" for i in range(1, 7)))


@pytest.fixture(params=THEMES)
def theme(request):
    return THEMES[request.param]


def test_contrast_of_known_pairs():
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_both_themes_have_the_same_names():
    assert palette.LIGHT.keys() == palette.DARK.keys()


@pytest.mark.parametrize("ground", ["page", "panel"])
@pytest.mark.parametrize("name", TEXT)
def test_text_is_legible(theme, name, ground):
    assert palette.contrast(theme[name], theme[ground]) >= 4.5


@pytest.mark.parametrize("name", CODE)
def test_code_is_legible(theme, name):
    assert palette.contrast(theme[name], theme["panel"]) >= 4.5


@pytest.mark.parametrize("name", LINES)
def test_lines_are_visible(theme, name):
    assert palette.contrast(theme[name], theme["page"]) >= 3


def test_marked_text_is_legible(theme):
    assert palette.contrast(theme["ink"], theme["mark"]) >= 4.5


@pytest.mark.parametrize("weight", [0, 0.25, 0.5, 0.75, 1])
def test_numbers_in_a_map_are_legible_at_every_weight(theme, weight):
    ground = palette.mix(theme["au-map"], theme["page"], palette.STRONGEST * weight)
    assert palette.contrast(theme["ink"], ground) >= 4.5


def test_maps_and_stylesheet_agree_on_the_strongest_colour():
    assert maps.STRONGEST == palette.STRONGEST


def test_every_variable_of_the_figures_exists():
    assert {f"au-{name}" for name in figures._VARIABLES.values()} <= palette.LIGHT.keys()


def test_stylesheet_has_both_themes():
    css = palette.css()
    assert css.count("--au-1:") == 3
    assert "prefers-color-scheme: dark" in css
