"""Ridge with at least as many training rows as features: influence with error bounds.

A row is φ = (x - t, 1) with any doubles t, and without t and the 1 where there is no intercept.
With S the weights and P the identity without the intercept, the influence of a label on the score
at φ is

    z_i = s_i φ_i·w,   Mw = φ,   M = ΦᵀSΦ + alpha P.

Columns, weights and labels are multiplied by powers of two, which changes units and rounds nothing.
M and ΦᵀSy are computed with 80 binary digits, and so is w. The products φ_i·w are plain ones, which
errs by γ|φ_i|·|w|, whatever the order.
"""

import numpy as np

from unswayed.verify.floating.enclosure import Enclosure, two_product, two_sum
from unswayed.verify.floating.equations import MOST_EQUATIONS, Equations
from unswayed.verify.floating.given import Entries, Given, Solved, distinct
from unswayed.verify.floating.null_vectors import null_vectors
from unswayed.verify.floating.products import LENGTH, Pair, SumOfProducts, product
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

_SLICED = 2**19  # numbers of training rows that are cut into slices at a time
_BLOCK = 2**21  # numbers of training rows that are multiplied with weights at a time
_PENALTY_ROOM = 400  # binary orders that a penalty may be above the features it belongs to


class TallRidge:
    """Influence of labels on scores of test rows, coefficients or contrasts."""

    def __init__(self, given: Given) -> None:
        self._given, self._rows = given, given.train
        self._used = given.weights > 0
        used = self._rows if self._used.all() else self._rows[self._used]
        self._shift = shifts(used, given.intercept)
        self._size = self._rows.shape[1] + int(given.intercept)
        if not 0 < self._size <= MOST_EQUATIONS:
            raise UnprovenError("there are too many features, or none")
        self._weight_power = int(np.frexp(given.weights.max())[1])
        self._label_power = int(np.frexp(np.abs(given.labels).max())[1])
        self._weights = scaled(given.weights, -self._weight_power)
        self._powers = self._column_powers(used)
        del used  # it may be a copy
        self._fit()
        self.n_unknowns = self._size
        self.entries, kept = self._distinct()
        self._entry_weight = self._weights[kept]
        self._design = self._make_design(kept)

    def _make_design(self, kept: IntArray) -> FloatArray:
        """Return a row of each entry in the units of the equations, rounded once; 0 if unused."""
        made = np.zeros((len(kept), self._size))
        used = np.flatnonzero(self._entry_weight)
        step = max(1, _SLICED // self._size)
        for start in range(0, len(used), step):
            part = used[start : start + step]
            made[part] = self._features(self._rows[kept[part]])[0]
        return made

    def _column_powers(self, used: FloatArray) -> IntArray:
        """Return exponents that columns are divided by, so that their entries are at most 1."""
        found: IntArray = exponents(used - self._shift, axis=0)[0]
        if self._given.alpha:  # a penalty must not overflow in the units of its column
            alpha = (int(np.frexp(self._given.alpha)[1]) - self._weight_power) // 2
            found = np.maximum(found, alpha - _PENALTY_ROOM)
        return found

    def _features(self, rows: FloatArray) -> Pair:
        """Return rows in the units of the equations, with a column of ones for the intercept."""
        high, low = two_sum(rows, -self._shift)
        pair = [scaled(high, -self._powers), scaled(low, -self._powers)]
        if self._given.intercept:
            for at, value in enumerate((1.0, 0.0)):
                pair[at] = np.column_stack((pair[at], np.full(len(rows), value)))
        return pair[0], pair[1]

    def _fit(self) -> None:
        """Set up the equations and solve them for the labels."""
        size, used = self._size, np.flatnonzero(self._used)
        sums = SumOfProducts((size, size + 1))
        step = max(1, min(LENGTH, _SLICED // size))
        for start in range(0, len(used), step):
            rows = used[start : start + step]
            left = self._features(self._rows[rows])
            labels = np.ldexp(self._given.labels[rows], -self._label_power)
            sums.add(left, _weighted(left, self._weights[rows, None], labels[:, None]))
        alpha = self._penalties()
        matrix, right = self._totals(sums, alpha)
        extra = null_vectors(matrix.high, self._rows, used, self._powers, self._given.intercept)
        if len(extra):
            pair = extra, np.zeros_like(extra)
            sums.add(
                pair,
                (np.column_stack((extra, np.zeros(len(extra)))), np.zeros((len(extra), size + 1))),
            )
            matrix, right = self._totals(sums, alpha)
        halves = np.frexp(matrix.high.diagonal())[1] // 2
        self._equations = Equations(matrix, np.asarray(halves, dtype=np.int64))
        self._parameters = self._equations.solve(right)

    def _penalties(self) -> FloatArray:
        """Return alpha in the units of each column; 0 for the intercept."""
        found = np.zeros(self._size)
        power = -2 * self._powers - self._weight_power
        found[: len(self._powers)] = np.ldexp(self._given.alpha, power)
        return found

    def _totals(self, sums: SumOfProducts, alpha: FloatArray) -> tuple[Enclosure, Enclosure]:
        """Return the matrix of the equations, and their right side for the labels."""
        total, size = sums.total(), self._size
        parts = (total.high, total.low, total.error)
        matrix = Enclosure(*(part[:, :size] for part in parts))
        penalty = Enclosure(alpha, np.zeros_like(alpha), np.full_like(alpha, TINY))
        return matrix.plus_diagonal(penalty), Enclosure(*(part[:, size:] for part in parts))

    def _distinct(self) -> tuple[Entries, IntArray]:
        """Return labels that count and move alike as entries, and a row of each."""
        given = self._given
        first, kind, count = distinct(self._rows, given.weights, given.lower, given.upper)
        lower, upper, weight = given.lower[first], given.upper[first], given.weights[first]
        return Entries(lower, upper, weight, count.astype(np.float64), kind), first

    def _subjects(self, numbers: IntArray) -> Enclosure:
        """Return the right sides of the equations for test rows, coefficients or contrasts."""
        rows, ends = self._given.subjects(numbers)
        high, low = two_sum(rows, -self._shift * ends[:, None])
        found = Enclosure(high, low, np.zeros_like(high)).shifted(-self._powers)
        if not self._given.intercept:
            return found.transposed
        none = np.zeros(len(numbers))
        parts = zip((found.high, found.low, found.error), (ends, none, none), strict=True)
        return Enclosure(*(np.column_stack(pair) for pair in parts)).transposed

    def solve(self, numbers: IntArray) -> Solved:
        """Return weights of features, in the units of the equations, and scores."""
        right = self._subjects(numbers)
        return Solved(self._equations.solve(right), self._scores(right))

    def influence(self, weights: Enclosure) -> tuple[FloatArray, FloatArray]:
        """Return the influence of labels on scores, and its error."""
        doubt = gamma(self._size + 8) * np.abs(weights.high) + np.abs(weights.low) + weights.error
        shape = (weights.high.shape[1], len(self._design))
        influence, error = np.empty(shape), np.empty(shape)
        step = max(1, _BLOCK // self._size)
        for start in range(0, len(self._design), step):
            part = slice(start, start + step)
            rows, weight = self._design[part].T, self._entry_weight[part]
            influence[:, part] = (weights.high.T @ rows) * weight
            size = (doubt.T @ np.abs(rows)) * SAFETY + TINY
            error[:, part] = size * weight * SAFETY
        error += 4 * UNIT * np.abs(influence) + TINY
        influence[:, self._entry_weight == 0] = 0.0
        error[:, self._entry_weight == 0] = 0.0
        return influence, error

    def _scores(self, right: Enclosure) -> Enclosure:
        """Return the scores, which are products with the parameters."""
        parameters = self._parameters
        found = product(right.transposed, parameters)
        error = np.abs(right.high).T @ parameters.error * (SAFETY + UNIT)
        error += right.error.T @ (np.abs(parameters.high) + parameters.error) * (SAFETY + UNIT)
        total = Enclosure(found.high, found.low, (found.error + error) * SAFETY + TINY)
        made = total.shifted(self._label_power)
        return Enclosure(made.high[:, 0], made.low[:, 0], made.error[:, 0])


def _weighted(left: Pair, weights: FloatArray, labels: FloatArray) -> Pair:
    """Return rows and labels times weights; off by less than 2^-104."""
    high, rest = two_product(left[0], weights)
    high, low = two_sum(high, rest + left[1] * weights)
    label, label_rest = two_product(labels, weights)
    return np.column_stack((high, label)), np.column_stack((low, label_rest))


def shifts(rows: FloatArray, intercept: bool) -> FloatArray:
    """Return offsets of columns that keep rounding of their means small; any would do."""
    if not intercept or not rows.size:
        return np.zeros(rows.shape[1])
    mean = rows.mean(axis=0)
    spread = np.maximum(rows.max(axis=0) - mean, mean - rows.min(axis=0))
    wanted = np.isfinite(mean) & (np.abs(mean) > spread)
    constant = (rows == rows[0]).all(axis=0)
    return np.asarray(np.where(constant, rows[0], np.where(wanted, mean, 0.0)))
