"""Arithmetic in doubles: what is assumed of it, and how far results can be from the truth.

Assumed are IEEE 754 doubles, and that an entry of a matrix product is the sum of its products in
any order, with or without fused multiply-add. Bounds are computed in doubles themselves: sums and
products of numbers that are not negative, each off by a relative `UNIT` at most, which `SAFETY`
outweighs a billion times over. A bound that overflows is infinite or NaN, and then it proves
nothing: every comparison is written so that NaN fails it.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Integers = Any  # an array of integers of any size

MOST_EXACT_BITS = 2**31  # of such integers at any one time

UNIT = 2.0**-52
"""Relative error of one operation, whichever way it is rounded; to nearest it is half of that.

The threads of a BLAS library may round as they please: nobody can look into them."""

SAFETY = 1.0 + 1e-6
"""Factor on a finished bound, for the roundings in the bound itself."""

TINY = 2.0**-960
"""More than a sum of 2^23 products loses where they underflow, even if that makes them 0."""

ROOT_OF_TINY = 2.0**-480
"""The same for the root of such a sum."""

PART, PARTS = 64, 32  # rows that are added up at a time, and such sums: few roundings for each row


class UnprovenError(Exception):
    """Doubles prove nothing here."""


# Read when they are used: constants inside a function would be folded when it is compiled.
_LEAST_NORMAL, _HALF = sys.float_info.min, 0.5
_ONE, _TIE, _BEYOND_TIE = 1.0, 2.0**-53, 1.5 * 2.0**-53


def is_ordinary() -> bool:
    """Return whether this thread rounds to nearest, ties to even, and keeps subnormal numbers.

    Any library may have changed that. Python's operations and NumPy's are both asked.
    """
    for one, tie, beyond, least in (
        (_ONE, _TIE, _BEYOND_TIE, _LEAST_NORMAL),
        (np.array([_ONE]), np.array([_TIE]), np.array([_BEYOND_TIE]), np.array([_LEAST_NORMAL])),
    ):
        subnormal = least * _HALF
        keeps = subnormal + subnormal == least
        down, up = one + tie == one, one + beyond != one
        mirrored = -one - tie == -one and -one - beyond != -one
        if not (keeps and down and up and mirrored):
            return False
    return True


def gamma(terms: int) -> float:
    """Return the relative error of a sum of rounded products, in any order."""
    lost = terms * UNIT
    return lost / (1.0 - lost) * SAFETY if lost < 0.5 else math.inf


def gamma_of_parts(n_rows: int) -> float:
    """Return the relative error of a sum over rows that is made part by part."""
    return gamma(min(PART, n_rows) + PARTS + n_rows // (PART * PARTS) + 8)


def parts(rows: slice) -> Iterator[slice]:
    """Yield the rows that are added up at a time."""
    return (slice(at, min(at + PART, rows.stop)) for at in range(rows.start, rows.stop, PART))


def groups_of_parts(n_rows: int) -> Iterator[slice]:
    """Yield the rows of which such sums are added up first."""
    step = PART * PARTS
    return (slice(at, min(at + step, n_rows)) for at in range(0, n_rows, step))


def sum_of_parts(rows: FloatArray) -> FloatArray:
    """Return the sum of each row of a matrix, made part by part."""
    n_rows, width = rows.shape
    step = PART * PARTS
    total = np.zeros(n_rows)
    for start in range(0, width, step):
        here = rows[:, start : start + step]
        whole = here.shape[1] - here.shape[1] % PART
        made = here[:, :whole].reshape(n_rows, -1, PART).sum(axis=2).sum(axis=1)
        total += made + here[:, whole:].sum(axis=1)
    return total


def norm(vectors: FloatArray, axis: int | None = None) -> FloatArray:
    """Return upper bounds on Euclidean norms."""
    squares = (vectors * vectors).sum(axis=axis)
    return np.asarray(np.sqrt(squares) * SAFETY + ROOT_OF_TINY)


def exponents(sizes: FloatArray) -> IntArray:
    """Return the powers of two that numbers are smaller than."""
    return np.asarray(np.frexp(sizes)[1], dtype=np.int64)


def scaled(numbers: FloatArray, power: IntArray | int) -> FloatArray:
    """Return numbers times powers of two, without any rounding."""
    found = np.ldexp(numbers, power)
    if not np.array_equal(np.ldexp(found, -np.asarray(power)), numbers):
        raise UnprovenError("sizes differ by more than doubles can hold beside each other")
    return np.asarray(found)


# --- doubles as integers ----------------------------------------------------------------------


def lowest(numbers: FloatArray) -> int:
    """Return the exponent of a power of two, 1 at most, that doubles are multiples of."""
    fractions, powers = np.frexp(numbers)
    digits = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    low = int(np.where(digits == 0, 0, powers - 53 + zeros).min(initial=0))
    if (int(powers.max(initial=0)) - low) * numbers.size > MOST_EXACT_BITS:
        raise UnprovenError("sizes differ by too much for exact arithmetic")
    return low


def whole(numbers: FloatArray, low: int) -> Integers:
    """Return doubles as integers: times 2 to the power of -`low`."""
    fractions, powers = np.frexp(numbers)
    digits = np.ldexp(fractions, 53).astype(np.int64).astype(object)
    return digits << (powers - low).astype(object) >> 53


def inverse_size(
    left: FloatArray, right: FloatArray, doubt: FloatArray, inverse: FloatArray
) -> float:
    """Return a bound on the norm of an inverse, from one that is approximate; infinite if none.

    `left` times `right` should be the identity; `doubt` bounds the sums of the rows of what that
    product is off by, apart from its own roundings.
    """
    rest = np.abs(left @ right - np.eye(len(left))).sum(axis=1)
    rest += gamma(len(left) + 4) * (np.abs(left) @ np.abs(right).sum(axis=1) + 1) + doubt
    most = float(rest.max()) * SAFETY
    if not most < 0.5:  # NaN proves nothing
        return math.inf
    return float(np.abs(inverse).sum(axis=1).max()) / (1 - most) * SAFETY
