"""Files that are not written in the usual way, and columns that are not what they look like."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.test_bad_input import refused
from tests.commands import CLASSES, NUMBERS, minimum_budgets, people, unswayed_here

N = 120


def scores(folder, name, *options):
    done = unswayed_here("certify", name, *options, "--out", "out.csv", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(folder / "out.csv")


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture
def usual(tmp_path):
    """What certify says of people.csv as it is usually written."""
    people(N).to_csv(tmp_path / "people.csv", index=False)
    return scores(tmp_path, "people.csv", *CLASSES)


@pytest.mark.parametrize(
    ("write", "options"),
    [
        ({"sep": ";"}, ("--delimiter", ";")),
        ({"sep": "\t"}, ("--delimiter", "tab")),
        ({"sep": ";", "decimal": ","}, ("--decimal", ",")),
        ({"sep": "|"}, ()),
        ({"sep": "\t", "decimal": ","}, ()),
        ({"sep": "\t", "decimal": ","}, ("--decimal", ",", "--delimiter", "tab")),
    ],
    ids=[
        "semicolons",
        "tabs",
        "decimal commas",
        "bars, not said",
        "tabs and commas, not said",
        "decimal commas and tabs",
    ],
)
def test_another_way_of_writing_the_same_file_gives_the_same_answers(
    tmp_path, usual, write, options
):
    people(N).to_csv(tmp_path / "other.csv", index=False, **write)
    pd.testing.assert_frame_equal(scores(tmp_path, "other.csv", *CLASSES, *options), usual)


def test_numbers_with_points_between_thousands_are_read_with_decimal_commas(tmp_path):
    frame = people(N)
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = (*NUMBERS, "--shift", "900", "--radius", "900")
    expected = scores(tmp_path, "people.csv", *options)
    frame.assign(salary=frame["salary"].map(german)).to_csv(
        tmp_path / "other.csv", index=False, sep=";", decimal=","
    )
    pd.testing.assert_frame_equal(
        scores(tmp_path, "other.csv", *options, "--decimal", ","), expected
    )


def test_numbers_with_commas_between_thousands_are_read_where_numeric_says_so(tmp_path):
    frame = people(N)
    frame.to_csv(tmp_path / "people.csv", index=False)
    expected = scores(tmp_path, "people.csv", "--label", "hired")
    frame.assign(salary=frame["salary"].map("{:,.0f}".format)).to_csv(
        tmp_path / "other.csv", index=False
    )
    found = scores(tmp_path, "other.csv", "--label", "hired", "--numeric", "salary")
    pd.testing.assert_frame_equal(found, expected)


def test_without_a_header_columns_are_numbered(tmp_path, usual):
    people(N).to_csv(tmp_path / "other.csv", index=False, header=False)
    done = unswayed_here("inspect", "other.csv", "--json", cwd=tmp_path)
    caveats = json.loads(done.stdout)["caveats"]
    assert [each["kind"] for each in caveats if "--no-header" in str(each["option"])] == [
        "no-header"
    ]
    found = scores(
        tmp_path, "other.csv", "--no-header", "--label", "column6", "--ignore", "column5"
    )
    pd.testing.assert_frame_equal(found, usual)


def test_a_mark_stands_for_missing_values_in_texts_and_numbers_of_both_kinds_of_files(tmp_path):
    frame = people(N)
    marked = frame.assign(education=frame["education"].astype(str))
    marked.loc[[3, 8], "education"] = "?"
    marked.loc[5, "city"] = " ?"
    marked.to_csv(tmp_path / "people.csv", index=False)
    numbers = frame.assign(education=frame["education"].where(~frame.index.isin([3, 8]), -9))
    numbers.loc[5, "city"] = "-9"
    numbers.to_parquet(tmp_path / "people.parquet")
    for name, mark in (("people.csv", "?"), ("people.parquet", "-9")):
        for way, rows in (("drop", N - 3), ("impute", N)):
            done = unswayed_here(
                "certify", name, *CLASSES, f"--na={mark}", "--missing", way, "--json", cwd=tmp_path
            )
            assert done.returncode == 0, done.stderr
            facts = json.loads(done.stdout)
            assert facts["train_rows"] + facts["test_rows"] == rows
            assert facts["data"]["missing"] == 3
            assert facts["data"]["numbers"] == 2


def test_zeros_in_front_of_codes_are_kept_where_they_are_categories(tmp_path):
    rng = np.random.default_rng(0)
    frame = people(N).assign(zip=rng.choice(["01234", "1234", "90210"], N))
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here(
        "coefficients", "people.csv", *CLASSES, "--categorical", "zip", "--json", cwd=tmp_path
    )
    facts = json.loads(done.stdout)
    levels = {each["level"] for each in facts["coefficients"] if each["column"] == "zip"}
    assert levels | {facts["bases"]["zip"]} == {"01234", "1234", "90210"}
    found = scores(tmp_path, "people.csv", *CLASSES, "--categorical", "zip")
    _, least = minimum_budgets(frame, "hired", ["salary"], found["row"].to_numpy() - 1)
    np.testing.assert_array_equal(found["minimum_budget"], least)


def test_codes_without_zeros_in_front_stay_numbers_for_only(tmp_path):
    people(N).to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--categorical", "education"),
        *("--only", "education > 12"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_imputing_leaves_out_rows_without_a_label_and_says_so(tmp_path):
    frame = people(N)
    frame.loc[[0, 1, 50], "hired"] = None
    frame.loc[[1, 7], "education"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here(
        "certify", "people.csv", *CLASSES, "--missing", "impute", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["train_rows"] + facts["test_rows"] == N - 3
    assert "3 rows of people.csv have no label and are left out" in done.stderr


def test_dropping_most_rows_is_said_with_the_columns_that_did_it(tmp_path):
    frame = people(N)
    frame["city"] = frame["city"].where(frame.index < 30)
    frame.loc[3, "education"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here("certify", "people.csv", *CLASSES, "--missing", "drop", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "29 of 120 rows of people.csv are left" in done.stderr
    assert "'city' misses 90 values, 'education' misses 1 value" in done.stderr
    assert "--ignore city,education" in done.stderr


RAW = people(60)
BAD = {
    "UTF-16 without a mark": (
        RAW.to_csv(index=False).encode("utf-16-le"), CLASSES, ["iconv -f UTF-16LE"],
    ),
    "UTF-16 of big ends": (
        RAW.to_csv(index=False).encode("utf-16-be"), CLASSES, ["iconv -f UTF-16BE"],
    ),
    "UTF-16 with a mark": (RAW.to_csv(index=False).encode("utf-16"), CLASSES, ["iconv -f UTF-16 "]),
    "UTF-32": (RAW.to_csv(index=False).encode("utf-32"), CLASSES, ["iconv -f UTF-32 "]),
    "one delimiter for both": (
        RAW.to_csv(index=False).encode(), (*CLASSES, "--decimal", ",", "--delimiter", ","),
        ["both ','"],
    ),
    "no delimiter": (
        RAW.to_csv(index=False).encode(), (*CLASSES, "--delimiter", ""), ["''", "one sign"],
    ),
    "a long delimiter": (
        RAW.to_csv(index=False).encode(), (*CLASSES, "--delimiter", "::"), ["'::'", "one sign"],
    ),
    "a number that is none": (
        RAW.assign(education=["12", "lots"] * 30).to_csv(index=False).encode(),
        (*CLASSES, "--numeric", "education"), ["'lots' in row 2", "30 such cells", "--na"],
    ),
    "a number with a comma": (
        RAW.assign(education=["12", "1.169,00"] * 30).to_csv(index=False).encode(),
        (*CLASSES, "--numeric", "education"), ["'1.169,00' in row 2", "--decimal ,"],
    ),
    "a label with a few texts": (
        RAW.assign(salary=[*RAW["salary"].astype(str)[:59], "none"]).to_csv(index=False).encode(),
        (*NUMBERS, "--shift", "9", "--radius", "9"), ["'none' in row 60", "--na none"],
    ),
    "many numbers with a few texts": (
        people(300).assign(pay=[*map(str, range(299)), "?"]).to_csv(index=False).encode(),
        CLASSES, ["'pay' holds numbers, but also texts in 1 row ('?' in row 300)", "--na '?'"],
    ),
    "a column that is numeric and categorical": (
        RAW.to_csv(index=False).encode(),
        (*CLASSES, "--numeric", "education", "--categorical", "education"), ["both name"],
    ),
    "nothing left": (
        RAW.assign(city=[None] * 30 + ["x"] * 30, education=[1] * 30 + [None] * 30)
        .to_csv(index=False).encode(),
        (*CLASSES, "--missing", "drop"),
        ["every row misses a value", "'city' misses 30", "'education' misses 30", "--ignore"],
    ),
    "an unknown column of numbers": (
        RAW.to_csv(index=False).encode(), (*CLASSES, "--numeric", "age"), ["--numeric", "'age'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_names_the_way_to_read_it(tmp_path, case):
    content, options, fragments = BAD[case]
    (tmp_path / "bad.csv").write_bytes(content)
    done = unswayed_here("certify", "bad.csv", *options, "--out", "out.csv", cwd=tmp_path)
    refused(done, tmp_path, {"bad.csv"})
    for fragment in fragments:
        assert fragment in done.stderr


def test_test_labels_that_differ_by_a_full_stop_are_named(tmp_path):
    frame = people(60).assign(
        hired=lambda frame: frame["hired"].map({"yes": ">50K", "no": "<=50K"})
    )
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame.assign(hired=frame["hired"] + ".").to_csv(tmp_path / "test.csv", index=False)
    done = unswayed_here("certify", "train.csv", *CLASSES, "--test", "test.csv", cwd=tmp_path)
    refused(done, tmp_path, {"train.csv", "test.csv"})
    for fragment in ("'<=50K.'", "'>50K.'", "'<=50K'", "'>50K'", "full stop"):
        assert fragment in done.stderr
