"""Files as people have them: what was read off them is said in terminal, JSON and report.

What each file imitates is in tests/files/README.md.
"""

import html
import json
import re
import shutil
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from tests.cli.test_bad_input import refused
from tests.commands import unswayed_here

FILES = Path(__file__).parents[1] / "files"
STUDENTS = FILES / "students_mark_crlf.csv"

READ = {
    "bank_semicolons.csv": (
        ("--label", "y"), "is read with ';' between cells and a comma before decimals",
    ),
    "students_tabs.tsv": (("--label", "admitted"), "is read with tabs between cells"),
    "scores_duplicate_columns.csv": (
        ("--label", "two_year_recid", "--ignore", "priors_count.1", "--groups", "decile_score.1"),
        "has several columns of the same name; the later ones are called 'decile_score.1' and "
        "'priors_count.1'",
    ),
    "loans_dollars_percent.csv": (
        ("--label", "status"),
        "'$29,800' is read as 29800 in column 'loan_amnt', '17.4%' as 17.4 in column 'int_rate', "
        "'(541)' as -541 in column 'net_gain'",
    ),
    "mortgages_bars_exempt.txt": (
        ("--label", "denied", "--na", "Exempt", "--missing", "drop"),
        "is read with '|' between cells",
    ),
    "census_no_header.data": (
        ("--label", " >50K"), "looks like a row and not like names of columns; pass --no-header",
    ),
    "fees_mixed_units.csv": (
        ("--label", "late"),
        "column 'share' holds numbers with '%' or no sign ('0.28' in row 1), so that each is a "
        "category; write all of them alike",
    ),
    "students.xlsx": (
        ("--label", "admitted"),
        "has 2 sheets, of which 'applicants' is read and not 'notes'; pass --sheet",
    ),
    "students.dta": (
        ("--label", "admitted"), "has value labels in 'town': the labels are read, not the codes",
    ),
    "students.feather": (("--label", "admitted"), None),
    "students_mark_crlf.csv": (("--label", "admitted"), None),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """All files, those that are binary written from one of the others."""
    for path in (*FILES.glob("*.*sv"), *FILES.glob("*.txt"), *FILES.glob("*.data")):
        shutil.copy(path, tmp_path)
    frame = pd.read_csv(STUDENTS)
    frame.to_feather(tmp_path / "students.feather")
    frame.astype({"town": "category"}).to_stata(
        tmp_path / "students.dta", write_index=False, version=118
    )
    with pd.ExcelWriter(tmp_path / "students.xlsx") as book:
        frame.to_excel(book, sheet_name="applicants", index=False)
        frame[:3].to_excel(book, sheet_name="notes", index=False)
    return tmp_path


def certified(folder, name, *options):
    done = unswayed_here("certify", name, *options, "--json", "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text(encoding="utf-8")
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    return done.stderr, json.loads(done.stdout), text


@pytest.mark.parametrize("name", READ)
def test_how_a_file_was_read_is_said_in_terminal_json_and_report(folder, name):
    options, sentence = READ[name]
    terminal, facts, page = certified(folder, name, *options)
    said = [*facts["notes"], *(each["sentence"] for each in facts["caveats"])]
    if sentence is None:  # it is read as it is
        assert not facts["notes"]
    else:
        assert sentence in terminal
        assert any(sentence in each for each in said)
        assert sentence in page


def outcomes(folder, name, *options):
    done = unswayed_here("certify", name, *options, "--out", "out.csv", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "out.csv").read_text()


def test_the_formats_of_one_table_give_the_same_answers(folder):
    names = ["students_mark_crlf.csv", "students_tabs.tsv", "students.xlsx", "students.dta",
             "students.feather"]  # fmt: skip
    assert len({outcomes(folder, name, "--label", "admitted") for name in names}) == 1


def plain_loans(folder):
    frame = pd.read_csv(folder / "loans_dollars_percent.csv")
    frame["loan_amnt"] = frame["loan_amnt"].str.strip("$").str.replace(",", "").astype(int)
    frame["int_rate"] = frame["int_rate"].str.strip("%").astype(float)
    gain = frame["net_gain"].str.replace(",", "")
    frame["net_gain"] = gain.str.replace(r"\((.*)\)", r"-\1", regex=True).astype(int)
    frame.to_csv(folder / "plain.csv", index=False)


@pytest.mark.parametrize("pieces", [(), ("--in-pieces",)], ids=["in memory", "in pieces"])
def test_dollars_percents_and_brackets_are_the_numbers_they_stand_for(folder, pieces):
    plain_loans(folder)
    read = outcomes(folder, "loans_dollars_percent.csv", "--label", "status", *pieces)
    assert read == outcomes(folder, "plain.csv", "--label", "status", *pieces)


def test_test_rows_with_dollars_go_with_training_rows_without(folder):
    plain_loans(folder)
    lines = (folder / "loans_dollars_percent.csv").read_text().splitlines()
    (folder / "test.csv").write_text("\n".join([lines[0], *lines[1:4]]) + "\n")
    done = unswayed_here("certify", "plain.csv", "--label", "status", "--test", "test.csv",
                         "--json", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any("test.csv: '$29,800' is read as 29800" in each
               for each in json.loads(done.stdout)["notes"])  # fmt: skip


@pytest.mark.parametrize(
    "name", ["bank_semicolons.csv", "scores_duplicate_columns.csv", "loans_dollars_percent.csv"]
)
def test_the_checker_reads_such_files_as_certify_does(folder, name):
    label = READ[name][0][:2]
    certify = ("certify", name, *label, "--certificates", "c.json", "--quiet")
    assert unswayed_here(*certify, cwd=folder).returncode == 0
    done = unswayed_here("verify", "c.json", "--train", name, "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["rejected"] == {}


def test_in_pieces_the_same_is_said(folder):
    for name in ("bank_semicolons.csv", "scores_duplicate_columns.csv", "census_no_header.data"):
        options, sentence = READ[name]
        done = unswayed_here("certify", name, *options[:2], "--in-pieces", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert sentence in done.stderr


def test_a_label_that_is_not_there_because_there_is_no_header_advises_no_header(folder):
    for pieces in ((), ("--in-pieces",)):
        done = unswayed_here("certify", "census_no_header.data", "--label", "income", *pieces,
                             cwd=folder)  # fmt: skip
        assert done.returncode == 2
        assert "no column 'income'" in done.stderr
        assert "pass --no-header" in done.stderr


def test_exempt_among_numbers_is_refused_or_said_until_it_is_named(folder):
    done = unswayed_here("inspect", "mortgages_bars_exempt.txt", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert "is read with '|' between cells" in facts["notes"][0]
    assert any("'Exempt' in row 10" in each["sentence"] and "--na Exempt" in each["sentence"]
               for each in facts["caveats"])  # fmt: skip


def test_units_that_cannot_be_compared_are_refused_as_numbers(folder):
    done = unswayed_here("certify", "fees_mixed_units.csv", "--label", "late", "--numeric", "share",
                         cwd=folder)  # fmt: skip
    assert done.returncode == 2
    assert "--numeric share: it has numbers with '%' or no sign, which cannot be" in done.stderr


def test_a_sheet_can_be_named_and_a_formula_without_a_value_is_missing(folder):
    book = openpyxl.load_workbook(folder / "students.xlsx")
    book["applicants"]["C3"] = "=1+1"
    book.save(folder / "formula.xlsx")
    done = unswayed_here("inspect", "formula.xlsx", "--sheet", "applicants", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert facts["notes"] == [
        "formula.xlsx: a formula has no saved value in 1 cell (first in line 3 of the sheet), "
        "which counts as missing; open the file in a spreadsheet program and save it"
    ]
    assert [each["missing"] for each in facts["columns"]] == [0, 0, 1, 0]
    done = unswayed_here("inspect", "formula.xlsx", "--sheet", "aplicants", cwd=folder)
    assert "did you mean 'applicants'?" in done.stderr


REFUSED = {
    "data.xlsx": (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "cannot be read"),
    "data.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, "old kind (.xls)"),
    "data.sav": (b"$FL2@(#) SPSS DATA FILE", "an SPSS file"),
    "data.sas7bdat": (b"\0" * 12 + b"\xc2\xea\x81\x60", "a SAS file"),
    "data.rds": (b"\x1f\x8b\x08\0", "a file of R"),
    "data.zip": (b"PK\x03\x04" + b"\0" * 26 + b"data.csv", "a zip archive"),
    "page.csv": (b"\n<!DOCTYPE html>\n<html><body>", "a web page (HTML)"),
    "data.json": (b'[\n {"age": 3}]', "a JSON file"),
    "lines.csv": (b'{"age": 3}\n{"age": 4}\n', "a JSON file"),
    "packed.csv": (b"\x1f\x8b\x08\0\0", "compressed by gzip although"),
    "packed.csv.bz2": (b"BZh91AY&SY", "compressed, but not by gzip"),
    "data.ods": (
        b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
        "an OpenDocument file",
    ),
    "data.bin": (b"\x00\x01\x02\x03 anything", "a binary file of an unknown format"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_format_that_is_not_read_is_named_and_iconv_is_not_advised(tmp_path, name):
    content, fragment = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    done = unswayed_here("certify", name, "--label", "age", cwd=tmp_path)
    refused(done, tmp_path, {name})
    assert fragment in done.stderr
    assert "iconv" not in done.stderr


def test_a_text_in_latin_1_is_refused_with_the_command_that_mends_it(folder):
    done = unswayed_here("inspect", "students_latin1.csv", cwd=folder)
    assert done.returncode == 2
    assert "column 'town' is not UTF-8" in done.stderr
    assert "iconv -f WINDOWS-1252 -t UTF-8 students_latin1.csv" in done.stderr


def test_a_delimiter_that_is_given_overrides_what_the_file_shows(folder):
    done = unswayed_here("inspect", "bank_semicolons.csv", "--delimiter", ",", cwd=folder)
    assert done.returncode == 2
    assert "seems to be separated by semicolons" in done.stderr
    done = unswayed_here("inspect", "bank_semicolons.csv", "--decimal", ".", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert "a comma before decimals" not in facts["notes"][0]
    assert any("--decimal ," in each["sentence"] for each in facts["caveats"])


def test_certificates_of_an_excel_file_are_refused_because_the_checker_does_not_read_it(folder):
    done = unswayed_here("certify", "students.xlsx", "--label", "admitted", "--certificates",
                         "c.json", cwd=folder)  # fmt: skip
    assert done.returncode == 2
    assert "students.xlsx is an Excel workbook, and unswayed verify reads CSV" in done.stderr
