"""Logistic and Poisson regression on what users bring: refused by name, undecided, or true."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, PoissonRegressor

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, Verdict
from unswayed.exceptions import (
    InputError,
    LabelPeekError,
    NotLinearError,
    SolverPrecisionWarning,
    UnprovenWarning,
)

RNG = np.random.default_rng(0)
N_ROWS = 40
X = RNG.normal(size=(N_ROWS, 2))
Y = (X[:, 0] + RNG.normal(size=N_ROWS) > 0.4).astype(int)
T = RNG.normal(size=(12, 2))
SEPARABLE = (X[:, 0] > 0).astype(int)
EXACT = {"solver": "newton-cholesky", "tol": 1e-10}
# These problems are hard on solvers, who may say so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
THREE = ("robust", "not-robust", "undecided")


def fitted(y=Y, rows=X, *, bias=None, weight=None, **settings):
    model = CertifiedClassifier(
        LogisticRegression(**settings),
        bias=bias or LabelBias.flips(budget=2),
        trust="sample_weight",
    )
    return model.fit(rows, y, sample_weight=weight)


def certified(*args, tests=T, **settings):
    return fitted(*args, **settings).certify(tests)


def tally(certs):
    return tuple(int((certs.verdict == Verdict(name)).sum()) for name in THREE)


# --- penalties -----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [np.inf, 1e300])
def test_separable_classes_are_undecided_without_a_penalty(C):
    with pytest.warns(UnprovenWarning, match="classes that a plane separates"):
        model = fitted(SEPARABLE, C=C)
    assert tally(model.certify(T)) == (0, 0, len(T))


def test_separable_classes_are_decided_with_a_penalty():
    robust, broken, _ = tally(certified(SEPARABLE, C=0.1, **EXACT))
    assert robust
    assert robust + broken >= 10


@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
def test_no_penalty_is_the_same_as_an_infinite_c():
    one = LabelBias.flips(budget=1)
    expected = certified(C=np.inf, bias=one, **EXACT)
    found = certified(penalty=None, bias=one, **EXACT)
    assert tally(found) == tally(expected)
    assert tally(found)[0]
    np.testing.assert_array_equal(found.low, expected.low)


def test_labels_that_may_become_separable_are_never_robust_without_a_penalty():
    y = SEPARABLE.copy()
    y[np.abs(X[:, 0]).argsort()[-2:]] ^= 1  # both flipped back: a plane separates
    certs = certified(y, C=np.inf, **EXACT)
    assert not certs.robust.any()
    assert certified(y, C=np.inf, bias=LabelBias.flips(budget=0), **EXACT).robust.all()


@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("C", [1e-12, 1e-100])
def test_a_tiny_c_leaves_nothing_but_the_share_of_the_classes(C):
    y = (np.arange(N_ROWS) < 30).astype(int)
    few, many = (
        certified(y, C=C, bias=LabelBias.flips(budget=budget), **EXACT) for budget in (4, 11)
    )
    assert tally(few) == (len(T), 0, 0)
    np.testing.assert_allclose(few.score, np.log(3.0), rtol=1e-6)
    assert tally(many) == (0, len(T), 0)


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), "1", True, None])
def test_a_c_that_is_no_penalty_is_refused(C):
    with pytest.raises(InputError, match="C must be a number above 0"):
        fitted(C=C)


@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": "l1", "solver": "liblinear"},
        {"penalty": "elasticnet", "solver": "saga", "l1_ratio": 0.5},
        {"l1_ratio": 1.0, "solver": "saga"},
    ],
)
def test_penalties_that_select_are_refused_by_name(settings):
    with pytest.raises(NotLinearError, match=r"l1_ratio=1.0|penalty='(l1|elasticnet)'"):
        fitted(**settings)


# --- settings ------------------------------------------------------------------------------


def test_liblinear_is_refused_where_it_penalises_the_intercept():
    with pytest.raises(InputError, match="solver='liblinear' penalises the intercept"):
        fitted(solver="liblinear")


def test_liblinear_without_an_intercept_is_the_same_model():
    expected = certified(fit_intercept=False, **EXACT)
    found = certified(fit_intercept=False, solver="liblinear", tol=1e-8)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.low, expected.low)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "saga", "newton-cholesky"])
def test_a_solver_that_stopped_early_is_told_of_and_the_minimiser_certified(solver):
    with pytest.warns(SolverPrecisionWarning, match="stopped early"):
        model = fitted(C=100.0, max_iter=1, solver=solver, random_state=0)
    expected = certified(C=100.0, **EXACT)
    early = model.predict(T) != expected.prediction
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = model.certify(T)
    # Rows of which `predict` says something else are named.
    assert any("predict says another class" in str(each.message) for each in said) == early.any()
    np.testing.assert_array_equal(found.prediction, expected.prediction)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-9)


def test_weights_of_classes_from_labels_are_refused():
    with pytest.raises(LabelPeekError, match="class_weight='balanced'"):
        fitted(class_weight="balanced")


@pytest.mark.parametrize("factor", [0, -1.0, np.inf, "2"])
def test_weights_of_classes_are_numbers_above_nothing(factor):
    with pytest.raises(InputError, match="class_weight of 0 must be a finite number above 0"):
        fitted(class_weight={0: factor, 1: 1.0})


def test_a_search_for_c_is_refused():
    model = CertifiedClassifier(LogisticRegressionCV(), bias=LabelBias.flips(budget=1))
    with pytest.raises(LabelPeekError, match="LogisticRegressionCV"):
        model.fit(X, Y)


# --- labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "said"), [(0 * Y, "one class"), (np.arange(N_ROWS) % 3, "3 classes")]
)
def test_there_are_two_classes(y, said):
    with pytest.raises(InputError, match=said):
        fitted(y)


def test_labels_that_may_all_become_one_class_leave_nothing_proven():
    y = np.zeros(N_ROWS, dtype=int)
    y[0] = 1
    down = LabelBias.flips(budget=1, direction="down")
    assert not certified(y, bias=down, **EXACT).robust.any()
    up = LabelBias.flips(budget=1, direction="up", where=np.arange(N_ROWS) < 20)
    assert certified(y, bias=up, **EXACT).robust.any()


def test_a_mask_of_nothing_makes_everything_robust():
    nobody = LabelBias.flips(budget=2, where=np.zeros(N_ROWS, dtype=bool))
    assert certified(bias=nobody).robust.all()


def test_a_class_whose_rows_weigh_nothing_leaves_everything_undecided():
    with pytest.warns(UnprovenWarning, match="apart from those of weight 0"):
        model = fitted(weight=(Y == 0).astype(float))
    assert tally(model.certify(T))[2] == len(T)


def test_rows_of_weight_zero_are_as_good_as_absent():
    weight = np.ones(N_ROWS)
    weight[:8] = 0.0
    found, expected = certified(weight=weight, **EXACT), certified(Y[8:], X[8:], **EXACT)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-9)


def test_a_budget_of_nothing_changes_nothing():
    certs = certified(bias=LabelBias.flips(budget=0), **EXACT)
    assert certs.robust.all()
    np.testing.assert_allclose(certs.low, certs.high, rtol=1e-8)


def test_budgets_beyond_all_labels_are_those_of_all_labels():
    found, expected = (
        certified(bias=LabelBias.flips(budget=budget), **EXACT) for budget in (10**9, N_ROWS)
    )
    assert not found.robust.any()  # all labels flipped: every prediction is the other one
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_array_equal(found.low, expected.low)


# --- features ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("value", [0.0, 1.0, -3e6])
def test_a_constant_column_changes_nothing_beside_an_intercept(value):
    rows, tests = (np.column_stack((each, np.full(len(each), value))) for each in (X, T))
    found, expected = certified(rows=rows, tests=tests, **EXACT), certified(**EXACT)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-6)


def test_a_constant_column_without_a_penalty_is_named():
    rows = np.column_stack((X, np.full(N_ROWS, 7.0)))
    with pytest.warns(UnprovenWarning, match="'x2' never varies"):
        model = fitted(rows=rows, C=np.inf)
    assert tally(model.certify(rows))[2] == N_ROWS


def test_duplicates_are_worth_their_number():
    rows, y = np.repeat(X[:10], 4, axis=0), np.repeat(Y[:10], 4)
    found = certified(y, rows, **EXACT)
    weighed = certified(Y[:10], X[:10], weight=np.full(10, 4.0), bias=LabelBias.flips(budget=0))
    np.testing.assert_allclose(found.score, weighed.score, atol=1e-3)
    assert (found.low < weighed.low).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_without_numbers_are_refused(value):
    rows, tests = X.copy(), T.copy()
    rows[3, 0] = tests[3, 0] = value
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        fitted(rows=rows)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        certified(tests=tests)


def test_numbers_beyond_all_bounds_are_undecided():
    with pytest.warns(UnprovenWarning):
        model = fitted(rows=X * 1e200)
    assert tally(model.certify(T))[2] == len(T)


def test_test_rows_may_be_huge():
    huge = 1e290 * T
    certs = certified(tests=huge)  # solvers are precise to a share of the score
    assert certs.robust.any()
    assert (certs.prediction == (certs.score > 0)).all()


# --- counts --------------------------------------------------------------------------------

COUNTS = RNG.poisson(2.0, size=N_ROWS).astype(float)


def counted(y=COUNTS, **settings):
    bias = LabelBias.shifts((0, 1), budget=2)
    return CertifiedRegressor(PoissonRegressor(**settings), bias=bias, radius=0.5).fit(X, y)


def test_counts_without_a_penalty_are_certified_where_a_minimiser_exists():
    assert counted(alpha=0.0, **EXACT).certify(T).robust.any()


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_counts_of_nothing_have_no_minimiser():
    with pytest.warns(UnprovenWarning, match="labels that are all alike"):
        model = counted(0 * COUNTS)
    assert (model.certify(T).verdict == Verdict.UNDECIDED).all()


def test_large_counts_are_certified():
    certs = counted(1e8 * COUNTS, **EXACT).certify(T)
    assert certs.robust.all()


def test_a_solver_of_counts_that_stopped_early_is_told_of():
    with pytest.warns(SolverPrecisionWarning, match="stopped early"):
        model = counted(alpha=1e-3, max_iter=1)
    expected = counted(alpha=1e-3, **EXACT).certify(T)
    np.testing.assert_allclose(model.certify(T).low, expected.low, rtol=1e-9)
