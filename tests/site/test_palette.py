"""Colours are legible in both themes, by arithmetic."""

import itertools

import numpy as np
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


# How the three kinds of colour-blindness mix linear red, green and blue (Machado et al., 2009).
BLINDNESS = {
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def seen_by(kind, colour):
    """CIELAB coordinates of a colour as such an eye sees it."""
    srgb = np.array(palette.channels(colour)) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(BLINDNESS[kind]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ linear / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_neighbouring_series_differ_for_the_colour_blind(theme, kind):
    """The first three, which a figure uses together; markers and labels tell all of them apart."""
    colours = [seen_by(kind, theme[f"au-{i}"]) for i in (1, 2, 3)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(colours, 2)) > 15


def test_stylesheet_has_both_themes():
    css = palette.css()
    assert css.count("--au-1:") == 3
    assert "prefers-color-scheme: dark" in css
