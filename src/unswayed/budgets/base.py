"""Budget: the questions that every kind of budget answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unswayed._core import selection
from unswayed._core.compression import Entries
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError

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
