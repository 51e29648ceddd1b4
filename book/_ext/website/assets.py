"""One stylesheet, one script, the fonts that the pages use, and nothing else in ``_static``.

The sources are small files in ``book/_static``; they are joined in the order of their names.  Fonts
are cut down to the characters that occur, which takes them from 600 kB to a few dozen.
"""

from __future__ import annotations

import hashlib
import html
import re
import shutil
from functools import lru_cache
from pathlib import Path

from fontTools import subset

from . import node, palette

SOURCES = node.BOOK / "_static"
KATEX = node.PACKAGES / "katex" / "dist"
SERIF = node.PACKAGES / "@fontsource-variable" / "source-serif-4" / "files"
TEXT_FONTS = {
    "serif": SERIF / "source-serif-4-latin-wght-normal.woff2",
    "serif-italic": SERIF / "source-serif-4-latin-wght-italic.woff2",
}
TAG = re.compile(r"<[^>]*>")
FORMULA = re.compile(
    r'<span class="katex-html".*?(?=<span class="katex"|</p>|</div>|</li>|</td>|$)', re.S
)
WOFF2_ONLY = re.compile(r',url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)')


@lru_cache(1)
def stylesheet() -> str:
    node.install()
    katex = WOFF2_ONLY.sub("", (KATEX / "katex.min.css").read_text())
    ours = "".join(path.read_text() for path in sorted((SOURCES / "css").glob("*.css")))
    return palette.css() + katex + ours


@lru_cache(1)
def script() -> str:
    parts = (path.read_text() for path in sorted((SOURCES / "js").glob("[0-9]*.js")))
    return "".join(
        f"{{\n{part}}}\n" for part in parts
    )  # a block each: no names leak from part to part


@lru_cache(1)
def version() -> str:
    """Changes when the stylesheet or the script does, so that caches let go of the old ones."""
    return hashlib.sha256((stylesheet() + script()).encode()).hexdigest()[:8]


def characters(pages: list[str]) -> tuple[str, str]:
    """The characters that occur in texts and in formulas."""
    text: set[str] = set()
    formulas: set[str] = set()
    for page in pages:
        text.update(html.unescape(TAG.sub("", page)))
        for formula in FORMULA.findall(page):
            formulas.update(html.unescape(TAG.sub("", formula)))
    return "".join(sorted(text)), "".join(sorted(formulas))


def cut(source: Path, target: Path, characters: str, features: list[str]) -> None:
    options = subset.Options(
        flavor="woff2", layout_features=features, hinting=False, ignore_missing_unicodes=True
    )
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=characters)
    subsetter.subset(font)
    subset.save_font(font, str(target), options)


def write_fonts(folder: Path, pages: list[str]) -> None:
    text, formulas = characters(pages)
    key = hashlib.sha256(f"{text}\n{formulas}\n{version()}".encode()).hexdigest()
    stamp = folder / ".characters"
    if stamp.exists() and stamp.read_text() == key:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in TEXT_FONTS.items():
        cut(source, folder / f"{name}.woff2", text, ["kern", "liga", "tnum"])
    for source in (KATEX / "fonts").glob("*.woff2"):
        cut(source, folder / source.name, formulas, [])
    stamp.write_text(key)


def finish(app, failed):
    if failed or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    keep = {"fonts", "cards", "search-index.js"}
    for path in static.iterdir():
        if path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (static / "site.css").write_text(stylesheet())
    (static / "site.js").write_text(script())
    shutil.copy(SOURCES / "favicon.svg", static)
    write_fonts(static / "fonts", [path.read_text() for path in sorted(out.rglob("*.html"))])


def setup(app):
    app.connect("build-finished", finish, priority=900)
