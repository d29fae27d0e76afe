"""Conversion of users' values to arrays, with errors that name what was passed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, UnswayedError


def dense(matrix: Matrix) -> FloatArray:
    """Return a matrix as a dense array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def refuse_masked(values: Any, name: str, error: type[UnswayedError] = InputError) -> None:
    """Raise for a masked array, whose masked values NumPy would take for values."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(
            f"{name} is a masked array, whose masked values would count as values; drop the rows "
            "they are in, or pass filled(...) with a value of your choice"
        )


def as_doubles(values: Any, name: str, error: type[UnswayedError] = InputError) -> FloatArray:
    """Return a new array of doubles."""
    refuse_masked(values, name, error)
    try:
        if np.asarray(values).dtype.kind in "cmM":
            raise TypeError(f"got {np.asarray(values).dtype} values")
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise error(f"{name} holds a number that is too large for a double") from None
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must be numbers: {problem}") from None


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN of any kind, or pandas' NA.

    NaN is what does not equal itself; NA raises when a comparison with it is taken for a bool.
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True


def as_values(values: Any) -> NDArray[Any]:
    """Return values as an array, each as it was given.

    NumPy alone turns the list ["a", nan] into ["a", "nan"], which hides the missing value.
    """
    found = np.asarray(values)
    if found.dtype.kind == "U" and isinstance(values, list | tuple):
        return np.asarray(values, dtype=object)
    return found
