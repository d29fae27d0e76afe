"""Three numbers of one budget, against every admissible label set there is."""

import json
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

from tests.naive import refit_scores
from tests.together.oracle import problems
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, cross_certify
from unswayed.estimators import three_numbers
from unswayed.estimators.three_numbers import Asked, summaries
from unswayed.exceptions import InputError
from unswayed.results.curves import Alone


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Problems are tiny: to start threads for them would take longer than to answer."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def asked_about(problem, counts, main):
    """Summaries of a problem at several numbers of labels."""
    model = problem.fitted()
    certs = model.certify(problem.tests)
    least = certs.minimum_budgets
    alone = [
        Alone(
            k, int((least.low > k).sum()), int(((least.low <= k) & (least.high > k)).sum()), main(k)
        )
        for k in counts
    ]
    asked = [Asked(certs.source, np.arange(len(problem.y)))]
    return summaries(asked, alone, len(problem.tests), keeps="keep their prediction")


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "with a programme"])
@pytest.mark.parametrize("start", range(0, 300, 25))
def test_one_label_set_overturns_no_more_than_is_said_and_some_as_many(start, quick, monkeypatch):
    if quick:
        monkeypatch.setattr(three_numbers, "_SMALL", 0)
    for problem in problems(500_000 + 1000 * start, 25):
        # Sets that are found at the largest budget serve all others.
        counts = range(problem.budget + 1)
        found = asked_about(problem, counts, lambda k, top=problem.budget: k == top)
        wrong = (problem.label_sets != problem.y).sum(axis=1)
        for summary in found:
            within = wrong <= summary.labels
            truth = problem.overturned[within].sum(axis=1).max()
            fragile = problem.overturned[within].any(axis=0).sum()
            assert summary.at_least <= truth <= summary.at_most <= fragile, problem
            assert summary.robust == summary.rows - fragile, problem


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_folds_add_up_to_what_one_label_set_does_to_all_of_them(seed):
    rng = np.random.default_rng(seed)
    n = 9
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] + rng.standard_normal(n) > 0).astype(int)
    y[:4] = 0, 1, 0, 1
    folds = list(KFold(3, shuffle=True, random_state=seed).split(X))
    if any(len(set(y[train])) < 2 for train, _ in folds):
        pytest.skip("a fold with one class")
    model = CertifiedClassifier(Ridge(alpha=0.5), bias=LabelBias.flips(budget=2))
    found = cross_certify(model, X, y, cv=folds).summary()
    most = 0
    for count in range(3):
        for chosen in combinations(range(n), count):
            labels = y.astype(float)
            labels[list(chosen)] = 1 - labels[list(chosen)]
            total = 0
            for train, test in folds:
                both = np.array([y[train], labels[train]], dtype=float)
                before, after = refit_scores(X[train], both, X[test], alpha=0.5) > 0.5
                total += int((before != after).sum())
            most = max(most, total)
    assert found.at_least <= most <= found.at_most


def test_sets_of_rows_that_exclude_one_another_bound_what_one_label_set_does():
    rng = np.random.default_rng(3)
    X, tests = rng.standard_normal((400, 12)), rng.standard_normal((300, 12))
    y = (X[:, 0] + rng.standard_normal(400) > 0).astype(int)
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=12)).fit(X, y)
    found = model.certify(tests).summary()
    assert found.at_least > 0
    assert found.at_most < 0.8 * (found.rows - found.robust)


def test_random_draws_come_to_what_all_sets_of_that_size_do_on_average():
    rng = np.random.default_rng(5)
    X, tests = rng.standard_normal((12, 2)), rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(float)
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=2)).fit(X, y)
    found = model.certify(tests).summary().random
    sets = list(combinations(range(12), 2))
    labels = np.array([np.where(np.isin(np.arange(12), each), 1 - y, y) for each in sets])
    before = refit_scores(X, y, tests, alpha=1.0)[0] > 0.5
    shares = ((refit_scores(X, labels, tests, alpha=1.0) > 0.5) != before).mean(axis=1)
    assert found.mean == pytest.approx(shares.mean(), abs=4 * shares.std() / np.sqrt(1000))
    assert found.largest == shares.max()  # 1,000 draws of 66 sets
    assert found.draws == 1000


def test_all_labels_that_may_be_wrong_are_wrong_in_every_draw_of_as_many():
    rng = np.random.default_rng(6)
    X, tests = rng.standard_normal((30, 2)), rng.standard_normal((20, 2))
    y = (X[:, 0] > 0).astype(int)
    few = np.arange(30) < 4
    bias = LabelBias.flips(budget=9, where=few)
    found = CertifiedClassifier(Ridge(alpha=1.0), bias=bias).fit(X, y).certify(tests).summary()
    both = np.array([y, np.where(few, 1 - y, y)], dtype=float)
    before, after = refit_scores(X, both, tests, alpha=1.0) > 0.5
    assert found.random.mean == found.random.largest == (before != after).mean()


def test_a_logistic_regression_is_trained_again_for_every_draw():
    rng = np.random.default_rng(7)
    X, tests = rng.standard_normal((60, 2)), rng.standard_normal((30, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(60) > 0).astype(int)
    few = np.arange(60) < 3
    bias = LabelBias.flips(budget=3, where=few)
    model = CertifiedClassifier(LogisticRegression(C=1.0, tol=1e-10), bias=bias).fit(X, y)
    found = model.certify(tests).summary()
    changed = LogisticRegression(C=1.0, tol=1e-10).fit(X, np.where(few, 1 - y, y))
    other = changed.predict(tests) != model.predict(tests)
    assert found.random.mean == found.random.largest == other.mean()
    assert found.at_least <= found.at_most == found.rows - found.robust


def test_a_label_set_of_a_logistic_regression_overturns_as_many_as_is_said():
    rng = np.random.default_rng(8)
    X, tests = rng.standard_normal((14, 2)), rng.standard_normal((25, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(14) > 0).astype(int)
    bias = LabelBias.flips(budget=2)
    model = CertifiedClassifier(LogisticRegression(C=0.5, tol=1e-10), bias=bias).fit(X, y)
    found = model.certify(tests).summary()
    most = 0
    for chosen in combinations(range(14), 2):
        labels = y.copy()
        labels[list(chosen)] = 1 - labels[list(chosen)]
        refitted = LogisticRegression(C=0.5, tol=1e-10).fit(X, labels)
        most = max(most, int((refitted.predict(tests) != model.predict(tests)).sum()))
    assert 0 < found.at_least <= most <= found.at_most


def test_numbers_that_may_move_by_a_radius_have_the_three_numbers_too():
    rng = np.random.default_rng(9)
    X, tests = rng.standard_normal((40, 2)), rng.standard_normal((15, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.standard_normal(40)
    bias = LabelBias.shifts(2.0, budget=3)
    model = CertifiedRegressor(Ridge(alpha=1.0), bias=bias, radius=0.25).fit(X, y)
    certs = model.certify(tests)
    found = certs.summary()
    assert found.robust == certs.robust.sum()
    assert found.at_least <= found.at_most <= found.rows - found.robust
    assert "within 0.25" in str(found)


def test_a_summary_says_which_number_is_which():
    rng = np.random.default_rng(10)
    X, tests = rng.standard_normal((200, 3)), rng.standard_normal((50, 3))
    y = (X[:, 0] + rng.standard_normal(200) > 0).astype(int)
    certs = (
        CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=9))
        .fit(X, y)
        .certify(tests)
    )
    text = str(certs.summary())
    assert [line.partition(":")[0] for line in text.splitlines()] == [
        "one at a time",
        "together",
        "at random",
    ]
    assert "each row against its own worst 9 labels" in text
    assert "simulated" in text
    assert json.loads(json.dumps(certs.summary().to_dict()))["labels"] == 9
    assert certs.summary() is certs.summary()
    assert "together" in repr(certs) and "at random" in repr(certs)  # noqa: PT018


def test_coefficients_have_no_summary():
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, X[:, 0] > 0)
    with pytest.raises(InputError, match="about predictions"):
        model.certify_coefficients().summary()
