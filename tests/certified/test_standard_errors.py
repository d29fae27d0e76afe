"""Standard errors and confidence intervals of coefficients, against closed forms in NumPy."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed.exceptions import UnprovenWarning

N, P = 60, 4


def drawn(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * [1, 5, 0.2, 30][:p] + [0, 2000, 1, -3][:p]
    y = 45_000 + (X - X.mean(axis=0)) @ [900, -40, 3_000, 7][:p] + rng.normal(0, 800, n)
    return X, y


def regressor(estimator, X, y, **options):
    bias = LabelBias.shifts(500.0, budget=3)
    return CertifiedRegressor(estimator, bias=bias, radius=100.0).fit(X, y, **options)


def linear_map(X, alpha, intercept=True):
    """From labels to coefficients, and the hat matrix."""
    n = len(X)
    centred = X - X.mean(axis=0) if intercept else X
    coefficients = np.linalg.solve(centred.T @ centred + alpha * np.eye(X.shape[1]), centred.T)
    return coefficients, centred @ coefficients + intercept / n


@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("alpha", [0.0, 0.7, 300.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_linear_model_has_the_standard_errors_of_its_linear_map(alpha, intercept, form):
    X, y = drawn()
    C, hat = linear_map(X, alpha, intercept)
    degrees = N - np.trace(hat)
    variance = np.sum((y - hat @ y) ** 2) / degrees
    expected = np.sqrt(variance * np.diag(C @ C.T))
    kind = (
        Ridge(alpha, fit_intercept=intercept)
        if alpha
        else LinearRegression(fit_intercept=intercept)
    )
    frame = regressor(kind, form(X), y).certify_coefficients().to_frame()
    np.testing.assert_allclose(frame["standard_error"], expected, rtol=1e-6)
    half = stats.t.ppf(0.975, degrees) * expected
    np.testing.assert_allclose(frame["confidence_low"], C @ y - half, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(frame["confidence_high"], C @ y + half, rtol=1e-5, atol=1e-6)


def test_least_squares_has_the_classical_standard_errors_also_of_contrasts():
    X, y = drawn(seed=1)
    A = np.column_stack((np.ones(N), X))
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    covariance = residual @ residual / (N - P - 1) * np.linalg.inv(A.T @ A)
    model = regressor(LinearRegression(), X, y)
    contrasts = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.5, 2.0, 1.0]])
    found = model.certify_coefficients(contrasts=contrasts).standard_error
    expected = np.sqrt(np.diag(contrasts @ covariance[1:, 1:] @ contrasts.T))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_levels_of_a_category_beside_an_intercept_have_standard_errors_of_their_differences():
    rng = np.random.default_rng(4)
    level = rng.integers(0, 3, N)
    X, y = np.eye(3)[level], 10.0 * level + rng.normal(size=N)
    sizes = np.bincount(level)
    spread = sum(np.sum((y[level == k] - y[level == k].mean()) ** 2) for k in range(3)) / (N - 3)
    model = regressor(LinearRegression(), X, y)
    found = model.certify_coefficients(contrasts=[[1, -1, 0], [0, 1, -1]]).standard_error
    expected = np.sqrt(
        spread * np.array([1 / sizes[0] + 1 / sizes[1], 1 / sizes[1] + 1 / sizes[2]])
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_more_features_than_rows_have_standard_errors_only_with_a_penalty():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 30)), rng.normal(size=12)
    C, hat = linear_map(X, 5.0)
    variance = np.sum((y - hat @ y) ** 2) / (12 - np.trace(hat))
    found = regressor(Ridge(5.0), X, y).certify_coefficients().standard_error
    np.testing.assert_allclose(found, np.sqrt(variance * np.diag(C @ C.T)), rtol=1e-8)
    assert np.isnan(regressor(LinearRegression(), X, y).certify_coefficients().standard_error).all()
    square = regressor(LinearRegression(), X[:, :11], y).certify_coefficients().standard_error
    assert np.isnan(square).all()


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize("penalty", [0.3, 20.0])
def test_models_with_a_link_have_the_sandwich_of_their_penalised_hessian(kind, penalty):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 3)) * [1, 4, 0.5]
    X[40:60] = X[:20]  # equal rows are merged
    if kind == "logistic":
        y = np.where(X @ [0.8, 0.1, -1] + rng.logistic(size=80) > 0, "yes", "no")
        estimator = LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000)
        bias = LabelBias.flips(budget=2)
        model = CertifiedClassifier(estimator, bias=bias).fit(X, y)
    else:
        y = rng.poisson(np.exp(1 + X @ [0.3, -0.1, 0.2]))
        estimator = PoissonRegressor(alpha=penalty / 80, tol=1e-12, max_iter=10_000)
        bias = LabelBias.shifts(1.0, budget=2, clip=(0, None))
        model = CertifiedRegressor(estimator, bias=bias, radius=1.0).fit(X, y)
    final = model.estimator_
    theta = np.append(np.ravel(final.coef_), np.ravel(final.intercept_))
    A = np.column_stack((X, np.ones(80)))
    mean = 1 / (1 + np.exp(-A @ theta)) if kind == "logistic" else np.exp(A @ theta)
    gram = A.T @ (A * (mean * (1 - mean) if kind == "logistic" else mean)[:, None])
    inverse = np.linalg.inv(gram + np.diag([penalty] * 3 + [0]))
    expected = np.sqrt(np.diag(inverse @ gram @ inverse))[:3]
    certs = model.certify_coefficients()
    np.testing.assert_allclose(certs.standard_error, expected, rtol=1e-5)
    low, high = certs.confidence_interval(0.9)
    np.testing.assert_allclose(high - low, 2 * stats.norm.ppf(0.95) * expected, rtol=1e-5)


def test_intervals_of_repeated_samples_cover_the_expected_coefficient_about_as_often_as_they_say():
    X, _ = drawn(seed=9, n=30, p=2)
    truth = X @ [900.0, -40.0]
    rng = np.random.default_rng(3)
    C, _ = linear_map(X, 10.0)
    expected, covered = C @ truth, 0
    for _ in range(200):
        certs = regressor(Ridge(10.0), X, truth + rng.normal(0, 500, 30)).certify_coefficients()
        low, high = certs.confidence_interval()
        covered += (low <= expected) & (expected <= high)
    assert (np.abs(covered / 200 - 0.95) < 0.05).all()


def test_weights_leave_standard_errors_out_and_pickles_keep_them():
    X, y = drawn()
    weighted = regressor(Ridge(), X, y, sample_weight=np.linspace(1, 2, N)).certify_coefficients()
    assert np.isnan(weighted.standard_error).all()
    assert weighted.to_frame()["confidence_low"].isna().all()
    certs = regressor(make_pipeline(StandardScaler(), Ridge()), pd.DataFrame(X), y)
    found = certs.certify_coefficients()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.standard_error, found.standard_error)


def test_rows_have_no_columns_of_standard_errors():
    X, y = drawn()
    assert "standard_error" not in regressor(Ridge(), X, y).certify(X[:3]).to_frame()


def test_columns_that_doubles_cannot_tell_apart_have_no_standard_errors():
    rng = np.random.default_rng(0)
    first = rng.standard_normal(30)
    X = np.column_stack((first, first + 1e-13 * rng.standard_normal(30)))
    bias = LabelBias.shifts(1.0, budget=1)
    model = CertifiedRegressor(LinearRegression(), bias=bias, radius=1.0)
    with pytest.warns(UnprovenWarning):
        certs = model.fit(X, first).certify_coefficients()
    assert not np.isfinite(certs.error).any()
    assert np.isnan(certs.standard_error).all()
    assert "depend on one another" in certs.standard_errors.reason
