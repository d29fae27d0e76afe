"""Budgets: how much may be wrong at once, and what that can do to a score.

A bias says by how much each label may be off, its budget how much of that may happen at once.
`Count` is the budget of the paper: at most k labels.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import Entries
from unswayed._core.rounding import UNIT
from unswayed._core.selection_numpy import Prefixes, crossing
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import BiasError, VacuousWarning, warn_asker
from unswayed.words import in_unit

Amount: TypeAlias = float | Fraction | Decimal


class Move(NamedTuple):
    """Labels of equal training rows, and what each of them can add to a score, in whole units."""

    value: int
    labels: int
    entry: int
    row: int  # a training row that stands for them
    offset: float = 1.0  # by how much such a label changes, without a sign


_MANY = 2**53  # more labels than there are anywhere; larger counts would not fit into a double

Members: TypeAlias = Callable[[Move], list[int]]
"""From a move to the training rows whose labels can make it, ascending."""

RELATIVE = 4.0 * UNIT
"""Of a reach: its offsets are scaled, multiplied and summed, one rounding each."""


class Part(NamedTuple):
    """Training rows, and how many of their labels may be wrong at once."""

    rows: IntArray | None  # None: all of them
    labels: int

    @property
    def end(self) -> int:
        """One more than the last row that it names."""
        return 0 if self.rows is None else 1 + int(self.rows.max(initial=-1))


@dataclass(frozen=True)
class Budget:
    """How much may be wrong at once. A budget of your own writes `parts`, and all else follows.

    It is a frozen dataclass whose first field is its size. Its parts share no row and grow with
    the size: the reach is the sum of the parts' reaches, each the sum of its largest effects. Rows
    in no part are never wrong.
    """

    countable: ClassVar[bool] = False  # whether any labels may be wrong that are few enough
    # Whether its reach is computed up to rounding; if not, `ends` and `enough` bound it from the
    # other side.
    closed: ClassVar[bool] = True
    # Whether effects that are exact have an exact reach: labels are whole, and sums are sums.
    summed: ClassVar[bool] = True

    def parts(self) -> "Sequence[Part]":
        """Return disjoint sets of training rows, and how many labels of each may be wrong."""
        raise NotImplementedError(f"{type(self).__name__} needs a method parts()")

    @property
    def cap(self) -> float:
        """How many labels of all parts together may be wrong."""
        return math.inf

    # --- its size -----------------------------------------------------------------------------

    @property
    def amount(self) -> float:
        """Size of the budget in its unit: for a `Count`, labels."""
        size: float = getattr(self, fields(self)[0].name)
        return size

    def sized(self, amount: float) -> "Budget":
        """Return a budget of the same kind and of another size."""
        changed: dict[str, Any] = {fields(self)[0].name: int(min(amount, _MANY))}
        return replace(self, **changed)

    def read(self, written: Amount, n_rows: int) -> "Budget":
        """Return a budget of the same kind from a number that a user wrote."""
        return self.sized(float(written))

    def like(self, other: "Budget") -> bool:
        """Return whether another budget differs in its size only."""
        return type(other) is type(self)

    def taken(self, rows: IntArray) -> "Budget":
        """Return the same budget for some of the training rows, if it knows about single rows."""
        raise BiasError(
            f"a budget of kind {type(self).__name__} does not say what it is for some of the "
            "training rows; give it a method taken(rows), or pass a number as the budget"
        )

    @property
    def least_amount(self) -> float:
        """Smallest amount that can move anything."""
        return 1.0

    def comfortable(self, amount: float) -> float:
        """Return an amount a little above a least one, for witnesses; of whole labels, itself."""
        return amount

    @property
    def most_labels(self) -> float:
        """Largest number of labels that can be wrong at once."""
        return min(self.cap, sum(part.labels for part in self.parts()))

    @property
    def relative(self) -> float:
        """Relative rounding error of a reach: every part but the first adds one rounding."""
        return RELATIVE + max(0, len(self.parts()) - 1) * UNIT

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many labels each amount can move at most, and any smaller amount can."""
        sizes, place = np.unique(amount, return_inverse=True)
        most, fewer = (
            np.array([self.sized(max(size - less, 0.0)).most_labels for size in sizes.tolist()])
            for less in (0, 1)
        )
        return most[place.reshape(amount.shape)], fewer[place.reshape(amount.shape)]

    def apart(
        self, lower: FloatArray, upper: FloatArray, scale: FloatArray | None = None
    ) -> FloatArray | None:
        """Return numbers that keep equal rows, of influence times `scale`, from being merged."""
        return self._part_of(len(lower)).astype(np.float64)

    def _part_of(self, n_rows: int) -> IntArray:
        """Return the part that each training row belongs to, -1 for none."""
        found = np.full(n_rows, -1)
        for number, part in enumerate(self.parts()):
            rows = slice(None) if part.rows is None else part.rows
            if (found[rows] >= 0).any():
                raise BiasError(
                    f"parts of the budget {type(self).__name__} share training rows; each row "
                    "belongs to one part at most"
                )
            found[rows] = number
        return found

    def _split(self, entries: Entries) -> Iterator[tuple[Part, IntArray]]:
        """Yield the parts, each with its entries."""
        parts = self.parts()
        ends = [part.end for part in parts]
        part = self._part_of(max([*ends, 1 + int(entries.rows.max(initial=0))]))[entries.rows]
        for number, each in enumerate(parts):
            yield each, np.flatnonzero(part == number)

    # --- in doubles ---------------------------------------------------------------------------

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the scores of influence rows can rise and fall."""
        up, down = np.zeros((2, len(z)))
        if self.cap < sum(part.labels for part in self.parts()):
            found = [self._strongest(z, entries, sign).reach(self.cap) for sign in (1.0, -1.0)]
            return found[0], found[1]
        for part, columns in self._split(entries):
            own = entries.only(columns)
            rise, fall = selection.reach(_columns(z, columns), own, part.labels)
            up, down = up + rise, down + fall
        return up, down

    def _strongest(self, z: FloatArray, entries: Entries, sign: float) -> "_Strongest":
        """Return the entries that each part by itself would change, strongest first."""
        found = []
        for part, columns in self._split(entries):
            own, rows = entries.only(columns), _columns(z, columns)
            found.append(_taken(selection.extremes(rows, own, part.labels, sign), columns))
        none = np.zeros((len(z), 1), dtype=np.intp)  # what stands behind the last: no label
        if not len(entries):
            nothing = np.zeros(none.shape)
            return _Strongest(none, nothing, nothing + 1.0, nothing)
        index, amount = (
            np.concatenate(each, axis=1) for each in zip((none, 0.0 * none), *found, strict=True)
        )
        influence = np.take_along_axis(z, index, axis=1)
        offset = np.where(amount > 0, entries.upper[index], entries.lower[index])
        offset = np.where(amount != 0, offset, 1.0)
        value = np.where(amount != 0, sign * influence * offset, 0.0)
        order = np.argsort(-value, axis=1, kind="stable")
        index, value, offset, labels = (
            np.take_along_axis(each, order, axis=1)
            for each in (index, value, offset, amount / offset)
        )
        return _Strongest(index, value, offset, np.rint(labels))

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it."""
        return self._strongest(z, entries, sign).extremes(self.cap)

    def ends(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, ...]:
        """Return how far scores rise and fall at most, and how far some labels take them."""
        return self.reach(z, entries) * 2

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the least amounts of this kind whose reach exceeds the margins of each row."""
        found = selection.Crossings.blank(len(z))
        most = entries.n_labels
        for at in range(len(z)):
            for side, margin in enumerate((float(up[at]), float(down[at]))):

                def reach(size: int, row: int = at, side: int = side) -> float:
                    return float(self.sized(size).reach(z[row : row + 1], entries)[side][0])

                enough = least_size(lambda size: reach(size) > margin, most)  # noqa: B023
                found.count[at, side] = math.inf if enough is None else enough
                found.before[at, side] = reach(most if enough is None else max(enough - 1, 0))
                found.after[at, side] = 0.0 if enough is None else reach(enough)
        return found

    def enough(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> FloatArray:
        """Return amounts that are enough for the reach of each row to exceed one of its margins."""
        found = self.least(z, entries, up, down)
        return np.asarray(found.at(np.stack((up, down), axis=1), 1.0).min(axis=1))

    def choose(
        self, strength: FloatArray, offset: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the labels that together move a score furthest, and which part of its way each is.

        `strength` is what each label can do alone, `offset` by how much it then changes.
        """
        chosen = [np.zeros(0, dtype=np.intp)]
        for part in self.parts():
            rows = np.arange(len(strength)) if part.rows is None else np.sort(part.rows)
            chosen.append(_first(rows[strength[rows] > 0], strength, part.labels))
        rows = np.sort(_first(np.sort(np.concatenate(chosen)), strength, self.cap))
        return rows, np.ones(len(rows))

    def used(self, rows: IntArray, change: FloatArray) -> float:
        """Return how much of this kind some changes of labels take up; inf if more than any."""
        moves = [Move(1, 1, 0, row) for row in rows.tolist()]
        return float(len(rows)) if self.reach_exactly(moves) >= len(rows) else math.inf

    # --- exactly ------------------------------------------------------------------------------

    def _shares(self, moves: Sequence[Move]) -> Iterator[tuple[Move, int]]:
        """Yield moves, strongest first, and how many labels each of them takes."""
        parts = self.parts()
        of = self._part_of(max([part.end for part in parts] + [1 + move.row for move in moves]))
        left, every = [part.labels for part in parts], int(min(self.cap, _MANY))
        for move in moves:
            if (number := int(of[move.row])) >= 0:
                taken = min(move.labels, left[number], every)
                left[number] -= taken
                every -= taken
                yield move, taken

    def reach_exactly(self, moves: Sequence[Move]) -> Fraction | int:
        """Return how far a score can move, in the unit of the moves."""
        return sum(move.value * taken for move, taken in self._shares(moves))

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the least amount of this kind that moves a score by `goal`; inf if none does.

        It is a whole number of units, unless parts of labels may change (`summed`).
        """
        most = sum(move.labels for move in moves)
        found = least_size(lambda size: self.sized(size).reach_exactly(moves) >= goal, most)
        return math.inf if found is None else float(found)

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels that together move a score furthest."""
        rows = [row for move, taken in self._shares(moves) for row in members(move)[:taken]]
        return [(row, Fraction(1)) for row in sorted(rows)]

    # --- for people and files -----------------------------------------------------------------

    unit: ClassVar[str] = "labels"  # what amounts of it count, as the head of a column

    def in_words(self, amount: float) -> str:
        """Return an amount of this kind with its unit; sums are rounded up."""
        return in_unit(amount, self.unit, 1)

    @property
    def source(self) -> str | None:
        """Where the budget comes from and how sure it is, where a checked sample gave it."""
        return None

    def __str__(self) -> str:
        """Say what may be wrong, to follow "if"."""
        return f"labels within {self!r} are wrong"

    def document(self, n_rows: int) -> Any:
        """Return the budget as a certificate file writes it; by default raise `BiasError`."""
        raise BiasError(
            f"there is no way to write a budget of kind {type(self).__name__} to a certificate "
            "file; files take numbers of labels, sums of biases, clusters, totals and costs"
        )


def least_size(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the least size for which something holds; more of it never undoes it."""
    if not holds(most):
        return None
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _columns(z: FloatArray, columns: IntArray) -> FloatArray:
    """Return some columns, without a copy where they stand side by side."""
    first, last = (int(columns[0]), int(columns[-1])) if len(columns) else (0, -1)
    if last - first + 1 == len(columns):
        return z[:, first : last + 1]
    return np.ascontiguousarray(z[:, columns])


def _first(rows: IntArray, strength: FloatArray, most: float) -> IntArray:
    """Return the strongest of some rows, of equal ones those with the lowest numbers."""
    return rows[np.argsort(-strength[rows], kind="stable")][: int(min(most, len(rows)))]


def _taken(found: selection.Extremes, columns: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the entries that change, by their numbers in a larger list, and how much is added."""
    used = np.arange(found.index.shape[1]) < found.length[:, None]
    index = np.where(used, found.index, 0)
    return (columns[index] if len(columns) else index), np.where(used, found.amount, 0.0)


class _Strongest(NamedTuple):
    """Entries that change in each of some rows, strongest first; the last stands for no label."""

    entry: IntArray
    value: FloatArray  # what one label does
    offset: FloatArray  # by how much it changes
    labels: FloatArray  # how many there are

    def _at(self, cap: float) -> tuple[Prefixes, IntArray, FloatArray]:
        """Return prefix sums, the entry at which a number of labels ends, and how many of it."""
        sums = Prefixes(self.value, self.labels)
        at = sums.first_beyond(sums.labels, np.full(len(self.value), float(cap)))
        here = np.arange(len(at)), at
        return sums, at, np.minimum(cap - sums.labels[here], self.labels[here])

    def reach(self, cap: float) -> FloatArray:
        """Return the sum of the strongest, rounded once."""
        sums, at, more = self._at(cap)
        return sums.reach(at, more)

    def extremes(self, cap: float) -> selection.Extremes:
        """Return the same with the label changes that make it."""
        sums, at, more = self._at(cap)
        place = np.arange(self.entry.shape[1])
        count = np.where(place < at[:, None], self.labels, 0.0)
        count[np.arange(len(at)), at] = more
        length = (count > 0).sum(axis=1)
        # Entries that change come first, in the order of their numbers.
        key = np.where(count > 0, self.entry, self.entry.max(initial=0) + 1)
        order = np.argsort(key, axis=1, kind="stable")
        index = np.take_along_axis(self.entry, order, axis=1)
        amount = np.take_along_axis(count * self.offset, order, axis=1)
        return selection.Extremes(sums.reach(at, more), index, amount, length)

    def crossing(self, margin: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return how many of the strongest exceed a margin, and the reach before and after."""
        return crossing(Prefixes(self.value, self.labels), margin)


@dataclass(frozen=True, slots=True)
class Count(Budget):
    """At most so many labels are wrong, so that the reach is the sum of the largest effects."""

    countable: ClassVar[bool] = True
    labels: int

    def __post_init__(self) -> None:
        given: Any = self.labels
        if isinstance(given, bool | np.bool_) or not isinstance(given, Integral):
            raise BiasError(
                f"Count takes a number of labels, an int; got {self.labels!r} (a share of the "
                "training rows goes to LabelBias as it is)"
            )
        if given < 0:
            raise BiasError(f"Count takes a number of labels, 0 or more; got {self.labels!r}")
        object.__setattr__(self, "labels", min(int(given), _MANY))

    def parts(self) -> tuple[Part]:
        """Return one part: all training rows."""
        return (Part(None, self.labels),)

    def apart(self, lower: FloatArray, upper: FloatArray, scale: FloatArray | None = None) -> None:
        """Return that all equal rows may be merged."""

    def read(self, written: Amount, n_rows: int) -> "Count":
        """Return the count that was written; shares of `n_rows` are rounded down."""
        return Count(count_budget(written, n_rows))

    def taken(self, rows: IntArray) -> "Count":
        """Return the same count, whatever the rows are."""
        return self

    @property
    def most_labels(self) -> int:
        """Number of labels."""
        return self.labels

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the counts themselves, and one less."""
        return amount, np.maximum(amount - 1, 0)

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the largest rises, and of the largest falls."""
        return selection.reach(z, entries, self.labels)

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return the sum of the largest rises or falls, and the entries it is made of."""
        return selection.extremes(z, entries, self.labels, sign)

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the least count whose reach exceeds a row's margins."""
        return selection.minimum_budget(z, entries, up, down)

    def choose(
        self, strength: FloatArray, offset: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return the strongest labels, of equal ones those with the lowest row numbers."""
        if self.labels < len(strength):
            weakest = np.partition(strength, -self.labels)[-self.labels] if self.labels else np.inf
            above = np.flatnonzero(strength > weakest)
            equal = np.flatnonzero(strength == weakest)[: self.labels - len(above)]
            rows = np.sort(np.concatenate((above, equal)))
        else:
            rows = np.arange(len(strength))
        return rows, np.ones(len(rows))

    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return the sum of the largest moves."""
        total, left = 0, self.labels
        for value, count, *_ in moves:
            taken = min(count, left)
            total += taken * value
            left -= taken
            if left <= 0:
                break
        return total

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the fewest labels that move a score by `goal`; inf if all of them do not."""
        if goal <= 0:
            return 0.0
        used = 0
        for value, count, *_ in moves:
            if goal <= value * count:
                return float(used - (-goal // value))
            goal -= value * count
            used += count
        return math.inf

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the strongest labels, of equal ones those with the lowest row numbers."""
        chosen: list[int] = []
        start = 0
        while start < len(moves) and len(chosen) < self.labels:
            stop = start
            equal: list[int] = []
            while stop < len(moves) and moves[stop].value == moves[start].value:
                equal += members(moves[stop])
                stop += 1
            chosen += sorted(equal)[: self.labels - len(chosen)]
            start = stop
        return [(row, Fraction(1)) for row in sorted(chosen)]

    def document(self, n_rows: int) -> int:
        """Return the count, or the number of training rows if that is smaller."""
        return min(self.labels, n_rows)

    def __str__(self) -> str:
        if not self.labels:
            return "no label is wrong, which proves nothing"
        return f"up to {self.labels} {'label is' if self.labels == 1 else 'labels are'} wrong"


class Movable(NamedTuple):
    """The labels that a bias is about, once they are known."""

    lower: FloatArray  # how far each training label may fall and rise
    upper: FloatArray
    whole: bool  # whether labels move to an end of their interval or not at all
    population: int  # training rows that the bias is about


class Statement(ABC):
    """What users pass as a budget that is no number; it is one once the labels are known."""

    @abstractmethod
    def _budget(self, labels: Movable) -> Budget:
        """Return the budget for given labels."""

    def _never_wrong(self, n_rows: int) -> BoolArray:
        """Return which of the training rows have labels that are right whatever the budget is."""
        return np.zeros(n_rows, dtype=bool)

    def _of_rows(self, rows: IntArray, n_rows: int) -> "Statement":
        """Return the same for a model that is trained on some of `n_rows` training rows."""
        return self


Stated: TypeAlias = Amount | Budget | Statement
"""What users pass as a budget."""


def as_budget(stated: Stated, n_rows: int, labels: Movable | None = None) -> Budget:
    """Return a budget for as many training rows; numbers are counts of labels, or shares."""
    if isinstance(stated, Statement):
        if labels is None:
            nothing = np.zeros(n_rows)
            labels = Movable(nothing, nothing, whole=True, population=n_rows)
        return stated._budget(labels)
    return stated if isinstance(stated, Budget) else Count(count_budget(stated, n_rows))


def budget_of_rows(stated: Stated | None, rows: IntArray, n_rows: int) -> Stated | None:
    """Return what a user passed as a budget, for a model trained on some of the training rows."""
    if isinstance(stated, Statement):
        return stated._of_rows(rows, n_rows)
    return stated.taken(rows) if isinstance(stated, Budget) else stated


def count_budget(budget: Amount, n_rows: int) -> int:
    """Return a number as a count of labels: shares are rounded down, with a warning if to none.

    Examples
    --------
    >>> count_budget(0.29, 100)  # in floats, 0.29 * 100 is 28.999999999999996
    29
    """
    value = as_written(budget)
    if isinstance(value, int):
        return min(value, _MANY)
    count = math.floor(value * n_rows)
    if value and not count:
        warn_asker(
            f"budget {budget} of {n_rows:,} training rows is less than one label, so that nothing "
            f"is put to the test and everything is robust; pass {least_share(n_rows):f} or more, "
            "or an int for a count of labels",
            VacuousWarning,
        )
    return count


def least_share(n_rows: int) -> Decimal:
    """Return the smallest share, to three digits, that is one label of so many rows."""
    return Context(prec=3, rounding=ROUND_CEILING).divide(1, n_rows).normalize()


def as_written(budget: object) -> int | Fraction:
    """Return a count as an int and a share as a fraction; raise unless it is one of the two.

    A share is what was written: ``0.29`` is 29/100 and not the double next to it.
    """
    advice = "pass an int for a count of labels, or a float in (0, 1) for a share of them"
    if isinstance(budget, bool | np.bool_) or not isinstance(budget, Real | Decimal):
        raise BiasError(f"budget must be a number, got {budget!r}; {advice}")
    if isinstance(budget, Integral):
        value: int | Fraction = int(budget)
    elif isinstance(budget, Rational):
        value = Fraction(budget)
    else:
        text = str(budget)  # shortest digits, also of narrower types than double
        if "nan" in text.lower():
            raise BiasError(f"budget is NaN; {advice}")
        value = Fraction(2 if text.lower().lstrip("+-").startswith("inf") else text)
    if value < 0:
        raise BiasError(f"budget is negative ({budget!r}); {advice}")
    if isinstance(value, Fraction) and value >= 1:
        raise BiasError(
            f"budget {budget} is a {type(budget).__name__} of 1 or more, which is neither a count "
            f"nor a share; {advice}"
        )
    return value
