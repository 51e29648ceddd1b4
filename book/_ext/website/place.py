"""Where the site will stand, told at build time by environment variables, none of them needed.

``SITE_URL``            address of the published site: absolute links for cards and the 404 page
``SITE_REPOSITORY``     address of the repository on GitHub: "open in" links appear
``SITE_BRANCH``         the branch that holds the published site (default ``gh-pages``)
``SITE_JUPYTERHUB``     address of a JupyterHub with nbgitpuller: one more "open in" link

A notebook opened elsewhere needs the package.  So "open in" leads to the published copy of a
notebook, and with a repository configured that copy begins with a cell that installs
`attention_utils` from it.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, urlencode

import nbformat

INSTALL = "%pip install -q git+{repository}"
REQUIREMENTS = "ipywidgets\njupyterlab\nmatplotlib\nattention-utils @ git+{repository}\n"


def setting(name: str) -> str:
    return os.environ.get(f"SITE_{name}", "").rstrip("/")


def open_in(notebook: str) -> list[tuple[str, str]]:
    """The services that can run a notebook such as ``chapters/x.ipynb``: (name, link) pairs."""
    repository = setting("REPOSITORY")
    if not repository:
        return []
    owner_name = repository.removeprefix("https://github.com/")
    branch = setting("BRANCH") or "gh-pages"
    path = quote(f"_sources/{notebook}")
    links = [
        ("Colab", f"https://colab.research.google.com/github/{owner_name}/blob/{branch}/{path}"),
        ("Binder", f"https://mybinder.org/v2/gh/{owner_name}/{branch}?labpath={path}"),
    ]
    if hub := setting("JUPYTERHUB"):
        folder = owner_name.rsplit("/", 1)[-1]
        query = {"repo": repository, "branch": branch, "urlpath": f"lab/tree/{folder}/{path}"}
        links.append(("JupyterHub", f"{hub}/hub/user-redirect/git-pull?{urlencode(query)}"))
    return links


def add_install_cell(path: Path, repository: str) -> None:
    notebook = nbformat.read(path, as_version=4)
    source = INSTALL.format(repository=repository)
    if notebook.cells[0].source != source:
        cell = nbformat.v4.new_code_cell(source, id="install")
        notebook.cells.insert(0, cell)
        nbformat.write(notebook, path)


def prepare_published_notebooks(app, failed):
    repository = setting("REPOSITORY")
    if failed or app.builder.name != "html" or not repository:
        return
    out = Path(app.outdir)
    for path in (out / "_sources").rglob("*.ipynb"):
        add_install_cell(path, repository)
    (out / "requirements.txt").write_text(REQUIREMENTS.format(repository=repository))  # for Binder


def set_base(app, config):
    if setting("URL"):
        config.html_baseurl = f"{setting('URL')}/"


def setup(app):
    app.connect("config-inited", set_base)
    app.connect("build-finished", prepare_published_notebooks)
