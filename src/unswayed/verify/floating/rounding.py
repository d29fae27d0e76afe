"""What is assumed of doubles: that of `doubles`, and sizes of rows and columns."""

import numpy as np

from unswayed.verify.doubles import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    gamma,
    is_ordinary,
    scaled,
)

__all__ = [
    "SAFETY",
    "TINY",
    "UNIT",
    "FloatArray",
    "IntArray",
    "UnprovenError",
    "exponents",
    "gamma",
    "is_ordinary",
    "scaled",
]


def exponents(numbers: FloatArray, axis: int) -> IntArray:
    """Return, for each row or column, the power of two that all its numbers are smaller than."""
    size = np.abs(numbers).max(axis=axis, initial=0.0, keepdims=True)
    return np.asarray(np.frexp(size)[1], dtype=np.int64)
