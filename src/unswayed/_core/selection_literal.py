"""Selection of one row, as it is defined: sort the labels, sum the largest, round once.

The reach of k labels is the correctly rounded sum of the k largest values, and the minimum budget
is the least k whose reach exceeds the margin. Nothing here is fast. The kernels return the same
bits, and their NumPy twin asks here about the rows that its faster way leaves open.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from unswayed._typing import FloatArray

if TYPE_CHECKING:
    from unswayed._core.influence import Entries


def ranked_labels(z: FloatArray, entries: "Entries", sign: float) -> FloatArray:
    """Return how far each single label can move the score, largest first, without zeros."""
    signed = sign * z
    value = np.maximum(signed * entries.lower, signed * entries.upper)
    count = np.where(signed >= 0, entries.n_upper, entries.n_lower)
    labels = np.repeat(value, count.astype(np.intp))
    return np.sort(labels[labels > 0])[::-1]


def rounded_sum(values: FloatArray) -> float:
    """Return the correctly rounded sum; infinity if it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def crossing(labels: FloatArray, margin: float) -> tuple[float, float, float]:
    """Return the least count whose reach exceeds the margin, the reach of one less, and its own.

    `labels` are ranked, `margin` is at least 0. Without such a count: infinity, the reach of all
    labels, and 0.
    """
    everything = rounded_sum(labels)
    if not everything > margin:
        return math.inf, everything, 0.0
    low, high = 1, len(labels)
    while low < high:
        middle = (low + high) // 2
        if rounded_sum(labels[:middle]) > margin:
            high = middle
        else:
            low = middle + 1
    return float(low), rounded_sum(labels[: low - 1]), rounded_sum(labels[:low])
