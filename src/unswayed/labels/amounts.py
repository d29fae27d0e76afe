"""Total: a budget on the sum of all changes of labels."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import Entries
from unswayed._core.rounding import UNIT
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError
from unswayed.inputs import as_doubles
from unswayed.labels.budgets import Budget, Members, Movable, Move, Part, Statement
from unswayed.words import written

_COMFORT = 2.0**-30  # of a total: so much above the least one, a witness overturns its row


def positive(value: Any, what: str) -> float:
    """Return a number that a user wrote; raise unless it is finite and not negative."""
    number = as_doubles(value, what, BiasError)
    if number.ndim or not 0 <= number < np.inf or isinstance(value, bool | np.bool_):
        raise BiasError(f"{what} takes a finite number, 0 or more; got {value!r}")
    return float(number)


def extremes(found: Sequence[tuple[float, IntArray, FloatArray]], width: int) -> selection.Extremes:
    """Return the reach of each row, and the entries that change, of which there are so many."""
    index, amount = np.zeros((len(found), width), dtype=np.int64), np.zeros((len(found), width))
    reach, length = np.zeros(len(found)), np.zeros(len(found), dtype=np.int64)
    for at, (far, entry, added) in enumerate(found):
        reach[at], length[at] = far, len(entry)
        index[at, : len(entry)], amount[at, : len(entry)] = entry, added
    return selection.Extremes(reach, index, amount, length)


class _Offsets(NamedTuple):
    """How far each training label may change down and up, and what all do where they are equal."""

    down: FloatArray
    up: FloatArray
    common: float | None  # how far every label that may change may change; None if they differ
    smallest: float

    @classmethod
    def of(cls, lower: FloatArray, upper: FloatArray) -> "_Offsets":
        found = np.unique(np.concatenate((-lower, upper)))
        found = found[found > 0]
        common = 1.0 if not len(found) else float(found[0]) if len(found) == 1 else None
        return cls(-lower, upper, common, float(found[0]) if len(found) else 1.0)


@dataclass(frozen=True)
class Total(Statement):
    """All changes of labels together add up to at most this much, without their signs.

    Parameters
    ----------
    most : float
        In the unit of the labels.

    Examples
    --------
    The paper's example, z = (-1, 2) and y = (3, 4), either label off by at most 1, but both
    together by at most 1.5:

    >>> from unswayed import LabelBias, Total, prediction_range
    >>> low, high = prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=Total(1.5)))
    >>> round(low, 9), round(high, 9)
    (2.5, 7.5)
    """

    most: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", positive(self.most, "Total"))

    def _budget(self, labels: Movable) -> "TotalBudget":
        if labels.whole:
            raise BiasError(
                "Total bounds by how much numbers are off in all, but flips change a label or do "
                "not; pass a count as the budget, or use LabelBias.shifts"
            )
        return TotalBudget(self.most, _Offsets.of(labels.lower, labels.upper))


@dataclass(frozen=True, eq=False)
class TotalBudget(Budget):
    """All changes add up to at most so much: the labels that do most per unit of change first."""

    summed: ClassVar[bool] = False

    most: float
    offsets: _Offsets = field(repr=False)

    def parts(self) -> tuple[Part]:
        """Return all training rows, any number of whose labels may change by a little."""
        return (Part(None, 2**53),)

    def sized(self, amount: float) -> "TotalBudget":
        """Return another total."""
        return replace(self, most=float(amount))

    def taken(self, rows: IntArray) -> "TotalBudget":
        """Return the same total, whatever the rows are."""
        return replace(self, offsets=_Offsets.of(-self.offsets.down[rows], self.offsets.up[rows]))

    @property
    def least_amount(self) -> float:
        """Return that any amount can move something."""
        return 0.0

    def comfortable(self, amount: float) -> float:
        """Return a billionth of the total more: what overturns a row must do so in doubles."""
        return amount + _COMFORT * self.most

    @property
    def most_labels(self) -> float:
        """Number of labels that change by as much as this, if all change as little as any can."""
        return self.most / self.offsets.smallest

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many labels amounts move at most: a smaller one moves hardly fewer."""
        labels = amount / self.offsets.smallest
        return labels, labels

    @property
    def relative(self) -> float:
        """Relative rounding error of a reach: parts of labels are added up in doubles."""
        return (32 if self.offsets.common else len(self.offsets.up) + 32) * UNIT

    def apart(
        self, lower: FloatArray, upper: FloatArray, scale: FloatArray | None = None
    ) -> FloatArray | None:
        """Keep labels apart that may change by different amounts."""
        if self.offsets.common:
            return None
        weight = np.ones(len(lower)) if scale is None else scale
        keys = np.column_stack((lower, upper, weight))
        return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.float64)

    # --- in doubles ---------------------------------------------------------------------------

    def _fills(self, z: FloatArray, entries: Entries, sign: float) -> Iterator["_Fill"]:
        """Yield, for each row, what labels add per unit of change, strongest first."""
        rows, offsets = entries.rows, self.offsets
        for row in sign * z:
            effect = np.where(row >= 0, row * entries.upper, row * entries.lower)
            length = np.where(row >= 0, offsets.up[rows], offsets.down[rows])
            count = np.where(row >= 0, entries.n_upper, entries.n_lower)
            used = np.flatnonzero((effect > 0) & (count > 0))
            order = used[np.argsort(-(effect[used] / length[used]), kind="stable")]
            room = length[order] * count[order]
            yield _Fill(order, np.cumsum(effect[order] * count[order]), np.cumsum(room), room)

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the total raises and lowers scores: the strongest labels first."""
        if self.offsets.common:
            return selection.reach(z, entries, self.most / self.offsets.common)
        up, down = (
            np.array([fill.reach(self.most) for fill in self._fills(z, entries, sign)])
            for sign in (1.0, -1.0)
        )
        return up, down

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it."""
        made = []
        for at, fill in enumerate(self._fills(z, entries, sign)):
            share = fill.shares(self.most)
            used = np.flatnonzero(share)
            entry = fill.order[used]
            whole = np.where(
                sign * z[at, entry] >= 0,
                entries.upper[entry] * entries.n_upper[entry],
                entries.lower[entry] * entries.n_lower[entry],
            )
            made.append((fill.reach(self.most), entry, share[used] * whole))
        return extremes(made, len(entries))

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return between which totals the reach of each row exceeds its margins."""
        if self.offsets.common:
            found = selection.minimum_budget(z, entries, up, down)
            some = np.isfinite(found.count) & (found.count > 0)
            step = np.where(some, self.offsets.common, 0.0)
            count = found.count * self.offsets.common
            return selection.Crossings(count, found.before, found.after, step)
        found = selection.Crossings.blank(len(z))
        for side, (sign, margin) in enumerate(((1.0, up), (-1.0, down))):
            for at, fill in enumerate(self._fills(z, entries, sign)):
                values = fill.crossing(float(margin[at]))
                found.count[at, side], found.before[at, side] = values[:2]
                found.after[at, side], found.step[at, side] = values[2:]
        return found

    def choose(
        self, strength: FloatArray, offset: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the labels that add most per unit of change; the last one changes in part."""
        length = np.maximum(self.offsets.up, self.offsets.down) if offset is None else offset
        rows = np.flatnonzero((strength > 0) & (length > 0))
        rows = rows[np.argsort(-(strength[rows] / length[rows]), kind="stable")]
        ends = np.cumsum(length[rows])
        share = np.clip((self.most - (ends - length[rows])) / length[rows], 0.0, 1.0)
        share = np.where(share < 1, share * (1 - 2.0**-48), share)  # not more than the total
        order = np.argsort(rows[share > 0])
        return rows[share > 0][order], share[share > 0][order]

    def used(self, rows: IntArray, change: FloatArray) -> float:
        """Return the sum of the changes, without their signs."""
        return math.fsum(np.abs(change).tolist())

    # --- exactly ------------------------------------------------------------------------------

    @staticmethod
    def _prices(moves: Sequence[Move]) -> list[tuple[Fraction, Move]]:
        return sorted(((move.value / Fraction(move.offset), move) for move in moves), reverse=True)

    def reach_exactly(self, moves: Sequence[Move]) -> Fraction:
        """Return how far the total moves a score."""
        left, total = Fraction(self.most), Fraction(0)
        for price, move in self._prices(moves):
            change = min(left, Fraction(move.offset) * move.labels)
            total += price * change
            left -= change
        return total

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the least total, rounded up, that crosses a limit; inf if none does.

        The goal is the limit, and whether reaching it is crossing it.
        """
        left, touching = goal
        used = Fraction(0)
        for price, move in self._prices(moves):
            room = Fraction(move.offset) * move.labels
            if left < price * room or (touching and left == price * room):
                used += max(left, Fraction(0)) / price
                return math.nextafter(float(used), math.inf)
            left -= price * room
            used += room
        return 0.0 if left < 0 or (touching and left == 0) else math.inf

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels that add most per unit of change; the last one changes in part."""
        left, chosen = Fraction(self.most), []
        for _, move in self._prices(moves):
            for row in members(move):
                share = min(Fraction(1), left / Fraction(move.offset))
                if share > 0:
                    chosen.append((row, share))
                left -= share * Fraction(move.offset)
        return sorted(chosen)

    unit: ClassVar[str] = "total change"

    def document(self, n_rows: int) -> Any:
        """Return the total."""
        return {"kind": "total", "total": self.most}

    def __str__(self) -> str:
        return f"labels are off by up to {written(self.most)} in all"


class _Fill(NamedTuple):
    """Entries of one row, those that add most per unit of change first, and sums from the first."""

    order: IntArray
    value: FloatArray
    length: FloatArray
    room: FloatArray  # how far all labels of each can change

    def shares(self, most: float) -> FloatArray:
        """Return which part of its way each entry goes."""
        return np.clip((most - (self.length - self.room)) / self.room, 0.0, 1.0)

    def reach(self, most: float) -> float:
        """Return what the total does."""
        return float(np.diff(self.value, prepend=0.0) @ self.shares(most))

    def crossing(self, margin: float) -> tuple[float, float, float, float]:
        """Return the total up to the entry that exceeds a margin, reaches, and the entry's own."""
        at = int(np.searchsorted(self.value, margin, side="right"))
        if margin < 0 or not at < len(self.value) or math.isinf(margin):
            every = float(self.value[-1]) if len(self.value) and not margin < 0 else 0.0
            return (0.0 if margin < 0 else math.inf), every, 0.0, 0.0
        before = float(self.value[at - 1]) if at else 0.0
        return float(self.length[at]), before, float(self.value[at]), float(self.room[at])
