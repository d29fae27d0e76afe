"""Which labels to check first, so that most rows become robust once these labels are known right.

A label that was checked leaves the reach of the bias. The reach of a row then is the sum of its k
strongest effects among the other labels, so that what a check takes off it is the label's effect
less that of the label that moves up in its place. Most rows need many checks, and no single one
shows in the number of robust rows: labels are chosen by what they do for rows that the checks left
can still finish, and those most that few checks would finish.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._core.rounding import wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.joint.fragile import Fragile

_BLOCK = 2**22  # effects that are sorted at once
_NEARLY = 1.0 - 1e-12  # first guess at when a row is robust; the engine has the last word
_EAGERNESS = (0.0, 0.5, 1.0, 2.0, 4.0)
"""How much rows that few checks would finish come first; the best of these plans is taken."""


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Sums of the strongest effects of labels on rows, as doubles add up."""

    count: IntArray  # Number of labels with each effect
    value: FloatArray  # Effects of each row in falling order, 0 or more

    @cached_property
    def _steps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Labels before each effect, their sum, and the effect, which is 0 behind the last one."""
        labels = np.cumsum(self.count, axis=1, dtype=np.float64)
        sums = np.cumsum(self.count * self.value, axis=1)
        before = ((0, 0), (1, 0))
        return np.pad(labels, before), np.pad(sums, before), np.pad(self.value, ((0, 0), (0, 1)))

    def __getitem__(self, rows: IntArray) -> "Prefixes":
        return Prefixes(self.count[rows], self.value[rows])

    def _at(self, place: IntArray) -> Iterator[FloatArray]:
        return (each[np.arange(len(place)), place] for each in self._steps)

    def _place(self, labels: FloatArray) -> IntArray:
        """Return where the so manieth label of each row stands; the width if there is none."""
        return np.asarray((self._steps[0][:, 1:] < labels[:, None]).sum(axis=1))

    def value_at(self, labels: FloatArray) -> FloatArray:
        """Return the effect of the so manieth label of each row, 0 if there is none."""
        _, _, value = self._at(self._place(labels))
        return value

    def first(self, labels: FloatArray) -> FloatArray:
        """Return the sum of the strongest so many labels of each row."""
        before, sums, value = self._at(self._place(labels))
        return sums + (labels - before) * value

    def reach(self, budget: int, checked: FloatArray) -> FloatArray:
        """Return the reach of `budget` labels after the strongest so many were checked."""
        return self.first(checked + budget) - self.first(checked)

    def needed(self, budget: int, most: int, target: FloatArray) -> FloatArray:
        """Return how many checks bring each reach down to its target; more than `most` if none."""
        low, high = np.full(len(target), -1.0), np.full(len(target), most + 1.0)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            enough = self.reach(budget, middle) <= target
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high

    def to_exceed(self, margin: FloatArray) -> FloatArray:
        """Return how many labels it takes to exceed each margin; infinite if all do not."""
        place = (self._steps[1] <= margin[:, None]).sum(axis=1) - 1
        before, sums, value = self._at(np.maximum(place, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.floor((margin - sums) / value) + 1
        return np.where(value > 0, before + more, np.inf)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Labels that may be wrong, those that do the same to every row together."""

    of: IntArray  # The kind of each training row; -1 where the label cannot be wrong
    columns: IntArray  # (kinds, ways): the columns of its changes; -1 where there is none
    members: IntArray  # Training rows kind by kind, in the order in which they are checked
    start: IntArray  # Where each kind begins

    @classmethod
    def among(cls, fragile: Fragile, cost: FloatArray) -> "Kinds":
        """Put labels together."""
        ways = fragile.columns_of_labels
        rows = np.flatnonzero((ways >= 0).any(axis=0))
        pairs = ways[:, rows].T
        _, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        group = rank[group.reshape(-1)]
        first = np.sort(first)
        of = np.full(fragile.n_labels, -1)
        of[rows] = group
        members = rows[np.lexsort((rows, cost[rows], group))]
        start = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=len(first)))))
        return cls(of, pairs[first], members, start.astype(np.intp))

    @property
    def count(self) -> IntArray:
        """Number of labels of each kind."""
        return np.diff(self.start)

    def __len__(self) -> int:
        return len(self.columns)


class Review:
    """Fragile rows, and the labels that move them most."""

    def __init__(self, fragile: Fragile, weight: FloatArray, cost: FloatArray, labels: int) -> None:
        self.fragile, self.weight, self.cost = fragile, weight, cost
        self.kinds = Kinds.among(fragile, cost)
        self.labels = min(labels, len(self.kinds.members))
        self.budget = int(min(fragile.budget.most_labels, len(self.kinds.members)))
        # A row that can be overturned both ways counts by half in each.
        ways = np.bincount(fragile.row, minlength=len(weight))
        self._share = weight[fragile.row] / ways[fragile.row]
        self._kind, self._value = self._strongest()

    def _strongest(self) -> tuple[IntArray, FloatArray]:
        """Return the kinds with the strongest effects on each row, and these effects, sorted.

        After so many checks as there may be, the strongest labels are among these.
        """
        n_rows, n_kinds = len(self.fragile), len(self.kinds)
        width = min(n_kinds, self.budget + self.labels + 1)
        kind = np.empty((n_rows, width), dtype=np.intp)
        value = np.empty((n_rows, width))
        step = max(1, _BLOCK // max(1, n_kinds))
        for at in range(0, n_rows, step):
            here = slice(at, at + step)
            effects = self._effects(here)
            found = np.broadcast_to(np.arange(n_kinds), effects.shape)
            if width < n_kinds:
                found = np.argpartition(-effects, width, axis=1)[:, :width]
                found = np.sort(found, axis=1)  # of equal effects those of the lowest rows
            values = np.take_along_axis(effects, found, axis=1)
            order = np.argsort(-values, axis=1, kind="stable")
            kind[here] = np.take_along_axis(found, order, axis=1)
            value[here] = np.take_along_axis(values, order, axis=1)
        return kind, value

    def _effects(self, rows: slice) -> FloatArray:
        """Return what one label of each kind does at most to rows."""
        columns, influence = self.fragile.columns, self.fragile.influence[rows]
        effects = np.zeros((len(influence), len(self.kinds)))
        for column in self.kinds.columns.T:
            has = np.flatnonzero(column >= 0)
            moved = influence[:, columns.entry[column[has]]] * columns.offset[column[has]]
            effects[:, has] = np.maximum(effects[:, has], moved)
        return effects

    @cached_property
    def _target(self) -> FloatArray:
        """Reach of each row at which it is robust, as far as sums in doubles can tell."""
        with np.errstate(invalid="ignore"):
            return self.fragile.margin - self.fragile.error

    # --- plans ----------------------------------------------------------------------------

    def best(self, limit: float = np.inf, told: Callable[[str], None] | None = None) -> IntArray:
        """Return the labels to check."""
        found, most = np.zeros(0, dtype=np.intp), (-1.0, 0.0)
        for eagerness in _EAGERNESS:
            order = self._greedy(eagerness, limit)
            curve = self._weighed(self._guess(order), len(order))
            reached = (float(curve[-1]), float(curve.mean()))
            if told is not None:
                told(f"{len(order)} labels: {reached[0]:g} of {self._share.sum():g} fragile rows")
            if reached > most:
                found, most = order, reached
        return found

    def _greedy(self, eagerness: float, limit: float) -> IntArray:
        """Return labels in the order of what they do for rows that can be finished."""
        kinds, left = self.kinds, self.kinds.count.copy()
        picked: list[int] = []
        rows = np.flatnonzero(self.fragile.known)
        hopeful = rows
        spent = 0.0
        while len(picked) < self.labels:
            has = np.flatnonzero(left)
            next_row, next_cost = np.full(len(kinds), -1), np.full(len(kinds), np.inf)
            next_row[has] = kinds.members[kinds.start[has + 1] - left[has]]
            next_cost[has] = self.cost[next_row[has]]
            affordable = next_cost <= limit - spent
            if not affordable.any():
                break
            checks = min(self.labels - len(picked), (limit - spent) / next_cost.min())
            hopeful, score = self._finishing(hopeful, left, int(checks), eagerness)
            if not (score[affordable] > 0).any():
                rows, score = self._progress(rows, left)
            score = np.where(affordable, score / next_cost, 0.0)
            best = int(score.argmax())
            if score[best] <= 0:
                break
            picked.append(int(next_row[best]))
            spent += float(self.cost[picked[-1]])
            left[best] -= 1
        return np.array(picked, dtype=np.intp)

    def _finishing(
        self, rows: IntArray, left: IntArray, checks: int, eagerness: float
    ) -> tuple[IntArray, FloatArray]:
        """Return rows that so many checks can finish, and the worth of a label of each kind."""
        sums = Prefixes(left[self._kind[rows]], self._value[rows])
        target = self._target[rows]
        needed = sums.needed(self.budget, checks, target)
        # A check brings a row nearer by one at most: what is out of reach remains so.
        open_rows = np.flatnonzero((needed > 0) & (needed <= checks))
        rows, needed, target = rows[open_rows], needed[open_rows], target[open_rows]
        sums = sums[open_rows]
        missing = sums.reach(self.budget, np.zeros(len(rows))) - target
        worst = sums.value_at(self.budget + needed)
        gain = np.maximum(sums.value - worst[:, None], 0.0) * (needed / missing)[:, None]
        worth = np.minimum(gain, 1.0) * (self._share[rows] * needed**-eagerness)[:, None]
        return rows, self._per_kind(rows, worth, left)

    def _progress(self, rows: IntArray, left: IntArray) -> tuple[IntArray, FloatArray]:
        """Return rows that are not robust yet, and the worth of a label where none can be finished.

        What counts is the square of the part of what is missing that one check takes off.
        """
        sums = Prefixes(left[self._kind[rows]], self._value[rows])
        missing = sums.reach(self.budget, np.zeros(len(rows))) - self._target[rows]
        open_rows = np.flatnonzero(missing > 0)
        rows, missing, sums = rows[open_rows], missing[open_rows], sums[open_rows]
        for instead in (sums.value_at(np.full(len(rows), self.budget + 1.0)), np.zeros(len(rows))):
            gain = np.maximum(sums.value - instead[:, None], 0.0) / missing[:, None]
            worth = np.minimum(gain, 1.0) ** 2 * self._share[rows][:, None]
            score = self._per_kind(rows, worth, left)
            if score.any():  # otherwise every check lets an equal label in
                break
        return rows, score

    def _per_kind(self, rows: IntArray, worth: FloatArray, left: IntArray) -> FloatArray:
        score = np.bincount(
            self._kind[rows].ravel(), weights=worth.ravel(), minlength=len(self.kinds)
        )
        return np.where(left > 0, score, 0.0)

    # --- what a plan is worth -------------------------------------------------------------

    def curve(self, order: IntArray) -> IntArray:
        """Return how many of the fragile rows are proven robust after so many checks."""
        first = self._guess(order)
        for checked in range(len(order) + 1):
            rows = np.flatnonzero(first == checked)
            if len(rows):
                first[rows[~self._proven(rows, order[:checked])]] += 1
        return self._weighed(first, len(order)).astype(np.intp)

    def _weighed(self, first: IntArray, length: int) -> FloatArray:
        """Return how many rows are robust after so many checks, given when each way is closed."""
        robust = np.zeros(len(self.weight), dtype=np.intp)
        np.maximum.at(robust, self.fragile.row, first)
        rows = np.unique(self.fragile.row)
        gained = np.bincount(
            np.minimum(robust[rows], length + 1), weights=self.weight[rows], minlength=length + 2
        )
        return np.cumsum(gained[: length + 1])

    def _guess(self, order: IntArray) -> IntArray:
        """Return after how many checks each row seems to be robust, no later than it is."""
        first = np.full(len(self.fragile), len(order) + 1)
        # Most rows are not robust even at the end, and need no second look.
        rows = np.flatnonzero(self.fragile.known)
        rows = rows[self._seem_robust(rows, order)]
        for checked in range(len(order)):
            done = self._seem_robust(rows, order[:checked])
            first[rows[done]] = checked
            rows = rows[~done]
            if not len(rows):
                break
        first[rows] = len(order)
        return first

    def _seem_robust(self, rows: IntArray, checked: IntArray) -> BoolArray:
        left = self.kinds.count - np.bincount(self.kinds.of[checked], minlength=len(self.kinds))
        sums = Prefixes(left[self._kind[rows]], self._value[rows])
        reach = sums.reach(self.budget, np.zeros(len(rows)))
        return np.asarray(reach * _NEARLY <= self._target[rows])

    def _proven(self, rows: IntArray, checked: IntArray) -> BoolArray:
        """Return whether rows are robust while the labels of some training rows cannot move."""
        fragile = self.fragile
        reach = fragile.reach_without(rows, checked)
        # The error holds for any labels within the budget, so for those that are left.
        return np.asarray(wider(reach, fragile.error[rows]) <= fragile.margin[rows])

    # --- other plans ----------------------------------------------------------------------

    def drawn(self, length: int, seed: int) -> IntArray:
        """Return labels in random order."""
        rows = np.sort(self.kinds.members)
        return np.random.default_rng(seed).permutation(rows)[:length]

    def most_used(self, length: int) -> IntArray:
        """Return the labels that are in most witnesses: smallest sets that overturn a row."""
        used = np.zeros(self.fragile.n_labels)
        ways: dict[int, tuple[float, int]] = {}
        sums = Prefixes(self.kinds.count[self._kind], self._value)
        least = sums.to_exceed(self.fragile.margin)
        for at, row in enumerate(self.fragile.row.tolist()):
            if least[at] <= self.budget:
                ways[row] = min(ways.get(row, (np.inf, 0)), (float(least[at]), at))
        for row, (labels, at) in ways.items():
            missing = int(labels)
            for kind in self._kind[at].tolist():
                start, stop = self.kinds.start[kind : kind + 2]
                members = np.sort(self.kinds.members[start:stop])[:missing]
                used[members] += self.weight[row]
                missing -= len(members)
                if missing <= 0:
                    break
        rows = np.sort(self.kinds.members)
        return rows[np.argsort(-used[rows], kind="stable")][:length]
