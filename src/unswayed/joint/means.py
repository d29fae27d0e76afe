"""Means of scores: a weighted sum of scores is one more influence row, whose range is exact."""

import math
from dataclasses import dataclass

import numpy as np

from unswayed._core.influence import WeightRows
from unswayed._core.rounding import SAFETY, gamma, narrower, wider
from unswayed._typing import FloatArray
from unswayed.engines.rows import FeatureRows
from unswayed.engines.selection import ExactEngine
from unswayed.joint.attack import strongest
from unswayed.joint.fragile import Changes, Fragile
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
        part = self.fragile.effects[which.start : which.stop]
        value = self.value[which.start : which.stop]
        off = SAFETY * (self.fragile.error + self.error)[which.start : which.stop].max()
        none = np.zeros(0, dtype=np.intp)
        best = Gentle(self.fragile.from_labels(none, np.zeros(0), np.zeros(0)), value.max(), off)
        for changes in tried:
            for less in self._parts(changes, value, part):
                # One sum is rounded once per term here, and not once.
                largest = float((value + part @ less.amount).max())
                error = off + 4 * gamma(len(less.amount) + 4) * float(self._size(which, less))
                if largest + error < best.value + best.error:
                    best = Gentle(less, largest, error)
        return Gentle(best.changes, best.value + best.error, 2 * best.error)

    def _size(self, which: range, changes: Changes) -> float:
        part = np.abs(self.fragile.effects[which.start : which.stop])
        return float((np.abs(self.value[which.start : which.stop]) + part @ changes.amount).max())

    def _parts(self, changes: Changes, value: FloatArray, effects: FloatArray) -> list[Changes]:
        """Return parts of a label set: the first labels, or all labels moved by less."""
        if self.fragile.whole:
            cuts = range(1, len(changes.rows) + 1)
            return [
                self.fragile.from_labels(changes.rows[:n], changes.share[:n], changes.sign[:n])
                for n in cuts
            ]
        moved = effects @ changes.amount
        with np.errstate(divide="ignore", invalid="ignore"):
            # Where two of the sums, seen as functions of the share, cross.
            shares = (value[:, None] - value) / (moved - moved[:, None])
        wanted = [1.0, *shares[(shares > 0) & (shares < 1)].tolist()]
        return [
            self.fragile.from_labels(changes.rows, changes.share * share, changes.sign)
            for share in wanted
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
