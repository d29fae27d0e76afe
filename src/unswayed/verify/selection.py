"""How far some labels move a score: one threshold proves a selection.

For every t >= 0 the k largest of some numbers v sum up to

    k·t + Σ max(v - t, 0)   at most,

whatever t is; with t the k-th largest of them, to exactly that. And if N <= k of them are above t'
and M >= N are at least t'', they sum up to Σ_{v > t'} v + (min(k, M) - N)·t'' at least. So a file
that names t spares its reader to sort. `proofs/Selection.v` has the first of these, checked by a
machine.
"""

import math
from dataclasses import dataclass

import numpy as np

from unswayed.verify.doubles import (
    ROOT_OF_TINY,
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    gamma_of_parts,
    is_ordinary,
    sum_of_parts,
)
from unswayed.verify.facts import DOWN, ENOUGH, UNKNOWN, UP, Ends, Facts, Moves, Number, ends_of
from unswayed.verify.given import Given
from unswayed.verify.linear import Influence

_NEAR = 2.0**-40  # two thresholds around one: what rounding moves past it is on neither side

COLUMNS = [(way, which) for which in range(ENOUGH + 1) for way in (UP, DOWN)]
"""What the thresholds of a row are about, in their order in the file."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the claims about some scores say something of, one row for each."""

    labels: FloatArray  # how many labels: within the budget, fewer than overturn it, enough
    thresholds: FloatArray  # as `COLUMNS`
    moves: list[Moves | None]  # of witnesses
    closely: bool = False  # whether bounds from below are wanted of everything


class Labels:
    """Training labels that can move, and how far."""

    def __init__(self, given: Given) -> None:
        self._movable = np.flatnonzero((given.lower < 0) | (given.upper > 0))
        self._all = len(self._movable) == len(given.labels)
        self._lower, self._upper = given.lower, given.upper
        self._far = np.maximum(-given.lower, given.upper)

    def facts(self, found: Influence, asked: Asked) -> list[Facts]:
        """Return what is known of each score."""
        with np.errstate(all="ignore"):
            shifts = [self._shift(found, at, moves) for at, moves in enumerate(asked.moves)]
            ends = self._reaches(found, asked)
            low, high = found.score - found.doubt, found.score + found.doubt
            low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        if not is_ordinary():
            return [Facts(UNKNOWN, dict.fromkeys(COLUMNS, UNKNOWN))] * len(low)
        scores = zip(low.tolist(), high.tolist(), strict=True)
        reaches = ([ends_of(*pair) for pair in row] for row in ends.tolist())
        return [
            Facts(ends_of(*score), dict(zip(COLUMNS, reach, strict=True)), shift)
            for score, reach, shift in zip(scores, reaches, shifts, strict=True)
        ]

    def furthest(
        self, found: Influence, count: int, threshold: float, added: dict[int, float]
    ) -> Number:
        """Return how far so many labels move one score up at most; some move it by more."""
        rises, falls = found.z * self._upper, found.z * self._lower
        effects, extra = np.maximum(rises, falls), 0.0
        if added:
            effects[:, list(added)] += list(added.values())
            extra = count * max(map(abs, added.values()))  # rounded together with effects
        most = np.array([float(min(count, effects.shape[1]))])
        at_most, _ = _sums(effects, most, np.array([threshold]), both=False)
        doubt = self._doubt(found, most) + 8 * UNIT * (extra + np.abs(at_most))
        total = math.nextafter(float(at_most[0] + doubt[0] * SAFETY), math.inf)
        return ends_of(0, total)[1] if is_ordinary() and total >= 0 else math.inf

    def _reaches(self, found: Influence, asked: Asked) -> FloatArray:
        """Return bounds on how far labels move each score, as `COLUMNS`."""
        here = slice(None) if self._all else self._movable
        z = found.z[:, here]
        rises, falls = z * self._upper[here], z * self._lower[here]
        effects = {UP: np.maximum(rises, falls), DOWN: np.maximum(-rises, -falls)}
        made = np.empty((len(z), len(COLUMNS), 2))
        for at, (way, which) in enumerate(COLUMNS):
            count = np.minimum(asked.labels[:, which], z.shape[1])
            doubt = self._doubt(found, count)
            at_most, at_least = _sums(
                effects[way], count, asked.thresholds[:, at], which == ENOUGH or asked.closely
            )
            made[:, at, 0] = np.fmax(at_least - doubt, 0.0)  # no label need move
            made[:, at, 1] = np.nextafter(at_most + doubt, np.inf)
        return made

    def _doubt(self, found: Influence, count: FloatArray) -> FloatArray:
        """Return how far so many labels can move each score otherwise than by their effects."""
        moved = found.sizes * self._far
        drift = found.drift * (np.minimum(count * moved.max(initial=0.0), moved.sum()) + TINY)
        squares = found.weights * self._far * self._far
        most = np.sqrt(np.minimum(count * squares.max(initial=0.0), squares.sum())) + ROOT_OF_TINY
        return np.asarray((drift + found.spread * most) * SAFETY + TINY)

    def _shift(self, found: Influence, at: int, moves: Moves | None) -> Ends:
        """Return bounds on how far labels that are named move a score."""
        if moves is None:
            return UNKNOWN
        rows, steps = [], []
        for which, end, shares in moves.parts():
            rows.append(np.asarray(which, dtype=np.int64))
            ends = (self._upper if end else self._lower)[rows[-1]]
            steps.append(ends if shares is None else ends * np.asarray(shares))
        places, moved = np.concatenate(rows), np.concatenate(steps)
        terms = found.z[at, places] * moved
        far = math.sqrt(float(found.weights[places] @ moved**2)) + ROOT_OF_TINY
        doubt = found.drift[at] * (float(found.sizes[places] @ np.abs(moved)) + TINY)
        doubt += found.spread[at] * far + 4 * UNIT * float(np.abs(terms).sum())
        doubt = float(doubt) * SAFETY + (len(terms) + 1) * TINY
        if not np.isfinite(terms).all() or not math.isfinite(doubt):
            return UNKNOWN
        total = math.fsum(terms)
        return ends_of(
            math.nextafter(total - doubt, -math.inf), math.nextafter(total + doubt, math.inf)
        )


def _sums(
    effects: FloatArray, count: FloatArray, threshold: FloatArray, both: bool
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the sums of the largest effects, from above and, if wanted, from below."""
    size = effects.shape[1]
    lost, least = gamma_of_parts(size) + 8 * UNIT, size * TINY
    excess = sum_of_parts(np.maximum(effects - threshold[:, None], 0.0))
    at_most = (count * threshold + excess) * (1 + lost) * SAFETY_OF_SUM + least
    at_most = np.where(threshold >= 0, np.where(count > 0, at_most, 0.0), np.inf)
    if not both:
        return at_most, np.zeros(len(effects))
    above, below = threshold * (1 + _NEAR), threshold * (1 - _NEAR)
    n_above = (effects > above[:, None]).sum(axis=1)
    n_most = (effects >= below[:, None]).sum(axis=1)
    excess = sum_of_parts(np.maximum(effects - above[:, None], 0.0))
    more = np.minimum(count, n_most) - n_above
    total = np.where(more >= 0, excess + n_above * above + more * below, count * above)
    at_least = np.where(threshold >= 0, total * (1 - lost) / SAFETY_OF_SUM - least, 0.0)
    return at_most, at_least


SAFETY_OF_SUM = 1.0 + 2.0**-50  # for the roundings of a factor on a sum
