"""Certificates stay what they were, and doubt is said: refits, changed arrays, threads, scales."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_info

from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelPeekError,
    LinearSmoother,
    SolverPrecisionWarning,
    Verdict,
    robustness_curve,
)
from unswayed.engines.protocol import FeatureRows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=60) > 0
TESTS = RNG.normal(size=(20, 3))
FLIPS = LabelBias.flips(budget=5)


def test_certificates_keep_their_answers_when_the_model_is_fitted_anew():
    model = CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, Y)
    certs = model.certify(TESTS)
    least = model.minimum_budget(TESTS)
    row = int(np.flatnonzero(~certs.robust)[0])
    before = certs.witness(row)
    model.fit(RNG.normal(size=(40, 5)), RNG.random(40) > 0.5)
    np.testing.assert_array_equal(certs.minimum_budget, least)
    np.testing.assert_array_equal(certs.witness(row).indices, before.indices)


def test_changing_the_training_array_later_changes_no_certificate():
    mine = X.copy()
    model = CertifiedRegressor(
        Ridge(fit_intercept=False), bias=LabelBias.shifts(1, budget=5), radius=0.5
    ).fit(mine, X @ [1.0, 2.0, 3.0])
    before = model.certify(TESTS).high
    mine *= 10
    np.testing.assert_array_equal(model.certify(TESTS).high, before)


def test_threads_leave_the_number_of_blas_threads_as_it_was():
    def blas():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    model = CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, Y)
    rows = RNG.normal(size=(3000, 3))
    before = blas()
    threads = [threading.Thread(target=model.minimum_budget, args=(rows,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas() == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scikit-learn's own, of an overflow
@pytest.mark.parametrize("scale", [2.0**660, 2.0**-560])
def test_a_scale_that_doubles_cannot_square_changes_nothing(scale):
    model = CertifiedRegressor(
        LinearRegression(fit_intercept=False), bias=LabelBias.shifts(1, budget=3), radius=0.2
    )
    certs = model.fit(X, np.zeros(60)).certify(X)
    again = model.fit(X * scale, np.zeros(60)).certify(X * scale)
    assert again.verdict.tolist() == certs.verdict.tolist()
    assert set(certs.verdict) == {Verdict.ROBUST, Verdict.NOT_ROBUST}
    np.testing.assert_array_equal(again.high, certs.high)


def test_nearly_singular_problems_are_undecided_until_they_are_resolved():
    rows = np.column_stack((X[:, 0], X[:, 0] + 1e-9 * X[:, 1]))
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(1, budget=3), radius=0.2)
    with pytest.warns(SolverPrecisionWarning, match="every verdict is UNDECIDED"):
        model.fit(rows, np.zeros(60))
    certs = model.certify(rows[:3])
    assert set(certs.verdict) == {Verdict.UNDECIDED}
    assert np.isinf(certs.error).all()
    assert np.isnan(certs.minimum_budget).all()
    certs = model.certify(rows[:3], resolve="exact")
    assert Verdict.UNDECIDED not in certs.verdict
    assert certs.minimum_budget_proven.all()
    assert set(certs.method) == {"rational"}


def test_undecided_rows_have_no_place_on_a_curve():
    with pytest.raises(InputError, match="NaN"):
        robustness_curve([1.0, np.nan])


@pytest.mark.parametrize("seed", range(40))
def test_on_ties_a_witness_stays_within_the_budget_and_overturns_the_score(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    features = rng.integers(-2, 3, size=(n, 2)).astype(float)
    tests = np.unique(rng.integers(-2, 3, size=(12, 2)).astype(float), axis=0)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=n), radius=1.0)
    model.fit(features, rng.integers(0, 2, n))
    at = model.certify(tests, budget=2)
    row = int(rng.integers(len(tests)))
    model.radius = float(at.high[row] - at.score[row])  # to the last bit
    for budget in (1, 2, n):
        certs = model.certify(tests, budget=budget)
        for i in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST):
            witness = certs.witness(int(i))
            assert len(witness) <= budget
            assert abs(witness.score - certs.score[i]) >= model.radius * (1 - 1e-9)


def test_a_classifier_in_a_regressor_is_refused():
    with pytest.raises(InputError, match="RidgeClassifier predicts classes"):
        CertifiedRegressor(RidgeClassifier(), bias=FLIPS, radius=1).fit(X, Y)


class PeeksWhileTraining(TransformerMixin, BaseEstimator):
    """Blind in fit and transform; a pipeline trains on fit_transform."""

    def fit(self, X, y=None):
        self.n_ = 1
        return self

    def transform(self, X):
        return X

    def fit_transform(self, X, y=None):
        self.fit(X)
        return X if y is None else X + 0.1 * np.asarray(y, dtype=float)[:, None]


def test_a_transformer_that_peeks_only_while_training_is_refused():
    model = CertifiedClassifier(make_pipeline(PeeksWhileTraining(), Ridge()), bias=FLIPS)
    with pytest.raises(LabelPeekError, match="PeeksWhileTraining"):
        model.fit(X, Y)


@pytest.mark.parametrize("columns", [[2, 1, 0], [7, 8, 9], [0, 1]])
def test_columns_that_are_numbers_are_compared_too(columns):
    model = CertifiedClassifier(Ridge(), bias=FLIPS).fit(pd.DataFrame(X), Y)
    other = pd.DataFrame(X[:, : len(columns)])
    other.columns = columns
    with pytest.raises(InputError, match="feature names should match"):
        model.predict(other)


def test_a_mask_whose_index_is_not_that_of_the_rows_is_refused():
    frame = pd.DataFrame(X, columns=list("abc"))
    shuffled = frame.sample(frac=1, random_state=0)
    bias = LabelBias.flips(budget=5, where=frame["a"] > 0)
    with pytest.raises(BiasError, match="different indexes"):
        CertifiedClassifier(Ridge(), bias=bias).fit(shuffled, Y)
    assert CertifiedClassifier(Ridge(), bias=bias).fit(frame, Y)


def test_shifted_class_labels_are_always_numbers():
    model = CertifiedClassifier(Ridge(), bias=LabelBias.shifts(1, budget=30)).fit(
        X, np.where(Y, "yes", "no")
    )
    certs = model.certify(TESTS)
    for row in np.flatnonzero(~certs.robust):
        assert certs.witness(int(row)).labels.dtype == np.float64


def test_coefficients_of_very_many_features_need_no_identity_matrix():
    wide = RNG.normal(size=(10, 4000))
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=1)
    certs = model.fit(wide, RNG.normal(size=10)).certify_coefficients()
    np.testing.assert_allclose(certs.score, model.estimator_.coef_, rtol=1e-9)


def test_a_kernel_of_many_rows_is_never_held_whole(monkeypatch):
    model = CertifiedRegressor(
        KernelRidge(kernel="rbf"), bias=LabelBias.shifts(1, budget=2), radius=0.3
    ).fit(X, Y.astype(float))
    rows = RNG.normal(size=(200_000, 3))
    asked = []
    kernel = model.fitted_.learner.represent

    def watched(block):
        asked.append(len(block))
        return kernel(block)

    monkeypatch.setattr(model.fitted_.learner, "represent", watched)
    scores = FeatureRows.of(model.fitted_.learner, rows).scores(model.fitted_.model.solution).value
    assert len(scores) == len(rows)
    assert max(asked) * len(X) <= 2**22


# --- what the caller does to arrays later, and what estimators do to rows ---------------------

SHIFTS = LabelBias.shifts(1, budget=5)
LABELS = Y.astype(float)


def exact_scores(model):
    """Scores by rational arithmetic, which starts from the training data again."""
    question = model.certify(TESTS, resolve="exact").source
    return [row.score for row in question.case.rational.rows(TESTS)]


def test_changing_the_sample_weights_later_changes_no_certificate():
    mine = RNG.random(60)
    model = CertifiedRegressor(Ridge(), bias=SHIFTS, radius=0.5).fit(X, LABELS, sample_weight=mine)
    before = exact_scores(model)
    mine[:30] *= 5
    assert exact_scores(model) == before


def test_shuffling_the_training_rows_in_place_is_noticed():
    mine = X.copy()
    model = CertifiedRegressor(Ridge(), bias=SHIFTS, radius=0.5).fit(mine, LABELS)
    RNG.shuffle(mine)
    with pytest.raises(InputError, match="changed in place after fit"):
        exact_scores(model)


def distances(training, rows):
    return 1 / (1 + np.abs(rows[:, None, :] - training[None]).sum(axis=2))


@pytest.mark.parametrize("estimator", [KernelRidge(kernel="rbf"), LinearSmoother(distances)])
def test_changing_training_rows_that_are_kept_changes_no_certificate(estimator):
    mine = X.copy()
    model = CertifiedRegressor(estimator, bias=SHIFTS, radius=0.5).fit(mine, LABELS)
    before = model.certify(TESTS).high
    mine *= 10
    np.testing.assert_array_equal(model.certify(TESTS).high, before)


def log_in_place(rows):
    return np.log1p(np.abs(rows), out=rows)


class LogInPlace(TransformerMixin, BaseEstimator):
    def fit(self, rows, labels=None):
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, rows):
        return log_in_place(rows)


class PeekInPlace(LogInPlace):
    def fit(self, rows, labels=None):
        self.scale_ = 1.0 if labels is None else np.abs(rows.T @ labels)
        return self

    def transform(self, rows):
        rows /= self.scale_
        return rows


def test_a_transformer_that_looks_at_labels_is_found_though_it_writes_into_its_rows():
    with pytest.raises(LabelPeekError):
        CertifiedRegressor(make_pipeline(PeekInPlace(), Ridge()), bias=SHIFTS, radius=0.5).fit(
            X + 3, LABELS
        )


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(copy_X=False),
        Ridge(copy_X=np.False_),
        LinearRegression(copy_X=False),
        make_pipeline(StandardScaler(copy=False), Ridge()),
        make_pipeline(FunctionTransformer(log_in_place), Ridge()),
        make_pipeline(LogInPlace(), Ridge()),
    ],
    ids=["ridge", "numpy", "least-squares", "scaler", "function", "stranger"],
)
def test_an_estimator_that_writes_into_its_rows_is_certified_on_the_rows_as_they_were(estimator):
    mine, tests = X + 3, TESTS + 3
    model = CertifiedRegressor(estimator, bias=SHIFTS, radius=0.5).fit(mine, LABELS)
    certs = model.certify(tests)
    np.testing.assert_array_equal(mine, X + 3)
    np.testing.assert_array_equal(tests, TESTS + 3)
    own = clone(estimator).fit(X + 3, LABELS).predict(TESTS + 3)
    np.testing.assert_allclose(certs.score, own, rtol=1e-9)


def test_witnesses_are_written_as_the_fitted_bias_has_them():
    model = CertifiedClassifier(Ridge(), bias=LabelBias.shifts(0.7, budget=30)).fit(X, Y)
    model.set_params(bias=FLIPS)
    certs = model.certify(TESTS)
    row = int(np.flatnonzero(~certs.robust)[0])
    assert certs.witness(row).labels.dtype == np.float64


class Renamed(StandardScaler):
    """A scaler that nobody knows to be blind, so that it is tried."""


def test_a_stranger_that_writes_into_its_rows_is_tried_on_the_rows_as_they_were():
    mine = X + 3
    model = CertifiedRegressor(
        make_pipeline(Renamed(copy=False), Ridge()), bias=SHIFTS, radius=0.5
    ).fit(mine, LABELS)
    np.testing.assert_array_equal(mine, X + 3)
    own = make_pipeline(Renamed(), Ridge()).fit(X, LABELS).predict(TESTS)
    np.testing.assert_allclose(model.certify(TESTS + 3).score, own, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")  # differs by NaN
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_never_settled_in_fractions(value):
    tests = TESTS.copy()
    tests[3, 1] = value
    model = CertifiedRegressor(Ridge(), bias=SHIFTS, radius=0.5).fit(X, LABELS)
    with config_context(assume_finite=True), np.errstate(invalid="ignore"):
        certs = model.certify(tests)
        assert certs.verdict[3] == Verdict.UNDECIDED
        assert np.isinf(certs.error[3])
        with pytest.raises(ValueError, match="NaN and infinity are no numbers"):
            model.certify(tests, resolve="exact")


# --- kernels and penalties that no solver means -----------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the kernel's own, of an overflow
@pytest.mark.parametrize("resolve", [None, "exact"])
def test_a_row_whose_kernel_overflows_is_refused(resolve):
    kernel = KernelRidge(kernel="poly", degree=3)
    model = CertifiedRegressor(kernel, bias=SHIFTS, radius=0.5).fit(X, LABELS)
    with pytest.raises(InputError, match=r"the kernel of a row .* is NaN or infinite"):
        model.certify(TESTS * 1e150, resolve=resolve)


def test_a_kernel_that_is_not_symmetric_is_refused():
    kernel = X @ X.T + np.eye(60)
    model = CertifiedRegressor(KernelRidge(kernel="precomputed"), bias=SHIFTS, radius=0.5)
    with pytest.raises(InputError, match="the kernel is not symmetric"):
        model.fit(kernel + 0.1 * np.eye(60, k=1), LABELS)
    assert model.fit(kernel * (1 + 1e-15 * np.triu(np.ones((60, 60)))), LABELS)


@pytest.mark.filterwarnings("ignore:Singular matrix:UserWarning")  # scikit-learn's own
@pytest.mark.parametrize("estimator", [Ridge, KernelRidge])
def test_a_negative_penalty_in_an_array_is_refused(estimator):
    model = CertifiedRegressor(estimator(alpha=np.array([-1.0])), bias=SHIFTS, radius=0.5)
    with pytest.raises(InputError, match="alpha must be a finite number and not negative"):
        model.fit(X, LABELS)


@pytest.mark.parametrize("method", ["auto", "exact", "sandwich", "box"])
@pytest.mark.parametrize("budget", [2**63, 10**400], ids=["2**63", "10**400"])
def test_a_budget_beyond_all_numbers_is_one_of_all_labels(method, budget):
    model = CertifiedClassifier(Ridge(), bias=FLIPS).fit(X, Y)
    certs, every = (model.certify(TESTS, budget=k, method=method) for k in (budget, 60))
    assert certs.verdict.tolist() == every.verdict.tolist()
    assert model.certify(TESTS, budget=budget, resolve="exact").verdict.tolist()
