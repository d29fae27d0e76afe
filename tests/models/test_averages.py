"""Averages, scaled labels and Gaussian processes against refits of the estimators themselves."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomTreesEmbedding,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from tests.effort import some
from tests.naive import corners
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelPeekError,
    NotLinearError,
    Verdict,
    cross_certify,
)

RNG = np.random.default_rng(8)
X = RNG.normal(size=(12, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=12) + 5
TESTS = RNG.normal(size=(4, 3))
LABELS = np.where(X[:, 0] + RNG.normal(size=12) / 2 > 0, "yes", "no")


def scaled(inside, scaler):
    return TransformedTargetRegressor(inside, transformer=scaler)


NUMBERS = {
    "bag": BaggingRegressor(Ridge(), n_estimators=5, random_state=0),
    "bag-of-columns": BaggingRegressor(
        Ridge(alpha=0.5), n_estimators=4, max_features=2, max_samples=8, random_state=1
    ),
    "bag-of-neighbours": BaggingRegressor(KNeighborsRegressor(2), n_estimators=3, random_state=2),
    "bag-of-kernels": BaggingRegressor(
        KernelRidge(kernel="rbf"), n_estimators=3, bootstrap_features=True, random_state=3
    ),
    "voting": VotingRegressor(
        [("a", Ridge()), ("b", KNeighborsRegressor(3)), ("c", KernelRidge()), ("d", "drop")],
        weights=[1.0, 0.3, 2.0, 7.0],
    ),
    "voting-over-bags": VotingRegressor(
        [("a", BaggingRegressor(Ridge(), n_estimators=2, random_state=0)), ("b", Ridge())]
    ),
    "voting-alike": VotingRegressor([("a", Ridge()), ("b", LinearRegression())]),
    "same": TransformedTargetRegressor(Ridge()),
    "standard": scaled(Ridge(), StandardScaler()),
    "standard-through-0": scaled(Ridge(fit_intercept=False), StandardScaler()),
    "standard-kernel": scaled(KernelRidge(kernel="rbf"), StandardScaler()),
    "min-max": scaled(LinearRegression(), MinMaxScaler()),
    "min-max-neighbours": scaled(KNeighborsRegressor(3), MinMaxScaler()),
    "max-abs-through-0": scaled(Ridge(fit_intercept=False), MaxAbsScaler()),
    "robust": scaled(Ridge(alpha=3), RobustScaler()),
    "process": GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None),
    "process-by-itself": GaussianProcessRegressor(alpha=0.1, optimizer=None),
    "process-noise": GaussianProcessRegressor(
        RBF(2.0) + WhiteKernel(0.2), alpha=np.linspace(0.1, 1, 12), optimizer=None
    ),
    "process-scaled": GaussianProcessRegressor(
        RBF(2.0), alpha=0.1, optimizer=None, normalize_y=True
    ),
}


def regressor(estimator, radius=0.3, budget=2):
    bias = LabelBias.shifts(1, budget=budget)
    return CertifiedRegressor(estimator, bias=bias, radius=radius)


@pytest.mark.parametrize("estimator", NUMBERS.values(), ids=NUMBERS)
def test_ranges_and_verdicts_are_those_of_all_refits(estimator):
    ones, budget = np.ones(12), some(1, 2)
    refits = np.array(
        [
            clone(estimator).fit(X, labels).predict(TESTS)
            for labels in corners(Y, -ones, ones, budget)
        ]
    )
    model = regressor(estimator, budget=budget).fit(X, Y)
    certs = model.certify(TESTS)
    np.testing.assert_allclose(certs.score, refits[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict(TESTS), refits[0], rtol=1e-12)
    assert (certs.error < 1e-9).all()
    np.testing.assert_allclose(certs.low, refits.min(axis=0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(certs.high, refits.max(axis=0), rtol=0, atol=1e-8)
    far = np.abs(refits - refits[0]).max(axis=0)
    assert (certs.verdict == np.where(far > 0.3, Verdict.NOT_ROBUST, Verdict.ROBUST)).all()
    for row in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST).tolist():
        witness, labels = certs.witness(row), Y.copy()
        labels[witness.indices] = witness.labels
        again = clone(estimator).fit(X, labels).predict(TESTS[row : row + 1])[0]
        assert abs(again - refits[0][row]) > 0.3


@pytest.mark.parametrize("estimator", NUMBERS.values(), ids=NUMBERS)
def test_rational_arithmetic_says_the_same_within_the_error(estimator):
    model = regressor(estimator).fit(X, Y)
    question = model.certify(TESTS).source
    exact = [float(score) for score in question.exact_scores()]
    scores = question.scores
    assert (np.abs(scores.value - exact)[np.argsort(question.group)] <= scores.error + 1e-15).all()
    rows = question.selection.exactly(np.arange(len(TESTS)))
    bounds = question.case.answer(model.fitted_.engine.bias.budget).bounds
    for at, row in rows:
        up, down = map(float, row.reach(model.fitted_.engine.bias.budget))
        assert bounds.inner_up[at] <= up <= bounds.outer_up[at]
        assert bounds.inner_down[at] <= down <= bounds.outer_down[at]


@pytest.mark.parametrize("name", ["bag", "voting", "standard-through-0", "process", "standard"])
def test_files_folds_groups_and_all_rows_at_once(name, tmp_path):
    model = regressor(NUMBERS[name]).fit(X, Y)
    certs = model.certify(TESTS, resolve="exact")
    certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    command = [sys.executable, "-m", "unswayed", "verify", "c.json", "--data", "c.npz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "4 claims proven, 0 rejected" in done.stdout
    assert certs.by_group([0, 0, 1, 1]).rate.shape == (2,)
    together = model.certify_together(TESTS, time_limit=0)
    assert together.at_most <= (certs.verdict == Verdict.NOT_ROBUST).sum()
    if name != "process":
        assert len(cross_certify(model, X, Y, cv=2)) == 12
    classes = CertifiedClassifier(NUMBERS[name], bias=LabelBias.flips(budget=1), threshold=0.4)
    assert len(classes.fit(X, LABELS).certify(TESTS)) == 4


def test_coefficients_of_scaled_labels_are_in_the_unit_of_the_labels():
    plain = regressor(Ridge()).fit(X, Y).certify_coefficients()
    found = regressor(scaled(Ridge(), StandardScaler())).fit(X, Y).certify_coefficients()
    np.testing.assert_allclose(found.low, plain.low, rtol=1e-12)


def test_a_bag_of_neighbours_votes_by_shares():
    bag = BaggingClassifier(KNeighborsClassifier(2), n_estimators=5, random_state=4)
    model = CertifiedClassifier(bag, bias=LabelBias.flips(budget=1)).fit(X, LABELS)
    certs = model.certify(TESTS)
    own = clone(bag).fit(X, LABELS)
    share = own.predict_proba(TESTS)
    np.testing.assert_allclose(certs.score, share[:, 1] - share[:, 0], rtol=0, atol=1e-9)
    clear = np.abs(certs.score) > 1e-9
    assert (certs.prediction == own.predict(TESTS))[clear].all()
    flipped = [
        np.where(np.arange(12) == i, (LABELS == "no") ^ 0, LABELS == "yes") for i in range(12)
    ]
    other = np.array([np.where(each, "yes", "no") for each in flipped])
    refits = np.array([clone(bag).fit(X, y).predict(TESTS) for y in other])
    for row in np.flatnonzero(clear):
        if certs.verdict[row] == Verdict.ROBUST:
            assert (refits[:, row] == certs.prediction[row]).all()
        elif certs.verdict[row] == Verdict.NOT_ROBUST:
            assert (refits[:, row] != certs.prediction[row]).any()


@pytest.mark.parametrize("name", ["voting", "standard", "bag"])
def test_weights_of_rows_are_refused(name):
    weight = np.array([1.0, 2.0, 0.5, 0.0] * 3)
    with pytest.raises(InputError, match=r"takes no sample_weight|draws its bags by sample_weight"):
        regressor(NUMBERS[name]).fit(X, Y, sample_weight=weight)


REFUSED = {
    "trees": (BaggingRegressor(random_state=0), NotLinearError, "without an estimator is one of"),
    "no-seed": (BaggingRegressor(Ridge()), InputError, "pass a whole number as random_state"),
    "steps": (
        BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), random_state=0),
        InputError,
        "put the steps before it",
    ),
    "search": (
        VotingRegressor([("a", LogisticRegression())]),
        NotLinearError,
        "linear in their labels, and LogisticRegression is not",
    ),
    "function": (
        TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
        LabelPeekError,
        "transforms the labels by a function",
    ),
    "power": (scaled(Ridge(), PowerTransformer()), LabelPeekError, "by PowerTransformer before"),
    "clipped": (scaled(Ridge(), MinMaxScaler(clip=True)), LabelPeekError, "by MinMaxScaler"),
    "no-intercept": (
        scaled(Ridge(fit_intercept=False), MinMaxScaler()),
        NotLinearError,
        "pass fit_intercept=True, or StandardScaler",
    ),
    "default-kernel": (
        GaussianProcessRegressor(),
        LabelPeekError,
        "chooses the parameters of its kernel by the labels",
    ),
    "chosen-kernel": (
        GaussianProcessRegressor(RBF(1.0)),
        LabelPeekError,
        "pass that kernel with optimizer=None",
    ),
    "outputs": (MultiOutputRegressor(Ridge()), NotLinearError, "fit one CertifiedRegressor"),
}


@pytest.mark.parametrize(("estimator", "error", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_linear_is_refused_with_the_reason(estimator, error, why):
    with pytest.raises(error, match=why):
        regressor(estimator).fit(X, Y)


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (BaggingClassifier(RidgeClassifier(), random_state=0), "counts the votes of its members"),
        (BaggingClassifier(LogisticRegression(), random_state=0), "LogisticRegression is not"),
        (ExtraTreesClassifier(), "grows trees, and where they split"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_votes_and_trees_are_refused_with_the_reason(estimator, why):
    with pytest.raises(NotLinearError, match=why):
        CertifiedClassifier(estimator, bias=LabelBias.flips(budget=1)).fit(X, LABELS)


def test_sparse_rows_are_averaged_too():
    bag = BaggingRegressor(Ridge(tol=1e-14), n_estimators=3, random_state=0)
    thin = regressor(bag).fit(sparse.csr_array(X), Y).certify(sparse.csr_array(TESTS))
    np.testing.assert_allclose(thin.low, regressor(bag).fit(X, Y).certify(TESTS).low, rtol=1e-9)


def test_trees_that_never_see_the_labels_are_accepted():
    steps = make_pipeline(RandomTreesEmbedding(5, random_state=0), Ridge(tol=1e-14))
    assert len(regressor(steps).fit(X, Y).certify(TESTS)) == 4
