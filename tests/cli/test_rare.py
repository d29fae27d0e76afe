"""Rare classes: what accuracy hides stands beside it, and advice ends where it is followed."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from tests.commands import CLASSES, people, unswayed_here


@pytest.fixture
def rare(tmp_path):
    """One in twelve is hired, and not by the columns alone."""
    frame = people(480)
    noisy = frame["salary"] + np.random.default_rng(0).normal(0, 9000, len(frame))
    frame["hired"] = np.where(noisy > noisy.quantile(11 / 12), "yes", "no")
    frame.to_csv(tmp_path / "rare.csv", index=False)
    (tmp_path / "parts").mkdir()
    frame[:240].to_csv(tmp_path / "parts" / "a.csv", index=False)
    frame[240:].to_csv(tmp_path / "parts" / "b.csv", index=False)
    return tmp_path


def asked(folder, *options, source="rare.csv"):
    done = unswayed_here(
        *("certify", source, *CLASSES, "--budget", "3", "--json", *options), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def caveats(facts):
    return {each["kind"]: each for each in facts["caveats"]}


@pytest.mark.parametrize(
    "way",
    [("--holdout", "40%"), ("--folds", "3"), ("--model", "logistic", "--threshold", "0.1"),
     ("--holdout", "40%", "--threshold", "balanced")],
    ids=" ".join,
)  # fmt: skip
def test_recall_precision_balanced_accuracy_and_auc_are_those_of_scikit_learn(rare, way):
    facts = asked(rare, *way, "--out", "out.csv")
    table = pd.read_csv(rare / "out.csv")
    truth, said = table["label"] == "yes", table["prediction"] == "yes"
    assert facts["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, said))
    assert facts["recall"] == pytest.approx(metrics.recall_score(truth, said))
    if said.any():
        assert facts["precision"] == pytest.approx(metrics.precision_score(truth, said))
    assert facts["auc"] == pytest.approx(metrics.roc_auc_score(truth, table["score"]))


def test_terminal_and_page_show_them_beside_accuracy(rare):
    words = ("certify", "rare.csv", *CLASSES, "--budget", "3", "--report", "r.html", "--verbose")
    done = unswayed_here(*words, cwd=rare)
    line = next(line for line in done.stdout.splitlines() if line.startswith("balanced accuracy"))
    assert "recall of yes: " in line
    assert "AUC: 0." in line
    assert "(recall)" in (rare / "r.html").read_text()


def test_following_the_advice_ends_it(rare):
    before = asked(rare, "--holdout", "40%")
    found = caveats(before)["no-better-than-majority"]
    assert found["option"] == "consider --threshold balanced"
    assert "balanced accuracy is" in found["text"]
    after = asked(rare, "--holdout", "40%", "--threshold", "balanced")
    assert after["quality"] < after["majority_quality"]  # given up for the rare class
    assert after["balanced_accuracy"] > 0.5
    assert "no-better-than-majority" not in caveats(after)
    assert "constant-classifier" not in caveats(after)


@pytest.mark.parametrize(
    ("source", "way"),
    [("parts", ()), ("rare.csv", ("--model", "logistic")), ("rare.csv", ("--method", "box"))],
    ids=str,
)
def test_nobody_is_advised_what_is_refused(rare, source, way):
    facts = asked(rare, "--holdout", "40%", *way, source=source)
    assert caveats(facts)
    assert "balanced" not in str([each["option"] for each in facts["caveats"]])
    done = unswayed_here(*("certify", source, *CLASSES, *way, "--threshold", "balanced"), cwd=rare)
    assert done.returncode == 2


def test_a_threshold_outside_the_scores_of_a_folder_advises_what_a_folder_has(rare):
    facts = asked(rare, "--threshold", "7", source="parts")
    assert "balanced" not in caveats(facts)["threshold-outside-scores"]["option"]
