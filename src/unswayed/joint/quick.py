"""Quick bounds: at most and at least how many rows one label set overturns, in about a second.

An *event* is a row being overturned in one direction: u·g >= 1, with u the weight vector of the row
divided by its margin, and g what the labels do to the model. Two events exclude each other if some
mean of theirs asks for more than labels can do, reach(x·u + (1-x)·v) < 1: one selection proves it.
Rows are sorted into sets whose events exclude one another, and one label set overturns at most one
row of each. Which pairs to try is guessed from norms; what is tried is proven by the engine.

Fewer labels do less, so that sets found at one budget serve all smaller ones: `at_most` counts the
sets that have a row which so many labels overturn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._core.influence import MadeRows, WeightRows, Weights
from unswayed._core.rounding import SAFETY, UNIT, gamma, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.selection import ExactEngine
from unswayed.joint.attack import factor
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins

_MOST_NUMBERS = 2**24  # of weight vectors that are held at once
_MOST_EFFECTS = 2**24  # of labels on rows: beyond this no rows are compared with one another
_MOST_PAIRS = 2**28  # numbers that are selected from to prove that events exclude each other
_FEW = 32  # candidates that are compared for the next place in a set
_ROUNDS = 3  # of sorting rows into sets: what was guessed wrongly is tried elsewhere
_LIKELY = 1.0
_ATTACKS = 20  # rounds of changing weights, or fewer where each takes long
_FEWEST_ATTACKS = 4
_ATTACK_WORK = 2**25  # numbers that all rounds read
_NEARLY_ONE = 1.0 - 2.0**-40
_LEAST_MARGIN = 2.0**-300  # rows that are nearer to being overturned count alone


@dataclass(frozen=True, slots=True, eq=False)
class Exclusive:
    """Sets of rows of which one label set within a budget overturns at most one each."""

    amount: float  # of the budget
    row: IntArray  # the row of each event
    part: IntArray  # the set of each event

    def at_most(self, least: FloatArray, count: IntArray, amount: float) -> int:
        """Return how many rows a budget that is no larger overturns at most.

        A row counts as often as it occurs; `least` is how much overturns it, at least.
        """
        if amount > self.amount:
            raise ValueError("these sets were found at a smaller budget")
        most = np.zeros(int(self.part.max(initial=-1)) + 1, dtype=np.int64)
        inside = least[self.row] <= amount
        np.maximum.at(most, self.part[inside], count[self.row[inside]])
        alone = ~np.isin(np.arange(len(least)), self.row) & (least <= amount)
        return int(most.sum()) + int(count[alone].sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Quick:
    """Distinct rows put to an engine, of which many may be overturned by one label set.

    `count` says how often each row occurs, `least` how large a budget overturns it at least.
    """

    engine: ExactEngine
    weights: WeightRows
    margins: Margins
    count: IntArray
    least: FloatArray

    @cached_property
    def rows(self) -> IntArray:
        """The rows that are looked at: all, or those that occur most often."""
        most = max(1, _MOST_NUMBERS // max(1, self.engine.influence.width))
        order = np.argsort(-self.count, kind="stable")
        return np.sort(order[:most])

    @property
    def size(self) -> int:
        """How many numbers its weight vectors have."""
        return len(self.weights) * self.engine.influence.width

    @cached_property
    def _made(self) -> Weights:
        step, parts = max(1, _MOST_NUMBERS // max(1, self.engine.influence.width)), []
        for start in range(0, max(1, len(self.weights)), step):
            stop = min(start + step, len(self.weights))
            here = self.rows[(self.rows >= start) & (self.rows < stop)] - start
            parts.append([each[here] for each in self.weights.block(start, stop)])
        return Weights(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    # --- at most --------------------------------------------------------------------------

    def exclusive(self, budget: Budget) -> Exclusive:
        """Sort rows into sets whose members exclude one another within a budget."""
        fragile = int(np.sum(self.least <= budget.amount))
        if fragile * len(self.engine.influence.entries) > _MOST_EFFECTS:
            nothing = np.zeros(0, dtype=np.intp)
            return Exclusive(budget.amount, nothing, nothing)
        events = _Events.of(self, budget)
        part = np.arange(len(events.row))
        if len(part) > 1:
            pairs = _MOST_PAIRS // max(1, len(self.engine.influence.entries))
            part = _sorted(events, self.count[events.row], pairs)
        return Exclusive(budget.amount, events.row, part)

    # --- at least -------------------------------------------------------------------------

    @cached_property
    def _learner(self) -> tuple[Matrix | None, FloatArray]:
        learner = self.engine.learner
        scale = learner.row_scale
        return learner.design, np.ones(learner.n_rows) if scale is None else scale

    def influence(self, weights: FloatArray) -> FloatArray:
        """Return what each training label does to the score of a weight vector."""
        design, scale = self._learner
        return (weights if design is None else np.asarray(design @ weights)) * scale

    def moves(self, changes: FloatArray, unit: FloatArray) -> FloatArray:
        """Return how far label changes move weight vectors."""
        design, scale = self._learner
        used = np.flatnonzero(changes)
        if design is None:
            return np.asarray(unit[:, used] @ (changes * scale)[used])
        return np.asarray(unit @ ((changes * scale)[used] @ design[used]))

    def lost(self, changes: FloatArray, unit: FloatArray) -> FloatArray:
        """Return how far `moves` may be off: one rounding per product and per sum, in any order."""
        design, scale = self._learner
        used = np.flatnonzero(changes)
        sizes = np.abs(changes * scale)
        if design is not None:
            sizes = np.asarray(sizes[used] @ abs(design[used]))
        return gamma(len(used) + unit.shape[1] + 16) * SAFETY * (np.abs(unit) @ sizes)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Events:
    """Rows that a budget overturns, each with the direction in which it does."""

    row: IntArray
    weights: Weights  # divided by the least margin: what overturns moves them beyond 1
    reach: FloatArray  # how far each can be moved, in the same unit
    both: FloatArray  # in both directions together
    engine: ExactEngine
    budget: Budget

    @classmethod
    def of(cls, asked: Quick, budget: Budget) -> "_Events":
        """Find the rows that a budget overturns, of those about which anything is known."""
        made, margins = asked._made, asked.margins[asked.rows]
        bounds = asked.engine.reach(MadeRows(made), budget)
        off = 2.0 * bounds.error + margins.slack
        margin = np.stack((margins.up, margins.down))
        outer = np.stack((bounds.outer_up, bounds.outer_down))
        level = narrower(margin, off)
        overturned = np.isfinite(margin) & ~(wider(outer, margins.slack) <= margin)
        # A row that may be overturned in a way that is no event is none at all: it counts alone.
        usable = np.isfinite(off) & (~overturned | (level > _LEAST_MARGIN)).all(axis=0)
        way, at = np.nonzero(overturned & usable)
        sign, level, reach = np.where(way, -1.0, 1.0), level[way, at], outer[way, at]
        scaled = Weights(
            made.values[at] * (sign / level)[:, None], made.error[at] / level, made.size[at] / level
        )
        return cls(
            row=asked.rows[at],
            weights=scaled,
            reach=reach / level,
            both=(bounds.outer_up + bounds.outer_down)[at] / level,
            engine=asked.engine,
            budget=budget,
        )

    def means(self, first: IntArray, second: IntArray, share: FloatArray) -> FloatArray:
        """Return how far labels can move weighted means of two events, rounded up."""
        other = 1.0 - share
        values, error, size = self.weights
        mixed = Weights(
            values[first] * share[:, None] + values[second] * other[:, None],
            SAFETY * (error[first] * share + error[second] * other),
            # Twice, because the mixture is rounded too: three roundings more in every product.
            2.0 * (size[first] * share + size[second] * other),
        )
        found = self.engine.reach(MadeRows(mixed), self.budget).outer_up
        # The same where influence is given, and no product is made.
        return wider(found, 8.0 * UNIT * (self.both[first] + self.both[second]))

    @cached_property
    def likely(self) -> tuple[BoolArray, FloatArray]:
        """Return which events probably exclude each other, and by which share of the first."""
        influence, unit = self.engine.influence, self.weights.values
        if influence.entry_rows is None:
            offset = np.zeros(influence.width)
            offset[influence.entries.rows] = np.maximum(
                influence.entries.upper, -influence.entries.lower
            )
            inner = (unit * offset**2) @ unit.T
        else:
            inner = unit @ self.engine.offset_gram()[0] @ unit.T
        square = np.diag(inner).copy()
        factor = self.reach / np.sqrt(np.maximum(square, 1e-300))
        apart = np.maximum(square[:, None] + square - 2.0 * inner, 1e-300)
        share = np.clip((square - inner) / apart, 0.03, 0.97)
        other = 1.0 - share
        norm = share**2 * square[:, None] + other**2 * square + 2.0 * share * other * inner
        guess = 0.5 * (factor[:, None] + factor) * np.sqrt(np.maximum(norm, 0.0))
        found = guess < _LIKELY
        np.fill_diagonal(found, val=False)
        return found, share


def _sorted(events: _Events, count: IntArray, most_pairs: int) -> IntArray:
    """Return a set for each event, so that the events of a set exclude one another: a proof."""
    likely, share = events.likely
    part, free = np.arange(len(count)), np.ones(len(count), dtype=bool)
    order = np.lexsort((likely.sum(axis=1), -count))
    for _ in range(_ROUNDS):
        sets = _cliques(likely, free, order, most_pairs)
        if not sets:
            break
        first, second = np.concatenate(
            [of[np.stack(np.triu_indices(len(of), 1))] for of in sets], axis=1
        )
        most_pairs -= len(first)
        proven = events.means(first, second, share[first, second]) < _NEARLY_ONE
        proven |= events.row[first] == events.row[second]  # two directions of one row
        wrong = np.zeros_like(likely)
        wrong[first[~proven], second[~proven]] = wrong[second[~proven], first[~proven]] = True
        likely = likely & ~wrong
        for of in sets:
            kept: list[int] = []
            for member in of.tolist():
                if not wrong[member, kept].any():
                    kept.append(member)
            if len(kept) > 1:
                part[kept] = kept[0]
                free[kept] = False
    return np.unique(part, return_inverse=True)[1]


def _cliques(
    likely: BoolArray, free: BoolArray, order: IntArray, most_pairs: int
) -> list[IntArray]:
    """Return disjoint sets of free events that are likely to exclude one another."""
    left, found, pairs = free.copy(), [], 0
    for start in order.tolist():
        if not left[start]:
            continue
        members, candidates = [start], likely[start] & left
        while candidates.any():
            ranked = order[candidates[order]]
            few = ranked[:_FEW]
            # The heaviest few, and of these the one that leaves most to choose from.
            best = int(few[(likely[few] & candidates).sum(axis=1).argmax()])
            members.append(best)
            candidates &= likely[best]
        pairs += len(members) * (len(members) - 1) // 2
        if pairs > most_pairs:
            break
        left[members] = False
        if len(members) > 1:
            found.append(np.array(members))
    return found


@dataclass(frozen=True, eq=False)
class Placed:
    """A model's rows, and where its training rows are among all labels that may be wrong."""

    quick: Quick
    place: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Targets:
    """Rows that a budget may overturn, each with a direction, as attacks see them."""

    row: IntArray
    margin: FloatArray
    unit: FloatArray  # weight vectors, divided by the margin: what overturns moves them beyond 1
    error: FloatArray  # of such a movement, beside that of its sums

    @classmethod
    def of(cls, asked: Quick, top: Budget) -> "_Targets":
        """Find the rows that some labels may overturn and about which anything is known."""
        made, margins = asked._made, asked.margins[asked.rows]
        off = asked.engine.precision.errors(made.error, made.size, top.most_labels)
        off = 2.0 * off + margins.slack
        near = (asked.least[asked.rows] <= top.amount) & np.isfinite(off)
        margin = np.stack((margins.up, margins.down))
        way, at = np.nonzero(near & np.isfinite(margin) & (margin > _LEAST_MARGIN))
        margin = margin[way, at]
        unit = made.values[at] * (np.where(way, -1.0, 1.0) / margin)[:, None]
        return cls(asked.rows[at], margin, unit, off[at] / margin)


class Attacks:
    """Label sets that overturn many rows of one or more models that share their labels.

    They are chosen by sums of influence rows, whose weights change with what was overturned. `top`
    is the largest budget that will be asked about.
    """

    def __init__(self, parts: Sequence[Placed], top: Budget) -> None:
        self._parts = [(each, _Targets.of(each.quick, top)) for each in parts]
        n_labels = 1 + max((int(each.place.max(initial=-1)) for each in parts), default=-1)
        self._low, self._high = np.zeros((2, n_labels))
        for each in parts:
            bias = each.quick.engine.bias
            self._low[each.place], self._high[each.place] = bias.lower, bias.upper
        self._pushes: dict[float, FloatArray] = {}  # of the best sets, by budget

    def at_least(self, budget: Budget) -> int:
        """Return how many rows some label set is proven to overturn; it is looked for."""
        counted = [part.quick.count[of.row] for part, of in self._parts]
        # With what most rows have in common, and against it.
        along = [
            part.quick.moves(part.quick.influence((count * of.margin) @ of.unit), of.unit)
            for (part, of), count in zip(self._parts, counted, strict=True)
        ]
        found = []
        for sign in (0.0, 1.0, -1.0):
            pairs = zip(along, counted, strict=True)
            weight = [np.where(sign * way >= 0, count, 0.0) for way, count in pairs]
            found.append(self._followed(weight, budget))
        best = max(found, key=lambda each: each[0])
        self._pushes[budget.amount] = best[1]
        return self._proven(best[1], budget)

    def known(self, budget: Budget) -> int:
        """Return what the sets of the next budgets that were asked about overturn at this one."""
        near = sorted(self._pushes, key=lambda amount: abs(amount - budget.amount))[:2]
        return max((self._proven(self._pushes[each], budget) for each in near), default=0)

    def _followed(self, weight: list[FloatArray], budget: Budget) -> tuple[int, FloatArray]:
        best, kept = -1, np.zeros(len(self._low))
        numbers = sum(of.unit.size for _, of in self._parts)
        rounds = max(_FEWEST_ATTACKS, min(_ATTACKS, _ATTACK_WORK // max(1, numbers)))
        for _ in range(rounds):
            push = np.zeros(len(self._low))
            for (part, of), each in zip(self._parts, weight, strict=True):
                push[part.place] += part.quick.influence(each @ of.unit)
            changes = self._strongest(push, budget)
            found, moves = 0, []
            for part, of in self._parts:
                moved = part.quick.moves(changes[part.place], of.unit)
                found += int(part.quick.count[of.row[moved > 1.0]].sum())
                moves.append(moved)
            best, kept = (found, push) if found > best else (best, kept)
            weight = [each * factor(moved) for each, moved in zip(weight, moves, strict=True)]
        return best, kept

    def _strongest(self, push: FloatArray, budget: Budget) -> FloatArray:
        """Return the changes of the labels that push most."""
        fall = push * self._low > push * self._high
        chosen, share = budget.choose(np.where(fall, push * self._low, push * self._high))
        changes = np.zeros(len(push))
        changes[chosen] = share * np.where(fall, self._low, self._high)[chosen]
        return changes

    def _proven(self, push: FloatArray, budget: Budget) -> int:
        """Return how many rows the labels that push most are proven to overturn."""
        changes, total = self._strongest(push, budget), 0
        for part, of in self._parts:
            here = changes[part.place]
            moved, lost = part.quick.moves(here, of.unit), part.quick.lost(here, of.unit)
            over = narrower(moved, lost + of.error) > 1.0
            total += int(part.quick.count[np.unique(of.row[over])].sum())
        return total
