"""Run, for each planted mistake, its unit test and the notebook up to its cell, for real.

The notebook is copied, stored outputs and all, into a folder that carries the name of the mistake,
and cut off after the cell. The kernel plants the mistake whose name its folder has, and strict
nbval compares every cell. The unit test runs in a process of its own.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
WORKERS = 2
RAISED = "Cell execution caused an exception"  # nbval's words; other failures are differences
KERNEL_STARTS = """\
from pathlib import Path as _Path
from tests.mutation.table import plant as _plant
_plant(_Path.cwd().name)
"""
UNIT_TEST = """\
import sys, pytest
from tests.mutation.table import plant
plant(sys.argv[1])
sys.exit(pytest.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Case:
    """A test that ran: a unit test, or a cell of a notebook."""

    failed: bool
    raised: bool = False  # a cell that failed by an exception
    started: bool = True


@dataclass(frozen=True)
class Noticed:
    """Who noticed a planted mistake."""

    unit: bool
    cell: bool
    cells: tuple[str, ...]  # all cells that failed, up to the one that must

    @property
    def killed(self):
        return self.unit and self.cell


def measure(planted):
    """Return {name: Noticed} for these planted mistakes."""
    with TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        starts = folder / "ipython" / "profile_default" / "startup" / "plant.py"
        starts.parent.mkdir(parents=True)
        starts.write_text(KERNEL_STARTS, "utf-8")
        cells = run_notebooks(planted, folder)
        with ThreadPoolExecutor(WORKERS) as pool:
            units = pool.map(lambda one: run_unit_tests(one, folder), planted)
        return {
            one.name: noticed(unit, cell)
            for one, unit, cell in zip(planted, units, cells, strict=True)
        }


def noticed(unit, cells):
    """Judge by the unit tests that ran, and by the cells that ran, {id: Case} in order.

    The last cell must have failed by itself: after an exception, names may be missing.
    """
    *before, last = cells.values() or [Case(failed=False)]
    return Noticed(
        unit=any(case.failed for case in unit),
        cell=last.failed and not any(case.raised for case in before),
        cells=tuple(name for name, case in cells.items() if case.failed),
    )


def run_unit_tests(one, folder):
    names = [f"tests/unit/{unit}" for unit in one.units]
    return run(["-c", UNIT_TEST, one.name, *names, "--noconftest"], folder, one.name, ROOT).values()


def run_notebooks(planted, folder):
    """Return, for each mistake, the cells of its notebook up to the one that must notice."""
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    copied = [copy_up_to(one, folder) for one in planted]
    nbval = ["-p", "nbval.plugin", "--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120"]
    xdist = ["-p", "xdist.plugin", "-n", str(WORKERS), "--dist", "loadfile"]
    found = run(["-m", "pytest", *nbval, *xdist], folder, "notebooks", folder)
    # A kernel that did not start says nothing about its cells; two may have chosen one port.
    silent = {name for (name, _), case in found.items() if not case.started}
    again = [
        f"{one.name}/{one.chapter}.ipynb"
        for one in planted
        if f"{one.name}.{one.chapter}.ipynb" in silent
    ]
    if again:
        found |= run(["-m", "pytest", *nbval, *again], folder, "again", folder)
    return [
        {
            cell: found[f"{one.name}.{one.chapter}.ipynb", f"Cell {n}"]
            for n, cell in enumerate(cells)
        }
        for one, cells in zip(planted, copied, strict=True)
    ]


def copy_up_to(one, folder):
    """Copy the notebook up to the cell that must notice; return the ids of its cells of code."""
    notebook = json.loads((ROOT / "chapters" / f"{one.chapter}.ipynb").read_text("utf-8"))
    ids = [cell["id"] for cell in notebook["cells"]]
    if one.cell not in ids:
        return []
    del notebook["cells"][ids.index(one.cell) + 1 :]
    path = folder / one.name / f"{one.chapter}.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(notebook), "utf-8")
    return [cell["id"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(python, folder, name, cwd):
    """Run Python, which runs pytest, and return {(class, name): Case} for each test that ran."""
    junit = folder / f"{name}.xml"
    environment = os.environ | {
        "IPYTHONDIR": str(folder / "ipython"),
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # or most of the time goes into starting
        "PYTHONPATH": str(ROOT),
    }
    environment.pop("MPLBACKEND", None)  # the kernel chooses the inline one for itself
    subprocess.run(
        [sys.executable, *python, "-p", "no:cacheprovider", f"--junit-xml={junit}"],
        cwd=cwd,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    return {
        (case.get("classname"), case.get("name")): outcome(case)
        for case in ElementTree.parse(junit).iter("testcase")
    }


def outcome(case):
    """Read one test from the report; a test that could not start has not failed."""
    failure = case.find("failure")
    if failure is None:
        return Case(failed=False, started=case.find("error") is None)
    return Case(failed=True, raised=RAISED in f"{failure.get('message')} {failure.text}")
