"""Goals: counts, rates and gaps to be made as large as possible, and bounds by multipliers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unswayed._core.rounding import SAFETY, gamma
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.joint.fragile import Events, Fragile


@dataclass(frozen=True, eq=False)
class Goal:
    """The least of some functions of which rows are overturned, to be made as large as possible.

    Examples
    --------
    Two rows that count 1 and one that counts 3, of which two are overturned:

    >>> goal = Goal((Fraction(0),), np.array([[1, 1, 3]]), (Fraction(1),), np.arange(3))
    >>> overturned = np.array([True, False, True])
    >>> goal.value(overturned), goal.ceiling, goal.snap(3.99)
    (Fraction(4, 1), Fraction(5, 1), Fraction(3, 1))
    """

    start: tuple[Fraction, ...]  # Value of each function if no row is overturned
    # What each row adds to each function if it is overturned, in the function's unit
    gains: NDArray[np.int64]
    unit: tuple[Fraction, ...]
    # Rows of the same number are one row, overturned in two ways that exclude each other
    row: IntArray

    @property
    def single(self) -> bool:
        """Whether there is one function only."""
        return len(self.start) == 1

    def apart(self) -> list["Goal"]:
        """Return goals of one function each."""
        parts = zip(self.start, self.gains, self.unit, strict=True)
        return [Goal((start,), gains[None], (unit,), self.row) for start, gains, unit in parts]

    @cached_property
    def offsets(self) -> FloatArray:
        """Starting values, as doubles."""
        return np.array([float(start) for start in self.start])

    @cached_property
    def slopes(self) -> FloatArray:
        """Gains in the goal's own unit, as doubles."""
        return np.asarray(self.gains * np.array([float(unit) for unit in self.unit])[:, None])

    @cached_property
    def size(self) -> float:
        """What tolerances are relative to: a function's gains together, and a bit of its start."""
        gains = float(np.abs(self.slopes).sum(axis=1).max(initial=0.0))
        return gains + 1e-6 * float(np.abs(self.offsets).max(initial=0.0))

    @property
    def wanted(self) -> BoolArray:
        """Rows whose being overturned adds to some function."""
        return np.asarray((self.gains > 0).any(axis=0))

    @property
    def feared(self) -> BoolArray:
        """Rows whose being overturned takes from some function."""
        return np.asarray((self.gains < 0).any(axis=0))

    def value(self, overturned: BoolArray, kept: BoolArray | None = None) -> Fraction:
        """Return what is reached for certain."""
        doubtful = ~overturned if kept is None else ~kept
        counted = np.where(self.gains > 0, overturned, doubtful if kept is not None else overturned)
        sums = (self.gains * counted).sum(axis=1).tolist()
        return min(
            start + unit * int(total)
            for start, unit, total in zip(self.start, self.unit, sums, strict=True)
        )

    def values(self, overturned: FloatArray) -> FloatArray:
        """Return values in doubles, of many sets of rows at once."""
        return np.asarray((self.slopes @ overturned + self.offsets[:, None]).min(axis=0))

    @cached_property
    def ceiling(self) -> Fraction:
        """The largest value there could be if every row could be overturned or not at will.

        Of several functions it is also at most that of their mean: of gaps in both directions, 0.
        """
        most = min(
            start + unit * self._most(gains)
            for start, unit, gains in zip(self.start, self.unit, self.gains, strict=True)
        )
        return most if self.single else min(most, self._ceiling_of_mean)

    @property
    def _ceiling_of_mean(self) -> Fraction:
        count = math.lcm(*(unit.denominator for unit in self.unit))
        weight = [int(unit * count) for unit in self.unit]
        # Python's own integers: products of many denominators are large.
        gains = sum(w * row.astype(object) for w, row in zip(weight, self.gains, strict=True))
        best = np.zeros(int(self.row.max(initial=-1)) + 1, dtype=object)
        np.maximum.at(best, self.row, gains)
        total = sum(self.start) + Fraction(int(best.sum()), count)
        return Fraction(total / len(self.start))

    def _most(self, gains: NDArray[np.int64]) -> int:
        best = np.zeros(int(self.row.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(best, self.row, gains)
        return int(best.sum())

    def snap(self, bound: float) -> Fraction:
        """Return the largest value that exists and is not above a bound."""
        if not math.isfinite(bound):
            return self.ceiling
        exact = Fraction(bound)
        found = []
        for start, unit, gains in zip(self.start, self.unit, self.gains, strict=True):
            step = unit * math.gcd(*gains.tolist())
            found.append(start + step * math.floor((exact - start) / step) if step else start)
        return min(self.ceiling, max(found))

    def next_above(self, value: Fraction) -> float:
        """Return a double at most as large as every value above a given one that exists."""
        found = []
        for start, unit, gains in zip(self.start, self.unit, self.gains, strict=True):
            step = unit * math.gcd(*gains.tolist())
            if step:
                found.append(start + step * (math.floor((value - start) / step) + 1))
            elif start > value:
                found.append(start)
        return math.nextafter(float(min(found)), -math.inf) if found else math.inf


def count_goal(weight: NDArray[np.int64], unit: Fraction, row: IntArray) -> Goal:
    """Return the goal of overturning as many rows as possible."""
    return Goal((Fraction(0),), weight[None, :], (unit,), row)


_MOST_STEPS = 2**45
"""Largest number of steps of a unit: sums of so many are exact in doubles and in int64."""


def whole_numbers(values: FloatArray) -> tuple[NDArray[np.int64], Fraction, Fraction]:
    """Return numbers as multiples of a unit.

    They are taken as they are written: 0.1 is 1/10, and not the double next to it. Numbers that
    have no common unit of reasonable size, such as 1/3 and π, are rounded to multiples of a small
    one.

    Examples
    --------
    >>> steps, unit, blur = whole_numbers(np.array([0.5, 0.1, 2.0]))
    >>> steps.tolist(), unit, blur
    ([5, 1, 20], Fraction(1, 10), Fraction(0, 1))
    """
    written = [Fraction(repr(value)) for value in values.tolist()]
    unit = Fraction(1, math.lcm(*(value.denominator for value in written)))
    return multiples([int(value / unit) for value in written], unit)


def multiples(steps: list[int], unit: Fraction) -> tuple[NDArray[np.int64], Fraction, Fraction]:
    """Return multiples of a unit; of a larger one, rounded, where there are too many steps."""
    total, blur = sum(map(abs, steps)), Fraction(0)
    if total > _MOST_STEPS:
        per_step = -(-total // _MOST_STEPS)
        rounded = [round(Fraction(each, per_step)) for each in steps]
        blur = unit * sum(abs(a - b * per_step) for a, b in zip(steps, rounded, strict=True))
        steps, unit = rounded, unit * per_step
    return np.array(steps, dtype=np.int64), unit, blur


# ----------------------------------------------------------------------------------------
# Bounds that rest on selection alone: whatever the multipliers are, they hold.
#
# For multipliers λ >= 0 of the events' constraints U·f >= level·e - back·(1 - e) and μ >= 0 of
# the cliques Σ e <= 1, every admissible f and e has
#
#     Σ w·e <= Σ max(0, w - λ(level + back) - Σ μ) + Σ λ·back + Σ μ + reach(Σ λ·U).
#
# The last term is one selection on a sum of influence rows. Good multipliers come from a solver,
# but nothing rests on it.


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """What a bound was computed from, so that others can compute it again."""

    events: Events
    cliques: list[list[int]]  # Sets of events that exclude one another
    links: FloatArray  # One multiplier per event
    cuts: FloatArray  # One per clique


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A bound, and the multipliers that lead to it; None where the solver gave none."""

    bound: Fraction
    multipliers: Multipliers | None = None


def lagrangian(
    fragile: Fragile,
    goal: Goal,
    multipliers: Multipliers,
) -> float:
    """Return a bound on what labels can reach, for any multipliers."""
    events, links, cuts = multipliers.events, multipliers.links, multipliers.cuts
    gain = goal.slopes[0]
    worth = _worth(gain, events)
    dual = np.zeros(len(events))
    for members, cut in zip(multipliers.cliques, cuts.tolist(), strict=True):
        dual[members] += cut
    needed = np.abs(events.level) + np.abs(events.back)
    rest = worth - links * (events.level + events.back) - dual
    combined = (links * events.sign) @ fragile.influence[events.at]
    reached = fragile.reach(combined[None], np.array([links @ fragile.rounding[events.at]]))
    # Of rows about which nothing is known, the better outcome is taken.
    unknown = np.abs(gain[~fragile.known])
    terms = [
        goal.offsets[0],
        *np.minimum(gain, 0.0).tolist(),
        *unknown.tolist(),
        *np.maximum(rest, 0.0).tolist(),
        *(links * events.back).tolist(),
        *cuts.tolist(),
        float(reached[0]),
    ]
    size = math.fsum(map(abs, terms)) + float(links @ needed) + float(dual.sum())
    return math.fsum(terms) + SAFETY * gamma(len(cuts) + len(events) + 16) * size


def _worth(gain: FloatArray, events: Events) -> FloatArray:
    """What each event adds to the goal, compared with the worst."""
    here = gain[events.at]
    return np.where(events.over, np.maximum(here, 0.0), np.maximum(-here, 0.0))
