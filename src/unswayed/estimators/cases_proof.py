"""What a certificate file carries to prove bounds on many rows together: trees of cases.

Events are fragile rows, each with the way in which it is overturned. Trees name the events that
split cases, their leaves have multipliers and the threshold of one selection, and pairs of events
that exclude each other have two factors and a threshold. Cases may also be split by how many of
some labels move. `joint.cases` has the theorem.
"""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.joint.cases import Tree
from unswayed.joint.fragile import Fragile, Goal
from unswayed.joint.search import Search

_Triples = list[tuple[int, int, float]]


@dataclass(eq=False)
class CasesProof:
    """The trees of some goals, in the order in which a file has them."""

    search: Search
    goals: list[Goal]
    first: IntArray  # A test row of each distinct one

    def add(self, goals: list[Goal]) -> int:
        """Take further goals; return the number of the first one's tree."""
        self.goals += goals
        return len(self.goals) - len(goals)

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads."""
        fragile = self.search.fragile
        made = _Written(fragile, self.search)
        for goal in self.goals:
            made.take(self.search.tree(goal))
        row, way = self.first[fragile.row].astype(np.float64), fragile.way
        return {"events": np.column_stack((row, way)).reshape(-1, 2)} | made.arrays()


@dataclass(eq=False)
class _Written:
    """Trees as arrays of numbers."""

    fragile: Fragile
    search: Search
    splits: list[tuple[int, int]] = field(default_factory=list)  # event and 0, or labels and count
    links: _Triples = field(default_factory=list)  # leaf, event, multiplier
    cuts: _Triples = field(default_factory=list)  # leaf, clique, multiplier
    mixes: _Triples = field(default_factory=list)  # leaf, function, weight
    prices: _Triples = field(default_factory=list)  # leaf, labels, multiplier
    sums: list[tuple[FloatArray, dict[int, float]]] = field(default_factory=list)  # of each leaf
    labels: dict[int, int] = field(default_factory=dict)  # numbers of columns
    cliques: dict[tuple[int, ...], int] = field(default_factory=dict)

    def take(self, tree: Tree) -> None:
        """Take one more tree."""
        for at, count in tree.splits:
            self.splits.append((self._set(at) if count else at, count))
        for leaf in tree.leaves:
            number = len(self.sums)
            links = np.where(self.fragile.known, leaf.links, 0.0)
            for table, values in ((self.links, links), (self.mixes, leaf.mix)):
                table += [(number, at, values[at]) for at in np.flatnonzero(values).tolist()]
            for at in np.flatnonzero(leaf.cuts).tolist():
                members = tuple(sorted(tree.cliques[[at]].indices.tolist()))
                clique = self.cliques.setdefault(members, len(self.cliques))
                self.cuts.append((number, clique, leaf.cuts[at]))
            self.prices += [(number, self._set(at), price) for at, price in leaf.prices.items()]
            self.sums.append((links, leaf.prices))

    def _set(self, column: int) -> int:
        """Return the number of the labels of a column."""
        return self.labels.setdefault(column, len(self.labels))

    def arrays(self) -> dict[str, FloatArray]:
        """Return all of it."""
        members = [(number, at) for clique, number in self.cliques.items() for at in clique]
        columns, entries = self.fragile.columns, self.fragile.entries
        labels = [
            (number, row)
            for at, number in self.labels.items()
            for row in entries.members(int(columns.entry[at]), float(columns.sign[at]))
        ]
        return {
            "splits": _table(self.splits, 2),
            "labels": _table(labels, 2),
            "prices": _table(self.prices, 3),
            "links": _table(self.links, 3),
            "cuts": _table(self.cuts, 3),
            "mixes": _table(self.mixes, 3),
            "leaves": np.array([_threshold(self.fragile, *each) for each in self.sums]),
            "cliques": _table(members, 2),
            "pairs": self._pairs(),
        }

    def _pairs(self) -> FloatArray:
        """Return pairs of events that exclude each other: their factors, and a threshold."""
        n, pairs = len(self.fragile), []
        wanted = {pair for clique in self.cliques for pair in combinations(clique, 2)}
        for one, other in sorted(wanted):
            factors = self.search.conflicts.factors(one, other)
            if factors is not None:
                links = np.zeros(n)
                for at, factor in zip((one, other), factors, strict=True):
                    links[at % n] += factor if at < n else -factor
                pairs.append((one, other, *factors, _threshold(self.fragile, links)))
        return _table(pairs, 5)


def _table(rows: list[Any], width: int) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def _threshold(
    fragile: Fragile, links: FloatArray, prices: dict[int, float] | None = None
) -> float:
    """Return, of a sum of rows, the effect of the last label that the budget allows."""
    used = np.flatnonzero(links)
    effects = links[used] @ fragile.effects[used]
    for at, price in (prices or {}).items():
        effects[at] += price
    order = np.argsort(-effects)
    reached = np.cumsum(fragile.columns.count[order]) >= fragile.budget.most_labels
    return max(0.0, float(effects[order[reached.argmax()]])) if reached.any() else 0.0


@dataclass(frozen=True, eq=False)
class MeansProof:
    """The thresholds of means of scores, from a certain one of some sums on."""

    sums: Fragile
    start: int

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads: two thresholds for each, to move it up and down."""
        rows = np.eye(len(self.sums))[self.start :]
        found = [[_threshold(self.sums, way * row) for way in (1.0, -1.0)] for row in rows]
        return {"means": _table(found, 2)}


Proof: TypeAlias = CasesProof | MeansProof
