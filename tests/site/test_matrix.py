"""Five pages however they are opened.

Both themes, three widths, from a server and from disk, with and without JavaScript.
"""

import pytest
from website import palette

PAGES = (
    "book/index.html",
    "book/prerequisites.html",
    "chapters/02_query_key_value.html",
    "chapters/03_reading_by_row.html",
    "book/api.html",
)
WIDTHS = (320, 768, 1280)
GROUND = {
    name: f"rgb{palette.channels(theme['page'])}"
    for name, theme in (("light", palette.LIGHT), ("dark", palette.DARK))
}


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "noscript"])
@pytest.mark.parametrize("scheme", ["http", "file"])
@pytest.mark.parametrize("page", PAGES)
def test_everything_is_there(page, scheme, javascript, address, open_tab):
    for theme, ground in GROUND.items():
        tab = open_tab(theme=theme, javascript=javascript)
        tab.page.goto(address(page, scheme))
        body = tab.page.locator("body").element_handle()
        assert body.evaluate("e => getComputedStyle(e).backgroundColor") == ground
        for width in WIDTHS:
            tab.page.set_viewport_size({"width": width, "height": 900})
            assert tab.overflow() <= 0, f"wider than {width} px"
            check_content(tab.page)
        assert tab.complaints == []


def check_content(page):
    """Text, formulas, figures and the default state of every widget."""
    assert page.locator("h1").is_visible()
    assert page.locator("article").inner_text().strip()
    closed = "details:not([open]) > :not(summary)"
    in_sight = page.locator(f"article .katex:not({closed} *)").all()
    for formula in in_sight[:5]:
        assert formula.bounding_box()["height"] > 5
    for figure in page.locator(".drawing svg").all():
        assert figure.bounding_box()["height"] > 40
    for stack in page.locator(".au-stack").all():
        frames = [f for f in stack.locator(":scope > div").all() if f.is_visible()]
        assert len(frames) == 1
        assert frames[0].inner_text().strip()


def test_the_chosen_pages_hold_what_is_to_be_tested(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("chapters/03_reading_by_row.html"))
    assert tab.page.locator(".katex").count() > 3
    assert tab.page.locator(".drawing svg").count() > 0
    assert tab.page.locator(".au-widget").count() > 0


def test_formulas_have_their_fonts_from_disk(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("chapters/03_reading_by_row.html", "file"))
    loaded = tab.page.evaluate(
        "async () => { await document.fonts.ready;"
        " return [...document.fonts].filter(f => f.status === 'loaded').map(f => f.family) }"
    )
    assert {"KaTeX_Main", "KaTeX_Math"} <= {family.strip('"') for family in loaded}
