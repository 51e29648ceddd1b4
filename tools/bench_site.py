"""The site beside the same chapters built with the stock settings of Jupyter Book.

Both are served from this machine with gzip.  What the stock pages load from CDNs comes from the
same npm packages, also from this machine, so the stock site is shown at its fastest.  Lighthouse
(mobile preset, median of several runs) measures both.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from website import node  # noqa: E402

BOOK = Path(sys.executable).with_name("jupyter-book")
HERE = ROOT / "tools" / "lighthouse"
RUNS = int(os.environ.get("RUNS", "5"))
PAGES = (
    "book/index.html",
    "chapters/01_why_attention.html",
    "chapters/02_query_key_value.html",
    "chapters/03_reading_by_row.html",
)
STOCK = {
    "title": "Attention by Hand",
    "only_build_toc_files": True,
    "execute": {"execute_notebooks": "off"},
    "parse": {"myst_enable_extensions": ["amsmath", "attrs_inline", "deflist", "dollarmath"]},
    "bibtex_bibfiles": ["book/references.bib"],
    "sphinx": {"config": {"myst_heading_anchors": 4}},
}
CDN = {
    r"https://cdn\.jsdelivr\.net/npm/mathjax@3/": "mathjax/",
    r"https://cdnjs\.cloudflare\.com/ajax/libs/require\.js/[\d.]+/": "requirejs/",
    r"https://cdn\.jsdelivr\.net/npm/@jupyter-widgets/html-manager@[^/]+/": (
        "@jupyter-widgets/html-manager/"
    ),
}


def build(source: Path, target: Path) -> float:
    """Seconds that a build takes."""
    start = time.perf_counter()
    command = [str(BOOK), "build", "-q", str(source), "--path-output", str(target)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def copy_sources(target: Path) -> None:
    for name in ("book", "chapters", "attention_utils", "_config.yml", "_toc.yml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, symlinks=True)
        else:
            shutil.copy(source, target)


def make_stock(target: Path) -> None:
    """The same pages without anything of ours: configuration, theme, extension."""
    copy_sources(target)
    for name in ("_ext", "_static", "_templates", "node_modules"):
        shutil.rmtree(target / "book" / name, ignore_errors=True)
    (target / "_config.yml").write_text(yaml.safe_dump(STOCK))
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    for part in toc["parts"]:  # the API page needs autodoc, which is not stock
        part["chapters"] = [page for page in part["chapters"] if page["file"] != "book/api"]
    (target / "_toc.yml").write_text(yaml.safe_dump(toc))


def bring_cdn_home(site: Path, packages: Path) -> None:
    """Let the stock pages find on this server what they would fetch from CDNs."""
    (site / "_cdn").symlink_to(packages)
    for page in site.rglob("*.html"):
        text = page.read_text()
        for address, folder in CDN.items():
            text = re.sub(address, f"/_cdn/{folder}", text)
        text = text.replace("/_cdn/requirejs/require.min.js", "/_cdn/requirejs/require.js")
        page.write_text(text)


class Gzip(SimpleHTTPRequestHandler):
    """Files with gzip and a day of caching, as a host of static pages serves them."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body, packed = self.body(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Cache-Control", "max-age=86400")
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    @lru_cache(None)
    def body(path: Path) -> tuple[bytes, bool]:
        text = path.suffix in (".html", ".css", ".js", ".json", ".svg", ".ipynb", ".md")
        return (gzip.compress(path.read_bytes()), True) if text else (path.read_bytes(), False)

    def log_message(self, *args):
        pass


def serve(folder: Path) -> str:
    handler = partial(Gzip, directory=str(folder))
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{httpd.server_port}/"


def lighthouse(address: str, packages: Path) -> dict[str, float]:
    """Medians over the runs."""
    env = {
        **os.environ,
        "CHROME_PATH": shutil.which("chromium") or os.environ.get("CHROME_PATH", ""),
    }
    command = [
        str(node.NODE), str(packages / "lighthouse" / "cli" / "index.js"), address,
        "--quiet", "--output=json", "--chrome-flags=--headless=new --no-sandbox",
    ]  # fmt: skip
    runs = []
    for _ in range(RUNS):
        report = json.loads(subprocess.check_output(command, env=env))
        audits, categories = report["audits"], report["categories"]
        requests = audits["network-requests"]["details"]["items"]
        runs.append(
            {
                "performance": 100 * (categories["performance"]["score"] or 0),
                "accessibility": 100 * categories["accessibility"]["score"],
                "best practices": 100 * categories["best-practices"]["score"],
                "SEO": 100 * categories["seo"]["score"],
                "LCP, s": audits["largest-contentful-paint"]["numericValue"] / 1000,
                "TBT, ms": audits["total-blocking-time"]["numericValue"],
                "CLS": audits["cumulative-layout-shift"]["numericValue"],
                "requests": len(requests),
                "transferred, kB": sum(item["transferSize"] for item in requests) / 1000,
                "JavaScript, kB": sum(
                    item["transferSize"]
                    for item in requests
                    if item.get("resourceType") == "Script"
                )
                / 1000,
                "benchmarkIndex": report["environment"]["benchmarkIndex"],
            }
        )
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def row(name: str, ours: float, stock: float) -> str:
    digits = {"CLS": 3, "LCP, s": 2, "cold build, s": 1, "after an edit, s": 1}.get(name, 0)
    ratio = f"{ours / stock:.2f}" if round(stock, 3) else "-"
    return f"  {name:22}{ours:10.{digits}f}{stock:10.{digits}f}{ratio:>8}"


def main() -> None:
    packages = node.install(HERE)
    with tempfile.TemporaryDirectory() as folder:
        ours, stock = Path(folder, "ours"), Path(folder, "stock")
        ours.mkdir()
        stock.mkdir()
        copy_sources(ours)
        make_stock(stock)
        times = []
        for source in (ours, stock):
            cold = build(source, source)
            (source / "chapters" / "03_reading_by_row.ipynb").touch()
            times.append({"cold build, s": cold, "after an edit, s": build(source, source)})
        bring_cdn_home(stock / "_build" / "html", packages)
        print(f"{'':24}{'ours':>10}{'stock':>10}{'ratio':>8}\nthe whole book")
        for name in times[0]:
            print(row(name, times[0][name], times[1][name]), flush=True)
        addresses = [serve(source / "_build" / "html") for source in (ours, stock)]
        for page in PAGES:
            a, b = (lighthouse(address + page, packages) for address in addresses)
            print(page)
            for name in a:
                print(row(name, a[name], b[name]), flush=True)


if __name__ == "__main__":
    main()
