"""The paper's algorithm on one influence row (section 4, algorithms 1 and 4)."""

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.rounding import above, below, ordinary_arithmetic
from unswayed.engines.protocol import FeatureRows
from unswayed.engines.selection import ExactEngine
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.bias import LabelBias
from unswayed.models.smoother import GivenInfluence


@ordinary_arithmetic()
def prediction_range(influence: ArrayLike, y: ArrayLike, bias: LabelBias) -> tuple[float, float]:
    """Return the range of ``influence · y'`` over every label vector y' that the bias allows.

    Rounded outwards: the true range is never wider than what is returned.

    Parameters
    ----------
    influence : (n,) array
        The influence row z: how much each label moves the score.
    y : (n,) array
        Labels.
    bias : LabelBias
        Which labels may be wrong.

    Returns
    -------
    low : float
        The least value.
    high : float
        The largest value.

    Raises
    ------
    InputError
        If influence and labels differ in length, or hold NaN or infinity.
    BiasError
        If the bias does not fit these labels.

    Examples
    --------
    >>> prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=1))
    (3.0, 7.0)
    """
    z, labels = as_doubles(influence, "influence"), as_doubles(y, "y")
    if z.ndim != 1 or z.shape != labels.shape:
        raise InputError(
            f"influence has shape {z.shape} and y {labels.shape}; both must be one-dimensional "
            "and of the same length"
        )
    if not (np.isfinite(z).all() and np.isfinite(labels).all()):
        raise InputError("influence and y must not contain NaN or infinity")
    resolved = bias.resolve(labels)
    learner = GivenInfluence(len(z), np.asarray)
    rows = FeatureRows.of(learner, z[None, :])
    scores = rows.scores(learner.solve(labels))
    found = ExactEngine(learner, resolved).reach(rows, resolved.budget)
    low = below(scores.value, -found.outer_down, scores.error)
    high = above(scores.value, found.outer_up, scores.error)
    return float(low[0]), float(high[0])
