"""`unswayed certify --folds`: every row, by a model that did not see it."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, minimum_budgets, people, unswayed_here
from unswayed.study.folds import Parts, open_folds
from unswayed.study.request import Budget, Request

FOLDED = ("certify", "people.csv", *CLASSES, "--folds")


def test_every_row_is_certified_by_the_model_of_the_other_folds(folder):
    done = unswayed_here(
        *(*FOLDED, 7, "--budget", "3%", "--budget", "9"),
        *("--groups", "gender", "--out", "out.csv", "--json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table, facts, frame = pd.read_csv(folder / "out.csv"), json.loads(done.stdout), people()
    assert table["row"].tolist() == list(range(1, 241))
    assert sorted(np.bincount(table["fold"])[1:]) == [34, 34, 34, 34, 34, 35, 35]
    for fold in range(1, 8):
        rows = np.flatnonzero(table["fold"] == fold)
        score, least = minimum_budgets(frame, "hired", ["salary"], rows)
        np.testing.assert_allclose(table["score"][rows], score, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(table["minimum_budget"][rows], least)
    np.testing.assert_array_equal(table["label"], frame["hired"])
    count = int(0.03 * 205)  # of the fold with the fewest training rows
    assert (facts["folds"], facts["train_rows"], facts["test_rows"]) == (7, 205, 240)
    assert [each["labels"] for each in facts["budgets"]] == [count, 9]
    for each in facts["budgets"]:
        assert each["robust"] == (table["minimum_budget"] > each["labels"]).sum()
    np.testing.assert_array_equal(table["verdict"] == "robust", table["minimum_budget"] > count)
    assert facts["quality"] == pytest.approx((table["label"] == table["prediction"]).mean())
    assert sum(each["rows"] for each in facts["groups"][0]["groups"]) == 240


def test_the_console_says_what_was_done(folder):
    done = unswayed_here(*FOLDED, 10, cwd=folder)
    assert "240 rows in 10 folds, each row certified by a model of the other folds" in done.stdout
    assert "(216 training rows)" in done.stdout


def test_only_and_missing_rows_keep_their_places(folder):
    frame = people()
    frame.loc[[3, 8, 77], "education"] = np.nan
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here(
        *(*FOLDED, 5, "--missing", "drop", "--only", "gender == 'female'", "--out", "out.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table, kept = pd.read_csv(folder / "out.csv"), frame.dropna().reset_index(drop=True)
    np.testing.assert_array_equal(table["row"], frame.dropna().index + 1)
    movable = (kept["gender"] == "female").to_numpy()
    for fold in range(1, 6):
        rows = np.flatnonzero(table["fold"] == fold)
        _, least = minimum_budgets(kept, "hired", ["salary"], rows, movable)
        np.testing.assert_array_equal(table["minimum_budget"][rows], least)
    done = unswayed_here(*FOLDED, 5, "--missing", "impute", "--json", cwd=folder)
    assert json.loads(done.stdout)["test_rows"] == 240


def test_labels_have_no_part_in_the_folds_but_the_seed_has(folder):
    def folds(*more):
        unswayed_here(*FOLDED, 5, "--out", "out.csv", *more, cwd=folder)
        return pd.read_csv(folder / "out.csv")["fold"].tolist()

    first = folds()
    assert folds("--seed", 4) != first
    frame = people()
    frame["hired"] = np.where(frame["education"] > 12, "yes", "no")
    frame.to_csv(folder / "people.csv", index=False)
    assert folds() == first


def test_numbers_are_certified_too(folder):
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "2000", "--radius", "350"),
        *("--folds", 4, "--budget", "3%", "--out", "out.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(folder / "out.csv")
    inside = (table["low"] >= table["score"] - 350) & (table["high"] <= table["score"] + 350)
    assert 0 < inside.sum() < len(table) == 240
    np.testing.assert_array_equal(table["verdict"] == "robust", inside)


@pytest.mark.parametrize("method", ["auto", "sandwich", "box"])
def test_bounds_claim_no_more_than_exact_certificates(folder, method):
    def facts(way):
        asked = ("--budget", "2%", "--budget", "4", "--method", way, "--json")
        return json.loads(unswayed_here(*FOLDED, 3, *asked, cwd=folder).stdout)["budgets"]

    for bound, exact in zip(facts(method), facts("exact"), strict=True):
        assert bound["robust"] <= exact["robust"]
        assert method != "auto" or bound == exact


def test_refitting_on_the_labels_of_a_witness_overturns_the_row(folder):
    frame = people()
    request = Request(
        train=folder / "people.csv", label="hired", ignore=("salary",), folds=5, alpha=20.0
    )
    study = open_folds(request)
    rows = np.flatnonzero(np.isfinite(study.answers.minimum_budget))[::17]
    for row, witness in zip(rows, study.witnesses(rows), strict=True):
        assert len(witness) == study.answers.minimum_budget[row]
        part = study.scheme.parts[int(study.fold[row]) - 1]
        assert set(witness.indices + 1) <= set(part.train.numbers)
        labels = (frame["hired"] == "yes").to_numpy(float)
        changed = labels.copy()
        changed[witness.indices] = witness.labels
        assert (changed != labels).sum() == len(witness)
        train = part.train.numbers - 1
        asked = part.test.features[np.flatnonzero(part.test.numbers == row + 1)]
        before, after = (
            part.model.estimator.fit(part.train.features, y[train]).predict(asked)[0] > 0.5
            for y in (labels, changed)
        )
        assert before != after


def test_witness_shows_the_labels_that_overturn_a_row_in_its_fold(folder):
    unswayed_here(*FOLDED, 5, "--out", "out.csv", cwd=folder)
    table = pd.read_csv(folder / "out.csv")
    row = int(table["row"][table["minimum_budget"].idxmin()])
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--folds", 5, "--row", row, "--json"), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert len(facts["changes"]) == table["minimum_budget"].min()
    changed = [each["row"] for each in facts["changes"]]
    assert row - 1 not in np.array(changed) - 1
    fold = table["fold"][row - 1]
    assert fold not in set(table["fold"][np.array(changed) - 1])
    done = unswayed_here("witness", "people.csv", *CLASSES, "--folds", 5, "--row", 999, cwd=folder)
    assert done.returncode == 2
    assert "is outside people.csv, which has 240 rows" in done.stderr


def test_a_threshold_at_the_share_of_positive_labels_is_one_per_fold(folder):
    done = unswayed_here(
        *(*FOLDED, 5, "--threshold", "balanced", "--out", "out.csv", "--json"), cwd=folder
    )
    facts, table = json.loads(done.stdout), pd.read_csv(folder / "out.csv")
    assert "deciding at a threshold per fold" in facts["model"]
    assert facts["quality"] == pytest.approx((table["label"] == table["prediction"]).mean())
    frame = people()
    for fold in range(1, 6):
        rows = np.flatnonzero(table["fold"] == fold)
        score, _ = minimum_budgets(frame, "hired", ["salary"], rows)
        mean = (frame["hired"] == "yes").drop(rows).mean()
        np.testing.assert_allclose(table["score"][rows], score - mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(
            table["prediction"][rows], np.where(score > mean, "yes", "no")
        )


def test_every_fold_has_a_certificate_file_that_can_be_checked(folder):
    done = unswayed_here(*FOLDED, 3, "--certificates", "c.json", "--out", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    table, proven = pd.read_csv(folder / "out.csv"), []
    for fold in (1, 2, 3):
        assert f"wrote c-{fold}.json" in done.stdout
        checked = unswayed_here("verify", f"c-{fold}.json", "--train", "people.csv", cwd=folder)
        assert checked.returncode == 0, checked.stderr
        assert "80 claims proven, 0 rejected" in checked.stdout
        robust = int((table["verdict"][table["fold"] == fold] == "robust").sum())
        assert f"proven: {robust} robust" in checked.stdout
        proven.append(robust)
    assert sum(proven) == (table["verdict"] == "robust").sum()
    assert not (folder / "c.json").exists()


@pytest.mark.parametrize(
    ("more", "instead"),
    [
        (("--alpha", "auto"), "--alpha 1"),
        (("--give-up", "2"), "--alpha 1"),
        (("--model", "logistic", "--C", "auto"), "--C 0.01"),
    ],
)
def test_no_row_of_the_file_chooses_a_penalty_because_it_trains_other_folds(folder, more, instead):
    for command in (("certify",), ("witness", "--row", "3")):
        asked = (*command, "people.csv", *CLASSES, "--folds", 5, *more)
        done = unswayed_here(*asked, cwd=folder)
        assert done.returncode == 2
        assert "every row trains the models of other folds" in done.stderr
        assert f"such as {instead}, or other rows with --validation FILE" in done.stderr


def test_penalties_that_differ_between_folds_are_said_to(folder):
    people(90, seed=9).to_csv(folder / "other.csv", index=False)
    people(241).to_csv(folder / "people.csv", index=False)  # folds of two sizes
    done = unswayed_here(
        *FOLDED, 2, "--alpha", "auto", "--validation", "other.csv", "--json", cwd=folder
    )
    facts = json.loads(done.stdout)
    assert facts["alpha"] is None
    assert "chosen in each of the 2 folds" in facts["alpha_choice"]
    assert "an alpha per fold" in facts["model"]


def test_alpha_may_be_chosen_by_another_file(folder):
    people(90, seed=9).to_csv(folder / "other.csv", index=False)
    done = unswayed_here(
        *FOLDED, 6, "--alpha", "auto", "--validation", "other.csv", "--json", cwd=folder
    )
    facts = json.loads(done.stdout)
    assert facts["alpha"] > 0  # the same in all folds, as all have as many training rows
    assert "the 90 rows of other.csv" in facts["alpha_choice"]
    assert (facts["train_rows"], facts["test_rows"]) == (200, 240)


def test_models_that_are_not_kept_are_made_again(folder):
    request = Request(
        train=folder / "people.csv",
        label="hired",
        ignore=("salary",),
        folds=3,
        budgets=(Budget("2%", 0.02), Budget("5", 5)),
        method="sandwich",
    )
    study, made = open_folds(request), []
    kept = [study.scheme.parts[fold] for fold in range(3)]

    def make(fold):
        made.append(fold)
        return kept[fold]

    parts = Parts(make, 3, keep=False)
    assert [*parts, parts[2], parts[0]] == [*kept, kept[2], kept[0]]
    assert made == [0, 1, 2, 0]


def test_the_report_is_about_every_row(folder):
    done = unswayed_here(*FOLDED, 4, "--groups", "city", "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text()
    assert "of 240 test rows" in page
    assert "each by a model that did not see it" in page


def test_the_report_has_the_coefficients_of_one_more_model_of_all_rows(folder):
    base = ("--base", "city=Bergen")
    done = unswayed_here(*FOLDED, 4, "--budget", "2%", *base, "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text()
    assert "trained on 240 rows of all folds; 2% of its labels are 4 labels" in page
    same = unswayed_here(
        *("coefficients", "people.csv", *CLASSES, "--budget", "2%", *base, "--json"), cwd=folder
    )
    facts = json.loads(same.stdout)
    assert facts["labels"] == 4
    cells = {
        end: [float(each) for each in re.findall(rf'data-head="{end}">([-+.\de]+)</td>', page)]
        for end in ("low", "high")
    }
    assert len(cells["low"]) == len(facts["coefficients"])
    categories = [each for each in facts["coefficients"] if " = " in each["name"]]  # not scaled
    assert len(categories) == 3
    for each in categories:  # rounded outwards, and no further than need be
        width = each["high"] - each["low"]
        assert any(0 <= each["low"] - shown < 0.02 * width for shown in cells["low"])
        assert any(0 <= shown - each["high"] < 0.02 * width for shown in cells["high"])


def test_rows_with_a_category_of_their_own_are_noted_once(folder):
    frame = people()
    frame.loc[[17, 90, 112], "city"] = ["Delft", "Essen", "Faro"]
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here(*FOLDED, 4, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("with a category that no training row has") == 1
    assert "3 test rows (first 'Delft' in row 18)" in done.stderr


def test_small_groups_are_not_told_to_use_folds_again(folder):
    frame = people().assign(team=["a"] * 225 + ["b"] * 15)
    frame.to_csv(folder / "people.csv", index=False)
    for more, advised in (((), True), (("--folds", 5), False)):
        done = unswayed_here(
            *("certify", "people.csv", *CLASSES, "--groups", "team", "--json", *more), cwd=folder
        )
        (caveat,) = [c for c in json.loads(done.stdout)["caveats"] if c["kind"] == "small-group"]
        assert ("--folds 10" in caveat["sentence"]) is advised


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("1",), "--folds 1 leaves no rows to train on"),
        (("-3",), "leaves no rows to train on"),
        (("2.5",), "--folds '2.5' is not a number of folds"),
        (("ten",), "--folds 'ten' is not a number of folds"),
        (("241",), "--folds 241 is more than the 240 rows"),
        (("5", "--test", "people.csv"), "pass either --folds or --test"),
        (("5", "--holdout", "10%"), "pass either --folds or --holdout"),
        (("5", "--certificates", "c.txt"), "the name must end in .json"),
        (("5", "--report", "r.html", "--with-tradeoff"), "leave --folds out"),
        (("5", "--groups", "nobody"), "there is no column 'nobody'"),
        (("5", "--groups", "interview score"), "too many to compare"),
        (("5", "--only", "education > 99"), "selects no training row"),
    ],
)
def test_folds_that_make_no_sense_are_refused(folder, more, message):
    done = unswayed_here(*FOLDED, *more, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " ")


def test_more_folds_than_rows_of_a_class_are_refused(folder):
    frame = people()
    frame["hired"] = ["yes"] * 6 + ["no"] * 234
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here(*FOLDED, 10, cwd=folder)
    assert done.returncode == 2
    assert "only 6 rows have the label 'yes'" in done.stderr
    assert unswayed_here(*FOLDED, 6, cwd=folder).returncode == 0
    frame["hired"] = ["yes"] + ["no"] * 239
    frame.to_csv(folder / "people.csv", index=False)
    assert "would be certified; pass more rows" in unswayed_here(*FOLDED, 2, cwd=folder).stderr


def test_without_a_radius_every_row_moves_by_what_the_model_of_its_fold_allows(folder):
    asked = ("certify", "people.csv", *NUMBERS, "--shift", "2000", "--budget", "2%", "--folds", 4)
    done = unswayed_here(*asked, "--budget", "9", "--out", "out.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts, table = json.loads(done.stdout), pd.read_csv(folder / "out.csv")
    moved = np.maximum(table["high"] - table["score"], table["score"] - table["low"])
    assert facts["movement"]["budgets"][0]["largest"] == pytest.approx(moved.max())
    assert facts["budgets"][0]["interval"] is None
    for each in facts["radius_grid"]:
        radius = each["radius"]
        given = unswayed_here(*asked, "--radius", radius, "--json", cwd=folder)
        assert json.loads(given.stdout)["budgets"][0]["rate"] == pytest.approx(each["rates"][0])


def households(n_rows=240):
    """Applicants of 60 households of one to seven."""
    frame = people(n_rows)
    frame["household"] = [f"h{each}" for each in np.random.default_rng(0).integers(0, 60, n_rows)]
    return frame


def test_rows_of_one_household_are_in_one_fold_and_what_is_said_says_so(folder):
    frame = households()
    frame.to_csv(folder / "people.csv", index=False)
    asked = (*FOLDED, 5, "--fold-by", "household")
    done = unswayed_here(*asked, "--out", "out.csv", "--json", "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    table, facts = pd.read_csv(folder / "out.csv"), json.loads(done.stdout)
    assert (table.groupby(frame["household"])["fold"].nunique() == 1).all()
    assert np.ptp(np.bincount(table["fold"])[1:]) <= 4
    assert facts["fold_by"] == "household"
    assert "no row with the same 'household'" in facts["rows_in_words"]
    roles = {each["column"]: each["role"] for each in facts["columns"]}
    assert roles["household"] == "ignored"
    assert "no row with the same &#39;household&#39;" in (folder / "r.html").read_text()
    said = unswayed_here(*asked, cwd=folder).stdout
    assert "rows of the same 'household' are never split" in said
    for fold in range(1, 6):
        rows = np.flatnonzero(table["fold"] == fold)
        _, least = minimum_budgets(frame, "hired", ["salary", "household"], rows)
        np.testing.assert_array_equal(table["minimum_budget"][rows], least)


def test_rows_of_one_household_are_held_out_together_too(folder):
    frame = households()
    frame.to_csv(folder / "people.csv", index=False)
    asked = ("certify", "people.csv", *CLASSES, "--fold-by", "household", "--holdout", "30")
    done = unswayed_here(*asked, "--out", "out.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    out = frame["household"][pd.read_csv(folder / "out.csv")["row"] - 1]
    assert 30 <= len(out) <= 37
    assert frame["household"].isin(set(out)).sum() == len(out)
    facts = json.loads(done.stdout)
    assert facts["train_rows"] == 240 - len(out)
    assert "with all rows of the same 'household'" in facts["rows_in_words"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--folds", 5, "--fold-by", "who"), "there is no column 'who'"),
        (("--folds", 5, "--fold-by", "gender"), "has 2 different values, too few for --folds 5"),
        (("--holdout", "200", "--fold-by", "gender"), "leaves too few to train on"),
        (("--folds", 5, "--fold-by", "gap"), "is missing in row 8 (1 such row)"),
        (("--folds", 5, "--fold-by", "hired"), "--fold-by and --label both name 'hired'"),
        (("--test", "people.csv", "--fold-by", "city"), "pass one of them"),
        (("--in-pieces", "--fold-by", "city"), "--fold-by is not possible"),
    ],
)
def test_a_column_that_cannot_keep_rows_together_is_refused(folder, more, said):
    frame = people()
    frame["gap"] = [None if at == 7 else f"h{at % 50}" for at in range(240)]
    frame.to_csv(folder / "people.csv", index=False)
    ignored = () if "gap" in more else ("--ignore", "gap")
    done = unswayed_here("certify", "people.csv", *CLASSES, *ignored, *more, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
