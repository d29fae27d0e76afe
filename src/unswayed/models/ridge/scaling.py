"""Centring and scaling that lose nothing: shifts by a double, factors that are powers of two."""

import math
from dataclasses import dataclass

import numpy as np

from unswayed._core.rounding import LEAST_SIZE, SAFETY, binade
from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import dense

_SMALLEST = 2.0**-1074
_LARGEST_EXPONENT = 1023  # of a power of two that is a double


def row_norms(matrix: Matrix) -> FloatArray:
    """Euclidean norm of every row, rounded up; 0 for zero rows only."""
    is_sparse = hasattr(matrix, "indptr")
    with np.errstate(over="ignore", under="ignore"):
        if is_sparse:
            squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", matrix, matrix)
        norms = np.sqrt(squares) * SAFETY
    small = np.flatnonzero(squares < LEAST_SIZE)
    if len(small):  # squares that underflow: all entries are at most the largest one
        largest = np.abs(dense(matrix[small])).max(axis=1, initial=0.0)
        norms[small] = np.maximum(norms[small], largest * math.sqrt(matrix.shape[1]) * SAFETY)
    return np.asarray(norms)


def rescaled(rows: Matrix, scale: FloatArray | float) -> Matrix:
    """Rows · scale, powers of two or roots of weights; 0 only where a factor is 0.

    What would underflow to 0 becomes the smallest double instead: a row whose size is 0 has no
    error, so it must be 0 in truth.
    """
    if hasattr(rows, "indptr"):
        factors = np.broadcast_to(scale, rows.shape[1])[rows.indices]
        data = rescaled(rows.data, factors)
        return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)
    with np.errstate(over="ignore", under="ignore"):
        found = np.asarray(rows * scale)
    lost = (found == 0) & (rows != 0) & (np.asarray(scale) != 0)
    if lost.any():
        found[lost] = np.copysign(_SMALLEST, rows[lost])
    return found


def padded(sizes: FloatArray) -> FloatArray:
    """Sizes of rows that are not 0, made large enough for underflow to disappear in them."""
    return np.where(sizes == 0, 0.0, np.maximum(sizes, LEAST_SIZE))


@dataclass(frozen=True, slots=True, eq=False)
class ScaledWeights:
    """Sample weights of at most 1, and the power of two they were divided by.

    Only a weight of 0 becomes 0: a row without weight counts for nothing, and every other one
    for something. `exact` tells whether all of them are what they were, times that power; if not
    (they are too far apart, or too large) nothing can be proven with them.
    """

    values: FloatArray
    factor: float
    exact: bool

    @classmethod
    def of(cls, sample_weight: FloatArray | None, n_rows: int) -> "ScaledWeights":
        """Scale the weights of `n_rows` rows; None are all 1."""
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
    """Weighted mean of each column, and exactly its value where a column is constant.

    Any shift near the mean will do: the intercept takes it back.
    """
    if hasattr(features, "indptr"):
        found: FloatArray = np.asarray(features.T @ share).ravel()
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        mean: FloatArray = np.asarray(share @ features)
    low, high = features.min(axis=0), features.max(axis=0)
    return np.asarray(np.where(low == high, low, np.clip(mean, low, high)))


def column_scale(columns: FloatArray, penalty: float) -> FloatArray:
    """Powers of two that make the largest entry of each column, or its penalty, about 1."""
    return np.asarray(1.0 / binade(np.maximum(columns, math.sqrt(penalty))))


def column_peaks(features: Matrix) -> FloatArray:
    """Largest absolute entry of each column."""
    if hasattr(features, "indptr"):
        return np.asarray(abs(features).max(axis=0).toarray(), dtype=np.float64).ravel()
    return np.asarray(np.maximum(-features.min(axis=0), features.max(axis=0)))
