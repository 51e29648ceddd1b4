"""``python -m coursework release | check | grade | selftest | export``."""

import argparse
import os
import sys
from pathlib import Path

from coursework import batch, files, gradescope, nbgrader, proof, release, selftest, tables
from coursework.model import OWN, load
from coursework.sandbox import SandboxError


def parser():
    """All commands and options."""
    top = argparse.ArgumentParser(prog="python -m coursework", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="command")

    def command(name, run, text):
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        made.add_argument(
            "--assignments",
            default=OWN,
            metavar="DIR",
            help="where assignment sources are kept (default: those shipped)",
        )
        made.add_argument(
            "--course", type=as_typed, metavar="KEY", help="the course's variant of the assignment"
        )
        return made

    c = command("release", run_release, "make the student notebook")
    c.add_argument("assignment", nargs="*", help="default: all")
    c.add_argument("--out", default="release", metavar="DIR")

    c = command("check", run_check, "grade one notebook and print the result")
    c.add_argument("assignment")
    c.add_argument("notebook")
    _sandbox_options(c)

    c = command("grade", run_grade, "grade a folder or zip of submissions")
    c.add_argument("assignment")
    c.add_argument("folder")
    c.add_argument("--out", metavar="DIR", help="default: graded/ASSIGNMENT")
    c.add_argument("--jobs", type=int, default=2, help="processes at once (default 2)")
    c.add_argument("--shard", default="0/1", metavar="i/n", help="grade every n-th, from the i-th")
    c.add_argument(
        "--manual", metavar="CSV", help="scores of written answers: answers.csv, filled in"
    )
    c.add_argument("--canvas", metavar="CSV", help="the gradebook exported from Canvas")
    c.add_argument("--moodle", metavar="CSV", help="the grading worksheet downloaded from Moodle")
    c.add_argument(
        "--column",
        metavar="TITLE",
        help="title of the column for the grade (in Moodle's worksheet: Grade, or what your "
        "language calls it)",
    )
    c.add_argument(
        "--comments",
        default="Feedback comments",
        metavar="TITLE",
        help="title of the column for comments in Moodle's worksheet (default: %(default)s)",
    )
    c.add_argument(
        "--any-release",
        action="store_true",
        help="grade also if most notebooks were released from another text",
    )
    _sandbox_options(c)

    c = command("export", run_export, "make a course for nbgrader or an autograder for Gradescope")
    c.add_argument("platform", choices=("nbgrader", "gradescope"))
    c.add_argument("assignment")
    c.add_argument("--out", metavar="PATH", help="folder (nbgrader) or zip (Gradescope)")

    c = command("proof", run_proof, "write the page that shows which check notices what")
    c.add_argument("--out", default="book/coursework_proof.md", metavar="PATH")

    c = command("selftest", run_selftest, "prove that checks and known mistakes fit together")
    c.add_argument("assignment", nargs="*", help="default: all")
    c.add_argument("--declare", action="store_true", help="write losses.json as things are now")
    _sandbox_options(c)
    return top


def as_typed(text):
    """A key, the same in every locale: one that knows ASCII alone breaks other letters."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeDecodeError:
        return text


def _sandbox_options(c):
    c.add_argument("--unsafe", action="store_true", help="run student code without any sandbox")
    c.add_argument("--cell-seconds", type=float, default=10, metavar="S")
    c.add_argument("--call-seconds", type=float, default=5, metavar="S")


def names(options):
    """The assignments asked for, or all there are."""
    there = sorted(p.parent.name for p in Path(options.assignments).glob("*/*.md"))
    return options.assignment or there


def run_release(options):
    """Write student notebooks."""
    variant = "the open variant" if options.course is None else "the variant of your key"
    for name in names(options):
        path = Path(options.out) / f"{name}.ipynb"
        files.write(path, release.release(load(name, options.course, options.assignments)))
        print(f"{path}: {variant}")


def run_check(options):
    """Grade one notebook."""
    from coursework import submissions
    from coursework.grading import Grader, Limits

    assignment = load(options.assignment, options.course, options.assignments)
    box = batch.open_box(options.unsafe, [assignment.folder])
    path = Path(options.notebook)
    submission = submissions.Submission(path.stem, path.stem, path.name)
    try:
        found = submissions.read(path.read_bytes())
        submission.cells, submission.notes, submission.release = found
    except submissions.Unreadable as error:
        submission.reason = submissions.in_a_line(str(error))
    limits = Limits(options.cell_seconds, options.call_seconds)
    result = Grader(assignment, box, limits).grade(submission)
    for line in filter(None, [result["reason"], *result["notes"]]):
        print(line)
    for cell in result["cells"]:
        print(f"cell {cell['cell']} stopped: {cell['error']}")
    for q in result["questions"]:
        print(f"{q['score']:4g} of {q['max_score']:g}  {q['name']}  {' '.join(q['feedback'])}")
        for c in q["checks"]:
            if not c["passed"] and not q["feedback"]:
                print(f"{'':12}{c['name']}: {c['message']}")
    print(
        f"{tables.total(result):4g} of {tables.possible(result):g}  "
        f"{tables.counted(tables.unread(result), 'written answer')} to be read"
    )


def run_grade(options):
    """Grade a folder."""
    options.out = options.out or f"graded/{options.assignment}"
    results = batch.grade_folder(options)
    out = Path(options.out)
    print(f"{tables.counted(len(results), 'submission')}: {out / 'summary.html'}")
    if unread := sum(map(tables.unread, results)):
        print(
            f"{tables.counted(unread, 'answer')} in words to be read, in {out / 'answers.csv'}: no "
            "total has points for them. Before you upload anything, fill in the scores and grade "
            "again with --manual."
        )


def run_export(options):
    """Export for another platform."""
    assignment = load(options.assignment, options.course, options.assignments)
    if options.platform == "nbgrader":
        print(nbgrader.export(assignment, Path(options.out or "nbgrader_course")))
    else:
        print(gradescope.export(assignment, options.out or f"{assignment.name}_autograder.zip"))


def run_proof(options):
    """Write the proof page of the shipped assignments."""
    files.write(options.out, proof.page())
    print(options.out)


def run_selftest(options):
    """Prove assignments."""
    failed = False
    for name in names(options):
        assignment = load(name, options.course, options.assignments)
        if options.declare:
            files.write_json(assignment.folder / "losses.json", selftest.losses(assignment))
            assignment = load(name, options.course, options.assignments)
        release.release(assignment)
        box = batch.open_box(options.unsafe, [assignment.folder])
        faults = selftest.selftest(assignment, box)
        count = sum(len(q.mistakes) for q in assignment.questions)
        checks = sum(len(q.checks) for q in assignment.questions)
        print(
            "\n".join(faults)
            or f"{name}: the reference passes, the blank notebook scores 0, "
            f"{count} known mistakes fail {checks} checks as declared"
        )
        failed |= bool(faults)
    return int(failed)


def main(arguments=None):
    """Run one command; errors are one sentence, not a traceback."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except KeyboardInterrupt:
        print("\ncoursework: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    except (SandboxError, release.ReleaseError, OSError, ValueError) as error:
        print(f"coursework: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
