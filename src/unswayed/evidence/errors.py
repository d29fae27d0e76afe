"""What random errors add to labels, and how likely that takes rows across their margins.

Of three or more classes a row is overturned if any rival passes, or if no label of its class is
left: the probabilities of these bound that of their union, the largest from below and their sum
from above.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unswayed._core.influence import InfluenceMap
from unswayed._core.kernels import block_starts, run_blocks
from unswayed._core.rounding import gamma, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.linear import Duel, LinearCase
from unswayed.engines.protocol import Precision
from unswayed.engines.selection import ExactEngine
from unswayed.evidence.tails import FARTHEST, FUNCTION, Sums, Tails
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import RELATIVE, Count

_DRAWS, _AT_ONCE = 1000, 2**22  # simulated label sets, and random numbers at a time
_APART, _RARE = 1.02, 1e-3  # rivals whose probabilities add up to about the union's need no draws


class Errors(NamedTuple):
    """How likely labels of each kind are wrong, and what is added to them then."""

    law: str
    kind: IntArray  # of each label
    chance: FloatArray  # (kinds,)
    right: FloatArray  # (kinds,): how likely nothing is added
    sizes: FloatArray  # (points, kinds)
    share: FloatArray  # (points, kinds): how likely each is, of those that are wrong

    @classmethod
    def of(cls, law: str, chance: FloatArray, shifts: FloatArray) -> "Errors":
        """Return errors of labels, given one chance and one shift, or several, for each."""
        same = np.column_stack((chance, *shifts))
        _, first, kind = np.unique(same, axis=0, return_index=True, return_inverse=True)
        chance, sizes = chance[first], shifts[:, first]
        share = np.full(sizes.shape, 1.0 / len(sizes))
        return cls(law, kind.reshape(-1), chance, 1.0 - chance, sizes, share)

    @property
    def farthest(self) -> FloatArray:
        """How far a label of each kind can be off."""
        return np.asarray(np.abs(self.sizes).max(axis=0) * (self.chance > 0))


def merged(case: LinearCase[ExactEngine], kind: IntArray, movable: FloatArray) -> InfluenceMap:
    """Return the influence of training rows, those that are equal and of one kind merged."""
    learner = case.engine.learner
    return InfluenceMap(
        learner.design, 0.0 * movable, movable, learner.row_scale, kind.astype(np.float64)
    )


def tails(
    case: LinearCase[ExactEngine], influence: InfluenceMap, errors: Errors, method: str
) -> Tails:
    """Return how likely rows cross their margins."""
    margins, entries, kind = case.margins, influence.entries, errors.kind
    here_kind, count = kind[entries.rows], entries.n_upper
    sizes = errors.sizes[:, here_kind] * entries.upper
    chance, right = errors.chance[here_kind], errors.right[here_kind]
    sums = Sums(errors.law, chance, right, count, sizes, errors.share[:, here_kind])
    moved = replace(entries, lower=sizes[0], upper=sizes[-1], n_lower=count, n_upper=count)
    farthest = errors.farthest[kind] * (FARTHEST if errors.law == "normal" else 1.0)
    precision = Precision.of(
        case.engine.learner, ResolvedBias(-farthest, farthest, Count(len(kind)))
    )
    ends = [(way, at, each[at]) for way, each in ((1.0, margins.up), (-1.0, margins.down))
            for at in [np.flatnonzero(np.isfinite(each))]]  # fmt: skip
    row = np.concatenate([at for _, at, _ in ends])
    way = np.concatenate([np.full(len(at), sign) for sign, at, _ in ends])
    margin = np.concatenate([distance for _, _, distance in ends])
    weights, found = case.rows.take(row), Tails(*np.zeros((4, len(row))))

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")  # bounds then say nothing
    def block(start: int, stop: int, buffer: FloatArray) -> None:
        here = slice(start, stop)
        values, error, size = weights.block(start, stop)
        z = influence(np.ascontiguousarray(dense(values)), buffer)
        z *= way[here, None]
        *reach, total = sums.reach(z)
        off = precision.errors(error, size, np.inf) + (RELATIVE + gamma(len(count) + 8)) * total
        off = wider(np.where(precision.exact_rows(z, moved), 0.0, off), margins.slack[row[here]])
        off = np.where(np.isnan(off), np.inf, off)
        part = sums.chernoff(z, margin[here], off, reach)
        if method == "convolution":
            sums.convolve(z, margin[here], off, part)
        for into, of in zip(found, part, strict=True):
            into[here] = of

    starts = block_starts(len(row), 8 * max(influence.width, len(entries)), influence.block_bytes)
    run_blocks(starts, len(entries), block)
    return _added(found, row, np.isfinite(margins.slack))


def _added(found: Tails, row: IntArray, known: Any) -> Tails:
    """Return the tails of rows: their margins above and below exclude one another."""
    low, high, estimate, t = (
        np.bincount(row, each, minlength=len(known)).astype(np.float64) for each in found
    )
    lost = np.where(np.bincount(row, minlength=len(known)) > 1, gamma(4), 0.0)
    low = np.where(known, np.clip(low * (1.0 - lost), 0.0, 1.0), 0.0)
    high = np.where(known, np.clip(high * (1.0 + lost), 0.0, 1.0), 1.0)
    return Tails(low, high, np.clip(estimate, low, high), t)


# --- three or more classes ------------------------------------------------------------------------


class ClassErrors(NamedTuple):
    """How likely labels of each kind are really of another class."""

    own: IntArray  # (kinds,): the class that the label says
    kind: IntArray  # of each label
    right: FloatArray  # (kinds,)
    really: FloatArray  # (kinds, classes), 0 for the own class

    @classmethod
    def of(cls, rate: Any, own: IntArray, classes: Sequence[Any]) -> "ClassErrors":
        """Return errors, given one rate for all labels or for each, or what each class may be.

        No number loses its relative precision: what is small is never a difference.
        """
        many = len(classes)
        if isinstance(rate, Mapping):
            rows = [_confused(rate[name], at, classes) for at, name in enumerate(classes)]
            right, really = (np.array(each) for each in zip(*rows, strict=True))
            return cls(np.arange(many), own, right, really)
        given = np.column_stack((own, np.broadcast_to(rate, own.shape)))
        _, first, kind = np.unique(given, axis=0, return_index=True, return_inverse=True)
        chance = given[first, 1]
        really = np.repeat(chance[:, None] / (many - 1), many, axis=1)
        really[np.arange(len(first)), own[first]] = 0.0
        return cls(own[first], kind.reshape(-1), 1.0 - chance, really)

    def duel(self, values: FloatArray) -> Errors:
        """Return what is added to the numbers of a duel, given what classes count in it.

        Classes count for the rival, for the winner or for none, so that there are two others.
        """
        levels = np.unique(values)
        likely = np.stack([self.really @ (values == level) for level in levels], axis=1)
        at = np.searchsorted(levels, values[self.own])
        every = np.arange(len(at))
        others = np.stack([(at + 1) % 3, (at + 2) % 3])
        chances, sizes = likely[every, others], levels[others] - levels[at]
        sizes = np.where(chances > 0, sizes, sizes[::-1] * (chances[::-1] > 0))
        chance = chances.sum(axis=0)
        share = chances / np.where(chance > 0, chance, 1.0)
        right = self.right + likely[every, at]
        return Errors("flips", self.kind, chance, right, sizes, share)

    def lost(self, number: int) -> tuple[float, float]:
        """Return bounds on how likely no label is really of a class."""
        count = np.bincount(self.kind, minlength=len(self.own))
        others = self.really.copy()
        others[:, number] = 0.0
        likely = others.sum(axis=1) + np.where(self.own == number, 0.0, self.right)
        likely, count = likely[count > 0], count[count > 0]
        if not likely.all():
            return 0.0, 0.0
        logs = count * np.log(likely)
        total, off = float(logs.sum()), float(np.abs(logs).sum()) * gamma(len(logs) + 64)
        off += 4 * FUNCTION * (1.0 + float(count.sum()))
        low, high = math.exp(total - off), np.nextafter(math.exp(min(total + off, 0.0)), 1.0)
        return low * (1.0 - 4 * FUNCTION), min(float(high) * (1.0 + 4 * FUNCTION), 1.0)

    def drawn(self, draws: int, rng: np.random.Generator) -> Any:
        """Return random label sets: what is added to the numbers of classes, (draws, labels)."""
        sums = np.cumsum(self.really, axis=1)
        number = rng.random((draws, len(self.kind)))
        wrong = number < sums[self.kind, -1]
        draw, label = np.nonzero(wrong)
        kind = self.kind[label]
        new = np.sum(number[draw, label][:, None] >= sums[kind], axis=1)
        added = (new - self.own[kind]).astype(np.float64)
        return sparse.csr_array((added, (draw, label)), shape=number.shape)


def _confused(rate: Any, own: int, classes: Sequence[Any]) -> tuple[float, FloatArray]:
    """Return how likely labels of a class are right, and how likely they are of each other one."""
    found = np.full(len(classes), 0.0)
    if isinstance(rate, Mapping):
        for name, chance in rate.items():
            found[list(classes).index(name)] = float(chance)
        return max(0.0, math.fsum([1.0, *-found])), found
    found[:] = float(rate) / (len(classes) - 1)
    found[own] = 0.0
    return 1.0 - float(rate), found


def class_tails(case: Any, errors: ClassErrors, method: str) -> Tails:
    """Return how likely rows change their class."""
    duels: list[Duel] = case.duels
    movable = (errors.really.sum(axis=1) > 0).astype(np.float64)[errors.kind]
    influence = merged(duels[0].case, errors.kind, movable)
    low, most, high, estimate = np.zeros((4, len(case.rows)))
    known = np.ones(len(low), dtype=bool)
    gone = {number: errors.lost(number) for number in np.unique(case.winner).tolist()}
    for number, (least, largest) in gone.items():
        low[case.winner == number], high[case.winner == number] = least, largest
    for duel in duels:
        assert duel.values is not None  # noqa: S101  (tells mypy)
        found, rows = tails(duel.case, influence, errors.duel(duel.values), method), duel.rows
        known[rows] &= np.isfinite(duel.case.margins.slack)
        low[rows] = np.maximum(low[rows], found.low)
        most[rows] = np.maximum(most[rows], found.estimate)
        high[rows] += found.high
        estimate[rows] += found.estimate
    high = np.minimum(high * (1.0 + gamma(len(duels) + 8)), 1.0)
    low, high = np.where(known, low, 0.0), np.where(known, high, 1.0)
    if ((estimate > _APART * most) & (estimate > _RARE)).any():
        drawn = _simulated(case, errors)
        estimate = np.where((estimate > _APART * most) & (estimate > _RARE), drawn, estimate)
    return Tails(low, high, np.clip(estimate, low, high), np.zeros(len(low)))


def _simulated(case: Any, errors: ClassErrors) -> FloatArray:
    """Return how often random errors change the class of each row."""
    rng, total, done = np.random.default_rng(0), np.zeros(len(case.rows)), 0
    step = max(1, min(_DRAWS, _AT_ONCE // max(1, len(errors.kind))))
    while done < _DRAWS:
        many = min(step, _DRAWS - done)
        total += case.crossed(errors.drawn(many, rng)).sum(axis=0)
        done += many
    return total / _DRAWS
