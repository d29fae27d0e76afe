"""The selection kernels in NumPy: the fallback without a compiler, and the reference for tests.

They sort, and sum exactly, where the compiled kernels are faster. Both return the same bits,
because the answer does not depend on the order of summation: the reach of k labels is the
correctly rounded sum of the k largest values.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from unswayed._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unswayed._core.compression import Entries


def _ranked(z: FloatArray, entries: "Entries", sign: float) -> FloatArray:
    """Return how far each single label can move the score, largest first, without zeros."""
    signed = sign * z
    value = np.maximum(signed * entries.lower, signed * entries.upper)
    count = np.where(signed >= 0, entries.n_upper, entries.n_lower)
    labels = np.repeat(value, count.astype(np.intp))
    return np.sort(labels[labels > 0])[::-1]


def _rounded_sum(values: FloatArray) -> float:
    """Return the correctly rounded sum; infinity if it overflows."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def _minimum_budget_of_row(labels: FloatArray, margin: float) -> tuple[float, float, float]:
    """Return the least count whose reach exceeds the margin, the reach of one less, and its own."""
    if margin < 0:
        return 0.0, 0.0, 0.0
    everything = _rounded_sum(labels)
    if not everything > margin:
        return math.inf, everything, 0.0
    low, high = 1, len(labels)
    while low < high:
        middle = (low + high) // 2
        if _rounded_sum(labels[:middle]) > margin:
            high = middle
        else:
            low = middle + 1
    return float(low), _rounded_sum(labels[: low - 1]), _rounded_sum(labels[:low])


def reach(z: FloatArray, entries: "Entries", budget: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the `budget` strongest labels move each row's score, up and down."""
    taken = int(min(budget, entries.n_labels))
    up, down = (
        np.array([_rounded_sum(_ranked(row, entries, sign)[:taken]) for row in z])
        for sign in (1.0, -1.0)
    )
    return up, down


def extremes(
    z: FloatArray, entries: "Entries", budget: int, sign: float
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return each row's reach and the entries that attain it, ties to the first entry.

    That is: reaches, entries (per row as many as the last array says), what is added to their
    labels, and how many entries these are.
    """
    most = min(budget, len(entries))
    reached, length = np.zeros(len(z)), np.zeros(len(z), dtype=np.int64)
    index, amount = np.zeros((len(z), most), dtype=np.int64), np.zeros((len(z), most))
    for row, influence in enumerate(z):
        signed = sign * influence
        value = np.maximum(signed * entries.lower, signed * entries.upper)
        count = np.where(signed >= 0, entries.n_upper, entries.n_lower)
        order = np.argsort(-value, kind="stable")
        ranked = np.where(value[order] > 0, count[order], 0.0)
        taken = np.empty(len(order))
        taken[order] = np.clip(budget - (np.cumsum(ranked) - ranked), 0.0, ranked)
        chosen = np.flatnonzero(taken)
        offset = np.where(signed >= 0, entries.upper, entries.lower)
        reached[row] = _rounded_sum(_ranked(influence, entries, sign)[:budget])
        length[row] = len(chosen)
        index[row, : len(chosen)] = chosen
        amount[row, : len(chosen)] = taken[chosen] * offset[chosen]
    return reached, index, amount, length


def minimum_budget(
    z: FloatArray, entries: "Entries", margin_up: FloatArray, margin_down: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where the reach of the strongest labels exceeds a margin, upwards and downwards.

    Three arrays of one row per row of `z`: how many labels, their reach without the last of
    them, and with it.
    """
    count, before, after = np.empty((3, len(z), 2))
    for row, influence in enumerate(z):
        for side, margin in enumerate((margin_up[row], margin_down[row])):
            found = (np.inf, 0.0, 0.0)
            if margin != np.inf:
                labels = _ranked(influence, entries, 1.0 - 2.0 * side)
                found = _minimum_budget_of_row(labels, margin)
            count[row, side], before[row, side], after[row, side] = found
    return count, before, after
