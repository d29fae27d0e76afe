"""``--threshold``: where one class ends and the other begins, also where that moves with labels."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.commands import CLASSES, NUMBERS, people, unswayed_here


@pytest.fixture
def rare(tmp_path):
    """One in twelve is hired: at 0.5, hardly anyone would be."""
    frame = people(360)
    frame["hired"] = np.where(frame["salary"] > frame["salary"].quantile(11 / 12), "yes", "no")
    frame.to_csv(tmp_path / "rare.csv", index=False)
    return tmp_path


def asked(folder, *options):
    done = unswayed_here(
        "certify", "rare.csv", *CLASSES, "--budget", "3", "--out", "out.csv", "--json", *options,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), pd.read_csv(folder / "out.csv")


def refitted(frame, rows, labels):
    """Scores of the held-out rows less the share of positive labels, by scikit-learn alone."""
    held = np.zeros(len(frame), bool)
    held[rows - 1] = True
    X = frame.drop(columns=["hired", "salary"])
    encode = make_column_transformer(
        (OneHotEncoder(), ["gender", "city"]), (StandardScaler(), ["education", "interview score"])
    )
    y = (labels == "yes").to_numpy(float)[~held]
    model = make_pipeline(encode, Ridge(alpha=1.0)).fit(X[~held], y)
    return model.predict(X[held]) - y.mean()


def test_balanced_decides_at_the_share_of_positive_labels(rare):
    _, table = asked(rare, "--threshold", "balanced")
    frame = pd.read_csv(rare / "rare.csv")
    score = refitted(frame, table["row"].to_numpy(), frame["hired"])
    np.testing.assert_allclose(table["score"], score, atol=1e-8)
    assert (table["prediction"] == np.where(score > 0, "yes", "no")).all()
    assert 0.2 < (table["prediction"] == "yes").mean() < 0.8


def test_no_change_within_the_budget_moves_a_robust_row_when_everything_is_run_again(rare):
    _, table = asked(rare, "--threshold", "balanced")
    frame = pd.read_csv(rare / "rare.csv")
    rows, robust = table["row"].to_numpy(), (table["verdict"] == "robust").to_numpy()
    before = table["prediction"] == "yes"
    training = np.setdiff1d(np.arange(len(frame)), rows - 1)
    rng = np.random.default_rng(0)
    assert robust.any()
    assert not robust.all()
    for _ in range(60):
        labels = frame["hired"].copy()
        at = rng.choice(training, 3, replace=False)
        labels.iloc[at] = np.where(labels.iloc[at] == "yes", "no", "yes")
        after = refitted(frame, rows, labels) > 0
        assert (after == before)[robust].all()


def test_certificates_of_a_balanced_threshold_are_proven_from_the_file(rare):
    asked(rare, "--threshold", "balanced", "--certificates", "c.json")
    done = unswayed_here("verify", "c.json", "--train", "rare.csv", cwd=rare)
    assert done.returncode == 0, done.stderr
    assert "the score is above the mean of the labels" in done.stdout
    assert "36 claims proven, 0 rejected" in done.stdout


def test_a_threshold_that_is_a_number_is_compared_with_the_score(rare):
    facts, table = asked(rare, "--threshold", "0.2")
    assert (table["prediction"] == np.where(table["score"] > 0.2, "yes", "no")).all()
    assert facts["caveats"] == [] or all(
        each["kind"] != "threshold-outside-scores" for each in facts["caveats"]
    )


def test_a_threshold_outside_the_scores_is_said_to_be_that(rare):
    facts, table = asked(rare, "--threshold", "3")
    assert (table["prediction"] == "no").all()
    (caveat,) = (c for c in facts["caveats"] if c["kind"] == "threshold-outside-scores")
    assert "'no' is predicted for all of them" in caveat["text"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*CLASSES, "--threshold", "half"), "--threshold 'half' is not a score"),
        ((*CLASSES, "--threshold", "nan"), "--threshold 'nan' is not a score"),
        ((*NUMBERS, "--shift", "100", "--radius", "100", "--threshold", "1"), "is for classes"),
        ((*CLASSES, "--threshold", "balanced", "--method", "box"), "use --method exact or auto"),
    ],
)
def test_what_is_no_threshold_is_refused(rare, options, said):
    done = unswayed_here("certify", "rare.csv", *options, cwd=rare)
    assert done.returncode == 2
    assert said in done.stderr


def test_alpha_is_not_chosen_so_that_everyone_is_told_the_same(rare):
    facts, table = asked(rare, "--give-up", "20", "--threshold", "balanced")
    assert table["prediction"].nunique() == 2
    assert facts["alpha"] > 1


def test_the_tradeoff_marks_models_that_tell_everyone_the_same(rare):
    done = unswayed_here(
        "tradeoff", "rare.csv", *CLASSES, "--alphas", "1,30000", "--json", cwd=rare
    )
    assert [each["always says"] for each in json.loads(done.stdout)["points"]] == ["no", "no"]
    done = unswayed_here("tradeoff", "rare.csv", *CLASSES, "--alphas", "1,30000", cwd=rare)
    assert done.stdout.count("says no to (almost) everyone") == 2
    done = unswayed_here(
        "tradeoff", "rare.csv", *CLASSES, "--alphas", "1,30000", "--threshold", "balanced",
        "--json", cwd=rare,
    )  # fmt: skip
    assert [each["always says"] for each in json.loads(done.stdout)["points"]] == [None, None]
