"""What was handed in: find it in whatever a learning platform hands out, and read it.

Nothing is unpacked to disk and no link is followed, so a submission can name no file but itself.
What one student hands in may unpack to so many bytes and files and no more. Whatever cannot be read
keeps its place in the list, with the reason.
"""

import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import NamedTuple

FILE_LIMIT = 20 * 2**20  # bytes of one notebook
STUDENT_BYTES = 2 * FILE_LIMIT  # all files of one student, unpacked
ENTRY_LIMIT = 5000  # files in the archives of one student
STUDENT_LIMIT = 50  # files of one student that are looked at, and zips that are opened
# Of the others Python's zipfile unpacks everything at once, whatever size the entry tells.
METHODS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
CELL_LIMIT = 2000
BRACKETS_LIMIT = 2**20  # opening ones in the text of a notebook: each makes a thing in memory
SOURCE_LIMIT = 2**20  # characters of one cell
NAME_BYTES = 120  # of a person's name in the name of a file: the disk takes 255 in all
# A student chooses the end of such a name: the first number is the platform's.
MOODLE = re.compile(r"(.+?)_(\d{1,20})_assignsubmission_\w+?(_.*)?$", re.S)
CANVAS = re.compile(r"([^_]+)_(?:LATE_)?(\d{1,20})_\d{1,20}_(.+)$", re.S)
LATE = re.compile(r"[^_]+_LATE_\d+_\d+_", re.S)
NOISE = re.compile(
    r"(^|/)(\.ipynb_checkpoints|__MACOSX|\._[^/]*|\.DS_Store|\.git|Thumbs\.db|desktop\.ini)(/|$)"
)


class Unreadable(Exception):
    """A file is no notebook; the text is a sentence for whoever handed it in."""


@dataclass
class Cell:
    """One cell as it was handed in."""

    kind: str  # "code" or "markdown"
    source: str
    id: str = ""


@dataclass
class Submission:
    """Everything of one student.

    Attributes
    ----------
    student : str
        Name safe for files, unique in the batch: the person's, then ``~`` and the number that the
        platform gives, or a digest if others have nearly the same name. So nobody can take the
        name that somebody else has alone.
    name, moodle, canvas : str
        What the platform calls the person, as far as the file name says.
    file : str
        Which file counts.
    cells : list of Cell or None
        None if there is nothing to run; then `reason` says why.
    notes : list of str
        What was repaired or chosen, for the feedback.
    digest : str
        Of all that was handed in, to notice changes.
    release : str
        Fingerprint of the release that the notebook was made from, if it says so.
    """

    student: str
    name: str
    file: str = ""
    cells: list[Cell] | None = None
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    moodle: str = ""
    canvas: str = ""
    digest: str = ""
    release: str = ""


class _Owner(NamedTuple):
    """Who handed a file in, as far as its top name says; ``top`` where no platform has a number."""

    name: str
    moodle: str = ""
    canvas: str = ""
    top: str = ""

    @property
    def student(self):
        safe = re.sub(r"[^\w.@+-]+", "_", self.name).strip("._@+-")
        safe = safe.encode()[:NAME_BYTES].decode(errors="ignore") or "unnamed"
        number = self.moodle or self.canvas
        return f"{safe}~{number}" if number else safe


@dataclass
class _File:
    path: str
    order: tuple  # later is larger
    read: Callable  # gives bytes, or raises Unreadable
    size: int = 0  # of these bytes
    folder: bool = False  # nothing lies in it

    @property
    def is_zip(self):
        return self.path.lower().endswith(".zip")


def collect(where, wanted):
    """All submissions of a folder or zip, sorted by student.

    Parameters
    ----------
    where : path
        A folder or a zip.
    wanted : set of str
        Names that the assignment asks for: of several notebooks the one that defines most of
        them counts, then the latest.
    """
    where = Path(where)
    if not where.exists():
        raise FileNotFoundError(f"submissions: {where} does not exist")
    if not where.is_dir():
        try:
            with zipfile.ZipFile(where) as archive:
                files = _entries(archive) + _empty_folders(archive)
                return _submissions(_without_common_folder(files), wanted)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{where} cannot be opened: {error}") from None
    return _submissions(_folder(where), wanted)


def _submissions(files, wanted):
    groups = {}
    for file in files:
        groups.setdefault(_owner(PurePosixPath(file.path).parts[0]), []).append(file)
    names = Counter(owner.student.lower() for owner in groups)
    numbers = Counter((owner.moodle, owner.canvas) for owner in groups)
    found = []
    for owner, group in sorted(groups.items()):
        submission = Submission(
            owner.student, in_a_line(owner.name), moodle=owner.moodle, canvas=owner.canvas
        )
        if names[owner.student.lower()] > 1:
            submission.student += "~" + hashlib.sha256(repr(owner).encode()).hexdigest()[:12]
            submission.notes.append("others have nearly the same name: see whose this is")
        if not owner.top and numbers[owner.moodle, owner.canvas] > 1:
            submission.moodle = submission.canvas = ""
            submission.notes.append("others have the same number: it is in no platform's table")
        if any(LATE.match(file.path) for file in group):
            submission.notes.append("Canvas marks it as late")
        _choose(submission, [f for f in group if not f.folder] or group, wanted)
        found.append(submission)
    return found


def of_one(folder, wanted):
    """Everything in a folder as the submission of one student."""
    submission = Submission("student", "student")
    group = _folder(Path(folder)) or [_File("", (), _refusing("nothing was handed in"))]
    _choose(submission, group, wanted)
    return submission


def printable(text):
    """Text without anything that a terminal or a page would obey, or that nobody can see."""
    return "".join(
        c if c.isprintable() or c == "\n" else " " if c.isspace() else "" for c in text
    ).strip()


def in_a_line(text, most=120):
    """The same in one line, cut short: for names and for what a program of a student says."""
    return " ".join(printable(text).split())[:most]


def read(raw):
    """Cells, notes and release of a notebook, however damaged; raises `Unreadable`."""
    if not raw.strip():
        raise Unreadable("the file is empty")
    if len(raw) > FILE_LIMIT:
        raise Unreadable(
            f"the file has {len(raw) / 2**20:.0f} MiB; clear the outputs and hand in again"
        )
    if raw[:4] == b"PK\x03\x04":
        raise Unreadable("the file is a zip that was renamed to .ipynb")
    if raw[:4] == b"%PDF":
        raise Unreadable("the file is a PDF; hand in the notebook itself (.ipynb)")
    text, notes = _decoded(raw)
    if re.search(r"^<{7} ", text, re.M):
        raise Unreadable("the file contains the marks of an unfinished merge (<<<<<<<)")
    if text.lstrip()[:1] == "<":
        raise Unreadable("the file is a web page, not the notebook; download the .ipynb file")
    if text.count("{") + text.count("[") > BRACKETS_LIMIT:
        raise Unreadable(
            "the file holds too many lists and objects; clear the outputs and hand in again"
        )
    try:
        book = json.loads(text)
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be a notebook") from None
    except ValueError as error:
        book = _salvaged(text)
        if not book["cells"]:
            raise Unreadable(f"the file is no notebook: {str(error)[:80]}") from None
        notes.append(
            f"the file is cut off or damaged; the first {len(book['cells'])} cells could be read"
        )
    cells = _cells(book)
    if not cells:
        raise Unreadable("the notebook has no cells")
    return cells, notes, _release(book)


def _release(book):
    """What the metadata say about the release."""
    for key in ("metadata", "coursework", "release"):
        book = book.get(key) if isinstance(book, dict) else None
    return book if isinstance(book, str) else ""


def _decoded(raw):
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace"), ["the file was UTF-16, not UTF-8"]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("latin-1"), ["the file was not UTF-8; it was read as Latin-1"]


def _salvaged(text):
    """Whole cells of a file that breaks off."""
    cells, decoder = [], json.JSONDecoder()
    start = re.search(r'"cells"\s*:\s*\[', text)
    position = start.end() if start else len(text)
    while position < len(text):
        position = re.compile(r"[\s,]*").match(text, position).end()
        try:
            cell, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        if not isinstance(cell, dict) or len(cells) > CELL_LIMIT:
            break
        cells.append(cell)
    return {"cells": cells}


def _cells(book):
    if isinstance(book, dict) and isinstance(book.get("worksheets"), list):  # notebook format 3
        book = {
            "cells": [
                c
                for sheet in book["worksheets"]
                if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
                for c in sheet["cells"]
            ]
        }
    if not isinstance(book, dict) or not isinstance(book.get("cells"), list):
        raise Unreadable("the file is JSON but no notebook: it has no list of cells")
    cells = [cell for cell in book["cells"] if isinstance(cell, dict)]
    if len(cells) > CELL_LIMIT:
        raise Unreadable(f"the notebook has {len(cells)} cells; {CELL_LIMIT} is the limit")
    found = []
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        kind = "code" if cell.get("cell_type") == "code" else "markdown"
        if isinstance(source, str) and len(source) > SOURCE_LIMIT:
            raise Unreadable(f"cell {len(found) + 1} has {len(source)} characters")
        if isinstance(source, str):
            found.append(Cell(kind, source, _identity(cell)))
    return found


def _identity(cell):
    """Which cell of the release this is, as its metadata or its id says."""
    metadata = cell.get("metadata")
    for key in ("coursework", "nbgrader"):
        own = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(own, dict):
            role, name = own.get("role"), own.get("name")
            said = own.get("grade_id") or (f"{role}-{name}" if name else None)
            if isinstance(said, str):
                return said
    return cell["id"] if isinstance(cell.get("id"), str) else ""


def defined(source):
    """Names that a cell defines at its left margin."""
    return {a or b for a, b in re.findall(r"^(?:def[ \t]+(\w+)|(\w+)[ \t]*=(?!=))", source, re.M)}


def _choose(submission, group, wanted):
    """Fill in the one file of a group that counts."""
    best, seen, reasons, digest = None, 0, [], hashlib.sha256()
    allowance = _Allowance()
    group = [f for file in _latest_first(group) for f in _inside(file, allowance)]
    for file in _latest_first(group)[:STUDENT_LIMIT]:
        try:
            raw = allowance.read(file)
            digest.update(raw)
            cells, notes, made_from = _read_as(PurePosixPath(file.path).suffix.lower(), raw)
        except Exception as error:  # untrusted bytes: whatever goes wrong is the sender's fault
            why = error if isinstance(error, Unreadable) else f"no notebook ({error!r:.80})"
            reasons.append(f"{_called(file.path)}: {in_a_line(str(why))}")
            continue
        seen += 1
        names = set().union(*(defined(c.source) for c in cells if c.kind == "code")) & wanted
        written = sum(c.kind == "code" and "NotImplementedError" not in c.source for c in cells)
        rank = len(names), written
        if best is None or rank > best[0]:
            best = rank, file, cells, notes, made_from
    if len(group) > STUDENT_LIMIT:
        reasons.append(f"{len(group)} files; only the latest {STUDENT_LIMIT} were looked at")
    submission.digest = digest.hexdigest()
    if best is None:
        submission.reason = "; ".join(reasons)
        return
    _, file, submission.cells, notes, submission.release = best
    submission.file = _called(file.path)
    submission.notes += notes
    if seen > 1:
        submission.notes.append(
            f"{seen} notebooks were handed in; {in_a_line(PurePosixPath(file.path).name)} counts "
            "(it answers most; among equals the latest)"
        )
    submission.notes += [f"left aside: {reason}" for reason in reasons]


def _called(path):
    """A file as whoever handed it in knows it, without what the platform put in front."""
    top, _, rest = path.partition("/")
    platform = _platform(top)
    if platform is None:
        return in_a_line(path)
    return in_a_line(rest or (platform[3] or "").lstrip("_") or platform[1])


def _read_as(suffix, raw):
    """Cells, notes and release of a file, by what its name says it is."""
    if suffix == ".py":
        return [Cell("code", _decoded(raw)[0])], ["a script was handed in"], ""
    if suffix not in (".ipynb", ".json", ".txt", ""):
        raise Unreadable(f"a {suffix} file is no notebook (.ipynb)")
    return read(raw)


def _platform(top):
    """The match of the platform that a name is from: whose number stands first."""
    found = [match for pattern in (MOODLE, CANVAS) if (match := pattern.match(top))]
    return min(found, key=lambda match: match.start(2), default=None)


def _owner(top):
    """Whose a file or folder is by its top name."""
    if platform := _platform(top):
        name, number = platform[1], platform[2]
        moodle = platform.re is MOODLE
        return _Owner(name, number if moodle else "", "" if moodle else number)
    return _Owner(re.sub(r"\.(ipynb|zip|py|json|txt)$", "", top, flags=re.I), top=top)


def _folder(where):
    """Regular files below a folder; links and devices are named, never opened."""
    files, folders, closed = [], [], []
    walk = os.walk(where, onerror=closed.append)
    paths = (Path(top, name) for top, *names in walk for name in chain(*names))
    for path in sorted(paths):
        inside = path.relative_to(where).as_posix()
        if NOISE.search(inside):
            continue
        try:
            status = path.lstat()
        except OSError as error:
            files.append(_File(inside, (0, inside), _refusing(f"cannot be read: {error.strerror}")))
            continue
        order = (status.st_mtime_ns, inside)
        if stat.S_ISDIR(status.st_mode):
            folders.append(inside)
        elif stat.S_ISLNK(status.st_mode):
            files.append(_File(inside, order, _refusing("a link, and links are not followed")))
        elif not stat.S_ISREG(status.st_mode):
            files.append(_File(inside, order, _refusing("not a file")))
        else:
            files.append(_File(inside, order, partial(_from_disk, path), status.st_size))
    for error in closed:
        if Path(error.filename) == where:
            raise error
        inside = Path(error.filename).relative_to(where).as_posix()
        files.append(_File(inside, (0, inside), _refusing(f"cannot be read: {error.strerror}")))
    tops = {PurePosixPath(file.path).parts[0] for file in files}
    for name in folders:
        if "/" not in name and name not in tops:
            files.append(_File(name, (0, ""), _refusing("the folder has nothing to grade")))
    return files


def _parents(inside):
    return [parent.as_posix() for parent in PurePosixPath(inside).parents]


class _Allowance:
    """What one student's files may still cost."""

    def __init__(self):
        self.bytes, self.entries, self.zips = STUDENT_BYTES, ENTRY_LIMIT, STUDENT_LIMIT

    def read(self, file):
        """The bytes of a file, counted; what is too large is not even unpacked."""
        if file.size > FILE_LIMIT:
            raise Unreadable("the file is too large; clear the outputs and hand in again")
        if file.size > self.bytes:
            raise Unreadable("all files together are too large")
        self.bytes -= file.size
        return file.read()

    def read_zip(self, file):
        """The bytes of a zip; its files are counted before it is opened, which lists them all."""
        self.zips -= 1
        if self.zips < 0:
            raise Unreadable(f"more than {STUDENT_LIMIT} zips; only the latest are opened")
        raw = self.read(file)
        self.entries -= raw.count(b"PK\x01\x02")
        if self.entries < 0:
            raise Unreadable(f"more than {ENTRY_LIMIT} files are zipped")
        return raw


def _latest_first(files):
    return sorted(files, key=lambda file: file.order, reverse=True)


def _inside(file, allowance, depth=0):
    """The file, or what is zipped in it."""
    if not file.is_zip or depth == 3:
        return [file]
    try:
        raw = allowance.read_zip(file)
        found = _entries(zipfile.ZipFile(io.BytesIO(raw)), file)
    except Exception as error:  # as above
        why = error if isinstance(error, Unreadable) else f"the zip cannot be opened: {error!s:.80}"
        return [_File(file.path, file.order, _refusing(why))]
    if not found:
        return [_File(file.path, file.order, _refusing("the zip is empty"))]
    return [f for entry in _latest_first(found) for f in _inside(entry, allowance, depth + 1)]


def _entries(archive, zipped=None):
    """Files of an open zip; nothing is written to disk and each is read only when it is needed."""
    prefix, order = (f"{zipped.path}/", zipped.order) if zipped else ("", ())
    files = []
    for entry in archive.infolist():
        name = _inside_only(entry.filename)
        if entry.is_dir() or not name or NOISE.search(name):
            continue
        path, later = prefix + name, (*order, entry.date_time, name)
        if stat.S_ISLNK(entry.external_attr >> 16):
            files.append(_File(path, later, _refusing("a link, and links are not followed")))
        elif entry.compress_type not in METHODS:
            why = "packed by an unusual method; make an ordinary zip"
            files.append(_File(path, later, _refusing(why)))
        else:
            files.append(_File(path, later, partial(_unpacked, archive, entry), entry.file_size))
    return files


def _empty_folders(archive):
    """Folders of a zip in which nothing lies: whoever handed in nothing keeps a row."""
    names = {_inside_only(e.filename): e.is_dir() for e in archive.infolist()}
    filled = {parent for name in names if not NOISE.search(name) for parent in _parents(name)}
    refuse = _refusing("the folder has nothing to grade")
    return [
        _File(name, (0, ""), refuse, folder=True)
        for name, is_folder in sorted(names.items())
        if is_folder and name and name not in filled and not NOISE.search(name)
    ]


def _inside_only(name):
    return "/".join(part for part in PurePosixPath(name).parts if part not in ("/", ".."))


def _refusing(reason):
    def read():
        raise Unreadable(reason)

    return read


def _from_disk(path):
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def _unpacked(archive, entry):
    try:
        with archive.open(entry) as stream:
            return stream.read(entry.file_size + 1)  # without a number everything is unpacked
    except Exception as error:  # as above
        raise Unreadable(f"cannot be unpacked: {error!s:.80}") from None


def _without_common_folder(files):
    """Drop a folder that everything lies in, as zipping a folder makes it."""
    tops = {PurePosixPath(f.path).parts[0] for f in files}
    deep = all(len(PurePosixPath(f.path).parts) + (f.is_zip or f.folder) > 2 for f in files)
    if len(tops) == 1 and deep and _owner(*tops).top:
        return [replace(file, path=file.path.split("/", 1)[1]) for file in files]
    return files
