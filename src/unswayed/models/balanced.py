"""Scores measured from the mean of the training labels: for a threshold that moves with them.

The decision ``score > mean(y)`` is ``score - mean(y) > 0``, and the mean is linear in the labels
too: the influence of label i on that difference is z_i - s_i / Σs, with s the sample weights.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY, SIZE_UNDERFLOW, UNIT, gamma, subtraction_error, wider
from unswayed._typing import FloatArray, Matrix
from unswayed.models.learner import (
    ErrorScale,
    ExactInfluence,
    InfluenceRow,
    LinearInLabels,
    Scores,
    Solution,
    Specification,
)
from unswayed.models.ridge.verified import row_norms, with_ones


class Balanced(LinearInLabels):
    """A learner whose scores are another's, less the weighted mean of the training labels."""

    def __init__(self, inner: LinearInLabels) -> None:
        inner = self._inner = inner.full()  # the mean depends on every label
        self.n_rows = inner.n_rows
        self.takes_features = inner.takes_features
        self.specification = BalancedSpecification(inner.specification)
        # As the influence is scaled, which may be by another unit than the sample weights'.
        given = inner.specification.weights(self.n_rows)
        self._weight = given if inner.row_scale is None else inner.row_scale
        self._total = _sum(self._weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._share = self._weight / self._total
        self.row_scale = inner.row_scale
        if inner.design is not None:
            self.design = with_ones(inner.design)
        self.error_scale = self._error_scale()

    def _error_scale(self) -> ErrorScale:
        inner = self._inner.error_scale
        if not (inner.proven and 0 < self._total < math.inf):
            return ErrorScale.unknown(self.n_rows)
        entry = inner.entry
        if self.design is not None:
            # One more term in every product, and its own few roundings.
            rounding = gamma(self.design.shape[1] + 24)
            entry = np.asarray(2 * entry + rounding * self._weight)
        # Never 0: a mean is hardly ever a double, even where the inner influence is given.
        return ErrorScale(inner.weight, entry, max(inner.most_error, UNIT), inner.most_size)

    def represent(self, rows: Matrix) -> Matrix:
        """Return rows as the inner learner represents them."""
        return self._inner.represent(rows)

    def shown(self, represented: Matrix) -> Matrix:
        """Return rows as the inner learner shows them: the mean belongs to the question."""
        return self._inner.shown(represented)

    def weights(self, represented: Matrix) -> Weights:
        """Return the inner weights, less those of the mean."""
        values, error, size = self._inner.weights(represented)
        if self._inner.design is not None:
            column = np.full((len(values), 1), -1.0 / self._total)
            size = np.maximum(size, row_norms(values)) + SAFETY / self._total
            return Weights(np.hstack((values, column)), error, size)
        with np.errstate(over="ignore", invalid="ignore"):
            # Each share and each difference is rounded; where a weight is 0, so is all of it.
            off = 8 * UNIT * (np.abs(values) + self._share) + SIZE_UNDERFLOW * (self._share > 0)
            spread = np.where(self._weight_of_error > 0, np.sqrt(self._weight_of_error), 1.0)
            error = SAFETY * (error + row_norms(off / spread))
            return Weights(values - self._share, error, size)

    @property
    def _weight_of_error(self) -> FloatArray:
        return self._inner.error_scale.weight

    def reference(self, labels: FloatArray) -> float:
        """Return the weighted mean of the labels, which errs by a few roundings of the largest."""
        return _sum(self._weight * labels) / self._total

    def solve(self, labels: FloatArray) -> Solution:
        """Return the inner solution, and the mean of the labels after its values."""
        inner = self._inner.solve(labels)
        values = np.append(inner.values, self.reference(labels))
        return Solution(values, inner.residual, inner.rounding)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the inner scores, less the mean of the labels."""
        mean = float(solution.values[-1])
        inner = Solution(solution.values[:-1], solution.residual, solution.rounding)
        found = self._inner.scores(represented, inner)
        # Of the mean: products, two sums and a quotient, each rounded once; codes are -1, 0 or 1.
        error = wider(found.error, np.full(len(found.value), 8 * UNIT * self._largest))
        error = wider(error, subtraction_error(found.value, mean))
        return Scores(found.value - mean, np.where(np.isfinite(self._total), error, np.inf))

    _largest = 1.0
    """Largest label there can be: labels of classes are -1, 0 or 1."""


def _sum(values: FloatArray) -> float:
    """Return the sum of values, rounded once; infinite if it is beyond all doubles."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


class BalancedSpecification(Specification):
    """A model whose scores are measured from the mean of the labels."""

    def __init__(self, inner: Specification) -> None:
        self._inner = inner
        self.sample_weight = inner.sample_weight
        self.kind = inner.kind

    @property
    def matrix(self) -> Matrix | None:
        """What the model is trained on, or None; raises InputError if it was changed since."""
        return self._inner.matrix

    def exact(self, n_rows: int) -> "BalancedInfluence":
        """Return the model in rational arithmetic."""
        return BalancedInfluence(self._inner.exact(n_rows), self.weights(n_rows))

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model; the mean belongs to the question."""
        return self._inner.document()


class BalancedInfluence(ExactInfluence):
    """Exact influence on scores that are measured from the mean of the labels."""

    def __init__(self, inner: ExactInfluence, weights: FloatArray) -> None:
        self._inner = inner
        self.group, self.n_groups = inner.group, inner.n_groups
        self._share = 1 / sum(map(Fraction, weights.tolist()), Fraction(0))

    def solutions(self, subjects: FloatArray) -> Iterator[list[Fraction]]:
        """Yield those of the model itself: the mean belongs to the question."""
        return self._inner.solutions(subjects)

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence of the labels on each row's score, less that on the mean."""
        share = self._share
        for row in self._inner.rows(represented):
            above, below = row.scale.numerator, row.scale.denominator
            factor, taken = above * share.denominator, below * share.numerator
            numerators = [factor * number - taken for number in row.numerators]
            yield InfluenceRow(numerators, Fraction(1, below * share.denominator))
