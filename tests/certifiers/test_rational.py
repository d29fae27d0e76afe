"""The rational engine against enumeration and elimination in fractions: equality, no tolerance."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.effort import examples
from tests.naive import corners
from tests.soundness import truth
from tests.soundness.checks import decision
from tests.strategies import problems
from unswayed._core.dyadic import Dyadic, enclose, exact_arithmetic, independent_rows
from unswayed.engines.rational import RationalEngine
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.margins.decisions import Radius
from unswayed.models.kernel import KernelSpecification
from unswayed.models.learner import RidgeSpecification, SmootherSpecification

QUESTIONS = [("threshold", 0.5), ("threshold", 0.0), ("radius", 0.75), ("radius", 0.0), ("sign",)]


def limits_of(question, score):
    kind, *value = question
    return decision(kind, *value).limits(score)


def true_rows(influence, labels, lower, upper, question):
    parts = [truth.fractions(each) for each in (labels, lower, upper)]
    kind, value = (*question, None)[:2]
    return [truth.TrueRow(list(z), *parts, (kind, value)) for z in influence]


def assert_same(row, true, budget):
    assert row.score == true.score
    assert row.reach(Count(budget)) == true.reach(budget)
    limits = limits_of(true.question[:1] if true.question[1] is None else true.question, row.score)
    assert row.overturned(limits, Count(budget)) == true.overturned(budget)
    assert row.minimum_budget(limits) == true.minimum_budget
    if true.minimum_budget == math.inf:
        with pytest.raises(InputError, match="no set"):
            row.changes(limits, Count(len(true.z)))
        return
    rows, offsets, _ = row.changes(limits, Count(len(true.z)))
    assert len(rows) == true.minimum_budget
    assert (np.diff(rows) > 0).all()
    assert true.overturned_by(rows.tolist(), offsets.tolist()) or len(rows) == 0
    ends = [(true.lower[i], true.upper[i]) for i in rows]
    assert all(offset in pair for offset, pair in zip(offsets, ends, strict=True))


def ridge_truth(problem, X=None):
    weight = problem.sample_weight
    return truth.ridge_map(
        problem.X if X is None else X,
        problem.alpha,
        problem.fit_intercept,
        truth.fractions(np.ones(len(problem.y)) if weight is None else weight),
    )


def row_truth(problem):
    constant = Fraction(int(problem.fit_intercept))
    directions = [[constant, *truth.fractions(row)] for row in problem.tests]
    return truth.product(directions, ridge_truth(problem))


def ridge_engine(problem, X=None):
    specification = RidgeSpecification(problem.X if X is None else X, **problem.model)
    bias = ResolvedBias(problem.lower, problem.upper, Count(problem.budget))
    return RationalEngine(specification, bias, problem.y)


@settings(max_examples=examples(150), deadline=None)
@given(problems(alphas=(0.0, 0.0, 0.1, 7.0)), st.sampled_from(QUESTIONS), st.booleans())
def test_ridge_equals_truth(problem, question, as_sparse):
    rows, coefficients = row_truth(problem), ridge_truth(problem)[1:]
    offsets = (problem.y, problem.lower, problem.upper)
    engine = ridge_engine(problem, sparse.csr_array(problem.X) if as_sparse else None)
    tests = sparse.csr_array(problem.tests) if as_sparse else problem.tests
    for row, true in zip(engine.rows(tests), true_rows(rows, *offsets, question), strict=True):
        assert_same(row, true, problem.budget)
    for row, true in zip(
        engine.coefficients(), true_rows(coefficients, *offsets, ("sign",)), strict=True
    ):
        assert_same(row, true, problem.budget)


@settings(max_examples=examples(60), deadline=None)
@given(problems(max_rows=4, alphas=(0.0, 0.5)))
def test_reach_is_the_extreme_over_all_label_vectors(problem):
    rows = row_truth(problem)
    moved = list(corners(problem.y, problem.lower, problem.upper, problem.budget))
    for row, z in zip(ridge_engine(problem).rows(problem.tests), rows, strict=True):
        scores = [truth.dot(z, truth.fractions(labels)) for labels in moved]
        up, down = row.reach(Count(problem.budget))
        assert (row.score - down, row.score + up) == (min(scores), max(scores))
        for question in QUESTIONS:
            kind, value = (*question, None)[:2]
            lost = any(not truth.stays((kind, value), row.score, after) for after in scores)
            assert row.overturned(limits_of(question, row.score), Count(problem.budget)) == lost


@settings(max_examples=examples(60), deadline=None)
@given(problems(max_rows=5, alphas=(0.0, 0.5)), st.integers(1, 12), st.integers(0, 2**32))
def test_more_features_than_rows_give_the_slope_of_least_norm(problem, width, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(len(problem.y), width)) * 10.0 ** rng.integers(-9, 9, size=width)
    expected = ridge_truth(problem, X)[1:]
    labels = truth.fractions(problem.y)
    found = [row.score for row in ridge_engine(problem, X).coefficients()]
    assert found == [truth.dot(z, labels) for z in expected]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_kernel_ridge_equals_truth_even_where_it_is_singular(seed, n_rows, alpha, weighted):
    rng = np.random.default_rng(seed)
    factor = rng.integers(-2, 3, size=(n_rows, rng.integers(1, n_rows + 1))).astype(float)
    K = factor @ factor.T
    if seed % 3 == 0:  # no kernel at all, not even symmetric
        K = K - np.triu(rng.integers(0, 2, size=K.shape)) * alpha
    weight = np.ones(n_rows)
    if weighted:
        weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n_rows)
        weight[0] = 0.5
    y, lower, upper = (rng.integers(a, b, size=n_rows) * 1.0 for a, b in ((-4, 5), (-2, 1), (0, 3)))
    inputs = rng.normal(size=(2, n_rows))
    duals = truth.kernel_map(K, alpha, truth.fractions(weight))
    influence = truth.product(truth.table(inputs), duals)
    specification = KernelSpecification(K, alpha=alpha, sample_weight=weight)
    engine = RationalEngine(specification, ResolvedBias(lower, upper, Count(2)), y)
    expected = true_rows(influence, y, lower, upper, ("radius", 0.5))
    for row, true in zip(engine.rows(inputs), expected, strict=True):
        assert_same(row, true, 2)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e150])
@pytest.mark.parametrize("alpha", [0.0, 1e-140, 1e140])
def test_scales_far_apart_lose_nothing(scale, alpha):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 3)) * [scale, 1.0, 1 / scale]
    X[0] *= scale
    y, weight = rng.normal(size=5) / scale, np.array([scale, 1.0, 0.0, 2.0, 1.0])
    lower, upper = np.full(5, -5e-324), np.full(5, scale)
    duals = truth.ridge_map(X, alpha, True, truth.fractions(weight))
    directions = [[Fraction(1), *truth.fractions(row)] for row in X]
    specification = RidgeSpecification(X, alpha=alpha, fit_intercept=True, sample_weight=weight)
    engine = RationalEngine(specification, ResolvedBias(lower, upper, Count(2)), y)
    expected = true_rows(truth.product(directions, duals), y, lower, upper, ("radius", scale))
    for row, true in zip(engine.rows(X), expected, strict=True):
        assert_same(row, true, 2)


def test_equal_labels_give_way_to_the_lowest_row_numbers():
    X = np.array([[1.0], [1.0], [-1.0], [1.0]])
    bias = ResolvedBias(np.full(4, -1.0), np.full(4, 1.0), Count(2))
    engine = RationalEngine(RidgeSpecification(X, alpha=1.0), bias, np.zeros(4))
    row = next(engine.rows(np.array([[1.0]])))
    rows, offsets, _ = row.changes(Radius(0.5).limits(row.score), Count(4))
    assert rows.tolist() == [0, 1, 2]
    assert offsets.tolist() == [1.0, 1.0, -1.0]


def test_a_limit_that_is_met_exactly_is_a_matter_of_the_question():
    bias = ResolvedBias(np.array([-0.25]), np.array([0.25]), Count(1))
    engine = RationalEngine(SmootherSpecification(), bias, np.array([0.75]))
    row = next(engine.rows(np.array([[1.0]])))
    assert row.overturned(decision("threshold", 0.5).limits(row.score), Count(1))  # falls onto it
    assert not row.overturned(
        decision("threshold", 1.0).limits(row.score), Count(1)
    )  # rises onto it
    assert not row.overturned(Radius(0.25).limits(row.score), Count(1))
    assert row.overturned(Radius(np.nextafter(0.25, 0)).limits(row.score), Count(1))


def test_a_model_without_coefficients_says_so():
    bias = ResolvedBias(np.zeros(1), np.ones(1), Count(1))
    engine = RationalEngine(SmootherSpecification(), bias, np.ones(1))
    with pytest.raises(InputError, match="no coefficients"):
        engine.coefficients()


def test_without_flint_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "flint", None)
    with pytest.raises(ModuleNotFoundError, match=r"unswayed\[exact\]") as caught:
        RationalEngine(
            RidgeSpecification(np.eye(2)),
            ResolvedBias(np.zeros(2), np.ones(2), Count(1)),
            np.ones(2),
        )
    assert caught.value.name == "flint"


def test_rows_that_a_prime_hides_are_found_by_another():
    flint = exact_arithmetic()
    prime = 2**61 - 1
    assert independent_rows(flint.fmpz_mat([[1, 2], [prime, 0], [2, 4]])) == [0, 1]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3))
def test_enclose_gives_the_nearest_doubles(value, thirds):
    exact = Fraction(value) * (1 + Fraction(thirds, 3))
    low, high = enclose(exact)
    assert low == -math.inf or Fraction(low) <= exact
    assert high == math.inf or exact <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))
    assert (low == high) == (math.isfinite(low) and Fraction(low) == exact)


def test_enclose_goes_outward_beyond_the_largest_double():
    largest = np.finfo(np.float64).max
    assert enclose(Fraction(10) ** 400) == (largest, math.inf)
    assert enclose(-(Fraction(10) ** 400)) == (-math.inf, -largest)
    assert enclose(Fraction(1, 10**400)) == (0.0, 5e-324)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_whole_numbers_times_a_power_of_two_are_the_doubles(values):
    dyadic = Dyadic.of(np.array(values))
    low = dyadic.least()
    found = [Fraction(2) ** low * whole for whole in dyadic.over(low)]
    assert found == truth.fractions(values)
