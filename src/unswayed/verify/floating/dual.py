"""Models whose influence itself solves equations: kernel ridge, and ridge with few training rows.

Kernel ridge: (K + alpha S⁻¹)ᵀ z = k over the rows of positive weight, K and k as they are given.

Ridge is the same with K = ΦΦᵀ and k = Φφ, rows φ = x - t for any t if there is an intercept; this
adds one equation, for then influence sums up to 1:

    (K + alpha L⁻¹) z + λ = k,   Σz = 1.

Equal rows are one there, of weight L, the sum of theirs. Each label has its share s/L of z.
"""

import numpy as np

from unswayed.verify.floating.enclosure import Enclosure, two_product, two_sum
from unswayed.verify.floating.equations import MOST_EQUATIONS, Equations
from unswayed.verify.floating.given import Entries, Given, Solved, distinct
from unswayed.verify.floating.products import LENGTH, SumOfProducts, product
from unswayed.verify.floating.ridge import shifts
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    exponents,
    gamma,
    scaled,
)

_BLOCK = 2**19  # numbers of training rows that are cut into slices at a time


class KernelRidge:
    """Influence of labels on scores of kernel ridge; parameters and methods as `TallRidge` has."""

    def __init__(self, given: Given) -> None:
        self._given, self.entries = given, Entries.one_per_row(given)
        self._used, self.n_unknowns = np.flatnonzero(given.weights), len(given.labels)
        _check_size(len(self._used))
        kernel = given.train[np.ix_(self._used, self._used)].T
        self._power = int(np.frexp(np.abs(given.train).max())[1])
        penalty = _quotient(given.alpha, given.weights[self._used], 0.0).shifted(-self._power)
        matrix = Enclosure.of(scaled(kernel, -self._power)).plus_diagonal(penalty)
        halves = np.frexp(matrix.high.diagonal())[1] // 2
        self._equations = Equations(matrix, np.asarray(halves, dtype=np.int64))

    def solve(self, numbers: IntArray) -> Solved:
        """Return the influence itself, as far as equations have it, and scores."""
        right = self._given.test_rows(numbers)[:, self._used].T
        found = self._equations.solve(Enclosure.of(right).shifted(-self._power))
        return Solved(found, _scores(found, Enclosure.of(self._given.labels[self._used])))

    def influence(self, found: Enclosure) -> tuple[FloatArray, FloatArray]:
        """Return the influence of labels on scores, and its error."""
        influence = np.zeros((found.high.shape[1], len(self._given.labels)))
        error = np.zeros_like(influence)
        influence[:, self._used] = found.high.T
        doubt = np.abs(found.low) + found.error + 2 * UNIT * np.abs(found.high)
        error[:, self._used] = doubt.T * SAFETY
        return influence, error


class WideRidge:
    """Influence of labels on scores of ridge; parameters and methods as `TallRidge` has."""

    def __init__(self, given: Given) -> None:
        self._given, self.entries = given, Entries.one_per_row(given)
        self._used, self.n_unknowns = np.flatnonzero(given.weights), len(given.labels)
        rows = given.train[self._used]
        self._shift = shifts(rows, given.intercept)
        first, self._kind, count = distinct(rows)
        _check_size(len(first))
        high, low = two_sum(rows[first], -self._shift)
        self._power = int(exponents(high.reshape(1, -1), axis=1)[0, 0])
        high, low = scaled(high, -self._power), scaled(low, -self._power)
        self._rows = Enclosure(high, low, np.broadcast_to(0.0, high.shape))
        self._weigh(given.weights[self._used], count)
        self._equations = self._make_equations()

    def _weigh(self, weights: FloatArray, count: IntArray) -> None:
        """Set the weight of each kind of row, and the mean of its labels."""
        load = np.asarray(np.bincount(self._kind, weights), dtype=np.float64)
        exact = bool((weights == 1.0).all())
        self._doubt = 0.0 if exact else gamma(int(count.max()) + 2)
        self._load, self._share = load, weights / load[self._kind]
        labels = self._given.labels[self._used]
        parts = self._share * labels
        mean = np.asarray(np.bincount(self._kind, parts), dtype=np.float64)
        error = np.asarray(np.bincount(self._kind, np.abs(parts)), dtype=np.float64)
        alone = count[self._kind] == 1
        mean[self._kind[alone]] = labels[alone]
        error = (gamma(int(count.max()) + 4) + 2 * self._doubt) * error * SAFETY + TINY
        error[self._kind[alone]] = 0.0
        self._share[alone] = 1.0
        self._labels = Enclosure(mean, np.zeros_like(mean), error)

    def _make_equations(self) -> Equations:
        given, rows, size = self._given, self._rows, len(self._rows.high)
        step = max(1, min(LENGTH, _BLOCK // size))
        sums = SumOfProducts((size, size))
        for start in range(0, rows.high.shape[1], step):
            part = slice(start, start + step)
            pair = rows.high[:, part].T, rows.low[:, part].T
            sums.add(pair, pair)
        penalty = _quotient(given.alpha, self._load, self._doubt).shifted(-2 * self._power)
        matrix = sums.total().plus_diagonal(penalty)
        halves = np.asarray(np.frexp(matrix.high.diagonal())[1] // 2, dtype=np.int64)
        if given.intercept:
            parts = (
                np.pad(part, (0, 1), constant_values=end)
                for part, end in ((matrix.high, 1.0), (matrix.low, 0.0), (matrix.error, 0.0))
            )
            matrix = Enclosure(*parts)
            matrix.high[-1, -1] = 0.0
            halves = np.append(halves, -int(np.median(halves)))
        return Equations(matrix, halves)

    def solve(self, numbers: IntArray) -> Solved:
        """Return the influence itself, as far as equations have it, and scores."""
        rows, ends = self._given.subjects(numbers)
        high, low = two_sum(rows, -self._shift * ends[:, None])
        subjects = Enclosure(high, low, np.zeros_like(high)).shifted(-self._power).transposed
        made = product(self._rows, subjects)
        lost = np.abs(self._rows.high) @ subjects.error * (SAFETY + UNIT)
        right = Enclosure(made.high, made.low, (made.error + lost) * SAFETY + TINY)
        if self._given.intercept:
            none = np.zeros(len(numbers))
            parts = ((right.high, ends), (right.low, none), (right.error, none))
            right = Enclosure(*(np.vstack(pair) for pair in parts))
        found = self._equations.solve(right)
        n_kinds = len(self._rows.high)
        found = Enclosure(found.high[:n_kinds], found.low[:n_kinds], found.error[:n_kinds])
        return Solved(found, _scores(found, self._labels))

    def influence(self, found: Enclosure) -> tuple[FloatArray, FloatArray]:
        """Return the influence of labels on scores, and its error."""
        influence = np.zeros((found.high.shape[1], len(self._given.labels)))
        error = np.zeros_like(influence)
        shared = found.high[self._kind].T * self._share
        doubt = (np.abs(found.low) + found.error)[self._kind].T * self._share
        influence[:, self._used] = shared
        error[:, self._used] = (doubt + (4 * UNIT + self._doubt) * np.abs(shared)) * SAFETY + TINY
        return influence, error


class Smoother:
    """Influence that is given; parameters and methods as `TallRidge` has."""

    def __init__(self, given: Given) -> None:
        self._given, self.entries = given, Entries.one_per_row(given)
        self.n_unknowns = len(given.labels)

    def solve(self, numbers: IntArray) -> Solved:
        """Return the influence itself, as far as equations have it, and scores."""
        found = Enclosure.of(self._given.test_rows(numbers).T)
        return Solved(found, _scores(found, Enclosure.of(self._given.labels)))

    def influence(self, found: Enclosure) -> tuple[FloatArray, FloatArray]:
        """Return the influence of labels on scores, and its error."""
        return found.high.T, found.error.T


def _check_size(size: int) -> None:
    if not 0 < size <= MOST_EQUATIONS:
        raise UnprovenError("there are too many training rows")


def _quotient(number: float, divisors: FloatArray, doubt: float) -> Enclosure:
    """Return a number over divisors that have a relative error of `doubt`."""
    power = np.frexp(divisors)[1]
    divisors = np.ldexp(divisors, -power)
    lift = int(np.frexp(number)[1])
    number = float(np.ldexp(number, -lift))  # sizes are put back at the end
    high = number / divisors
    back, rest = two_product(high, divisors)
    low = ((number - back) - rest) / divisors
    high, low = two_sum(high, low)
    error = np.abs(high) * (2.0**-100 + 2 * doubt) * SAFETY
    return Enclosure(high, low, error).shifted(lift - power)


def _scores(influence: Enclosure, labels: Enclosure) -> Enclosure:
    """Return the scores of influence, one column for each of them."""
    column = Enclosure(labels.high[:, None], labels.low[:, None], labels.error[:, None])
    found = product(influence.transposed, column)
    size = np.abs(influence.high) + np.abs(influence.low)
    error = influence.error.T @ np.abs(column.high) + (size + influence.error).T @ column.error
    error = (found.error + error * (SAFETY + UNIT)) * SAFETY + TINY
    return Enclosure(found.high[:, 0], found.low[:, 0], error[:, 0])
