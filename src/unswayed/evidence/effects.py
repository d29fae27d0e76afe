"""What each label can do to each number that is asked about, rounded outwards.

Labels with the same features and the same interval are of one *kind*: they do the same to every
number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.influence import InfluenceMap, distinct_rows
from unswayed._core.rounding import PRODUCT_UNDERFLOW, SAFETY, UNIT, gamma, narrower, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.linear import Duel
from unswayed.inputs import dense
from unswayed.labels.classes import ClassChanges
from unswayed.margins.decisions import Margins
from unswayed.models.learner import Scores

_BLOCK = 2**18  # effects at a time
_HELD = 2**25  # effects that are computed once and kept: 256 MB
_MORE = 1.0 + 8 * UNIT  # for products of three numbers


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """Margins that true labels must not take a number across; one entry per margin."""

    number: IntArray  # which number may not move
    way: FloatArray  # 1 where it may not rise, -1 where it may not fall
    distance: FloatArray  # how far it may, rounded down
    beyond: FloatArray  # the same, rounded up
    duel: IntArray  # of several classes, which two it is about, among all duels; else 0

    @classmethod
    def of(cls, margins: Margins) -> "Claims":
        """Return the finite margins of some numbers."""
        parts = []
        for way, margin in ((1.0, margins.up), (-1.0, margins.down)):
            at = np.flatnonzero(np.isfinite(margin))
            slack = margins.slack[at]
            parts.append(
                (at, np.full(len(at), way), narrower(margin[at], slack), wider(margin[at], slack))
            )
        number, way_, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(number, way_, low, high, np.zeros_like(number))._ordered()

    @classmethod
    def of_duels(cls, duels: Sequence[Duel]) -> "Claims":
        """Return the finite margins of rows against all of their rivals."""
        parts = []
        for place, duel in enumerate(duels):
            found = cls.of(duel.case.margins)
            where = np.full(len(found), place)
            parts.append((duel.rows[found.number], found.way, found.distance, found.beyond, where))
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))._ordered()

    def _ordered(self) -> "Claims":
        order = np.argsort(self.number, kind="stable")
        return Claims(*(getattr(self, each.name)[order] for each in fields(self)))

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """How far labels may fall and rise; of several classes, in the numbers of each duel."""

    sort: IntArray  # of each label: those of one sort move alike
    low: FloatArray  # (duels, sorts)
    high: FloatArray
    lower: FloatArray  # of each label, or of the number of its class
    upper: FloatArray

    @classmethod
    def of(cls, duels: Sequence[Duel], bias: Any) -> "Moves":
        """Return the intervals of a bias, or what its classes allow in each duel."""
        first, sort = distinct_rows(np.column_stack((bias.lower, bias.upper)))
        changes: ClassChanges | None = bias.classes
        if changes is not None:
            first, sort = changes.kinds
        ends = [duel.case.engine.bias for duel in duels]
        low, high = (
            np.stack([each[first] for each in one])
            for one in ([each.lower for each in ends], [each.upper for each in ends])
        )
        return cls(sort, low, high, bias.lower, bias.upper)

    def between(self, label: int) -> tuple[FloatArray, FloatArray]:
        """Return the interval of a label in each duel."""
        return self.low[:, self.sort[label]], self.high[:, self.sort[label]]


class LabelEffects:
    """What labels can do to numbers that are linear in them, under the intervals of a bias."""

    def __init__(
        self, duels: Sequence[Duel], rows: Any, bias: Any, sums: FloatArray | None = None
    ) -> None:
        engine = duels[0].case.engine
        learner, self.moves = engine.learner, Moves.of(duels, bias)
        self._rows, self._sums, self._width = rows, sums, engine.width
        n_labels = len(bias.lower)
        movable = np.flatnonzero((bias.lower < 0) | (bias.upper > 0))
        self._scale = np.ones(n_labels) if learner.row_scale is None else learner.row_scale
        first = column = np.arange(n_labels)
        if learner.design is not None:
            first, column = distinct_rows(learner.design)
        self._design = None if learner.design is None else learner.design[first]
        ones = np.ones(len(first))
        self._influence = InfluenceMap(self._design, 0.0 * ones, ones)
        same = np.column_stack((column, self.moves.sort, self._scale))
        some, kind = distinct_rows(same[movable])
        one = movable[some]
        self.kind = np.full(n_labels, -1)  # -1 where a label cannot be wrong
        self.kind[movable] = kind
        self._column, self._every = column[one], np.arange(len(one))
        self._sort, self._scales = self.moves.sort[one], self._scale[one]
        # Equal labels have equal errors, up to how these were computed.
        self._root, self._entry = np.zeros((2, len(one)))
        scale = learner.error_scale
        weight, entry = (np.broadcast_to(each, n_labels) for each in (scale.weight, scale.entry))
        np.maximum.at(self._root, kind, np.sqrt(weight[movable]))
        np.maximum.at(self._entry, kind, entry[movable])

    @property
    def n_kinds(self) -> int:
        """Number of kinds of labels that may be wrong."""
        return len(self._column)

    def _some(self, numbers: IntArray, kinds: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the influence of some kinds of labels on numbers, and bounds on its errors."""
        if self._sums is None:
            if len(self.moves.low) == 1:
                return self._of_rows(numbers, kinds)
            one, place = np.unique(numbers, return_inverse=True)  # a row has many rivals
            z, off = self._of_rows(one, kinds)
            return z[place], off[place]
        z, off = self._added
        return z[numbers][:, kinds], off[numbers][:, kinds]

    def _of_rows(self, numbers: IntArray, kinds: IntArray) -> tuple[FloatArray, FloatArray]:
        values, error, size = self._rows.take(numbers).block(0, len(numbers))
        values, columns = np.ascontiguousarray(dense(values)), self._column[kinds]
        if len(kinds) > 1 or self._design is None:
            z = self._influence(values)[:, columns]
        else:
            z = values @ dense(self._design[columns]).T
        with np.errstate(invalid="ignore", over="ignore"):
            off = error[:, None] * self._root[kinds] + size[:, None] * self._entry[kinds]
        off[np.isnan(off)] = np.inf
        return z, SAFETY * off + PRODUCT_UNDERFLOW * (z != 0)

    @cached_property
    def _added(self) -> tuple[FloatArray, FloatArray]:
        """Influence on weighted sums of rows, and bounds on its errors."""
        assert self._sums is not None  # noqa: S101  (tells mypy)
        n_sums, n_rows = self._sums.shape
        z, off = np.zeros((2, n_sums, self.n_kinds))
        step = max(1, _BLOCK // max(1, self.n_kinds))
        for at in range(0, n_rows, step):
            here = np.arange(at, min(at + step, n_rows))
            influence, error = self._of_rows(here, self._every)
            z += self._sums[:, here] @ influence
            # The factors are rounded, too.
            off += np.abs(self._sums[:, here]) @ (error + gamma(n_rows + 8) * np.abs(influence))
        off[np.isnan(off)] = np.inf
        return z, SAFETY * off

    def rises(self, claims: Claims, which: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield how far a label of each kind can move numbers across margins, rounded up.

        In blocks: the place among `which`, and one row of effects for each margin there.
        """
        if len(claims) * self.n_kinds <= _HELD:
            if "_held" not in self.__dict__:
                self._held = np.zeros((len(claims), self.n_kinds))
                for here, block in self._blocks(claims, np.arange(len(claims))):
                    self._held[here] = block
            step = max(1, _BLOCK // max(1, self.n_kinds))
            for at in range(0, len(which), step):
                yield slice(at, at + step), self._held[which[at : at + step]]
            return
        yield from self._blocks(claims, which)

    def _blocks(self, claims: Claims, which: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        step = max(1, _BLOCK // max(1, self.n_kinds))
        for at in range(0, len(which), step):
            here = which[at : at + step]
            z, off = self._some(claims.number[here], self._every)
            z *= claims.way[here, None]
            low, high = self._ends(claims.duel[here])
            rise = np.maximum(z * (self._scales * low), z * (self._scales * high))
            rise *= _MORE
            with np.errstate(invalid="ignore", over="ignore"):
                rise += off * np.maximum(-low, high)
            rise[np.isnan(rise)] = np.inf
            yield slice(at, at + step), rise * _MORE

    def _ends(self, duel: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return how far labels of each kind may fall and rise in some duels, or in the one."""
        low, high = self.moves.low, self.moves.high
        some = duel if len(low) > 1 else np.zeros(1, dtype=np.intp)
        return low[some][:, self._sort], high[some][:, self._sort]

    def moved(
        self, claims: Claims, label: int, low: ArrayLike, high: ArrayLike
    ) -> tuple[FloatArray, FloatArray]:
        """Return how far a label moves all numbers towards margins, if `low` to `high` is added.

        Of several classes, to the numbers of each duel. Rounded down, and rounded up.
        """
        least, most = np.empty((2, len(claims)))
        scale, n_duels = self._scale[label], len(self.moves.low)
        lows, highs = (np.broadcast_to(end, n_duels)[claims.duel] for end in (low, high))
        step = max(1, _BLOCK // max(1, self._width))
        for at in range(0, len(claims), step):
            here = slice(at, at + step)
            z, off = self._some(claims.number[here], self.kind[[label]])
            signed = z[:, 0] * claims.way[here]
            ends = np.stack((signed * (lows[here] * scale), signed * (highs[here] * scale)))
            with np.errstate(invalid="ignore", over="ignore"):
                error = off[:, 0] * np.maximum(-lows[here], highs[here])
                error += 8 * UNIT * np.abs(ends).max(axis=0)
            error = np.where(np.isnan(error), np.inf, error * SAFETY)
            least[here], most[here] = narrower(ends.min(0), error), wider(ends.max(0), error)
        return least, most


def summed(scores: Scores, sums: FloatArray) -> Scores:
    """Return weighted sums of scores."""
    rounding = gamma(sums.shape[1] + 8)
    error = np.abs(sums) @ (scores.error + rounding * np.abs(scores.value))
    return Scores(sums @ scores.value, SAFETY * error)
