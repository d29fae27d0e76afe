"""Budgets: how much may be wrong at once, and what that can do to a score.

A bias says by how much each label may be off, its budget how much of that may happen at once.
`Count` is the budget of the paper: at most k labels.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unswayed._core import selection
from unswayed._core.compression import Entries
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError, VacuousWarning, warn_asker

Amount: TypeAlias = float | Fraction | Decimal


class Move(NamedTuple):
    """Labels of equal training rows, and what each of them can add to a score, in whole units."""

    value: int
    labels: int
    entry: int
    row: int  # a training row that stands for them


Members: TypeAlias = Callable[[Move], list[int]]
"""From a move to the training rows whose labels can make it, ascending."""


class Budget(ABC):
    """How much may be wrong at once: the base class of all budgets."""

    @property
    @abstractmethod
    def amount(self) -> float:
        """Size of the budget in the unit of its kind: for a `Count`, labels."""

    @abstractmethod
    def sized(self, amount: float) -> "Budget":
        """Return a budget of the same kind and of another size."""

    def read(self, written: Amount, n_rows: int) -> "Budget":
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
        return 0.0

    @property
    def most_labels(self) -> float:
        """Largest number of labels that can be wrong at once."""
        return math.inf

    def apart(self, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
        """Return numbers that keep training rows from being merged; None if nothing does.

        Equal training rows are merged. A budget that treats some of them differently (groups with
        counts of their own, say) returns one number per row, equal where they may be merged.
        """
        return None

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many labels each amount can move at most, and how many any smaller amount can.

        Bounds on rounding errors grow with both. By default they are infinite: all labels.
        """
        every = np.full_like(amount, np.inf)
        return every, every

    # --- in doubles ---------------------------------------------------------------------------

    @abstractmethod
    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the scores of influence rows can rise and fall, each rounded once."""

    @abstractmethod
    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it."""

    @abstractmethod
    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the least amounts of this kind whose reach exceeds the margins of each row."""

    @abstractmethod
    def choose(self, strength: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the labels that together move a score furthest, given what each can do alone."""

    # --- exactly ------------------------------------------------------------------------------

    @abstractmethod
    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return how far a score can move, as an int in the unit of the moves."""

    @abstractmethod
    def least_exactly(self, moves: Sequence[Move], goal: int) -> float:
        """Return the least amount of this kind that moves a score by `goal`; inf if none does."""

    @abstractmethod
    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels that together move a score furthest."""

    # --- for people and files -----------------------------------------------------------------

    @abstractmethod
    def __str__(self) -> str:
        """Say what may be wrong, to follow "if"."""

    def document(self, n_rows: int) -> Any:
        """Return the budget as a certificate file writes it; by default raise `BiasError`."""
        raise BiasError(
            f"there is no way to write a budget of kind {type(self).__name__} to a certificate "
            "file; files take counts of labels"
        )


# ----------------------------------------------------------------------------------------
# Count: at most so many labels are wrong at once, the budget of the paper.

_MANY = 2**53  # more labels than there are anywhere; larger counts would not fit into a double


@dataclass(frozen=True, slots=True)
class Count(Budget):
    """At most so many labels are wrong, so that the reach is the sum of the largest effects."""

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

    @property
    def amount(self) -> int:
        """Number of labels."""
        return self.labels

    @property
    def least_amount(self) -> float:
        """One label."""
        return 1.0

    def sized(self, amount: float) -> "Count":
        """Return a count of `amount` labels."""
        return Count(_MANY if amount > _MANY else int(amount))

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
