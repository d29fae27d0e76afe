"""Conflicts: pairs of events that no admissible labels bring about together, and cliques of these.

An *event* is a row being overturned, or a row keeping its prediction. Both are half-spaces of label
changes: U·f >= level. Two exclude each other if some weighted sum of them asks for more than labels
can do, U₁ + λU₂ moved by at most reach(U₁ + λU₂) < level₁ + λ·level₂: one selection proves it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._core.parallel import block_starts, run_blocks
from unswayed._core.rounding import SAFETY, gamma
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.together.fragile import Fragile

# Shares of the first row in the sum, those that prove most pairs first.
_SHARES = (0.5, 0.3, 0.7, 0.4, 0.6, 0.15, 0.85)

_MOST_WORK = 3 * 10**9  # numbers that are selected from, in all: some ten seconds

_MOST_CLIQUES = 4  # per event


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Half-spaces U·f >= level, with U the influence of a fragile row times a sign."""

    at: IntArray  # Numbers of fragile rows
    over: BoolArray  # True: the row is overturned; False: it keeps its prediction
    sign: FloatArray  # 1 or -1, likewise
    level: FloatArray  # Rounded down
    back: FloatArray  # How far labels can move away from the level, rounded up

    @classmethod
    def of(cls, fragile: Fragile, over: BoolArray, kept: BoolArray) -> "Events":
        """Return the events of some rows, of those about which anything is known."""
        first, second = np.flatnonzero(over & fragile.known), np.flatnonzero(kept & fragile.known)
        return cls(
            at=np.concatenate((first, second)),
            over=np.repeat([True, False], [len(first), len(second)]),
            sign=np.repeat([1.0, -1.0], [len(first), len(second)]),
            level=np.concatenate((fragile.least[first], -fragile.most[second])),
            back=np.concatenate((fragile.back[first], fragile.ahead[second])),
        )

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Which events of fragile rows exclude each other, computed when first asked for."""

    fragile: Fragile

    @cached_property
    def _both_over(self) -> BoolArray:
        every = np.ones(len(self.fragile), dtype=bool)
        events = Events.of(self.fragile, every, ~every)
        first, second = np.triu_indices(len(events), 1)
        found = self._matrix(events, events, first, second)
        return found | found.T

    @cached_property
    def _over_and_kept(self) -> BoolArray:
        every = np.ones(len(self.fragile), dtype=bool)
        over, kept = Events.of(self.fragile, every, ~every), Events.of(self.fragile, ~every, every)
        first, second = np.nonzero(~np.eye(len(over), dtype=bool))
        return self._matrix(over, kept, first, second)

    def _matrix(self, one: Events, other: Events, first: IntArray, second: IntArray) -> BoolArray:
        found = np.zeros((len(self.fragile), len(self.fragile)), dtype=bool)
        hit = self._exclusive(one, other, first, second)
        found[one.at[first[hit]], other.at[second[hit]]] = True
        return found

    def _exclusive(
        self, one: Events, other: Events, first: IntArray, second: IntArray
    ) -> BoolArray:
        """Return which pairs of events are proven to exclude each other."""
        fragile, found = self.fragile, np.zeros(len(first), dtype=bool)
        if not len(fragile.entries):
            return found
        width = len(fragile.entries)
        rounded = fragile.rounding
        scales = [np.maximum(np.abs(each.level), 1e-6 * (fragile.ahead + fragile.back)[each.at])
                  for each in (one, other)]  # fmt: skip
        left = np.arange(len(first))
        for share in _SHARES:
            left = left[~found[left]][: max(0, _MOST_WORK // (len(_SHARES) * width))]
            starts = block_starts(len(left), 8 * width, 2**24)
            a, b = first[left], second[left]
            x = share * one.sign[a] / scales[0][a]
            y = (1 - share) * other.sign[b] / scales[1][b]
            level = np.abs(x) * one.level[a] + np.abs(y) * other.level[b]
            error = SAFETY * (np.abs(x) * rounded[one.at[a]] + np.abs(y) * rounded[other.at[b]])
            error += gamma(4) * (np.abs(x * one.level[a]) + np.abs(y * other.level[b]))
            reached = np.empty(len(left))

            def work(start: int, stop: int, buffer: FloatArray) -> None:
                here = slice(start, stop)
                rows = buffer[: stop - start]
                np.multiply(fragile.influence[one.at[a[here]]], x[here, None], out=rows)  # noqa: B023
                rows += fragile.influence[other.at[b[here]]] * y[here, None]  # noqa: B023
                reached[here] = fragile.reach(rows, error[here])  # noqa: B023

            if len(left):
                run_blocks(starts, width, work)
            found[left] = reached < level
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
