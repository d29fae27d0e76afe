"""Least squares and ridge, solved in the space of the features or, if fewer, in that of the rows.

Of the features: z(x) = S D M⁻¹ φ(x) with M = DᵀSD + αP, S the sample weights. With an intercept,
rows are φ(x) = (x - t, 1) and the constant is not penalised (P is 0 there). Any shift t gives the
same model; near the mean it gives a matrix M that is easy to invert. Columns are scaled by powers
of two, which changes nothing but the units of the parameters.

Of the rows: z(x) = √S N⁻¹ √S C c(x) + s/Σs, N = √S C Cᵀ √S + αI. C are the centred training rows,
c(x) a centred row, s the sample weights; without an intercept nothing is centred and the last term
is missing. Everything is scaled by one power of two.
"""

import math
from abc import abstractmethod
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
from unswayed.models.learner import (
    ErrorScale,
    LinearLearner,
    RidgeSpecification,
    Scores,
    Solution,
)
from unswayed.models.ridge.verified import (
    ScaledWeights,
    VerifiedInverse,
    column_peaks,
    column_scale,
    moment,
    null_vectors,
    padded,
    rescaled,
    row_norms,
    summation,
    times_columns,
    weighted_gram,
    weighted_mean,
    with_ones,
)

DIRECTION = 8 * UNIT
"""Relative error of directions: they are centred and scaled, a few roundings."""

_WEAK = 1e-6  # a penalty below this share of the columns' squares hardly makes them regular
_LOOSE = 1e-6  # residuals above this are worth a look for columns that depend on one another


class CentredRidge(LinearLearner):
    """Ridge on rows that are centred, then scaled by powers of two.

    Sparse rows are not centred, which would fill them with numbers: there the scaled mean
    (`_shift`) is subtracted from products instead.
    """

    parameter_scale: FloatArray
    _scale: FloatArray  # of the features, one power of two each

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
    ) -> None:
        self.n_rows, self.n_features = (int(size) for size in features.shape)
        self.specification = RidgeSpecification(
            features,
            alpha=alpha,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
        )
        self._sparse = hasattr(features, "indptr")
        self._fit_intercept = fit_intercept
        scaled = ScaledWeights.of(sample_weight, self.n_rows)
        self._weight = scaled.values
        self._total = float(self._weight.sum())
        self._share = np.zeros(self.n_rows)  # of each label in the mean prediction
        self._mean = np.zeros(self.n_features)
        if fit_intercept:
            self._share = self._weight / self._total
            self._mean = weighted_mean(features, self._share)
        # The penalty in the weights' units, unless it under- or overflows.
        penalty = alpha / scaled.factor
        exact = scaled.exact and penalty * scaled.factor == alpha
        self._prepare(features, penalty, exact=exact)

    @abstractmethod
    def _prepare(self, features: Matrix, penalty: float, *, exact: bool) -> None:
        """Do all of the solving that does not need the labels, and set `error_scale`."""

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, plus one for the mean prediction where there is an intercept."""
        return self.n_features + int(self._fit_intercept)

    def _centred(self, rows: Matrix) -> Matrix:
        """Return rows minus the mean; sparse rows unchanged."""
        if self._sparse:
            return sparse.csr_array(rows)
        return dense(rows) - self._mean if self._fit_intercept else dense(rows)

    def _set_scale(self, scale: FloatArray) -> None:
        """Set the scale of the features, and the mean of sparse ones in that scale."""
        self._scale = scale
        self.parameter_scale = np.append(scale, 1.0) if self._fit_intercept else scale
        self._shift = self._mean * scale if self._sparse else np.zeros(self.n_features)
        self._shift_size = norm(self._shift)

    def directions(self, rows: Matrix) -> FloatArray:
        """Return rows centred and scaled, with a constant 1 after them if there is an intercept."""
        found = dense(rows)
        if not self._fit_intercept:
            return dense(rescaled(found, self._scale))
        # Centred first: large means would cancel at a loss later.
        return dense(with_ones(rescaled(found - self._mean, self._scale)))

    def _linear_scores(self, scaled: Matrix, solution: Solution) -> FloatArray:
        """Return the scores of rows that are scaled, and centred unless they are sparse."""
        slope = solution.values[: self.n_features]
        found = np.asarray(scaled @ slope)
        if self._fit_intercept:
            found = found + (solution.values[-1] - self._shift @ slope)
        return found


class LeastSquares(CentredRidge):
    """Ridge with more rows than features, solved in the space of the features."""

    capabilities = CentredRidge.capabilities | {"anchors"}
    design: Matrix

    def _prepare(self, features: Matrix, penalty: float, *, exact: bool) -> None:
        self.row_scale = None if self.specification.sample_weight is None else self._weight
        self._exact_scaling = exact
        self._build_design(features, penalty)
        self._solve_normal_equations(features, weighted_gram(self.design, self.row_scale), penalty)

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
        return with_ones(rows) if self._fit_intercept else rows

    def _solve_normal_equations(self, features: Matrix, gram: FloatArray, penalty: float) -> None:
        """Set up M and invert it."""
        self._invert(features, gram, penalty)
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
