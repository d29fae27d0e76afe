"""Small problems full of ties, zeros, duplicates and empty intervals: ordinary inputs here."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: int
    alpha: float
    fit_intercept: bool
    sample_weight: np.ndarray | None

    @property
    def model(self):
        return {
            "alpha": self.alpha,
            "fit_intercept": self.fit_intercept,
            "sample_weight": self.sample_weight,
        }


def _column(draw, size, elements):
    return np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=float)


@st.composite
def problems(draw, max_rows=6, binary=False, alphas=(0.5, 1.0, 7.0)):
    n_rows = draw(st.integers(2, max_rows))
    n_columns = draw(st.integers(1, 3))
    # Few different values: equal rows and equal influences are the rule, not the exception.
    cell = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 1.5, 3.0])
    X = _column(draw, n_rows * n_columns, cell).reshape(n_rows, n_columns)
    tests = _column(draw, 3 * n_columns, cell).reshape(3, n_columns)
    if binary:
        y = _column(draw, n_rows, st.sampled_from([0.0, 1.0]))
        y[:2] = 0.0, 1.0
        lower, upper = np.where(y == 1, -1.0, 0.0), np.where(y == 1, 0.0, 1.0)
    else:
        y = _column(draw, n_rows, st.integers(-5, 5))
        lower = _column(draw, n_rows, st.sampled_from([-3.0, -1.0, -0.25, 0.0]))
        upper = _column(draw, n_rows, st.sampled_from([0.0, 0.0, 0.5, 2.0]))
    weight = None
    if draw(st.booleans()):
        weight = _column(draw, n_rows, st.sampled_from([0.5, 1.0, 1.0, 2.0]))
    return Problem(
        X,
        y,
        tests,
        lower,
        upper,
        budget=draw(st.integers(0, n_rows + 1)),
        alpha=draw(st.sampled_from(alphas)),
        fit_intercept=draw(st.booleans()),
        sample_weight=weight,
    )


@dataclass(frozen=True)
class Selection:
    z: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def influence_rows(rng, kind, rows, size):
    if kind == "smooth":
        return rng.normal(size=(rows, size))
    if kind == "ties":
        return rng.integers(-3, 4, size=(rows, size)).astype(float)
    if kind == "one value":
        return np.full((rows, size), rng.choice([-0.1, 0.1, 0.3]))
    if kind == "decimals":  # sums of tenths: every order of summation rounds differently
        return rng.integers(-9, 10, size=(rows, size)) / 10
    if kind == "spikes":  # a few labels make up most of every sum: no sample sees them
        return rng.normal(size=(rows, size)) * np.where(rng.random((rows, size)) < 0.002, 1e6, 1e-3)
    if kind == "subnormal":
        return rng.normal(size=(rows, size)) * 1e-309
    if kind == "overflow":  # sums are infinite, single effects are not
        return rng.normal(size=(rows, size)) * 1e303
    scale = 10.0 ** rng.integers(-150, 150, size=(rows, size))
    return rng.normal(size=(rows, size)) * scale


@st.composite
def selections(draw, max_size=3000):
    """Influence rows and offsets large enough to go through every stage of the kernels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.one_of(st.integers(0, 40), st.integers(700, max_size)))
    kinds = ["smooth", "ties", "one value", "decimals", "wild", "spikes", "subnormal", "overflow"]
    z = influence_rows(rng, draw(st.sampled_from(kinds)), 4, size)
    step = draw(st.sampled_from([1.0, 0.1, 2000.0]))
    lower = -step * rng.integers(0, 3, size=size)
    upper = step * rng.integers(0, 3, size=size)
    if draw(st.booleans()):
        lower = np.where(rng.random(size) < 0.5, 0.0, lower)
    return Selection(z, lower, upper)
