"""Where a student's process runs, and how it is ended.

`Bubblewrap` is what `grade` uses. `SeparateUser` is for a container that cannot nest and runs as
root (Gradescope). `Unprotected` is what ``--unsafe`` means.
"""

import contextlib
import fcntl
import itertools
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PROGRAM = (HERE / "wire.py", HERE / "worker.py")
PACKAGES = Path(np.__file__).resolve().parents[1]
ENVIRONMENT = {"LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} | {
    name: os.environ[name]
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    if name in os.environ
}

# System calls that a calculation never needs: new processes and threads, sockets, memory outside
# the memory limit, name spaces, other processes, news of them; files made, moved or cut; and what
# leaves a mark that others may see: owners, modes and times of files, locks on them, and which of
# them are in memory. Their numbers on x86_64 and on aarch64.
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FORBIDDEN_CALLS = {
    "mincore": (27, 232),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "fork": (57, None),
    "vfork": (58, None),
    "semget": (64, 190),
    "msgget": (68, 186),
    "flock": (73, 32),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "rename": (82, None),
    "mkdir": (83, None),
    "rmdir": (84, None),
    "creat": (85, None),
    "link": (86, None),
    "unlink": (87, None),
    "symlink": (88, None),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "ptrace": (101, 117),
    "utime": (132, None),
    "mknod": (133, None),
    "mount": (165, 40),
    "readahead": (187, 213),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "io_setup": (206, 0),
    "fadvise64": (221, 223),
    "utimes": (235, None),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "inotify_init": (253, None),
    "mkdirat": (258, 34),
    "mknodat": (259, 33),
    "fchownat": (260, 54),
    "futimesat": (261, None),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "linkat": (265, 37),
    "symlinkat": (266, 36),
    "fchmodat": (268, 53),
    "unshare": (272, 97),
    "splice": (275, 76),
    "tee": (276, 77),
    "vmsplice": (278, 75),
    "utimensat": (280, 88),
    "fallocate": (285, 47),
    "inotify_init1": (294, 26),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "renameat2": (316, 276),
    "memfd_create": (319, 279),
    "bpf": (321, 280),
    "execveat": (322, 281),
    "userfaultfd": (323, 282),
    "preadv2": (327, 286),
    "io_uring_setup": (425, 425),
    "pidfd_open": (434, 434),
    "clone3": (435, 435),
    "openat2": (437, 437),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "memfd_secret": (447, 447),
    "futex_waitv": (449, 449),
    "cachestat": (451, 451),
    "fchmodat2": (452, 452),
    "futex_wake": (454, 454),
    "futex_wait": (455, 455),
    "futex_requeue": (456, 456),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
EQUAL, ANY_BIT = 0x15, 0x45  # tests of the filter
NAMELESS = os.O_TMPFILE & ~os.O_DIRECTORY  # a new file without a name
# Forbidden with some arguments only: numbers, which argument, test, values.
FORBIDDEN_ARGUMENTS = {
    "open": ((2, None), 1, ANY_BIT, (os.O_CREAT, NAMELESS)),
    "openat": ((257, 56), 2, ANY_BIT, (os.O_CREAT, NAMELESS)),
    "madvise": ((28, 233), 2, EQUAL, (20, 21)),  # MADV_COLD, MADV_PAGEOUT: out of memory with it
}
# Allowed with some arguments only.
ALLOWED_ARGUMENTS = {
    # Not the locks, the leases and the notices: they concern the file and whoever opens it.
    "fcntl": (
        (72, 25),
        1,
        EQUAL,
        (
            fcntl.F_DUPFD,
            fcntl.F_GETFD,
            fcntl.F_SETFD,
            fcntl.F_GETFL,
            fcntl.F_SETFL,
            fcntl.F_DUPFD_CLOEXEC,
        ),
    ),
    # Any other futex in a mapped file wakes whoever has mapped the same one.
    "futex": ((202, 98), 1, ANY_BIT, (128,)),  # FUTEX_PRIVATE_FLAG
}


class SandboxError(Exception):
    """The sandbox cannot be had here; the text says how to get it."""


class Bubblewrap:
    """No network, no file but Python and numpy, nothing to write to, no second process."""

    def __init__(self, hidden=()):
        self.hidden = [Path(p).resolve() for p in hidden]
        self.seen = _interpreter()
        for folder in self.hidden:
            for root in self.seen:
                if folder.is_relative_to(root):
                    raise SandboxError(
                        f"{folder} lies inside {root}, which the sandbox shows to student code "
                        "because Python lives there: move it somewhere else."
                    )
        if not shutil.which("bwrap"):
            raise SandboxError(
                "bubblewrap is not installed. On Debian and Ubuntu: sudo apt install bubblewrap. "
                "It exists for Linux only: on another system grade in a Linux container or use an "
                "export (nbgrader, Gradescope)."
            )
        self.filter = _filter()

    def start(self, read, write):
        """Start the worker on two file descriptors; returns the process."""
        filter_read, filter_write = os.pipe()
        os.write(filter_write, self.filter)
        os.close(filter_write)
        command = [
            "bwrap",
            "--unshare-all",
            "--unshare-user",
            "--uid",
            "65534",
            "--gid",
            "65534",
            "--cap-drop",
            "ALL",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--hostname",
            "box",
            "--seccomp",
            str(filter_read),
        ]
        for name, value in ENVIRONMENT.items():
            command += ["--setenv", name, value]
        for path in self.seen:
            command += ["--ro-bind", str(path), str(path)]
            for pattern in ("*-packages", "python3*/*-packages"):
                for folder in path.glob(pattern):
                    command += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
        for path in PROGRAM:
            command += ["--ro-bind", str(path), f"/box/{path.name}"]
        for name in ("numpy", "numpy.libs"):
            if (PACKAGES / name).is_dir():
                command += ["--ro-bind", str(PACKAGES / name), f"/box/packages/{name}"]
        command += [
            "--dev-bind",
            "/dev/null",
            "/dev/null",
            "--chdir",
            "/box",
            "--remount-ro",
            "/",
            "--",
            *_worker(read, write, program="/box/worker.py", packages="/box/packages"),
        ]
        try:
            return _popen(command, (read, write, filter_read), env={"PATH": os.environ["PATH"]})
        finally:
            os.close(filter_read)

    def stop(self, process):
        """End the process and, with its process name space, everything it may have started."""
        process.kill()
        process.wait()

    @staticmethod
    def advice(reason):
        """What to do when it does not start, in bubblewrap's own words if it has any."""
        trial = ["bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]
        tried = subprocess.run(trial, capture_output=True, text=True, check=False)
        reason = tried.stderr.strip() or reason
        return (
            f"bubblewrap does not start here: {reason or 'no reason given'}\n"
            "Ubuntu since 24.04 and many hosted machines forbid it to users. As administrator:\n"
            "    sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
            "or, elsewhere,\n"
            "    sudo sysctl -w kernel.unprivileged_userns_clone=1\n"
            "and to a container that runs this add\n"
            "    --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
        )


class SeparateUser:
    """A user for each process, who may not read sources or submissions: for root in a container.

    The worker starts as root, so that it can read Python wherever it is installed. Before the
    first message it becomes that user and gives up the same system calls as in bubblewrap, so that
    there is no network and no second process either.
    """

    FIRST_USER, USERS = 2_000_000, 500  # numbers that no machine gives to people; how many for each
    PATIENCE = 5  # seconds

    def __init__(self, hidden=()):
        if os.geteuid() != 0:
            raise SandboxError("a separate user needs root")
        self.filter = _filter()
        self.count = itertools.count()
        for folder in hidden:
            os.chown(folder, 0, 0)
            os.chmod(folder, 0o700)

    def start(self, read, write):
        """Start the worker on two file descriptors; returns the process."""
        user = self.FIRST_USER + self.USERS * os.getpid() + 2 * next(self.count)
        command = _worker(read, write, user, self.filter)
        process = _popen(command, (read, write), env=ENVIRONMENT, cwd="/")
        process.user = user
        return process

    def stop(self, process):
        """End the process, and at once every other one of its user's, should there be any.

        Whoever kills them has that user's rights for it but belongs to another, so that nobody
        among them can stop it first.
        """
        process.kill()
        process.wait()
        told, tell = os.pipe()
        killer = os.fork()
        if not killer:
            try:
                os.setgroups([])
                os.setresgid(process.user, process.user, process.user)
                os.setresuid(process.user + 1, process.user, process.user + 1)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.close(tell)
        select.select([told], [], [], self.PATIENCE)  # readable when the killer has ended
        os.close(told)
        os.kill(killer, signal.SIGKILL)
        os.waitpid(killer, 0)


class Unprotected:
    """No wall: memory, time and output are limited, but every file and the network are open."""

    def __init__(self, hidden=()):
        pass

    def start(self, read, write):
        """Start the worker on two file descriptors; returns the process."""
        return _popen(_worker(read, write), (read, write), env=ENVIRONMENT)

    def stop(self, process):
        """End the process and its group."""
        for kill in (lambda: os.killpg(process.pid, signal.SIGKILL), process.kill):
            with contextlib.suppress(OSError):
                kill()
        process.wait()


def _popen(command, fds, **options):
    return subprocess.Popen(
        command,
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )


def _python():
    return os.path.realpath(sys.executable)


def _worker(read, write, user="-", rules=b"", program=PROGRAM[-1], packages=PACKAGES):
    parts = [_python(), "-I", "-S", "-B", program, read, write, packages, user, rules.hex()]
    return [str(part) for part in parts]


def _interpreter():
    """The files that Python itself needs: nothing else of the machine is shown."""
    library = sysconfig.get_config_var("INSTSONAME") or "no library"
    candidates = [
        "/lib",
        "/lib64",
        "/usr/lib",
        "/usr/lib64",
        "/etc/alternatives",
        "/etc/ld.so.cache",
        _python(),
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        os.path.join(sysconfig.get_config_var("LIBDIR") or "", library),
        os.path.join(os.path.dirname(_python()), "..", "lib", library),
    ]
    found = sorted({Path(p) for p in candidates if p and os.path.exists(p)})
    return [p for p in found if not any(p != q and p.is_relative_to(q) for q in found)]


def _filter():
    """The seccomp program: kill other architectures, refuse the forbidden calls, allow the rest."""
    if platform.machine() not in MACHINES:
        raise SandboxError(f"no list of system calls for {platform.machine()} machines")
    audit, column = MACHINES[platform.machine()], list(MACHINES).index(platform.machine())

    def step(code, value, skipped=0):
        """One instruction; a test that fails skips so many."""
        return struct.pack("<HBBI", code, 0, skipped, value)

    load, jump, at_least, give = 0x20, 0x05, 0x35, 0x06
    kill, refuse, allow = (step(give, v) for v in (0x80000000, 0x00050001, 0x7FFF0000))  # EPERM
    program = step(load, 4) + step(EQUAL, audit, 1) + step(jump, 1) + kill
    program += step(load, 0) + step(at_least, 0x40000000, 1) + refuse
    for numbers in FORBIDDEN_CALLS.values():
        if numbers[column] is not None:
            program += step(EQUAL, numbers[column], 1) + refuse
    for some, hit, miss in (
        (FORBIDDEN_ARGUMENTS, refuse, allow),
        (ALLOWED_ARGUMENTS, allow, refuse),
    ):
        for numbers, argument, test, values in some.values():
            if numbers[column] is not None:
                inside = step(load, 16 + 8 * argument)
                inside += b"".join(step(test, value, 1) + hit for value in values) + miss
                program += step(EQUAL, numbers[column], len(inside) // 8) + inside
    return program + allow
