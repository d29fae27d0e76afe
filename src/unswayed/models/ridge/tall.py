"""Least squares and ridge: z(x) = S D M⁻¹ φ(x) with M = DᵀSD + αP, S the sample weights.

With an intercept, rows are φ(x) = (x - t, 1) and the constant is not penalised (P is 0 there).
Any shift t gives the same model; near the mean it gives a matrix M that is easy to invert.
Columns are scaled by powers of two, which changes nothing but the units of the parameters.
"""

import math

import numpy as np
from scipy import sparse

from unswayed._core.influence import Weights
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
from unswayed.models.learner import ErrorScale, Scores, Solution
from unswayed.models.ridge.scaling import (
    CentredRidge,
    column_peaks,
    column_scale,
    padded,
    rescaled,
    row_norms,
    times_columns,
    with_ones,
)
from unswayed.models.ridge.verified import (
    VerifiedInverse,
    moment,
    null_vectors,
    summation,
    weighted_gram,
)

DIRECTION = 8 * UNIT
"""Relative error of directions: they are centred and scaled, a few roundings."""

_WEAK = 1e-6  # a penalty below this share of the columns' squares hardly makes them regular
_LOOSE = 1e-6  # residuals above this are worth a look for columns that depend on one another


class LeastSquares(CentredRidge):
    """Ridge with more rows than features, solved in the space of the features."""

    capabilities = CentredRidge.capabilities | {"anchors"}
    design: Matrix

    def _prepare(self, features: Matrix, penalty: float, *, exact: bool) -> None:
        self.row_scale = None if self.specification.sample_weight is None else self._weight
        self._exact_scaling = exact
        self._build_design(features, penalty)
        self._solve_normal_equations(features, penalty)

    # --- fitting --------------------------------------------------------------------------

    def _build_design(self, features: Matrix, penalty: float) -> None:
        """Set `design`: rows centred and scaled; sparse ones only scaled, to stay sparse."""
        rows = self._centred(features)
        scale = column_scale(column_peaks(rows), penalty)
        self._set_scale(scale)
        # A copy either way: the caller may change the features later.
        rows = times_columns(rows, scale)
        self.design = self._with_constant(rows)

    def _with_constant(self, rows: Matrix) -> Matrix:
        """Return rows with a constant 1 after them if there is an intercept."""
        if not self._fit_intercept:
            return rows
        if not self._sparse:
            return np.hstack((rows, np.ones((rows.shape[0], 1))))
        return with_ones(rows)

    def _solve_normal_equations(self, features: Matrix, penalty: float) -> None:
        """Set up M from the design and invert it."""
        self._invert(features, weighted_gram(self.design, self.row_scale), penalty)
        self.error_scale = self._error_scale()

    @property
    def _rounding(self) -> float:
        """Relative error of the sums over all rows."""
        return summation(self.n_rows)

    def _invert(self, features: Matrix, gram: FloatArray, penalty: float) -> None:
        """Invert M, with dependent columns filled in if the first inverse is poor."""
        # By Cauchy-Schwarz the entries' errors add up to a share of the trace.
        self._trace = float(np.trace(gram)) * SAFETY
        self._penalties = np.zeros(len(gram))
        self._penalties[: self.n_features] = penalty * self._scale * self._scale
        self._filled = np.zeros((len(gram), 0))
        self._solver = self._inverted(gram)
        weak = self._penalties.max(initial=0.0) * len(gram) <= _WEAK * self._trace
        if weak and self._solver.residual > _LOOSE:
            self._filled = self._filling(features, gram)
            if self._filled.size:
                self._solver = self._inverted(gram)

    def _inverted(self, gram: FloatArray) -> VerifiedInverse:
        """Return the inverse of M, to which the directions in `_filled` are added."""
        filled, penalties = self._filled, self._penalties
        matrix = gram + filled @ filled.T
        matrix[np.diag_indices_from(matrix)] += penalties
        added = norm(filled) ** 2 + norm(penalties)
        self._matrix_error = error = SAFETY * (
            (self._rounding + 4 * UNIT) * self._trace
            + gamma(filled.shape[1] + 10) * (added + self._trace)  # null vectors are rounded too
            + SQUARES_UNDERFLOW
        )
        return VerifiedInverse(matrix, error if self._exact_scaling else math.inf)

    def _filling(self, features: Matrix, gram: FloatArray) -> FloatArray:
        """Return directions to penalise where columns depend on one another exactly, as columns.

        The solution (of minimum norm, or with a ridge penalty) is orthogonal to them, so penalising
        them makes M regular and does not change it.
        """
        nothing = np.zeros((len(gram), 0))
        if not np.isfinite(gram).all():
            return nothing
        vectors = null_vectors(features, gram, self._scale, up_to_constant=self._fit_intercept)
        return self._penalised(vectors, gram)

    def _penalised(self, vectors: FloatArray, gram: FloatArray) -> FloatArray:
        """Return vectors that rows take to 0 as directions of the parameters, as long as others."""
        penalised = vectors * self._scale[:, None]
        size = np.linalg.norm(penalised, axis=0)
        wanted = math.sqrt(float(np.trace(gram)) / len(gram)) or 1.0
        penalised = penalised * 2.0 ** np.rint(np.log2(wanted / size))
        return np.vstack((penalised, np.zeros((len(gram) - self.n_features, vectors.shape[1]))))

    def _error_scale(self) -> ErrorScale:
        solver, norms = self._solver, row_norms(self.design)
        product = gamma(self.n_parameters + 8) * (self._weight + SQUARES_UNDERFLOW) * norms
        entry = product + SIZE_UNDERFLOW
        if not solver.proven or not np.isfinite(entry).all():
            return ErrorScale.unknown(self.n_rows)
        error = SAFETY * (solver.residual + DIRECTION) * math.sqrt(solver.bound)
        return ErrorScale(self._weight, entry, error, SAFETY * solver.norm + SIZE_UNDERFLOW)

    def effective_parameters(self) -> float:
        """Return the trace of M⁻¹DᵀSD: the parameters, less what penalties and filling take."""
        inverse = self._solver.inverse
        penalised = float(self._penalties @ np.diag(inverse))
        return (
            self.n_parameters - penalised - float(np.sum(self._filled * (inverse @ self._filled)))
        )

    # --- rows -----------------------------------------------------------------------------

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions."""
        rows = dense(self.design[:: max(1, self.n_rows // most)])
        if self._sparse and self._fit_intercept:
            rows[:, : self.n_features] -= self._shift
        return rows

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return norms; with a sparse design they include the shift that is added to directions."""
        sizes = row_norms(directions)
        if self._sparse and self._fit_intercept:
            sizes = sizes + 2.0 * np.abs(directions[:, -1]) * self._shift_size
        return padded(sizes)

    def _scaled(self, rows: Matrix) -> tuple[Matrix, FloatArray]:
        """Return sparse rows in the units of the design, and their sizes."""
        scaled = rescaled(sparse.csr_array(rows), self._scale)
        constant = 1.0 + 2.0 * self._shift_size if self._fit_intercept else 0.0
        return scaled, padded(row_norms(scaled) + constant)

    def weights(self, represented: Matrix) -> Weights:
        """Return the weight vectors of feature rows; that of the constant comes last."""
        if not self._sparse:
            return self.direction_weights(self.directions(represented))
        scaled, sizes = self._scaled(represented)
        return self._solved(self._with_constant(scaled), sizes)

    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions in parameter space."""
        sizes = self.direction_sizes(directions)
        if self._sparse and self._fit_intercept:
            directions = directions.copy()
            directions[:, : self.n_features] += directions[:, -1:] * self._shift
        return self._solved(directions, sizes)

    def _solved(self, raw: Matrix, sizes: FloatArray) -> Weights:
        """Return the weights M⁻¹ φ of rows φ, with error bounds."""
        found, residual = self._solver.solve(raw, sizes)
        # Σ weight_i (d_i·e)² <= eᵀM e for the error e = M⁻¹r of the weights, r the residual.
        with np.errstate(over="ignore", invalid="ignore"):
            error = SAFETY * math.sqrt(self._solver.bound) * (residual + DIRECTION * sizes)
        return Weights(found, error, np.where(sizes == 0, 0.0, padded(row_norms(found))))

    # --- labels ---------------------------------------------------------------------------

    def _normal_residual(self, labels: FloatArray, solution: FloatArray) -> FloatArray:
        """Return DᵀS(y - Dθ) minus the penalties: the residual of the normal equations."""
        gradient = moment(self.design, self._weight * (labels - self.design @ solution))
        return gradient - self._penalties * solution - self._filled @ (self._filled.T @ solution)

    def solve(self, labels: FloatArray) -> Solution:
        """Return the coefficients, and the mean prediction after them, when trained on `labels`."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._solver.inverse @ moment(self.design, self._weight * labels)
            # Once more for the residual: the first solution is as good as the inverse is.
            values = values + self._solver.inverse @ self._normal_residual(labels, values)
            residual, size = self._residual_norm(labels, values), norm(values)
        if self._sparse and self._fit_intercept:
            values = np.append(values[:-1], values[-1] + self._shift @ values[:-1])
        return Solution(values, residual, gamma(self.n_parameters + 12) * size + SIZE_UNDERFLOW)

    def _residual_norm(self, labels: FloatArray, values: FloatArray) -> float:
        """Return an upper bound on the norm of the residual of the normal equations."""
        if not self._solver.proven:
            return math.inf
        root, size = math.sqrt(self._trace), norm(values)
        # Labels and fitted values, weighted: what the rounding of a residual is relative to.
        fitted = norm(np.sqrt(self._weight) * labels) + size * root
        penalised = norm(self._penalties) + norm(self._filled) ** 2
        terms = self.n_parameters + self._filled.shape[1] + 14
        rounding = (self._rounding + gamma(terms)) * (2 * root * fitted + (penalised + 1.0) * size)
        # Of products, of the design (times labels) and of the penalties (times parameters).
        largest = float(np.abs(labels[self._weight > 0]).max(initial=0.0))
        underflow = PRODUCT_UNDERFLOW * self.n_rows * self.n_parameters * (1.0 + largest + size)
        return SAFETY * (norm(self._normal_residual(labels, values)) + rounding + underflow)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of feature rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not self._sparse:
                return self.direction_scores(self.directions(represented), solution)
            scaled, sizes = self._scaled(represented)
            found = self._linear_scores(scaled, solution)
            return solution.scores(found, sizes, self._solver.bound * sizes)

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions in parameter space."""
        sizes = self.direction_sizes(directions)
        with np.errstate(over="ignore", invalid="ignore"):
            found = directions @ solution.values
        if self._sparse:
            return solution.scores(found, sizes, self._solver.bound * sizes)
        norms = self._solver.solution_norms(directions, sizes)
        return solution.scores(found, sizes, norms + self._solver.bound * DIRECTION * sizes)
