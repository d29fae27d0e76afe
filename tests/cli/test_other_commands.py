"""`witness`, `coefficients`, `tradeoff` and `demo` on real files."""

import json

import numpy as np
import pandas as pd

from tests.commands import CLASSES, NUMBERS, minimum_budgets, people, unswayed_here


def test_a_witness_names_as_many_labels_as_the_minimum_budget_and_overturns_when_refitted(folder):
    unswayed_here("certify", "people.csv", *CLASSES, "--out", "out.csv", cwd=folder)
    table = pd.read_csv(folder / "out.csv")
    at = int(table["minimum_budget"].argmin())
    row = int(table["row"][at])
    done = unswayed_here(
        "witness", "people.csv", *CLASSES, "--row", row, "--out", "w.csv", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    facts, frame = json.loads(done.stdout), people()
    changes = pd.read_csv(folder / "w.csv")
    assert len(changes) == facts["labels"] == table["minimum_budget"][at]
    np.testing.assert_array_equal(changes["label"], frame["hired"][changes["row"] - 1])
    assert (changes["label"] != changes["new label"]).all()
    np.testing.assert_array_equal(
        changes["interview score"], frame["interview score"][changes["row"] - 1]
    )
    frame.loc[changes["row"] - 1, "hired"] = changes["new label"].to_numpy()
    score, _ = minimum_budgets(frame, "hired", ["salary"], table["row"].to_numpy() - 1)
    assert (score[at] > 0.5) != (table["prediction"][at] == "yes")
    assert abs(score[at] - facts["new_score"]) < 1e-9


def test_a_witness_for_a_person_is_a_table_and_a_sentence(folder):
    unswayed_here("certify", "people.csv", *CLASSES, "--out", "out.csv", cwd=folder)
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][table["minimum_budget"].argmin()])
    done = unswayed_here("witness", "people.csv", *CLASSES, "--row", row, cwd=folder)
    assert f"row {row} is predicted" in done.stdout
    assert "refitted on these labels, the model says" in done.stdout


def test_a_row_that_nothing_overturns_says_so(folder):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--out", "out.csv", "--direction", "up"), cwd=folder
    )
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][np.isinf(table["minimum_budget"])].iloc[0])
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--row", row, "--direction", "up"), cwd=folder
    )
    assert done.returncode == 0
    assert "No label changes of that kind overturn it" in done.stdout


def test_coefficients_with_their_ranges_and_the_errors_that_flip_them(folder):
    done = unswayed_here(
        *("coefficients", "people.csv", *NUMBERS, "--shift", "2000", "--budget", "5"),
        *("--out", "c.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "stays positive" in done.stdout
    table = pd.read_csv(folder / "c.csv")
    assert len(table) == 6
    assert set(table["column"].dropna()) == {"education", "interview score", "gender", "city"}
    excludes_zero = (table["low"] > 0) | (table["high"] < 0)
    np.testing.assert_array_equal(table["keeps_sign"], excludes_zero)
    np.testing.assert_array_equal(table["keeps_sign"], table["minimum_budget"] > 5)


def test_the_tradeoff_reaches_full_robustness_at_a_huge_alpha(folder):
    done = unswayed_here(
        *("tradeoff", "people.csv", *CLASSES, "--alphas", "1,1e9", "--budget", "1%"),
        *("--out", "t.csv", "--chart", "t.svg"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(folder / "t.csv")
    assert table["alpha"].tolist() == [1, 1e9]
    assert table["robust at 1%"][1] == 1.0
    assert (folder / "t.svg").read_text().startswith("<svg")


def test_the_demo_writes_its_data_and_its_report(tmp_path):
    done = unswayed_here("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "unswayed-demo.csv",
        "unswayed-report.html",
    ]
    assert "unswayed certify unswayed-demo.csv" in done.stdout
    assert "unswayed certify unswayed-demo.csv" in (tmp_path / "unswayed-report.html").read_text()
