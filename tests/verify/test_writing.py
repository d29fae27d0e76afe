"""Certificates of files that are written in other ways than with commas, a header and points."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, people, unswayed_here

N = 80


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def odd_people():
    frame = people(N)
    frame["education"] = frame["education"].astype(str)
    frame.loc[[3, 40], "education"] = "?"
    frame.loc[5, "city"] = "?"
    return frame.assign(salary=frame["salary"].map(german))


OPTIONS = ("--decimal", ",", "--na", "?", "--missing", "impute")


@pytest.fixture
def folder(tmp_path):
    odd_people().to_csv(tmp_path / "people.csv", index=False, sep=";", decimal=",")
    return tmp_path


def certified(folder, *options):
    done = unswayed_here("certify", "people.csv", *options, "--certificates", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "c.json").read_text())


def verified(folder):
    return unswayed_here("verify", "c.json", "--train", "people.csv", cwd=folder)


@pytest.mark.parametrize("header", [True, False])
def test_the_checker_reads_the_file_as_certify_does(folder, header):
    label, more = ("column6", ("--no-header",)) if not header else ("hired", ())
    if not header:
        lines = (folder / "people.csv").read_text().splitlines(keepends=True)
        (folder / "people.csv").write_text("".join(lines[1:]))
    document = certified(folder, "--label", label, *OPTIONS, *more)
    assert document["recipe"]["written"]["header"] is header
    done = verified(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("files are written"))
    assert "separated by ';'" in line
    assert "decimals after ','" in line
    assert "'?'" in line
    assert ("no header" in line) is not header


def test_labels_with_decimal_commas_are_read_too(folder):
    certified(folder, *NUMBERS, *OPTIONS, "--shift", "900", "--radius", "900")
    assert verified(folder).returncode == 0


def test_thousands_are_separated_by_commas_where_numeric_says_so(tmp_path):
    frame = people(N)
    frame.assign(salary=frame["salary"].map("{:,.0f}".format)).to_csv(
        tmp_path / "people.csv", index=False
    )
    certified(tmp_path, "--label", "hired", "--numeric", "salary")
    assert verified(tmp_path).returncode == 0


@pytest.mark.parametrize(
    "change",
    [
        {"delimiter": ","}, {"decimal": "."}, {"header": False}, {"missing": []},
        {"missing": ["x"]}, {"delimiter": ""}, {"delimiter": '"'}, {"delimiter": ";;"},
        {"header": 1}, {"missing": "?"},
    ],
    ids=str,
)  # fmt: skip
def test_another_way_of_reading_is_other_data(folder, change):
    document = certified(folder, *CLASSES, *OPTIONS)
    document["recipe"]["written"] |= change
    (folder / "c.json").write_text(json.dumps(document))
    assert verified(folder).returncode == 2


def fingerprint(text):
    return next(line for line in text.splitlines() if line.startswith("fingerprint"))


def test_one_more_mark_that_no_cell_has_changes_the_question(folder):
    document = certified(folder, *CLASSES, *OPTIONS)
    before = verified(folder).stdout
    document["recipe"]["written"]["missing"].append("nowhere")
    (folder / "c.json").write_text(json.dumps(document))
    after = verified(folder)
    assert after.returncode == 0
    assert "'nowhere'" in after.stdout
    assert fingerprint(before) != fingerprint(after.stdout)


def test_usual_files_have_no_word_about_how_they_are_written(tmp_path):
    people(N).to_csv(tmp_path / "people.csv", index=False)
    assert "written" not in certified(tmp_path, *CLASSES)["recipe"]
    assert "files are written" not in verified(tmp_path).stdout


def test_parquet_files_with_marks_get_no_certificates(tmp_path):
    pd.DataFrame(people(N)).replace({"education": {12: -9}}).to_parquet(tmp_path / "people.parquet")
    options = (*CLASSES, "--na=-9", "--missing", "drop", "--certificates", "c.json")
    done = unswayed_here("certify", "people.parquet", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "nulls" in done.stderr
    assert np.all([path.name != "c.json" for path in tmp_path.iterdir()])
