"""A folder as a course hands it in: attacks (hostile/*.cell) and damage (below), with scores.

Every kind is made from the reference of A1, which has 26 points. An attack replaces one solution
cell; its head says which, what the submission must score, and words that must be in its feedback.
"""

import io
import json
import os
import struct
import zipfile
from pathlib import Path

from coursework import release

HOSTILE = Path(__file__).with_name("hostile")
FULL = 26


def solved(assignment, **replaced):
    """The released notebook, filled in by the reference or by what is given for a cell."""
    filled = {c.id: c for c in release.solved_cells(assignment) if c.role in ("solution", "answer")}
    unknown = set(replaced) - {cell.name for cell in filled.values()}
    assert not unknown, f"no solution cells {unknown}"
    book = json.loads(release.release(assignment))
    for entry in book["cells"]:
        if entry["id"] in filled:
            cell = filled[entry["id"]]
            entry["source"] = replaced.get(cell.name, cell.source)
    return book


def attacks():
    """(name, replaced cell, its text, score, words) of every file in hostile/."""
    for path in sorted(HOSTILE.glob("*.cell")):
        text = path.read_text(encoding="utf-8")
        head = dict(line[2:].split(":", 1) for line in text.split("\n")[:3])
        yield path.stem, head["replaces"].strip(), text, float(head["score"]), head["says"].strip()


def damaged(assignment, folder):
    """Write every kind of damage; returns {student: (score, words in the result)}."""
    book = solved(assignment)
    good = json.dumps(book).encode()
    blank = release.release(assignment).encode()
    expected = {}

    def put(student, raw, score, words="", name="a1.ipynb"):
        path = folder / student / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        expected[student] = score, words

    def changed(**options):
        copy = json.loads(good)
        for cell in copy["cells"]:
            for key, value in options.items():
                cell[key] = value
        return copy

    put("as_it_should_be", good, FULL)
    put("blank", blank, 0, "not written yet")
    put("empty_file", b"", 0, "the file is empty")
    put("white_space", b" \n\t ", 0, "the file is empty")
    put("cut_off", json.dumps(book, indent=1).encode()[: len(good) // 2], None, "cut off")
    put("cut_off_at_once", good[:40], 0, "no notebook")
    put("random_bytes", bytes(range(256)) * 40, 0, "no notebook")
    put("web_page", b"<!doctype html><title>Sign in</title>", 0, "a web page")
    put("printed", b"%PDF-1.7 ...", 0, "a PDF")
    put("document", b"PK\x03\x04 word", 0, "is no notebook", "homework.docx")
    put("zip_as_notebook", _zipped({"a1.ipynb": good}), 0, "a zip that was renamed")
    put("json_but_no_notebook", b'{"score": 26}', 0, "no list of cells")
    put("json_list", b"[1, 2]", 0, "no list of cells")
    put(
        "merge_marks",
        good.replace(b'{"cells"', b'\n<<<<<<< HEAD\n{"cells"', 1),
        0,
        "unfinished merge",
    )
    put("deep_json", b"[" * 10**6, 0, "nested too deeply")
    put("no_cells", b'{"cells": [], "nbformat": 4}', 0, "no cells")
    put(
        "too_many_cells",
        json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}] * 10**5}).encode(),
        0,
        "100000 cells",
    )
    put("far_too_large", b'{"cells": ["' + b"x" * (31 * 2**20) + b'"]}', 0, "too large")
    accent = json.dumps(solved(assignment, share="# Réponse\nshare = ..."), ensure_ascii=False)
    put("latin_1", accent.encode("latin-1", "replace"), FULL - 1, "Latin-1")
    put("utf_16", good.decode().encode("utf-16"), FULL, "UTF-16")
    put("byte_order_mark", b"\xef\xbb\xbf" + good, FULL)
    put("renamed", good, FULL, name="Homework FINAL (3) korrigiert.ipynb")
    put("without_suffix", good, FULL, name="download")
    put("text_suffix", good, FULL, name="a1.ipynb.txt")
    put("no_metadata", json.dumps(changed(metadata={}, id="")).encode(), FULL)
    put(
        "no_metadata_at_all",
        json.dumps(
            {
                "cells": [
                    {k: v for k, v in c.items() if k in ("cell_type", "source")}
                    for c in book["cells"]
                ]
            }
        ).encode(),
        FULL,
    )
    put("reordered", json.dumps(book | {"cells": book["cells"][::-1]}).encode(), FULL)
    put("cells_twice", json.dumps(book | {"cells": book["cells"] * 2}).encode(), FULL, "2 times")
    put(
        "cells_that_are_none",
        json.dumps(book | {"cells": [*book["cells"], None, 7, "x", []]}).encode(),
        FULL,
    )
    put(
        "without_imports",
        json.dumps(
            book
            | {"cells": [c for c in book["cells"] if "import numpy" not in "".join(c["source"])]}
        ).encode(),
        FULL,
    )
    put(
        "format_3",
        json.dumps(
            {
                "nbformat": 3,
                "worksheets": [
                    {
                        "cells": [
                            {
                                "cell_type": c["cell_type"],
                                "input" if c["cell_type"] == "code" else "source": c["source"],
                            }
                            for c in book["cells"]
                        ]
                    }
                ],
            }
        ).encode(),
        FULL,
    )
    put(
        "strange_sources",
        json.dumps(
            book
            | {
                "cells": [
                    {"cell_type": "code", "source": 5},
                    {"cell_type": "code"},
                    {"source": None},
                    *book["cells"],
                ]
            }
        ).encode(),
        FULL,
    )
    magics = "%matplotlib inline\n!pip install numpy\n?np.exp\nnp.exp?\n"
    put(
        "magics",
        json.dumps(
            book
            | {
                "cells": [
                    {"cell_type": "code", "source": "%%time\nimport numpy as np"},
                    {"cell_type": "code", "source": "%%bash\nrm -rf /"},
                    {"cell_type": "code", "source": magics},
                    *book["cells"],
                ]
            }
        ).encode(),
        FULL,
    )
    put(
        "nul_byte",
        json.dumps(solved(assignment, softmax="def softmax(x):\0 pass")).encode(),
        FULL - 5,
        "null bytes",
    )
    edited = json.loads(good)
    for cell in edited["cells"]:
        if cell["id"] == "check-softmax":
            cell["source"] = "print('softmax: the visible check passes')"
    put("edited_check", json.dumps(edited).encode(), FULL, "was edited")
    put(
        "zipped", _zipped({"work/a1.ipynb": good, "__MACOSX/._a1.ipynb": b"x"}), FULL, name="a1.zip"
    )
    put("zip_in_zip", _zipped({"a1.zip": _zipped({"a1.ipynb": good})}), FULL, name="all.zip")
    put("zip_slip", _zipped({"../../../slipped.ipynb": good}), FULL, name="a1.zip")
    put("zip_bomb", _zipped({"a1.ipynb": b"0" * (400 * 2**20)}), 0, "too large", name="a1.zip")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        lie = lying_zip(method)
        put(f"lying_zip_{method}", lie, 0, "an unusual method", name="a1.zip")
    put("zip_with_link", _link_in_zip(), 0, "links are not followed", name="a1.zip")
    put("broken_zip", _zipped({"a1.ipynb": good})[:-100], 0, "cannot be opened", name="a1.zip")
    put("empty_zip", _zipped({}), 0, "the zip is empty", name="a1.zip")
    put("picture", b"\x89PNG\r\n", 0, "no notebook", name="screenshot.png")
    script = "\n\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code")
    put("script", script.encode(), FULL, "a script", name="a1.py")
    put("two_notebooks", blank, FULL, "2 notebooks", name="old.ipynb")
    (folder / "two_notebooks" / "new.ipynb").write_bytes(good)
    put("checkpoint_only", good, 0, "nothing to grade", name=".ipynb_checkpoints/a1.ipynb")
    put("=HYPERLINK(0)", good, FULL)
    put("huge_cell", json.dumps(solved(assignment, share="x" * 2**21)).encode(), 0, "characters")
    put(
        "lone_surrogate",
        json.dumps(solved(assignment, share="share = '\ud800'")).encode(),
        FULL - 1,
    )
    other = json.loads(good)
    other["metadata"]["coursework"]["release"] = "00000000"
    put("other_release", json.dumps(other).encode(), FULL, "another version or another course")
    operator = {"cell_type": "code", "source": "x = (\n7\n% 4\n)\nassert x == 3"}
    put("operator_first", json.dumps(book | {"cells": [operator, *book["cells"]]}).encode(), FULL)
    inner = _zipped({"a1.ipynb": good})
    put(
        "many_zips",
        _zipped({f"{k}.zip": inner for k in range(9)}),
        FULL,
        "9 notebooks",
        name="all.zip",
    )
    bomb = _zipped({"a1.ipynb": b"0" * (15 * 2**20)})
    put("many_bombs", _zipped({f"{k}.zip": bomb for k in range(9)}), 0, "together", name="all.zip")
    crowd = _zipped({str(k): b"" for k in range(6000)})
    first, last = (_zipped({"a1.ipynb": raw}) for raw in (blank, good))
    many = {f"{k:02}.zip": last if k == 69 else first for k in range(70)}
    put("zips_without_end", _zipped(many), FULL, "more than 50 zips", name="all.zip")
    put("crowds", _zipped({f"{k}.zip": crowd for k in range(9)}), 0, "5000 files", name="all.zip")
    put("not_cells", b'{"cells": [' + b"1, " * 10**6, 0, "no notebook")
    put("not_cells_after_cells", good[:-1].rpartition(b"]")[0] + b", 1" * 10**6, FULL, "cut off")
    put("strange_number", b'{"cells": [], "x": ' + b"9" * 5000 + b"}", 0, "no notebook")
    for k in range(70):
        put("many_files", good if k == 69 else blank, FULL, "only the latest", name=f"{k:02}.ipynb")
        os.utime(folder / "many_files" / f"{k:02}.ipynb", (k, k))
    (folder / ".ipynb").write_bytes(good)
    expected["unnamed"] = FULL, ""
    (folder / "empty_folder").mkdir()
    expected["empty_folder"] = 0, "nothing to grade"
    (folder / "link_to_file").mkdir()
    (folder / "link_to_file" / "a1.ipynb").symlink_to(folder / "as_it_should_be" / "a1.ipynb")
    expected["link_to_file"] = 0, "links are not followed"
    (folder / "link_to_folder").symlink_to(folder / "as_it_should_be")
    expected["link_to_folder"] = 0, "links are not followed"
    (folder / "loose.ipynb").write_bytes(good)
    expected["loose"] = FULL, ""
    moodle = folder / "Ada Lovelace_4711_assignsubmission_file_"
    moodle.mkdir()
    (moodle / "a1.ipynb").write_bytes(good)
    expected["Ada_Lovelace~4711"] = FULL, ""
    (folder / "hoppergrace_LATE_815_99001_a1-1.ipynb").write_bytes(good)
    expected["hoppergrace~815"] = FULL, ""
    return expected


def attacking(assignment, folder):
    """Write every attack; returns {student: (score, words in the result)}."""
    expected = {}
    for name, cell, text, score, words in attacks():
        book = solved(assignment, **{cell: text})
        (folder / f"{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
        expected[name] = score, words
    return expected


def lying_zip(method, mebibytes=64):
    """A small zip; its only entry says that it has 100 bytes."""
    raw = bytearray(_zipped({"a1.ipynb": bytes(mebibytes * 2**20)}, method))
    for head, size in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = raw.rfind(head) + size
        raw[start : start + 4] = struct.pack("<I", 100)
    return bytes(raw)


def _zipped(files, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return stream.getvalue()


def _link_in_zip():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        link = zipfile.ZipInfo("a1.ipynb")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "../as_it_should_be/a1.ipynb")
    return stream.getvalue()
