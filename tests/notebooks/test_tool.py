"""`make notebooks` stores the same bytes twice, keeps what widgets need, and stores no failure."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

TOOL = Path(__file__).parents[2] / "tools" / "notebooks.py"
WIDGETS = """\
import ipywidgets as widgets

frames = [widgets.HTML(f"<b>{k / 8:.3f}</b>") for k in range(3)]
forgotten = widgets.FloatSlider()
stack = widgets.Stack(frames, selected_index=0)
row = widgets.SelectionSlider(options=["a", "b", "c"], description="row")
between = widgets.IntText()
widgets.jslink((row, "index"), (between, "value"))
widgets.jslink((between, "value"), (stack, "selected_index"))
display(row, stack)
"""
SLOWLY = """\
import time

for piece in range(5):
    print(piece, flush=True)
    time.sleep(0.05)
"""


def write(path, *sources):
    cells = [
        nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources, 1)
    ]
    cells[0].metadata["execution"] = {"iopub.status.busy": "2026-01-01T00:00:00.000Z"}
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["language_info"] = {"name": "python", "version": "3.0.0"}
    nbformat.write(notebook, path)
    return path


def tool(*arguments):
    command = [sys.executable, TOOL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = write(tmp_path_factory.mktemp("tool") / "01_widgets.ipynb", WIDGETS, SLOWLY)
    result = tool(path)
    assert result.returncode == 0, result.stderr
    return path


def test_two_runs_give_the_same_bytes(stored):
    before = stored.read_bytes()
    assert tool(stored).returncode == 0
    assert stored.read_bytes() == before
    assert before.endswith(b"}\n")


def test_nothing_random_or_dated_is_stored(stored):
    text = stored.read_text()
    assert not re.search(r"[0-9a-f]{32}|iopub|\d{4}-\d\d-\d\dT|\d\.\d+\.\d+(?!\d|\")", text)
    notebook = json.loads(text)
    assert "version" not in notebook["metadata"]["language_info"]
    counts = [cell["execution_count"] for cell in notebook["cells"]]
    assert counts == [1, 2]


def test_a_text_that_arrives_in_pieces_is_stored_as_one(stored):
    outputs = json.loads(stored.read_text())["cells"][1]["outputs"]
    assert [output["text"] for output in outputs] == [["0\n", "1\n", "2\n", "3\n", "4\n"]]


def test_the_state_holds_what_the_widgets_need_and_no_more(stored):
    notebook = json.loads(stored.read_text())
    (saved,) = notebook["metadata"]["widgets"].values()
    state = saved["state"]
    names = [model["model_name"] for model in state.values()]
    assert names.count("HTMLModel") == 3
    assert names.count("LinkModel") == 2
    assert "IntTextModel" in names  # not shown, but the slider moves the stack through it
    assert "FloatSliderModel" not in names
    assert set(re.findall(r"IPY_MODEL_(\w+)", json.dumps(state))) <= set(state)
    views = re.findall(r'"model_id": "(\w+)"', json.dumps(notebook["cells"]))
    assert len(views) == 2
    assert set(views) <= set(state)


def test_check_accepts_what_was_stored_and_names_the_cell_that_differs(stored, tmp_path):
    changed = tmp_path / stored.name
    text = (
        stored.read_text()
        .replace('"readout": true', '"readout": false')
        .replace('"4\\n"', '"5\\n"')
    )
    changed.write_text(text)
    result = tool("--check", stored, changed)
    assert result.returncode == 1
    assert f"{stored}: as stored" in result.stdout
    assert f"{changed}: cell cell-2 differs" in result.stderr
    assert f"{changed}: the metadata differs" in result.stderr
    assert "cell cell-1 differs" not in result.stderr
    assert changed.read_text() == text


def test_what_fails_is_named_and_not_stored(tmp_path):
    expected = {
        write(tmp_path / "01.ipynb", "'fine'", "1 / 0"): "cell cell-2: .*ZeroDivisionError",
        write(
            tmp_path / "02.ipynb", "import attention_utils.printing as p\np.show('x', 0.0625)"
        ): "cell cell-1: .*rounding edge",
        write(tmp_path / "03.ipynb", "'fine'", ""): "cell cell-2: a code cell without code",
        write(tmp_path / "04.ipynb", "1", "2"): "cell cell-1: another cell has the same id",
        write(tmp_path / "05.ipynb", "1", "2"): "cell number 2 has no id",
    }
    paths = list(expected)
    paths[3].write_text(paths[3].read_text().replace("cell-2", "cell-1"))
    paths[4].write_text(paths[4].read_text().replace('"id": "cell-2",', ""))
    before = [path.read_bytes() for path in paths]
    result = tool(*paths)
    assert result.returncode == 1
    assert [path.read_bytes() for path in paths] == before
    for path, said in expected.items():
        assert re.search(f"{path.name}: {said}", result.stderr, re.DOTALL), result.stderr
