"""`unswayed certify` on real files, against answers computed without it."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, minimum_budgets, people, unswayed_here


def test_the_exported_table_holds_the_closed_form_answers(folder):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--budget", "2%", "--budget", "9"),
        *("--groups", "gender,city", "--out", "out.csv", "--json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table, facts = pd.read_csv(folder / "out.csv"), json.loads(done.stdout)
    frame, held_out = people(), table["row"].to_numpy() - 1
    score, least = minimum_budgets(frame, "hired", ["salary"], held_out)
    np.testing.assert_allclose(table["score"], score, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(table["minimum_budget"], least)
    count = int(0.02 * (len(frame) - len(table)))
    np.testing.assert_array_equal(table["verdict"] == "robust", least > count)
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"]).all()
    np.testing.assert_array_equal(table["label"], frame["hired"].iloc[held_out])
    np.testing.assert_array_equal(table["prediction"], np.where(score > 0.5, "yes", "no"))
    assert [each["labels"] for each in facts["budgets"]] == [count, 9]
    assert [each["robust"] for each in facts["budgets"]] == [
        (least > count).sum(),
        (least > 9).sum(),
    ]
    for grouping, column in zip(facts["groups"], ("gender", "city"), strict=True):
        expected = pd.Series(least > count).groupby(frame[column].iloc[held_out].to_numpy()).mean()
        found = {each["group"]: each["rates"][0] for each in grouping["groups"]}
        assert found == pytest.approx(expected.to_dict())
        assert grouping["gaps"][0] == pytest.approx(expected.max() - expected.min())


def test_only_and_direction_limit_which_labels_may_be_wrong(folder):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--out", "out.csv", "--direction", "up"),
        *("--only", "gender == 'female' and `interview score` < 55"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table, frame = pd.read_csv(folder / "out.csv"), people()
    movable = (frame["gender"] == "female") & (frame["interview score"] < 55)
    movable &= frame["hired"] == "no"
    held_out = table["row"].to_numpy() - 1
    _, least = minimum_budgets(frame, "hired", ["salary"], held_out, movable.to_numpy())
    np.testing.assert_array_equal(table["minimum_budget"], least)


def test_parquet_and_csv_give_the_same_answers_in_every_output_format(folder):
    people().to_parquet(folder / "people.parquet")
    for source, out in (("people.csv", "a.parquet"), ("people.parquet", "b.json")):
        done = unswayed_here("certify", source, *CLASSES, "--out", out, "--quiet", cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    one = pd.read_parquet(folder / "a.parquet")
    other = pd.DataFrame(json.loads((folder / "b.json").read_text()))
    other["minimum_budget"] = other["minimum_budget"].fillna(np.inf)
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


def test_a_predicted_number_is_robust_while_its_range_stays_within_the_radius(folder):
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "0:2000", "--radius", "350"),
        *("--budget", "3%", "--out", "out.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "stay within 350" in done.stdout
    table = pd.read_csv(folder / "out.csv")
    inside = (table["low"] >= table["score"] - 350) & (table["high"] <= table["score"] + 350)
    assert 0 < inside.sum() < len(table)
    np.testing.assert_array_equal(table["verdict"] == "robust", inside)


@pytest.mark.parametrize(("share", "code"), [("1%", 0), ("100%", 1)])
def test_fail_under_decides_the_exit_code(folder, share, code):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--budget", "5%", "--fail-under", share, "--json"),
        cwd=folder,
    )
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["passed"] is (code == 0)


def test_a_test_file_without_labels_is_certified(folder):
    people(30, seed=9).drop(columns=["hired", "salary"]).to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--test", "new.csv", "--groups", "gender"),
        *("--out", "out.csv", "--report", "report.html", "--json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["train_rows"], facts["test_rows"], facts["quality"]) == (240, 30, None)
    assert "label" not in pd.read_csv(folder / "out.csv").columns
    assert "new.csv" in (folder / "report.html").read_text()


def test_missing_values_are_dropped_or_filled_in_when_asked(folder):
    frame = people()
    frame.loc[[3, 8], "education"] = np.nan
    frame.loc[5, "city"] = None
    frame.to_csv(folder / "people.csv", index=False)
    rows = {}
    for way in ("drop", "impute"):
        done = unswayed_here(
            "certify", "people.csv", *CLASSES, "--missing", way, "--json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        rows[way] = facts["train_rows"] + facts["test_rows"]
    assert rows == {"drop": 237, "impute": 240}


def test_give_up_takes_a_larger_alpha_chosen_on_rows_kept_apart(folder):
    chosen = []
    for loss in ("0", "40"):
        done = unswayed_here(
            "certify", "people.csv", *CLASSES, "--give-up", loss, "--json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        assert facts["train_rows"] + facts["test_rows"] + facts["validation_rows"] == 240
        assert facts["validation_rows"] == 43
        chosen.append(facts["alpha"])
    assert chosen[0] < chosen[1]


def test_numbers_can_be_categories(folder):
    done = unswayed_here(
        *("coefficients", "people.csv", *CLASSES, "--categorical", "education", "--json"),
        cwd=folder,
    )
    names = [each["name"] for each in json.loads(done.stdout)["coefficients"]]
    assert "education = 12" in names
    assert "education" not in names


def test_an_unseen_category_is_ignored_when_asked(folder):
    new = people(30, seed=9)
    new.loc[4, "city"] = "Derry"
    new.to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--test", "new.csv", "--unseen", "ignore"),
        cwd=folder,
    )
    assert done.returncode == 0
    assert "'Derry' in row 5" in done.stderr


@pytest.mark.parametrize("rows", ["100%", "-3", "0", "many"])
def test_a_bad_holdout_is_not_called_a_bad_budget(folder, rows):
    done = unswayed_here("certify", "people.csv", *CLASSES, f"--holdout={rows}", cwd=folder)
    assert done.returncode == 2
    assert f"--holdout '{rows}' is not a number of rows" in done.stderr


def test_a_share_that_is_asked_for_is_not_capped_like_the_default(tmp_path):
    people(120).loc[np.arange(110_000) % 120].to_csv(tmp_path / "many.csv", index=False)
    asked = ("certify", "many.csv", *CLASSES, "--budget", "1", "--json")
    held = [
        json.loads(unswayed_here(*asked, *more, cwd=tmp_path).stdout)["test_rows"]
        for more in ((), ("--holdout", "10%"))
    ]
    assert held == [10_000, 11_000]


@pytest.mark.parametrize("alpha", ["1", "2", "1.0"])
def test_alpha_and_the_loss_that_chooses_it_exclude_each_other(folder, alpha):
    done = unswayed_here(
        "certify", "people.csv", *CLASSES, "--alpha", alpha, "--give-up", "2", cwd=folder
    )
    assert done.returncode == 2
    assert "pass either --alpha or --give-up" in done.stderr
