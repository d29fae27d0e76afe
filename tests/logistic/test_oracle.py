"""The oracle itself: against scikit-learn's own fits, closed forms, and linear programmes."""

import math

import numpy as np
import pytest
from flint import arb
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from tests.logistic.glm import GLM
from tests.logistic.oracle import Truth, flips, moves


def drawn(seed, n=10, p=3):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), (rng.random(n) < 0.5).astype(float)
    y[:2] = 0, 1
    return rng, X, y


def one_by_one(y, may_flip=True, limit=2, weights=None):
    weights = np.ones((2, len(y))) if weights is None else weights
    return flips(y, weights, np.broadcast_to(may_flip, len(y)), limit, np.arange(len(y)))


@pytest.mark.parametrize("seed", range(12))
def test_minimisers_are_those_of_scikit_learn(seed):
    rng, X, y = drawn(seed)
    C, weight = 10.0 ** rng.uniform(-2, 2), rng.uniform(0.2, 3, size=len(y))
    classes = {0: 1.5, 1: 0.5}
    intercept = bool(seed % 2)
    theirs = LogisticRegression(
        C=C, class_weight=classes, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y, sample_weight=weight)
    glm = GLM(X, link="logit", penalty=arb(1) / arb(C), fit_intercept=intercept)
    own = np.where(y == 1, 0.5, 1.5) * weight
    start, _ = glm.minimise(y[None], own[None])
    found = [float(ball) for ball in glm.enclose(y, own, np.zeros(glm.rows.shape[1]))]
    expected = np.concatenate((theirs.coef_[0], theirs.intercept_[: int(intercept)]))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found, start[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_counts_have_the_minimisers_of_scikit_learn(seed):
    rng, X, _ = drawn(seed)
    y, weight = rng.poisson(2.0, size=len(X)).astype(float), rng.uniform(0.2, 3, size=len(X))
    alpha, intercept = 10.0 ** rng.uniform(-2, 1), bool(seed % 2)
    theirs = PoissonRegressor(
        alpha=alpha, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12
    ).fit(X, y, sample_weight=weight)
    total = sum(map(arb, weight.tolist()), arb(0))
    glm = GLM(X, link="log", penalty=arb(alpha) * total, fit_intercept=intercept)
    found = [float(ball) for ball in glm.enclose(y, weight, np.zeros(glm.rows.shape[1]))]
    expected = np.append(theirs.coef_, theirs.intercept_)[: len(found)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_a_constant_alone_is_the_logarithm_of_the_odds():
    glm = GLM(np.zeros((5, 1)), link="logit", penalty=arb(1), fit_intercept=True)
    ball = glm.enclose(np.array([1.0, 1, 1, 0, 0]), np.ones(5), np.zeros(2))[1]
    assert ball.overlaps((arb(3) / 2).log())
    assert float(ball.rad()) < 1e-40


def test_a_flipped_label_takes_the_weight_of_its_new_class():
    y, weights = np.array([0.0, 1, 1]), np.array([[2.0] * 3, [5.0] * 3])
    sets = one_by_one(y, limit=1, weights=weights)
    assert sets.weights.tolist() == [[2, 5, 5], [5, 5, 5], [2, 2, 5], [2, 5, 2]]
    glm = GLM(np.zeros((3, 1)), link="logit", penalty=arb(1), fit_intercept=True)
    truth = Truth(glm, sets, np.array([[0.0, 1.0]]))
    assert truth.undefined.tolist() == [False, True, False, False]
    assert truth.exact(2)[0].overlaps((arb(5) / 4).log())


@pytest.mark.parametrize("seed", range(4))
def test_label_sets_without_a_minimiser_are_the_separable_ones(seed):
    _, X, y = drawn(seed, n=7, p=2)
    X = np.round(X) if seed % 2 else X
    glm = GLM(X, link="logit", penalty=0, fit_intercept=True)
    sets = one_by_one(y, limit=7)
    undefined = glm.undefined(sets.labels, sets.weights)
    assert 0 < undefined.sum() < len(undefined)
    for labels, said in zip(sets.labels, undefined, strict=True):
        A = np.where(labels > 0.5, 1, -1)[:, None] * glm.design
        # A direction that pushes no label back and some onwards.
        found = linprog(-A.sum(axis=0), A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1))
        assert said == (found.fun < -1e-7)


def test_sets_are_all_there_are_and_alike_rows_stand_for_one_another():
    y = np.array([0.0, 0, 1, 1, 0, 1])
    assert len(one_by_one(y, limit=3).labels) == sum(math.comb(6, k) for k in range(4))
    masked = one_by_one(y, may_flip=y == 1, limit=9)
    assert masked.complete
    assert len(masked.labels) == 8
    same = flips(y, np.ones((2, 6)), np.ones(6, bool), 6, np.array([0, 0, 1, 1, 0, 1]))
    assert len(same.labels) == 4 * 4


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_is_that_of_refits_by_scikit_learn(seed):
    rng, X, y = drawn(seed, n=7, p=2)
    tests = rng.normal(size=(3, 2))
    glm = GLM(X, link="logit", penalty=arb(1) / arb(5.0), fit_intercept=True)
    truth = Truth(glm, one_by_one(y), glm.padded(tests))
    model = LogisticRegression(C=5.0, solver="newton-cholesky", tol=1e-12)
    scores = np.full((len(truth.sets.labels), 3), np.nan)
    for at, labels in enumerate(truth.sets.labels):
        assert truth.undefined[at] == (len(set(labels)) == 1)
        if not truth.undefined[at]:
            scores[at] = model.fit(X, labels).decision_function(tests)
    for t, row in enumerate(truth.rows):
        for budget in range(3):
            inside = scores[truth.sets.sizes <= budget, t]
            inside = inside[~np.isnan(inside)]
            assert row.overturned(budget) == bool(((inside > 0) != (scores[0, t] > 0)).any())
            low, high = row.ends(budget)
            assert float(low) == pytest.approx(inside.min(), abs=1e-6)
            assert float(high) == pytest.approx(inside.max(), abs=1e-6)


def test_a_row_of_zeros_without_a_constant_never_moves():
    _, X, y = drawn(3)
    glm = GLM(X, link="logit", penalty=arb(1), fit_intercept=False)
    (row,) = Truth(glm, one_by_one(y), np.zeros((1, 3))).rows
    assert row.minimum_budget == (None, None)
    assert [float(end) for end in row.ends(2)] == [0.0, 0.0]


def test_counts_move_to_ends_and_in_between_but_not_below_zero():
    rng = np.random.default_rng(0)
    y = np.array([0.0, 2, 5, 1])
    sets = moves(rng, y, np.ones(4), np.full(4, -1.5), np.full(4, 1.0), 2)
    assert (sets.labels >= 0).all()
    assert sets.sizes[0] == 0
    assert sets.sizes.max() == 2
    assert len(np.unique(sets.labels, axis=0)) > 100
