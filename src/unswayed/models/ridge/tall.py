"""Least squares and ridge: z(x) = S D M⁻¹ φ(x) with M = DᵀSD + αP, S the sample weights.

With an intercept, rows are φ(x) = (x - t, 1) and the constant is not penalised (P is 0 there).
Any shift t gives the same model; near the mean it gives a matrix M that is easy to invert.
Columns are scaled by powers of two, which changes nothing but the units of the parameters.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

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
from unswayed.models.learner import ErrorScale, LinearLearner, Scores, Solution
from unswayed.models.ridge.verified import (
    _LARGEST_EXPONENT,
    _SMALLEST,
    RidgeSpecification,
    VerifiedInverse,
    moment,
    null_vectors,
    padded,
    rescaled,
    row_norms,
    summation,
    times_columns,
    weighted_gram,
    with_ones,
)


@dataclass(frozen=True, slots=True, eq=False)
class ScaledWeights:
    """Sample weights of at most 1, and the power of two they were divided by.

    A positive weight stays positive: it is never rounded to 0, which would leave its row out.
    """

    values: FloatArray  # The scaled weights
    factor: float  # The power of two
    # Whether `values` times `factor` are the weights. They are not if the weights are too far apart
    # or too large, and nothing can be proven then
    exact: bool

    @classmethod
    def of(cls, sample_weight: FloatArray | None, n_rows: int) -> "ScaledWeights":
        """Scale the weights of training rows."""
        if sample_weight is None:
            return cls(np.ones(n_rows), 1.0, exact=True)
        exponent = min(math.frexp(float(sample_weight.max()))[1], _LARGEST_EXPONENT)
        with np.errstate(under="ignore"):
            scaled = np.ldexp(sample_weight, -exponent)
            scaled = np.where(sample_weight > 0, np.maximum(scaled, _SMALLEST), 0.0)
            back = np.ldexp(scaled, exponent)
        exact = bool(scaled.max() <= 1.0) and np.array_equal(back, sample_weight)
        return cls(scaled, math.ldexp(1.0, exponent), exact)


def weighted_mean(features: Matrix, share: FloatArray) -> FloatArray:
    """Return the weighted mean of each column; of a constant dense column, exactly its value.

    It need not be exact otherwise: the intercept makes up for any shift of the features.
    """
    if hasattr(features, "indptr"):
        found: FloatArray = np.asarray(features.T @ share).ravel()
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        mean: FloatArray = np.asarray(share @ features)
    low, high = features.min(axis=0), features.max(axis=0)
    return np.asarray(np.where(low == high, low, np.clip(mean, low, high)))


def column_scale(columns: FloatArray, penalty: float) -> FloatArray:
    """Return powers of two that scale each column to a largest entry of about 1.

    Columns smaller than the root of the penalty are scaled by that root instead.
    """
    return np.asarray(1.0 / binade(np.maximum(columns, math.sqrt(penalty))))


def column_peaks(features: Matrix) -> FloatArray:
    """Return the largest absolute entry of each column."""
    if hasattr(features, "indptr"):
        return np.asarray(abs(features).max(axis=0).toarray(), dtype=np.float64).ravel()
    return np.asarray(np.maximum(-features.min(axis=0), features.max(axis=0)))


# ----------------------------------------------------------------------------------------
# The part of ridge that does not depend on whether features or rows are fewer.


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

    def represent(self, rows: Matrix) -> Matrix:
        """Return the feature rows themselves."""
        return rows

    def directions(self, rows: Matrix) -> FloatArray:
        """Return rows centred and scaled, with a constant 1 after them if there is an intercept."""
        found = dense(rows)
        if not self._fit_intercept:
            return dense(rescaled(found, self._scale))
        # Centred first: large means would cancel at a loss later.
        centred = rescaled(found - self._mean, self._scale)
        return np.hstack((centred, np.ones((len(found), 1))))

    def _linear_scores(self, scaled: Matrix, solution: Solution) -> FloatArray:
        """Return the scores of rows that are scaled, and centred unless they are sparse."""
        slope = solution.values[: self.n_features]
        found = np.asarray(scaled @ slope)
        if self._fit_intercept:
            found = found + (solution.values[-1] - self._shift @ slope)
        return found


# --- Least squares and ridge: z(x) = S D M⁻¹ φ(x) with M = DᵀSD + αP, S the sample weights -


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
