"""Contrasts: linear combinations of coefficients, certified as one number each."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from tests import naive
from tests.effort import examples
from tests.strategies import problems
from unswayed import CertifiedRegressor, InputError, LabelBias, Verdict

slow = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
CLEAR = 1e-7


def fitted(p, X=None):
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget)
    penalised = Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept)
    estimator = penalised if p.alpha else LinearRegression(fit_intercept=p.fit_intercept)
    model = CertifiedRegressor(estimator, bias=bias, radius=1.0, trust="sample_weight")
    return model.fit(p.X if X is None else X, p.y, sample_weight=p.sample_weight)


def true_range(p, contrasts):
    """Lowest and highest value of each contrast over all refits: differences of two scores."""
    zero = np.zeros((1, p.X.shape[1]))
    moved = list(naive.corners(p.y, p.lower, p.upper, p.budget))
    rows = np.vstack((contrasts, zero))
    scores = naive.refit_scores(p.X, moved, rows, **p.model)
    values = scores[:, :-1] - scores[:, -1:]
    return values.min(axis=0), values.max(axis=0)


def drawn(data, width):
    number = st.sampled_from([-2.0, -1.0, -1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 3.0])
    rows = st.lists(st.lists(number, min_size=width, max_size=width).filter(any), min_size=1)
    return np.array(data.draw(rows))


@slow
@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
@given(problems(alphas=(0.5, 7.0)), st.data())
def test_the_range_of_a_contrast_is_that_of_all_refits(p, data):
    contrasts = drawn(data, p.X.shape[1])
    certs = fitted(p).certify_coefficients(contrasts=contrasts)
    low, high = true_range(p, contrasts)
    np.testing.assert_allclose(certs.low, low, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(certs.high, high, rtol=1e-9, atol=1e-9)
    robust, lost = certs.verdict == Verdict.ROBUST, certs.verdict == Verdict.NOT_ROBUST
    away = (low > CLEAR) | (high < -CLEAR)
    assert (robust | ~away).all()
    assert not (lost & away).any()


@slow
@pytest.mark.filterwarnings("ignore::unswayed.SolverPrecisionWarning")
@given(problems(max_rows=5, alphas=(0.0, 1.0)), st.data())
def test_rational_arithmetic_decides_every_contrast_and_agrees_with_all_refits(p, data):
    contrasts = drawn(data, p.X.shape[1])
    certs = fitted(p).certify_coefficients(contrasts=contrasts, resolve="exact")
    low, high = true_range(p, contrasts)
    assert not (certs.verdict == Verdict.UNDECIDED).any()
    np.testing.assert_allclose(certs.low, low, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(certs.high, high, rtol=1e-8, atol=1e-8)


@slow
@given(problems(alphas=(0.5, 7.0)))
def test_contrasts_of_one_coefficient_each_are_the_coefficients(p):
    model = fitted(p)
    single, units = model.certify_coefficients(), np.eye(p.X.shape[1])
    for contrasts in (units, sparse.csr_array(units)):
        certs = model.certify_coefficients(contrasts=contrasts)
        for name in ("score", "low", "high"):  # last bits depend on the batch
            off = np.abs(getattr(certs, name) - getattr(single, name))
            assert (off <= single.error + certs.error).all()
        decided = (certs.verdict != Verdict.UNDECIDED) & (single.verdict != Verdict.UNDECIDED)
        assert (certs.verdict == single.verdict)[decided].all()
        assert certs.names == single.names


RNG = np.random.default_rng(5)
LEVEL = RNG.integers(0, 3, 40)
X = np.hstack((np.eye(3)[LEVEL], RNG.normal(size=(40, 1))))
Y = X @ [1.0, 2.0, 4.0, -1.0] + 0.1 * RNG.normal(size=40)
NAMES = ["a", "b", "c", "age"]


def of_levels(estimator, budget=3):
    pd = pytest.importorskip("pandas")
    bias = LabelBias.shifts(1.0, budget=budget)
    return CertifiedRegressor(estimator, bias=bias, radius=1.0).fit(
        pd.DataFrame(X, columns=NAMES), Y
    )


def test_a_contrast_is_narrower_than_what_two_coefficients_suggest():
    model = of_levels(Ridge())
    single = model.certify_coefficients()
    (low, high), names = (single.low, single.high), ("c - a",)
    certs = model.certify_coefficients(contrasts={"c - a": {"c": 1, "a": -1}})
    assert certs.names == names
    assert low[2] - high[0] < certs.low[0] < certs.high[0] < high[2] - low[0]


def test_a_contrast_has_the_same_verdict_alone_and_among_others():
    model, rows = of_levels(Ridge()), RNG.normal(size=(60, 4))
    # Ties: the sum of all level coefficients of a penalised block is 0, whatever the labels are.
    rows[::3] = [1, 1, 1, 0]
    together = model.certify_coefficients(contrasts=rows)
    for at in range(len(rows)):
        alone = model.certify_coefficients(contrasts=rows[[at]])
        assert alone.verdict[0] == together.verdict[at]


def test_a_witness_of_a_contrast_makes_it_change_its_sign_when_refitted():
    model = of_levels(Ridge(), budget=40)
    certs = model.certify_coefficients(contrasts={"b over a": {"b": 1, "a": -1}})
    witness = certs.witness(0)
    changed = Y.copy()
    changed[witness.indices] = witness.labels
    assert len(witness) == certs.minimum_budget[0]
    coef = Ridge().fit(X, changed).coef_
    assert certs.score[0] > 0 >= coef[1] - coef[0]
    assert abs(coef[1] - coef[0] - witness.score) < 1e-9


def test_contrasts_of_levels_are_those_of_treatment_coding_in_least_squares():
    certs = of_levels(LinearRegression()).certify_coefficients(
        contrasts={"b": {"b": 1, "a": -1}, "c": {"c": 1, "a": -1}}
    )
    treatment = LinearRegression().fit(X[:, 1:], Y).coef_
    np.testing.assert_allclose(certs.score, treatment[:2], rtol=1e-9)
    assert (certs.verdict == Verdict.ROBUST).all()


def test_contrasts_in_a_matrix_are_named_by_their_terms():
    rows = [[0, -1, 1, 0], [0, 0, 0, -2], [1, 1, 1, 1]]
    names = of_levels(Ridge()).certify_coefficients(contrasts=rows).names
    assert names == ("c - b", "-2 age", "a + b + c + age")


@pytest.mark.parametrize(
    ("contrasts", "said"),
    [
        ({"c": {"agee": 1}}, "there is no feature 'agee'; did you mean 'age'?"),
        ({"c": {"a": "x"}}, "pass a number"),
        ({"c": 1}, "pass {"),
        ({"c": {"a": 0}}, "counts no coefficient"),
        ({}, "no contrasts"),
        ([[1, -1]], "there are 4 coefficients"),
        ([1, -1, 0, 0], "there are 4 coefficients"),
        ([[1, np.nan, 0, 0]], "not finite"),
        ([[1, np.inf, 0, 0]], "not finite"),
        ([[1, 5e-324, 0, 3e-320]], "too large or small"),
        ([["a", "b", "c", "d"]], "must hold numbers"),
    ],
)
def test_contrasts_that_make_no_sense_are_refused(contrasts, said):
    X_scaled = X * [1, 1e-3, 1, 3e4]
    bias = LabelBias.shifts(1.0, budget=1)
    pd = pytest.importorskip("pandas")
    model = CertifiedRegressor(Ridge(), bias=bias, radius=1.0)
    model.fit(pd.DataFrame(X_scaled, columns=NAMES), Y)
    with pytest.raises(InputError) as raised:
        model.certify_coefficients(contrasts=contrasts)
    assert said in str(raised.value)


def test_a_model_without_coefficients_has_no_contrasts():
    model = CertifiedRegressor(KernelRidge(), bias=LabelBias.shifts(1.0, budget=1), radius=1.0)
    with pytest.raises(InputError, match="no coefficients"):
        model.fit(X, Y).certify_coefficients(contrasts=[[1, -1, 0, 0]])
