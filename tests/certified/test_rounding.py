"""Verdicts and minimum budgets within the band of rounding, and how they are resolved."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LinearSmoother,
    Verdict,
    prediction_range,
)

THREES = np.ones((3, 1))  # one label in three: influence 1/3, which no double is


def mean_of_three(**more):
    model = CertifiedRegressor(
        LinearRegression(fit_intercept=False), bias=LabelBias.shifts(3, budget=1), **more
    )
    return model.fit(THREES, [0.0, 0.0, 0.0])


def test_a_tie_is_undecided_and_resolved_as_the_closed_interval_says():
    model = mean_of_three(radius=1.0)  # one label moves the mean by exactly 1
    assert model.certify([[1.0]]).verdict[0] == Verdict.UNDECIDED
    certs = model.certify([[1.0]], resolve="exact")
    assert certs.verdict[0] == Verdict.ROBUST
    assert certs.method[0] == "rational"
    assert (certs.low[0], certs.high[0]) == (-1.0, 1.0)


def test_a_minimum_budget_on_a_tie_is_flagged_and_resolved():
    model = mean_of_three(radius=1.0)
    found = model.minimum_budgets([[1.0]])
    assert (found.low[0], found.high[0], found.proven[0]) == (1.0, 2.0, False)
    assert model.minimum_budget([[1.0]])[0] == 1.0  # no fewer, that much is proven
    certs = model.certify([[1.0]])
    assert not certs.minimum_budget_proven[0]
    found = model.minimum_budgets([[1.0]], resolve="exact")
    assert (found.low[0], found.proven[0]) == (2.0, True)


def test_a_score_on_the_threshold_has_no_class_until_it_is_resolved():
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(np.ones((6, 1)), [0, 0, 0, 1, 1, 1])
    assert model.certify([[1.0]]).verdict[0] == Verdict.UNDECIDED
    assert np.isnan(model.minimum_budget([[1.0]])[0])
    certs = model.certify([[1.0]], resolve="exact")  # 0.5 is not above 0.5; one more label is
    assert certs.verdict[0] == Verdict.NOT_ROBUST
    assert len(certs.witness(0)) == 1


def test_whole_numbers_that_are_given_leave_no_tie_open():
    model = CertifiedRegressor(LinearSmoother(), bias=LabelBias.shifts(1, budget=1), radius=2)
    certs = model.fit(np.zeros((2, 2)), [3, 4]).certify([[-1.0, 2.0], [-1.0, 2.5]])
    assert certs.verdict.tolist() == [Verdict.ROBUST, Verdict.NOT_ROBUST]
    assert certs.error.tolist() == [0.0, 0.0]


def test_a_range_is_rounded_outwards_where_it_is_no_double():
    bias = LabelBias.shifts(0.1, budget=1)
    low, high = prediction_range([1.0], [3000.0], bias)
    assert low < 2999.9 < 3000.1 < high or (low, high) != (2999.9, 3000.1)
    assert high - low < 0.2 + 1e-11
    assert prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=1)) == (3.0, 7.0)


def test_a_budget_of_none_is_robust_even_where_nothing_can_be_computed():
    rows = np.column_stack((np.arange(6.0), np.arange(6.0) * (1 + 1e-13)))
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(1, budget=0), radius=0.1)
    with pytest.warns(UserWarning, match="too close to singular"):
        model.fit(rows, np.arange(6.0) ** 2)
    assert set(model.certify(rows).verdict) == {Verdict.ROBUST}


@pytest.mark.parametrize("resolve", ["rational", True, "auto"])
def test_another_way_to_resolve_is_refused(resolve):
    model = mean_of_three(radius=1.0)
    for ask in (
        lambda: model.certify([[1.0]], resolve=resolve),
        lambda: model.minimum_budget([[1.0]], resolve=resolve),
        lambda: model.certify_coefficients(resolve=resolve),
    ):
        with pytest.raises(InputError, match="resolve must be 'exact' or None"):
            ask()


def test_coefficients_on_a_tie_are_resolved():
    # One flip takes the difference of the two halves' means to exactly 0.
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    model = CertifiedClassifier(LinearRegression(), bias=LabelBias.flips(budget=1))
    model.fit(X, [0, 0, 0, 0, 0, 1])
    assert model.certify_coefficients().verdict[0] == Verdict.UNDECIDED
    assert model.certify_coefficients(resolve="exact").verdict[0] == Verdict.NOT_ROBUST


def test_methods_that_abstain_are_resolved_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=4)).fit(X, X[:, 0] > 0)
    exact = model.certify(X, method="exact")
    for method in ("box", "sandwich"):
        certs = model.certify(X, method=method, resolve="exact")
        assert certs.verdict.tolist() == exact.verdict.tolist()
        assert "rational" not in certs.method_counts  # no fractions where selection is enough
