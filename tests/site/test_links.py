"""Every internal link leads somewhere, and no page asks another host for anything."""

from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from tests.site import SITE
from tests.site.conftest import pages

ORIGIN = "http://site.example/"


class Anatomy(HTMLParser):
    """The ids of a page, the links on it, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.repeated = set(), [], [], []
        self.feed((SITE / path).read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if name := attributes.get("id"):
            self.repeated += [name] if name in self.ids else []
            self.ids.add(name)
        if tag in ("a", "form"):
            self.links.append(attributes.get("href") or attributes.get("action"))
        elif tag in ("script", "img", "link", "source", "iframe", "use", "image"):
            known = ("src", "href", "xlink:href")
            self.loads += [attributes[a] for a in known if attributes.get(a)]


ALL = {page: Anatomy(page) for page in pages()}


def test_internal_links_and_anchors_resolve():
    broken = []
    for page, anatomy in ALL.items():
        for link in filter(None, anatomy.links):
            target = urlsplit(urljoin(ORIGIN + page, link))
            if f"{target.scheme}://{target.netloc}/" != ORIGIN:
                continue
            path, anchor = unquote(target.path[1:]), unquote(target.fragment)
            if not (SITE / path).is_file() or (anchor and anchor not in ALL[path].ids):
                broken.append(f"{page}: {link}")
    assert broken == []


def test_ids_are_unique():
    assert {page: a.repeated for page, a in ALL.items() if a.repeated} == {}


def test_nothing_is_loaded_from_elsewhere():
    for page, anatomy in ALL.items():
        hosts = [link for link in anatomy.loads if urlsplit(link).netloc]
        assert hosts == [], page
    for path in [*SITE.rglob("*.css"), *SITE.rglob("*.js")]:
        assert "url(http" not in path.read_text(), path
        assert "import(" not in path.read_text(), path


def test_no_widget_manager_and_no_state():
    for page in ALL:
        text = (SITE / page).read_text()
        assert "widget-state+json" not in text
        assert "widget-view+json" not in text
        assert "require.js" not in text
