"""Run notebooks from a fresh kernel and store them so that two runs give the same bytes.

The book publishes the outputs that are stored, and nbval compares them with a fresh run. So what
varies between runs without meaning anything is removed here: the random ids of widgets, versions,
time stamps, the pieces in which a printed text happened to arrive.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

ROOT = Path(__file__).resolve().parent.parent
SECONDS_PER_CELL = 120
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
RANDOM_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
# What an editor or a run leaves in a cell and nobody wrote.
VOLATILE = ("ExecuteTime", "collapsed", "execution", "scrolled", "trusted")
# A number that another machine may round the other way must not be printed.
BEFORE_THE_FIRST_CELL = """
import attention_utils.printing
attention_utils.printing.refuse_rounding_edges = True
"""


class Refused(Exception):
    """This notebook cannot be stored; the message says where and why."""


def read(path):
    """Return the notebook, unless its cells lack the ids that keep them apart."""
    text = path.read_text(encoding="utf-8")
    raw = json.loads(text)  # nbformat would quietly add the ids that are missing
    if (raw["nbformat"], raw["nbformat_minor"]) != (4, 5):
        raise Refused("needs nbformat 4.5 (JupyterLab writes it)")
    ids = [cell.get("id") for cell in raw["cells"]]
    for number, name in enumerate(ids, start=1):
        if not name:
            raise Refused(f"cell number {number} has no id")
        if ids.count(name) > 1:
            raise Refused(f"cell {name}: another cell has the same id")
    return nbformat.reads(text, as_version=4)


def execute(notebook, folder):
    """Run all cells in order, in place, and keep the state of the widgets."""
    manager = AsyncKernelManager(
        kernel_name=CURRENT_ENV_KERNEL_NAME, kernel_spec_manager=NbvalKernelspecManager()
    )
    notebook.metadata.pop("widgets", None)
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        store_widget_state=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    with client.setup_kernel(cleanup_kc=True):
        ask = run_sync(client.kc.execute_interactive)
        reply = ask(BEFORE_THE_FIRST_CELL, silent=True, output_hook=lambda message: None)
        if reply["content"]["status"] != "ok":
            raise Refused("before the first cell: {ename}: {evalue}".format(**reply["content"]))
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index)
            except Exception as error:
                raise Refused(f"cell {cell.id}: {COLOURS.sub('', str(error))}") from error
    client.set_widgets_metadata()


def join_streams(outputs):
    """Join neighbouring pieces of one printed text."""
    joined = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def references(model):
    """Return the ids of the widget models that this one points at."""
    return set(re.findall(r"IPY_MODEL_(\w+)", json.dumps(model)))


def shown_widgets(state, views):
    """Return, in the order they were made, the models that the views need and nothing else."""
    links = {name: references(model) for name, model in state.items() if is_link(model)}
    keep, found = set(), set(views)
    while found:
        keep |= found
        found = {ref for name in found for ref in references(state[name])}
        # Nothing points at a link: it stays when one of its ends does.
        found |= {name for name, ends in links.items() if ends & keep}
        found -= keep
    return {name: model for name, model in state.items() if name in keep}


def is_link(model):
    """Tell whether this model ties two other models together."""
    return model["model_name"] in ("LinkModel", "DirectionalLinkModel")


def clean(notebook, name):
    """Return the notebook without anything that differs between two runs."""
    views = []
    for cell in notebook.cells:
        for key in VOLATILE:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            bundles = [output.data for output in cell.outputs if "data" in output]
            views += [data[WIDGET_VIEW]["model_id"] for data in bundles if WIDGET_VIEW in data]
    notebook.metadata.update(kernelspec=KERNEL, language_info=LANGUAGE)
    if "widgets" not in notebook.metadata:
        return notebook

    widgets = notebook.metadata.widgets[WIDGET_STATE]
    widgets["state"] = shown_widgets(widgets["state"], views)
    for model in widgets["state"].values():
        if model["model_name"] == "LayoutModel":  # null, for a dimension, means: not set
            model["state"] = {key: v for key, v in model["state"].items() if v is not None}
    if not widgets["state"]:
        del notebook.metadata["widgets"]
        return notebook
    # The ids say which notebook and in which order, so that the pages of a book do not share one.
    prefix = hashlib.sha256(name.encode()).hexdigest()[:6]
    new = {old: f"{prefix}{n:04x}" for n, old in enumerate(widgets["state"], start=1)}
    text = RANDOM_ID.sub(lambda match: new.get(match[0], match[0]), json.dumps(notebook))
    return nbformat.from_dict(json.loads(text))


def run(path):
    """Return the notebook as a fresh run leaves it."""
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if not cell.source.strip():
                raise Refused(f"cell {cell.id}: a code cell without code")
            cell.update(outputs=[], execution_count=None)
    execute(notebook, path.parent)
    return clean(notebook, path.stem)


def written(notebook):
    """Return the bytes of a notebook file, as Jupyter writes them."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n").encode()


def without_pictures(notebook):
    """Return the text of a notebook without PNG data, which differs between machines."""
    notebook = json.loads(json.dumps(notebook))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    return notebook


def differences(stored, fresh):
    """Return one text per cell (or for the metadata) that a fresh run would change."""
    stored, fresh = without_pictures(stored), without_pictures(fresh)
    pairs = [
        (f"cell {a['id']}", a, b) for a, b in zip(stored["cells"], fresh["cells"], strict=True)
    ]
    pairs += [("the metadata", stored["metadata"], fresh["metadata"])]
    found = []
    for where, old, new in pairs:
        if old != new:
            lines = [json.dumps(part, indent=1, sort_keys=True).splitlines() for part in (old, new)]
            diff = list(difflib.unified_diff(*lines, "stored", "fresh", n=1, lineterm=""))
            found.append("\n".join([f"{where} differs from a fresh run:", *diff[:20]]))
    return found


def main():
    """Run or check the notebooks named, or all of them in the order of the book."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument(
        "--check", action="store_true", help="store nothing, tell what would change"
    )
    arguments = parser.parse_args()
    paths = arguments.notebooks or sorted(ROOT.glob("chapters/*.ipynb")) + sorted(
        ROOT.glob("book/*.ipynb")
    )
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.pop("MPLBACKEND", None)  # the kernel chooses the inline one for itself
    failed = False
    with tempfile.TemporaryDirectory() as nobodys_profile:
        os.environ["IPYTHONDIR"] = nobodys_profile
        for path in paths:
            try:
                fresh = run(path)
                problems = differences(read(path), fresh) if arguments.check else []
            except Refused as error:
                problems = [str(error)]
            for problem in problems:
                print(f"{path}: {problem}", file=sys.stderr)
            failed |= bool(problems)
            if not problems:
                if not arguments.check:
                    path.write_bytes(written(fresh))
                print(f"{path}: {'as stored' if arguments.check else 'stored'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
