"""The paper's algorithm on one influence row (section 4, algorithms 1 and 4)."""

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core import selection
from unswayed._core.influence import InfluenceMap
from unswayed.bias import LabelBias
from unswayed.exceptions import InputError


def prediction_range(influence: ArrayLike, y: ArrayLike, bias: LabelBias) -> tuple[float, float]:
    """Range of ``influence · y'`` over every label vector y' that the bias allows.

    Parameters
    ----------
    influence : (n,) array
        The influence row z: how much each label moves the score.
    y : (n,) array
        Labels.
    bias : LabelBias

    Examples
    --------
    >>> prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=1))
    (3.0, 7.0)
    """
    z, labels = np.asarray(influence, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if z.ndim != 1 or z.shape != labels.shape:
        raise InputError(
            f"influence has shape {z.shape} and y {labels.shape}; both must be one-dimensional "
            "and of the same length"
        )
    if not (np.isfinite(z).all() and np.isfinite(labels).all()):
        raise InputError("influence and y must not contain NaN or infinity")
    resolved = bias.resolve(labels)
    over_entries = InfluenceMap(None, resolved.lower, resolved.upper)
    up, down = selection.reach(over_entries(z[None, :]), over_entries.entries, resolved.budget)
    score = float(z @ labels)
    return score - float(down[0]), score + float(up[0])
