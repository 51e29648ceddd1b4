"""The museum: 18 kinds, each with a property that fails as published and holds when cured."""

import re

import pytest

from tests.notebooks import checks
from tests.notebooks.checks import ROOT

CELLS = {cell.id: cell for cell in checks.read(ROOT / "book" / "museum.ipynb").cells}
KINDS = range(1, 19)


def text_of(cell):
    return "".join(output.get("text", "") for output in cell.outputs)


def verdicts(cell):
    """Return (property, who, yes or no) as the cell printed it."""
    return re.findall(r"^(.+)\?\n   (as published|cured): (yes|no)$", text_of(cell), re.M)


@pytest.mark.parametrize("kind", KINDS)
def test_the_property_fails_as_published_and_holds_when_cured(kind):
    published, cured = (CELLS[f"kind-{kind:02}-{which}"] for which in ("published", "cured"))
    ((sentence, *as_published),) = verdicts(published)
    assert as_published == ["as published", "no"]
    assert verdicts(cured) == [(sentence, "cured", "yes")]


@pytest.mark.parametrize("kind", KINDS)
def test_snippet_answer_and_cure_in_this_order(kind):
    names = [name for name in CELLS if name.startswith(f"kind-{kind:02}")]
    start = f"kind-{kind:02}"
    assert names == [start, f"{start}-published", f"{start}-answer", f"{start}-cured"]
    assert CELLS[start].source.startswith(f"### Kind {kind}\n")
    assert CELLS[f"{start}-cured"].metadata.get("tags") == ["hide-cell"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_folded_and_gives_cure_and_source(kind):
    answer = CELLS[f"kind-{kind:02}-answer"].source
    assert answer.startswith("<details><summary>What is wrong?</summary>\n")
    assert answer.endswith("\n</details>")
    assert answer.count("**Cure:**") == answer.count("**Source:**") == 1
    named = re.findall(r"\[([\w./-]+), (issue|pull request) (\d+)\]\(([^)]+)\)", answer)
    for repository, what, number, link in named:
        part = {"issue": "issues", "pull request": "pull"}[what]
        assert link == f"https://github.com/{repository}/{part}/{number}"


def test_every_kind_is_in_the_list_and_there_is_no_other():
    listed = [
        int(n) for n in re.findall(r"^\| \[(\d+)\]\(#kind-\1\)", CELLS["list-1"].source, re.M)
    ]
    assert listed == list(KINDS)
    shown = {int(m[1]) for name in CELLS if (m := re.match(r"kind-(\d+)", name))}
    assert shown == set(KINDS)


def test_the_notebook_itself_refuses_another_verdict():
    """`verdict` asserts, so a snippet that is no longer wrong fails the run."""
    names = {}
    function = CELLS["setup"].source.partition("def verdict")[1:]
    exec("".join(function), names)
    for who, holds in (("as published", True), ("cured", False)):
        with pytest.raises(AssertionError):
            names["verdict"](who, "it is right", holds)
