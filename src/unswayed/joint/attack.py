"""Attacks: label sets that overturn many rows at once, chosen or drawn at random."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.joint.fragile import Changes, Fragile, Goal
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.classes import ClassChanges
from unswayed.results.curves import RandomDraws

# Chance: what label sets drawn at random do to predictions. A simulation, and no proof.

Overturned = Callable[[Any], FloatArray]
"""From label changes, (draws, n) and sparse, to how many predictions each draw changes."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model whose labels are drawn, and where its training rows are among all of them."""

    bias: ResolvedBias
    place: IntArray
    overturned: Overturned


def at_random(
    models: Sequence[Drawn], labels: Sequence[int], n_rows: int, draws: int, seed: int
) -> list[RandomDraws]:
    """Return what so many random wrong labels do to the predictions of all models, at each count.

    Every draw is one set of labels for all models; those of smaller counts are parts of it.
    """
    found = np.zeros((len(labels), draws))
    places = np.concatenate([each.place for each in models]) if models else np.zeros(0, np.intp)
    low, high = np.zeros((2, int(places.max(initial=-1)) + 1))
    for each in models:
        low[each.place], high[each.place] = each.bias.lower, each.bias.upper
    for at, changes in enumerate(_changes(low, high, labels, draws, seed, _amounts(models))):
        for each in models:
            found[at] += each.overturned(changes[:, each.place])
    every = max(1, n_rows)
    return [
        RandomDraws(float(each.sum() / (draws * every)), float(each.max() / every), draws)
        for each in found
    ]


Amounts = Callable[[FloatArray, FloatArray, IntArray, np.random.Generator], FloatArray]
"""From the ends of all intervals and labels that are wrong to what is added to these."""


def _amounts(models: Sequence[Drawn]) -> Amounts:
    """Return what is added to wrong labels: of classes another one, of numbers anything."""
    parts = [(each.place, each.bias.classes) for each in models if each.bias.classes is not None]
    if parts:
        n_labels = 1 + max(int(place.max(initial=-1)) for place, _ in parts)
        allowed = np.zeros((n_labels, parts[0][1].n_classes), dtype=bool)
        own = np.zeros(n_labels, dtype=np.intp)
        for place, each in parts:
            own[place], allowed[place] = each.own, each.allowed
        known = ClassChanges(own, allowed)
        return lambda low, high, rows, rng: (known.drawn(rows, rng) - own[rows]).astype(np.float64)
    if models and models[0].bias.whole:  # a label that is wrong is the other one
        return lambda low, high, rows, rng: np.where(high[rows] > 0, high[rows], low[rows])
    return lambda low, high, rows, rng: low[rows] + rng.random(rows.shape) * (high - low)[rows]


def _changes(
    low: FloatArray,
    high: FloatArray,
    labels: Sequence[int],
    draws: int,
    seed: int,
    amounts: Amounts,
) -> Iterator[Any]:
    """Yield label changes, (draws, n) and sparse, for each number of labels, which ascend."""
    rng = np.random.default_rng(seed)
    movable = np.flatnonzero((low != 0) | (high != 0))
    most = min(max(labels, default=0), len(movable))
    order = np.array([rng.choice(movable, most, replace=False) for _ in range(draws)])
    order = order.reshape(draws, most).astype(np.intp)
    amount = amounts(low, high, order, rng)
    for count in labels:
        taken = min(count, most)
        rows = np.repeat(np.arange(draws), taken)
        entries = (amount[:, :taken].ravel(), (rows, order[:, :taken].ravel()))
        yield sparse.csr_array(entries, shape=(draws, len(low)))


# ----------------------------------------------------------------------------------------
# Attacks: sets of labels that reach much, whatever they are made from.
#
# A label set is tried in doubles and counts only after the engine has proven what it does. Sets
# come from sums of influence rows with weights that are changed until many rows are overturned,
# from linear programmes from which hopeless rows are dropped one after the other, and from local
# search.

_ROUNDS = 60  # of changing weights

_FUNCTIONS = 4  # of a goal that has several, from which attacks start

_PARTS = 50  # of a label set that are tried

_NEAR = 0.5  # of a goal's gains, for rows that are nearly overturned: less than any row counts

_AT_ONCE = 2**24  # numbers that local search looks at in one step


@dataclass(eq=False)
class Attack:
    """The best label set found so far for one goal."""

    fragile: Fragile
    goal: Goal
    spent: Callable[[], bool]  # Whether the time is up
    changes: Changes = field(init=False)  # The best label set
    value: Fraction = field(init=False)  # What it is proven to reach

    def __post_init__(self) -> None:
        self.changes = self.fragile.unchanged
        self.value = self.goal.value(*self.fragile.outcome(self.changes))

    def offer(self, changes: Changes | None) -> bool:
        """Take a label set if it is proven to reach more than the best one."""
        if changes is None:
            return False
        moved = self.fragile.effects @ changes.amount
        hopeful = float(self.goal.values(self._overturned(moved[:, None]))[0])
        if hopeful <= float(self.value) - 1e-9 * self.goal.size:
            return False
        value = self.goal.value(*self.fragile.outcome(changes))
        if value <= self.value:
            return False
        self.changes, self.value = changes, value
        return True

    def _overturned(self, moved: FloatArray) -> FloatArray:
        return self.fragile.happening(moved, self._margin)

    @cached_property
    def _margin(self) -> FloatArray:
        return np.where(self.fragile.aimed, self.fragile.margin, np.inf)

    # --- sums of influence rows -----------------------------------------------------------

    def reweigh(self) -> None:
        """Try the strongest labels for sums of influence rows, with weights that change.

        It works for every kind of budget.
        """
        fragile = self.fragile
        if not fragile.aimed.any():
            return
        scale = np.where(fragile.aimed & (fragile.margin > 0), fragile.margin, 1.0)
        for start in self._starts():
            weight = start / scale
            self._try_parts(strongest(fragile, weight @ fragile.influence))
            for _ in range(_ROUNDS):
                if self.spent() or not weight.any():
                    return
                changes = strongest(fragile, weight @ fragile.influence)
                self.offer(changes)
                progress = (fragile.effects @ changes.amount) / scale
                others = np.where(progress > 0.8, 1.3, 0.9)
                weight *= np.where(start > 0, factor(progress), others)

    def _starts(self) -> list[FloatArray]:
        """First weights: all rows, and those of each of the two directions that matter.

        Of several functions, those that are least as things are.
        """
        found: list[FloatArray] = []
        for at in np.argsort(self.goal.offsets, kind="stable")[:_FUNCTIONS]:
            pull = self.goal.slopes[at] * self.fragile.aimed
            correlation = self.fragile.influence @ (pull @ self.fragile.influence)
            ways = (correlation > 0, correlation < 0)
            found += [pull, *(np.where(way, pull, 0.0) for way in ways)]
        return found

    def _try_parts(self, changes: Changes) -> None:
        """Try some of the labels, where all of them may be too much of a good thing."""
        if self.goal.single:
            return
        strength = self.goal.slopes[self.goal.offsets.argmin()] @ self.fragile.effects
        order = np.argsort(-strength[changes.column], kind="stable")
        for count in range(1, len(order) + 1, max(1, len(order) // _PARTS)):
            kept = np.sort(order[:count])
            self.offer(self.fragile.part(changes, kept))

    # --- fractional solutions -------------------------------------------------------------

    def round(self, amount: FloatArray, target: BoolArray) -> None:
        """Try whole numbers of labels near a fractional solution, and improve them."""
        labels = np.floor(amount + 1e-6)
        left = int(min(self.fragile.budget.most_labels, np.ceil(amount.sum() - 1e-6)))
        left -= int(labels.sum())
        order = np.argsort(labels - amount, kind="stable")[: max(left, 0)]
        labels[order] += (amount - labels)[order] > 1e-6
        self.offer(self.fragile.from_columns(labels.astype(np.intp), labels))
        self.improve(labels)
        self.pursue(labels, target & self.fragile.aimed)

    def pursue(self, labels: FloatArray, target: BoolArray, steps: int = 3000) -> None:
        """Exchange labels until certain rows are overturned, if that can be had.

        What is missing of each row counts with a weight that grows as long as the row is not
        overturned, so that no minimum of their sum holds the search for ever.
        """
        fragile = self.fragile
        goal = float(self.goal.values(target[:, None].astype(np.float64))[0])
        kept = ~target & self.goal.feared & fragile.aimed
        sign = np.where(target, 1.0, -1.0)[target | kept]
        rows = np.flatnonzero(target | kept)
        scale = np.maximum(np.abs(fragile.margin[rows]), 1e-12)
        effects = np.ascontiguousarray((fragile.effects[rows] * (sign / scale)[:, None]).T)
        level = sign * fragile.margin[rows] / scale + 1e-9
        labels, weight = labels.copy(), np.ones(len(rows))
        moved = labels @ effects
        rng = np.random.default_rng(0)
        recent = np.full(len(labels), -1)
        n_out = max(1, _AT_ONCE // 4 // max(1, effects.size))
        for step in range(steps):
            if self.spent() or float(self.value) >= goal - 1e-9 * self.goal.size:
                return
            missing = np.maximum(level - moved, 0.0)
            if not missing.any():
                self.offer(fragile.from_columns(labels.astype(np.intp), labels))
                return
            used = np.flatnonzero(labels)
            allowed = used[recent[used] < step]
            allowed = allowed if len(allowed) else used
            outs = rng.permutation(allowed)[:n_out]
            free = (labels < fragile.columns.count) & (recent < step)
            best = (np.inf, -1, -1)
            for out in outs.tolist():
                after = (moved - effects[out]) + effects
                cost = np.maximum(level - after, 0.0) @ weight
                cost[~free] = np.inf
                into = int(cost.argmin())
                if cost[into] < best[0]:
                    best = (float(cost[into]), out, into)
            _, out, into = best
            if out < 0:
                return
            if best[0] >= missing @ weight:
                weight += missing > 0
            labels[out] -= 1
            labels[into] += 1
            moved = labels @ effects
            # What came in stays for a while, and what went out stays out.
            recent[[out, into]] = step + rng.integers(2, 8, size=2)
            self.offer(fragile.from_columns(labels.astype(np.intp), labels))

    def improve(self, labels: FloatArray, sweeps: int = 20) -> None:
        """Add labels and exchange one for another as long as that brings rows nearer."""
        fragile = self.fragile
        labels = labels.copy()
        moved = fragile.effects @ labels
        most = min(float(fragile.budget.most_labels), float(fragile.columns.count.sum()))
        worth = float(self._worth(moved[:, None])[0])
        for _ in range(sweeps):
            before = worth
            removals = [-1] if labels.sum() < most else np.flatnonzero(labels).tolist()
            for out in removals:
                if self.spent():
                    return
                if out >= 0 and not labels[out]:
                    continue
                base = moved if out < 0 else moved - fragile.effects[:, out]
                free = np.flatnonzero(labels < fragile.columns.count)
                found, best = self._best_addition(base, free)
                if found > worth + 1e-9 * self.goal.size:
                    labels[best] += 1
                    if out >= 0:
                        labels[out] -= 1
                    moved = fragile.effects @ labels
                    worth = found
            self.offer(fragile.from_columns(labels.astype(np.intp), labels))
            if worth <= before + 1e-9 * self.goal.size:
                return

    def _best_addition(self, base: FloatArray, free: IntArray) -> tuple[float, int]:
        """Return how much the best further label is worth, and its column."""
        best, where = -np.inf, -1
        step = max(1, _AT_ONCE // max(1, len(base)))
        for at in range(0, len(free), step):
            columns = free[at : at + step]
            worth = self._worth(base[:, None] + self.fragile.effects[:, columns])
            top = int(worth.argmax())
            if worth[top] > best:
                best, where = float(worth[top]), int(columns[top])
        return best, where

    def _worth(self, moved: FloatArray) -> FloatArray:
        """Value of the goal, and a part of what rows would add that are nearly overturned."""
        margin = self._margin[:, None]
        scale = np.where(np.isfinite(margin) & (margin > 0), margin, 1.0)
        with np.errstate(invalid="ignore"):
            progress = np.where(np.isfinite(margin), moved / scale, 0.0)
        nearness = np.clip(progress, -1.0, 1.0) / 4 + np.clip(2 * progress - 1, 0.0, 1.0) / 4
        reached = self.goal.values(self._overturned(moved))
        return np.asarray(reached + _NEAR * (self.goal.values(nearness) / (1 + len(margin)) ** 0.5))


def factor(progress: FloatArray) -> FloatArray:
    """Return how weights of rows change, given how near each row is to being overturned, at 1.

    Far from being overturned: given up, by and by. Far beyond: less is enough.
    """
    return np.select(
        [progress > 1.2, progress > 1.0, progress > 0.3], [0.8, 1.05, 1.3], default=0.85
    )


def strongest(fragile: Fragile, combined: FloatArray) -> Changes:
    """Return the labels that move a sum of influence rows furthest."""
    columns = fragile.columns
    gain = np.append(combined[columns.entry] * columns.offset, 0.0)  # the last one for "none"
    ways = fragile.columns_of_labels
    strength = np.maximum(gain[ways].max(axis=0), 0.0)
    rows, share = fragile.budget.choose(strength)
    useful = strength[rows] > 0
    rows, share = rows[useful], share[useful]
    best = np.argmax(gain[ways[:, rows]], axis=0)
    return fragile.from_labels(rows, share, ways[best, rows])
