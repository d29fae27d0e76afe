"""Fragile rows: those that some labels can overturn, and what every label change does to them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._core.compression import Entries
from unswayed._core.rounding import SAFETY, gamma, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.budgets import Budget, Count


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
    # How far labels can move the row towards being overturned and away from it, rounded up
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
        return isinstance(self.budget, Count)

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
        used = np.flatnonzero(changes.amount)
        effects = self.effects[:, used]
        shares = [changes.share[self.column_of(changes) == at] for at in used]
        moved = np.array(
            [
                math.fsum(
                    effect * share for effect, of in zip(row, shares, strict=True) for share in of
                )
                for row in effects.tolist()
            ]
        )
        overturned = narrower(moved, self.error) > self.margin
        kept = wider(moved, self.error) <= self.margin
        return overturned & self.known, kept & self.known

    def column_of(self, changes: Changes) -> IntArray:
        """Return the column of each label of a set."""
        up, down = self.columns_of_labels
        return np.where(changes.sign > 0, up[changes.rows], down[changes.rows])

    @cached_property
    def columns_of_labels(self) -> tuple[IntArray, IntArray]:
        """For each training row the column of its rise and of its fall; -1 where it has none."""
        entries = self.entries
        up, down = np.full(self.n_labels, -1), np.full(self.n_labels, -1)
        n_up = int(np.count_nonzero(entries.n_upper))
        for of, members, count, first in (
            (up, entries.members_up, entries.n_upper, 0),
            (down, entries.members_down, entries.n_lower, n_up),
        ):
            number = first + np.cumsum(count > 0) - 1
            of[members] = np.repeat(number, count.astype(np.intp))
        return up, down

    def from_labels(self, rows: IntArray, share: FloatArray, sign: FloatArray) -> Changes:
        """Return label changes given label by label."""
        up, down = self.columns_of_labels
        column = np.where(sign > 0, up[rows], down[rows])
        amount = np.bincount(column, weights=share, minlength=len(self.columns)).astype(float)
        return Changes(rows, share, sign, amount)

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
