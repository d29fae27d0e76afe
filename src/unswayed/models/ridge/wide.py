"""Ridge with fewer rows than features: z(x) = √S N⁻¹ √S C c(x) + s/Σs, N = √S C Cᵀ √S + αI.

C are the centred training rows, c(x) a centred row, s the sample weights; without an intercept
nothing is centred and the last term is missing. Everything is scaled by one power of two.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from unswayed._core.influence import Weights
from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SIZE_UNDERFLOW,
    SQUARES_UNDERFLOW,
    UNIT,
    binade,
    gamma,
    norm,
)
from unswayed._typing import FloatArray, Matrix
from unswayed.inputs import dense
from unswayed.models.family import Family, decision_scores, one_alpha, register
from unswayed.models.learner import ErrorScale, LinearLearner, Scores, Solution
from unswayed.models.ridge.tall import CentredRidge, LeastSquares, column_peaks
from unswayed.models.ridge.verified import (
    VerifiedInverse,
    null_vectors,
    padded,
    rescaled,
    row_norms,
)


class WideLeastSquares(CentredRidge):
    """Ridge with fewer rows than features, solved in the space of the rows."""

    def _prepare(self, features: Matrix, penalty: float, *, exact: bool) -> None:
        self._root = np.sqrt(self._weight)
        scale = self._scale_rows(features, penalty)
        self._penalty = penalty * scale * scale
        exact = exact and self._penalty / scale / scale == penalty
        self._measure_centring()
        self._solver = self._invert(features, proven=exact)
        self.error_scale = self._error_scale()

    # --- fitting --------------------------------------------------------------------------

    def _scale_rows(self, features: Matrix, penalty: float) -> float:
        """Set the training rows, scaled by one power of two; return that power."""
        rows = self._centred(features)
        largest = max(float(column_peaks(rows).max(initial=0.0)), math.sqrt(penalty))
        scale = float(1.0 / binade(largest))
        self._set_scale(np.full(self.n_features, scale))
        self._rows = rows * scale
        sizes = row_norms(self._rows) + self._shift_size
        self._spread = norm(self._root * sizes)  # √(Σ s ‖row‖²)
        return scale

    def _measure_centring(self) -> None:
        """Bound how far the mean of the centred rows is from 0, because the mean was rounded."""
        self._mean_error = 0.0
        if self._fit_intercept:
            left = np.asarray(self._share @ self._rows).ravel() - self._shift
            # Of the sum, and of the total that the shares were divided by.
            rounding = gamma(2 * self.n_rows + 8) * self._spread / math.sqrt(self._total)
            self._mean_error = SAFETY * (norm(left) + rounding + PRODUCT_UNDERFLOW * self.n_rows)

    def _invert(self, features: Matrix, *, proven: bool) -> VerifiedInverse:
        """Return the inverse of N, with null directions filled in where there is no penalty."""
        root = self._root
        matrix = self._inner(self._rows) * np.outer(root, root)
        matrix[np.diag_indices_from(matrix)] += self._penalty
        filled = 0.0
        if self._penalty == 0 and np.isfinite(matrix).all():
            fill = self._filling(features, matrix)
            matrix += fill @ fill.T
            filled = norm(fill) ** 2
        total = math.sqrt(self._total)
        error = SAFETY * (
            gamma(self.n_features + self.n_rows + 16)
            * (self._spread**2 + self._penalty * self.n_rows + filled)
            + 2.0 * total * self._mean_error * self._spread
            + (total * self._mean_error) ** 2
            + SIZE_UNDERFLOW
        )
        return VerifiedInverse(matrix, error if proven else math.inf)

    def _filling(self, features: Matrix, matrix: FloatArray) -> FloatArray:
        """Return directions in the null space of N, as columns, where training rows are dependent.

        Right sides √S C c(x) are orthogonal to them, so filling them in makes N regular and does
        not change the solution of minimum norm.
        """
        root, size = self._root, self._spread / math.sqrt(self.n_rows) or 1.0
        still = np.eye(self.n_rows)[:, root == 0] * size
        ones = np.zeros((self.n_rows, 0))
        if self._fit_intercept:  # centred rows add up to 0
            ones = root[:, None] * (size / float(np.linalg.norm(root)))
        known = np.hstack((still, ones))
        rows = features.T
        if self._fit_intercept:
            above = np.ones((1, self.n_rows))
            rows = sparse.vstack((rows, above)) if self._sparse else np.vstack((rows, above))
        rows = sparse.csr_array(rows) if self._sparse else rows
        vectors = null_vectors(rows, matrix + known @ known.T, root, up_to_constant=False)
        found = vectors / np.where(root == 0, 1.0, root)[:, None]
        return np.hstack((known, found * (size / np.linalg.norm(found, axis=0))))

    def effective_parameters(self) -> float:
        """Return the trace of the hat matrix: without a penalty there is a parameter per row."""
        if not self._penalty:
            return float(self.n_rows)
        kept = self.n_rows - self._penalty * float(np.trace(self._solver.inverse))
        return kept + float(self._fit_intercept)

    def _right_error(self) -> float:
        """Return a bound on the error of √S C c(x), per unit of a row's size."""
        total = math.sqrt(self._total)
        return SAFETY * (
            gamma(self.n_features + 16) * self._spread
            + self._mean_error * (total + self._spread + total * self._mean_error)
            + SIZE_UNDERFLOW
        )

    def _error_scale(self) -> ErrorScale:
        solver = self._solver
        if not solver.proven:
            return ErrorScale.unknown(self.n_rows)
        entry = gamma(self.n_rows + 8) * self._share + SIZE_UNDERFLOW
        error = self._dual_error(solver.residual * self._spread, solver.norm * self._spread, 1.0)
        return ErrorScale(self._weight, entry, float(error), 1.0)

    def _dual_error(
        self, residual: FloatArray | float, found: FloatArray | float, sizes: FloatArray | float
    ) -> FloatArray | float:
        """Return the errors of dual solutions, given their residuals, their norms and row sizes."""
        right = self._right_error() * sizes
        error = SAFETY * (self._solver.bound * (residual + right) + 8 * UNIT * found)
        return error + SIZE_UNDERFLOW * sizes

    # --- rows -----------------------------------------------------------------------------

    def _scaled(self, rows: Matrix) -> Matrix:
        return rescaled(self._centred(rows), self._scale)

    def _inner(self, scaled: Matrix) -> FloatArray:
        """Return inner products of centred training rows with centred rows, one column per row."""
        raw = dense(self._rows @ scaled.T)
        if not self._sparse:
            return raw
        return np.asarray(
            raw
            - np.asarray(self._rows @ self._shift).reshape(-1, 1)
            - np.asarray(scaled @ self._shift).reshape(1, -1)
            + self._shift @ self._shift
        )

    def _influence(self, inner: FloatArray, sizes: FloatArray, constant: FloatArray) -> Weights:
        """Return influence rows, given the inner products of each row with the training rows."""
        found, residual = self._solver.solve(inner * self._root, self._spread * sizes)
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.asarray(self._dual_error(residual, row_norms(found), sizes))
            found = found * self._root + constant * self._share
        return Weights(np.ascontiguousarray(found), error, sizes)

    def _sizes(self, scaled: Matrix) -> FloatArray:
        """Return norms of centred rows, plus 1 for the constant."""
        constant = 1.0 + self._shift_size + self._mean_error if self._fit_intercept else 0.0
        return padded(row_norms(scaled) + constant)

    def weights(self, represented: Matrix) -> Weights:
        """Return the influence rows themselves: there is no design."""
        scaled = self._scaled(represented)
        return self._influence(self._inner(scaled).T, self._sizes(scaled), np.ones((1, 1)))

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return norms of directions, plus the sizes of their constants."""
        norms = row_norms(directions[:, : self.n_features])
        if self._fit_intercept:
            norms = norms + np.abs(directions[:, -1]) * (1.0 + self._mean_error)
        return padded(norms)

    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return influence rows of directions in parameter space."""
        linear = directions[:, : self.n_features]
        inner = np.asarray(self._rows @ linear.T).T - (linear @ self._shift)[:, None]
        return self._influence(inner, self.direction_sizes(directions), directions[:, -1:])

    # --- labels ---------------------------------------------------------------------------

    def solve(self, labels: FloatArray) -> Solution:
        """Return the coefficients, and the mean prediction after them, when trained on `labels`."""
        solver, root = self._solver, self._root
        with np.errstate(over="ignore", invalid="ignore"):
            centre = float(self._share @ labels)
            right = root * (labels - centre) if self._fit_intercept else root * labels
            (dual,), (residual,) = solver.solve(right[None], row_norms(right[None]))
            slope = np.asarray(self._rows.T @ (root * dual)).ravel()
            slope = slope - self._shift * float(root @ dual)
            values = np.append(slope, centre) if self._fit_intercept else slope
            total, terms = math.sqrt(self._total), gamma(self.n_rows + self.n_features + 16)
            size = norm(root * labels)
            # A share may underflow, and the row's label be huge.
            largest = float(np.abs(labels[self._weight > 0]).max(initial=0.0))
            mean = float(self._share @ np.abs(labels)) + largest * self.n_rows * SQUARES_UNDERFLOW
            # Of the equations for the labels as they are, not as they were centred and rounded.
            residual = SAFETY * (float(residual) + terms * (size + total * mean))
            return Solution(values, residual, self._rounding(residual, dual, slope) + terms * mean)

    def _rounding(self, residual: float, dual: FloatArray, slope: FloatArray) -> float:
        """Return the error of scores that comes from computing the slope and from centring."""
        total, terms = math.sqrt(self._total), gamma(self.n_rows + self.n_features + 16)
        dual_size = norm(dual) + self._solver.bound * residual
        # Of a row that underflows nothing is left, and its dual value may be huge.
        lost = PRODUCT_UNDERFLOW * self.n_rows
        error = (terms * self._spread + total * self._mean_error + lost) * dual_size
        slope_size = norm(slope) + (self._spread * terms + lost) * dual_size
        return SAFETY * (error + (terms + self._mean_error) * slope_size) + SIZE_UNDERFLOW

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of feature rows."""
        scaled = self._scaled(represented)
        with np.errstate(over="ignore", invalid="ignore"):
            found, sizes = self._linear_scores(scaled, solution), self._sizes(scaled)
            norms = self._solution_norms(self._inner(scaled).T, sizes)
            return solution.scores(found, sizes, norms)

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions in parameter space."""
        sizes = self.direction_sizes(directions)
        with np.errstate(over="ignore", invalid="ignore"):
            found = directions @ solution.values
            return solution.scores(found, sizes, self._solver.bound * self._spread * sizes)

    def _solution_norms(self, inner: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return upper bounds on the norms of the rows' dual solutions."""
        found = self._solver.solution_norms(inner * self._root, self._spread * sizes)
        return found + self._solver.bound * self._right_error() * sizes


# --- LinearRegression, Ridge and RidgeClassifier -------------------------------------------


def _solver(
    final: Any, features: Matrix, sample_weight: FloatArray | None, alpha: float
) -> LinearLearner:
    n_rows, n_features = features.shape
    # Whichever space is smaller, that of the features or that of the rows.
    learner = WideLeastSquares if n_rows < n_features else LeastSquares
    return learner(
        features, alpha=alpha, fit_intercept=final.fit_intercept, sample_weight=sample_weight
    )


def _least_squares(final: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearLearner:
    return _solver(final, features, sample_weight, 0.0)


def _ridge(final: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearLearner:
    return _solver(final, features, sample_weight, one_alpha(final))


register(Family((LinearRegression,), learner=_least_squares))
register(Family((Ridge,), learner=_ridge, check=one_alpha))
register(
    Family(
        (RidgeClassifier,),
        learner=_ridge,
        check=one_alpha,
        codes=(-1.0, 1.0),
        scores=decision_scores,
    )
)
