"""Scaling: features in units of powers of two, and centred ones."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from unswayed._core.rounding import LEAST_SIZE, SAFETY, binade, norm
from unswayed._typing import FloatArray, Matrix
from unswayed.inputs import dense
from unswayed.models.learner import LinearLearner, Solution
from unswayed.models.ridge.exact import RidgeSpecification

_SMALLEST = 2.0**-1074
_LARGEST_EXPONENT = 1023  # of a power of two that is a double


def row_norms(matrix: Matrix) -> FloatArray:
    """Return the Euclidean norm of every row, rounded up; only rows of zeros have norm 0."""
    is_sparse = hasattr(matrix, "indptr")
    with np.errstate(over="ignore", under="ignore"):
        if is_sparse:
            squares = with_data(matrix, matrix.data * matrix.data) @ np.ones(matrix.shape[1])
        else:
            squares = np.einsum("ij,ij->i", matrix, matrix)
        norms = np.sqrt(squares) * SAFETY
    small = np.flatnonzero(squares < LEAST_SIZE)
    if len(small):  # squares that underflow: all entries are at most the largest one
        largest = np.abs(dense(matrix[small])).max(axis=1, initial=0.0)
        norms[small] = np.maximum(norms[small], largest * math.sqrt(matrix.shape[1]) * SAFETY)
    return np.asarray(norms)


def rescaled(rows: Matrix, scale: FloatArray | float) -> Matrix:
    """Return rows times factors, without underflow to 0.

    What would underflow to 0 becomes the smallest double instead: a row whose size is 0 is taken to
    have no error, so it must truly be 0.
    """
    if hasattr(rows, "indptr"):
        factors = np.broadcast_to(scale, rows.shape[1])[rows.indices]
        return with_data(rows, rescaled(rows.data, factors))
    with np.errstate(over="ignore", under="ignore"):
        found = np.asarray(rows * scale)
    lost = (found == 0) & (rows != 0) & (np.asarray(scale) != 0)
    if lost.any():
        found[lost] = np.copysign(_SMALLEST, rows[lost])
    return found


def with_data(matrix: Matrix, data: FloatArray) -> Matrix:
    """Return a CSR matrix with other numbers in the same places."""
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def times_columns(matrix: Matrix, factors: FloatArray) -> Matrix:
    """Return a copy of a matrix whose columns are multiplied by factors."""
    if not hasattr(matrix, "indptr"):
        return np.asarray(matrix * factors)
    return with_data(matrix, matrix.data * factors[matrix.indices]).copy()


def with_ones(rows: Matrix) -> Matrix:
    """Return sparse rows with a column of ones after the others."""
    n_rows, width = rows.shape
    size = rows.nnz + n_rows
    kind = np.int64 if size > np.iinfo(np.int32).max else rows.indices.dtype
    starts = rows.indptr.astype(kind) + np.arange(n_rows + 1, dtype=kind)
    old = np.ones(size, dtype=bool)
    old[starts[1:] - 1] = False
    data, indices = np.ones(size), np.full(size, width, dtype=kind)
    data[old], indices[old] = rows.data, rows.indices
    return type(rows)((data, indices, starts), shape=(n_rows, width + 1))


def padded(sizes: FloatArray) -> FloatArray:
    """Return sizes of rows, raised to `LEAST_SIZE` unless they are 0.

    Bounds that are relative to the size then cover underflow too.
    """
    return np.where(sizes == 0, 0.0, np.maximum(sizes, LEAST_SIZE))


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
