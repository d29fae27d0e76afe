"""Budgets: how much may be wrong at once, and what that can do to a score.

A bias says by how much each label may be off, its budget how much of that may happen at once.
`Count` is the budget of the paper: at most k labels.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import Entries
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError, VacuousWarning, warn_asker

Amount: TypeAlias = float | Fraction | Decimal


class Move(NamedTuple):
    """Labels of equal training rows, and what each of them can add to a score, in whole units."""

    value: int
    labels: int
    entry: int
    row: int  # a training row that stands for them


_MANY = 2**53  # more labels than there are anywhere; larger counts would not fit into a double

Members: TypeAlias = Callable[[Move], list[int]]
"""From a move to the training rows whose labels can make it, ascending."""


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

    It is a frozen dataclass whose first field, `labels`, is its size. Its parts share no row and
    grow with the size: the reach is the sum of the parts' reaches, each the sum of its largest
    effects. Rows in no part are never wrong.
    """

    countable: ClassVar[bool] = False  # whether any labels may be wrong that are few enough
    labels: int

    def parts(self) -> "Sequence[Part]":
        """Return disjoint sets of training rows, and how many labels of each may be wrong."""
        raise NotImplementedError(f"{type(self).__name__} needs a method parts()")

    # --- its size -----------------------------------------------------------------------------

    @property
    def amount(self) -> float:
        """Size of the budget in the unit of its kind: for a `Count`, labels."""
        return self.labels

    def sized(self, amount: float) -> Self:
        """Return a budget of the same kind and of another size."""
        return replace(self, labels=int(min(amount, _MANY)))

    def read(self, written: Amount, n_rows: int) -> Self:
        """Return a budget of the same kind from a number that a user wrote."""
        return self.sized(float(written))

    def taken(self, rows: IntArray) -> "Budget":
        """Return the same budget for some of the training rows; by default raise `BiasError`.

        Only the budget knows whether it holds anything about single rows.
        """
        raise BiasError(
            f"a budget of kind {type(self).__name__} does not say what it is for some of the "
            "training rows; give it a method taken(rows), or pass a number as the budget"
        )

    @property
    def least_amount(self) -> float:
        """Smallest amount that can move anything."""
        return 1.0

    @property
    def most_labels(self) -> float:
        """Largest number of labels that can be wrong at once."""
        return sum(part.labels for part in self.parts())

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many labels each amount can move at most, and how many any smaller amount can.

        Bounds on rounding errors grow with both.
        """
        sizes, place = np.unique(amount, return_inverse=True)
        most, fewer = (
            np.array([self.sized(max(size - less, 0.0)).most_labels for size in sizes.tolist()])
            for less in (0, 1)
        )
        return most[place.reshape(amount.shape)], fewer[place.reshape(amount.shape)]

    def apart(self, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
        """Return numbers that keep training rows from being merged; None if nothing does.

        Equal training rows are merged, but not those of two parts.
        """
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

    # --- in doubles ---------------------------------------------------------------------------

    def _ranked(self, z: FloatArray, entries: Entries, sign: float) -> "_Ranked":
        """Return the effects of the entries on one score, strongest first, part by part."""
        effect = np.maximum(sign * z * entries.lower, sign * z * entries.upper)
        count = np.where(sign * z >= 0, entries.n_upper, entries.n_lower).astype(np.intp)
        ends = [part.end for part in self.parts()]
        part = self._part_of(max([*ends, 1 + int(entries.rows.max(initial=0))]))[entries.rows]
        orders = []
        for number in range(len(self.parts())):
            here = np.flatnonzero((part == number) & (effect > 0))
            orders.append(here[np.argsort(-effect[here], kind="stable")])
        return _Ranked(effect, count, orders)

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the scores of influence rows can rise and fall, each rounded once."""
        up, down = (
            np.array([self._ranked(row, entries, sign).reach(self.parts()) for row in z])
            for sign in (1.0, -1.0)
        )
        return up, down

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it."""
        width = len(entries)
        found = selection.Extremes(
            np.zeros(len(z)),
            np.zeros((len(z), width), dtype=np.int64),
            np.zeros((len(z), width)),
            np.zeros(len(z), dtype=np.int64),
        )
        for at, row in enumerate(z):
            ranked = self._ranked(row, entries, sign)
            taken = ranked.taken(self.parts())
            used = np.flatnonzero(taken)
            offset = np.where(sign * row >= 0, entries.upper, entries.lower)
            found.reach[at], found.length[at] = ranked.reach(self.parts()), len(used)
            found.index[at, : len(used)] = used
            found.amount[at, : len(used)] = (taken * offset)[used]
        return found

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the least amounts of this kind whose reach exceeds the margins of each row."""
        found = selection.Crossings.blank(len(z))
        for at, row in enumerate(z):
            for side, (sign, margin) in enumerate(((1.0, up[at]), (-1.0, down[at]))):
                ranked = self._ranked(row, entries, sign)
                found.count[at, side], found.before[at, side], found.after[at, side] = (
                    self._crossing(ranked, float(margin))
                )
        return found

    def _crossing(self, ranked: "_Ranked", margin: float) -> tuple[float, float, float]:
        """Return the least size that exceeds a margin, and the reaches of one less and of it."""

        def reach(size: int) -> float:
            return ranked.reach(self.sized(size).parts())

        enough = self._enough(lambda size: reach(size) > margin, ranked.most)
        if enough is None:
            return math.inf, reach(ranked.most), 0.0
        return float(enough), reach(enough - 1) if enough else 0.0, reach(enough)

    @staticmethod
    def _enough(holds: Callable[[int], bool], most: int) -> int | None:
        """Return the least size for which something holds; more of it never undoes it."""
        if not holds(most):
            return None
        low, high = -1, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    def choose(self, strength: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the labels that together move a score furthest, given what each can do alone."""
        chosen = [np.zeros(0, dtype=np.intp)]
        for part in self.parts():
            rows = np.arange(len(strength)) if part.rows is None else np.sort(part.rows)
            rows = rows[strength[rows] > 0]
            chosen.append(rows[np.argsort(-strength[rows], kind="stable")][: part.labels])
        rows = np.sort(np.concatenate(chosen))
        return rows, np.ones(len(rows))

    # --- exactly ------------------------------------------------------------------------------

    def _shares(self, moves: Sequence[Move]) -> Iterator[tuple[Move, int]]:
        """Yield moves, strongest first, and how many labels each of them takes."""
        parts = self.parts()
        of = self._part_of(max([part.end for part in parts] + [1 + move.row for move in moves]))
        left = [part.labels for part in parts]
        for move in moves:
            if (number := int(of[move.row])) >= 0:
                taken = min(move.labels, left[number])
                left[number] -= taken
                yield move, taken

    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return how far a score can move, as an int in the unit of the moves."""
        return sum(move.value * taken for move, taken in self._shares(moves))

    def least_exactly(self, moves: Sequence[Move], goal: int) -> float:
        """Return the least amount of this kind that moves a score by `goal`; inf if none does."""
        most = sum(move.labels for move in moves)
        found = self._enough(lambda size: self.sized(size).reach_exactly(moves) >= goal, most)
        return math.inf if found is None else float(found)

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels that together move a score furthest."""
        rows = [row for move, taken in self._shares(moves) for row in members(move)[:taken]]
        return [(row, Fraction(1)) for row in sorted(rows)]

    # --- for people and files -----------------------------------------------------------------

    def __str__(self) -> str:
        """Say what may be wrong, to follow "if"."""
        return f"labels within {self!r} are wrong"

    def document(self, n_rows: int) -> Any:
        """Return the budget as a certificate file writes it; by default raise `BiasError`."""
        raise BiasError(
            f"there is no way to write a budget of kind {type(self).__name__} to a certificate "
            "file; files take counts of labels"
        )


class _Ranked(NamedTuple):
    """Effects of the entries on one score, and the entries of each part, strongest first."""

    effect: FloatArray
    n_labels: IntArray  # of each entry
    orders: list[IntArray]

    @property
    def most(self) -> int:
        """Number of labels that can do anything."""
        return int(sum(self.n_labels[order].sum() for order in self.orders))

    def taken(self, parts: Sequence[Part]) -> FloatArray:
        """Return how many labels of each entry are taken."""
        found = np.zeros(len(self.effect))
        for order, part in zip(self.orders, parts, strict=True):
            before = np.cumsum(self.n_labels[order]) - self.n_labels[order]
            found[order] = np.clip(part.labels - before, 0, self.n_labels[order])
        return found

    def reach(self, parts: Sequence[Part]) -> float:
        """Return the sum of the effects that are taken, rounded once."""
        taken = self.taken(parts).astype(np.intp)
        return math.fsum(np.repeat(self.effect, taken).tolist())


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

    def apart(self, lower: FloatArray, upper: FloatArray) -> None:
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

    def choose(self, strength: FloatArray) -> tuple[IntArray, FloatArray]:
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

    def least_exactly(self, moves: Sequence[Move], goal: int) -> float:
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


def as_budget(budget: "Amount | Budget", n_rows: int) -> Budget:
    """Return a budget for as many training rows; numbers are counts of labels, or shares."""
    return budget if isinstance(budget, Budget) else Count(count_budget(budget, n_rows))


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
