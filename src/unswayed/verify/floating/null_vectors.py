"""Directions in which parameters do not change any prediction of a training row.

If X·n is constant over the training rows (0 without an intercept), going along n does not change
the fit: the minimum of least penalty, or of least norm, has n·c = 0. It stays the minimum if (n·c)²
is added to what is minimised, and that makes the equations regular where columns depend on each
other exactly, as those of categories do. Floats suggest such directions; whole numbers confirm
them.
"""

from fractions import Fraction

import numpy as np

from unswayed.verify.floating.rounding import FloatArray, IntArray

_SMALL = 1e-9  # of an eigenvalue, beside the largest: suggests a direction, proves nothing
_MOST_FACTOR = 1000  # of the whole numbers that are tried


def null_vectors(
    matrix: FloatArray, rows: FloatArray, used: IntArray, powers: IntArray, intercept: bool
) -> FloatArray:
    """Return confirmed directions, in the units of the equations."""
    width, size = rows.shape[1], len(matrix)
    candidates = _candidates(matrix, powers, intercept)
    found = [each for each in candidates if _is_null(rows, used, each, intercept)]
    made = np.zeros((len(found), size))
    for at, direction in enumerate(found):
        scaled = np.ldexp(direction, -powers)
        top = int(np.frexp(np.abs(scaled).max())[1])
        made[at, :width] = np.ldexp(scaled, -top)
        if not np.array_equal(np.ldexp(made[at, :width], powers + top), direction):
            return np.zeros((0, size))  # lost digits: no such direction any more
    return made


def _candidates(matrix: FloatArray, powers: IntArray, intercept: bool) -> list[FloatArray]:
    """Return vectors of whole numbers that may be null vectors."""
    scale = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
    if not np.isfinite(matrix).all():
        return []
    try:
        sizes, vectors = np.linalg.eigh(matrix / scale / scale[:, None])
    except np.linalg.LinAlgError:
        return []
    small = vectors[:, np.abs(sizes) < _SMALL * np.abs(sizes).max()].T / scale
    small = small[:, :-1] if intercept else small
    return [each for row in _reduced(small) if (each := _whole(np.ldexp(row, -powers))) is not None]


def _reduced(vectors: FloatArray) -> FloatArray:
    """Return a basis of the same space with as many zeros as elimination makes."""
    vectors = vectors.copy()
    for at in range(len(vectors)):
        rest = np.abs(vectors[at:])
        row, column = map(int, np.unravel_index(rest.argmax(), rest.shape))
        vectors[[at, at + row]] = vectors[[at + row, at]]
        if not vectors[at, column]:
            return vectors[:at]
        vectors[at] /= vectors[at, column]
        others = np.arange(len(vectors)) != at
        vectors[others] -= vectors[others, column][:, None] * vectors[at]
    return vectors


def _whole(direction: FloatArray) -> FloatArray | None:
    """Return small whole numbers in the ratios of these numbers; None if there are none."""
    most = np.abs(direction).max(initial=0.0)
    if not 0 < most < np.inf:
        return None
    ratios = direction / most
    ratios = np.where(np.abs(ratios) < 1e-7, 0.0, ratios)
    lcm = 1
    for ratio in ratios[ratios != 0]:
        lcm = int(np.lcm(lcm, Fraction(float(ratio)).limit_denominator(_MOST_FACTOR).denominator))
        if lcm > _MOST_FACTOR:
            return None
    return np.asarray(np.rint(ratios * lcm))


def _is_null(rows: FloatArray, used: IntArray, direction: FloatArray, intercept: bool) -> bool:
    """Return whether the rows times whole numbers are all the same, and 0 without intercept."""
    columns = np.flatnonzero(direction)
    if not len(columns):
        return False
    part, factors = rows[np.ix_(used, columns)], direction[columns]
    whole = (part == np.rint(part)).all() and np.abs(part).max() * np.abs(factors).sum() < 2.0**53
    if whole:  # no sum of these rounds
        values = part @ factors
        return bool((values == (values[0] if intercept else 0.0)).all())
    exact = [int(each) for each in factors]
    first = Fraction(0) if not intercept else None
    for row in part:
        value = sum(
            (factor * Fraction(float(number)) for factor, number in zip(exact, row, strict=True)),
            Fraction(0),
        )
        first = value if first is None else first
        if value != first:
            return False
    return True
