"""What is assumed of doubles, and how far results can be from the truth under that.

Assumed are IEEE 754 doubles, and that an entry of a matrix product is the sum of its products in
any order, with or without fused multiply-add. Bounds are computed in doubles themselves: sums and
products of numbers that are not negative, each off by a relative `UNIT` at most, which `SAFETY`
outweighs a billion times over.
"""

import math
import sys

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNIT = 2.0**-52
"""Relative error of one operation, whichever way it is rounded.

To nearest it is half of that. The threads of a BLAS library may round as they please: nobody can
look into them.
"""

SAFETY = 1.0 + 1e-6
"""Factor on a finished bound, for the roundings in the bound itself."""

TINY = 2.0**-960
"""More than a sum of 2^23 products loses where they underflow, even if that makes them 0."""


class UnprovenError(Exception):
    """Floating point proves nothing here; exact arithmetic has to."""


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


def exponents(numbers: FloatArray, axis: int) -> IntArray:
    """Return, for each row or column, the power of two that all its numbers are smaller than."""
    size = np.abs(numbers).max(axis=axis, initial=0.0, keepdims=True)
    return np.asarray(np.frexp(size)[1], dtype=np.int64)


def scaled(numbers: FloatArray, power: IntArray | int) -> FloatArray:
    """Return numbers times powers of two, without any rounding."""
    found = np.ldexp(numbers, power)
    if not np.array_equal(np.ldexp(found, -np.asarray(power)), numbers):
        raise UnprovenError("sizes differ by more than doubles can hold beside each other")
    return np.asarray(found)
