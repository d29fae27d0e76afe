"""All rows of three or more classes on the command line: counts, rates and reviews."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.classes.oracle import class_scores, label_sets, outcome
from tests.cli.test_several_classes import CLASSES, features, jobs, run
from tests.effort import some
from unswayed import CertifiedClassifier, LabelBias

LABEL = ("jobs.csv", "--label", "decision", "--test", "new.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("jobs")
    jobs().to_csv(made / "jobs.csv", index=False)
    jobs(40, seed=9).to_csv(made / "new.csv", index=False)
    return made


@pytest.fixture(scope="module")
def model():
    """The model of the command line, and its test rows."""
    train = jobs()
    made = CertifiedClassifier(Ridge(alpha=1.0, tol=1e-13), bias=LabelBias.flips(budget=3))
    return made.fit(features(train, train), train["decision"]), features(jobs(40, seed=9), train)


def facts_of(folder, *words, code=0):
    return json.loads(run(folder, *words, "--json", code=code).stdout)


# --- against all label sets --------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3][: some(1, 3)])
def test_counts_and_rates_are_those_of_all_label_sets(tmp_path, seed):
    train, test = jobs(14, seed=seed), jobs(9, seed=50 + seed)
    assert train["decision"].value_counts().min() > 2  # no class can lose all of its labels
    assert set(train["city"]) == {"Bergen", "Oslo"}
    train.to_csv(tmp_path / "jobs.csv", index=False)
    test.to_csv(tmp_path / "new.csv", index=False)
    own = np.array([CLASSES.index(each) for each in train["decision"]])
    X, tests = features(train, train), features(test, train)
    said = [
        outcome(class_scores(X, labels, tests, 3, alpha=1.0))
        for labels in label_sets(own, np.ones((14, 3), dtype=bool), 2)
    ]
    counted = facts_of(tmp_path, "together", *LABEL, "--budget", "2")["together"]["budgets"][0]
    most = max(int((each != said[0]).sum()) for each in said)
    assert counted["at_least"] <= most <= counted["at_most"]
    assert counted["replayed"] == counted["at_least"] == most
    found = facts_of(tmp_path, "fairness", *LABEL, "--budget", "2", "--groups", "city")["fairness"]
    bergen = (test["city"] == "Bergen").to_numpy()
    for number, name in enumerate(CLASSES):
        told = np.array(said) == number
        rates = told.mean(axis=1)
        gaps = np.abs(told[:, bergen].mean(axis=1) - told[:, ~bergen].mean(axis=1))
        rate = next(each for each in found["overall"] if name in each["metric"])
        gap = next(each for each in found["columns"][0]["metrics"] if name in each["metric"])
        for line, every in ((rate, rates), (gap, gaps)):
            ends = line["ranges"][0]
            assert line["value"] == pytest.approx(every[0])
            near = 1e-9
            assert ends["low"] - near <= every.min() <= ends["inner_low"] + near
            assert ends["inner_high"] - near <= every.max() <= ends["high"] + near


# --- against the library -----------------------------------------------------------------------


def test_counts_are_those_of_python(folder, model):
    ask = ("together", *LABEL, "--budget", "3", "--only-rows", "city == 'Oslo'")
    found = facts_of(folder, *ask)["together"]["budgets"][0]
    oslo = (jobs(40, seed=9)["city"] == "Oslo").to_numpy()
    same = model[0].certify_together(model[1], where=oslo)
    assert (found["at_most"], found["at_least"]) == (same.at_most, same.at_least)
    assert found["one_at_a_time"] == same.fragile
    assert found["overturned"] == (same.witness.overturned + 1).tolist()
    assert found["replayed_rows"] == found["overturned"]
    changes = [(each["row"] - 1, each["new label"]) for each in found["changes"]]
    assert changes == list(zip(same.witness.indices, same.witness.labels, strict=True))


def test_what_labels_may_really_be_holds_for_all_rows_together(folder):
    ask = ("together", *LABEL, "--budget", "4", "--to", "hired: interview")
    (found,) = facts_of(folder, *ask)["together"]["budgets"]
    assert found["changes"]
    moved = {(each["label"], each["new label"]) for each in found["changes"]}
    assert moved == {("hired", "interview")}


@pytest.fixture(scope="module")
def rates(folder):
    """Facts, console, table and page of one question about rates and gaps."""
    metrics = ("--metric", "accuracy,true_positive_rate,demographic_parity_difference")
    ask = ("fairness", *LABEL, "--budget", "1", "--groups", "city", *metrics)
    limits = ("--limit", "demographic_parity_difference (hired)=0.9", "--limit", "0.1")
    facts = facts_of(folder, *ask, *limits, "--out", "ranges.csv", "--report", "f.html", code=1)
    table, page = pd.read_csv(folder / "ranges.csv"), (folder / "f.html").read_text()
    console = run(folder, "fairness", *LABEL, "--budget", "1", "--metric", "selection_rate").stdout
    return facts["fairness"], console, table, page


def test_rates_of_every_class_are_those_of_python(rates, model):
    found, console, table, page = rates
    rows = jobs(40, seed=9)
    lines = {each["metric"]: each for each in found["overall"]}
    assert list(lines) == ["accuracy", *(f"true_positive_rate ({name})" for name in CLASSES)]
    for name in CLASSES:
        same = model[0].certify_metric(
            model[1], "true_positive_rate", y_true=rows["decision"], positive=name, budget=1
        )
        line = lines[f"true_positive_rate ({name})"]
        assert line["value"] == same.value
        assert [line["ranges"][0][end] for end in ("low", "high")] == [same.low, same.high]
        title = f"demographic_parity_difference ({name})"
        assert title in table["metric"].tolist()
        assert f"gap in the share predicted {name}" in page
        assert f"selection_rate ({name})" in console
    same = model[0].certify_metric(model[1], "accuracy", y_true=rows["decision"], budget=1)
    assert lines["accuracy"]["ranges"][0]["low"] == same.low


def test_a_limit_without_a_class_is_one_of_every_class(rates):
    limits = [(each["metric"], each["limit"]) for each in rates[0]["limits"]]
    title = "demographic_parity_difference ({})"
    assert limits == [(title.format("hired"), 0.9), *((title.format(n), 0.1) for n in CLASSES)]
    assert {each["verdict"] for each in rates[0]["limits"]} > {"holds"}
    assert "the limit is at most 90 points" in rates[3]


def test_a_class_in_brackets_is_the_only_one(folder):
    ask = ("fairness", *LABEL, "--budget", "1", "--metric", "selection_rate (hired)")
    (line,) = facts_of(folder, *ask)["fairness"]["overall"]
    assert line["metric"] == "selection_rate (hired)"


def test_a_review_is_that_of_python_and_is_applied(folder, model):
    ask = (*LABEL, "--budget", "3")
    found = facts_of(folder, "review", "plan", *ask, "--labels", "8", "--out", "r.csv")["review"]
    same = model[0].review_plan(model[1], labels=8)
    assert [each["row"] - 1 for each in found["labels"]] == same.order.tolist()
    assert found["robust_after"] == same.robust_after.tolist()
    answers = pd.read_csv(folder / "r.csv", dtype=str)
    answers["checked_label"] = answers["label"]
    answers.loc[0, "checked_label"] = next(n for n in CLASSES if n != answers["label"][0])
    answers.to_csv(folder / "answers.csv", index=False)
    words = ("jobs.csv", "answers.csv", *ask[1:], "--out", "corrected.csv")
    applied = facts_of(folder, "review", "apply", *words)["review"]
    checked = dict(
        zip(answers["row"].astype(int) - 1, answers["checked_label"].tolist(), strict=True)
    )
    train = jobs()
    again = model[0].reviewed(features(train, train), train["decision"], checked)
    assert applied["budgets"][0]["robust"][1] == int(again.model.certify(model[1]).robust.sum())
    assert pd.read_csv(folder / "corrected.csv")["decision"].tolist() == again.labels.tolist()


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("together", "--turned", "up"), "here are 3 classes; leave it out"),
        (("together", "--folds", "3"), "--folds does not go with the 3 classes"),
        (("fairness", "--folds", "3"), "hold rows out with --holdout"),
        (("fairness", "--metric", "selection_rate (hied)"), "did you mean 'hired'?"),
        (("fairness", "--metric", "accuracy (hired)"), "accuracy is about all classes"),
        (("fairness", "--metric", "hired"), "there is no metric 'hired'"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(folder, words, says):
    done = run(folder, words[0], "jobs.csv", "--label", "decision", *words[1:], code=2)
    assert says in done.stderr


def test_a_group_without_labels_of_a_class_is_named(tmp_path):
    jobs().to_csv(tmp_path / "jobs.csv", index=False)
    rows = jobs(40, seed=9)
    rows = rows[(rows["city"] == "Oslo") | (rows["decision"] != "hired")]
    rows.to_csv(tmp_path / "new.csv", index=False)
    ask = ("--metric", "true_positive_rate_difference", "--groups", "city")
    done = run(tmp_path, "fairness", *LABEL, *ask, code=2)
    assert "true_positive_rate_difference (hired)" in done.stderr
    assert "whose decision is 'hired', and the group 'Bergen'" in done.stderr
