"""Moves: what single labels can add to the gradient, equal ones merged."""

from dataclasses import dataclass, replace

import numpy as np

from unswayed._core import selection
from unswayed._core.compression import Entries, merge_rows
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.bias import ResolvedBias
from unswayed.models.gradient.problem import GradientProblem


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Label changes that a bias allows, as pushes on the gradient."""

    # Of the distinct rows, offsets times the labels' own weights; members are training rows
    entries: Entries
    n_movable: int  # Labels that may move at all
    # Distinct rows whose labels may rise, or fall; those of several weights more than once
    rising: IntArray
    # Distinct rows whose labels may rise, or fall; those of several weights more than once
    falling: IntArray
    # The same, first those that rise and then those that fall, as the selection kernels read them:
    # `upper` is the push of one label, `n_upper` how many there are
    sides: Entries

    @classmethod
    def of(cls, problem: GradientProblem, bias: ResolvedBias) -> "Moves":
        """Merge the moves of labels."""
        lower, upper = bias.lower * problem.weight, bias.upper * problem.weight
        entries = merge_rows(lower, upper, problem.group, np.arange(len(problem.first)))
        rise, fall = np.flatnonzero(entries.n_upper), np.flatnonzero(entries.n_lower)
        rising, falling = entries.rows[rise], entries.rows[fall]
        nothing = np.zeros(len(rise) + len(fall))
        none = np.zeros(0, dtype=np.intp)
        sides = Entries(
            rows=np.concatenate((rising, falling)),
            lower=nothing,
            upper=np.concatenate((entries.upper[rise], -entries.lower[fall])),
            n_lower=nothing,
            n_upper=np.concatenate((entries.n_upper[rise], entries.n_lower[fall])),
            members_down=none,
            start_down=np.zeros(len(nothing) + 1, dtype=np.intp),
            members_up=none,
            start_up=np.zeros(len(nothing) + 1, dtype=np.intp),
        )
        movable = int(np.count_nonzero((lower != 0) | (upper != 0)))
        return cls(entries, movable, rising, falling, sides)

    def pushing(self, factor: FloatArray) -> "Moves":
        """Return moves whose pushes are multiplied, by a factor per distinct row."""
        push = self.sides.upper * factor[self.sides.rows]
        return replace(self, sides=replace(self.sides, upper=push))

    def effects(self, rise: FloatArray, fall: FloatArray) -> FloatArray:
        """Return what one unit of each move adds to a score, those that rise before the others."""
        out = np.empty((len(rise), len(self.sides)))
        np.take(rise, self.rising, axis=1, out=out[:, : len(self.rising)], mode="clip")
        np.take(fall, self.falling, axis=1, out=out[:, len(self.rising) :], mode="clip")
        return out

    def most(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return the sum of the largest effects that so many labels can have, rounded up."""
        if not len(self.sides) or not labels:
            return np.zeros(len(effects))
        found, _ = selection.reach(effects, self.sides, labels)
        return np.asarray(found * (1.0 + 2.0**-48))

    def unit(self, index: IntArray, amount: FloatArray) -> FloatArray:
        """Return what one label adds in each of several changes."""
        entries = self.entries
        return np.where(amount > 0, entries.upper[index], entries.lower[index])

    def members(self, index: IntArray, amount: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the training rows whose labels change, and what is added to their pushes."""
        unit = self.unit(index, amount)
        many = np.rint(amount / unit).astype(np.intp)
        parts = [
            self.entries.members(entry, sign)[:count]
            for entry, sign, count in zip(
                index.tolist(), np.sign(amount).tolist(), many.tolist(), strict=True
            )
        ]
        rows = np.concatenate([*parts, np.zeros(0, dtype=np.intp)]).astype(np.intp)
        added = np.repeat(unit, many)
        order = np.argsort(rows)
        return rows[order], added[order]


@dataclass(frozen=True, slots=True, eq=False)
class SplitMoves(Moves):
    """Moves of which so many may be within some rows at once, and so many outside them."""

    inside: BoolArray  # Which of `sides` are within the rows
    most_inside: int
    most_outside: int

    @classmethod
    def split(
        cls, moves: Moves, inside: BoolArray, most_inside: int, most_outside: int
    ) -> "SplitMoves":
        """Return moves that are further limited."""
        given = moves.entries, moves.n_movable, moves.rising, moves.falling, moves.sides
        return cls(*given, inside, most_inside, most_outside)

    def most(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return the sum of the largest effects that so many labels can have, rounded up.

        The largest first, as long as there is room for them, is the best choice: limits on parts
        that share nothing, and on all together.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = effects * self.sides.upper
        order = np.argsort(-values, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        counts = np.where(values <= 0, 0.0, self.sides.n_upper[order])
        inside = self.inside[order]
        for part, room in (
            (inside, self.most_inside),
            (~inside, self.most_outside),
            (None, labels),
        ):
            asked = counts if part is None else np.where(part, counts, 0.0)
            taken = np.clip(room - (np.cumsum(asked, axis=1) - asked), 0.0, asked)
            counts = taken if part is None else np.where(part, taken, counts)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.where(counts > 0, values * counts, 0.0).sum(axis=1)
        # Of nonnegative terms: the roundings of a sum, and of each term.
        found = found * (1.0 + (len(self.sides) + 8) * 2.0**-52)
        return np.where(np.isnan(found), np.inf, found)
