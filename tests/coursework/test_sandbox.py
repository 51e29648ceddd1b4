"""What a student's process may ask of the kernel, and whose fault it is when none starts."""

import errno
import fcntl
import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from coursework import __main__ as command
from coursework import batch, grading, release, sandbox, selftest
from coursework.grading import Grader
from coursework.model import load
from coursework.session import Session, SessionError
from tests.coursework import handed_in

COLUMN = list(sandbox.MACHINES).index(platform.machine())
ASKED = """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def refused(number, *arguments):
    return libc.syscall(number, *arguments) == -1 and ctypes.get_errno() == 1


"""


def answers(box, source):
    """What a cell in the box leaves in ``answer``."""
    with Session(box, time.monotonic() + 60) as session:
        told = session.ask({"op": "cell", "source": ASKED + source, "number": 1}, 10)
        assert "error" not in told, told
        return session.ask({"op": "get", "name": "answer"}, 10)["value"]


@pytest.fixture(
    scope="module",
    params=[
        sandbox.Bubblewrap,
        pytest.param(
            sandbox.SeparateUser,
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="a separate user needs root"),
        ),
    ],
)
def box(request):
    return request.param()


def test_every_forbidden_call_is_refused(box):
    numbers = {name: n[COLUMN] for name, n in sandbox.FORBIDDEN_CALLS.items()}
    numbers = {name: n for name, n in numbers.items() if n is not None}
    assert {"vmsplice", "process_vm_writev", "inotify_init1", "mkdirat", "unlinkat"} <= {*numbers}
    assert {"fchmod", "fchmodat2", "fchownat", "utimensat", "fsetxattr", "io_setup"} <= {*numbers}
    assert {"flock", "fadvise64", "preadv2", "mincore", "cachestat"} <= {*numbers}
    allowed = answers(
        box,
        f"answer = [k for k, n in {numbers}.items() if not refused(n, -1, 0, 0, 0, 0, 0)]",
    )
    assert allowed == ()


def test_no_file_can_be_made_and_none_leased_or_watched(box):
    path = os.fsencode(Path(tempfile.gettempdir()) / "left_by_a_test")
    flags = os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_TMPFILE
    commands = fcntl.F_GETFD, fcntl.F_SETLEASE, fcntl.F_NOTIFY
    got = answers(
        box,
        f"""
def error(returned):
    return ctypes.get_errno() if returned == -1 else 0


answer = [error(libc.open({path}, flag, 0o600)) for flag in {flags}]
answer += [error(libc.fcntl(0, command, 0)) for command in {commands}]
""",
    )
    assert got == (errno.ENOENT, errno.EPERM, errno.EPERM, 0, errno.EPERM, errno.EPERM)


@pytest.fixture
def separate():
    if os.geteuid() != 0:
        pytest.skip("a separate user needs root")
    return sandbox.SeparateUser()


def test_the_end_of_one_process_is_not_the_end_of_another(separate):
    def asked(session):
        session.ask({"op": "cell", "source": "import os\nwho = os.getuid()", "number": 1}, 10)
        return session.ask({"op": "get", "name": "who"}, 10)["value"]

    with Session(separate, time.monotonic() + 60) as one:
        with Session(separate, time.monotonic() + 60) as other:
            who = asked(other)
        assert asked(one) != who


STOPS_WHO_STOPS_IT = """
import signal

signal.setitimer(signal.ITIMER_PROF, 0)
while True:
    libc.kill(-1, signal.SIGSTOP)
"""


def test_nothing_can_stop_its_own_end(separate):
    def late(number, frame):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    for _ in range(3):
        session = Session(separate, time.monotonic() + 60)
        session.open()
        with pytest.raises(SessionError):
            session.ask(
                {"op": "cell", "source": ASKED + STOPS_WHO_STOPS_IT, "number": 1}, 1, most=1
            )
        signal.alarm(5)
        try:
            session.close()
        finally:
            signal.alarm(0)
        assert session.process.returncode == -signal.SIGKILL


def test_what_a_process_leaves_behind_is_ended_with_it(separate):
    """No process in the box can make another; if one ever could, it would not outlive it."""
    with Session(separate, time.monotonic() + 60) as session:
        user = session.process.user
        left = subprocess.Popen(["sleep", "60"], user=user, group=user, extra_groups=[])
    assert left.wait(10) == -signal.SIGKILL


def test_no_lock_and_no_futex_speaks_to_another_process(box):
    locks = 5, 6, 7, 36, 37, 38  # F_GETLK, F_SETLK, F_SETLKW and the same of open files
    number, madvise = (
        numbers[COLUMN]
        for numbers, *_ in (
            sandbox.ALLOWED_ARGUMENTS["futex"],
            sandbox.FORBIDDEN_ARGUMENTS["madvise"],
        )
    )
    got = answers(
        box,
        f"""
word = ctypes.c_uint32()
wake, private = 1, 128
answer = [
    [refused({number}, ctypes.byref(word), wake | own, 1, None, None, 0) for own in (0, private)],
    [libc.fcntl(0, command, bytes(32)) == -1 and ctypes.get_errno() == 1 for command in {locks}],
    [refused({madvise}, None, 0, advice) for advice in (4, 20, 21)],
]
""",
    )
    assert got == ((True, False), (True,) * 6, (False, True, True))


def test_the_box_tells_nothing_of_the_machine():
    got = answers(
        sandbox.Bubblewrap(),
        """
import glob
import os

places = "/lib*/python3*/*-packages/*", "/usr/lib*/python3*/*-packages/*"
answer = [os.uname().nodename, [name for place in places for name in glob.glob(place)]]
""",
    )
    assert got == ("box", ())


@pytest.fixture
def reluctant(monkeypatch):
    """Processes that do not start: ``reluctant(2)`` of them, then the others do."""

    def make(count):
        start, fails = sandbox.Bubblewrap.start, iter(range(count))

        def started(self, read, write):
            if next(fails, None) is None:
                return start(self, read, write)
            return sandbox._popen(["false"], ())

        monkeypatch.setattr(sandbox.Bubblewrap, "start", started)

    monkeypatch.setattr(grading, "WAITS", (0, 0, 0))
    return make


def test_a_process_that_does_not_start_is_tried_again(reluctant):
    assignment = load("a1")
    grader = Grader(assignment, sandbox.Bubblewrap([assignment.folder]))
    reluctant(2)
    assert (
        grader.grade(selftest.submitted(assignment, release.solved_cells(assignment)))["score"]
        == 26
    )


def test_where_none_starts_nobody_is_given_zero(reluctant, tmp_path, monkeypatch, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ann.ipynb").write_text(json.dumps(handed_in.solved(load("a1"))), "utf-8")
    (tmp_path / "in" / "ben.ipynb").write_text("no notebook", "utf-8")
    arguments = ["grade", "a1", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--jobs", "1"]
    with monkeypatch.context() as patch:
        patch.setattr(batch, "prove", lambda box: None)
        reluctant(3)
        assert command.main(arguments) == 2
    assert "the sandbox did not start for ann, who are not" in capsys.readouterr().err
    assert "ben" in (tmp_path / "out" / "grades.csv").read_text("utf-8")
    assert "ann" not in (tmp_path / "out" / "grades.csv").read_text("utf-8")


def test_what_goes_nowhere_may_be_opened(box):
    got = answers(
        box,
        """
import contextlib
import os

with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
    print("said to nobody")
try:
    open("/box_or_not", "w")
except PermissionError:
    answer = "only there"
""",
    )
    assert got == "only there"
