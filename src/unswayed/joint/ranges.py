"""Ranges of metrics: goals are made of them, and what is found of goals becomes their ends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from unswayed._core.influence import WeightRows
from unswayed._core.rounding import SAFETY, gamma, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import FeatureRows
from unswayed.engines.selection import ExactEngine
from unswayed.exceptions import InputError
from unswayed.joint.attack import strongest
from unswayed.joint.fragile import Changes, Fragile, Goal
from unswayed.joint.metrics import Form, Function, Quotient
from unswayed.joint.search import Deadline, End, Search
from unswayed.labels.budgets import Budget
from unswayed.models.learner import Scores

_BLOCK = 256  # rows at a time

_ALIKE = 1e-6  # of two ends, relative to what labels do: digits that people are shown


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """The range of a weighted sum of scores."""

    value: float
    low: float  # Rounded outwards
    high: float  # Rounded outwards
    inner_low: float  # Reached, rounded inwards
    inner_high: float  # Reached, rounded inwards
    changes_low: Changes  # The labels that lead there
    changes_high: Changes  # The labels that lead there
    size: float  # What rounding is measured by: the value, and how far labels move it

    @property
    def proven_low(self) -> bool:
        """Whether the lower ends of the two ranges differ by ordinary rounding only."""
        return alike(self.low, self.inner_low, self.size)

    @property
    def proven_high(self) -> bool:
        """Whether the upper ends of the two ranges differ by ordinary rounding only."""
        return alike(self.high, self.inner_high, self.size)


def alike(outer: float, inner: float, size: float) -> bool:
    """Return whether two ends are one number but for ordinary rounding."""
    return math.isfinite(outer) and abs(outer - inner) <= _ALIKE * size


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums of scores under one budget."""

    fragile: Fragile  # The sums as rows: their influence, and the error of what labels do to them
    value: FloatArray  # Scores as trained, and bounds on their errors
    error: FloatArray  # Scores as trained, and bounds on their errors

    @classmethod
    def of(
        cls,
        engine: ExactEngine,
        rows: WeightRows,
        scores: Scores,
        budget: Budget,
        factors: FloatArray,
    ) -> "Sums":
        """Add up rows."""
        assert isinstance(rows, FeatureRows)  # noqa: S101  (no others are asked about)
        n_sums, n_rows = factors.shape
        entries = engine.influence.entries
        total = np.zeros((n_sums, len(entries)))
        # The factors are rounded, too.
        rounding = gamma(n_rows + 8)
        error, ahead, back = np.zeros((3, n_sums))
        for start in range(0, n_rows, _BLOCK):
            here = np.arange(start, min(start + _BLOCK, n_rows))
            effects = engine.effects(rows.take(here), budget)
            part = factors[:, here]
            total += part @ effects.influence
            off = effects.error + rounding * (effects.up + effects.down)
            more, less = np.maximum(part, 0), np.maximum(-part, 0)
            error += _summed(np.abs(part), off)
            ahead += _summed(more, effects.up) + _summed(less, effects.down)
            back += _summed(more, effects.down) + _summed(less, effects.up)
        fragile = Fragile(
            row=np.arange(n_sums),
            way=np.ones(n_sums),
            influence=total,
            margin=np.zeros(n_sums),
            error=SAFETY * error,
            ahead=SAFETY * ahead,
            back=SAFETY * back,
            weights=np.zeros((n_sums, 0)),
            design=None,
            entries=entries,
            n_labels=len(engine.bias.lower),
            budget=budget,
            whole=engine.bias.whole,
        )
        spread = _summed(np.abs(factors), scores.error + rounding * np.abs(scores.value))
        return cls(fragile, factors @ scores.value, SAFETY * spread)

    def ends(self, at: int) -> Mean:
        """Return the range of one of the sums."""
        fragile, value = self.fragile, float(self.value[at])
        z = np.ascontiguousarray(fragile.influence[at : at + 1])
        up, down = (float(each[0]) for each in fragile.budget.reach(z, fragile.entries))
        off = np.array([SAFETY * float(fragile.error[at] + self.error[at])])
        high, inner_high = (float(f(np.array([value + up]), off)[0]) for f in (wider, narrower))
        low, inner_low = (float(f(np.array([value - down]), off)[0]) for f in (narrower, wider))
        return Mean(
            value,
            low,
            high,
            min(inner_low, value) if np.isfinite(off[0]) else value,
            max(inner_high, value) if np.isfinite(off[0]) else value,
            strongest(fragile, -z[0]),
            strongest(fragile, z[0]),
            abs(value) + up + down,
        )

    def gentlest(self, which: range, tried: list[Changes]) -> "Gentle":
        """Return label changes that make the largest of some sums small.

        Tried are label sets and parts of them: fewer labels, or, where labels need not move by all
        of their offset, all by less.
        """
        here = slice(which.start, which.stop)
        part, value = self.fragile.effects[here], self.value[here]
        off = SAFETY * (self.fragile.error + self.error)[here].max()
        best = Gentle(self.fragile.unchanged, value.max(), off)
        for changes in tried:
            for less in self._parts(changes, value, part):
                # One sum is rounded once per term here, and not once.
                largest = float((value + part @ less.amount).max())
                size = float((np.abs(value) + np.abs(part) @ less.amount).max())
                error = off + 4 * gamma(len(less.amount) + 4) * size
                if largest + error < best.value + best.error:
                    best = Gentle(less, largest, error)
        return Gentle(best.changes, best.value + best.error, 2 * best.error)

    def _parts(self, changes: Changes, value: FloatArray, effects: FloatArray) -> list[Changes]:
        """Return parts of a label set: the first labels, or all labels moved by less."""
        if self.fragile.whole:
            sizes = range(1, len(changes.rows) + 1)
            return [self.fragile.part(changes, slice(n)) for n in sizes]
        moved = effects @ changes.amount
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where two of the sums, seen as functions of the share, cross.
            shares = (value[:, None] - value) / (moved - moved[:, None])
        return [
            self.fragile.from_labels(changes.rows, changes.share * share, changes.column)
            for share in (1.0, *shares[(shares > 0) & (shares < 1)].tolist())
        ]


def _summed(factors: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return weighted sums of sizes, where none of what is unknown (inf) is none at all."""
    known = np.isfinite(sizes)
    found = factors @ np.where(known, sizes, 0.0)
    found[(factors[:, ~known] > 0).any(axis=1)] = np.inf
    return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class Gentle:
    """Label changes, the largest of some sums after them, and its error."""

    changes: Changes
    value: float
    error: float


# --- Ranges of metrics: goals are made of them, and what is found of goals becomes their ends


_ROUNDS = 12  # of better and better quotients

_FINEST = 2**53  # denominator of quotients; beyond, the next double is near enough


@dataclass(eq=False)
class Ranges:
    """Metrics of predictions that labels may overturn."""

    search: Search
    group: IntArray  # The distinct row of each row
    said: IntArray  # Predictions as they are: the number of the class of each row
    counted: IntArray  # The class that counts as positive, of each row

    @cached_property
    def positive(self) -> BoolArray:
        """Which rows are predicted to be of the class that counts."""
        return np.asarray(self.said == self.counted)

    @property
    def _fragile(self) -> Fragile:
        return self.search.fragile

    @cached_property
    def _classes(self) -> IntArray:
        """The class of each distinct row."""
        found = np.zeros(int(self.group.max(initial=-1)) + 1, dtype=np.intp)
        found[self.group] = self.said
        return found

    def goal(self, functions: Sequence[Function]) -> Goal:
        """Return the goal of making the least of some functions large."""
        row, rival = self._fragile.row, self._fragile.rival
        n_classes = 1 + max(int(each.max(initial=0)) for each in (self.said, self.counted, rival))
        gains = np.zeros((len(functions), len(row)), dtype=np.int64)
        for at, function in enumerate(functions):
            worth = np.zeros((len(self._classes), n_classes), dtype=np.int64)
            np.add.at(worth, (self.group, self.counted), function.gains)
            gains[at] = worth[row, rival] - worth[row, self._classes[row]]
        starts = tuple(function.value(self.positive) for function in functions)
        return Goal(starts, gains, tuple(f.unit for f in functions), self._fragile.row)

    def value(self, form: Form) -> Fraction:
        """Return the value of a metric as predictions are."""
        try:
            return form.value(self.positive)
        except ZeroDivisionError:
            raise InputError(
                "this ratio has a denominator of 0 for the predictions as they are, so that it is "
                "undefined; ask for the difference instead of the ratio"
            ) from None

    def ends(self, form: Form, deadline: Deadline, name: str = "") -> tuple[End, End]:
        """Return both ends of the range of a metric."""
        if isinstance(form, Quotient):
            return self._quotient(form, deadline, name)
        name = name if form.sign > 0 else f"less {name}"
        high = self._highest(form.functions, deadline.part(0.5), f"{name}, high")
        low = self._found([-each for each in form.functions], deadline, f"{name}, less low")
        return (low.mirrored(), high) if form.sign > 0 else (high.mirrored(), low)

    def _found(self, functions: Sequence[Function], deadline: Deadline, name: str) -> End:
        """Return how large the least of some functions can become."""
        found = self.search.largest(self.goal(functions), deadline, name=name)
        blur = max(each.blur for each in functions)
        bounds = {name: bound + blur for name, bound in found.bounds.items()}
        return replace(found, outer=found.outer + blur, inner=found.inner - blur, bounds=bounds)

    def _highest(self, functions: Sequence[Function], deadline: Deadline, name: str) -> End:
        """Return how large the largest of some functions can become: each is asked about alone."""
        if len(functions) == 1:
            return self._found(functions, deadline, name)
        for each in functions:
            self.search.warm(self.goal([each]), deadline.part(0.3 / len(functions)))
        quick = [self._quick([each]) for each in functions]
        order = sorted(range(len(functions)), key=lambda at: -quick[at])
        best: End | None = None
        outers: list[Fraction] = []
        for rank, at in enumerate(order):
            if best is not None and quick[at] <= best.inner:
                outers.append(quick[at])
                continue
            end = self._found([functions[at]], deadline.part(1 / (len(order) - rank)), name)
            outers.append(end.outer)
            if best is None or end.inner > best.inner:
                best = end
        assert best is not None  # noqa: S101  (there is a function)
        # None of the functions exceeds it, and each for a reason of its own.
        outer = max(outers)
        return End(outer, best.inner, best.changes, outer == best.inner)

    def _quick(self, functions: Sequence[Function]) -> Fraction:
        """Return a bound on the least of some functions that takes little time."""
        blur = max(each.blur for each in functions)
        return min(self.search.quick(self.goal(functions)).values()) + blur

    # --- quotients ------------------------------------------------------------------------

    def _quotient(self, form: Quotient, deadline: Deadline, name: str) -> tuple[End, End]:
        least = min(self._floor(each, deadline, capped=form.capped) for each in form.families)
        high, reached = self._climb(form, deadline.part(0.5), f"{name}, high", least, up=True)
        low, too = self._climb(form, deadline, f"{name}, low", least, up=False)
        # Of label sets whose value is not known, all that is known is that it is in the range.
        return (
            low if too else replace(low, inner=high.outer),
            high if reached else replace(high, inner=low.outer),
        )

    def _floor(self, family: Sequence[Function], deadline: Deadline, *, capped: bool) -> Fraction:
        """Return what the largest of some denominators never falls below; 0 if nothing is known."""
        below = [-each for each in family]
        least = -self._quick(below)
        if least <= 0:
            end = self._found(below, deadline.part(0.2), "denominator")
            least = -end.outer
            if least <= 0 and end.inner < 0 and capped:
                return Fraction(0)
        if least <= 0:
            raise InputError(
                "this ratio has a denominator that is 0 for some admissible labels, or that cannot "
                "be told apart from 0: of rates, all groups' rates are 0 at once there, and their "
                "ratio is undefined. Ask for the difference instead of the ratio, or for a smaller "
                "budget"
            )
        return least

    def _climb(
        self,
        form: Quotient,
        deadline: Deadline,
        name: str,
        least: Fraction,
        *,
        up: bool,
    ) -> tuple[End, bool]:
        """Return how large, or small, the smallest quotient can become, and if that is reached.

        At the best quotient t so far, the difference numerator - t·denominator is 0. If labels make
        it D larger at most, the quotient becomes at most D/floor larger; if they make it larger at
        all, there is a better quotient, and the same is asked of that.
        """
        sign = 1 if up else -1
        changes = self._fragile.unchanged
        start = self._known_value(form, changes)
        best, known = (self.value(form), False) if start is None else (start, True)
        outer, at = Fraction(up), best
        bounded = form.capped
        for _ in range(_ROUNDS):
            found = self._excess(form, best, deadline, name, up=up)
            excess = max(found.outer, Fraction(0))
            # None exceeds 1 where the floor is not known.
            excess = excess / least if least else excess and Fraction(1)
            bound = best + sign * excess
            if not bounded or sign * bound < sign * outer:
                outer, at, bounded = bound, found.at or best, True
            value = self._known_value(form, found.changes)
            if value is None or sign * value <= sign * best:
                break
            best, changes, known = value, found.changes, True
            if deadline.spent():
                break
        outer = max(outer, best) if up else min(outer, best)
        # What terms were rounded by may be missing from what is reached.
        blur = max(above.blur + abs(best) * below.blur for above, below in form.pairs)
        closed = outer == best or (found.proven and found.inner <= 0)
        if blur:
            best -= sign * blur / least
        return End(outer, best, changes, closed and known, at=at), known

    def _excess(
        self, form: Quotient, best: Fraction, deadline: Deadline, name: str, *, up: bool
    ) -> End:
        """Return how far labels can take quotients beyond the best one, times the denominator."""
        at = best if best.denominator <= _FINEST else Fraction(float(best))
        excesses = [
            replace(each, blur=each.blur + abs(best - at) * below.size)
            for each, (_, below) in zip(form.bounded(at, up=up), form.pairs, strict=True)
        ]
        extreme = self._found if up else self._highest
        return replace(extreme(excesses, deadline.part(0.5), name), at=at)

    def _known_value(self, form: Form, changes: Changes) -> Fraction | None:
        """Return the value of a metric after label changes; None unless every row is known."""
        overturned, kept = self._fragile.outcome(changes)
        row, classes = self._fragile.row, self._classes.copy()
        outcomes = np.ones(len(classes), dtype=np.intp)  # a row stays, or one of its events happens
        outcomes[row[overturned]] = 0
        np.add.at(outcomes, row[~kept], 1)
        if (outcomes != 1).any():
            return None
        classes[row[~kept]] = self._fragile.rival[~kept]
        try:
            return form.value(classes[self.group] == self.counted)
        except ZeroDivisionError:
            return None
