"""An inverse with a proof, and what prepares its matrix: scales, Gram matrices, null spaces."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from unswayed._core.influence import distinct_rows
from unswayed._core.kernels import few_blas_threads
from unswayed._core.rounding import LEAST_SIZE, SAFETY, binade, gamma
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.inputs import dense

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
    """Return rows with a column of ones after the others."""
    n_rows, width = rows.shape
    if not hasattr(rows, "indptr"):
        return np.hstack((rows, np.ones((n_rows, 1))))
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


_BLOCK = 1024


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, start + _BLOCK)


def roundings(n_rows: int) -> int:
    """Return how many roundings follow one another in the sums of `weighted_gram` and `moment`."""
    return min(n_rows, _BLOCK) + -(-n_rows // _BLOCK)


def summation(n_rows: int) -> float:
    """Return the relative error of the sums that `weighted_gram` and `moment` compute.

    It covers sums within a block and over the blocks, and products of three factors.
    """
    return gamma(roundings(n_rows) + 4)


def weighted_gram(design: Matrix, weight: FloatArray | None) -> FloatArray:
    """Return Σ weight_i d_i d_iᵀ over the rows d_i of `design`."""
    total = np.zeros((design.shape[1], design.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            part = design[here]
            if hasattr(part, "indptr"):
                _add_sparse_gram(total, part, None if weight is None else weight[here])
            elif weight is None:
                total += part.T @ part
            else:
                total += part.T @ (part * weight[here, None])
    return total


def _add_sparse_gram(total: FloatArray, part: Matrix, weight: FloatArray | None) -> None:
    """Add the Gram matrix of a few sparse rows to `total`: where it is 0, nothing is touched."""
    scaled = part
    if weight is not None:
        scaled = with_data(part, part.data * np.repeat(weight, np.diff(part.indptr)))
    # Every place occurs once in the product, so that adding by position loses nothing.
    added = (part.T @ scaled).tocoo()
    total[added.row, added.col] += added.data


def moment(design: Matrix, values: FloatArray) -> FloatArray:
    """Return Σ values_i d_i over the rows d_i of `design`."""
    total = np.zeros(design.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            total += design[here].T @ values[here]
    return total


# ----------------------------------------------------------------------------------------
# Approximate inverses with a proven error bound.

_CONVINCING = 0.5  # a defect above this proves nothing worth having
_SMALL = 256  # products with matrices up to this size are cheap beside all the rest
_VERIFIED_BLOCK = 2**17  # numbers looked at at a time
_NEGLIGIBLE = 0.25  # share of the rounding that measuring a residual takes: less is not improved on
_SHARP = 1e-8  # with larger ones, solutions are refined and measured above this residual only


class VerifiedInverse:
    """Approximate inverse G of a symmetric matrix M that is known up to an error.

    If ‖I - M G‖ <= defect < 1, then M is regular and ‖M⁻¹‖ <= ‖G‖ / (1 - defect), however G was
    computed.
    """

    def __init__(self, matrix: FloatArray, error: float) -> None:
        size = len(matrix)
        with few_blas_threads(size), np.errstate(over="ignore", invalid="ignore"):
            self.inverse = _invert(matrix)
            self.norm = _norm(self.inverse)
            missed = matrix @ self.inverse
            missed[np.diag_indices(size)] -= 1.0
        # Rounding of that product, what M is off by, and rounding of products with G later on.
        spread = _norm(matrix) + error
        rounding = gamma(size + 2) * (spread * self.norm + math.sqrt(size))
        defect = SAFETY * (float(np.linalg.norm(missed)) + error * self.norm + rounding)
        self.defect = defect
        self.proven = bool(defect < _CONVINCING)
        self.bound = self.norm / (1.0 - defect) * SAFETY if self.proven else math.inf
        self.residual = SAFETY * (defect + rounding) if self.proven else math.inf
        sharp = self.proven and (size <= _SMALL or self.residual > _SHARP)
        self._matrix = matrix if sharp else None
        self._residual_rounding = SAFETY * (gamma(size + 4) * spread + error)

    def solution_norms(self, right: Matrix, sizes: FloatArray) -> FloatArray:
        """Return upper bounds on ‖M⁻¹ b‖ for every row b of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._matrix is None:
                return self.bound * sizes
            found, residual = self.solve(right, sizes)
            return SAFETY * (row_norms(found) + self.bound * residual)

    def solve(self, right: Matrix, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve M x = b approximately for every row b of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(right @ self.inverse)
            if self._matrix is None:
                return found, self.residual * sizes
            # Measured residuals are far less than G promises for every right side. Where M is
            # badly conditioned, they are solved for once more.
            right = dense(right)
            missed = right - found @ self._matrix
            rounding = self._measuring(found, sizes)
            poor = np.flatnonzero(~(row_norms(missed) <= _NEGLIGIBLE * rounding))
            if len(poor):
                found[poor] += missed[poor] @ self.inverse
                missed[poor] = right[poor] - found[poor] @ self._matrix
                rounding[poor] = self._measuring(found[poor], sizes[poor])
            return found, SAFETY * (row_norms(missed) + rounding)

    def _measuring(self, found: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return bounds on the rounding of measured residuals."""
        return self._residual_rounding * row_norms(found) + gamma(len(self.inverse) + 4) * sizes


def _norm(matrix: FloatArray) -> float:
    """Return an upper bound on the spectral norms of a symmetric matrix and its absolute value."""
    # In blocks: a second matrix of that size would cost more than the sums.
    blocks = np.array_split(matrix, 1 + matrix.size // _VERIFIED_BLOCK)
    rows = max(float(np.abs(block).sum(axis=1).max(initial=0.0)) for block in blocks)
    frobenius = float(np.linalg.norm(matrix))
    # Of small entries the squares underflow: that norm would then be too small.
    return (min(frobenius, rows) if frobenius > LEAST_SIZE else rows) * SAFETY


def _invert(matrix: FloatArray) -> FloatArray:
    """Return an approximate inverse of a symmetric matrix; zeros if the matrix is not finite."""
    size = len(matrix)
    if not np.isfinite(matrix).all():
        return np.zeros_like(matrix)  # proves nothing, and says so
    factor, failed = linalg.lapack.dpotrf(matrix, lower=True)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=True)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
    if failed or not np.isfinite(inverse).all():
        values, vectors = linalg.eigh(matrix)
        kept = np.abs(values) > size * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
        with np.errstate(over="ignore"):
            inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        inverse = (inverse + inverse.T) / 2
    return np.asarray(inverse)


# ----------------------------------------------------------------------------------------
# Columns that depend on one another exactly: one-hot blocks, duplicates, sums.
#
# Least squares of minimum norm has no error bound while its matrix is singular. If vectors are
# known that the training rows take to exactly 0, these directions can be filled in, which gives a
# regular problem with the same solution. Eigenvectors suggest vectors of whole numbers, exact
# sums confirm them; what is not confirmed is not used.
#
# A column of two values is a 0/1 column in other units, whatever a scaler made of it.
# Dependencies are searched for in those units too, where they are whole numbers.

_FLAT = 1e-11  # eigenvalues below this share of the largest suggest a dependency
_DENOMINATORS = range(1, 13)
_NOISE = 1e-9  # smaller entries of a suggested vector are taken for 0
_NEAR = 1e-6  # a suggested entry is taken for a whole number within this
_LARGEST = 2.0**20  # entries beyond this are no dependency that people make
_MOST_TERMS = 20_000_000  # to be summed exactly
_LEAST_UNIT = 2.0**-400  # smaller units, and their inverses, might underflow


def null_vectors(
    features: Matrix, gram: FloatArray, scale: FloatArray, *, up_to_constant: bool
) -> FloatArray:
    """Return vectors that every row takes to exactly 0, or all rows to one constant.

    Their entries are off by two roundings at most.
    """
    nothing = np.empty((len(scale), 0))
    values, vectors = np.linalg.eigh(gram)
    flat = _reduced(vectors[: len(scale), values <= _FLAT * values.max(initial=0.0)])
    flat[np.abs(flat) < _NOISE] = 0.0
    if not flat.any():
        return nothing
    used = np.flatnonzero(flat.any(axis=1))
    readings = [
        _Units(features, columns, up_to_constant=up_to_constant) for columns in (used[:0], used)
    ]
    found = []
    for vector in (flat * scale[:, None]).T:
        confirmed = (units.null_vector(vector) for units in readings)
        null = next((each for each in confirmed if each is not None), None)
        if null is None:
            return nothing
        found.append(null)
    return np.array(found).T


class _Units:
    """Features in units where columns of two values are 0 and 1, for the columns to look at.

    Other columns stay as they are. So do columns of two values other than 0 if no constant can make
    up for the shift.
    """

    def __init__(self, features: Matrix, columns: IntArray, *, up_to_constant: bool) -> None:
        self._features = features.tocsc() if hasattr(features, "indptr") else features
        self._up_to_constant = up_to_constant
        self.size = np.ones(features.shape[1])
        self._zero = np.full(features.shape[1], np.nan)  # the value that becomes 0, if any
        for at in columns.tolist():
            column = dense(self._features[:, [at]])
            low, high = float(column.min()), float(column.max())
            if high == 0:
                low, high = high, low
            size = high - low
            known = _LEAST_UNIT < abs(size) < 1 / _LEAST_UNIT and (up_to_constant or low == 0)
            if known and ((column == low) | (column == high)).all():
                self.size[at], self._zero[at] = size, low

    def null_vector(self, suggested: FloatArray) -> FloatArray | None:
        """Return the null vector of whole numbers, in these units, that is suggested; else None."""
        whole = _whole(suggested * self.size)
        return None if whole is None or not self._is_flat(whole) else whole / self.size

    def _is_flat(self, vector: FloatArray) -> bool:
        """Return whether columns times these whole numbers sum to exactly 0, or to one constant."""
        used = np.flatnonzero(vector)
        if self._features.shape[0] * len(used) > _MOST_TERMS:
            return False
        columns = np.array(dense(self._features[:, used]), order="C")
        two = ~np.isnan(self._zero[used])
        columns[:, two] = columns[:, two] != self._zero[used][two]
        columns = np.ascontiguousarray(columns[distinct_rows(columns)[0]])
        # The upper half of the digits and the rest: their products with small integers are exact.
        head = (columns.view(np.int64) & ~np.int64(2**27 - 1)).view(np.float64)
        terms = np.hstack((head * vector[used], (columns - head) * vector[used])).tolist()
        first = terms[0] if self._up_to_constant else []
        try:
            return all(math.fsum((*row, *(-term for term in first))) == 0 for row in terms)
        except (OverflowError, ValueError):
            return False


def _whole(vector: FloatArray) -> FloatArray | None:
    """Return a multiple of the vector that is whole numbers up to noise, rounded, or None."""
    if not vector.any():
        return None
    vector = vector / np.abs(vector).max()
    smallest = np.abs(vector[vector != 0]).min()
    for times in _DENOMINATORS:
        tried = vector * (times / smallest)
        whole = np.rint(tried)
        if np.abs(tried - whole).max() < _NEAR and np.abs(whole).max() <= _LARGEST:
            return np.asarray(whole)
    return None


def _reduced(vectors: FloatArray) -> FloatArray:
    """Return combinations of the columns such that each has a 1 where the others have 0."""
    vectors = vectors.copy()
    free = np.ones(len(vectors), dtype=bool)
    for at in range(vectors.shape[1]):
        pivot = int(np.argmax(np.where(free, np.abs(vectors[:, at]), -1.0)))
        if vectors[pivot, at] == 0:
            return vectors
        free[pivot] = False
        vectors[:, at] /= vectors[pivot, at]
        others = np.arange(vectors.shape[1]) != at
        vectors[:, others] -= np.outer(vectors[:, at], vectors[pivot, others])
    return vectors
