"""The selection kernels in NumPy: the fallback without a compiler, and their oracle.

Literal where the compiled kernels are clever: sort, and sum exactly. Both return the same bits,
because the answer is defined without an order of summation: the reach of k labels is the
correctly rounded sum of the k largest values.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from unswayed._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unswayed._core.compression import Entries


def _ranked(z: FloatArray, entries: "Entries", sign: float) -> FloatArray:
    """What each single label can do to the score, largest first, zeros left out."""
    signed = sign * z
    value = np.maximum(signed * entries.lower, signed * entries.upper)
    count = np.where(signed >= 0, entries.n_upper, entries.n_lower)
    labels = np.repeat(value, count.astype(np.intp))
    return np.sort(labels[labels > 0])[::-1]


def _rounded_sum(values: FloatArray) -> float:
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def _minimum_budget_of_row(labels: FloatArray, margin: float) -> tuple[float, float, float]:
    """Count whose reach exceeds the margin, the reach before it, and its own."""
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


def reach(
    z: FloatArray, entries: "Entries", budget: float, up: FloatArray, down: FloatArray
) -> None:
    """Fill `up` and `down` with how far the `budget` strongest labels move each row's score."""
    for row, influence in enumerate(z):
        taken = int(min(budget, entries.n_labels))
        up[row] = _rounded_sum(_ranked(influence, entries, 1.0)[:taken])
        down[row] = _rounded_sum(_ranked(influence, entries, -1.0)[:taken])


def extremes(
    z: FloatArray,
    entries: "Entries",
    budget: int,
    sign: float,
    reached: FloatArray,
    index: IntArray,
    amount: FloatArray,
    length: IntArray,
) -> None:
    """Fill in each row's reach and the entries that attain it, ties to the first entry."""
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


def minimum_budget(
    z: FloatArray,
    entries: "Entries",
    margin_up: FloatArray,
    margin_down: FloatArray,
    count: FloatArray,
    before: FloatArray,
    after: FloatArray,
) -> None:
    """Fill in, upwards and downwards, where the reach of the strongest labels exceeds a margin."""
    for row, influence in enumerate(z):
        for side, margin in enumerate((margin_up[row], margin_down[row])):
            found = (np.inf, 0.0, 0.0)
            if margin != np.inf:
                labels = _ranked(influence, entries, 1.0 - 2.0 * side)
                found = _minimum_budget_of_row(labels, margin)
            count[row, side], before[row, side], after[row, side] = found
