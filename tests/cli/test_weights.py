"""`--weights`: rows that count more than others."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.cli.test_bad_input import refused
from tests.commands import CLASSES, people, unswayed_here

N = 120
WEIGHTS = np.random.default_rng(5).uniform(0.5, 4, N).round(2)
WEIGHTED = (*CLASSES, "--weights", "w")


@pytest.fixture
def folder(tmp_path):
    people(N).assign(w=WEIGHTS).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def weighted_answers(held_out):
    """Scores and minimum budgets of the weighted model, by solving for the influence of labels."""
    frame, held = people(N), np.zeros(N, bool)
    held[held_out] = True
    numbers = frame[["education", "interview score"]]
    numbers = (numbers - numbers[~held].mean()) / numbers[~held].std(ddof=0)
    X = np.hstack([pd.get_dummies(frame[["gender", "city"]]).to_numpy(float), numbers])
    y = (frame["hired"] == "yes").to_numpy(float)
    fits = Ridge(alpha=1).fit(X[~held], np.eye((~held).sum()), sample_weight=WEIGHTS[~held])
    Z, y = fits.predict(X[held]), y[~held]
    score = Z @ y
    least = np.full(len(Z), np.inf)
    for row, z in enumerate(Z):
        push = np.where(y == 1, -z, z) * (1 if score[row] <= 0.5 else -1)
        over = np.flatnonzero(np.cumsum(np.sort(push)[::-1].clip(0)) > abs(score[row] - 0.5))
        least[row] = over[0] + 1 if len(over) else np.inf
    return score, least


def test_weights_give_the_answers_of_the_weighted_model(folder):
    done = unswayed_here("certify", "people.csv", *WEIGHTED, "--out", "o.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    table, facts = pd.read_csv(folder / "o.csv"), json.loads(done.stdout)
    score, least = weighted_answers(table["row"].to_numpy() - 1)
    np.testing.assert_allclose(table["score"], score, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(table["minimum_budget"], least)
    assert "rows weighted by column 'w'" in facts["model"]
    assert {each["column"]: each["role"] for each in facts["columns"]}["w"] == "weights"
    assert facts["data"]["numbers"] == 2


@pytest.mark.parametrize("threshold", ["0.5", "balanced"])
def test_the_witness_of_a_weighted_model_overturns_the_weighted_model(folder, threshold):
    unswayed_here("certify", "people.csv", *WEIGHTED, "--out", "o.csv", cwd=folder)
    table = pd.read_csv(folder / "o.csv")
    for row in table["row"].head(4):
        options = (*WEIGHTED, "--threshold", threshold, "--row", row, "--json")
        done = unswayed_here("witness", "people.csv", *options, cwd=folder)
        facts = json.loads(done.stdout)
        assert facts["new_prediction"] != facts["prediction"]


@pytest.mark.parametrize("command", ["certify", "coefficients"])
def test_certificate_files_of_weighted_models_are_proven(folder, command):
    done = unswayed_here(command, "people.csv", *WEIGHTED, "--certificates", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = unswayed_here("verify", "c.json", "--train", "people.csv", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "weights: from " in done.stdout


def test_weights_that_follow_the_labels_are_warned_of_and_the_certificate_says_so(folder):
    people(N).assign(w=lambda frame: np.where(frame["hired"] == "yes", 2, 1)).to_csv(
        folder / "people.csv", index=False
    )
    done = unswayed_here("certify", "people.csv", *WEIGHTED, "--certificates", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "warning: the weights in column 'w' follow the labels" in done.stderr
    assert json.loads((folder / "c.json").read_text())["trusted"] == ["sample_weight"]


def test_alpha_auto_multiplies_by_the_sum_of_the_weights(folder):
    alphas = []
    for factor in (1, 100):
        people(N).assign(w=factor).assign(w=lambda f: f["w"] * (1 + (f.index % 2))).to_csv(
            folder / "people.csv", index=False
        )
        done = unswayed_here(
            "certify", "people.csv", *WEIGHTED, "--alpha", "auto", "--json", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        alphas.append(json.loads(done.stdout)["alpha"])
    assert alphas[1] == pytest.approx(100 * alphas[0], rel=1e-2)


def test_a_test_file_needs_no_weights(folder):
    people(20, seed=9).to_csv(folder / "new.csv", index=False)
    done = unswayed_here("certify", "people.csv", *WEIGHTED, "--test", "new.csv", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("weights", "fragments"),
    [
        ([1.0] * 7 + [-2.0] + [1.0] * (N - 8), ["negative in row 8", "1 such row"]),
        ([1.0] * 7 + [None] + [1.0] * (N - 8), ["missing in row 8"]),
        ([0.0] * N, ["zero in every"]),
        (["a"] * N, ["weights are numbers"]),
    ],
    ids=["negative", "missing", "zero", "texts"],
)
def test_bad_weights_are_refused_with_the_row(folder, weights, fragments):
    people(N).assign(w=weights).to_csv(folder / "people.csv", index=False)
    done = unswayed_here("certify", "people.csv", *WEIGHTED, "--holdout", "1", cwd=folder)
    refused(done, folder, {"people.csv"})
    for fragment in fragments:
        assert fragment in done.stderr


def test_the_label_is_no_weight(folder):
    done = unswayed_here("certify", "people.csv", *CLASSES, "--weights", "hired", cwd=folder)
    refused(done, folder, {"people.csv"})
    assert "--weights and --label both name 'hired'" in done.stderr


def test_every_fold_is_weighted_and_proven(folder):
    options = (*WEIGHTED, "--folds", "3", "--certificates", "c.json", "--json")
    done = unswayed_here("certify", "people.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["rows"] == N
    for fold in (1, 2, 3):
        done = unswayed_here("verify", f"c-{fold}.json", "--train", "people.csv", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "weights: from " in done.stdout
