"""Boxes of margins, what follows inside, and whether one maps into itself.

Let θ̂ miss the equations of the labels as they are by ρ, and let Δ lead from θ̂ to the solution for
other labels. Their equations differ by H̄Δ = Σ p_j a_j - ρ, with the pushes p_j of changed labels
and H̄ = Σ W_i s_i a_i a_iᵀ + Λ, s_i the secant of row i between both margins. In a box of margins
these are between known bounds, so that N ≼ H̄⁻¹ ≼ P for two matrices that are known, and for all x

    |xᵀ H̄⁻¹ a - xᵀ (P + N)/2 a| <= √(xᵀ (P - N)/2 x · aᵀ (P - N)/2 a).

If the bounds that follow for every row's own margin are strictly inside the box, no admissible
labels lead out of it: labels that change little by little, after ρ has been taken back little by
little, move the solution continuously, and it would have to cross the border.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from unswayed.verify.facts import Track
from unswayed.verify.floating.rounding import SAFETY, UNIT, FloatArray, IntArray, gamma
from unswayed.verify.gradient.functions import MEAN
from unswayed.verify.gradient.inverse import inverse
from unswayed.verify.gradient.problem import Labels, Missed, Problem, forms, norms, pushes
from unswayed.verify.gradient.selection import largest
from unswayed.verify.gradient.solution import residual

_BLOCK = 2**21  # effects at a time
_FEW = 2**16  # secants that are bounded at a time

Part = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Centre:
    """Parameters that nearly solve the equations of the labels as they are."""

    parameters: FloatArray
    margins: FloatArray  # Of the distinct rows, and how far from the truth these may be
    error: FloatArray  # Of the distinct rows, and how far from the truth these may be
    missed: Missed

    @classmethod
    def of(cls, problem: Problem, labels: Labels, parameters: FloatArray) -> "Centre":
        """Measure parameters."""
        return cls(parameters, *problem.margins(parameters), problem.missed(parameters, labels))


@dataclass(frozen=True, slots=True)
class Pushes:
    """What single labels can add to the gradient inside a box: see `problem.pushes`."""

    rows: IntArray
    signs: FloatArray
    amounts: FloatArray
    counts: FloatArray

    def effects(self, values: FloatArray, error: FloatArray, more: FloatArray) -> FloatArray:
        """Return upper bounds on what one label of each does."""
        up = self.signs > 0
        out = values[:, self.rows] * self.signs
        out += error[:, self.rows] + np.where(up, more[0, self.rows], more[1, self.rows])
        return np.asarray(out * self.amounts)


class Box:
    """Bounds that hold as long as no margin of a training row leaves a box."""

    def __init__(
        self, problem: Problem, labels: Labels, centre: Centre, down: FloatArray, up: FloatArray
    ) -> None:
        self.problem, self.labels, self.centre = problem, labels, centre
        self.down, self.up = down, up
        self._parts: dict[tuple[float, ...], list[Part]] = {}
        self.low, self.high = self.curvatures(-down, up)
        flat, steep = inverse(problem.gram(self.low)), inverse(problem.gram(self.high))
        self.above = flat.above
        below = steep.below
        self._middle, self._half = (self.above + below) / 2, (self.above - below) / 2
        self._size = np.abs(self.above) + np.abs(below)
        self.residual = residual(centre.missed, self.above)
        rows, signs, amounts, counts = pushes(problem)
        amounts = amounts * self._factor()[rows] * (1.0 + 4 * UNIT)
        self.pushes = Pushes(rows, signs, amounts, counts)

    def curvatures(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on W_i s_i where margins move by `least` to `most`."""
        centre, weight = self.centre, self.labels.weight
        margins, error = (
            np.broadcast_to(each, least.shape).ravel() for each in (centre.margins, centre.error)
        )
        found = self.problem.link.slopes(margins, least.ravel(), most.ravel(), error)
        low, high = (each.reshape(least.shape) for each in found)
        lost = self.labels.doubt + 4 * UNIT
        return weight * low * (1.0 - lost), weight * high * (1.0 + lost)

    def _factor(self) -> FloatArray:
        """Return what class weights multiply the push of a flipped label by, at most.

        A flip takes its own row's loss from one class to the other: it adds the second weight
        times (1 - mean) and the first times the mean, at the margin that it leads to.
        """
        first, second = self.problem.class_weights
        if first == second == 1.0:
            return np.ones(len(self.down))
        centre, found = self.centre, []
        for end in (-self.down - centre.error, self.up + centre.error):
            mean = self.problem.link.mean(centre.margins + end)
            found.append((first * mean + second * (1.0 - mean)) * (1.0 + 4 * MEAN))
            found[-1] += 4 * MEAN * (first + second)
        return np.maximum(*found)

    def parts(self, shares: tuple[float, ...]) -> list[Part]:
        """Return bounds on W_i s_i on parts of the box."""
        if shares not in self._parts:
            ends = [
                np.sort(np.outer((side * first, side * last), end), axis=0)
                for side, end in ((-1.0, self.down), (1.0, self.up))
                for first, last in pairwise(shares)
            ]
            found: list[Part] = []
            step = max(1, _FEW // max(1, len(self.down)))
            for at in range(0, len(ends), step):
                least, most = np.stack(ends[at : at + step], axis=1)
                low, high = self.curvatures(least, most)
                low, high = np.maximum(low, self.low), np.minimum(high, self.high)
                found += zip(least, most, low, high, strict=True)
            self._parts[shares] = found
        return self._parts[shares]

    # --- what follows -------------------------------------------------------------------------

    @cached_property
    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """The rows of labels that rise, and of those that fall: with factors of errors beside."""
        design = self.problem.design
        spread = forms(design, self._half, self._size)
        whole = np.column_stack((design, spread, norms(design)))
        sides = []
        for side in (self.pushes.signs > 0, self.pushes.signs < 0):
            made = whole[self.pushes.rows[side]]
            made *= self.pushes.amounts[side, None]
            sides.append(made)
        return sides[0], sides[1]

    def reach(
        self, directions: FloatArray, labels: int
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield how far so many labels can raise and lower scores, seen from the centre."""
        up_side = self.pushes.signs > 0
        counts = np.concatenate((self.pushes.counts[up_side], self.pushes.counts[~up_side]))
        rise, fall = (side.T for side in self._sides)
        step = self._at_once
        for start in range(0, len(directions), step):
            part = slice(start, start + step)
            left, extra = self._left(directions[part])
            ends = []
            for _ in range(2):
                effects = np.empty((len(left), len(counts)))
                np.matmul(left, rise, out=effects[:, : rise.shape[1]])
                left[:, :-2] *= -1.0
                np.matmul(left, fall, out=effects[:, rise.shape[1] :])
                ends.append((largest(effects, counts, labels) + extra) * (1.0 + 4 * UNIT))
            yield part, ends[0], ends[1]

    def _left(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return products with the middle and factors of errors, and what ρ does to scores."""
        width = directions.shape[1]
        middle = directions @ self._middle
        spread = forms(directions, self._half, self._size)
        # What rounding does to the middle, to that product and to products with it.
        rounding = gamma(2 * width + 12) * norms(np.abs(directions) @ self._size)
        rounding += gamma(width + 8) * norms(middle)
        left = np.column_stack((middle, spread * (1.0 + 1e-9), rounding * SAFETY))
        extra = forms(directions, self.above, np.abs(self.above)) * self.residual * SAFETY
        return left, extra

    def n_steps(self, n_directions: int) -> int:
        """Return how many parts `reach` yields."""
        return -(-n_directions // self._at_once)

    @property
    def _at_once(self) -> int:
        return max(1, _BLOCK // max(1, len(self.pushes.rows)))

    def margins(self, labels: int, track: Track) -> tuple[FloatArray, FloatArray]:
        """Return how far margins of the distinct rows can move, as follows from the box."""
        down, up = np.empty((2, len(self.down)))
        steps, design = self.n_steps(len(down)), self.problem.design
        for part, above, below in track(self.reach(design, labels), "checking the region", steps):
            up[part], down[part] = above, below
        return down, up
