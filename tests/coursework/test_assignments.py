"""Every assignment proves itself, in the open variant and in others; and the proof has teeth."""

import json
from dataclasses import replace

import numpy as np
import pytest

from attention_utils.mistakes import Mistake
from coursework import release, selftest, source
from coursework.grading import Grader
from coursework.model import OWN, Written, load
from coursework.sandbox import Bubblewrap

NAMES = sorted(path.parent.name for path in OWN.glob("*/*.md"))
KEYS = [f"course {k}" for k in range(6)]


def test_the_assignments_are_there():
    assert {"a1", "a2", "a3"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_open_variant(name):
    assignment = load(name)
    assert selftest.selftest(assignment, Bubblewrap([assignment.folder])) == []


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", NAMES)
def test_course_variant(name, key):
    assignment = load(name, key)
    assert selftest.selftest(assignment, Bubblewrap([assignment.folder])) == []


@pytest.mark.parametrize("name", NAMES)
def test_many_more_variants_tell_every_mistake_apart(name):
    for k in range(20):
        assignment = load(name, f"another course {k}")
        release.release(assignment)
        for question, mistakes in selftest.kills(assignment).items():
            for mistake, (lost, named) in mistakes.items():
                assert lost, (k, question, mistake)
                assert named == [mistake], (k, question, mistake)


@pytest.mark.parametrize("name", NAMES)
def test_a_course_differs_in_tasks_and_inputs_but_not_in_points(name):
    opened, one, other = load(name), load(name, KEYS[0]), load(name, KEYS[1])
    assert opened.points == one.points == other.points
    assert opened.written_points == one.written_points
    assert len({a.text for a in (opened, one, other)}) == 3
    assert one.text == load(name, KEYS[0]).text


@pytest.mark.parametrize("key", [None, KEYS[0]])
@pytest.mark.parametrize("name", NAMES)
def test_release_is_reproducible_and_holds_no_secret(name, key):
    assignment = load(name, key)
    text = release.release(assignment)
    assert text == release.release(load(name, key))
    secrets = release.secrets(assignment)
    assert len(secrets) > 50
    assert not [secret for secret in secrets if json.dumps(secret)[1:-1] in text]
    assert source.BEGIN not in text
    assert "losses" not in text


@pytest.mark.parametrize("name", NAMES)
def test_enough_known_mistakes(name):
    by_question = {q.name: len(q.mistakes) for q in load(name).questions}
    assert sum(by_question.values()) >= 40
    if name == "a1":
        assert by_question["softmax"] >= 12
        assert by_question["attention"] >= 20


@pytest.mark.parametrize("name", NAMES)
def test_visible_checks_fail_on_the_blank_notebook_and_tell_mistakes_apart(name):
    seen = selftest.visible(load(name))
    assert len(seen) >= 5
    for question, kills in seen.items():
        noticed = [mistake for mistake, said in kills.items() if said]
        least = 1 if name == "a3" else 2  # there the check compares two versions of the student's
        assert len(noticed) >= least, (question, noticed)


def _without_check(assignment, question, check):
    questions = [
        replace(q, checks=tuple(c for c in q.checks if c.name != check))
        if q.name == question
        else q
        for q in assignment.questions
    ]
    return replace(assignment, questions=tuple(questions))


def test_selftest_notices_a_check_that_is_gone():
    weaker = _without_check(load("a1"), "attention", "nothing to read")
    faults = selftest.selftest(weaker, Bubblewrap())
    assert any("empty_row_nan" in fault for fault in faults)


def test_selftest_notices_a_form_that_is_taken_for_another_mistake():
    a1 = load("a1")
    form = Mistake("no_scale", "softmax_over", "queries", "You did not scale.")
    questions = [replace(q, forms=(form,)) if q.name == "attention" else q for q in a1.questions]
    faults = selftest.selftest(replace(a1, questions=tuple(questions)), Bubblewrap([a1.folder]))
    assert faults == ["attention, no_scale (queries): is taken for softmax_over_queries"]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("np.sqrt(query.shape[-1])", "query.shape[-1]", "reference, attention, scale"),
        ("top = np.max(x, axis=axis, keepdims=True)", "top = np.zeros(1)", "large scores"),
        (
            "### BEGIN SOLUTION\n    return causal",
            "### BEGIN SOLUTION\n    return 1 & causal",
            "decoder",
        ),
    ],
    ids=["scale", "overflow", "dtype"],
)
def test_selftest_notices_a_wrong_reference(right, wrong, said):
    assignment = load("a1")
    assert right in assignment.text
    broken = replace(assignment, text=assignment.text.replace(right, wrong))
    try:
        release.release(broken)
        faults = selftest.selftest(broken, Bubblewrap())
    except release.ReleaseError as error:
        faults = [str(error)]
    assert any(said in fault or "check-" in fault for fault in faults), faults


def test_release_refuses_a_solution_in_the_text():
    assignment = load("a1")
    leak = "total = np.sum(terms, axis=axis, keepdims=True)"
    assert leak in assignment.text
    with pytest.raises(release.ReleaseError, match="would contain"):
        release.release(replace(assignment, text=f"The trick is `{leak}`.\n" + assignment.text))


def test_a_source_with_a_gap_is_refused():
    assignment = load("a1")
    with pytest.raises(ValueError, match="<<missing>>"):
        release.release(replace(assignment, text=assignment.text + "\n<<missing>>"))
    with pytest.raises(FileNotFoundError, match="assignments there"):
        load("a99")


def test_an_answer_that_nobody_would_read_is_refused():
    a1 = load("a1")
    more = replace(a1, text=a1.text + "\n```answer gradient\nBecause.\n```\n")
    with pytest.raises(release.ReleaseError, match=r"answer gradient.*Written.'gradient', points"):
        release.release(more)
    with pytest.raises(release.ReleaseError, match="answer gradient"):
        Grader(more, Bubblewrap([a1.folder]))
    with pytest.raises(release.ReleaseError, match="no fence"):
        release.release(replace(a1, written=(*a1.written, Written("gradient", 1, "1 for it"))))


@pytest.mark.parametrize("fence", ["```answer why-so", "```answer  why", " ```python solution f"])
def test_a_fence_with_a_slip_is_refused_and_not_shown_as_text(fence):
    with pytest.raises(ValueError, match="is no cell"):
        source.cells(f"{fence}\nThe secret.\n```\n")


@pytest.mark.parametrize("key", [None, *KEYS])
def test_an_input_is_judged_by_what_it_separates(key):
    for question in load("a3", key).questions:
        if question.judge is None:
            continue
        right = question.known()
        assert question.judge(right) == ""
        assert question.judge(question.known(given="dull"))
        for bad in (
            (),
            None,
            "x",
            (*right, 1),
            tuple([10**9] * len(right)),
            10**400,
            tuple([np.full((2, 2), np.nan)] * len(right)),
            tuple([np.ones((30, 30))] * len(right)),
            tuple([np.array(12_000)] * len(right)),
            tuple([np.array([12_000])] * len(right)),
            tuple([np.ones((400, 1))] * len(right)),
        ):
            assert question.judge(bad), bad


def judge(kind):
    """The judge of one kind of mistake, in whichever variant has it."""
    for key in (None, *map(str, range(20))):
        assignment = load("a3", key)
        for number in range(1, 9):
            questions = {q.name: q for q in assignment.questions}
            letter = questions[f"kind_{number}"].known()
            if f"- **{letter}**: {kind}\n" in assignment.text + "\n":
                return questions[f"input_{number}"].judge
    raise AssertionError(f"no variant has {kind}")


def test_an_input_on_which_a_right_version_gives_no_number_separates_nothing():
    empty = np.zeros((2, 0)), np.zeros((3, 0))
    said = judge("softmax runs over the wrong axis")(empty)
    assert said == "A right version gives no number on your input."
    memory = [[0, -6e4, 0], [6e4, 0, 1], [5e4, -6e4, 1]]
    for kind in (np.float16, np.float64):  # products too large for float16
        y, longer = np.full((1, 3), 5e4, kind), np.array(memory, kind)
        assert judge("the keys are given the number of queries")((y, longer)) == ""
