"""Bounds on sums over overturned rows: a tree of cases, and multipliers for each of its leaves.

A goal is the least of some functions v_f = start_f + Σ_j gain_fj·b_j, where b_j is 1 if labels
overturn row j and else 0. With U_j the influence on row j, times -1 if it is overturned by falling,
every admissible change f of labels has

    U_j·f >= least_j  if b_j = 1,     U_j·f <= most_j  if b_j = 0,     -back_j <= U_j·f <= ahead_j,

and of events that exclude one another (a clique C of "row j is overturned", "row j is not") at most
one happens. A case fixes some b_j, and says of some sets S of labels that at least low_S and at
most high_S of them move. For any λ_j and ν_S, any μ_C >= 0 and any θ_f >= 0 that sum up to 1,

    goal <= Σ θ_f start_f + Σ_rows max over the outcomes that the case allows of Σ_j c_j(b_j)
            + Σ_j (λ⁺_j back_j + λ⁻_j most_j) + Σ μ_C + Σ_S (ν⁻_S high_S - ν⁺_S low_S)
            + the furthest that labels move Σ λ_j U_j, if each label of S moves it by ν_S more,

    c_j(1) = Σ θ_f gain_fj - λ⁺_j (least_j + back_j) + λ⁻_j (ahead_j - most_j)
             - Σ {μ_C: "j is overturned" in C},          c_j(0) = - Σ {μ_C: "j is not" in C}.

Proof: the least of the v_f is at most their mean; λ⁺_j (U_j·f + back_j - (least_j + back_j) b_j),
λ⁻_j (most_j + (ahead_j - most_j) b_j - U_j·f), μ_C (1 - events of C that happen) and what is said
of S, times ν_S, are not negative; add them. Two events exclude each other if labels cannot move
x·U₁ + y·U₂ by x·level₁ + y·level₂, for some x, y > 0.

Whoever wrote the file chose all of these numbers; levels, what excludes what and how far labels
move a sum are computed here. So bad numbers make a weak bound, and never a false one. A tree is a
list: what a case is split by, the part in which that is so, then the other part; so no case can be
missing. Numbers are fractions, but for influence.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed.verify.collective.asked import Goal
from unswayed.verify.document import CertificateError
from unswayed.verify.doubles import FloatArray, UnprovenError
from unswayed.verify.facts import BUDGET, Facts, Number, Rule

_MOST_WORK = 2**22  # leaves times events and kinds of rows
_MOST_ROWS = 2**19  # of the tables of a proof together

_WIDTHS = {
    "events": 2, "splits": 2, "links": 3, "cuts": 3, "mixes": 3, "prices": 3, "cliques": 2,
    "labels": 2, "pairs": 5,
}  # fmt: skip

# Of test rows, each times a factor: the furthest that labels move the sum, given a threshold and
# what certain labels add
Furthest = Callable[[list[int], list[float], float, dict[int, float]], Number]


# A leaf: events that happen or not, how many of some labels move, and its number
_Case = tuple[dict[int, bool], dict[int, tuple[int, int]], int]


@dataclass(frozen=True, slots=True)
class Event:
    """A kind of row is overturned in one way: by rising (1) or falling (-1)."""

    kind: int
    way: int
    is_known: bool  # whether these numbers are finite
    least: Number
    most: Number
    ahead: Number
    back: Number


class Cases:
    """Trees of cases, and what the events mean by which they are split."""

    def __init__(
        self, proof: dict[str, FloatArray], kinds: Sequence[int], facts: Sequence[Facts],
        rule: Rule, n_labels: int,
    ) -> None:  # fmt: skip
        self._kinds, self._facts, self._rule, self._n_labels = kinds, facts, rule, n_labels
        given = {name: _table(proof, name, width) for name, width in _WIDTHS.items()}
        if sum(map(len, given.values())) > _MOST_ROWS:
            raise CertificateError(f"its trees of cases have more than {_MOST_ROWS:,} numbers")
        self.ways = [self._possible(each) for each in facts]
        self.events = [self._event(*each) for each in given["events"].tolist()]
        self._of_kind: dict[int, list[int]] = {}
        for at, event in enumerate(self.events):
            self._of_kind.setdefault(event.kind, []).append(at)
        size = 2 * len(self.events)
        self._trees = list(_trees(given["splits"].tolist()))
        self._links, self._cuts, self._mixes, self._prices = (
            _by_first(given[name]) for name in ("links", "cuts", "mixes", "prices")
        )
        self._thresholds = proof.get("leaves", np.zeros(0)).ravel().tolist()
        self._cliques = {n: {_place(e, size) for e, *_ in each}
                         for n, each in _by_first(given["cliques"]).items()}  # fmt: skip
        self._sets = {n: {_place(row, n_labels) for row, *_ in each}
                      for n, each in _by_first(given["labels"]).items()}  # fmt: skip
        self._pairs = given["pairs"].tolist()
        self._proven: set[tuple[int, int]] = set()
        if len(self._thresholds) * (len(self.events) + len(facts)) > _MOST_WORK:
            raise CertificateError("its trees of cases have too many leaves and events")

    def _possible(self, facts: Facts) -> list[int]:
        """Return the ways in which labels may overturn a row."""
        margins = self._rule.margins(facts.score)
        if margins is None:
            return [1, -1]  # nothing is known
        reach = {way: (-math.inf, facts.reach[way, BUDGET][1]) for way in margins}
        return [way for way, m in margins.items() if self._rule.crossed(m, reach[way]) is not False]

    def _event(self, row: float, way: float) -> Event:
        kind, sign = self._kinds[_place(row, len(self._kinds))], 1 if way > 0 else -1
        facts = self._facts[kind]
        least, most, _ = (self._rule.margins(facts.score) or {}).get(sign, (-math.inf, math.inf, 0))
        ahead, back = facts.reach[sign, BUDGET][1], facts.reach[-sign, BUDGET][1]
        is_known = all(map(math.isfinite, (least, most, ahead, back)))
        return Event(kind, sign, is_known, least, most, ahead, back)

    # --- events that exclude each other -------------------------------------------------------

    def check_pairs(self, furthest: Furthest) -> None:
        """Find out which pairs of events exclude each other, of those that the file names."""
        size = len(self.events)
        for one, other, x, y, threshold in self._pairs:
            places = _place(one, 2 * size), _place(other, 2 * size)
            rows, factors, level = [], [], Fraction(0)
            for place, factor in zip(places, (x, y), strict=True):
                event, over = self.events[place % size], place < size
                if not event.is_known or factor <= 0:
                    break
                rows.append(event.kind)
                factors.append(factor * event.way * (1 if over else -1))
                level += Fraction(factor) * Fraction(event.least if over else -event.most)
            if len(rows) == 2 and furthest(rows, factors, threshold, {}) < level:
                self._proven.add((min(places), max(places)))

    def _exclude(self, one: int, other: int) -> bool:
        """Return whether two events exclude each other: by themselves, or as was found."""
        size = len(self.events)
        a, b = self.events[one % size], self.events[other % size]
        if a.kind == b.kind and one < size:  # of one row: not both ways, nor overturned and not
            return (other < size) == (a.way != b.way)
        return (one, other) in self._proven

    def _clique(self, number: int) -> set[int]:
        """Return the events of a clique; none unless all of them exclude one another."""
        members = sorted(self._cliques.get(number, ()))
        pairs = ((a, b) for at, a in enumerate(members) for b in members[at + 1 :])
        return set(members) if all(self._exclude(*pair) for pair in pairs) else set()

    # --- bounds -------------------------------------------------------------------------------

    def bound(self, number: int | None, goal: "Gains", furthest: Furthest) -> Number:
        """Return a bound on a goal by a tree, or, without one, by counting rows."""
        tree: Iterable[_Case] = [({}, {}, -1)]
        if number is not None and 0 <= number < len(self._trees):
            tree = self._leaves(*self._trees[number])
        return goal.snapped(max(self._leaf(goal, *leaf, furthest) for leaf in tree))

    def _leaves(self, number: int, splits: list[list[float]]) -> "Iterator[_Case]":
        """Yield the cases of a tree; each of two parts holds all labels that the other does not."""
        stack: list[tuple[dict[int, bool], dict[int, tuple[int, int]]]] = [({}, {})]
        for at, count in splits:
            fixed, moving = stack.pop()
            if at < 0:
                yield fixed, moving, number
                number += 1
            elif not count:
                event = _place(at, len(self.events))
                stack += [(fixed | {event: each}, moving) for each in (False, True)]
            else:
                low, high = moving.get(int(at), (0, len(self._sets.get(int(at), ()))))
                ends = (low, int(count) - 1), (int(count), high)
                stack += [(fixed, moving | {int(at): each}) for each in ends]

    def _leaf(
        self, goal: "Gains", fixed: dict[int, bool], moving: dict[int, tuple[int, int]],
        number: int, furthest: Furthest,
    ) -> Number:  # fmt: skip
        """Return the bound of a case; see the opening."""
        links, cuts, mix, prices = (
            of.get(number, []) for of in (self._links, self._cuts, self._mixes, self._prices)
        )
        total, gain = goal.mixed(mix)
        size = len(self.events)
        change: list[list[Fraction]] = [[Fraction(0), Fraction(0)] for _ in self.events]
        rows, factors = [], []
        for at, factor in links:
            event = self.events[_place(at, size)]
            if event.is_known and factor:
                up, down = Fraction(max(factor, 0.0)), Fraction(max(-factor, 0.0))
                total += up * Fraction(event.back) + down * Fraction(event.most)
                change[int(at)][1] -= up * Fraction(event.least + event.back)
                change[int(at)][1] += down * Fraction(event.ahead - event.most)
                rows.append(event.kind)
                factors.append(factor * event.way)
        for clique, weight in cuts:
            members = self._clique(int(clique)) if weight > 0 else set()
            total += Fraction(weight) if members else 0
            for place in members:
                change[place % size][place < size] -= Fraction(weight)
        added: dict[int, float] = {}
        for labels, price in prices:
            low, high = moving.get(int(labels), (0, len(self._sets.get(int(labels), ()))))
            total -= Fraction(price) * (low if price > 0 else high)
            for row in self._sets.get(int(labels), ()):
                added[row] = added.get(row, 0.0) + price
        for kind in self._of_kind.keys() | gain.keys():
            events = self._of_kind.get(kind, [])
            sums = [
                sum((change[e][self.events[e].way == way] for e in events), Fraction(0))
                + (gain.get(kind, Fraction(0)) if goal.way in (None, way) and way else 0)
                for way in (0, *self.ways[kind])
                if all(fixed.get(e, b) == b for e in events for b in [self.events[e].way == way])
            ]
            if not sums:
                return -math.inf  # there are no such labels
            total += max(sums)
        if not rows and not added:
            return total
        threshold = self._thresholds[number] if number < len(self._thresholds) else 0.0
        return total + furthest(rows, factors, threshold, added)


class Gains:
    """A goal by kinds of rows: what each adds to its functions if it is overturned."""

    def __init__(
        self, goal: Goal, now: Any, kinds: Any, ways: list[list[int]], way: int | None = None
    ) -> None:
        # Without `now`, a function is of overturned rows, and not of those predicted positive.
        self._goal, self._now, self._kinds, self._ways, self.way = goal, now, kinds, ways, way
        self._counts = [any(way in (None, each) for each in possible) for possible in ways]
        self._only: Any = None

    def _function(self, at: int) -> tuple[Fraction, Any, Fraction]:
        """Return a function's value as things are, what kinds add to it, and the unit of that."""
        if self._only is not None:
            return self._only  # type: ignore[no-any-return]
        function = self._goal[_place(at, len(self._goal))]()
        start, steps = function.start, function.steps
        if (
            self._now is not None
        ):  # overturned, a positive row no longer counts, a negative one does
            start, steps = function.value(self._now), np.where(self._now, -1, 1) * steps
        gains = np.zeros(len(self._counts), dtype=steps.dtype)
        np.add.at(gains, self._kinds, steps)
        gains[np.logical_not(self._counts)] = 0
        found = start, gains, function.unit
        self._only = found if len(self._goal) == 1 else None
        return found

    def mixed(self, mix: list[list[float]]) -> tuple[Fraction, dict[int, Fraction]]:
        """Return the weighted mean of the functions: its start, and what kinds add."""
        mix = mix or [[at, 1.0] for at in range(len(self._goal))]
        whole = sum(Fraction(max(weight, 0.0)) for _, weight in mix)
        if not whole:
            raise UnprovenError("weights of functions sum up to nothing")
        total, gain = Fraction(0), dict[int, Fraction]()
        for at, weight in mix:
            share = Fraction(max(weight, 0.0)) / whole
            start, gains, unit = self._function(int(at))
            total += share * start
            for kind in np.flatnonzero(gains).tolist():
                gain[kind] = gain.get(kind, Fraction(0)) + share * unit * int(gains[kind])
        return total, gain

    def snapped(self, bound: Number) -> Number:
        """Return the largest value that exists and is not above a bound."""
        if not math.isfinite(bound):
            return bound
        found = []
        for at in range(len(self._goal)):
            start, gains, unit = self._function(at)
            step = unit * math.gcd(*map(int, gains))
            found.append(start + step * math.floor((bound - start) / step) if step else start)
        return min(bound, max(found))


def _table(proof: dict[str, FloatArray], name: str, width: int) -> FloatArray:
    found = proof.get(name, np.zeros((0, width)))
    if found.ndim != 2 or found.shape[1] != width:
        raise CertificateError(f"{name!r} of the proof must have {width} columns")
    return found


def _place(number: float, size: int) -> int:
    if number != int(number) or not 0 <= number < size:
        raise CertificateError("its proof names an event, a row or a function that does not exist")
    return int(number)


def _by_first(rows: FloatArray) -> dict[int, list[list[float]]]:
    """Return the rest of each row by its first number."""
    found: dict[int, list[list[float]]] = {}
    for first, *rest in rows[rows[:, 0] >= 0].tolist():
        found.setdefault(int(first), []).append(rest)
    return found


def _trees(splits: list[list[float]]) -> Iterator[tuple[int, list[list[float]]]]:
    """Yield trees, one after the other: the number of its first leaf, and its splits."""
    tree: list[list[float]] = []
    left, leaves, first = 1, 0, 0
    for split in splits:
        tree.append(split)
        left += -1 if split[0] < 0 else 1
        leaves += split[0] < 0
        if not left:
            yield first, tree
            tree, left, first = [], 1, leaves
