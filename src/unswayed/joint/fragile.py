"""Fragile rows: what single label changes do to them, and which exclude one another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._core.influence import Entries
from unswayed._core.kernels import block_starts, run_blocks
from unswayed._core.rounding import SAFETY, gamma, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.labels.budgets import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Label changes, equal ones once: all labels of an entry that may move the same way."""

    entry: IntArray
    sign: FloatArray  # +1 for labels that rise, -1 for labels that fall
    offset: FloatArray  # What a change adds to a label, times the label's weight in training
    count: FloatArray  # How many labels there are

    @classmethod
    def of(cls, entries: Entries) -> "Columns":
        """Return the label changes that entries stand for."""
        up, down = np.flatnonzero(entries.n_upper), np.flatnonzero(entries.n_lower)
        return cls(
            entry=np.concatenate((up, down)),
            sign=np.repeat([1.0, -1.0], [len(up), len(down)]),
            offset=np.concatenate((entries.upper[up], entries.lower[down])),
            count=np.concatenate((entries.n_upper[up], entries.n_lower[down])),
        )

    def __len__(self) -> int:
        return len(self.entry)


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """An admissible set of label changes."""

    rows: IntArray  # Training rows, ascending
    share: FloatArray  # How much of its offset each label is moved by, above 0 and at most 1
    sign: FloatArray  # +1 for labels that rise, -1 for labels that fall
    column: IntArray  # The column that each label belongs to
    amount: FloatArray  # Sum of the shares of each of the columns
    added: FloatArray | None = None  # Of labels that are classes: to the number of each class


@dataclass(frozen=True, eq=False, kw_only=True)
class Fragile:
    """Rows that are not proven robust, each with the direction in which it is overturned.

    A row that can be overturned both ways is here twice. The influence of a row is multiplied by
    its direction, so that what overturns it is positive.
    """

    row: IntArray  # Which of the distinct rows in question
    way: FloatArray  # 1 where a row is overturned by rising, -1 where by falling
    influence: FloatArray
    margin: FloatArray  # More movement than this overturns
    error: FloatArray  # Of a movement and of the margin together. Infinite where nothing is known
    # How far labels can move the row towards being overturned and away from it, rounded up
    ahead: FloatArray
    back: FloatArray
    # Weight vectors: influence is their product with the design rows of the entries
    weights: FloatArray
    design: Matrix | None
    entries: Entries
    n_labels: int  # Number of training labels
    budget: Budget
    whole: bool  # Labels move by all of their offset or not at all, as flips do

    def __len__(self) -> int:
        return len(self.row)

    @property
    def known(self) -> BoolArray:
        """Rows of which anything is known; the others may be overturned or not by any labels."""
        return np.isfinite(self.error)

    @property
    def countable(self) -> bool:
        """Whether the budget is a number of labels, so that any so many labels are admissible."""
        return self.budget.countable

    @property
    def aimed(self) -> BoolArray:
        """Rows that attacks look for labels of."""
        return self.known

    @property
    def firm(self) -> BoolArray:
        """Events that happen, or others of their row, wherever labels move the row too far."""
        return self.known

    @property
    def opposed(self) -> BoolArray:
        """Events that happen, and no others of their row, wherever labels move it too far."""
        return self.firm

    @property
    def rival(self) -> IntArray:
        """Of two classes, the number of the one that each event leads to."""
        return (self.way > 0).astype(np.intp)

    @cached_property
    def whole_columns(self) -> bool:
        """Whether a whole number of labels of each column moves, and each label one way only."""
        ways = (self.columns_of_labels >= 0).sum(axis=0)
        return self.whole and self.countable and not (ways > 1).any()

    @cached_property
    def columns(self) -> Columns:
        """Single label changes."""
        return Columns.of(self.entries)

    @cached_property
    def effects(self) -> FloatArray:
        """What each single label change does to each row, (t, c)."""
        return self.influence[:, self.columns.entry] * self.columns.offset

    @cached_property
    def least(self) -> FloatArray:
        """Movement that every set of labels makes at least which overturns a row, error included.

        Minus infinity where nothing is known.
        """
        return narrower(self.margin, self.error)

    @cached_property
    def most(self) -> FloatArray:
        """Movement that every set of labels makes at most which leaves a row as it is."""
        return wider(self.margin, self.error)

    def reach(self, combined: FloatArray, error: FloatArray) -> FloatArray:
        """Return how far labels can move sums of rows at most."""
        up, _ = self.budget.reach(np.ascontiguousarray(combined), self.entries)
        return wider(up * SAFETY_OF_SUMS, error)

    def reach_without(self, rows: IntArray, checked: IntArray) -> FloatArray:
        """Return how far labels can move some rows, if those of some training rows are right."""
        entries, counts = self.entries, []
        present = (entries.n_upper, entries.n_lower)
        for of, count in zip(self.columns_of_labels, present, strict=True):
            column = of[checked]
            entry = self.columns.entry[column[column >= 0]]
            counts.append(count - np.bincount(entry, minlength=len(count)))
        left = replace(
            entries,
            n_upper=counts[0],
            n_lower=counts[1],
            upper=np.where(counts[0] > 0, entries.upper, 0.0),
            lower=np.where(counts[1] > 0, entries.lower, 0.0),
        )
        return self.budget.reach(np.ascontiguousarray(self.influence[rows]), left)[0]

    @cached_property
    def rounding(self) -> FloatArray:
        """What each row adds to the rounding error of a weighted sum of rows, per unit of weight.

        The error of the rows themselves is in `least` and `most`.
        """
        return SAFETY * gamma(len(self) + 8) * (self.ahead + self.back)

    # --- sets of labels -------------------------------------------------------------------

    def moved(self, changes: Changes) -> FloatArray:
        """Return how far changes move each row: a sum that is rounded once."""
        effects = self.effects[:, changes.column] * changes.share
        return np.array([math.fsum(row) for row in effects.tolist()])

    def outcome(self, changes: Changes) -> tuple[BoolArray, BoolArray]:
        """Return the rows that the changes are proven to overturn, and those proven to stay."""
        moved = self.moved(changes)
        overturned = narrower(moved, self.error) > self.margin
        kept = wider(moved, self.error) <= self.margin
        return overturned & self.known, kept & self.known

    @property
    def sharing(self) -> IntArray | None:
        """The labels that each column is of, by number, where they have several; None otherwise."""
        return None

    def happening(self, moved: FloatArray, margin: FloatArray) -> FloatArray:
        """Return which events happen, 1 or 0, if labels move each by so much, as doubles add up."""
        return (moved > margin[:, None]).astype(np.float64)

    @cached_property
    def columns_of_labels(self) -> IntArray:
        """For each training row the columns of its rise and of its fall; -1 where it has none."""
        entries = self.entries
        found = np.full((2, self.n_labels), -1)
        number = np.repeat(np.arange(len(self.columns)), self.columns.count.astype(np.intp))
        n_up = len(entries.members_up)
        found[0, entries.members_up] = number[:n_up]
        found[1, entries.members_down] = number[n_up:]
        return found

    def from_labels(self, rows: IntArray, share: FloatArray, column: IntArray) -> Changes:
        """Return label changes given label by label."""
        amount = np.bincount(column, weights=share, minlength=len(self.columns)).astype(float)
        return Changes(rows, share, self.columns.sign[column], column, amount)

    def part(self, changes: Changes, kept: IntArray | slice) -> Changes:
        """Return some of the labels of a set."""
        return self.from_labels(changes.rows[kept], changes.share[kept], changes.column[kept])

    @property
    def unchanged(self) -> Changes:
        """No label changes at all."""
        nothing = np.zeros(0, dtype=np.intp)
        return self.from_labels(nothing, np.zeros(0), nothing)

    def from_columns(self, labels: IntArray, amount: FloatArray) -> Changes | None:
        """Return label changes given by how many labels of each column move.

        Of equal labels those with the lowest row numbers are taken.
        """
        if labels.sum() > self.budget.most_labels:
            return None
        taken: dict[int, tuple[float, int]] = {}
        for at in np.flatnonzero((labels > 0) & (amount > 0)).tolist():
            sign = float(self.columns.sign[at])
            members = self.entries.members(int(self.columns.entry[at]), sign).tolist()
            free = [row for row in members if row not in taken][: int(labels[at])]
            if len(free) < labels[at]:
                return None
            share = min(1.0, float(amount[at] / labels[at]))
            taken.update(dict.fromkeys(free, (share, at)))
        rows = np.array(sorted(taken), dtype=np.intp)
        pairs = np.array([taken[row] for row in rows.tolist()]).reshape(-1, 2)
        return self.from_labels(rows, pairs[:, 0], pairs[:, 1].astype(np.intp))


SAFETY_OF_SUMS = 1.0 + 2.0**-48
"""Factor on a reach of a sum of rows: it is rounded a handful of times itself."""


# ----------------------------------------------------------------------------------------
# Conflicts: pairs of events that no admissible labels bring about together, and cliques of these.
#
# An *event* is a row being overturned, or a row keeping its prediction. Both are half-spaces of
# label changes: U·f >= level. Two exclude each other if some weighted sum of them asks for more
# than labels can do, U₁ + λU₂ moved by at most reach(U₁ + λU₂) < level₁ + λ·level₂: one selection
# proves it.

# Shares of the first row in the sum, those that prove most pairs first.
_SHARES = (0.5, 0.3, 0.7, 0.4, 0.6, 0.15, 0.85)

_MOST_WORK = 3 * 10**9  # numbers that are selected from, in all: some ten seconds

_MOST_CLIQUES = 4  # per event

_ROOM = 1e-10  # of a level: others who round otherwise come to the same conclusion


class Conflicts:
    """Which events of fragile rows exclude each other, computed when first asked for.

    Of n rows, event j is that row j is overturned, and event n + j that it is not.
    """

    def __init__(self, fragile: Fragile) -> None:
        self._fragile, n = fragile, len(fragile)
        self._known = np.flatnonzero(fragile.known)
        self._at = np.tile(np.arange(n), 2)
        self._sign = np.repeat([1.0, -1.0], n)
        self._level = np.concatenate((fragile.least, -fragile.most))
        least = 1e-6 * (fragile.ahead + fragile.back)
        self._scale = np.maximum(np.abs(self._level), np.tile(least, 2))

    @cached_property
    def _both_over(self) -> FloatArray:
        a, b = np.triu_indices(len(self._known), 1)
        found = self._shares(self._known[a], self._known[b])
        return found + np.where(found, 1.0 - found, 0.0).T

    @cached_property
    def _over_and_kept(self) -> FloatArray:
        a, b = np.nonzero(~np.eye(len(self._known), dtype=bool))
        return self._shares(self._known[a], self._known[b] + len(self._fragile))

    def _shares(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return, for the rows of pairs of events, a share of the first that excludes both.

        It is 0 where no share was found.
        """
        fragile, width = self._fragile, len(self._fragile.entries)
        found = np.zeros((len(fragile), len(fragile)))
        most = max(0, _MOST_WORK // (len(_SHARES) * max(1, width)))
        left = np.arange(len(first) if width else 0)
        for share in _SHARES:
            left = left[:most]
            a, b = first[left], second[left]
            x, y = share / self._scale[a], (1 - share) / self._scale[b]
            level = x * self._level[a] + y * self._level[b]
            error = x * fragile.rounding[self._at[a]] + y * fragile.rounding[self._at[b]]
            error = SAFETY * error + _ROOM * (np.abs(x * self._level[a]) + y * self._scale[b])
            x, y = x * self._sign[a], y * self._sign[b]
            reached = np.empty(len(left))

            def work(start: int, stop: int, buffer: FloatArray) -> None:
                here = slice(start, stop)
                rows = buffer[: stop - start]
                np.multiply(fragile.influence[self._at[a[here]]], x[here, None], out=rows)  # noqa: B023
                rows += fragile.influence[self._at[b[here]]] * y[here, None]  # noqa: B023
                reached[here] = fragile.reach(rows, error[here])  # noqa: B023

            if len(left):
                run_blocks(block_starts(len(left), 8 * width, 2**24), width, work)
            hit = reached < level
            found[self._at[a[hit]], self._at[b[hit]]] = share
            left = left[~hit]
        return found

    def between(self, over: BoolArray, kept: BoolArray) -> tuple[IntArray, BoolArray]:
        """Return the events that some rows are overturned or not, and which exclude each other."""
        known, n, row = self._fragile.known, len(self._fragile), self._fragile.row
        first, second = np.flatnonzero(over & known), np.flatnonzero(kept & known)
        found = np.zeros((len(first) + len(second),) * 2, dtype=bool)
        mine, theirs = slice(len(first)), slice(len(first), None)
        if len(first):
            alike = (row[first][:, None] == row[first]) & ~np.eye(len(first), dtype=bool)
            found[mine, mine] = alike | (self._both_over[np.ix_(first, first)] > 0)
        if len(first) and len(second):
            apart = row[first][:, None] != row[second]
            mixed = (self._over_and_kept[np.ix_(first, second)] > 0) & apart
            mixed |= first[:, None] == second
            found[mine, theirs], found[theirs, mine] = mixed, mixed.T
        return np.concatenate((first, second + n)), found

    def factors(self, one: int, other: int) -> tuple[float, float] | None:
        """Return factors of two events, the first of lower number, whose sum labels cannot reach.

        None if they exclude each other because they are events of one row.
        """
        n, (a, b) = len(self._fragile), (one, other)
        if self._fragile.row[a] == self._fragile.row[b % n]:
            return None
        share = self._both_over[a, b] if b < n else self._over_and_kept[a, b - n]
        return share / self._scale[a], (1 - share) / self._scale[b]


def cliques(conflict: BoolArray) -> list[list[int]]:
    """Return sets of events that exclude one another, which together hold every conflict.

    Examples
    --------
    >>> cliques(np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=bool))
    [[0, 1, 2], [2, 3]]
    """
    open_edges = conflict.copy()
    found: list[list[int]] = []
    for start in range(len(conflict)):
        while open_edges[start].any() and len(found) < _MOST_CLIQUES * len(conflict):
            members = [start]
            candidates = conflict[start].copy()
            new = open_edges[start].astype(np.int64)
            while candidates.any():
                # The one with most edges that no clique has yet, then with most candidates left.
                rank = np.where(candidates, new * len(conflict) + conflict @ candidates, -1)
                best = int(rank.argmax())
                members.append(best)
                candidates &= conflict[best]
                new = new + open_edges[best]
            open_edges[np.ix_(members, members)] = False
            found.append(sorted(members))
    return found


# --- Goals: counts, rates and gaps to be made as large as possible, and bounds by multipliers


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
    def _functions(self) -> Iterator[tuple[Fraction, NDArray[np.int64], Fraction]]:
        return zip(self.start, self.gains, self.unit, strict=True)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells goals about the same rows apart."""
        return self.start, self.unit, self.gains.tobytes()

    @property
    def single(self) -> bool:
        """Whether there is one function only."""
        return len(self.start) == 1

    def apart(self) -> list["Goal"]:
        """Return goals of one function each."""
        return [
            Goal((start,), gains[None], (unit,), self.row) for start, gains, unit in self._functions
        ]

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
        """Return what is reached for certain: of each row, the worst of what is possible."""
        possible = overturned if kept is None else ~kept
        sums = [self._worst(gains, overturned, possible) for gains in self.gains]
        parts = zip(self.start, self.unit, sums, strict=True)
        return min(start + unit * total for start, unit, total in parts)

    def _worst(self, gains: NDArray[np.int64], overturned: BoolArray, possible: BoolArray) -> int:
        """Return the least that rows add, of which some are overturned for certain."""
        worst = np.zeros(int(self.row.max(initial=-1)) + 1, dtype=np.int64)
        worst[self.row[overturned]] = np.iinfo(np.int64).max
        np.minimum.at(worst, self.row[possible], gains[possible])
        return int(worst.sum())

    def values(self, overturned: FloatArray) -> FloatArray:
        """Return values in doubles, of many sets of rows at once."""
        return np.asarray((self.slopes @ overturned + self.offsets[:, None]).min(axis=0))

    @cached_property
    def ceiling(self) -> Fraction:
        """The largest value there could be if every row could be overturned or not at will.

        Of several functions it is also at most that of their mean: of gaps in both directions, 0.
        """
        most = min(start + unit * self._most(gains) for start, gains, unit in self._functions)
        if self.single:
            return most
        count = math.lcm(*(unit.denominator for unit in self.unit))
        # Python's own integers: products of many denominators are large.
        gains = [int(unit * count) * of.astype(object) for _, of, unit in self._functions]
        total = sum(self.start) + Fraction(self._most(np.sum(gains, axis=0)), count)
        return min(most, Fraction(total / len(self.start)))

    def _most(self, gains: NDArray[Any]) -> int:
        best = np.zeros(int(self.row.max(initial=-1)) + 1, dtype=gains.dtype)
        np.maximum.at(best, self.row, gains)
        return int(best.sum())

    @property
    def _steps(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Each function's start, and how far apart its values are."""
        for start, gains, unit in self._functions:
            yield start, unit * math.gcd(*gains.tolist())

    def snap(self, bound: float) -> Fraction:
        """Return the largest value that exists and is not above a bound."""
        if not math.isfinite(bound):
            return self.ceiling
        exact = Fraction(bound)
        found = (
            start + step * math.floor((exact - start) / step) if step else start
            for start, step in self._steps
        )
        return min(self.ceiling, max(found))

    def next_above(self, value: Fraction) -> float:
        """Return a double at most as large as every value above a given one that exists."""
        found = []
        for start, step in self._steps:
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
