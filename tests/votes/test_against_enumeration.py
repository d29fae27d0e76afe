"""Votes against every label set there is: nothing false, and exact where members are."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.effort import some
from tests.votes.oracle import majorities, true_minimum
from unswayed import CertifiedClassifier, LabelBias, PartitionedClassifier, Verdict

MEMBERS = {
    "tree": DecisionTreeClassifier(max_features=1),
    "ridge": RidgeClassifier(),
    "ridge-through-0": RidgeClassifier(alpha=0.5, fit_intercept=False),
    "scaled-ridge": make_pipeline(StandardScaler(), RidgeClassifier(alpha=2.0)),
    "nearest": KNeighborsClassifier(1),
    "logistic": LogisticRegression(C=0.1, tol=1e-10),
}


def problem(seed, *, equal_rows):
    """Labels, rows in which some may be equal, and a bias that may spare some labels."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(6, 11))
    X = rng.normal(size=(n_rows, 2))
    if equal_rows:
        X = X[rng.integers(0, n_rows, n_rows)]
    y = rng.permutation(np.arange(n_rows) % 2 if seed % 3 else np.arange(n_rows) % 4 // 3)
    where = rng.random(n_rows) < (1.0 if seed % 2 else 0.7)
    direction = (None, "up", "down")[int(rng.integers(0, 3))] if seed % 5 == 0 else None
    tests = np.vstack((rng.normal(size=(4, 2)), X[:2]))
    way = {None: where, "up": where & (y == 0), "down": where & (y == 1)}[direction]
    bias = LabelBias.flips(budget=1, where=where, direction=direction)
    return X, y, tests, bias, np.flatnonzero(way)


def fitted(estimator, seed, X, y, bias, **options):
    votes = PartitionedClassifier(estimator, (3, 5)[seed % 2], random_state=seed % 7, **options)
    model = CertifiedClassifier(votes, bias=bias).fit(X, y)
    return model, model.fitted_.final


def compared(name, seed, *, equal_rows=False, **options):
    """What is certified of a problem and the truth, once both were checked against each other."""
    estimator = MEMBERS[name]
    X, y, tests, bias, movable = problem(seed, equal_rows=equal_rows)
    model, votes = fitted(estimator, seed, X, y, bias, **options)
    majority = majorities(votes, estimator, X, y, tests)
    truth = true_minimum(majority, y, movable, len(tests))
    found = model.minimum_budgets(tests)
    assert (model.predict(tests) == majority(y)).all()
    assert (found.low <= truth).all()
    assert (found.high >= truth).all()
    for budget in (0, 1, 2, 4):
        certs = model.certify(tests, budget=budget)
        assert not (certs.robust & (truth <= budget)).any()
        assert not ((certs.verdict == Verdict.NOT_ROBUST) & (truth > budget)).any()
        assert (certs.method == "votes").all()
    certs = model.certify(tests, budget=len(y))
    assert ((certs.verdict == Verdict.NOT_ROBUST) == np.isfinite(found.high)).all()
    for row in np.flatnonzero(np.isfinite(found.high)).tolist():
        witness = certs.witness(row)
        assert len(witness) == found.high[row]
        assert {*witness.indices.tolist()} <= {*movable.tolist()}
        changed = y.copy()
        changed[witness.indices] = witness.labels
        assert majority(changed)[row] != majority(y)[row]
    return found, truth


@pytest.mark.parametrize("seed", range(some(4, 12)))
@pytest.mark.parametrize("name", ["tree", "nearest", "ridge", "ridge-through-0", "scaled-ridge"])
def test_no_label_set_contradicts_what_is_certified(name, seed):
    compared(name, seed, equal_rows=seed % 2 == 1)


@pytest.mark.parametrize("seed", range(some(1, 2)))
def test_no_label_set_contradicts_what_is_certified_of_logistic_members(seed):
    compared("logistic", seed)


@pytest.mark.parametrize("seed", range(some(4, 12)))
@pytest.mark.parametrize("name", ["ridge", "scaled-ridge"])
def test_where_members_are_exact_so_is_the_number_of_labels(name, seed):
    found, truth = compared(name, seed)
    np.testing.assert_array_equal(found.low, truth)
    np.testing.assert_array_equal(found.high, truth)


@pytest.mark.parametrize("seed", range(some(3, 6)))
@pytest.mark.parametrize("name", ["tree", "nearest"])
def test_trying_every_set_of_labels_of_every_partition_is_exact_too(name, seed):
    found, truth = compared(name, seed, exhaustive=10)
    np.testing.assert_array_equal(found.low, truth)
    np.testing.assert_array_equal(found.high, truth)


@pytest.mark.parametrize("seed", range(some(3, 6)))
def test_trying_single_labels_is_sound_and_never_worse(seed):
    X, y, tests, bias, _ = problem(seed, equal_rows=False)
    plain, _ = fitted(MEMBERS["tree"], seed, X, y, bias)
    found, _ = compared("tree", seed, exhaustive=1)
    before = plain.minimum_budgets(tests)
    assert (found.low >= before.low).all()
    assert (found.high <= before.high).all()
