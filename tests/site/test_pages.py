"""Every page once: nothing from elsewhere, no complaint, no barrier, no overflow, no excess."""

import gzip
from urllib.parse import urlsplit

import pytest
from website import node

from tests.site import ROOT

AXE = node.install(ROOT / "tests" / "site") / "axe-core" / "axe.min.js"
BARRIERS = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.map(v => `${v.id}: ${v.nodes.map(n => n.target + ' ' + n.failureSummary)}`);
}"""


def test_page(every_page, address, open_tab, server):
    tab = open_tab()
    tab.page.goto(address(every_page))
    assert tab.page.locator("h1").count() == 1
    tab.page.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert tab.page.evaluate(BARRIERS) == [], theme
    for width in (320, 768, 1280):
        tab.page.set_viewport_size({"width": width, "height": 900})
        assert tab.overflow() <= 0, f"wider than {width} px"
    assert tab.complaints == []
    assert {r.url for r in tab.responses if not r.url.startswith(server)} == set()


def weight(responses) -> dict[str, int]:
    """Gzipped bytes by kind of file; fonts are compressed already."""
    sums: dict[str, int] = {}
    for response in responses:
        kind = urlsplit(response.url).path.rsplit(".", 1)[-1]
        body = response.body()
        size = len(body) if kind in ("woff2", "png") else len(gzip.compress(body, 9))
        sums[kind] = sums.get(kind, 0) + size
    return sums


def test_weight(every_page, address, open_tab):
    """The first load of a page without images: at most 160 kB, 45 kB of it JavaScript.

    The page that searches also loads what it searches in.
    """
    tab = open_tab()
    tab.page.goto(address(every_page), wait_until="networkidle")
    responses = [r for r in tab.responses if not r.url.endswith("search-index.js")]
    kinds = weight(responses)
    kinds.pop("png", None)
    assert kinds["js"] <= 45_000
    assert sum(kinds.values()) <= 160_000


LEGIBLE = """() => {
    const rgb = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    const ground = rgb(getComputedStyle(document.body).backgroundColor);
    const bad = [];
    for (const svg of document.querySelectorAll('.drawing svg')) {
        if (svg.getAttribute('role') !== 'img') bad.push('no role');
        if (!svg.getAttribute('aria-label')) bad.push('no label');
        for (const text of svg.querySelectorAll('text')) {
            const ratio = contrast(rgb(getComputedStyle(text).fill), ground);
            if (ratio < 4.5) bad.push(`${text.textContent}: ${ratio}`);
        }
        for (const line of svg.querySelectorAll('path, use')) {
            const { stroke, strokeOpacity, opacity } = getComputedStyle(line);
            if (stroke === 'none' || strokeOpacity < 1 || opacity < 1) continue;
            const ratio = contrast(rgb(stroke), ground);
            if (ratio < 3) bad.push(`${stroke}: ${ratio}`);
        }
    }
    return bad;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_are_legible(every_page, theme, address, open_tab):
    tab = open_tab(theme=theme)
    tab.page.goto(address(every_page))
    assert tab.page.evaluate(LEGIBLE) == []
