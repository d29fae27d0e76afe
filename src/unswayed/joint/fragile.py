"""Fragile rows: what single label changes do to them, and which exclude one another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
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

    @cached_property
    def rounding(self) -> FloatArray:
        """What each row adds to the rounding error of a weighted sum of rows, per unit of weight.

        The error of the rows themselves is in `least` and `most`.
        """
        return SAFETY * gamma(len(self) + 8) * (self.ahead + self.back)

    # --- sets of labels -------------------------------------------------------------------

    def outcome(self, changes: Changes) -> tuple[BoolArray, BoolArray]:
        """Return the rows that the changes are proven to overturn, and those proven to stay."""
        effects = self.effects[:, changes.column] * changes.share
        moved = np.array([math.fsum(row) for row in effects.tolist()])
        overturned = narrower(moved, self.error) > self.margin
        kept = wider(moved, self.error) <= self.margin
        return overturned & self.known, kept & self.known

    @cached_property
    def columns_of_labels(self) -> tuple[IntArray, IntArray]:
        """For each training row the column of its rise and of its fall; -1 where it has none."""
        entries = self.entries
        up, down = np.full((2, self.n_labels), -1)
        number = np.repeat(np.arange(len(self.columns)), self.columns.count.astype(np.intp))
        n_up = len(entries.members_up)
        up[entries.members_up], down[entries.members_down] = number[:n_up], number[n_up:]
        return up, down

    def from_labels(self, rows: IntArray, share: FloatArray, sign: FloatArray) -> Changes:
        """Return label changes given label by label."""
        up, down = self.columns_of_labels
        column = np.where(sign > 0, up[rows], down[rows])
        amount = np.bincount(column, weights=share, minlength=len(self.columns)).astype(float)
        return Changes(rows, share, sign, column, amount)

    def part(self, changes: Changes, kept: IntArray | slice) -> Changes:
        """Return some of the labels of a set."""
        return self.from_labels(changes.rows[kept], changes.share[kept], changes.sign[kept])

    @property
    def unchanged(self) -> Changes:
        """No label changes at all."""
        return self.from_labels(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))

    def from_columns(self, labels: IntArray, amount: FloatArray) -> Changes | None:
        """Return label changes given by how many labels of each column move.

        Of equal labels those with the lowest row numbers are taken.
        """
        if labels.sum() > self.budget.most_labels:
            return None
        taken: dict[int, tuple[float, float]] = {}
        for at in np.flatnonzero((labels > 0) & (amount > 0)).tolist():
            sign = float(self.columns.sign[at])
            members = self.entries.members(int(self.columns.entry[at]), sign).tolist()
            free = [row for row in members if row not in taken][: int(labels[at])]
            if len(free) < labels[at]:
                return None
            share = min(1.0, float(amount[at] / labels[at]))
            taken.update(dict.fromkeys(free, (share, sign)))
        rows = np.array(sorted(taken), dtype=np.intp)
        pairs = np.array([taken[row] for row in rows.tolist()]).reshape(-1, 2)
        return self.from_labels(rows, pairs[:, 0], pairs[:, 1])


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


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Half-spaces U·f >= level, with U the influence of a fragile row times a sign."""

    at: IntArray  # Numbers of fragile rows
    over: BoolArray  # True: the row is overturned; False: it keeps its prediction
    level: FloatArray  # Rounded down
    back: FloatArray  # How far labels can move away from the level, rounded up

    @classmethod
    def of(cls, fragile: Fragile, over: BoolArray, kept: BoolArray) -> "Events":
        """Return the events of some rows, of those about which anything is known."""
        first, second = np.flatnonzero(over & fragile.known), np.flatnonzero(kept & fragile.known)
        return cls(
            at=np.concatenate((first, second)),
            over=np.repeat([True, False], [len(first), len(second)]),
            level=np.concatenate((fragile.least[first], -fragile.most[second])),
            back=np.concatenate((fragile.back[first], fragile.ahead[second])),
        )

    @property
    def sign(self) -> FloatArray:
        """1 where rows are overturned, -1 where they keep their predictions."""
        return np.where(self.over, 1.0, -1.0)

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Which events of fragile rows exclude each other, computed when first asked for."""

    fragile: Fragile

    @cached_property
    def _over(self) -> Events:
        every = np.ones(len(self.fragile), dtype=bool)
        return Events.of(self.fragile, every, ~every)

    @cached_property
    def _both_over(self) -> BoolArray:
        pairs = np.triu_indices(len(self._over), 1)
        found = self._exclusive(self._over, self._over, *pairs)
        return found | found.T

    @cached_property
    def _over_and_kept(self) -> BoolArray:
        every = np.ones(len(self.fragile), dtype=bool)
        kept = Events.of(self.fragile, ~every, every)
        return self._exclusive(self._over, kept, *np.nonzero(~np.eye(len(kept), dtype=bool)))

    def _exclusive(
        self, one: Events, other: Events, first: IntArray, second: IntArray
    ) -> BoolArray:
        """Return which rows have pairs of events that are proven to exclude each other."""
        fragile, width = self.fragile, len(self.fragile.entries)
        found = np.zeros((len(fragile), len(fragile)), dtype=bool)
        least = 1e-6 * (fragile.ahead + fragile.back)
        scales = [np.maximum(np.abs(each.level), least[each.at]) for each in (one, other)]
        most = max(0, _MOST_WORK // (len(_SHARES) * max(1, width)))
        left = np.arange(len(first) if width else 0)
        for share in _SHARES:
            left = left[:most]
            a, b = first[left], second[left]
            x = share * one.sign[a] / scales[0][a]
            y = (1 - share) * other.sign[b] / scales[1][b]
            level = np.abs(x) * one.level[a] + np.abs(y) * other.level[b]
            error = np.abs(x) * fragile.rounding[one.at[a]]
            error = SAFETY * (error + np.abs(y) * fragile.rounding[other.at[b]])
            error += gamma(4) * (np.abs(x * one.level[a]) + np.abs(y * other.level[b]))
            reached = np.empty(len(left))

            def work(start: int, stop: int, buffer: FloatArray) -> None:
                here = slice(start, stop)
                rows = buffer[: stop - start]
                np.multiply(fragile.influence[one.at[a[here]]], x[here, None], out=rows)  # noqa: B023
                rows += fragile.influence[other.at[b[here]]] * y[here, None]  # noqa: B023
                reached[here] = fragile.reach(rows, error[here])  # noqa: B023

            if len(left):
                run_blocks(block_starts(len(left), 8 * width, 2**24), width, work)
            hit = reached < level
            found[one.at[a[hit]], other.at[b[hit]]] = True
            left = left[~hit]
        return found

    def between(self, events: Events) -> BoolArray:
        """Return which of some events exclude each other."""
        at, over = events.at, events.over
        found = np.zeros((len(events), len(events)), dtype=bool)
        both = np.ix_(over, over)
        found[both] = self._both_over[np.ix_(at[over], at[over])]
        if (~over).any() and over.any():
            mixed = self._over_and_kept[np.ix_(at[over], at[~over])]
            mixed = mixed | (at[over][:, None] == at[~over])  # a row is overturned or kept
            found[np.ix_(over, ~over)] = mixed
            found[np.ix_(~over, over)] = mixed.T
        return found


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
        """Return what is reached for certain."""
        lost = overturned if kept is None else ~kept
        sums = (self.gains * np.where(self.gains > 0, overturned, lost)).sum(axis=1)
        parts = zip(self.start, self.unit, sums.tolist(), strict=True)
        return min(start + unit * int(total) for start, unit, total in parts)

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


def lagrangian(fragile: Fragile, goal: Goal, multipliers: Multipliers) -> float:
    """Return a bound on what labels can reach, for any multipliers."""
    events, links, cuts = multipliers.events, multipliers.links, multipliers.cuts
    gain = goal.slopes[0]
    # What each event adds to the goal, compared with the worst.
    worth = np.maximum(events.sign * gain[events.at], 0.0)
    dual = np.zeros(len(events))
    for members, cut in zip(multipliers.cliques, cuts.tolist(), strict=True):
        dual[members] += cut
    needed = np.abs(events.level) + np.abs(events.back)
    rest = worth - links * (events.level + events.back) - dual
    combined = (links * events.sign) @ fragile.influence[events.at]
    reached = fragile.reach(combined[None], np.array([links @ fragile.rounding[events.at]]))
    terms = [
        goal.offsets[0],
        *np.minimum(gain, 0.0).tolist(),
        # Of rows about which nothing is known, the better outcome is taken.
        *np.abs(gain[~fragile.known]).tolist(),
        *np.maximum(rest, 0.0).tolist(),
        *(links * events.back).tolist(),
        *cuts.tolist(),
        float(reached[0]),
    ]
    size = math.fsum(map(abs, terms)) + float(links @ needed) + float(dual.sum())
    return math.fsum(terms) + SAFETY * gamma(len(cuts) + len(events) + 16) * size
