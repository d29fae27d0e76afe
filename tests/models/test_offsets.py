"""Columns whose numbers are large and nearly equal: years, numbers of accounts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, Verdict
from unswayed.exceptions import SolverPrecisionWarning, UnprovenWarning
from unswayed.models.gradient.problem import GradientProblem, Logistic

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(120, 3)) * 64) / 64
T = np.round(RNG.normal(size=(40, 3)) * 64) / 64
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=120) > 0).astype(int)
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0])).astype(float)


def moved(rows, offset):
    return rows + np.array([offset, 0.0, 0.0])


def logistic(offset):
    final = LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-10)
    model = CertifiedClassifier(final, bias=LabelBias.flips(budget=2))
    return model.fit(moved(X, offset), Y)


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("offset", [2000.0, -1e5, 2e9, 1e12])
def test_an_offset_changes_no_verdict(offset):
    plain = logistic(0.0)
    model = logistic(offset)
    found = model.certify(moved(T, offset))
    expected = plain.certify(T)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-9)
    np.testing.assert_allclose(found.high, expected.high, rtol=1e-9)
    np.testing.assert_array_equal(found.minimum_budgets.low, expected.minimum_budgets.low)
    slopes = model.certify_coefficients()
    np.testing.assert_allclose(slopes.low, plain.certify_coefficients().low, rtol=1e-9)


def test_counts_may_have_years_too():
    def certified(offset):
        final = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-10)
        bias = LabelBias.shifts((0, 1), budget=2)
        model = CertifiedRegressor(final, bias=bias, radius=0.3)
        return model.fit(moved(X, offset), COUNTS).certify(moved(T, offset))

    found, expected = certified(2000.0), certified(0.0)
    np.testing.assert_array_equal(found.verdict, expected.verdict)
    np.testing.assert_allclose(found.high, expected.high, rtol=1e-9)


def test_no_training_row_is_rounded():
    rows = 2e9 + RNG.random((50, 2)) * [1.0, 1e7]
    problem = GradientProblem(rows, Logistic(), penalty=1.0, fit_intercept=True)
    back = problem.design[:, :2] / problem.scale[:2]
    for column in range(2):
        for distinct, row in zip(back[:, column], problem.first.tolist(), strict=True):
            whole = int(rows[row, column] * 2**40), int(problem.offset[column] * 2**40)
            assert whole[0] - whole[1] == int(distinct * 2**40)


def test_without_an_intercept_nothing_is_taken_off():
    problem = GradientProblem(X + 2000.0, Logistic(), penalty=1.0, fit_intercept=False)
    assert not problem.offset.any()


def test_ordinary_columns_are_left_alone():
    problem = GradientProblem(X, Logistic(), penalty=1.0, fit_intercept=True)
    assert not problem.offset.any()


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_solvers_that_large_numbers_lead_astray_are_told_of_with_the_column():
    with pytest.warns(SolverPrecisionWarning, match="numbers of 'x0'.*StandardScaler"):
        logistic(2e9)


def test_a_sparse_column_of_large_numbers_is_undecided_and_named():
    rows = sparse.csr_array(moved(X, 2e9))
    model = CertifiedClassifier(LogisticRegression(C=0.1), bias=LabelBias.flips(budget=2))
    with pytest.warns(UnprovenWarning, match="numbers of 'x0'.*StandardScaler"):
        model.fit(rows, Y)
    certs = model.certify(sparse.csr_array(moved(T, 2e9)))
    assert (certs.verdict == Verdict.UNDECIDED).all()
