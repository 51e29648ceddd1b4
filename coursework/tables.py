"""Grades as tables: for people, for Moodle, for Canvas, and the answers to read."""

import codecs
import csv
import hashlib
import io
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

# A sign that begins a cell, also for a program that parts cells at semicolons or tabs.
FORMULA = re.compile(r"((?:^|[;\t\r\n])\"*)(?=[=+@＝＋＠－-])")
MISSING = ("no function ", "nothing ")  # how a message begins that finds no such name
CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE_COLUMNS = (
    "Identifier",
    "Full name",
    "Grade",
    "Maximum Grade",
    "Last modified (grade)",  # Moodle refuses a worksheet without it; it may be empty
    "Feedback comments",
)


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


def called(question):
    """A question as students know it: a function by its name, others by their place too."""
    return f"Task {question['label']} {question['name']}" if question["label"] else question["name"]


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
    rows = [MOODLE_COLUMNS]
    for r in results:
        identifier = f"Participant {r['moodle']}" if r["moodle"] else r["student"]
        number, most = _number(total(r)), _number(possible(r))
        rows.append([identifier, r["name"], number, most, "", _comment(r)])
    return _text(rows)


def moodle_worksheet(results, worksheet, grade, comments):
    """The worksheet that Moodle itself gave out, with grades and comments filled in.

    Parameters
    ----------
    results : list of dict
    worksheet : list of list of str
        All its rows. Titles and every other cell stay as they are, in whatever language.
    grade, comments : str
        Titles of the two columns; without a column of comments there are none.
    """
    head, *people = worksheet
    by_number = {r["moodle"]: r for r in results if r["moodle"]}
    for row in people:
        number = re.search(r"\d*$", row[0].strip())[0]  # "Participant 4711", in any language
        if found := by_number.get(number):
            row[head.index(grade)] = _number(total(found))
            if comments in head:
                row[head.index(comments)] = _harmless(_comment(found))
    return _written([head, *people])


def not_in_worksheet(results, worksheet):
    """Names of graded people who have no row in Moodle's worksheet."""
    numbers = {re.search(r"\d*$", row[0].strip())[0] for row in worksheet[1:]}
    return [r["student"] for r in results if not r["moodle"] or r["moodle"] not in numbers]


def _comment(result):
    return escape(summary(result))  # a comment in Moodle is HTML


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
    for person, found in _matched(results, roster):
        rows.append(
            [*(person.get(c, "") for c in CANVAS_COLUMNS), _number(total(found)) if found else ""]
        )
    return _text(rows)


def _matched(results, roster):
    """Pairs of a person of Canvas's export and their result, or None."""
    by_id = {r["canvas"]: r for r in results if r["canvas"]}
    by_login = {r["student"]: r for r in results if not r["canvas"]}
    for person in roster:
        if (person.get("ID") or "").strip().isdigit():  # not Canvas's "Points Possible" row
            login = (person.get("SIS Login ID") or "").strip()
            yield person, by_id.get(person["ID"].strip()) or by_login.get(login)


def not_in_roster(results, roster):
    """Names of graded people who have no row in Canvas's export."""
    there = [found["student"] for _, found in _matched(results, roster) if found]
    return [r["student"] for r in results if r["student"] not in there]


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
    return "\ufeff" + _text(rows)  # or a spreadsheet on Windows takes UTF-8 for something else


def version(answer):
    """What tells whether a score was given for this very answer."""
    return "v" + hashlib.sha256(answer.encode(errors="replace")).hexdigest()[:12]


class Score(NamedTuple):
    """What a person gave to one answer, and in which row it stands."""

    score: float
    comment: str
    version: str
    row: int


def read_scores(path):
    """(student, question) -> `Score`, from the table that `answers` makes."""
    head, *rows = read_rows(path)
    if missing := [c for c in ("student", "question", "score", "version") if c not in head]:
        raise ValueError(f"{path} has no column {', '.join(missing)}: {', '.join(head)}")
    found, bad = {}, []
    for number, cells in enumerate(rows, 2):
        row = dict.fromkeys(head, "") | dict(zip(head, cells, strict=False))
        if score := row["score"].strip():
            try:
                points = float(score.replace(",", "."))
            except ValueError:
                bad.append(f"row {number}: the score {score!r} is no number")
                continue
            key = row["student"].strip(), row["question"].strip()
            found[key] = Score(points, row.get("comment", ""), row["version"].strip(), number)
    if bad:
        raise ValueError(f"{path}, {'; '.join(bad)}")
    return found


def give_scores(results, scores, path):
    """Write the scores of ``path`` into the results; returns why some could not be given."""
    students = {r["student"] for r in results}
    answers = {(r["student"], w["name"]): w for r in results for w in r["written"]}
    lost, bad = [], []
    for key, given in sorted(scores.items()):
        label, written = " ".join(key), answers.get(key)
        if key[0] not in students:
            lost.append(f"{label}: no score, nobody of that name is graded")
        elif written is None:
            lost.append(f"{label}: no score, no question in words has that name")
        elif given.version != version(written["answer"]):
            lost.append(f"{label}: no score, the answer is not the one that was read")
        elif not 0 <= given.score <= written["max_score"]:
            most = _number(written["max_score"])
            bad.append(f"row {given.row}: {label}: {given.score:g} points of {most}")
        else:
            written["score"], written["comment"] = given.score, given.comment
    if bad:
        raise ValueError(f"{path}, {'; '.join(bad)}")
    return lost


def read_roster(path, column=None):
    """Rows of a gradebook exported from Canvas, which has this column."""
    head, *rows = read_rows(path)
    if "ID" not in head:
        raise ValueError(f"{path} needs the columns of a Canvas gradebook, above all ID")
    if column is not None and column not in head:
        raise ValueError(f"{path} has no column {column!r}: {', '.join(head)}")
    return [dict(zip(head, row, strict=False)) for row in rows]


def read_worksheet(path, grade):
    """Rows of a grading worksheet downloaded from Moodle."""
    rows = read_rows(path)
    if grade not in rows[0]:
        raise ValueError(
            f"{path} has no column {grade!r}; --column TITLE says which one is for the grade: "
            + ", ".join(rows[0])
        )
    return [row + [""] * (len(rows[0]) - len(row)) for row in rows]


def read_rows(path):
    """Rows of a table as platforms and spreadsheets save it, without empty ones.

    Separated by commas, semicolons or tabs; in UTF-8, UTF-16 or what Windows takes for Latin-1.
    """
    raw = Path(path).read_bytes()
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", errors="replace")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise ValueError(f"{path} is no table that can be read: {error}") from None
    rows = [row for row in rows if any(row)]
    if not rows:
        raise ValueError(f"{path} is empty")
    return rows


def stopped(result, question):
    """Why a question finds nothing under its name: the cells that should define it stopped."""
    if not any(c["message"].startswith(MISSING) for c in question["checks"]):
        return ""
    cells = [c for c in result["cells"] if question["name"] in c["defines"]]
    return " ".join(_sentence(f"Cell {c['cell']} stopped: {c['error']}") for c in cells)


def summary(result):
    """Feedback in a few sentences, for a platform's comment field."""
    if result["reason"]:
        return _sentence(result["reason"])
    lines, said = [f"Note: {note}" for note in result["notes"]], {}
    for q in result["questions"]:
        if q["score"] < q["max_score"]:
            why = " ".join(q["feedback"]) or stopped(result, q)
            why = why or next(c["message"] for c in q["checks"] if not c["passed"])
            label = f"{called(q)} ({_number(q['score'])} of {_number(q['max_score'])})"
            said.setdefault(_sentence(why), []).append(label)
    lines += [f"{', '.join(labels)}: {why}" for why, labels in said.items()]
    if not said:
        lines.append("Everything that is checked is right.")
    for w in result["written"]:
        if w["score"] is None:
            lines.append(f"{called(w)}, in words: not read yet, its points are still to come.")
        elif w["comment"] or w["score"] < w["max_score"]:
            points = f"({_number(w['score'])} of {_number(w['max_score'])})"
            comment = w["comment"] or ("" if w["answer"] else "no answer")
            lines.append(f"{called(w)}, in words {points}: {comment}".removesuffix(": "))
    return " ".join(map(_sentence, lines))


def _sentence(text):
    """Text that can stand beside another sentence."""
    text = str(text).strip()
    return text if text.endswith((".", "!", "?", ":", "\u2026")) else text + "."


def _number(x):
    return f"{x:g}"


def _text(rows):
    """CSV in which no name and no answer can become a formula, whatever takes it apart where."""
    return _written([[_harmless(cell) for cell in row] for row in rows])


def _harmless(cell):
    return FORMULA.sub(r"\1'", "" if cell is None else str(cell))


def _written(rows):
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerows(rows)
    return stream.getvalue()
