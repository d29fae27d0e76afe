"""Thresholds: a number, or the mean of the labels, which moves with them."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.effort import examples, some
from unswayed import CertifiedClassifier, InputError, LabelBias, LinearSmoother, Verdict, verify
from unswayed.margins.decisions import Radius


def problem(seed, n=7, d=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)) / 2 + rng.normal(size=(n, d)) * (seed % 2)
    y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    tests = rng.integers(-3, 4, size=(4, d)) / 2 + rng.normal(size=(4, d)) * (seed % 2)
    weight = rng.integers(0, 4, n) / 2 + rng.random(n) if seed % 3 == 0 else None
    return X, y, tests, weight


def smoother(train, rows):
    return np.asarray(rows) @ np.asarray(train).T / 8


MODELS = {
    "ridge": Ridge(alpha=0.7),
    "no intercept": Ridge(alpha=0.7, fit_intercept=False),
    "least squares": LinearRegression(),
    "classifier": RidgeClassifier(alpha=0.7),
    "kernel": KernelRidge(alpha=0.7, kernel="rbf"),
    "wide": Ridge(alpha=0.7),
    "smoother": LinearSmoother(smoother),
    "pipeline": make_pipeline(StandardScaler(), Ridge(alpha=0.7)),
}


def scores_less_mean(estimator, X, labels, tests, weight):
    """Refit on numbers, as the model codes them, and measure from their mean."""
    model = clone(estimator)
    if weight is None:
        model.fit(X, labels)
    else:
        model.fit(X, labels, sample_weight=weight)
    return model.predict(tests) - np.average(labels, weights=weight)


def truth(name, X, y, tests, weight, budget):
    """Every admissible set of flips, refitted: lowest and highest score less the mean."""
    low, high = (-1.0, 1.0) if name == "classifier" else (0.0, 1.0)
    estimator = Ridge(alpha=0.7) if name == "classifier" else MODELS[name]
    coded = np.where(y == 1, high, low)
    found = []
    for k in range(budget + 1):
        for rows in itertools.combinations(range(len(y)), k):
            labels = coded.copy()
            labels[list(rows)] = low + high - labels[list(rows)]
            found.append(scores_less_mean(estimator, X, labels, tests, weight))
    return found[0], np.min(found, axis=0), np.max(found, axis=0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(some(3, 12)))
def test_ranges_and_verdicts_are_those_of_every_refit_with_its_own_mean(name, seed):
    X, y, tests, weight = problem(seed, d=9 if name == "wide" else 3)
    if name in ("smoother", "pipeline"):
        weight = None
    bias = LabelBias.flips(budget=2)
    model = CertifiedClassifier(
        MODELS[name], bias=bias, threshold="balanced", trust="sample_weight"
    ).fit(X, y, sample_weight=weight)
    score, low, high = truth(name, X, y, tests, weight, 2)
    certs = model.certify(tests)
    np.testing.assert_allclose(certs.score, score, atol=1e-9)
    np.testing.assert_allclose(certs.low, low, atol=1e-8)
    np.testing.assert_allclose(certs.high, high, atol=1e-8)
    assert (certs.low <= low + certs.error + 1e-12).all()
    clear = (np.abs(low) > 1e-9) & (np.abs(high) > 1e-9) & (np.abs(score) > 1e-9)
    robust = np.where(score > 0, low > 0, high <= 0)
    assert (certs.robust == robust)[clear].all()
    assert (certs.verdict[clear] != Verdict.UNDECIDED).all()
    assert (model.predict(tests) == (score > 0))[np.abs(score) > 1e-9].all()
    exact = model.certify(tests, resolve="exact")
    assert (exact.verdict[clear] == certs.verdict[clear]).all()
    auto = model.certify(tests, method="auto")
    assert (auto.verdict == certs.verdict).all()


@pytest.mark.parametrize("name", ["ridge", "classifier", "kernel", "smoother"])
def test_a_witness_overturns_when_refitted_with_its_own_mean(name):
    for seed in range(6):
        X, y, tests, _ = problem(seed)
        bias = LabelBias.flips(budget=3)
        model = CertifiedClassifier(MODELS[name], bias=bias, threshold="balanced").fit(X, y)
        certs = model.certify(tests)
        for row in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST):
            witness = certs.witness(int(row))
            labels = y.copy()
            labels[witness.indices] = witness.labels
            assert len(witness.indices) == certs.minimum_budget[row]
            if len(set(labels)) == 2:
                again = CertifiedClassifier(MODELS[name], bias=bias, threshold="balanced").fit(
                    X, labels
                )
                assert again.predict(tests)[row] != model.predict(tests)[row]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_rational_arithmetic_agrees_with_fractions_on_ties(seed, budget):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(6, 1)).astype(float)
    y = np.r_[0, 1, rng.integers(0, 2, 4)]
    if len(set(X[:, 0])) < 2:
        return
    model = CertifiedClassifier(
        LinearRegression(), bias=LabelBias.flips(budget=budget), threshold="balanced"
    ).fit(X, y)
    certs = model.certify([[0.0], [1.0]], resolve="exact")
    for row, value in enumerate((0.0, 1.0)):
        group = X[:, 0] == value

        def above(labels, group=group):
            mean = Fraction(int(labels[group].sum()), int(group.sum()))
            return mean > Fraction(int(labels.sum()), len(labels))

        overturned = False
        for k in range(budget + 1):
            for rows in itertools.combinations(range(6), k):
                labels = y.copy()
                labels[list(rows)] = 1 - labels[list(rows)]
                overturned |= above(labels) != above(y)
        assert (certs.verdict[row] == Verdict.NOT_ROBUST) == overturned


def test_sparse_rows_give_the_same_answer():
    X, y, tests, _ = problem(3, n=30)
    model = CertifiedClassifier(
        Ridge(alpha=0.7), bias=LabelBias.flips(budget=2), threshold="balanced"
    )
    dense = model.fit(X, y).certify(tests)
    thin = model.fit(sparse.csr_array(X), y).certify(sparse.csr_array(tests))
    np.testing.assert_allclose(thin.low, dense.low, atol=1e-9)
    assert (thin.verdict == dense.verdict).all()


def test_a_number_moves_the_decision_and_nothing_else():
    X, y, tests, _ = problem(4)
    bias = LabelBias.flips(budget=1)
    usual = CertifiedClassifier(Ridge(), bias=bias).fit(X, y)
    other = CertifiedClassifier(Ridge(), bias=bias, threshold=0.3).fit(X, y)
    assert usual.threshold_ == 0.5
    assert other.threshold_ == 0.3
    ours, theirs = other.certify(tests), usual.certify(tests)
    np.testing.assert_array_equal(ours.score, theirs.score)
    np.testing.assert_array_equal(ours.low, theirs.low)
    assert (other.predict(tests) == (ours.score > 0.3)).all()
    assert (ours.robust == np.where(ours.score > 0.3, ours.low > 0.3, ours.high <= 0.3)).all()


def test_the_threshold_is_the_weighted_share_of_positive_labels():
    X, y, tests, weight = problem(0)
    model = CertifiedClassifier(
        Ridge(), bias=LabelBias.flips(budget=1), threshold="balanced", trust="sample_weight"
    ).fit(X, y, sample_weight=weight)
    assert model.threshold_ == pytest.approx(np.average(y, weights=weight))
    np.testing.assert_allclose(model.decision_function(tests), model.certify(tests).score)


def test_another_decision_is_about_the_model_itself():
    X, y, tests, _ = problem(5)
    bias = LabelBias.flips(budget=1)
    balanced = CertifiedClassifier(Ridge(), bias=bias, threshold="balanced").fit(X, y)
    usual = CertifiedClassifier(Ridge(), bias=bias).fit(X, y)
    ours = balanced.certify(tests, decision=Radius(0.2))
    np.testing.assert_array_equal(ours.low, usual.certify(tests, decision=Radius(0.2)).low)


@pytest.mark.parametrize("method", ["box", "sandwich"])
def test_bounds_on_coefficients_are_refused_for_a_threshold_that_moves(method):
    X, y, tests, _ = problem(5, n=20)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1), threshold="balanced").fit(
        X, y
    )
    with pytest.raises(InputError, match="use method='exact' or 'auto'"):
        model.certify(tests, method=method)


@pytest.mark.parametrize("threshold", ["half", float("nan"), float("inf"), True, [0.5], 10**400])
def test_what_is_no_threshold_is_refused(threshold):
    X, y, _, _ = problem(5)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1), threshold=threshold)
    with pytest.raises(InputError, match="threshold"):
        model.fit(X, y)


@pytest.mark.parametrize("name", ["ridge", "kernel", "smoother", "classifier"])
def test_the_checker_proves_certificates_of_a_threshold_that_moves(name, tmp_path):
    for seed in range(4):
        X, y, tests, weight = problem(seed)
        weight = None if name == "smoother" else weight
        model = CertifiedClassifier(
            MODELS[name], bias=LabelBias.flips(budget=2), threshold="balanced",
            trust="sample_weight",
        ).fit(X, y, sample_weight=weight)  # fmt: skip
        certs = model.certify(tests, resolve="exact")
        certs.save(tmp_path / "c.json", data=tmp_path / "d.npz")
        report = verify.verify(tmp_path / "c.json", data=tmp_path / "d.npz")
        assert report.proven == len(tests)
        assert not report.rejected
        assert "the mean of the labels" in str(report.question)
        text = (tmp_path / "c.json").read_text()
        assert '"threshold":"balanced"' in text
        # The same claims about a fixed threshold are other claims, and some are false.
        (tmp_path / "c.json").write_text(text.replace('"balanced"', "0.0"))
        other = verify.verify(tmp_path / "c.json", data=tmp_path / "d.npz")
        assert other.rejected
