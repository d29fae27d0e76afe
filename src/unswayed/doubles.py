"""Numbers from outside as doubles; what is no number, or no double, is refused in words."""

from typing import Any

import numpy as np

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError, UnswayedError


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
