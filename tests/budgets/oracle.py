"""Budgets by their definition: every admissible change of a few labels is tried."""

import itertools
import math
from fractions import Fraction

import numpy as np


def changes(lower, upper):
    """Yield all label changes to ends of the intervals."""
    ends = [sorted({0.0, float(low), float(high)}) for low, high in zip(lower, upper, strict=True)]
    return itertools.product(*ends)


def moved(z, change):
    return sum(Fraction(float(a)) * Fraction(b) for a, b in zip(z, change, strict=True))


class Counted:
    """Sets of labels within limits on several parts, and on all together."""

    def __init__(self, parts, cap=math.inf):
        self.parts, self.cap = parts, cap

    def size(self, change):
        """Return the number of labels, infinite if a part has too many."""
        wrong = [at for at, step in enumerate(change) if step]
        inside = set().union(*(set(rows) for rows, _ in self.parts))
        if any(sum(at in rows for at in wrong) > most for rows, most in self.parts):
            return math.inf
        return len(wrong) if set(wrong) <= inside else math.inf

    def allows(self, change):
        return math.inf > self.size(change) <= self.cap


class Clustered:
    def __init__(self, cluster, most):
        self.cluster, self.most = cluster, most

    def size(self, change):
        return len({self.cluster[at] for at, step in enumerate(change) if step})

    def allows(self, change):
        return self.size(change) <= self.most


class Priced:
    def __init__(self, costs, limit):
        self.costs = [math.inf if math.isinf(c) else Fraction(repr(float(c))) for c in costs]
        self.limit = Fraction(repr(float(limit)))

    def size(self, change):
        return sum((self.costs[at] for at, step in enumerate(change) if step), Fraction(0))

    def allows(self, change):
        return self.size(change) <= self.limit


def reach(z, lower, upper, budget):
    """Return how far a score can rise and fall."""
    found = [moved(z, change) for change in changes(lower, upper) if budget.allows(change)]
    return max(found), -min(found)


def least(z, lower, upper, budget, margin):
    """Return the least size of changes that move a score by more than a margin, either way."""
    sizes = [
        budget.size(change)
        for change in changes(lower, upper)
        if abs(moved(z, change)) > Fraction(margin)
    ]
    return min(sizes, default=math.inf)


def total_reach(z, lower, upper, most):
    """Return how far a score can rise and fall if all changes add up to a total, by its dual.

    The largest value of a linear function within boxes and a limit on the sum is at a threshold
    that is one of the slopes, or 0.
    """
    found = []
    for sign in (1, -1):
        slopes = []
        for a, low, high in zip(z, lower, upper, strict=True):
            slope = sign * Fraction(float(a))
            room = Fraction(float(high)) if slope > 0 else -Fraction(float(low))
            slopes.append((abs(slope), room))
        values = [
            Fraction(float(most)) * price
            + sum(max(slope - price, Fraction(0)) * room for slope, room in slopes)
            for price in {Fraction(0), *(slope for slope, _ in slopes)}
        ]
        found.append(min(values))
    return found


def problem(rng, n_rows):
    """Return influence and intervals with ties, zeros and duplicates."""
    kind = rng.integers(4)
    if kind == 0:
        z = rng.integers(-2, 3, n_rows).astype(float)
    elif kind == 1:
        z = rng.normal(size=n_rows) * 10.0 ** rng.integers(-8, 9)
    elif kind == 2:
        z = rng.choice([0.0, 0.1, -0.1, 0.3], n_rows)
    else:
        z = rng.normal(size=n_rows).round(1)
    lower = -rng.choice([0.0, 0.5, 1.0, 1.0], n_rows)
    upper = rng.choice([0.0, 0.25, 1.0, 1.0], n_rows)
    if rng.random() < 0.5:
        lower, upper = -np.ones(n_rows), np.ones(n_rows)
    return z, lower, upper
