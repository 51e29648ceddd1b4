"""What a reader does with a page, step by step."""

import json

import pytest
from playwright.sync_api import expect

CHAPTER = "chapters/03_reading_by_row.html"


@pytest.mark.parametrize("scheme", ["http", "file"])
@pytest.mark.parametrize("word", ["row", "softmax", "多头"])
def test_search_finds(word, scheme, address, open_tab):
    tab = open_tab()
    tab.page.goto(address(CHAPTER, scheme))
    tab.page.locator(".find input").fill(word)
    tab.page.keyboard.press("Enter")
    hits = tab.page.locator("#search-results li")
    hits.first.wait_for()
    assert word in hits.first.inner_text().lower()
    hits.first.locator("a").click()
    tab.page.wait_for_url(lambda url: "search.html" not in url)
    assert word in tab.page.locator("article").inner_text().lower()
    assert tab.complaints == []


def test_search_says_when_nothing_is_found(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("search.html") + "?q=<b>xyzzy")
    assert "Nothing found for “<b>xyzzy”" in tab.page.locator("#search-results").inner_text()


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "noscript"])
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_the_drawer_opens_at_phone_width(scheme, javascript, address, open_tab):
    tab = open_tab(width=375, height=700, javascript=javascript)
    tab.page.goto(address(CHAPTER, scheme))
    link = tab.page.locator("#contents a", has_text="Notation")
    assert not link.is_visible()
    tab.page.locator("button.menu").click()
    assert link.is_visible()
    tab.page.keyboard.press("Escape")
    assert not link.is_visible()
    tab.page.locator("button.menu").focus()
    tab.page.keyboard.press("Enter")
    link.click()
    tab.page.wait_for_url("**/notation.html")


def test_colours_are_chosen_and_remembered(address, open_tab):
    tab = open_tab(theme="light")
    tab.page.goto(address(CHAPTER))
    button = tab.page.locator("button.theme")
    seen = [tab.page.evaluate("getComputedStyle(document.body).backgroundColor")]
    for _ in range(2):
        button.click()
        seen.append(tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert seen[0] == seen[1] != seen[2]  # as the system (light), light, dark
    tab.page.reload()
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == seen[2]


def test_a_choice_is_judged_and_survives_a_reload(address, open_tab):
    tab = open_tab()
    tab.page.goto(address(CHAPTER))
    question = tab.page.locator("div.predict").first
    wrong = question.locator("details:not([data-right])").first
    wrong.locator("summary").click()
    expect(question.locator(".predict-verdict")).to_contain_text("another answer")
    tab.page.reload()
    assert "chosen" in wrong.get_attribute("class")
    question.get_by_role("button", name="Forget my answer").click()
    question.locator("details[data-right] > summary").press("Enter")
    expect(question.locator(".predict-verdict")).to_contain_text("right answer")
    assert tab.complaints == []


def test_without_a_script_the_answers_open(address, open_tab):
    tab = open_tab(javascript=False)
    tab.page.goto(address(CHAPTER))
    answer = tab.page.locator("div.predict details").first
    answer.locator("summary").click()
    assert answer.locator("p").first.is_visible()


def test_pointing_at_a_row_reads_it(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("chapters/02_query_key_value.html"))
    reading = tab.page.locator(".au-reading").first
    rows = reading.locator("xpath=..").locator("tbody tr")
    rows.nth(1).hover()
    name = rows.nth(1).locator("th").inner_text()
    assert reading.inner_text().startswith(f"{name} reads mostly")
    rows.first.locator("th").focus()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("ArrowDown")
    assert reading.inner_text().startswith(rows.nth(2).locator("th").inner_text())


def test_a_chapter_is_marked_and_forgotten(address, open_tab):
    tab = open_tab()
    tab.page.goto(address(CHAPTER))
    tab.page.get_by_role("button", name="I have read this chapter").click()
    assert tab.page.locator("#contents .done").count() == 1
    tab.page.goto(address("book/index.html"))
    assert "3." in tab.page.locator("#contents .done").inner_text()
    tab.page.get_by_role("button", name="Clear my progress").click()
    tab.page.wait_for_load_state()
    assert tab.page.locator("#contents .done").count() == 0


def test_hints_and_solutions_open_by_keyboard(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("book/prerequisites.html"))
    fold = tab.page.locator("article details").first
    fold.locator("summary").focus()
    tab.page.keyboard.press("Enter")
    assert fold.locator("p").first.is_visible()


def test_the_download_is_the_executed_notebook(address, open_tab, browser):
    tab = open_tab()
    tab.page.goto(address(CHAPTER))
    with tab.page.expect_download() as download:
        tab.page.locator(".aside .download", has_text="Download").click()
    notebook = json.loads(download.value.path().read_text())
    counts = [c["execution_count"] for c in notebook["cells"] if c["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_paper_shows_the_text_and_opens_what_is_folded(address, open_tab):
    tab = open_tab()
    tab.page.goto(address("book/prerequisites.html"))
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert not tab.page.locator(".top").is_visible()
    assert tab.page.locator("h1").is_visible()
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.page.locator("article details p").first.is_visible()
    ground = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
