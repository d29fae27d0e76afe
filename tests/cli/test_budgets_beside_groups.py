"""Budgets beside what they can destroy: the share of each class and group that can be wrong."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed import CertifiedClassifier, LabelBias, cross_certify


@pytest.fixture
def small(tmp_path):
    """Seven of 300 rows are from Derry."""
    frame = people(300)
    frame.loc[frame.index % 43 == 0, "city"] = "Derry"
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def asked(folder, *options, source="people.csv", label=CLASSES):
    done = unswayed_here("certify", source, *label, "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def group(facts, name):
    return next(each for each in facts["groups"][0]["groups"] if each["group"] == name)


WAY = ("--groups", "city", "--budget", "10", "--budget", "2", "--holdout", "50%")


def test_each_group_and_class_has_the_share_of_its_training_labels_that_can_be_wrong(small):
    facts = asked(small, *WAY, "--out", "out.csv")
    frame = pd.read_csv(small / "people.csv")
    held = pd.read_csv(small / "out.csv")["row"] - 1
    train = frame.drop(index=held)
    for name in frame["city"].unique():
        if name not in set(frame["city"][held]):
            continue
        rows, found = int((train["city"] == name).sum()), group(facts, name)
        assert found["train_rows"] == rows
        assert found["can_be_wrong"] == [min(10, rows) / rows, min(2, rows) / rows]
        assert found["fewer_than_budget"] == [rows < 10, rows < 2]
    for each in (*facts["balance"], *facts["predicted_classes"]):
        rows = int((train["hired"] == each["class"]).sum())
        assert each["train_rows"] == rows
        assert each["can_be_wrong"] == [10 / rows, 2 / rows]


def test_a_group_below_the_budget_is_marked_and_warned_of(small):
    words = ("certify", "people.csv", *CLASSES, *WAY, "--report", "r.html", "--verbose")
    done = unswayed_here(*words, cwd=small)
    *_, line = (line for line in done.stdout.splitlines() if line.startswith("Derry"))
    assert "below" in line
    assert "all " in line  # at the larger budget
    assert "10 labels may be wrong, which is more than all training rows of a group of 'city': " \
           "'Derry'" in done.stderr  # fmt: skip
    page = (small / "r.html").read_text()
    assert "below the budget" in page
    facts = asked(small, *WAY)
    assert "budget-exceeds-group" in {each["kind"] for each in facts["caveats"]}


def test_labels_that_cannot_be_wrong_are_not_counted(small):
    facts = asked(small, *WAY, "--only", "city != 'Derry'", "--direction", "up")
    assert group(facts, "Derry")["can_be_wrong"] == [0, 0]
    assert "budget-exceeds-group" not in {each["kind"] for each in facts["caveats"]}
    no, yes = facts["balance"]
    assert yes["can_be_wrong"] == [0, 0]
    assert no["can_be_wrong"][0] == 10 / no["train_rows"]


def test_folds_count_the_training_rows_of_the_fold_that_has_fewest(small):
    facts = asked(small, "--groups", "city", "--budget", "10", "--folds", "3", "--out", "out.csv")
    frame, fold = pd.read_csv(small / "people.csv"), pd.read_csv(small / "out.csv")["fold"]
    derry = frame["city"] == "Derry"
    fewest = min(int((derry & (fold != each)).sum()) for each in (1, 2, 3))
    assert group(facts, "Derry")["train_rows"] == fewest


def test_a_folder_knows_its_classes_and_not_its_groups(small):
    (small / "parts").mkdir()
    pd.read_csv(small / "people.csv").to_csv(small / "parts" / "a.csv", index=False)
    facts = asked(small, *WAY, source="parts")
    assert group(facts, "Derry")["train_rows"] is None
    assert sum(each["train_rows"] for each in facts["balance"]) == facts["train_rows"]


def test_groups_of_predicted_numbers_have_it_too(small):
    way = ("certify", "people.csv", *NUMBERS, "--shift", "500", *WAY, "--report", "r.html")
    done = unswayed_here(*way, cwd=small)
    assert done.returncode == 0, done.stderr
    assert "can be wrong" in done.stdout
    assert 'data-cell="wrong"' in (small / "r.html").read_text()


@pytest.mark.parametrize("folds", [False, True])
def test_a_page_from_python_warns_of_a_class_below_the_budget(tmp_path, folds):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 1.3).astype(int)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=20), threshold="balanced")
    certs = cross_certify(model, X, y, cv=4) if folds else model.fit(X, y).certify(X)
    certs.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "20 labels may be wrong, which is more than all training rows of a class" in page
