"""Columns that depend on one another exactly: one-hot blocks, duplicates, sums.

Least squares of minimum norm has no error bound while its matrix is singular. If integer vectors
are known that the training rows annihilate exactly, the singular directions can be filled in, and
what is left is a regular problem with the same solution. Floats suggest the vectors, exact sums
confirm them; what is not confirmed is not used.
"""

import math

import numpy as np

from unswayed._core.compression import distinct_rows
from unswayed._typing import FloatArray, Matrix
from unswayed.learners.scaling import dense

_FLAT = 1e-11  # eigenvalues below this share of the largest suggest a dependency
_DENOMINATORS = range(1, 13)
_NOISE = 1e-9  # smaller entries of a suggested vector are taken for 0
_NEAR = 1e-6  # a suggested entry is taken for a whole number within this
_LARGEST = 2.0**20  # entries beyond this are no dependency that people make
_MOST_TERMS = 20_000_000  # to be summed exactly


def suggested_null_vectors(gram: FloatArray, scale: FloatArray) -> FloatArray:
    """Whole-number vectors, one per column, that the columns seem to take to a constant.

    Parameters
    ----------
    gram : (m, m) array
        Of the scaled columns; a constant column may come after them.
    scale : (p,) array
        What each column was multiplied by.
    """
    nothing = np.empty((len(scale), 0))
    values, vectors = np.linalg.eigh(gram)
    flat = vectors[: len(scale), values <= _FLAT * values.max(initial=0.0)]
    reduced = _reduced(flat)
    reduced[np.abs(reduced) < _NOISE] = 0.0
    found = []
    for vector in (reduced * scale[:, None]).T:
        whole = _whole(vector / np.abs(vector).max(initial=0.0, where=vector != 0))
        if whole is None:
            return nothing
        found.append(whole)
    return np.array(found).T if found else nothing


def _whole(vector: FloatArray) -> FloatArray | None:
    """The vector times a small number, if that makes it whole."""
    smallest = np.abs(vector[vector != 0]).min(initial=np.inf)
    for times in _DENOMINATORS:
        tried = vector * (times / smallest)
        whole = np.rint(tried)
        if np.abs(tried - whole).max() < _NEAR and np.abs(whole).max() <= _LARGEST:
            return np.asarray(whole)
    return None


def _reduced(vectors: FloatArray) -> FloatArray:
    """Combine columns so that each has a 1 where the others have 0."""
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


def are_null_vectors(features: Matrix, vectors: FloatArray, *, up_to_constant: bool) -> bool:
    """Whether features · vector is exactly 0 (or one constant) in every row, for every vector."""
    return all(_is_flat(features, vector, up_to_constant=up_to_constant) for vector in vectors.T)


def _is_flat(features: Matrix, vector: FloatArray, *, up_to_constant: bool) -> bool:
    used = np.flatnonzero(vector)
    if features.shape[0] * len(used) > _MOST_TERMS:
        return False
    columns = dense(features[:, used])
    columns = np.ascontiguousarray(columns[distinct_rows(columns)[0]])
    # The upper half of the digits and the rest: their products with small integers are exact.
    head = (columns.view(np.int64) & ~np.int64(2**27 - 1)).view(np.float64)
    terms = np.hstack((head * vector[used], (columns - head) * vector[used])).tolist()
    first = terms[0] if up_to_constant else []
    try:
        return all(math.fsum((*row, *(-term for term in first))) == 0 for row in terms)
    except (OverflowError, ValueError):
        return False
