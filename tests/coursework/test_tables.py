"""Tables that go to a platform and come back from a spreadsheet."""

import csv
import io
import json

import pytest

from coursework import __main__ as command
from coursework.model import load
from tests.coursework import handed_in

A1 = load("a1")
WORKSHEET = (
    "ID,Nome,Stato,Voto,Voto massimo,Ultima modifica (consegna),Ultima modifica (voto),Commenti\r\n"
    'Partecipante 4711,Ada Lovelace,"Consegnato, puntuale",,30,"domenica, 1 marzo 2026",-,\r\n'
    "Partecipante 12,Ben X,Nessuna consegna,,30,-,-,-\r\n"
)
TITLES = ("--column", "Voto", "--comments", "Commenti")


@pytest.fixture
def folder(tmp_path):
    """Two people as Moodle names them."""
    for top in ("Ada Lovelace_4711_assignsubmission_file_", "Cem Y_13_assignsubmission_file_"):
        (tmp_path / "in" / top).mkdir(parents=True)
        (tmp_path / "in" / top / "a1.ipynb").write_text(json.dumps(handed_in.solved(A1)), "utf-8")
    return tmp_path / "in"


def run(folder, *options):
    out = folder.parent / "out"
    return command.main(["grade", "a1", str(folder), "--out", str(out), *options]), out


def read(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def test_moodle_gets_every_column_that_its_importer_demands(folder):
    _, out = run(folder)
    head, first, _ = read(out / "moodle.csv")
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(head)
    assert dict(zip(head, first, strict=True))["Last modified (grade)"] == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_worksheet_of_moodle_is_filled_in_and_nothing_else_changes(folder, capsys, encoding):
    path = folder.parent / "worksheet.csv"
    path.write_bytes(WORKSHEET.encode(encoding))
    code, out = run(folder, "--moodle", str(path), *TITLES)
    assert code == 0
    before, after = list(csv.reader(io.StringIO(WORKSHEET))), read(out / "moodle.csv")
    assert after[0] == before[0]
    assert after[2] == before[2]
    assert after[1][3] == "26"
    assert "right" in after[1][7]
    assert [c for k, c in enumerate(after[1]) if k not in (3, 7)] == [
        c for k, c in enumerate(before[1]) if k not in (3, 7)
    ]
    said = capsys.readouterr().err
    assert f"not in {path}, so not in the table: Cem_Y~13" in said


def test_a_worksheet_in_another_language_asks_for_its_titles_before_anything_runs(folder, capsys):
    path = folder.parent / "worksheet.csv"
    path.write_text(WORKSHEET, "utf-8")
    code, out = run(folder, "--moodle", str(path))
    assert code == 2
    assert "no column 'Grade'" in (said := capsys.readouterr().err)
    assert "Voto, Voto massimo" in said
    assert not out.exists()
    assert run(folder, "--moodle", str(path), "--column", "Voto")[0] == 0
    assert "no comments in moodle.csv" in capsys.readouterr().err


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,A1 (99)\n"
    '"Berg, Ann",17,s17,ann,1,\n"Fox, Fay",18,s18,fay,1,\n'
)


def test_a_column_that_canvas_does_not_have_is_refused(folder, capsys):
    path = folder.parent / "export.csv"
    path.write_text(CANVAS, "utf-8")
    code, out = run(folder, "--canvas", str(path), "--column", "A1 (98)")
    assert code == 2
    assert "no column 'A1 (98)'" in (said := capsys.readouterr().err)
    assert "Section, A1 (99)" in said
    assert not out.exists()


def test_people_who_are_not_in_the_export_of_canvas_are_named(folder, capsys):
    (folder / "ann.ipynb").write_text(json.dumps(handed_in.solved(A1)), "utf-8")
    path = folder.parent / "export.csv"
    path.write_text(CANVAS, "utf-8")
    code, out = run(folder, "--canvas", str(path), "--column", "A1 (99)")
    assert code == 0
    assert [row[-1] for row in read(out / "canvas.csv")] == ["A1 (99)", "26", ""]
    assert f"not in {path}, so not in the table: Ada_Lovelace~4711, Cem_Y~13" in (
        capsys.readouterr().err
    )
