"""Several classes: rows that one set of labels can move to another class.

An *event* is that a row is of one rival's class afterwards, so that the events of a row exclude one
another. It needs the lead of that rival over the row's own class to cross its margin: one duel of
`engines/classes`. A column is a label change, from one class to another, and a label has as many
columns as it has classes that it may really be.

A class that loses all of its labels is no longer known to any model: its rows are overturned,
whatever the scores say. Where a budget allows that, nothing bounds these rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unswayed._core.influence import Entries
from unswayed._core.rounding import UNIT, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.classes import ClassCase
from unswayed.engines.linear import Duel
from unswayed.joint.fragile import SAFETY_OF_SUMS, Changes, Fragile
from unswayed.labels.budgets import Budget
from unswayed.labels.classes import ClassChanges

_ROUNDINGS = 16  # of a lead: a handful, and as many again


@dataclass(frozen=True, eq=False)
class LabelColumns:
    """Changes of labels from one class to another, those of equal labels once."""

    changes: ClassChanges
    merged: Entries  # Equal labels, which may all become the same classes
    entry: IntArray  # The entry of each column, ascending
    new: IntArray  # The class that its labels become

    @classmethod
    def of(cls, changes: ClassChanges, merged: Entries) -> "LabelColumns":
        """Return all changes that the labels of some entries may make."""
        allowed = changes.allowed[merged.rows].copy()
        allowed[np.arange(len(merged)), changes.own[merged.rows]] = False
        allowed[merged.n_upper == 0] = False
        entry, new = np.nonzero(allowed)
        return cls(changes, merged, entry, new)

    @property
    def own(self) -> IntArray:
        """The class that labels of each column have."""
        return self.changes.own[self.merged.rows[self.entry]]

    @cached_property
    def first(self) -> IntArray:
        """The first column of each entry that has any."""
        return np.flatnonzero(np.diff(self.entry, prepend=-1))

    @cached_property
    def once(self) -> Entries:
        """Equal labels, each of which makes one change only."""
        nothing = np.zeros(len(self.merged))
        return replace(self.merged, lower=nothing, n_lower=nothing)

    def strongest(self, effects: FloatArray) -> FloatArray:
        """Return what labels of each entry do at most, given what their changes do; 0 at least."""
        found = np.zeros((len(effects), len(self.merged)))
        if len(self.first):
            best = np.maximum.reduceat(effects, self.first, axis=1)
            found[:, self.entry[self.first]] = np.maximum(best, 0.0)
        return found

    @cached_property
    def entries(self) -> Entries:
        """One entry per column: labels are members of several."""
        merged, entry, nothing = self.merged, self.entry, np.zeros(0, dtype=np.intp)
        members = [merged.members(at, 1.0) for at in entry.tolist()]
        sizes = [len(each) for each in members]
        return Entries(
            rows=merged.rows[entry],
            lower=np.zeros(len(entry)),
            upper=merged.upper[entry],
            n_lower=np.zeros(len(entry)),
            n_upper=merged.n_upper[entry],
            members_down=nothing,
            start_down=np.zeros(len(entry) + 1, dtype=np.intp),
            members_up=np.concatenate([nothing, *members]),
            start_up=np.cumsum([0, *sizes]),
        )

    def steps(self, winner: int, rival: int, step: float) -> FloatArray:
        """Return what each column adds to a number whose score is the rival's lead."""
        value = np.zeros(self.changes.n_classes)
        value[winner], value[rival] = -step, step
        return np.asarray(value[self.new] - value[self.own])


@dataclass(frozen=True, eq=False, kw_only=True)
class FragileClasses(Fragile):
    """Rows that can be of another class, each as often as there are rivals that can win it."""

    winner: IntArray  # The class of each event's row
    rivals: IntArray  # The class that it is of afterwards
    forgettable: BoolArray  # Classes that can lose all of their labels
    labels: LabelColumns

    @property
    def known(self) -> BoolArray:
        """Events that labels have to move a row for."""
        return super().known & ~self.forgettable[self.winner]

    @property
    def aimed(self) -> BoolArray:
        """Events of all rows: a rival may lead them, also if their class can lose its labels."""
        return super().known

    @property
    def firm(self) -> BoolArray:
        """Events of rivals that keep labels: a row that one of these leads leaves its class."""
        return self.known & ~self.forgettable[self.rivals]

    @property
    def opposed(self) -> BoolArray:
        """No events: if a rival leads, another one may lead by more."""
        return np.zeros(len(self), dtype=bool)

    @property
    def rival(self) -> IntArray:
        """The number of the class that each event leads to."""
        return self.rivals

    @property
    def whole_columns(self) -> bool:
        """Whether a whole number of labels of each column moves: always, where they are counted."""
        return self.countable

    @property
    def sharing(self) -> IntArray:
        """The entry of each column: one change of each of its labels."""
        return self.labels.entry

    @cached_property
    def rounding(self) -> FloatArray:
        """What each row adds to the rounding of a sum, if labels make all of their changes."""
        return super().rounding * self.labels.changes.n_classes

    @cached_property
    def columns_of_labels(self) -> IntArray:
        """For each class and training row the column of becoming it; -1 where there is none."""
        found = np.full((self.labels.changes.n_classes, self.n_labels), -1)
        for at, new in enumerate(self.labels.new.tolist()):
            found[new, self.entries.members(at, 1.0)] = at
        return found

    def from_labels(self, rows: IntArray, share: FloatArray, column: IntArray) -> Changes:
        """Return label changes given label by label."""
        added = (self.labels.new[column] - self.labels.changes.own[rows]).astype(np.float64)
        return replace(super().from_labels(rows, share, column), added=added)

    def reach(self, combined: FloatArray, error: FloatArray) -> FloatArray:
        """Return how far labels can move sums of rows at most, each by one of its changes."""
        up, _ = self.budget.reach(self.labels.strongest(combined), self.labels.once)
        return wider(up * SAFETY_OF_SUMS, error)

    def reach_without(self, rows: IntArray, checked: IntArray) -> FloatArray:
        """Return how far labels can move some rows, if those of some training rows are right."""
        entries = self.labels.once
        of = np.full(self.n_labels, -1)
        of[entries.members_up] = np.repeat(np.arange(len(entries)), np.diff(entries.start_up))
        count = entries.n_upper - np.bincount(of[checked][of[checked] >= 0], minlength=len(entries))
        left = replace(entries, n_upper=count, upper=np.where(count > 0, entries.upper, 0.0))
        return self.budget.reach(self.labels.strongest(self.influence[rows]), left)[0]

    # --- sets of labels -------------------------------------------------------------------

    @cached_property
    def _start(self) -> IntArray:
        """The first event of each row: events stand row by row."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @cached_property
    def _place(self) -> IntArray:
        """Which of the rows that have events each event is of."""
        return np.cumsum(np.diff(self.row, prepend=-1) != 0) - 1

    def _leading(self, leads: FloatArray) -> FloatArray:
        """Return the largest lead of each event's row."""
        return np.asarray(np.maximum.reduceat(leads, self._start, axis=0)[self._place])

    def happening(self, moved: FloatArray, margin: FloatArray) -> FloatArray:
        """Return which events happen: of rivals that lead, the one that leads most wins."""
        if not len(self):
            return np.zeros_like(moved)
        lead = moved - margin[:, None]
        won = (lead > 0) & (lead == self._leading(lead))
        return np.asarray(won, dtype=np.float64)

    def _gone(self, changes: Changes) -> BoolArray:
        """Return the classes that no label has any more."""
        labels = self.labels.changes.own.copy()
        labels[changes.rows] = self.labels.new[changes.column]
        return ~np.isin(np.arange(self.labels.changes.n_classes), labels)

    def outcome(self, changes: Changes) -> tuple[BoolArray, BoolArray]:
        """Return events whose rows are proven to leave their class, and those that do not happen.

        Nothing is proven of rows of which it is open whose they are, nor by a class that is gone.
        """
        if not len(self):
            return super().outcome(changes)
        moved, gone = self.moved(changes), self._gone(changes)
        unsure = ~np.isfinite(self._leading(self.error))
        stands = ~gone[self.rivals]
        overturned = (narrower(moved, self.error) > self.margin) & stands & ~unsure
        kept = (wider(moved, self.error) <= self.margin) & stands & ~gone[self.winner]
        off = self.error + _ROUNDINGS * UNIT * (np.abs(moved) + np.abs(self.margin))
        low, high = narrower(moved - self.margin, off), wider(moved - self.margin, off)
        kept |= high < self._leading(np.where(overturned, low, -np.inf))
        return (overturned | gone[self.winner]) & ~unsure, kept & ~unsure


def fragile_classes(
    case: ClassCase, budget: Budget, check: Callable[[int, int], None]
) -> FragileClasses:
    """Find the rows that can be of another class; `check` is told how many events and columns."""
    shared = case.engine.shared.entries
    labels = LabelColumns.of(case.engine.changes, shared)
    forgettable = case.forgettable <= budget.amount
    found = []
    for duel in case.duels:
        near = _near(duel, budget) | forgettable[case.winner[duel.rows]]
        found.append((duel, np.flatnonzero(near)))
    check(sum(len(rows) for _, rows in found), len(labels.entry))
    parts = [_events(case, labels, duel, rows, budget) for duel, rows in found if len(rows)]
    parts = parts or [_events(case, labels, case.duels[0], np.zeros(0, dtype=np.intp), budget)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["rivals"], columns["row"]))
    columns = {name: values[order] for name, values in columns.items()}
    return FragileClasses(
        **columns,
        way=np.ones(len(order)),
        forgettable=forgettable,
        weights=np.zeros((len(order), 0)),
        design=None,
        entries=labels.entries,
        labels=labels,
        n_labels=len(case.engine.bias.lower),
        budget=budget,
        whole=True,
    )


def _near(duel: Duel, budget: Budget) -> BoolArray:
    """Return which rows of a duel are not proven to be kept."""
    bounds, margins = duel.case.answer(budget).bounds, duel.case.margins
    unknown = ~np.isfinite(margins.slack)
    within = wider(bounds.outer_up, np.where(unknown, 0.0, margins.slack)) <= margins.up
    return unknown | ~within


def _events(
    case: ClassCase, labels: LabelColumns, duel: Duel, rows: IntArray, budget: Budget
) -> dict[str, Any]:
    """Return what labels do to the lead of a rival, for some rows of a duel."""
    engine, margins, winner = duel.case.engine, duel.case.margins, int(case.winner[duel.rows[0]])
    effects = engine.effects(duel.case.rows.take(rows), budget)
    # Where each label is among those of the duel, which may leave out labels that do nothing.
    place, own = np.full(len(case.engine.bias.lower), -1), engine.influence.entries
    for members, start in (own.members_up, own.start_up), (own.members_down, own.start_down):
        place[members] = np.repeat(np.arange(len(own)), np.diff(start))
    at = place[labels.merged.rows[labels.entry]]
    influence = np.zeros((len(rows), len(at)))
    influence[:, at >= 0] = effects.influence[:, at[at >= 0]]
    step, every = case.engine.learner.step, np.ones(len(rows), dtype=np.intp)
    off = effects.error
    if math.frexp(step)[0] != 0.5:  # multiplying by a power of two rounds nothing
        off = off + _ROUNDINGS * UNIT * (effects.up + effects.down)
    return {
        "row": duel.rows[rows],
        "winner": every * winner,
        "rivals": every * duel.rival,
        "influence": influence * labels.steps(winner, duel.rival, step),
        "margin": margins.up[rows],
        "error": wider(off, margins.slack[rows]),
        "ahead": effects.up,
        "back": effects.down,
    }
