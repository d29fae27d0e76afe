"""`unswayed inspect FILE --test OTHER`: what certifying those rows would stumble over."""

import json

import numpy as np
import pytest

from tests.commands import people, unswayed_here

ASKED = ("inspect", "people.csv", "--label", "hired", "--test", "new.csv")


@pytest.fixture
def looked_at(folder):
    """Write the file of test rows and inspect both."""

    def look(frame, *options):
        frame.to_csv(folder / "new.csv", index=False)
        done = unswayed_here(*ASKED, *options, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["test"]

    return look


def kinds(found):
    return {each["kind"]: each for each in found["caveats"]}


def test_rows_like_the_training_rows_give_no_warning(looked_at):
    found = looked_at(people(60, seed=9))
    assert found["caveats"] == []
    assert found["rows"] == 60
    assert [each["there"] for each in found["columns"]][:3] == ["category", "category", "number"]


def test_labels_that_differ_by_a_full_stop_are_named(folder, looked_at):
    frame = people(60, seed=9)
    frame["hired"] += "."
    (caveat,) = looked_at(frame)["caveats"]
    assert caveat["kind"] == "other-labels"
    for words in ("'yes.'", "'no.'", "'yes'", "'no'", "60 rows", "full stop"):
        assert words in caveat["sentence"]
    done = unswayed_here(*ASKED, cwd=folder)
    assert caveat["sentence"] in done.stderr.replace("\n", " ")
    assert "yes., no." in done.stdout or "no., yes." in done.stdout


def test_values_that_no_training_row_has_are_counted_and_the_first_row_is_named(folder, looked_at):
    frame = people(60, seed=9)
    frame.loc[[7, 20, 41], "city"] = ["Delft", "Essen", "Delft"]
    found = looked_at(frame)
    caveat = kinds(found)["unseen-values"]
    assert "'Delft' and 'Essen' in 3 rows here (first in row 8)" in caveat["text"]
    assert "--unseen ignore" in caveat["option"]
    city = next(each for each in found["columns"] if each["column"] == "city")
    assert (city["unseen"], city["unseen_rows"]) == (["Delft", "Essen"], 3)
    asked = ("certify", "people.csv", "--label", "hired", "--ignore", "salary", "--test", "new.csv")
    assert unswayed_here(*asked, cwd=folder).returncode == 2
    assert unswayed_here(*asked, "--unseen", "ignore", cwd=folder).returncode == 0


def test_codes_are_compared_like_categories(folder, looked_at):
    people().assign(team=np.arange(240) % 3).to_csv(folder / "people.csv", index=False)
    frame = people(60, seed=9).assign(team=np.arange(60) % 5)
    assert looked_at(frame)["caveats"] == []
    caveat = kinds(looked_at(frame, "--categorical", "team"))["unseen-values"]
    assert "'3' and '4' in 24 rows" in caveat["text"]


def test_columns_that_are_missing_or_of_another_kind_are_named(looked_at):
    frame = people(60, seed=9).drop(columns=["gender", "hired"]).assign(gendre="x")
    frame["education"] = frame["education"].astype(str)
    frame.loc[5, "education"] = "ten"
    frame.loc[2, "interview score"] = np.nan
    found = kinds(looked_at(frame))
    assert "lacks the column 'gender'" in found["lacking-column"]["text"]
    assert "did you mean 'gendre'?" in found["lacking-column"]["option"]
    assert "'ten' in row 6 is no number" in found["other-kind"]["text"]
    assert "'interview score' miss a value" in found["missing-values"]["text"]
    assert "no column 'hired'" in found["no-labels"]["text"]
    assert "'gendre'" in found["unused-column"]["text"]


def test_ignored_columns_are_not_compared(looked_at):
    frame = people(60, seed=9).drop(columns="gender")
    assert looked_at(frame, "--ignore", "gender")["caveats"] == []


def test_a_sign_among_texts_that_may_mean_missing_is_named(folder):
    frame = people()
    frame.loc[[3, 8], "city"] = " ?"
    frame.loc[9, "gender"] = "?"
    frame.to_csv(folder / "people.csv", index=False)

    def found(*options):
        done = unswayed_here(
            "inspect", "people.csv", "--label", "hired", *options, "--json", cwd=folder
        )
        return kinds(json.loads(done.stdout))

    caveat = found()["missing-mark"]
    assert "columns 'gender', 'city' have '?' among their texts" in caveat["text"]
    assert "--na '?'" in caveat["option"]
    assert "missing-mark" not in found("--na", "?")
    assert "column 'city' has '?'" in found("--categorical", "gender")["missing-mark"]["text"]
