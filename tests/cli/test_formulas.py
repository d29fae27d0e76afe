"""Texts in CSV files that a spreadsheet would run: escaped, unless told otherwise."""

import csv
import json

import pandas as pd
import pytest

from tests.commands import people, unswayed_here

EVIL = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "\n@x"]
HARMLESS = ["a=1", "-7", "+1.5e3", "x@y", "'=1", "-.5", "a-b"]


def risky(n_rows=240):
    """Applicants whose texts, label and column names look like formulas."""
    frame = people(n_rows)
    texts = [*EVIL, *HARMLESS]
    frame["=city"] = [texts[at % len(texts)] for at in range(n_rows)]
    frame["change"] = [-at / 7 for at in range(n_rows)]
    return frame.assign(hired=frame["hired"].map({"no": "=no", "yes": "yes"}))


def cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return [cell for line in csv.reader(file) for cell in line]


@pytest.fixture
def risks(tmp_path):
    risky().to_csv(tmp_path / "people.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    return tmp_path


OPTIONS = ("people.csv", "--label", "hired", "--ignore", "salary")
COMMANDS = {
    "certify": (*OPTIONS, "--groups", "=city", "--holdout", "90"),
    "witness": (*OPTIONS, "--row", "3", "--test", "people.csv"),
    "coefficients": OPTIONS,
    "tradeoff": (*OPTIONS, "--alphas", "1"),
}


@pytest.mark.parametrize("command", ["certify", "witness"])
def test_texts_that_a_spreadsheet_would_run_are_escaped(risks, command):
    done = unswayed_here(command, *COMMANDS[command], "--out", "o.csv", cwd=risks)
    assert done.returncode == 0, done.stderr
    for cell in cells(risks / "o.csv"):
        try:
            float(cell)
        except ValueError:
            assert cell.lstrip()[:1] not in "=+-@＝" or not cell
            assert cell[:1] not in "\t\r\n" or not cell
    if command == "certify":
        found = set(pd.read_csv(risks / "o.csv", dtype=str)["group_=city"])
        assert {"'=1+1", "'-2+3", "'@SUM(A1)", "a=1", "-7", "+1.5e3", "x@y"} <= found
    else:
        assert "'=city" in cells(risks / "o.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_writes_tables_can_leave_texts_as_they_are(risks, command):
    asked = (command, *COMMANDS[command])
    for flag in ("--escape-formulas", "--no-escape-formulas"):
        done = unswayed_here(*asked, "--out", "o.csv", flag, cwd=risks)
        assert done.returncode == 0, done.stderr
    done = unswayed_here(*asked, "--out", "o.json", cwd=risks)
    assert done.returncode == 0, done.stderr
    rows = json.loads((risks / "o.json").read_text())
    assert len(pd.read_csv(risks / "o.csv")) == len(rows)
    if command == "certify":
        plain = cells(risks / "o.csv")
        assert "=1+1" in plain
        assert {"=1+1", "-2+3"} <= {row["group_=city"] for row in rows}
        assert {row["prediction"] for row in rows} == {"=no", "yes"}


def test_numbers_are_never_touched(risks):
    options = ("--label", "change", "--ignore", "salary", "--shift", "1", "--radius", "1")
    done = unswayed_here("certify", "people.csv", *options, "--out", "o.csv", cwd=risks)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(risks / "o.csv")
    for name in ("row", "prediction", "label", "score", "low", "high", "minimum_budget"):
        assert pd.api.types.is_numeric_dtype(table[name]), name
    assert (table["prediction"] < 0).any()


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_other_kinds_of_files_hold_the_texts_themselves(risks, suffix):
    out = f"o.{suffix}"
    done = unswayed_here("certify", *COMMANDS["certify"], "--out", out, cwd=risks)
    assert done.returncode == 0, done.stderr
    read = pd.read_parquet if suffix == "parquet" else pd.read_json
    table = read(risks / out)
    assert set(table["prediction"]) == {"=no", "yes"}
    assert "=1+1" in set(table["group_=city"])
