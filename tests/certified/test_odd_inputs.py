"""Inputs that other libraries let through: masks, NaT, complex numbers, exact types, settings."""

import copy
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LinearSmoother,
    UnswayedError,
    prediction_range,
    robustness_curve,
)
from unswayed.labels.budgets import Count, count_budget
from unswayed.margins.decisions import Radius, Sign, Threshold

RNG = np.random.default_rng(2)
X = RNG.normal(size=(40, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + RNG.normal(size=40)
Y = NUMBERS > 0
TESTS = RNG.normal(size=(9, 3))
FLIPS, SHIFTS = LabelBias.flips(budget=3), LabelBias.shifts(1, budget=3)
HUGE = 10**400


def classifier(estimator=None):
    return CertifiedClassifier(estimator or Ridge(), bias=FLIPS)


def regressor(estimator=None, radius=0.5):
    return CertifiedRegressor(estimator or Ridge(), bias=SHIFTS, radius=radius)


# --- rows are the caller's ------------------------------------------------------------------


def log_in_place(rows):
    return np.log1p(np.abs(rows), out=rows)


class ScalesInPlace(TransformerMixin, BaseEstimator):
    def fit(self, rows, labels=None):
        self.n_features_in_ = rows.shape[1]
        return self

    def transform(self, rows):
        rows *= 2.0
        return rows


IN_PLACE = {
    "ridge": Ridge(copy_X=False),
    "scaler": make_pipeline(StandardScaler(copy=False), Ridge()),
    "function": make_pipeline(FunctionTransformer(log_in_place), Ridge()),
    "stranger": make_pipeline(ScalesInPlace(), Ridge()),
    "nested": make_pipeline(make_pipeline(StandardScaler(copy=False)), Ridge()),
}


@pytest.mark.parametrize("estimator", IN_PLACE.values(), ids=IN_PLACE)
@pytest.mark.parametrize("wrap", [classifier, regressor])
def test_no_call_writes_into_the_rows_it_is_given(estimator, wrap):
    mine, tests = X + 3, TESTS + 3
    model = wrap(estimator).fit(mine, Y if wrap is classifier else NUMBERS)
    first = model.predict(tests)
    np.testing.assert_array_equal(model.predict(tests), first)
    model.certify(tests)
    model.minimum_budget(tests)
    if wrap is classifier:
        model.decision_function(tests)
    np.testing.assert_array_equal(mine, X + 3)
    np.testing.assert_array_equal(tests, TESTS + 3)


def test_a_mask_that_is_computed_gets_copies():
    rows, labels = pd.DataFrame(X, columns=list("abc")), Y.copy()

    def where(features, given):
        features.iloc[:, :] = 0.0
        given[:] = True
        return np.ones(40, dtype=bool)

    before = rows.copy()
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3, where=where))
    certs = model.fit(rows, labels).certify(rows)
    pd.testing.assert_frame_equal(rows, before)
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(certs.score, classifier().fit(rows, Y).certify(rows).score)


# --- labels that are none -------------------------------------------------------------------

DAYS = np.where(Y, "2020-01-01", "2021-01-01").astype("datetime64[D]")


def with_a_gap(values):
    values = values.copy()
    values[3] = "NaT"
    return values


GAPS = {
    "days": with_a_gap(DAYS),
    "hours": with_a_gap(np.where(Y, 1, 2).astype("timedelta64[h]")),
    "pandas": pd.Series(with_a_gap(DAYS)),
    "objects": np.array([pd.NaT, *DAYS[1:].tolist()], dtype=object),
}


@pytest.mark.parametrize("labels", GAPS.values(), ids=GAPS)
def test_labels_that_are_no_time_are_missing(labels):
    with pytest.raises(InputError, match=r"first at row"):
        classifier().fit(X, labels)


def test_two_days_are_two_classes():
    certs = classifier().fit(X, DAYS).certify(TESTS)
    own = classifier().fit(X, ~Y).certify(TESTS)
    np.testing.assert_array_equal(certs.score, own.score)


MASKED = np.ma.masked_array(X, mask=np.zeros_like(X, dtype=bool))
MASKED_ONE = np.ma.masked_array(NUMBERS, mask=np.arange(40) == 3)
REFUSED = {
    "rows": lambda: regressor().fit(MASKED, NUMBERS),
    "labels": lambda: regressor().fit(X, MASKED_ONE),
    "classes": lambda: classifier().fit(X, np.ma.masked_array(Y, mask=np.arange(40) == 3)),
    "weights": lambda: regressor().fit(X, NUMBERS, sample_weight=np.ma.abs(MASKED_ONE)),
    "tests": lambda: regressor().fit(X, NUMBERS).certify(MASKED[:3]),
    "predict": lambda: regressor().fit(X, NUMBERS).predict(MASKED[:3]),
    "pipeline": lambda: regressor(make_pipeline(StandardScaler(), Ridge())).fit(MASKED, NUMBERS),
    "where": lambda: CertifiedRegressor(
        Ridge(), bias=LabelBias.shifts(1, budget=1, where=np.ma.masked_array(Y, mask=Y)), radius=1
    ).fit(X, NUMBERS),
    "intervals": lambda: LabelBias.intervals(-np.ma.abs(MASKED_ONE), 1.0, budget=1),
    "groups": lambda: regressor().fit(X, NUMBERS).certify(X).by_group(np.ma.masked_array(Y, Y)),
    "range": lambda: prediction_range(MASKED_ONE, NUMBERS, SHIFTS),
    "range-labels": lambda: prediction_range(NUMBERS, MASKED_ONE, SHIFTS),
    "curve": lambda: robustness_curve(np.ma.abs(MASKED_ONE)),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_masked_arrays_are_refused(ask):
    with pytest.raises(UnswayedError, match="masked array"):
        ask()


COMPLEX = {
    "rows": lambda: regressor().fit(X + 1j, NUMBERS),
    "labels": lambda: regressor().fit(X, NUMBERS + 1j),
    "objects": lambda: regressor().fit(X, (NUMBERS + 1j).astype(object)),
    "classes": lambda: classifier().fit(X, np.where(Y, 1j, 0)),
    "weights": lambda: regressor().fit(X, NUMBERS, sample_weight=np.abs(NUMBERS) + 1j),
    "tests": lambda: regressor().fit(X, NUMBERS).certify(TESTS + 1j),
    "behind": lambda: regressor(make_pipeline(FunctionTransformer(), Ridge())).fit(X + 1j, NUMBERS),
    "intervals": lambda: LabelBias.intervals(np.full(40, -1j), 1.0, budget=1),
    "amount": lambda: LabelBias.shifts(1j, budget=1),
    "numpy-amount": lambda: LabelBias.shifts(np.complex128(1j), budget=1),
    "budget": lambda: LabelBias.flips(budget=1j),
    "radius": lambda: regressor(radius=1j).fit(X, NUMBERS),
    "range": lambda: prediction_range(NUMBERS + 1j, NUMBERS, SHIFTS),
    "curve": lambda: robustness_curve(NUMBERS + 1j),
    "mask": lambda: CertifiedClassifier(
        Ridge(), bias=LabelBias.flips(budget=1, where=np.ones(40, dtype=complex))
    ).fit(X, Y),
}


@pytest.mark.parametrize("ask", COMPLEX.values(), ids=COMPLEX)
def test_complex_numbers_are_refused(ask):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"(?i)complex|1j"):
            ask()


# --- numbers as they are meant --------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "n_rows", "count"),
    [
        (Fraction(1, 3), 3, 1),
        (Fraction(1, 3), 10**15, 333_333_333_333_333),
        (Decimal("0.29"), 100, 29),
        (np.float32(0.29), 100, 29),
        (np.float16(0.1), 10, 1),
        (np.float64(0.29), 100, 29),
        (Fraction(0), 5, 0),
        (np.longdouble("0.1"), 10, 1),
        (np.int8(3), 100, 3),
        (Decimal(0), 5, 0),
    ],
    ids=str,
)
def test_a_share_is_what_it_was_written_as(share, n_rows, count):
    assert count_budget(share, n_rows) == count
    resolved = LabelBias.flips(budget=share).resolve(np.arange(200) % 2)
    assert resolved.budget.amount == count_budget(share, 200)


@pytest.mark.parametrize(
    "budget",
    [
        *(Fraction(4, 3), Fraction(3), Fraction(-1, 3), np.float32("nan"), np.longdouble(2), 3.0),
        *map(Decimal, ("3", "NaN", "sNaN", "Infinity", "-0.1")),
    ],
    ids=str,
)
def test_what_is_neither_a_count_nor_a_share_is_refused(budget):
    with pytest.raises(BiasError, match="budget"):
        LabelBias.flips(budget=budget)


@pytest.mark.parametrize("radius", [HUGE, Fraction(1, 3), 2**53 + 1, -HUGE, np.longdouble("0.1")])
def test_a_radius_that_no_double_holds_is_refused(radius):
    with pytest.raises(InputError, match="radius"):
        regressor(radius=radius).fit(X, NUMBERS)


def test_a_radius_of_another_exact_type_counts_as_it_is():
    for radius in (Fraction(1, 2), np.float32(0.5), 1):
        certs = regressor(radius=radius).fit(X, NUMBERS).certify(TESTS)
        own = regressor(radius=float(radius)).fit(X, NUMBERS).certify(TESTS)
        assert (certs.verdict == own.verdict).all()


BEYOND = {
    "shift": lambda: LabelBias.shifts(HUGE, budget=1),
    "shifts": lambda: LabelBias.shifts((-1, HUGE), budget=1),
    "intervals": lambda: LabelBias.intervals([-HUGE], [1], budget=1),
    "labels": lambda: regressor().fit(X, [HUGE, *NUMBERS[1:].tolist()]),
    "weights": lambda: regressor().fit(X, NUMBERS, sample_weight=[HUGE] * 40),
    "alpha": lambda: regressor(Ridge(alpha=HUGE)).fit(X, NUMBERS),
    "rows": lambda: regressor().fit([[HUGE] * 3] * 40, NUMBERS),
    "range": lambda: prediction_range([HUGE], [1], SHIFTS),
    "curve": lambda: robustness_curve([HUGE]),
}


@pytest.mark.parametrize("ask", BEYOND.values(), ids=BEYOND)
def test_numbers_beyond_all_doubles_are_refused_in_words(ask):
    with pytest.raises(ValueError, match=r"(?i)infinit|too large|no double|finite|beyond"):
        ask()


# --- settings of others ---------------------------------------------------------------------

MODELS = {
    "ridge": Ridge(),
    "least-squares": LinearRegression(),
    "kernel": KernelRidge(kernel="rbf", gamma=200.0),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
}


@pytest.mark.parametrize("estimator", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e150])
@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")  # its own, of an overflow
@pytest.mark.filterwarnings("ignore::RuntimeWarning:numpy")
@pytest.mark.filterwarnings("ignore:Singular matrix:UserWarning")
def test_floating_point_errors_that_raise_change_nothing(estimator, scale):
    labels = NUMBERS * scale
    bias = LabelBias.shifts(scale, budget=3)

    def ask():
        model = CertifiedRegressor(estimator, bias=bias, radius=scale / 2).fit(X * scale, labels)
        certs = model.certify(TESTS * scale, resolve="exact")
        found = [certs.low, certs.high, model.minimum_budget(TESTS * scale)]
        if not isinstance(estimator, KernelRidge):
            found += [model.certify_coefficients().low, model.parameter_box().low]
            found += [model.certify(TESTS * scale, method="sandwich").low]
        return [*found, certs.witness(0) and certs.witness(0).labels]

    expected = ask()
    with np.errstate(all="raise"):
        found = ask()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_single_influence_row_is_answered_under_floating_point_errors_that_raise():
    with np.errstate(all="raise"):
        assert prediction_range([1e-300, 2], [1e-300, 4], SHIFTS)


@pytest.mark.parametrize(
    "estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())], ids=["bare", "pipeline"]
)
def test_sample_weights_are_routed_as_scikit_learn_routes_them(estimator):
    weight = RNG.random(40)
    expected = regressor(estimator).fit(X, NUMBERS, sample_weight=weight).certify(TESTS)
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor(estimator).fit(X, NUMBERS, sample_weight=weight)
        np.testing.assert_array_equal(model.certify(TESTS).low, expected.low)
        routed = regressor(estimator).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=False)
        found = cross_validate(
            routed, X, NUMBERS, params={"sample_weight": weight}, cv=3, return_estimator=True
        )
    direct = cross_validate(
        regressor(estimator), X, NUMBERS, params={"sample_weight": weight}, cv=3,
        return_estimator=True,
    )  # fmt: skip
    for ours, theirs in zip(found["estimator"], direct["estimator"], strict=True):
        np.testing.assert_array_equal(ours.certify(TESTS).low, theirs.certify(TESTS).low)


def test_a_step_that_asks_for_weights_by_routing_is_refused():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        model = regressor(make_pipeline(scaler, Ridge()))
        assert model.fit(X, NUMBERS)
        with pytest.raises(InputError, match="requests sample_weight by metadata routing"):
            model.fit(X, NUMBERS, sample_weight=RNG.random(40))


@pytest.mark.parametrize("labels", [0.05, 1.5, -1, float("nan"), "a", None, True, Fraction(1, 2)])
def test_a_count_is_a_whole_number_of_labels(labels):
    with pytest.raises(BiasError, match="Count takes a number of labels"):
        Count(labels)


def test_a_count_beyond_all_labels_is_one_of_all_labels():
    model = classifier().fit(X, Y)
    every = model.certify(TESTS, budget=40)
    for many in (2**70, HUGE):
        assert model.certify(TESTS, budget=Count(many)).verdict.tolist() == every.verdict.tolist()


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), HUGE, Fraction(1, 3), "a", None])
def test_a_decision_takes_doubles_only(value):
    with pytest.raises(InputError, match="radius"):
        Radius(value)
    if value != -1:
        with pytest.raises(InputError, match="threshold"):
            Threshold(value)


@pytest.mark.parametrize("decision", ["sign", 0.3, Sign])
def test_what_is_no_decision_is_refused(decision):
    with pytest.raises(InputError, match="decision must be a Decision"):
        classifier().fit(X, Y).certify(TESTS, decision=decision)


def reused():
    buffer = np.empty((500, 40))

    def influence(training, rows):
        out = buffer[: len(rows)]
        np.matmul(rows, training.T, out=out)
        out /= 20
        return out

    return influence


def written_into(training, rows):
    rows -= training.mean(axis=0)
    training *= 2.0
    return rows @ training.T / 20


def test_a_function_that_uses_its_array_again_changes_no_certificate():
    model = classifier(LinearSmoother(reused())).fit(X, Y)
    expected = classifier(LinearSmoother(lambda a, b: b @ a.T / 20)).fit(X, Y)
    certs = model.certify(TESTS)
    model.predict(TESTS[::-1] * 3)
    np.testing.assert_array_equal(certs.minimum_budget, expected.minimum_budget(TESTS))


def test_a_function_that_writes_into_its_rows_changes_nobodys():
    mine, tests = X.copy(), TESTS + 3
    model = classifier(LinearSmoother(written_into)).fit(mine, Y)
    np.testing.assert_array_equal(model.predict(tests), model.predict(tests))
    model.certify(tests)
    np.testing.assert_array_equal(mine, X)
    np.testing.assert_array_equal(tests, TESTS + 3)


def with_duplicates(seed, n_rows):
    """CSR rows in which a column may stand twice: its entries add up."""
    rng = np.random.default_rng(seed)
    start = np.arange(0, 5 * n_rows + 1, 5)
    data = rng.integers(-2, 3, 5 * n_rows).astype(float)
    return sparse.csr_array((data, rng.integers(0, 6, 5 * n_rows), start), shape=(n_rows, 6))


def test_a_kernel_of_rows_that_are_not_canonical_is_the_one_that_is_certified():
    labels = np.random.default_rng(0).integers(0, 2, 30)
    model = classifier(KernelRidge(kernel="rbf", gamma=0.1)).fit(with_duplicates(0, 30), labels)
    tests = with_duplicates(100, 100)
    assert (model.predict(tests) == model.certify(tests).prediction).all()


@pytest.mark.parametrize("make", [sparse.dia_array, sparse.coo_array, sparse.bsr_array])
def test_rows_in_any_sparse_format_are_taken(make):
    rows = sparse.csr_array(np.round(X))
    model = regressor(make_pipeline(Ridge(tol=1e-12))).fit(make(rows), NUMBERS)
    own = regressor(Ridge(tol=1e-12)).fit(rows, NUMBERS).certify(rows)
    np.testing.assert_array_equal(model.certify(make(rows)).low, own.low)


def test_dates_are_no_features():
    with pytest.raises(InputError, match="dates or durations"):
        regressor().fit(np.zeros((40, 2), dtype="datetime64[D]"), NUMBERS)


def test_a_shallow_copy_of_certificates_still_has_witnesses():
    certs = classifier().fit(X, Y).certify(TESTS, budget=20)
    row = int(np.flatnonzero(~certs.robust)[0])
    assert len(copy.copy(certs).witness(row)) == len(certs.witness(row))
