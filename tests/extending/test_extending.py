"""A learner, a budget and a decision from outside: one module each, and nothing else is edited."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from tests.extending.band import Band
from tests.extending.neighbours import Nearest
from tests.extending.per_group import PerGroup
from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    Verdict,
)
from unswayed.verify import verify

RNG = np.random.default_rng(0)


def problem(seed, n_rows=7, n_tests=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n_rows, 2)).astype(float)  # equal rows are the rule
    return X, rng.normal(size=n_rows), rng.normal(size=(n_tests, 2))


def refits(estimator, X, labels, tests):
    """Predictions of the user's own estimator, trained on each of several label vectors."""
    return np.array([clone(estimator).fit(X, y).predict(tests) for y in labels])


def moved(y, sets, size):
    """Every label vector with the rows of one of the sets moved by `size` either way."""
    for rows in sets:
        for signs in product((-size, size), repeat=len(rows)):
            changed = y.copy()
            changed[list(rows)] += signs
            yield changed


# --- a learner ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_model_that_only_gives_its_influence_is_certified(seed):
    X, y, tests = problem(seed, n_rows=9)
    X = X + 0.01 * RNG.normal(size=X.shape)  # no ties between neighbours
    estimator = Nearest(3)
    bias = LabelBias.shifts(1, budget=2)
    model = CertifiedRegressor(estimator, bias=bias, radius=0.5).fit(X, y)
    certs = model.certify(tests, resolve="exact")
    sets = [rows for k in range(3) for rows in combinations(range(9), k)]
    scores = refits(estimator, X, moved(y, sets, 1.0), tests)
    np.testing.assert_allclose(certs.low, scores.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(certs.high, scores.max(axis=0), atol=1e-12)
    np.testing.assert_allclose(certs.prediction, estimator.fit(X, y).predict(tests))
    overturned = np.abs(scores - certs.score).max(axis=0) > 0.5 + 1e-9
    assert (certs.verdict == np.where(overturned, Verdict.NOT_ROBUST, Verdict.ROBUST)).all()


def test_its_certificates_can_be_written_and_checked(tmp_path):
    X, y, tests = problem(1, n_rows=9)
    model = CertifiedRegressor(Nearest(3), bias=LabelBias.shifts(1, budget=2), radius=0.5)
    certs = model.fit(X, y).certify(tests, resolve="exact")
    certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    report = verify(tmp_path / "c.json", data=tmp_path / "c.npz")
    assert report.proven == len(tests)


# --- a budget -----------------------------------------------------------------------------


def within(group, labels):
    """Sets of rows with at most `labels` of each group."""
    for size in range(2 * labels + 1):
        for rows in combinations(range(len(group)), size):
            if all(sum(group[i] == g for i in rows) <= labels for g in {*group}):
                yield rows


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weighted", [False, True])
def test_a_budget_of_its_own_kind_answers_everything_that_is_asked(seed, weighted):
    X, y, tests = problem(seed)
    group = tuple(int(g) for g in np.random.default_rng(seed).integers(0, 2, len(y)))
    weight = np.random.default_rng(seed).choice([1.0, 2.0], len(y)) if weighted else None
    budget = PerGroup(1, group)
    model = CertifiedRegressor(
        Ridge(), bias=LabelBias.shifts(1, budget=budget), radius=0.35, trust="sample_weight"
    ).fit(X, y, sample_weight=weight)
    labels = list(moved(y, within(group, 1), 1.0))
    scores = np.array(
        [Ridge().fit(X, each, sample_weight=weight).predict(tests) for each in labels]
    )
    for resolve in (None, "exact"):
        certs = model.certify(tests, resolve=resolve)
        assert "of each group" in certs.question
        np.testing.assert_allclose(certs.low, scores.min(axis=0), atol=1e-9)
        np.testing.assert_allclose(certs.high, scores.max(axis=0), atol=1e-9)
    for row in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST):
        witness, changed = certs.witness(int(row)), y.copy()
        changed[witness.indices] = witness.labels
        after = Ridge().fit(X, changed, sample_weight=weight).predict(tests)[row]
        assert abs(after - certs.score[row]) > 0.35 - 1e-9
        assert max(sum(group[i] == g for i in witness.indices) for g in {*group}) <= 1
    least = model.minimum_budget(tests, resolve="exact")
    assert (least == model.minimum_budget(tests)).all()
    for amount in (0, 1, 2):
        found = model.certify(tests, budget=amount)
        assert (found.robust == (least > amount)).all()
    for method in ("box", "sandwich"):
        bounded = model.certify(tests, method=method)
        assert (bounded.low <= certs.inner_low).all()
        assert not (bounded.robust & ~certs.robust).any()


def test_a_file_cannot_hold_a_budget_that_the_checker_does_not_know(tmp_path):
    X, y, tests = problem(0)
    bias = LabelBias.shifts(1, budget=PerGroup(1, (0, 1) * 3 + (0,)))
    certs = CertifiedRegressor(Ridge(), bias=bias, radius=0.3).fit(X, y).certify(tests)
    with pytest.raises(BiasError, match="no way to write a budget of kind PerGroup"):
        certs.save(tmp_path / "c.json")


def test_a_budget_of_another_kind_than_the_fitted_one_is_refused():
    X, y, tests = problem(0)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=1), radius=0.3).fit(X, y)
    with pytest.raises(InputError, match="kind PerGroup; fit again"):
        model.certify(tests, budget=PerGroup(1, (0,) * 7))


# --- a decision ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_decision_of_its_own_kind_is_judged(seed, tmp_path):
    X, y, tests = problem(seed)
    band = Band(-0.5, 0.5)
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(0.5, budget=1)).fit(X, y)
    sets = [(), *((i,) for i in range(len(y)))]
    scores = refits(LinearRegression(), X, moved(y, sets, 0.5), tests)
    for resolve in (None, "exact"):
        certs = model.certify(tests, decision=band, resolve=resolve)
        inside = (certs.score >= -0.5) & (certs.score <= 0.5)
        left = (np.abs(scores) > 0.5).any(axis=0)
        assert (certs.prediction == np.where(inside, "inside", "outside")).all()
        assert (certs.robust == ~(inside & left)).all()
    assert certs.question.startswith("between -0.5 and 0.5 if")
    least = model.minimum_budget(tests, decision=band)
    assert ((least > 1) == certs.robust).all()
    with pytest.raises(InputError, match="no way to write the decision Band"):
        certs.save(tmp_path / "c.json")


def test_a_classifier_takes_a_decision_too():
    X, y, tests = problem(3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y > 0)
    certs = model.certify(tests, decision=Band(0.25, 0.75))
    assert {*certs.prediction} <= {"inside", "outside"}
