"""Grade a folder: in parallel, resumable, in shards; write everything that comes of it."""

import concurrent.futures
import contextlib
import ctypes
import hashlib
import json
import resource
import signal
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

from coursework import files, pages, release, source, submissions, tables
from coursework.grading import Grader, Limits
from coursework.model import load
from coursework.sandbox import Bubblewrap, SandboxError, Unprotected
from coursework.session import Session, SessionError

STORED = {"results": "json", "feedback": "html"}  # one file a person in each
ASIDE = "put_aside"
MEMORY = 4 * 2**30  # bytes of address space for a process of the grader
UNSAFE = (
    "--unsafe: student code runs as you, on this machine. It can read your files, other\n"
    "submissions and the hidden checks, use the network, and leave programs running. Only memory,\n"
    "time and output are limited. Do this only with code you trust or on a machine to throw away."
)


def open_box(unsafe, hidden):
    """The sandbox, proved to start; or none, after saying what that means."""
    if unsafe:
        print(UNSAFE, file=sys.stderr)
        return Unprotected()
    box = Bubblewrap(hidden)
    reason = prove(box)
    if reason is not None:
        raise SandboxError(f"{box.advice(reason)}\nNothing was graded. {UNSAFE}")
    return box


def prove(box):
    """None if a process in the box answers, else why not."""
    try:
        with Session(box, time.monotonic() + 30) as session:
            message = {"op": "cell", "source": "answer = 6 * 7", "number": 1}
            session.ask(message, 10)
            reply = session.ask({"op": "get", "name": "answer"}, 10)
    except (SessionError, OSError) as error:
        return str(error)
    return None if reply.get("value") == 42 else "it does not answer as it should"


def grade_folder(job):
    """Grade everything in ``job.folder`` and write tables and pages to ``job.out``."""
    out = Path(job.out)
    assignment = load(job.assignment, job.course, job.assignments)
    # Read first: a table that cannot be read must not be found out after an hour of grading.
    scores = tables.read_scores(job.manual) if job.manual else {}
    roster = tables.read_roster(job.canvas, job.column) if job.canvas else None
    worksheet = tables.read_worksheet(job.moodle, job.column or "Grade") if job.moodle else None
    if out.resolve().is_relative_to(Path(job.folder).resolve()):
        raise ValueError(f"--out must not lie inside the submissions, got {out}")
    hidden = [assignment.folder, Path(job.folder), out]
    box = open_box(job.unsafe, hidden)
    found = submissions.collect(job.folder, {q.name for q in assignment.questions})
    if not found:
        raise ValueError(f"there are no submissions in {job.folder}")
    if not job.any_release:
        refuse_other_release(assignment, found)
    number, count = (int(part) for part in job.shard.split("/"))
    if not 0 <= number < count:
        raise ValueError(f"--shard i/n needs 0 <= i < n, got {job.shard}")
    mine = found[number::count]
    version = _version(assignment, job)
    waiting = [s for s in mine if _done(out, s, version) is None]
    if len(waiting) < len(mine):
        print(f"{len(mine) - len(waiting)} of {len(mine)} are graded already", file=sys.stderr)
    limits = Limits(job.cell_seconds, job.call_seconds)
    arguments = (job.assignment, job.course, job.assignments, box, limits)
    not_now, not_stored = [], {}
    out.mkdir(mode=0o700, parents=True, exist_ok=True)  # grades are not for other users
    for k, (submission, result) in enumerate(_graded(waiting, job.jobs, arguments), 1):
        if result is None:
            not_now.append(submission.student)
            put_aside(out, {submission.student})
        else:
            keep_scores(result, _stored(out, submission.student))
            path = out / "results" / f"{submission.student}.json"
            try:
                files.write_json(path, result | {"version": _signature(submission, version)})
            except OSError as error:  # the others have their results all the same
                not_stored[submission.student] = error.strerror
        _progress(k, len(waiting), submission.student)
    if left := gone(out, found):
        put_aside(out, left)
        print(
            f"no longer in {job.folder}: {', '.join(left)}; their pages are now in {out / ASIDE}",
            file=sys.stderr,
        )
    results = _results(out, {s.student for s in found})
    for said in tables.give_scores(results, scores, job.manual):
        print(said, file=sys.stderr)
    write_all(out, results)
    write_uploads(out, results, roster, worksheet, job)
    if not_now:
        raise SandboxError(
            f"the sandbox did not start for {', '.join(not_now)}, who are not in the tables. Give "
            "the same command again: only they will be graded."
        )
    if not_stored:
        said = ", ".join(f"{student} ({why})" for student, why in not_stored.items())
        raise OSError(f"these results could not be written, and are not in the tables: {said}")
    return results


def keep_scores(result, before):
    """What a person gave to an answer holds as long as it is the same answer; else say so."""
    earlier = {w["name"]: w for w in before.get("written", []) if w["answer"]}
    for written in result["written"]:
        old = earlier.get(written["name"])
        if old is None or old["score"] is None:
            continue
        if old["answer"] == written["answer"] and old["score"] <= written["max_score"]:
            written["score"], written["comment"] = old["score"], old["comment"]
        else:
            print(
                f"{result['student']} {written['name']}: the answer or its points have changed; "
                f"the {old['score']:g} points given before are not kept",
                file=sys.stderr,
            )


def put_aside(out, students):
    """Move what is stored of these people where no table and no upload finds it."""
    for student in students:
        for kind, suffix in STORED.items():
            path = out / kind / f"{student}.{suffix}"
            if path.exists():
                (out / ASIDE / kind).mkdir(parents=True, exist_ok=True)
                path.replace(out / ASIDE / kind / path.name)


def gone(out, found):
    """People of whom something is stored and who are no longer in the folder."""
    stored = {p.stem for kind, suffix in STORED.items() for p in (out / kind).glob(f"*.{suffix}")}
    return sorted(stored - {submission.student for submission in found})


def refuse_other_release(assignment, found):
    """Stop if most were made from something else than what grades them: all would look wrong."""
    mine = source.fingerprint(release.student_cells(assignment))
    told = [submission.release for submission in found if submission.release]
    other = len(told) - told.count(mine)
    if 2 * other > len(told):
        raise ValueError(
            f"{other} of {len(told)} submissions were released with another COURSE (or another "
            "version, or another assignment): give the same COURSE. Nothing was graded. If you "
            "have changed the text of the assignment since, and mean it: --any-release"
        )


def write_uploads(out, results, roster, worksheet, job):
    """Tables for platforms."""
    if worksheet is None:
        files.write(out / "moodle.csv", tables.moodle(results))
    else:
        grade, comments = job.column or "Grade", job.comments
        if comments not in worksheet[0]:
            print(
                f"{job.moodle} has no column {comments!r}, so there are no comments in moodle.csv; "
                "--comments TITLE says which column they belong in",
                file=sys.stderr,
            )
        _name_missing(tables.not_in_worksheet(results, worksheet), job.moodle)
        text = tables.moodle_worksheet(results, worksheet, grade, comments)
        files.write(out / "moodle.csv", text)
    if roster is not None:
        _name_missing(tables.not_in_roster(results, roster), job.canvas)
    column = job.column or job.assignment.upper()
    files.write(out / "canvas.csv", tables.canvas(results, column, roster))


def _name_missing(students, path):
    if students:
        print(f"not in {path}, so not in the table: {', '.join(students)}", file=sys.stderr)


def write_all(out, results):
    """Tables and pages of all results there are so far."""
    for result in results:
        files.write_json(out / "results" / f"{result['student']}.json", result)
        files.write(out / "feedback" / f"{result['student']}.html", pages.feedback(result))
    files.write(out / "grades.csv", tables.grades(results))
    if any(result["written"] for result in results):
        files.write(out / "answers.csv", tables.answers(results))
    files.write(out / "summary.html", pages.class_summary(results))


def _graded(waiting, jobs, arguments):
    """Pairs of submission and result, as they come.

    When a process of the pool dies, those that it leaves behind are graded one by one, each in a
    process of its own: so it shows whose submission that was, and nobody else loses anything.
    """

    def pool(size):
        return concurrent.futures.ProcessPoolExecutor(size, None, _prepare, arguments)

    left = {s.student: s for s in waiting}
    with contextlib.suppress(BrokenProcessPool), pool(jobs) as several:
        futures = {several.submit(_grade, s): s.student for s in waiting}
        for future in concurrent.futures.as_completed(futures):
            result = future.result()
            yield left.pop(futures[future]), result
    for submission in left.values():
        try:
            with pool(1) as one:
                yield submission, one.submit(_grade, submission).result()
        except BrokenProcessPool:
            fault = "grading it ended the process of the grader"
            with pool(1) as one:
                unread = replace(submission, cells=None, reason=fault)
                yield submission, one.submit(_grade, unread).result()


_grader = None
DIES_WITH_PARENT = 1  # the number that prctl gives to it


def _prepare(assignment, course, folder, box, limits):
    global _grader
    if sys.platform == "linux":  # a command that is killed leaves nobody behind
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(ValueError):  # where less is allowed already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    _grader = Grader(load(assignment, course, folder), box, limits)


def _grade(submission):
    """One result, whatever happens: a fault of the grader itself must not end the batch.

    None if the sandbox did not start: that is no fault of the student's.
    """
    try:
        return _grader.grade(submission)
    except SandboxError:
        return None
    except Exception as error:
        fault = f"the grader itself failed ({type(error).__name__}: {str(error)[:200]})"
        return _grader.grade(replace(submission, cells=None, reason=fault))


def _version(assignment, job):
    """Changes when the assignment, the variant or the tool changes."""
    digest = hashlib.sha256(f"{job.course}/{job.cell_seconds}/{job.call_seconds}".encode())
    own = Path(__file__).parent.glob("*.py")
    for path in sorted([*own, *assignment.folder.glob("*.*")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _signature(submission, version):
    described = f"{version}/{submission.digest}/{submission.reason}/{submission.notes}"
    return hashlib.sha256(described.encode(errors="replace")).hexdigest()


def _done(out, submission, version):
    """The stored result, if it is of these very bytes."""
    result = _read(out / "results" / f"{submission.student}.json")
    return result if result.get("version") == _signature(submission, version) else None


def _stored(out, student):
    """What is stored of somebody, maybe put aside; {} if nothing is."""
    name = f"{student}.json"
    return _read(out / "results" / name) or _read(out / ASIDE / "results" / name)


def _read(path):
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _results(out, students):
    """All stored results of this folder's students, of every shard."""
    results = []
    for path in sorted((out / "results").glob("*.json")):
        if path.stem in students:
            results.append(json.loads(path.read_text("utf-8")))
    return results


def _progress(done, everything, name):
    filled = round(30 * done / everything)
    end = "\n" if done == everything or not sys.stderr.isatty() else "\r"
    bar = "#" * filled + "." * (30 - filled)
    print(f"[{bar}] {done}/{everything} {name:30.30}", end=end, file=sys.stderr, flush=True)
