"""A budget of somebody else's: at most so many wrong labels in each of several groups."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from unswayed._core.selection import Crossings, Extremes
from unswayed.labels.budgets import Budget


@dataclass(frozen=True)
class PerGroup(Budget):
    labels: int  # in each group
    group: tuple[int, ...] = field(repr=False)  # of each training row

    @property
    def amount(self):
        return self.labels

    def sized(self, amount):
        return PerGroup(int(amount), self.group)

    def apart(self, lower, upper):
        return np.array(self.group, dtype=float)

    def labels_of(self, amount):
        n_groups = len({*self.group})
        return n_groups * amount, n_groups * np.maximum(amount - 1, 0)

    @property
    def most_labels(self):
        return self.labels * len({*self.group})

    def _steps(self, z, entries, sign):
        """Effects of single labels by group, strongest first, with their entries."""
        value = np.maximum(sign * z * entries.lower, sign * z * entries.upper)
        count = np.where(sign * z >= 0, entries.n_upper, entries.n_lower).astype(int)
        part = np.array(self.group)[entries.rows]
        for each in sorted({*self.group}):
            here = np.flatnonzero((part == each) & (value > 0))
            index = np.repeat(here, count[here])
            yield index[np.argsort(-value[index], kind="stable")], value

    def _reach(self, z, entries, sign, labels):
        return math.fsum(
            value[at] for index, value in self._steps(z, entries, sign) for at in index[:labels]
        )

    def reach(self, z, entries):
        up, down = ([self._reach(row, entries, s, self.labels) for row in z] for s in (1, -1))
        return np.array(up), np.array(down)

    def argmax(self, z, entries, sign):
        width = len(entries)
        found = Extremes(
            np.empty(len(z)),
            np.zeros((len(z), width), dtype=np.int64),
            np.zeros((len(z), width)),
            np.zeros(len(z), dtype=np.int64),
        )
        for at, row in enumerate(z):
            taken = np.zeros(width)
            for index, _ in self._steps(row, entries, sign):
                np.add.at(taken, index[: self.labels], 1.0)
            used = np.flatnonzero(taken)
            offset = np.where(sign * row >= 0, entries.upper, entries.lower)
            found.reach[at] = self._reach(row, entries, sign, self.labels)
            found.length[at] = len(used)
            found.index[at, : len(used)] = used
            found.amount[at, : len(used)] = (taken * offset)[used]
        return found

    def least(self, z, entries, up, down):
        found = Crossings.blank(len(z))
        for at, row in enumerate(z):
            for side, (sign, margin) in enumerate(((1, up[at]), (-1, down[at]))):
                found.count[at, side] = found.before[at, side] = found.after[at, side] = 0.0
                for labels in range(len(self.group) + 1):
                    reach = self._reach(row, entries, sign, labels)
                    if reach > margin:
                        found.count[at, side], found.after[at, side] = labels, reach
                        break
                    found.before[at, side] = reach
                else:
                    found.count[at, side] = np.inf
        return found

    def choose(self, strength):
        rows = []
        for each in sorted({*self.group}):
            here = np.flatnonzero((np.array(self.group) == each) & (strength > 0))
            rows += here[np.argsort(-strength[here], kind="stable")][: self.labels].tolist()
        return np.sort(np.array(rows, dtype=np.intp)), np.ones(len(rows))

    def _taken(self, moves, labels):
        """How many labels each move takes, strongest first."""
        left = dict.fromkeys(self.group, labels)
        for move in moves:
            taken = min(move.labels, left[self.group[move.row]])
            left[self.group[move.row]] -= taken
            yield move, taken

    def reach_exactly(self, moves):
        return sum(move.value * taken for move, taken in self._taken(moves, self.labels))

    def least_exactly(self, moves, goal):
        for labels in range(len(self.group) + 1):
            if self.sized(labels).reach_exactly(moves) >= goal:
                return float(labels)
        return math.inf

    def choose_exactly(self, moves, members):
        rows = [
            row for move, taken in self._taken(moves, self.labels) for row in members(move)[:taken]
        ]
        return [(row, Fraction(1)) for row in sorted(rows)]

    def __str__(self):
        return f"up to {self.labels} labels of each group are wrong"
