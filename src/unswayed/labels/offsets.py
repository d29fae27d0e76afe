"""How far labels may be off: ranges that they cannot leave, shares of them, masks of rows."""

from reprlib import repr as shown
from typing import Any

import numpy as np

from unswayed._core.rounding import above, below
from unswayed._typing import FloatArray
from unswayed.exceptions import BiasError
from unswayed.inputs import as_doubles


def cut(
    lower: FloatArray, upper: FloatArray, y: FloatArray, clip: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return offsets that end where a label would leave a range."""
    low, high = clip
    for row in np.flatnonzero((y < low) | (y > high))[:1]:
        raise BiasError(
            f"the label {y[row]:g} at row {row} is outside clip=({low:g}, {high:g}), which no "
            "label can leave; pass a range that holds every label, or mend the label"
        )
    if np.isfinite(low):
        lower = np.maximum(lower, below(np.full(len(y), low), -y, np.zeros(len(y))))
    if np.isfinite(high):
        upper = np.minimum(upper, above(np.full(len(y), high), -y, np.zeros(len(y))))
    return lower, upper


def as_range(clip: Any) -> tuple[float, float]:
    """Return a range that labels cannot leave, from what a user wrote."""
    wanted = f"clip must be a pair (low, high) with low <= high, got {shown(clip)}"
    if not isinstance(clip, tuple | list) or len(clip) != 2:
        raise BiasError(f"{wanted}; None stands for no end")
    low = -np.inf if clip[0] is None else float(as_doubles(clip[0], wanted, BiasError))
    high = np.inf if clip[1] is None else float(as_doubles(clip[1], wanted, BiasError))
    if not low <= high:
        raise BiasError(f"{wanted}; None stands for no end")
    return low, high


def share_of(share: FloatArray, y: FloatArray) -> FloatArray:
    """Return a share of the absolute value of each label, rounded up."""
    found = share * np.abs(y)
    return np.where((share > 0) & (y != 0), np.nextafter(found, np.inf), 0.0)


def check_index(where: Any, X: Any) -> None:
    """Raise if two pandas objects do not line up: masks are taken by position."""
    mine: Any = getattr(where, "index", None)
    theirs: Any = getattr(X, "index", None)
    if hasattr(mine, "equals") and hasattr(theirs, "equals") and not mine.equals(theirs):
        raise BiasError(
            "where and X have different indexes, so that flags and rows would be mixed up; "
            "build the mask from X itself, for example where=X['gender'] == 'female'"
        )
