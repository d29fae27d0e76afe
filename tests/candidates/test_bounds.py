"""Differences of cross-validation errors: bounds against all label sets, and who can be chosen."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from tests.effort import some
from unswayed import CertifiedRegressor, LabelBias
from unswayed.engines.validation import Difference

ALPHAS = [0.01, 1.0, 30.0, 1000.0]


def problem(seed, *, folds=False, weighted=False, n=9, budget=2):
    """A fitted search, and its squared errors by the definition."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 2)).astype(float)
    y = (X @ [1.0, -0.5] + rng.normal(scale=0.5, size=n) > 0).astype(float)
    weight = rng.uniform(0.5, 2, n) if weighted else None
    cv = [KFold(3), ShuffleSplit(3, test_size=3, random_state=seed)][seed % 2]
    search = RidgeCV(ALPHAS)
    if folds:
        scoring = "neg_mean_squared_error"
        search = GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=cv, scoring=scoring)
    bias = LabelBias.shifts(1.0, budget=budget)
    model = CertifiedRegressor(search, bias=bias, radius=1).fit(X, y, weight)

    parts = list(cv.split(X)) if folds else [(np.delete(np.arange(n), i), [i]) for i in range(n)]
    residuals = [
        np.array([residuals_of(X, unit, parts, alpha, weight) for unit in np.eye(n)]).T
        for alpha in ALPHAS
    ]

    def error(at, labels):
        return np.sum((residuals[at] @ labels) ** 2)

    return model, y, error


def residuals_of(X, labels, parts, alpha, weight):
    """Residuals of refits, times the roots of how much each counts; they are linear in labels."""
    found = []
    for train, test in parts:
        own = None if weight is None else weight[train]
        fitted = Ridge(alpha).fit(X[train], labels[train], own)
        counts = 1.0 / (len(test) * len(parts)) if len(test) > 1 else 1.0
        counts = counts if weight is None else weight[test[0]]
        found += ((labels[test] - fitted.predict(X[test])) * np.sqrt(counts)).tolist()
    return found


@pytest.mark.parametrize("seed", range(some(4, 8)))
@pytest.mark.parametrize("how", ["alone", "weighted", "folds"])
def test_errors_are_what_the_definition_says_and_bounds_hold_for_all_labels(how, seed):
    model, y, error = problem(seed, folds=how == "folds", weighted=how == "weighted")
    contest = model.fitted_.engine.contest
    squares = contest.squares
    for at, each in enumerate(squares):
        assert each.value == pytest.approx(error(at, y), rel=1e-9)
        assert each.uncertainty(2.0) < 1e-8 * (1 + each.value)
    one, other = np.random.default_rng(seed).choice(len(ALPHAS), 2, replace=False).tolist()
    for labels in (1, 2):
        difference = Difference(squares[one], squares[other], contest.kinds, labels)
        lowest = min(
            error(one, changed) - error(other, changed) for changed in label_sets(y, labels)
        )
        positive = difference.is_positive()
        assert lowest > 0 or not positive
        if how == "alone" and lowest > 0.2 * squares[one].value:
            assert positive


def label_sets(y, labels):
    """All ends of intervals, and their middles: errors are not monotone in labels."""
    for many in range(labels + 1):
        for rows in itertools.combinations(range(len(y)), many):
            for steps in itertools.product((-1.0, -0.5, 0.5, 1.0), repeat=many):
                changed = y.copy()
                changed[list(rows)] += steps
                yield changed


def test_fewer_labels_rule_out_more():
    model, _, _ = problem(1, n=20, budget=4)
    possible = [model.fitted_.engine.contest.possible(k) for k in (4, 2, 1, 0)]
    for more, fewer in itertools.pairwise(possible):
        assert not (fewer & ~more).any()
    assert possible[-1].sum() == 1


@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
def test_rows_with_their_own_leverage_alone_rule_nothing_out():
    # One row has a column to itself: left out, nothing is known of it without a penalty.
    X = np.vstack((np.eye(4), np.eye(4)[:2]))
    search = RidgeCV([1e-12, 1e-10])
    bias = LabelBias.shifts(1.0, budget=1)
    model = CertifiedRegressor(search, bias=bias, radius=1).fit(X, np.arange(6.0))
    assert model.fitted_.engine.contest.possible(1).all()
