"""Grades as tables: for people, for Moodle, for Canvas, and the answers to read."""

import csv
import hashlib
import io
import re
from html import escape

# A sign that begins a cell, also for a program that parts cells at semicolons or tabs.
FORMULA = re.compile(r"((?:^|[;\t\r\n])\"*)(?=[=+@-])")
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def total(result):
    """Points so far: checks, and written answers that somebody has read."""
    return result["score"] + sum(written["score"] or 0 for written in result["written"])


def possible(result):
    """The most that could be had."""
    return result["max_score"] + sum(written["max_score"] for written in result["written"])


def unread(result):
    """Written answers that nobody has scored yet."""
    return sum(written["score"] is None for written in result["written"])


def counted(number, noun):
    """A number with its noun, which takes an s in all cases but one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def mistakes(result):
    """Names of diagnosed mistakes, ``question: mistake + mistake``."""
    return [
        f"{q['name']}: {' + '.join(q['diagnosis'])}" for q in result["questions"] if q["diagnosis"]
    ]


def grades(results):
    """One row a submission, one column a question."""
    names = [q["name"] for q in results[0]["questions"]] if results else []
    written = [w["name"] for w in results[0]["written"]] if results else []
    rows = [
        [
            "student",
            "name",
            "total",
            "possible",
            "unread",
            "status",
            *names,
            *written,
            "mistakes",
            "remarks",
            "file",
            "seconds",
        ]
    ]
    for r in results:
        rows.append(
            [
                r["student"],
                r["name"],
                _number(total(r)),
                _number(possible(r)),
                unread(r),
                r["status"],
                *(_number(q["score"]) for q in r["questions"]),
                *("" if w["score"] is None else _number(w["score"]) for w in r["written"]),
                "; ".join(mistakes(r)),
                "; ".join(filter(None, [r["reason"], *r["notes"]])),
                r["file"],
                r["seconds"],
            ]
        )
    return _text(rows)


def moodle(results):
    """Moodle's offline grading worksheet; Identifier comes from the names of its download."""
    rows = [["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments"]]
    for r in results:
        identifier = f"Participant {r['moodle']}" if r["moodle"] else r["student"]
        told = escape(summary(r))  # a comment there is HTML
        rows.append([identifier, r["name"], _number(total(r)), _number(possible(r)), told])
    return _text(rows)


def canvas(results, column, roster=None):
    """Canvas's gradebook import.

    Parameters
    ----------
    results : list of dict
    column : str
        Title of the assignment's column; in an existing one ``Name (12345)``.
    roster : list of dict, optional
        Rows of the gradebook exported from Canvas: everybody in it gets a row, matched by the ID
        in the name of the file; where the name has none, it is taken for a login.
    """
    rows = [[*CANVAS_COLUMNS, column]]
    if roster is None:
        for r in results:
            rows.append(
                [
                    r["name"],
                    r["canvas"],
                    "",
                    "" if r["canvas"] else r["student"],
                    "",
                    _number(total(r)),
                ]
            )
        return _text(rows)
    by_id = {r["canvas"]: r for r in results if r["canvas"]}
    by_login = {r["student"]: r for r in results if not r["canvas"]}
    for person in roster:
        if not (person.get("ID") or "").strip().isdigit():
            continue  # Canvas's "Points Possible" row
        login = (person.get("SIS Login ID") or "").strip()
        found = by_id.get(person["ID"].strip()) or by_login.get(login)
        rows.append(
            [*(person.get(c, "") for c in CANVAS_COLUMNS), _number(total(found)) if found else ""]
        )
    return _text(rows)


def answers(results):
    """Written answers with empty columns for score and comment: fill in, hand back."""
    rows = [["student", "question", "max_score", "score", "comment", "version", "answer"]]
    for r in results:
        for w in r["written"]:
            if w["answer"]:
                score = "" if w["score"] is None else _number(w["score"])
                rows.append(
                    [
                        r["student"],
                        w["name"],
                        _number(w["max_score"]),
                        score,
                        w["comment"],
                        version(w["answer"]),
                        w["answer"],
                    ]
                )
    return _text(rows)


def version(answer):
    """What tells whether a score was given for this very answer."""
    return "v" + hashlib.sha256(answer.encode(errors="replace")).hexdigest()[:12]


def read_scores(path):
    """(student, question) -> (score, comment, version), from the table that `answers` makes."""
    with open(path, newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    found = {}
    for line, row in enumerate(rows, 2):
        try:
            score = (row["score"] or "").strip()
            if score:
                key = row["student"], row["question"]
                found[key] = float(score), row["comment"] or "", row["version"]
        except KeyError as error:
            raise ValueError(f"{path} has no column {error}") from None
        except ValueError:
            raise ValueError(f"{path}, line {line}: the score {score!r} is no number") from None
    return found


def read_roster(path):
    """Rows of a gradebook exported from Canvas."""
    with open(path, newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    if not rows or "ID" not in rows[0]:
        raise ValueError(f"{path} needs the columns of a Canvas gradebook, above all ID")
    return rows


def summary(result):
    """Feedback in a few sentences, for a platform's comment field."""
    if result["reason"]:
        return result["reason"]
    lines = []
    for q in result["questions"]:
        said = " ".join(q["feedback"])
        if not said and q["score"] < q["max_score"]:
            said = next(c["message"] for c in q["checks"] if not c["passed"])
        if said:
            lines.append(f"{q['name']} ({q['score']:g} of {q['max_score']:g}): {said}")
    return " ".join(lines) or "Everything that is checked is right."


def _number(x):
    return f"{x:g}"


def _text(rows):
    """CSV in which no name and no answer can become a formula, whatever takes it apart where."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    for row in rows:
        writer.writerow([FORMULA.sub(r"\1'", "" if cell is None else str(cell)) for cell in row])
    return stream.getvalue()
