"""A server, a browser, and pages that report what went wrong on them."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Error, sync_playwright

from tests.site import SITE

MISSING = """No Chromium was found. One of these installs it:
    apt-get install chromium                   (Debian, Ubuntu)
    .venv/bin/playwright install chromium      (everywhere else)"""


class Handler(SimpleHTTPRequestHandler):
    """The site under a sub-path, as on a project page; quiet."""

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/notes"))

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def server():
    if not SITE.exists():
        pytest.exit("There is no site yet: make book", returncode=2)
    handler = partial(Handler, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/notes/"
        httpd.shutdown()


@pytest.fixture(scope="session")
def address(server):
    """The address of a page for a way of opening it."""
    starts = {"http": server, "file": f"{SITE.as_uri()}/"}
    return lambda page, scheme="http": starts[scheme] + page


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(
                executable_path=found, args=["--no-sandbox"] if root else []
            )
        except Error:
            pytest.exit(MISSING, returncode=2)
        yield chromium
        chromium.close()


class Tab:
    """A page with the complaints and requests it caused."""

    def __init__(self, context):
        self.page = context.new_page()
        self.page.set_default_timeout(30_000)  # a busy machine is no fault of the page
        self.complaints: list[str] = []
        self.responses = []
        self.page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.complaints.append(f"error: {e}"))
        self.page.on("requestfailed", self.failed)
        self.page.on("response", lambda r: self.responses.append(r))

    def failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # the reader went on to another page
            self.complaints.append(f"{request.failure}: {request.url}")

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.fixture
def open_tab(browser):
    contexts = []

    def make(width=1280, height=900, theme="light", javascript=True) -> Tab:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            java_script_enabled=javascript,
            reduced_motion="reduce",
        )
        contexts.append(context)
        return Tab(context)

    yield make
    for context in contexts:
        context.close()


def pages() -> list[str]:
    """Every page of the built site; the root is a redirect."""
    found = sorted(path.relative_to(SITE).as_posix() for path in Path(SITE).rglob("*.html"))
    return [page for page in found if page != "index.html"]


def pytest_generate_tests(metafunc):
    if "every_page" in metafunc.fixturenames:
        metafunc.parametrize("every_page", pages())
