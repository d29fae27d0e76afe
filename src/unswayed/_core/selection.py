"""Dispatch of the selection kernels: compiled where it was built, else the NumPy twin."""

import numpy as np

from unswayed._core import selection_numpy
from unswayed._core.compression import Entries
from unswayed._typing import FloatArray

try:
    from unswayed._core import _selection as _compiled  # type: ignore[attr-defined]
except ImportError:
    _compiled = None


def kernel_name() -> str:
    """Return which kernel answers: ``"compiled"`` or ``"numpy"``."""
    return "numpy" if _compiled is None else "compiled"


def reach(z: FloatArray, entries: Entries, budget: float) -> tuple[FloatArray, FloatArray]:
    """How far the `budget` most influential labels can raise and lower each row's score."""
    up, down = np.empty(len(z)), np.empty(len(z))
    if _compiled is None:
        selection_numpy.reach(z, entries, budget, up, down)
    else:
        _compiled.reach(z, *entries.sides, float(budget), up, down)
    return up, down


def moves(z: FloatArray, entries: Entries, budget: float, sign: float) -> FloatArray:
    """What those labels are moved by: per entry, the sum over its labels.

    `sign` is +1 for the labels that raise the score most, -1 for those that lower it most.
    """
    out = np.empty(z.shape)
    if _compiled is None:
        selection_numpy.moves(z, entries, budget, sign, out)
    else:
        _compiled.moves(z, *entries.sides, float(budget), sign, out)
    return out


def minimum_budget(
    z: FloatArray, entries: Entries, margin_up: FloatArray, margin_down: FloatArray
) -> FloatArray:
    """Least number of labels whose reach exceeds a row's margin, either way; inf if none."""
    out = np.empty(len(z))
    if _compiled is None:
        selection_numpy.minimum_budget(z, entries, margin_up, margin_down, out)
    else:
        _compiled.minimum_budget(z, *entries.sides, margin_up, margin_down, out)
    return out


if __name__ == "__main__":
    print(
        "kernel: compiled"
        if kernel_name() == "compiled"
        else "kernel: NumPy twin (no C++ compiler was found; same results, slower)"
    )
