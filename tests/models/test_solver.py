"""Newton's method on hard problems: what it returns is where the minimiser is."""

import numpy as np
import pytest

from unswayed.models.gradient.family import solve, solve_all
from unswayed.models.gradient.problem import Exponential, GradientProblem, Labels, Logistic

N_ROWS = 30


def rows_of(rng, columns=3):
    X = rng.normal(size=(N_ROWS, columns))
    return X, (X[:, 0] + rng.normal(size=N_ROWS) > 0).astype(float)


def near_separable(rng):
    X, _ = rows_of(rng)
    y = (X[:, 0] > 0).astype(float)
    y[0] = 1 - y[0]
    return GradientProblem(X, Logistic(), penalty=1e-6, fit_intercept=True), y


def large_weights(rng):
    X, y = rows_of(rng)
    weight = 10.0 ** rng.uniform(-6, 6, size=N_ROWS)
    return GradientProblem(X, Logistic(), penalty=1.0, fit_intercept=True, sample_weight=weight), y


def tiny_c(rng):
    X, y = rows_of(rng)
    return GradientProblem(X, Logistic(), penalty=1e9, fit_intercept=True), y


def huge_c(rng):
    X, y = rows_of(rng)
    return GradientProblem(X, Logistic(), penalty=1e-12, fit_intercept=True), y


def large_counts(rng):
    X, _ = rows_of(rng)
    y = np.round(10.0 ** rng.uniform(5, 9) * rng.random(N_ROWS) * np.exp(3 * X[:, 0]))
    return GradientProblem(X, Exponential(), penalty=0.1, fit_intercept=True), y


def bad_units(rng):
    X, y = rows_of(rng)
    return GradientProblem(X * [1e-8, 1.0, 1e8], Logistic(), penalty=1.0, fit_intercept=True), y


KINDS = [near_separable, large_weights, tiny_c, huge_c, large_counts, bad_units]


def missed(problem, y, parameters):
    """What the equations are off by, in steps of Newton's method, in log-odds."""
    labels = problem.labels(y)
    margins = problem.design @ parameters
    gradient = problem.design.T @ (labels.weight * problem.link.mean(margins) - labels.total)
    gradient += problem.penalty * parameters
    slopes = labels.weight * problem.link.secant(margins, 0 * margins)
    hessian = (problem.design.T * slopes) @ problem.design + np.diag(problem.penalty)
    size = np.sqrt(hessian.diagonal())
    step = np.linalg.solve(hessian / np.outer(size, size), gradient / size) / size
    return np.abs(problem.design @ step).max()


@pytest.mark.parametrize("far", [0.0, 3.0, 100.0])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_minimiser_is_found_from_anywhere(kind, far):
    rng = np.random.default_rng(0)
    for _ in range(4):
        problem, y = kind(rng)
        start = far * rng.normal(size=problem.n_parameters)
        assert missed(problem, y, solve(problem, problem.labels(y), start)) < 1e-7


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_many_label_vectors_are_solved_for_although_one_matrix_does_not_suit_them(kind):
    rng = np.random.default_rng(1)
    problem, y = kind(rng)
    many = np.array([np.roll(y, shift) for shift in range(5)])
    each = [problem.labels(one) for one in many]
    labels = Labels(each[0].weight, np.array([one.total for one in each]))
    start = np.zeros((len(many), problem.n_parameters))
    unsuited = 100.0 * np.eye(problem.n_parameters)
    for one, found in zip(many, solve_all(problem, labels, start, unsuited), strict=True):
        assert missed(problem, one, found) < 1e-7


def test_classes_that_a_plane_separates_end_the_search_without_a_penalty():
    X = np.arange(8.0)[:, None]
    problem = GradientProblem(X, Logistic(), penalty=0.0, fit_intercept=True)
    found = solve(problem, problem.labels((X[:, 0] > 3).astype(float)), np.zeros(2))
    assert np.isfinite(found).all()
