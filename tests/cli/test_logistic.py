"""``--model logistic``: what is promised of a file holds when the whole command is run again."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from tests.effort import some

BUDGET = 6
LOGISTIC = (*CLASSES, "--model", "logistic", "--C", "0.02", "--budget", BUDGET)


def certified(folder, file="people.csv", *options):
    done = unswayed_here("certify", file, *LOGISTIC, "--out", "out.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(folder / "out.csv")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """What is said of the people of every folder: certified once."""
    made = tmp_path_factory.mktemp("logistic")
    people().to_csv(made / "people.csv", index=False)
    return certified(made)


def refitted(frame, rows, labels):
    """Log-odds of the held-out rows, by scikit-learn alone; and which rows are training rows."""
    held = np.zeros(len(frame), bool)
    held[rows - 1] = True
    X = frame.drop(columns=["hired", "salary"])
    encode = make_column_transformer(
        (OneHotEncoder(), ["gender", "city"]), (StandardScaler(), ["education", "interview score"])
    )
    model = make_pipeline(encode, LogisticRegression(C=0.02, tol=1e-10, max_iter=1000))
    return model.fit(X[~held], labels[~held] == "yes").decision_function(X[held]), ~held


def flipped(labels, rows):
    return labels.where(~labels.index.isin(rows), labels.map({"yes": "no", "no": "yes"}))


def test_scores_are_the_log_odds_of_scikit_learn(folder, table):
    frame = pd.read_csv(folder / "people.csv")
    score, _ = refitted(frame, table["row"].to_numpy(), frame["hired"])
    np.testing.assert_allclose(table["score"], score, atol=1e-5)
    np.testing.assert_allclose(table["probability"], 1 / (1 + np.exp(-score)), atol=1e-5)
    assert (table["probability_low"] <= table["probability"]).all()


def test_no_changed_labels_take_a_score_out_of_its_range_or_overturn_a_robust_row(folder, table):
    frame = pd.read_csv(folder / "people.csv")
    robust = (table["verdict"] == "robust").to_numpy()
    assert 3 <= robust.sum() < len(table)
    score, training = refitted(frame, table["row"].to_numpy(), frame["hired"])
    rng = np.random.default_rng(0)
    train = np.flatnonzero(training)
    yes = train[frame["hired"].to_numpy()[train] == "yes"]
    merit = frame["education"].to_numpy() / 3 + frame["interview score"].to_numpy() / 10
    choices = [rng.choice(train, BUDGET, replace=False) for _ in range(some(10, 30))]
    choices += [yes[np.argsort(way * merit[yes])[:BUDGET]] for way in (1, -1)]
    for rows in choices:
        moved, _ = refitted(frame, table["row"].to_numpy(), flipped(frame["hired"], rows))
        assert (table["low"] - 1e-5 <= moved).all()
        assert (moved <= table["high"] + 1e-5).all()
        assert ((moved > 0) == (score > 0))[robust].all()


def test_the_whole_command_says_the_same_of_robust_rows_of_a_file_with_other_labels(folder, table):
    frame = pd.read_csv(folder / "people.csv")
    train = np.setdiff1d(np.arange(len(frame)), table["row"] - 1)
    robust = table["verdict"] == "robust"
    for seed in range(some(1, 3)):
        rows = np.random.default_rng(seed).choice(train, BUDGET, replace=False)
        other = frame.assign(hired=flipped(frame["hired"], rows))
        other.to_csv(folder / "other.csv", index=False)
        again = certified(folder, "other.csv")
        assert (again["row"] == table["row"]).all()
        assert (again["prediction"] == table["prediction"])[robust].all()


def test_a_witness_overturns_its_row_when_scikit_learn_is_fitted_again(folder, table):
    frame = pd.read_csv(folder / "people.csv")
    row = int(table.loc[table["verdict"] == "not-robust", "row"].iloc[0])
    options = (*LOGISTIC[:-2], "--row", row, "--out", "w.csv")
    done = unswayed_here("witness", "people.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(folder / "w.csv")
    changed = flipped(frame["hired"], found["row"] - 1)
    assert (changed[found["row"] - 1].to_numpy() == found["new label"]).all()
    at = int(np.flatnonzero(table["row"] == row)[0])
    before, _ = refitted(frame, table["row"].to_numpy(), frame["hired"])
    after, _ = refitted(frame, table["row"].to_numpy(), changed)
    assert (before[at] > 0) != (after[at] > 0)


@pytest.mark.parametrize("more", [(), ("--folds", "3"), ("--threshold", "0.4")])
def test_certificate_files_are_proven_from_the_file_and_not_from_another(folder, more):
    table = certified(folder, "people.csv", *more, "--certificates", "c.json")
    name = "c-2.json" if "--folds" in more else "c.json"
    done = unswayed_here("verify", name, "--train", "people.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["proven"] >= 5
    assert not found["rejected"]
    assert not found["not_reproven"]
    frame = pd.read_csv(folder / "people.csv")
    first = np.setdiff1d(np.arange(len(frame)), table["row"] - 1)[:1] if not more else [0, 1, 2]
    frame.assign(hired=flipped(frame["hired"], first)).to_csv(folder / "other.csv", index=False)
    done = unswayed_here("verify", name, "--train", "other.csv", cwd=folder)
    assert done.returncode == 2
    assert "other data" in done.stderr


def test_odds_ratios_hold_when_labels_change(folder):
    done = unswayed_here("coefficients", "people.csv", *LOGISTIC, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["coefficients"]
    women_men = next(each for each in facts if each["name"] == "gender = female")
    frame = pd.read_csv(folder / "people.csv")
    rng = np.random.default_rng(1)
    X = frame.drop(columns=["hired", "salary"])
    encode = make_column_transformer(
        (OneHotEncoder(), ["gender", "city"]), (StandardScaler(), ["education", "interview score"])
    )
    features = encode.fit_transform(X)
    women = np.flatnonzero(frame["gender"] == "female")
    for rows in ([], *(rng.choice(women, BUDGET, replace=False) for _ in range(10))):
        labels = flipped(frame["hired"], rows) == "yes"
        model = LogisticRegression(C=0.02, tol=1e-10, max_iter=1000).fit(features, labels)
        ratio = np.exp(model.coef_[0, 0] - model.coef_[0, 1])
        assert women_men["odds_ratio_low"] - 1e-5 <= ratio
        assert ratio <= women_men["odds_ratio_high"] + 1e-5


def test_the_tradeoff_is_over_c(folder):
    options = (*CLASSES, "--model", "logistic", "--budget", "5", "--Cs", "1,0.01", "--json")
    done = unswayed_here("tradeoff", "people.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    weak, strong = json.loads(done.stdout)["points"]
    assert (weak["C"], strong["C"]) == (1, 0.01)
    assert weak["robust at 5"] < strong["robust at 5"]
    assert weak["undecided at 5"] > strong["undecided at 5"]


def test_a_threshold_outside_all_probabilities_is_told_in_probabilities(folder):
    done = unswayed_here("certify", "people.csv", *LOGISTIC, "--threshold", "0.999", cwd=folder)
    assert done.returncode == 0
    assert "--threshold 0.999 is outside the probabilities of the test rows, 0." in done.stderr
    assert "--threshold balanced" not in done.stderr


def test_undecided_rows_are_counted_in_words(folder):
    seen = set()
    for budget in range(2, 12, some(4, 2)):
        options = (*CLASSES, "--model", "logistic", "--C", "0.1", "--budget", budget)
        done = unswayed_here("certify", "people.csv", *options, "--out", "out.csv", cwd=folder)
        left = int((pd.read_csv(folder / "out.csv")["verdict"] == "undecided").sum())
        said = f"undecided at {budget}: {left} row{'' if left == 1 else 's'}; "
        assert (said in done.stdout) == (left > 0)
        seen.add(left)
    assert max(seen) > 0


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ("certify", ("--alpha", "1"), "--alpha is the penalty of --model ridge"),
        ("certify", ("--method", "box"), "--method box is for models that are linear"),
        ("certify", ("--resolve", "exact"), "--resolve exact is for models that are linear"),
        ("certify", ("--in-pieces",), "--model logistic is not possible"),
        ("certify", ("--effort", "3"), "none of 0, 1 and 2"),
        ("certify", ("--threshold", "balanced"), "is not a probability"),
        ("certify", ("--C", "0"), "is not the C of a logistic regression"),
        ("together", (), "all rows at once is for models that are linear"),
        ("fairness", ("--groups", "gender"), "all rows at once is for models that are linear"),
        ("tradeoff", ("--alphas", "1,2"), "pass --Cs"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name_in_one_line(folder, command, options, why):
    asked = (*CLASSES, "--model", "logistic", "--budget", "2", *options)
    done = unswayed_here(command, "people.csv", *asked, cwd=folder)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_number_is_no_label_of_it(folder):
    options = (*NUMBERS, "--model", "logistic", "--budget", "2")
    done = unswayed_here("certify", "people.csv", *options, cwd=folder)
    assert done.returncode == 2
    assert "--model logistic is for two classes" in done.stderr
