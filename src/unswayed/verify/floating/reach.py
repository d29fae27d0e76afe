"""How far k labels can move a score: bounds on the sum of the k largest steps.

Of label i only a bound u_i on its step from above and one from below, l_i, are known. The k largest
u_i sum up to an upper bound on the k largest steps; the l_i of the same labels to a lower bound, as
those of any k labels do.
"""

import math
from dataclasses import dataclass

import numpy as np

from unswayed.verify.floating.enclosure import two_sum
from unswayed.verify.floating.given import Entries
from unswayed.verify.floating.rounding import SAFETY, TINY, FloatArray, IntArray, gamma

SAFETY_OF_SUM = 1.0 + 2.0**-50  # for the roundings of a factor on a sum
_ROUNDED = 2.0**-49  # of a sum: its products and the sum itself, 8 roundings to nearest


@dataclass(frozen=True, slots=True)
class Prefix:
    """Sums of the k largest steps of one row in one direction, for k up to some number."""

    labels: FloatArray  # How many labels the first entries have, from one entry on
    upper: FloatArray  # Bounds on what these labels add up to
    lower: FloatArray  # Bounds on what these labels add up to
    most: FloatArray  # Bounds on the step of one label of each entry
    least: FloatArray  # Bounds on the step of one label of each entry
    # Bounds on what all labels add up to, from below and from above
    everything: tuple[float, float]
    n_labels: float  # How many labels there are

    def within(self, budget: float) -> tuple[float, float]:
        """Return bounds on the sum of the largest steps of some labels."""
        known = float(self.labels[-1]) if len(self.labels) else 0.0
        budget = min(budget, self.n_labels)
        if budget <= 0:
            return 0.0, 0.0
        if budget > known:  # what is left out adds something
            lowest = self.everything[0] if budget == self.n_labels else 0.0
            return lowest, self.everything[1]
        at = int(np.searchsorted(self.labels, budget))
        used, upper, lower = 0.0, 0.0, 0.0
        if at:
            used, upper, lower = (
                float(part[at - 1]) for part in (self.labels, self.upper, self.lower)
            )
        upper += (budget - used) * float(self.most[at])
        lower += (budget - used) * float(self.least[at])
        lost = budget * TINY
        lower = max(0.0, lower * (1.0 - _ROUNDED) - lost)  # 0 if it is NaN
        return lower if lower < math.inf else 0.0, upper * (1.0 + _ROUNDED) + lost


def prefixes(
    influence: FloatArray, error: FloatArray, entries: Entries, labels: int
) -> list[Prefix]:
    """Return sums of steps in the direction of the influence, row by row."""
    above, below = influence + error, influence - error
    most = _most(influence, error, entries)
    least = np.maximum(below * entries.upper, above * entries.lower)
    least = np.maximum(least, 0.0)
    everything = _bounds_of_all(most, least, entries)
    order = _largest(most, labels)
    most, least = (np.take_along_axis(part, order, axis=1) for part in (most, least))
    count = entries.count[order]
    sums = np.cumsum(count, axis=1), _sums(most * count), _sums(least * count)
    n_labels = float(entries.count.sum())
    so_far, upper, lower = sums
    return [
        Prefix(so_far[row], upper[row], lower[row], most[row], least[row], ends, n_labels)
        for row, ends in enumerate(everything)
    ]


def _most(influence: FloatArray, error: FloatArray, entries: Entries) -> FloatArray:
    """Return bounds from above on the step of one label of each entry, 0 or more."""
    above, below = influence + error, influence - error
    return np.maximum(above * entries.upper, below * entries.lower)


def furthest(influence: FloatArray, error: FloatArray, entries: Entries, budget: int) -> FloatArray:
    """Return how far labels move each row at most in the direction of the influence.

    This is what `Prefix.within` says of a single number of labels, in less time and with a little
    more room for rounding.
    """
    most = _most(influence, error, entries)
    order = _largest(most, budget)
    count = entries.count[order]
    before = np.cumsum(count, axis=1) - count
    taken = np.clip(budget - before, 0.0, count)
    total = (np.take_along_axis(most, order, axis=1) * taken).sum(axis=1)
    return np.asarray(total * (1.0 + gamma(order.shape[1] + 4)) * SAFETY_OF_SUM + budget * TINY)


def _bounds_of_all(
    most: FloatArray, least: FloatArray, entries: Entries
) -> list[tuple[float, float]]:
    """Return bounds on the sum of all steps of each row."""
    size = most.shape[1]
    relative, lost = gamma(size + 4), size * TINY
    upper = most @ entries.count * (1.0 + relative) * SAFETY + lost
    lower = np.maximum(least @ entries.count * (1.0 - relative) / SAFETY - lost, 0.0)
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def _largest(steps: FloatArray, labels: int) -> IntArray:
    """Return the places of the largest steps of each row, the largest first."""
    size = steps.shape[1]
    wanted = min(max(1, labels), size)
    if wanted < size:
        order = np.argpartition(steps, size - wanted, axis=1)[:, size - wanted :]
        ranks = np.argsort(-np.take_along_axis(steps, order, axis=1), axis=1)
        return np.asarray(np.take_along_axis(order, ranks, axis=1))
    return np.asarray(np.argsort(-steps, axis=1))


def _sums(terms: FloatArray) -> FloatArray:
    """Return sums of the first terms, as good as rounded once each.

    What each addition loses is found and added up on its own.
    """
    totals = np.cumsum(terms, axis=1)
    again, lost = two_sum(totals[:, :-1], terms[:, 1:])
    sums = totals.copy()
    sums[:, 1:] += np.cumsum(lost, axis=1)
    sums[:, 1:][again != totals[:, 1:]] = math.nan  # not added in this order: nothing is known
    return sums
