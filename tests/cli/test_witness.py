"""``unswayed witness``: the row itself, every column that differs, groups first."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, people, unswayed_here


@pytest.fixture
def asked(folder):
    """The witness of the least robust row, in words or as JSON."""
    unswayed_here("certify", "people.csv", *CLASSES, "--out", "out.csv", cwd=folder)
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][table["minimum_budget"].argmin()])

    def ask(*options, file="people.csv", of=CLASSES):
        done = unswayed_here("witness", file, *of, "--row", row, *options, cwd=folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in options else done.stdout

    return row, ask


def test_the_row_itself_stands_above_those_whose_labels_change(asked):
    row, ask = asked
    facts, frame = ask("--json"), people()
    own = frame.iloc[row - 1]
    assert facts["features"] == {
        "gender": own["gender"], "city": own["city"], "education": str(own["education"]),
        "interview score": f"{own['interview score']:g}",
    }  # fmt: skip
    assert facts["label"] == own["hired"]
    lines = ask().splitlines()
    this = next(line for line in lines if line.startswith(f"this: {row}"))
    assert f"{own['interview score']:g}" in this


def test_groups_come_first_also_those_that_are_no_features(asked):
    _, ask = asked
    of = ("--label", "hired", "--ignore", "salary,city")
    facts = ask("--groups", "city", "--json", of=of)
    assert next(iter(facts["features"])) == "city"
    assert list(facts["changes"][0])[:4] == ["row", "label", "new label", "city"]
    head = next(line for line in ask("--groups", "city", of=of).splitlines() if "new label" in line)
    assert head.index("city") < head.index("education")


def test_no_column_is_cut_however_many_there_are(asked, folder):
    row, ask = asked
    frame = people()
    for at in range(30):
        frame[f"feature number {at}"] = (frame.index * (at + 3) + 10 * at) % 101
    frame["nearly"] = np.where(frame.index.isin([0, 77, 150, 200]), "else", "the same")
    frame.to_csv(folder / "wide.csv", index=False)
    said = ask(file="wide.csv")
    for name in frame.columns.drop(["hired", "salary"]):
        assert name in said
    assert "the same in all of these rows: " in said
    assert said.count(f"this: {row}") > 1  # one table below the other
    assert len(ask("--json", file="wide.csv")["features"]) == 35


def test_columns_called_like_those_of_a_witness_stay(folder):
    frame = people().rename(columns={"education": "row", "city": "label"})
    frame.to_csv(folder / "odd.csv", index=False)
    unswayed_here("certify", "odd.csv", *CLASSES, "--out", "out.csv", cwd=folder)
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][table["minimum_budget"].argmin()])
    done = unswayed_here("witness", "odd.csv", *CLASSES, "--row", row, "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert facts["features"]["label (column)"] == frame["label"][row - 1]
    change = facts["changes"][0]
    assert change["row (column)"] == str(frame["row"][change["row"] - 1])


def test_a_row_that_nothing_overturns_shows_its_features_too(folder):
    unswayed_here(
        *("certify", "people.csv", *CLASSES, "--out", "out.csv", "--direction", "up"), cwd=folder
    )
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][table["minimum_budget"].isin([float("inf")])].iloc[0])
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--row", row, "--direction", "up"), cwd=folder
    )
    assert people()["city"][row - 1] in done.stdout


@pytest.mark.parametrize("row", [0, -3, 241, 10**9])
def test_a_row_outside_the_file_is_said_to_be_that(folder, row):
    done = unswayed_here("witness", "people.csv", *CLASSES, f"--row={row}", cwd=folder)
    assert done.returncode == 2
    assert f"--row {row} is outside people.csv, which has 240 rows" in done.stderr


def test_a_training_row_is_not_outside_the_file(asked, folder):
    unswayed_here("certify", "people.csv", *CLASSES, "--out", "out.csv", cwd=folder)
    held = set(pd.read_csv(folder / "out.csv")["row"])
    row = min(set(range(1, 241)) - held)
    done = unswayed_here("witness", "people.csv", *CLASSES, "--row", row, cwd=folder)
    assert f"--row {row} is not held out" in done.stderr


def test_a_row_that_misses_a_value_is_said_to_be_left_out(folder):
    frame = people(20)
    frame.loc[4, "education"] = None
    frame.to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--test", "new.csv", "--missing", "drop"),
        *("--row", "5"),
        cwd=folder,
    )
    assert "--row 5 of new.csv misses a value and is left out" in done.stderr
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--test", "new.csv", "--missing", "drop"),
        *("--row", "21"),
        cwd=folder,
    )
    assert "--row 21 is outside new.csv, which has 20 rows" in done.stderr


def test_labels_are_also_a_share_of_those_that_may_be_wrong(asked, folder):
    _, ask = asked
    facts = ask("--only", "gender == 'male'", "--json")
    assert facts["labels_in_words"].endswith(
        f"% of the {facts['movable_labels']} that may be wrong"
    )
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--only", "gender == 'male'", "--budget", "5%"),
        *("--direction", "up", "--json"),
        cwd=folder,
    )
    facts, frame = json.loads(done.stdout), people()
    assert facts["budgets"][0]["labels"] == 10
    movable = facts["movable_labels"]
    assert movable <= ((frame["gender"] == "male") & (frame["hired"] == "no")).sum()
    assert facts["budgets"][0]["share_of_movable"] == pytest.approx(10 / movable)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--only", "gender == 'male'", "--budget", "5%"),
        cwd=folder,
    )
    assert "up to 10 labels (5% of all, " in done.stdout
    assert " that may be wrong" in done.stdout


def test_a_witness_against_a_balanced_threshold_overturns_when_refitted(asked):
    _, ask = asked
    facts = ask("--threshold", "balanced", "--json")
    assert facts["overturned"]
    assert facts["new_prediction"] != facts["prediction"]


def test_a_witness_beyond_the_budget_is_said_to_be_one(folder):
    ask = ("people.csv", *CLASSES)
    unswayed_here("certify", *ask, "--out", "rows.csv", cwd=folder)
    rows = pd.read_csv(folder / "rows.csv").set_index("row")["minimum_budget"]
    row, least = int(rows.idxmax()), int(rows.max())
    for budget, beyond in ((least - 1, True), (least, False)):
        done = unswayed_here("witness", *ask, "--budget", budget, "--row", row, cwd=folder)
        assert done.returncode == 0, done.stderr
        said = f"the budget allows {budget} labels ({budget}): within it, no wrong labels change"
        assert (said in done.stdout) is beyond
