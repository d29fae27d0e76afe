"""Ranges, minimum budgets and witnesses against enumeration and refits."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from tests import naive
from tests.effort import examples
from tests.strategies import problems
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, Verdict

slow = settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
CLEAR = 1e-7  # ties closer than this to a margin are settled elsewhere, in exact arithmetic


def regressor(p, radius=0.5, budget=None):
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget if budget is None else budget)
    estimator = Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept)
    model = CertifiedRegressor(estimator, bias=bias, radius=radius, trust="sample_weight")
    return model.fit(p.X, p.y, sample_weight=p.sample_weight)


def classifier(p):
    bias = LabelBias.flips(budget=p.budget)
    estimator = Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept)
    model = CertifiedClassifier(estimator, bias=bias, trust="sample_weight")
    return model.fit(p.X, p.y, sample_weight=p.sample_weight)


@slow
@given(problems())
def test_the_range_is_that_of_all_refits(p):
    certs = regressor(p).certify(p.tests)
    low, high = naive.ranges(p.X, p.y, p.tests, p.lower, p.upper, p.budget, **p.model)
    np.testing.assert_allclose(certs.low, low, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(certs.high, high, rtol=1e-9, atol=1e-9)


@slow
@given(problems(max_rows=5))
def test_a_sparse_design_gives_the_same_range(p):
    dense = regressor(p).certify(p.tests)
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget)
    estimator = Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept, tol=1e-14, solver="sparse_cg")
    model = CertifiedRegressor(estimator, bias=bias, radius=0.5, trust="sample_weight")
    certs = model.fit(sparse.csr_array(p.X), p.y, sample_weight=p.sample_weight).certify(
        sparse.csr_array(p.tests)
    )
    np.testing.assert_allclose(certs.low, dense.low, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(certs.high, dense.high, rtol=1e-9, atol=1e-9)


@slow
@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
@given(problems(max_rows=5, alphas=(0.0,)), st.booleans())
def test_least_squares_with_singular_features_is_the_minimum_norm_solution(p, doubled):
    X = np.hstack((p.X, p.X)) if doubled else p.X
    tests = np.hstack((p.tests, p.tests)) if doubled else p.tests
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget)
    model = CertifiedRegressor(
        LinearRegression(fit_intercept=p.fit_intercept),
        bias=bias,
        radius=1.0,
        trust="sample_weight",
    ).fit(X, p.y, sample_weight=p.sample_weight)
    certs = model.certify(tests, resolve="exact")
    low, high = naive.ranges(X, p.y, tests, p.lower, p.upper, p.budget, **p.model)
    # Features close to singular: ranges are wider by the error that the certificates name.
    assert (np.abs(certs.low - low) <= 1e-8 * (1 + np.abs(low)) + certs.error).all()
    assert (np.abs(certs.high - high) <= 1e-8 * (1 + np.abs(high)) + certs.error).all()


def least_budgets(p, overturned):
    """Minimum budget of every test row by enumeration; `overturned` judges a row of scores."""
    least = np.full(len(p.tests), np.inf)
    for budget in range(len(p.y), -1, -1):
        members = list(naive.corners(p.y, p.lower, p.upper, budget))
        scores = naive.refit_scores(p.X, members, p.tests, **p.model)
        least[overturned(scores).any(axis=0)] = budget
    return least


@slow
@given(problems(max_rows=5, binary=True))
def test_classification_verdicts_and_minimum_budgets_are_those_of_all_refits(p):
    model = classifier(p)
    score = naive.refit_scores(p.X, p.y, p.tests, **p.model)[0]
    everything = naive.refit_scores(
        p.X, list(naive.corners(p.y, p.lower, p.upper, len(p.y))), p.tests, **p.model
    )
    assume(np.abs(everything - 0.5).min() > CLEAR)
    least = least_budgets(p, lambda scores: (scores > 0.5) != (score > 0.5))
    np.testing.assert_array_equal(model.minimum_budget(p.tests), least)
    certs = model.certify(p.tests)
    np.testing.assert_array_equal(certs.robust, least > p.budget)
    np.testing.assert_array_equal(certs.minimum_budget, least)


@slow
@given(problems(max_rows=5), st.sampled_from([0.0, 0.3, 1.0, 2.5]))
def test_regression_verdicts_and_minimum_budgets_are_those_of_all_refits(p, radius):
    model = regressor(p, radius)
    score = naive.refit_scores(p.X, p.y, p.tests, **p.model)[0]
    everything = naive.refit_scores(
        p.X, list(naive.corners(p.y, p.lower, p.upper, len(p.y))), p.tests, **p.model
    )
    moved = np.abs(everything - score)
    if radius == 0:  # refits wobble in the last bits: only real movements count
        assume(((moved < 1e-12) | (moved > CLEAR)).all())
        least = least_budgets(p, lambda scores: np.abs(scores - score) > CLEAR)
        influence_is_zero = moved.max(axis=0) < 1e-12
        found = model.minimum_budget(p.tests)
        np.testing.assert_array_equal(found[~influence_is_zero], least[~influence_is_zero])
        return
    assume(np.abs(moved - radius).min() > CLEAR)
    least = least_budgets(p, lambda scores: np.abs(scores - score) > radius)
    np.testing.assert_array_equal(model.minimum_budget(p.tests), least)
    np.testing.assert_array_equal(model.certify(p.tests).robust, least > p.budget)


@slow
@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
@given(problems(max_rows=7, binary=True), st.sampled_from(["ridge", "least squares"]))
def test_a_witness_overturns_the_users_own_refit_and_one_label_fewer_does_not(p, kind):
    estimator = (
        Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept)
        if kind == "ridge"
        else LinearRegression(fit_intercept=p.fit_intercept)
    )
    bias = LabelBias.flips(budget=p.budget)
    model = CertifiedClassifier(estimator, bias=bias, trust="sample_weight")
    model.fit(p.X, p.y, sample_weight=p.sample_weight)
    certs = model.certify(p.tests, resolve="exact")
    for row in range(len(p.tests)):
        witness = certs.witness(row)
        assert (witness is None) == (certs.verdict[row] == Verdict.ROBUST)
        if witness is None:
            continue
        changed = p.y.copy()
        changed[witness.indices] = witness.labels
        assert len(witness) == certs.minimum_budget[row] <= p.budget
        assert (changed != p.y).sum() == len(witness)

        def refit(labels, row=row):
            fresh = clone(estimator).fit(p.X, labels, sample_weight=p.sample_weight)
            return fresh.predict(p.tests[row : row + 1])[0]

        assert refit(changed) == pytest.approx(witness.score, rel=1e-9, abs=1e-9)
        before = refit(p.y)
        if min(abs(witness.score - 0.5), abs(before - 0.5)) > CLEAR:
            assert (refit(changed) > 0.5) != (before > 0.5)
        # One label fewer: no subset of the witness does it, and by enumeration no other set.
        for spared in witness.indices:
            fewer = changed.copy()
            fewer[spared] = p.y[spared]
            if abs(refit(fewer) - 0.5) > CLEAR:
                assert (refit(fewer) > 0.5) == (before > 0.5)


@slow
@given(problems(max_rows=7), st.sampled_from([0.3, 1.0]))
def test_a_regression_witness_moves_the_refit_beyond_the_radius(p, radius):
    model = regressor(p, radius)
    certs = model.certify(p.tests)
    for row in range(len(p.tests)):
        witness = certs.witness(row)
        if witness is None:
            continue
        changed = p.y.copy()
        changed[witness.indices] = witness.labels
        moved = changed - p.y
        assert ((p.lower <= moved) & (moved <= p.upper)).all()
        before, after = naive.refit_scores(p.X, [p.y, changed], p.tests[row : row + 1], **p.model)
        assert abs(after[0] - before[0]) > radius - CLEAR
        assert after[0] == pytest.approx(witness.score, rel=1e-9, abs=1e-9)


def test_equally_strong_labels_are_taken_from_the_lowest_row_number():
    X = np.ones((6, 1))
    model = CertifiedRegressor(
        LinearRegression(fit_intercept=False), bias=LabelBias.shifts(6, budget=3), radius=1.5
    ).fit(X, np.zeros(6))
    witness = model.certify([[1.0]]).witness(0)
    assert witness.indices.tolist() == [0, 1]
    assert witness.labels.tolist() == [6.0, 6.0]


@slow
@given(problems(), st.integers(0, 10**6))
def test_a_label_outside_the_mask_never_moves(p, seed):
    mask = np.random.default_rng(seed).random(len(p.y)) < 0.5
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget, where=mask)
    model = CertifiedRegressor(Ridge(alpha=p.alpha), bias=bias, radius=0.1).fit(p.X, p.y)
    certs = model.certify(p.tests)
    low, high = naive.ranges(
        p.X, p.y, p.tests, p.lower * mask, p.upper * mask, p.budget, alpha=p.alpha
    )
    np.testing.assert_allclose(certs.low, low, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(certs.high, high, rtol=1e-9, atol=1e-9)
    for row in range(len(p.tests)):
        witness = certs.witness(row)
        if witness is not None:
            assert mask[witness.indices].all()


@slow
@given(problems(max_rows=6))
def test_coefficient_ranges_are_those_of_all_refits(p):
    certs = regressor(p).certify_coefficients()
    members = list(naive.corners(p.y, p.lower, p.upper, p.budget))
    units = np.vstack((np.zeros(p.X.shape[1]), np.eye(p.X.shape[1])))
    scores = naive.refit_scores(p.X, members, units, **p.model)
    coefficients = scores[:, 1:] - scores[:, :1]
    np.testing.assert_allclose(certs.low, coefficients.min(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(certs.high, coefficients.max(axis=0), rtol=1e-9, atol=1e-9)
    clear = np.abs(coefficients).min(axis=0) > CLEAR
    kept = (np.sign(coefficients) == np.sign(coefficients[0])).all(axis=0)
    np.testing.assert_array_equal(certs.robust[clear], kept[clear])


@slow
@given(problems(max_rows=6))
def test_equal_test_rows_get_equal_certificates_and_equal_training_rows_merge(p):
    model = regressor(p)
    tests = p.tests[[0, 1, 0, 2, 1]]
    certs = model.certify(tests)
    assert certs.low[0] == certs.low[2]
    assert certs.high[1] == certs.high[4]
    assert len(model.fitted_.engine.influence.entries) <= np.count_nonzero(
        (p.lower != 0) | (p.upper != 0)
    )
