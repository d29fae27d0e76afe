"""Ridge with fewer rows than features: z(x) = √S N⁻¹ √S C c(x) + s/Σs, N = √S C Cᵀ √S + αI.

C are the centred training rows, c(x) a centred row, s the sample weights; without an intercept
nothing is centred and the last term is missing. Everything is scaled by one power of two.
"""

import math

import numpy as np

from unswayed._core.influence import SizedRows
from unswayed._core.rounding import SAFETY, UNIT, binade, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.learners.accuracy import Accuracy, Scores, Solution
from unswayed.learners.definition import Definition
from unswayed.learners.scaling import (
    column_peaks,
    dense,
    padded,
    row_norms,
    scaled_weights,
    weighted_mean,
)
from unswayed.learners.verified import VerifiedInverse

_SMALL = 2.0**-520  # for underflow: see rounding.NEGLIGIBLE


class WideLeastSquares:
    """Ridge solved in the space of the rows.

    Parameters
    ----------
    features : (n, p) matrix, dense or CSR
    alpha : float
    fit_intercept : bool
    sample_weight : (n,) array, optional
    """

    design = None
    row_scale = None

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
    ) -> None:
        self.n_rows, self.n_features = (int(size) for size in features.shape)
        self.definition = Definition(
            "ridge",
            features,
            alpha=alpha,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
        )
        self._sparse = hasattr(features, "indptr")
        self._fit_intercept = fit_intercept
        self._weight, factor = scaled_weights(sample_weight, self.n_rows)
        self._total = float(self._weight.sum())
        self._share = np.zeros(self.n_rows)
        self._mean = np.zeros(self.n_features)
        if fit_intercept:
            self._share = self._weight / self._total
            self._mean = weighted_mean(features, self._share)
        self._root = np.sqrt(self._weight)
        self._scale_rows(features, alpha / factor)
        self._penalty = alpha / factor * self._scale * self._scale
        exact = self._penalty / self._scale / self._scale * factor == alpha
        self._measure_centring()
        self._solver = self._invert(proven=exact)
        self.accuracy = self._accuracy()

    @property
    def n_parameters(self) -> int:
        """Coefficients, and the mean prediction where there is an intercept."""
        return self.n_features + int(self._fit_intercept)

    # --- fitting --------------------------------------------------------------------------

    def _scale_rows(self, features: Matrix, penalty: float) -> None:
        rows = features if self._sparse else features - self._mean
        largest = max(float(column_peaks(rows).max(initial=0.0)), math.sqrt(penalty))
        self._scale = float(1.0 / binade(largest))
        self.parameter_scale = np.full(self.n_parameters, self._scale)
        self.parameter_scale[self.n_features :] = 1.0
        self._rows = rows * self._scale
        # Centring would fill a sparse matrix: there the mean is taken off its products instead.
        self._shift = self._mean * self._scale if self._sparse else np.zeros(self.n_features)
        self._shift_size = float(np.linalg.norm(self._shift)) * SAFETY
        sizes = row_norms(self._rows) + self._shift_size
        self._spread = float(np.linalg.norm(self._root * sizes)) * SAFETY  # √(Σ s ‖row‖²)

    def _measure_centring(self) -> None:
        """How far the rows' own mean may be from 0: rounding of the mean that was taken off."""
        self._off = 0.0
        if self._fit_intercept:
            left = np.asarray(self._share @ self._rows).ravel() - self._shift
            rounding = gamma(self.n_rows + 8) * self._spread / math.sqrt(self._total)
            self._off = SAFETY * (float(np.linalg.norm(left)) + rounding)

    def _invert(self, *, proven: bool) -> VerifiedInverse:
        root = self._root
        matrix = self._inner(self._rows) * np.outer(root, root)
        matrix[np.diag_indices_from(matrix)] += self._penalty
        filled = 0.0
        if self._fit_intercept and self._penalty == 0:
            # Centred rows add up to 0: fill that direction in; it is no row's influence.
            fill = root * ((self._spread or 1.0) / self._total)
            matrix += np.outer(fill, fill)
            filled = float(np.linalg.norm(fill)) ** 2
        total = math.sqrt(self._total)
        error = SAFETY * (
            gamma(self.n_features + 16) * (self._spread**2 + self._penalty * self.n_rows + filled)
            + 2.0 * total * self._off * self._spread
            + (total * self._off) ** 2
        )
        return VerifiedInverse(matrix, error if proven else math.inf)

    def _right_error(self) -> float:
        """How far √S C c(x) may be off, per unit of a row's size."""
        total = math.sqrt(self._total)
        return SAFETY * (
            gamma(self.n_features + 16) * self._spread
            + self._off * (total + self._spread + total * self._off)
        )

    def _accuracy(self) -> Accuracy:
        solver = self._solver
        root = SAFETY * (
            solver.solving * self._spread
            + solver.bound * self._right_error()
            + 8 * UNIT * solver.norm * self._spread
        )
        entry = gamma(self.n_rows + 8) * self._share + _SMALL
        if not solver.proven:
            return Accuracy(math.inf, self._weight, np.zeros(self.n_rows))
        return Accuracy(root + _SMALL, self._weight, entry)

    # --- rows -----------------------------------------------------------------------------

    def inputs(self, rows: Matrix) -> Matrix:
        """Feature rows themselves."""
        return rows

    def _scaled(self, rows: Matrix) -> Matrix:
        return (rows if self._sparse else dense(rows) - self._mean) * self._scale

    def _inner(self, scaled: Matrix) -> FloatArray:
        """Inner products of centred training rows with centred rows, one column per row."""
        raw = dense(self._rows @ scaled.T)
        if not self._sparse:
            return raw
        return np.asarray(
            raw
            - np.asarray(self._rows @ self._shift).reshape(-1, 1)
            - np.asarray(scaled @ self._shift).reshape(1, -1)
            + self._shift @ self._shift
        )

    def _influence(self, inner: FloatArray) -> FloatArray:
        root = self._root[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((root * (self._solver.inverse @ (root * inner))).T)

    def _sizes(self, scaled: Matrix) -> FloatArray:
        """Norms of centred rows, and 1 for the constant."""
        constant = 1.0 + self._shift_size + self._off if self._fit_intercept else 0.0
        return padded(row_norms(scaled) + constant)

    def weights(self, rows: Matrix) -> SizedRows:
        """Whole influence rows."""
        scaled = self._scaled(rows)
        found = self._influence(self._inner(scaled)) + self._share
        return SizedRows(np.ascontiguousarray(found), self._sizes(scaled))

    def directions(self, rows: Matrix) -> FloatArray:
        """Rows as the parameters see them: centred, scaled, with a constant after them."""
        found = (dense(rows) - self._mean) * self._scale
        if not self._fit_intercept:
            return found
        return np.hstack((found, np.ones((len(found), 1))))

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Norms of directions, and their constants."""
        norms = row_norms(directions[:, : self.n_features])
        if self._fit_intercept:
            norms = norms + np.abs(directions[:, -1]) * (1.0 + self._off)
        return padded(norms)

    def direction_weights(self, directions: FloatArray) -> SizedRows:
        """Influence rows of directions in parameter space."""
        linear = directions[:, : self.n_features]
        influence = self._influence(np.asarray(self._rows @ linear.T) - linear @ self._shift)
        if self._fit_intercept:
            influence = influence + directions[:, -1:] * self._share
        return SizedRows(np.ascontiguousarray(influence), self.direction_sizes(directions))

    # --- labels ---------------------------------------------------------------------------

    def solve(self, labels: FloatArray) -> Solution:
        """Coefficients, and the mean prediction after them, when trained on `labels`."""
        solver, root = self._solver, self._root
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(self._share @ labels)
            right = root * (labels - mean) if self._fit_intercept else root * labels
            dual = solver.inverse @ right
            slope = np.asarray(self._rows.T @ (root * dual)).ravel()
            slope = slope - self._shift * float(root @ dual)
            values = np.append(slope, mean) if self._fit_intercept else slope
            return Solution(values, self._score_error(labels, right, dual, slope))

    def _score_error(
        self, labels: FloatArray, right: FloatArray, dual: FloatArray, slope: FloatArray
    ) -> float:
        solver = self._solver
        if not solver.proven:
            return math.inf
        total, terms = math.sqrt(self._total), gamma(self.n_rows + self.n_features + 16)
        size = float(np.linalg.norm(self._root * labels))
        mean = float(self._share @ np.abs(labels))
        missed = solver.solving * float(np.linalg.norm(right)) + solver.bound * terms * (
            size + total * mean
        )
        dual_size = float(np.linalg.norm(dual)) + missed
        slope_error = self._spread * (missed + terms * dual_size) + total * self._off * dual_size
        slope_size = float(np.linalg.norm(slope)) + slope_error
        error = SAFETY * (
            slope_error + (terms + self._off) * slope_size + terms * (mean + size / total)
        )
        return error + _SMALL if math.isfinite(error) else math.inf

    def scores(self, rows: Matrix, solution: Solution) -> Scores:
        """Scores of feature rows."""
        slope, scaled = solution.values[: self.n_features], self._scaled(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(scaled @ slope)
            if self._fit_intercept:
                found = found + (solution.values[-1] - self._shift @ slope)
            return solution.scores(found, self._sizes(scaled))
