"""Columns that depend on one another exactly: one-hot blocks, duplicates, sums.

Least squares of minimum norm has no error bound while its matrix is singular. If vectors are
known that the training rows take to exactly 0, these directions can be filled in, which gives a
regular problem with the same solution. Eigenvectors suggest vectors of whole numbers, exact sums
confirm them; what is not confirmed is not used.

A column of two values is a 0/1 column in other units, whatever a scaler made of it. Dependencies
are searched for in those units too, where they are whole numbers.
"""

import math

import numpy as np

from unswayed._core.compression import distinct_rows
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.doubles import dense

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
