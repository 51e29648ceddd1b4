"""The student's process: gets cells and inputs, gives back values, knows no answer.

Runs alone in the sandbox as ``python worker.py READ WRITE PACKAGES USER RULES``: two file
descriptors, a folder with numpy, the number of the user to become (or "-"), and a seccomp program
in hex (or ""). Nothing in this process is trusted once a cell has run.
"""

import builtins
import copy
import ctypes
import os
import re
import resource
import signal
import sys
import warnings

READ, WRITE = int(sys.argv[1]), int(sys.argv[2])
PACKAGES, USER, RULES = sys.argv[3:]
sys.path[:0] = [PACKAGES, os.path.dirname(os.path.abspath(__file__))]
import numpy as np  # noqa: E402
import wire  # noqa: E402

LIMITS = {  # soft and hard alike
    resource.RLIMIT_AS: 2**30,
    resource.RLIMIT_FSIZE: 0,  # no byte to any file
    resource.RLIMIT_NOFILE: 32,
    resource.RLIMIT_NPROC: 0,  # no new process, no thread (where the user is not root)
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_CPU: 120,
}
OPEN = open
SKIPPED_CELLS = ("%%bash", "%%sh", "%%html", "%%javascript", "%%latex", "%%writefile", "%%script")


class TimeUpError(BaseException):
    """The limit of processor time of a cell or a call: a busy machine costs nobody points."""


class OnlyNumpy:
    """Import finder that explains, behind all others, why nothing else is here."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Refuse with a sentence."""
        package = name.partition(".")[0]
        if package == "numpy" or package in sys.stdlib_module_names or path is not None:
            return
        raise ImportError(
            f"{package} is not here: the grader has Python and numpy alone. "
            "What you hand in must do without it, so write the function yourself."
        )


def plain(source):
    """A cell without what only IPython understands: magics, shell lines, ``name?``."""
    if source.lstrip().startswith("%%"):
        first, _, rest = source.lstrip().partition("\n")
        return "" if first.split()[0] in SKIPPED_CELLS else rest
    return re.sub(r"^(\s*)([%!].*|\??[\w.]+\?+\s*)$", r"\1pass", source, flags=re.M)


def failure(error, filename):
    """What is told about an exception: its type, its text, its line in the student's cell."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename.startswith(filename):
            line = step.tb_lineno
        step = step.tb_next
    name = "TimeUp" if isinstance(error, TimeUpError) else type(error).__name__
    return {"error": name[:60], "text": str(error)[:300], "line": line}


def run_cell(space, message):
    """Execute one cell; what only IPython understands is left out."""
    source, name = message["source"], f"<cell {message['number']}>"
    try:
        code = compile(source, name, "exec")
    except SyntaxError:
        code = compile(plain(source), name, "exec")
    exec(code, space)
    return {"value": None}


def stub(name, number):
    """An earlier function, answered by the grader's reference."""

    def reference(*args, **kwargs):
        wire.send(WRITE, {"id": number, "need": name, "args": args, "kwargs": kwargs})
        answer = wire.receive(READ)
        if "error" in answer:
            raise ValueError(f"{name}: {answer['text']}")
        return answer["value"]

    reference.__name__ = name
    return reference


def call(space, message):
    """Call a function of the notebook; earlier ones are answered by the reference."""
    function = space.get(message["name"])
    if not callable(function):
        return {"error": "Missing", "text": f"no function {message['name']} is defined"}
    before = {name: space.get(name) for name in message["given"]}
    args = copy.deepcopy(message["args"])
    try:
        space.update({name: stub(name, message["id"]) for name in message["given"]})
        value = function(*args, **message["kwargs"])
    finally:
        space.update(before)
    changed = any(
        isinstance(a, np.ndarray) and not np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(args, message["args"], strict=True)
    )
    return {"value": value, "changed": changed}


def get(space, message):
    """Fetch a variable."""
    if message["name"] not in space:
        return {"error": "Missing", "text": f"nothing is called {message['name']}"}
    value = space[message["name"]]
    if value is ...:
        return {"error": "NotImplementedError", "text": "no answer yet"}
    return {"value": value}


def open_what_is_there(file, mode="r", *args, opener=None, **options):
    """`open` that does not ask for a new file, which is refused, where none is needed."""
    if file == os.devnull and opener is None:

        def opener(path, flags):
            return os.open(path, flags & ~os.O_CREAT)

    return OPEN(file, mode, *args, opener=opener, **options)


def alarm(number, frame):
    """End what takes too long, if it lets itself be ended."""
    raise TimeUpError


class Rules(ctypes.Structure):
    """A seccomp program as the kernel takes it: how many steps of 8 bytes, and where they are."""

    _fields_ = (("steps", ctypes.c_ushort), ("program", ctypes.c_char_p))


def give_up_calls(program):
    """Let the kernel refuse some system calls from now on; no way leads back."""
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, by_filter = 38, 22, 2
    rules = Rules(len(program) // 8, program)
    for call in (
        (no_new_privileges, 1, 0, 0, 0),
        (set_seccomp, by_filter, ctypes.byref(rules), 0, 0),
    ):
        if libc.prctl(*call):
            raise OSError(ctypes.get_errno(), "the system calls cannot be given up")


def main():
    """Answer one message after another until the grader hangs up."""
    if USER != "-":
        os.setgroups([])
        os.setgid(int(USER))
        os.setuid(int(USER))
    for limit, value in LIMITS.items():
        resource.setrlimit(limit, (value, value))
    if RULES:
        give_up_calls(bytes.fromhex(RULES))
    signal.signal(signal.SIGPROF, alarm)
    sys.meta_path.append(OnlyNumpy)
    warnings.simplefilter("ignore")
    builtins.open = open_what_is_there
    space = {"__name__": "__main__", "np": np}
    operations = {"cell": run_cell, "call": call, "get": get}
    wire.send(WRITE, {"ready": True})
    while True:
        try:
            message = wire.receive(READ)
        except wire.WireError:
            os._exit(0)
        try:
            signal.setitimer(signal.ITIMER_PROF, message["seconds"])
            reply = operations[message["op"]](space, message)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the student too
            signal.setitimer(signal.ITIMER_PROF, 0)
            reply = failure(error, "<cell")
        try:
            wire.send(WRITE, reply | {"id": message["id"]})
        except wire.WireError as error:
            reply = {"error": "TooLarge", "text": str(error)}
            wire.send(WRITE, reply | {"id": message["id"]})


if __name__ == "__main__":
    main()
