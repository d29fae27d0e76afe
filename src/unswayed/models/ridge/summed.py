"""Ridge of rows that are never held whole: all it needs of them are sums over them.

Gram matrices and moments add up over pieces of the rows, and so do bounds on their rounding.
"""

import math
from dataclasses import dataclass

import numpy as np

from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SIZE_UNDERFLOW,
    SQUARES_UNDERFLOW,
    UNIT,
    gamma,
    norm,
)
from unswayed._typing import FloatArray, Matrix
from unswayed.inputs import dense
from unswayed.models.learner import ErrorScale, Solution
from unswayed.models.ridge.learners import DIRECTION, LeastSquares
from unswayed.models.ridge.verified import (
    column_scale,
    moment,
    roundings,
    row_norms,
    weighted_gram,
    with_data,
    with_ones,
)


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """How feature rows become rows of the design: centred, scaled, with a constant 1 after them."""

    # What is subtracted: about the mean of each feature, 0 where most entries are
    centre: FloatArray
    scale: FloatArray  # What is multiplied by then, powers of two
    fit_intercept: bool  # Whether there is a constant

    @classmethod
    def of(
        cls, centre: FloatArray, peak: FloatArray, *, alpha: float, fit_intercept: bool
    ) -> "Design":
        """Choose the scale."""
        used = centre if fit_intercept else np.zeros_like(centre)
        return cls(used, column_scale(peak, alpha), fit_intercept)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.scale) + int(self.fit_intercept)

    def rows(self, features: Matrix) -> Matrix:
        """Return rows of the design."""
        if hasattr(features, "indptr"):
            columns = features.indices
            data = (features.data - self.centre[columns]) * self.scale[columns]
            scaled = with_data(features, data)
            return with_ones(scaled) if self.fit_intercept else scaled
        made = np.empty((len(features), self.width))
        made[:, -1] = 1.0
        inner = made[:, : len(self.scale)]
        np.subtract(features, self.centre, out=inner)
        inner *= self.scale
        return made


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """Sums over rows of the design and their labels; those of several sets of rows add up."""

    n_rows: int
    gram: FloatArray  # Σ d dᵀ over the rows d
    moment: FloatArray  # Σ y d over the rows d and their labels y
    squares: float  # Σ y²
    largest: float  # Largest |y|
    longest: float  # Norm of the longest row
    roundings: int  # In the longest of the sums, one after the other

    @classmethod
    def nothing(cls, width: int) -> "RowSums":
        """Return the sums over no rows."""
        return cls(0, np.zeros((width, width)), np.zeros(width), 0.0, 0.0, 0.0, 0)

    @classmethod
    def of(cls, rows: Matrix, labels: FloatArray, count: FloatArray | None = None) -> "RowSums":
        """Sum over rows."""
        times = np.ones(len(labels)) if count is None else count
        with np.errstate(over="ignore", invalid="ignore"):
            return cls(
                int(times.sum()),
                weighted_gram(rows, count),
                moment(rows, times * labels),
                float(times @ (labels * labels)),
                float(np.abs(labels).max(initial=0.0)),
                float(row_norms(rows).max(initial=0.0)),
                roundings(len(labels)),
            )

    def __add__(self, other: "RowSums") -> "RowSums":
        if not (self.n_rows and other.n_rows):
            return self if self.n_rows else other
        with np.errstate(over="ignore", invalid="ignore"):
            return RowSums(
                self.n_rows + other.n_rows,
                self.gram + other.gram,
                self.moment + other.moment,
                self.squares + other.squares,
                max(self.largest, other.largest),
                max(self.longest, other.longest),
                max(self.roundings, other.roundings) + 1,
            )


def entry_errors(rows: Matrix) -> FloatArray:
    """Return bounds on the errors of products with rows of the design, as `ErrorScale.entry`."""
    rounding = gamma(rows.shape[1] + 8) * (1.0 + SQUARES_UNDERFLOW)
    return np.asarray(rounding * row_norms(rows) + SIZE_UNDERFLOW)


class SummedRidge(LeastSquares):
    """Ridge that knows its training rows by sums alone, and some of them as examples."""

    def __init__(
        self,
        sums: RowSums,
        design: Design,
        *,
        alpha: float,
        blocks: tuple[slice, ...] = (),
        examples: Matrix | None = None,
    ) -> None:
        self.n_rows, self.n_features = sums.n_rows, len(design.scale)
        self.sums, self.design_map, self._blocks = sums, design, blocks
        self._examples = np.empty((0, design.width)) if examples is None else examples
        self._sparse = False
        self._fit_intercept = design.fit_intercept
        self._mean = design.centre
        self._exact_scaling = True
        self._set_scale(design.scale)
        self._solve_normal_equations(self._examples, sums.gram, alpha)

    @property
    def _rounding(self) -> float:
        return gamma(self.sums.roundings + 4)

    def _filling(self, features: Matrix, gram: FloatArray) -> FloatArray:
        """Return the directions in which one-hot blocks depend on one another, or the constant.

        And those of columns that are 0: without a penalty, others are scaled to be about 1.
        """
        if not np.isfinite(gram).all():
            return np.zeros((len(gram), 0))
        vectors = np.zeros((self.n_features, len(self._blocks)))
        for at, block in enumerate(self._blocks):
            vectors[block, at] = 1.0
        if not self._fit_intercept:  # no constant makes up for one block: differences are flat
            vectors = vectors[:, 1:] - vectors[:, :1]
        flat = np.diag(gram)[: self.n_features] == 0.0
        if not self._penalties.any():
            vectors = np.hstack((vectors, np.eye(self.n_features)[:, flat]))
        return self._penalised(vectors, gram)

    def _error_scale(self) -> ErrorScale:
        if not self._solver.proven or not math.isfinite(self.sums.longest):
            return ErrorScale.unknown(0)
        most_error = SAFETY * (self._solver.residual + DIRECTION) * math.sqrt(self._solver.bound)
        most_size = SAFETY * self._solver.norm + SIZE_UNDERFLOW
        return ErrorScale(np.ones(0), np.zeros(0), most_error, most_size)

    def example_directions(self, most: int) -> FloatArray:
        """Return the examples as directions."""
        return dense(self._examples[:: max(1, self._examples.shape[0] // most)])

    # --- labels ---------------------------------------------------------------------------

    def solve(self, labels: FloatArray) -> Solution:
        """Return the parameters; the labels are those of the sums, whatever is passed."""
        return self.solution()

    def solution(self) -> Solution:
        """Return the coefficients, and the mean prediction after them."""
        sums, inverse = self.sums, self._solver.inverse
        matrix = sums.gram + self._filled @ self._filled.T
        matrix[np.diag_indices_from(matrix)] += self._penalties
        with np.errstate(over="ignore", invalid="ignore"):
            values = inverse @ sums.moment
            values = values + inverse @ (sums.moment - matrix @ values)
            residual, size = self._summed_residual(matrix, values), norm(values)
        return Solution(values, residual, gamma(self.n_parameters + 12) * size + SIZE_UNDERFLOW)

    def _summed_residual(self, matrix: FloatArray, values: FloatArray) -> float:
        """Return an upper bound on the norm of the residual of the normal equations."""
        if not self._solver.proven:
            return math.inf
        sums, size = self.sums, norm(values)
        # Of labels whose squares underflow the norm is that of their number.
        labels = math.sqrt(sums.squares * SAFETY) + math.sqrt(sums.n_rows) * 2.0**-500
        spread = norm(matrix)
        rounding = (
            (self._rounding + 4 * UNIT) * math.sqrt(self._trace) * labels  # of the moments
            + self._matrix_error * size  # of the Gram matrix
            + gamma(self.n_parameters + 8) * (norm(sums.moment) + spread * size)  # of this
        )
        underflow = PRODUCT_UNDERFLOW * sums.n_rows * self.n_parameters
        underflow *= 1.0 + sums.largest + size
        measured = norm(sums.moment - matrix @ values)
        return SAFETY * (measured + rounding + underflow)
