"""Budgets: how much may be wrong at once, and what that can do to a score.

A bias says by how much each label may be off, its budget how much of that may happen at once.
A budget tells how far it can move a score (`reach`), by which labels (`argmax`, `choose`), and
what is the least of its kind that crosses a margin (`least`): in doubles, over the entries of
influence rows, and exactly, over whole numbers.

`Count` is the budget of the paper: at most k labels. A new kind is a subclass of `Budget`, in a
file of its own; a bias takes it in place of a number.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unswayed._core import selection
from unswayed._core.compression import Entries
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError

Amount: TypeAlias = float | Fraction | Decimal

_MANY = 2**53  # more labels than there are anywhere; larger counts would not fit into a double


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
        """Return a budget of the same kind and of another size.

        Parameters
        ----------
        amount : float, in the unit of its kind
        """

    def read(self, written: Amount, n_rows: int) -> "Budget":
        """Return a budget of the same kind from a number that a user wrote.

        Parameters
        ----------
        written : number
            By default in its unit; a count may be a share of the training rows.
        n_rows : int, the number of training rows

        Returns
        -------
        Budget
        """
        return self.sized(float(written))

    @property
    def most_labels(self) -> float:
        """Largest number of labels that can be wrong at once."""
        return math.inf

    def apart(self, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
        """Return numbers that keep training rows from being merged; None if nothing does.

        Equal training rows are merged. A budget that treats some of them differently (groups with
        counts of their own, say) returns one number per row, equal where they may be merged.

        Parameters
        ----------
        lower, upper : (n,) arrays
            Offsets of the labels.

        Returns
        -------
        (n,) array or None
        """
        return None

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how many labels each amount can move at most, and how many any smaller amount can.

        Bounds on rounding errors grow with both. By default they are infinite: all labels.

        Parameters
        ----------
        amount : array, in the unit of its kind

        Returns
        -------
        most, fewer : arrays
        """
        every = np.full_like(amount, np.inf)
        return every, every

    # --- in doubles ---------------------------------------------------------------------------

    @abstractmethod
    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the scores of influence rows can rise and fall, each rounded once.

        Parameters
        ----------
        z : (rows, entries) array
            Influence of one label of each entry.
        entries : Entries
            What may move.

        Returns
        -------
        up, down : arrays
        """

    @abstractmethod
    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it.

        Parameters
        ----------
        z, entries : as for `reach`
        sign : float, 1 to rise or -1 to fall

        Returns
        -------
        Extremes
        """

    @abstractmethod
    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the least amounts of this kind whose reach exceeds the margins of each row.

        Parameters
        ----------
        z, entries : as for `reach`
        up, down : (rows,) arrays, the margins

        Returns
        -------
        Crossings
        """

    @abstractmethod
    def choose(self, strength: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the labels that together move a score furthest, given what each can do alone.

        Parameters
        ----------
        strength : (n,) array
            What each training label can add to a score.

        Returns
        -------
        rows : array
            Training rows, ascending.
        share : array
            How much of its offset each label is moved by, above 0 and at most 1.
        """

    # --- exactly ------------------------------------------------------------------------------

    @abstractmethod
    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return how far a score can move, as an int in the unit of the moves.

        Parameters
        ----------
        moves : sequence of Move, all in one direction, strongest first
        """

    @abstractmethod
    def least_exactly(self, moves: Sequence[Move], goal: int) -> float:
        """Return the least amount of this kind that moves a score by `goal`; inf if none does.

        Parameters
        ----------
        moves : as for `reach_exactly`
        goal : int, in the unit of the moves
        """

    @abstractmethod
    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels that together move a score furthest.

        Parameters
        ----------
        moves : as for `reach_exactly`
        members : callable, from a move to its training rows

        Returns
        -------
        list of (int, Fraction), training rows and shares as for `choose`
        """

    # --- for people and files -----------------------------------------------------------------

    @abstractmethod
    def __str__(self) -> str:
        """Say what may be wrong, to follow "if"."""

    def document(self, n_rows: int) -> Any:
        """Return the budget as a certificate file writes it; by default raise `BiasError`.

        Parameters
        ----------
        n_rows : int, the number of training rows
        """
        raise BiasError(
            f"there is no way to write a budget of kind {type(self).__name__} to a certificate "
            "file; files take counts of labels"
        )


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

    def sized(self, amount: float) -> "Count":
        """Return a count of `amount` labels."""
        return Count(_MANY if amount > _MANY else int(amount))

    def read(self, written: Amount, n_rows: int) -> "Count":
        """Return the count that was written; shares of `n_rows` are rounded down."""
        return Count(count_budget(written, n_rows))

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
        # lexsort's last key leads.
        ranked = np.lexsort((np.arange(len(strength)), -strength))
        rows = np.sort(ranked[: self.labels])
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
        return f"up to {self.labels} {'label is' if self.labels == 1 else 'labels are'} wrong"


def count_budget(budget: Amount, n_rows: int) -> int:
    """Return a number as a count of labels: shares of `n_rows` are rounded down.

    Parameters
    ----------
    budget : int, float, Fraction or Decimal
        A count, or a share in (0, 1).
    n_rows : int, the number of training rows

    Returns
    -------
    int

    Examples
    --------
    >>> count_budget(0.29, 100)  # in floats, 0.29 * 100 is 28.999999999999996
    29
    """
    value = as_written(budget)
    return min(value, _MANY) if isinstance(value, int) else math.floor(value * n_rows)


def as_written(budget: object) -> int | Fraction:
    """Return a count as an int and a share as a fraction; raise unless it is one of the two.

    A share is what was written: ``0.29`` is 29/100 and not the double next to it.

    Parameters
    ----------
    budget : anything

    Returns
    -------
    int or Fraction
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
