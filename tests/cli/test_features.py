"""Which columns the model uses, and which one it predicts."""

import json

import pytest

from tests.cli.test_bad_input import refused
from tests.commands import people, unswayed_here


def answers(folder, *options):
    done = unswayed_here("certify", "people.csv", "--label", "hired", *options, "--out", "out.csv",
                         "--json", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["columns"], (folder / "out.csv").read_text()


@pytest.mark.parametrize("pieces", [(), ("--in-pieces",)], ids=["in memory", "in pieces"])
def test_features_are_all_columns_but_those_that_ignore_would_name(folder, pieces):
    left_out = answers(folder, "--ignore", "salary,city", *pieces)
    assert answers(folder, "--features", "interview score,gender,education", *pieces) == left_out


def test_a_column_that_is_no_feature_can_still_make_groups_and_conditions(folder):
    columns, _ = answers(folder, "--features", "education", "--features", "interview score",
                         "--groups", "gender", "--only", "salary > 30000")  # fmt: skip
    assert [each["column"] for each in columns if each["role"] == "feature"] == [
        "education", "interview score",
    ]  # fmt: skip


def test_a_feature_with_a_comma_in_its_name_goes_into_quotes(tmp_path):
    frame = people().rename(columns={"interview score": "score, interview"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    columns, _ = answers(tmp_path, "--features", '"score, interview",education')
    assert [each["column"] for each in columns if each["role"] == "feature"] == [
        "education", "score, interview",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (("--features", "gendr"), ["--features", "'gendr'", "did you mean 'gender'?"]),
        (("--features", "gender", "--ignore", "city"), ["--features", "--ignore", "one of them"]),
        (("--features", "gender,hired"), ["--features and --label both name 'hired'"]),
    ],
    ids=["an unknown name", "both options", "the label"],
)
def test_features_that_cannot_be_meant_are_refused(folder, options, fragments):
    done = unswayed_here("certify", "people.csv", "--label", "hired", *options, cwd=folder)
    refused(done, folder, {"people.csv"})
    assert all(fragment in done.stderr for fragment in fragments), done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("certify", "people.csv"),
        ("certify", "people.csv", "--in-pieces"),
        ("coefficients", "people.csv"),
        ("compare", "people.csv", "--against", "--alpha 4"),
        ("fairness", "people.csv", "--groups", "gender", "--metric", "selection-rate"),
        ("review", "plan", "people.csv", "--labels", "3", "--out", "plan.csv"),
        ("together", "people.csv"),
        ("tradeoff", "people.csv"),
        ("witness", "people.csv", "--row", "1"),
    ],
    ids=" ".join,
)
def test_without_a_label_the_columns_are_listed_two_classes_first(folder, command):
    done = unswayed_here(*command, cwd=folder)
    refused(done, folder, {"people.csv"})
    assert (
        "--label is missing: name the column to predict. people.csv has two classes in 'gender' "
        "(male or female), 'hired' (no or yes); numbers in 'education', 'interview score', "
        "'salary'; categories in 'city'"
    ) in done.stderr


def test_without_a_label_a_file_that_is_not_there_is_the_error(tmp_path):
    done = unswayed_here("certify", "people.csv", cwd=tmp_path)
    refused(done, tmp_path, set())
    assert "there is no file people.csv" in done.stderr
