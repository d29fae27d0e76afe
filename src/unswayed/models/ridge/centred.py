"""The part of ridge that does not depend on whether features or rows are fewer."""

from abc import abstractmethod

import numpy as np
from scipy import sparse

from unswayed._core.rounding import norm
from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import dense
from unswayed.models.learner import LinearLearner, Solution
from unswayed.models.ridge.exact import RidgeSpecification
from unswayed.models.ridge.scaling import ScaledWeights, rescaled, weighted_mean


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
