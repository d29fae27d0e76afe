"""Gradient descent that stops early, against its own steps, refits and rational arithmetic."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.effort import some
from tests.naive import corners
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    GradientDescentRegressor,
    InputError,
    LabelBias,
    TradeoffDisplay,
    Verdict,
    cross_certify,
)

RNG = np.random.default_rng(2)
X = RNG.normal(size=(30, 3)) * [1.0, 2.0, 0.3] + [0.0, 5.0, -1.0]
Y = X @ [1.0, -0.5, 2.0] + RNG.normal(size=30)
TESTS = np.array([0.0, 5.0, -1.0]) + RNG.normal(size=(5, 3))


def regressor(estimator, budget=2, radius=0.2, bias=None):
    bias = LabelBias.shifts(1, budget=budget) if bias is None else bias
    return CertifiedRegressor(estimator, bias=bias, radius=radius)


@parametrize_with_checks(
    [GradientDescentRegressor(), GradientDescentRegressor(fit_intercept=False)]
)
def test_it_is_an_estimator_as_scikit_learn_wants_it(estimator, check):
    check(estimator)


def stepped(X, y, tests, steps, size, intercept):
    """Predictions after so many steps, taken one by one in rational arithmetic."""

    def exact(values):
        return [[Fraction(float(v)) for v in row] for row in values]

    n, width = X.shape
    centre = X.mean(axis=0) if intercept else np.zeros(width)
    rows, tests = exact(X - centre), exact(tests - centre)
    labels = [Fraction(float(v)) for v in y]
    theta = [Fraction(0)] * width
    for _ in range(steps):
        left = [b - sum(a * t for a, t in zip(row, theta, strict=True))
                for row, b in zip(rows, labels, strict=True)]  # fmt: skip
        theta = [
            t + Fraction(size) / n * sum(row[j] * r for row, r in zip(rows, left, strict=True))
            for j, t in enumerate(theta)
        ]
    mean = sum(labels) / n if intercept else Fraction(0)
    return [mean + sum(a * t for a, t in zip(row, theta, strict=True)) for row in tests]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 3, 6, 13])
def test_scores_are_those_of_the_steps_one_by_one(steps, intercept):
    # Short numbers: means are exact, however they are summed up.
    rng = np.random.default_rng(steps)
    X = rng.integers(-4, 5, size=(8, 2)) / 2
    y, tests = rng.integers(-4, 5, size=8) / 4, rng.integers(-4, 5, size=(3, 2)) / 2
    estimator = GradientDescentRegressor(steps, step_size=0.375, fit_intercept=intercept)
    model = regressor(estimator).fit(X, y)
    exact = stepped(X, y, tests, steps, 0.375, intercept)
    question = model.certify(tests).source
    assert [question.exact_scores()[at] for at in question.group] == exact
    scores = question.scores
    off = np.abs(scores.value[question.group] - [float(score) for score in exact])
    assert (off <= scores.error[question.group] + 1e-16).all()
    np.testing.assert_allclose(model.predict(tests), [float(s) for s in exact], atol=1e-9)


CASES = {
    "few": GradientDescentRegressor(3),
    "many": GradientDescentRegressor(1000, step_size=0.1),
    "through-0": GradientDescentRegressor(25, fit_intercept=False),
    "too-far": GradientDescentRegressor(7, step_size=0.6),  # some of the way back and forth
}


@pytest.mark.parametrize("estimator", CASES.values(), ids=CASES)
def test_ranges_and_verdicts_are_those_of_all_refits(estimator):
    few, labels = X[:9], Y[:9]
    ones, budget = np.ones(9), some(1, 2)
    refits = np.array(
        [
            clone(estimator).fit(few, changed).predict(TESTS)
            for changed in corners(labels, -ones, ones, budget)
        ]
    )
    certs = regressor(estimator, budget).fit(few, labels).certify(TESTS)
    scale = np.abs(refits).max()
    np.testing.assert_allclose(certs.low, refits.min(axis=0), atol=1e-9 * scale)
    np.testing.assert_allclose(certs.high, refits.max(axis=0), atol=1e-9 * scale)
    far = np.abs(refits - refits[0]).max(axis=0)
    assert (certs.verdict == np.where(far > 0.2, Verdict.NOT_ROBUST, Verdict.ROBUST)).all()
    for row in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST).tolist():
        witness, changed = certs.witness(row), labels.copy()
        changed[witness.indices] = witness.labels
        again = clone(estimator).fit(few, changed).predict(TESTS[row : row + 1])[0]
        assert abs(again - refits[0][row]) > 0.2


@pytest.mark.parametrize("seed", range(some(3, 8)))
def test_doubles_are_within_their_error_of_rational_arithmetic(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3)) * 10.0 ** rng.integers(-6, 7, size=3 if seed % 2 else 1)
    y, tests = rng.normal(size=10) * 10.0 ** rng.integers(-3, 4), X[:3] * 1.5
    estimator = GradientDescentRegressor(int(rng.integers(1, 60)), fit_intercept=bool(seed % 3))
    ends = rng.random((2, 10)) * np.abs(y).max()
    bias = LabelBias.intervals(-ends[0], ends[1], budget=2)
    model = regressor(estimator, bias=bias).fit(X, y)
    for certs in (model.certify(tests), model.certify_coefficients()):
        question = certs.source
        budget = model.fitted_.engine.bias.budget
        bounds = question.case.answer(budget).bounds
        assert np.isfinite(bounds.error).all()
        for at, row in question.case.exactly(np.arange(len(question.case.rows))):
            up, down = row.reach(budget)
            assert Fraction(bounds.inner_up[at]) <= up <= Fraction(bounds.outer_up[at])
            assert Fraction(bounds.inner_down[at]) <= down <= Fraction(bounds.outer_down[at])
            off = abs(Fraction(float(question.scores.value[at])) - row.score)
            assert off <= Fraction(float(question.scores.error[at]))


def test_boxes_and_sandwiches_bound_what_selection_finds():
    model = regressor(GradientDescentRegressor(20), radius=0.5).fit(X, Y)
    exact = model.certify(TESTS)
    for method in ("box", "sandwich", "auto"):
        found = model.certify(TESTS, method=method)
        assert (found.low <= exact.low + 1e-12).all()
        assert (found.high >= exact.high - 1e-12).all()
        decided = found.verdict != Verdict.UNDECIDED
        assert (found.verdict == exact.verdict)[decided].all()


def test_coefficients_are_certified():
    model = regressor(GradientDescentRegressor(30)).fit(X, Y)
    certs = model.certify_coefficients()
    own = GradientDescentRegressor(30).fit(X, Y)
    np.testing.assert_allclose(certs.score, own.coef_, rtol=1e-9)
    np.testing.assert_allclose(own.predict(TESTS), TESTS @ own.coef_ + own.intercept_)
    refits = np.array([GradientDescentRegressor(30).fit(X, Y + step).coef_ for step in np.eye(30)])
    moved = np.sort(np.abs(refits - own.coef_), axis=0)[-2:].sum(axis=0)
    np.testing.assert_allclose(certs.high - certs.score, moved, rtol=1e-9)


def test_many_steps_lead_to_least_squares():
    model = regressor(GradientDescentRegressor(200_000)).fit(X, Y)
    plain = regressor(LinearRegression()).fit(X, Y).certify(TESTS)
    np.testing.assert_allclose(model.certify(TESTS).low, plain.low, rtol=1e-6)


def test_more_features_than_rows_are_certified():
    wide = np.random.default_rng(6).normal(size=(6, 20))
    estimator = GradientDescentRegressor(10)
    certs = regressor(estimator).fit(wide, Y[:6]).certify(wide)
    np.testing.assert_allclose(certs.score, estimator.fit(wide, Y[:6]).predict(wide), rtol=1e-9)


def test_files_folds_groups_all_rows_at_once_and_classes(tmp_path):
    steps = make_pipeline(StandardScaler(), GradientDescentRegressor(20))
    model = regressor(steps).fit(X, Y)
    certs = model.certify(TESTS, resolve="exact")
    certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    command = [sys.executable, "-m", "unswayed", "verify", "c.json", "--data", "c.npz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "5 claims proven, 0 rejected" in done.stdout
    with pytest.raises(InputError, match="says nothing of coefficients"):
        model.certify_coefficients().save(tmp_path / "d.json")
    assert certs.by_group([0, 0, 1, 1, 1]).rate.shape == (2,)
    assert model.certify_together(TESTS, time_limit=0).at_most <= 5
    assert len(cross_certify(model, X, Y, cv=3)) == 30
    for threshold in (None, "balanced"):
        classes = CertifiedClassifier(
            steps, bias=LabelBias.flips(budget=1), threshold=threshold
        ).fit(X, Y.mean() < Y)
        assert (classes.certify(TESTS).prediction == classes.predict(TESTS)).all()


def test_steps_are_a_trade_off_as_alpha_is():
    y = np.where(np.median(Y) < Y, "yes", "no")
    model = CertifiedClassifier(GradientDescentRegressor(), bias=LabelBias.flips(budget=2))
    display = TradeoffDisplay.from_estimator(
        model,
        X,
        y,
        X_test=X,
        y_test=y,
        param_name="estimator__steps",
        param_range=[1, 10, 1000],
        budgets=[2],
    )
    (rates,) = display.rates.values()
    expected = [
        clone(model).set_params(estimator__steps=steps).fit(X, y).certify(X).robustness_rate
        for steps in (1, 10, 1000)
    ]
    np.testing.assert_allclose(rates, expected)


def test_labels_that_are_all_alike_and_features_that_never_vary_are_certified():
    still = np.ones((5, 2))
    certs = regressor(GradientDescentRegressor(5)).fit(still, np.ones(5)).certify(still)
    np.testing.assert_allclose(certs.high, 1.4)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, "many", None])
def test_a_number_of_steps_that_is_none_is_refused(steps):
    with pytest.raises(InputError, match="steps must be a whole number, 1 or more"):
        regressor(GradientDescentRegressor(steps)).fit(X, Y)


@pytest.mark.parametrize("size", [0, -1.0, np.inf, np.nan, True, "large", None])
def test_a_step_size_that_is_none_is_refused(size):
    with pytest.raises(InputError, match="step_size must be 'auto' or a positive number"):
        GradientDescentRegressor(step_size=size).fit(X, Y)


def test_steps_that_lead_nowhere_are_refused():
    with pytest.raises(InputError, match="lead beyond all numbers"):
        GradientDescentRegressor(10_000, step_size=100.0).fit(X, Y)
