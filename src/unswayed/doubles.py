"""Values from outside: as they were given, or as doubles; what is neither is refused in words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, UnswayedError


def dense(matrix: Matrix) -> FloatArray:
    """Return a matrix as an array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def refuse_masked(values: Any, name: str, error: type[UnswayedError] = InputError) -> None:
    """Raise for a masked array: NumPy would take what lies behind the mask for values.

    Parameters
    ----------
    values : anything
    name : str
        What the caller calls it.
    error : type
        What to raise.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise error(
            f"{name} is a masked array, whose masked values would count as values; drop the rows "
            "they are in, or pass filled(...) with a value of your choice"
        )


def as_doubles(values: Any, name: str, error: type[UnswayedError] = InputError) -> FloatArray:
    """Return a new array of doubles.

    Parameters
    ----------
    values : array-like of real numbers
    name : str
        What the caller calls it.
    error : type
        What to raise if they are none.

    Returns
    -------
    array
    """
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
    """None, every kind of NaN (it does not equal itself), and pandas' NA (it will not say)."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True


def as_values(values: Any) -> NDArray[Any]:
    """Values as an array, each as it was given.

    NumPy alone turns the list ["a", nan] into ["a", "nan"], which hides the gap.
    """
    found = np.asarray(values)
    if found.dtype.kind == "U" and isinstance(values, list | tuple):
        return np.asarray(values, dtype=object)
    return found
