"""What must hold for every notebook and page, as functions that return the problems they find.

test_checks.py feeds each of them something bad, test_book.py what the book has.
"""

import ast
import html
import json
import re
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import nbformat
import yaml
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from myst_parser.mdit_to_docutils.base import default_slugify
from nbformat.v4.rwbase import rejoin_lines

ROOT = Path(__file__).parents[2]
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
PICTURES = {"image/png", "image/jpeg", "image/svg+xml"}
LONGEST_CELL = 1800
MOST_FRAMES = 40
SHORTEST_ALT = 40

# These switch off a part of the checks for one cell.
WEAKENING_TAGS = re.compile(r"(nbval-\S+|raises-exception|skip-execution)$")
WEAKENING_COMMENTS = re.compile(r"#\s*((?:NBVAL|PYTEST_VALIDATE)_\w+)")

MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(front_matter_plugin)


def read(path):
    """Return a notebook as it is stored; nbformat's own reader would mend it."""
    return rejoin_lines(nbformat.from_dict(json.loads(path.read_text("utf-8"))))


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [(cell, output) for cell in code_cells(notebook) for output in cell.outputs]


def markdown(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def widget_models(notebook):
    return notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})


# Structure


def executed_in_order(notebook):
    """nbval compares nothing in a cell that was never run, and says nothing about it."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        return [f"execution counts {counts}: run `make notebooks`"]
    return []


def format_and_ids(notebook):
    problems = []
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        problems.append(f"nbformat {notebook.nbformat}.{notebook.nbformat_minor}, not 4.5")
    ids = [cell.get("id") for cell in notebook.cells]
    problems += [f"cell number {n} has no id" for n, name in enumerate(ids, 1) if not name]
    problems += [f"two cells have the id {name}" for name in set(ids) if ids.count(name) > 1]
    return problems


def no_errors(notebook):
    return [
        f"cell {cell.id}: stores {'an error' if kind == 'error' else 'text on stderr'}"
        for cell, output in outputs(notebook)
        if (kind := output.output_type) == "error" or output.get("name") == "stderr"
    ]


def short_cells(notebook):
    return [
        f"cell {cell.id}: {len(cell.source)} characters of Markdown, {LONGEST_CELL} at most"
        for cell in notebook.cells
        if cell.cell_type == "markdown" and len(cell.source) > LONGEST_CELL
    ]


def weakened_checks(notebook):
    """Return the tags and comments that weaken the checks, each with its cell."""
    return [
        (cell.id, mark)
        for cell in notebook.cells
        for mark in (
            *filter(WEAKENING_TAGS.match, cell.metadata.get("tags", [])),
            *(WEAKENING_COMMENTS.findall(cell.source) if cell.cell_type == "code" else ()),
        )
    ]


def headings(text):
    """Return (level, title, slug) of each heading; the slug is what a link to it is called."""
    found, slugs = [], set()
    tokens = MARKDOWN.parse(text)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            plain = [part for part in inline.children if part.type in ("text", "code_inline")]
            slug = default_slugify("".join(part.content for part in plain))
            number = 0
            while slug in slugs:  # the rule of the Markdown parser that the book uses
                number += 1
                slug = f"{slug}-{number}"
            slugs.add(slug)
            found.append((int(token.tag[1]), inline.content, slug))
    return found


def heading_structure(text):
    found = headings(text)
    levels = [level for level, _, _ in found]
    problems = []
    if levels.count(1) != 1 or levels[0] != 1:
        problems.append(f"needs one heading of level 1, and it first; has the levels {levels}")
    for (before, _, _), (level, title, _) in pairwise(found):
        if level > before + 1:
            problems.append(f"heading {title!r} skips from level {before} to {level}")
    return problems


def notebook_headings(notebook):
    return heading_structure(markdown(notebook))


# Figures and widgets


def figures_described(notebook):
    problems = []
    for cell, output in outputs(notebook):
        data = output.get("data", {})
        if PICTURES & data.keys():
            alt = data.get("text/plain", "")
            if len(alt) < SHORTEST_ALT or not re.search(r"\d", alt) or alt.startswith("<"):
                problems.append(
                    f"cell {cell.id}: a figure without a sentence with a number as its text: "
                    f"{alt!r}; show it with attention_utils.figures.show_figure"
                )
            svg = data.get("image/svg+xml", "")
            if svg and not re.match(r"<svg [^>]*role=\"img\" aria-label=\"[^\"]+\"", svg):
                problems.append(f'cell {cell.id}: an SVG without role="img" and aria-label')
    return problems


def images_described(text):
    problems = []
    for token in MARKDOWN.parse(text):
        for part in token.children or ():
            if part.type == "image" and len(part.content) < SHORTEST_ALT:
                problems.append(
                    f"image {part.attrs['src']} has no sentence as its alt text: {part.content!r}"
                )
    for tag in re.findall(r"<img\b[^>]*>", text):
        alt = re.search(r'alt="([^"]*)"', tag)
        if not alt or len(alt[1]) < SHORTEST_ALT:
            problems.append(f"image without a sentence as its alt text: {tag}")
    return problems


def notebook_images(notebook):
    return images_described(markdown(notebook))


def shown_models(notebook, cell):
    """Return the ids of the widget models that one cell shows, those inside others included."""
    models, seen = widget_models(notebook), set()
    found = {
        output.data[WIDGET_VIEW]["model_id"]
        for output in cell.outputs
        if WIDGET_VIEW in output.get("data", {})
    }
    while found:
        seen |= found
        inside = [json.dumps(models[name]) for name in found if name in models]
        found = {ref for text in inside for ref in re.findall(r"IPY_MODEL_(\w+)", text)} - seen
    return seen


def widgets_stored(notebook):
    models = widget_models(notebook)
    return [
        f"cell {cell.id}: the state of widget model {name} is not stored: run `make notebooks`"
        for cell in code_cells(notebook)
        for name in sorted(shown_models(notebook, cell) - models.keys())
    ]


def few_frames(notebook):
    return [
        f"widget {name}: a stack of {frames} frames, {MOST_FRAMES} at most"
        for name, model in widget_models(notebook).items()
        if model["model_name"] == "StackModel"
        and (frames := len(model["state"]["children"])) > MOST_FRAMES
    ]


# Numbers in prose

NUMBER = re.compile(r"(?<![\d.])(?:(?<![\d\w.)\]}])[-−])?\d*\.\d+(?:e[-+]?\d+)?(?!\d|\.\d)")


def numbers(text):
    """Return the decimal numbers in a text; 0.5 and 0.500 are one, 0.5 and -0.5 are two."""
    return {Decimal(number.replace("−", "-")) for number in NUMBER.findall(text)}


def claims(text):
    """Return the part of a Markdown text in which a number is a claim.

    That is everything a reader sees, formulas too, except code: a fenced block, or `inline` with
    a name in it. Inline numbers alone, such as `[0.5, 0.5]`, are a result that somebody computed.
    The number of an exercise is a name too.
    """
    text = re.sub(r"^ *(```+|~~~+)(?! *\{math\}).*?^ *\1 *$", "", text, flags=re.M | re.S)
    text = re.sub(r"(`+)(.+?)\1", lambda m: "" if re.search(r"[A-Za-z]", m[2]) else m[2], text)
    text = re.sub(r"\*\*Exercise \d+\.\d+\*\*", "", text)
    text = re.sub(r"\]\([^)]*\)|<?https?://[^\s>)]+>?", "] ", text)
    return without_tags(text)


def without_tags(text):
    return html.unescape(re.sub(r"<!--.*?-->|</?[a-zA-Z][^>]*>", " ", text, flags=re.S))


def printed(notebook, cell):
    """Return all that a cell says in words and numbers: printed, shown, in every widget frame."""
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        texts += [output.get("text", ""), data.get("text/plain", "")]
        texts += [without_tags(data.get("text/html", "")), data.get("text/markdown", "")]
    models = widget_models(notebook)
    for name in shown_models(notebook, cell) & models.keys():
        state = models[name]["state"]
        labels = state.get("_options_labels", [])
        values = [state.get(key) for key in ("value", "description")]
        texts += [without_tags(text) for text in (*labels, *values) if isinstance(text, str)]
    return "\n".join(texts)


def asserted(source):
    """Return the numbers that a cell compares with something it computed."""
    try:
        tests = [node.test for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    except SyntaxError:  # a line for IPython
        return set()
    computed = [test for test in tests if any(isinstance(n, ast.Name) for n in ast.walk(test))]
    return {number for test in computed for number in numbers(ast.unparse(test))}


def proved(notebook):
    """Return the numbers that prose may use: computed by a cell that was not told them."""
    found = set()
    for cell in code_cells(notebook):
        found |= numbers(printed(notebook, cell)) - numbers(cell.source)
        found |= asserted(cell.source)
    return found


def unproved_numbers(notebook):
    """Return (cell id, number) for each decimal number in prose that no cell computes."""
    known = proved(notebook)
    return [
        (cell.id, str(number))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for number in sorted(numbers(claims(cell.source)) - known)
    ]


def sample_output(text):
    """Return what the samples of a page print; test_page_samples.py runs them."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.M | re.S)
    lines = "\n".join(blocks).splitlines()
    return "\n".join(line for line in lines if not line.startswith((">>>", "...")))


# Links


def anchors(path):
    """Return the names that a link to this page or notebook may end on."""
    text = markdown(read(path)) if path.suffix == ".ipynb" else path.read_text("utf-8")
    deepest = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    deepest = deepest["sphinx"]["config"]["myst_heading_anchors"]
    names = {slug for level, _, slug in headings(text) if level <= deepest}
    names |= set(re.findall(r"^\(([^)\s]+)\)=\s*$", text, re.M))
    return names | set(re.findall(r'\bid="([^"]+)"', text))


def targets(text):
    """Return where the links and images of a Markdown text lead."""
    found = re.findall(r'\b(?:href|src)="([^"]+)"', text)
    for token in MARKDOWN.parse(text):
        for part in token.children or ():
            found += [part.attrs[key] for key in ("href", "src") if key in part.attrs]
    return found


def broken_links(text, path):
    """Return the relative links in the text of this file that lead nowhere."""
    problems = []
    for target in targets(text):
        if re.match(r"(https?|mailto):", target):
            continue
        place, _, anchor = target.partition("#")
        file = (path.parent / place).resolve() if place else path
        if not file.exists():
            problems.append(f"link to {target}: no such file")
        elif anchor and anchor not in anchors(file):
            problems.append(f"link to {target}: no such heading there")
    return problems


# What must not be told to a reader

MACHINE_PATH = re.compile(
    r"(?<![\w.~/-])/(?:tmp|work|root|home|Users|opt)/\w|\b[A-Z]:\\{1,2}(?:Users|Windows|Program)"
)
REGISTRY = re.compile(
    r"\b(?:registry|files|index|deb|security|repo|crates|mirrors?)\.[\w-]+\.(?:org|com|io|net|cn)\b"
    r"|\b(?:py" + r"pi|ana" + r"conda)\.(?:org|com|io)\b"
)


def private_details(text):
    return [f"names a path of a machine: {m[0]!r}" for m in MACHINE_PATH.finditer(text)] + [
        f"names the host of a registry: {m[0]!r}" for m in REGISTRY.finditer(text)
    ]


# Table of contents


def chapters_in_order(toc, names):
    """Compare the chapters that _toc.yml lists with the notebooks that there are."""
    files = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    listed = [file.removeprefix("chapters/") for file in files if file.startswith("chapters/")]
    problems = []
    if listed != sorted(listed):
        problems.append(f"_toc.yml lists the chapters as {listed}, not in the order of numbers")
    for name in sorted(set(listed) ^ set(names)):
        where = "chapters/" if name in names else "_toc.yml"
        problems.append(f"chapter {name} is in {where} alone")
    return problems
