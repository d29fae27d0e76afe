"""What labels can do to one kind of row: how far it is from being overturned, and what happens.

A row is overturned by rising or by falling. A class is lost by falling if the score reaches the
threshold, and by rising if it exceeds it; a number in either way if it moves by more than the
radius.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from unswayed.verify.facts import Moves

Number = Fraction | float  # floats are infinite: everything that is finite is a fraction
Ends = tuple[Number, Number]
_Margins = dict[int, tuple[Number, Number, bool]]  # at least, at most, and whether it is enough


class Measured(Protocol):
    """A score, and how far labels move it: bounds, or the truth twice."""

    def score_range(self) -> tuple[float | Fraction, float | Fraction]:
        """Return two numbers that the score is between."""
        ...

    def reach(self, way: int) -> tuple[float | Fraction, float | Fraction]:
        """Return two numbers that its furthest way up (1) or down (-1) is between."""
        ...

    def shift(self, moves: Moves) -> tuple[float | Fraction, float | Fraction]:
        """Return two numbers that the movement by some labels is between."""
        ...


def ends_of(pair: tuple[float | Fraction, float | Fraction]) -> Ends:
    """Return bounds as fractions, infinite where they are not known."""
    low, high = pair
    return (
        Fraction(low) if math.isfinite(low) else -math.inf,
        Fraction(high) if math.isfinite(high) else math.inf,
    )


def nearest(value: Fraction) -> float:
    """Return the double next to a fraction; infinite beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class Rule:
    """What it is to be overturned."""

    task: str  # "classification" or "regression"
    mark: Fraction  # The threshold, or the radius


@dataclass(frozen=True, slots=True)
class Side:
    """One way in which a kind of row may be overturned."""

    least: Number  # Labels that overturn it move it by no less
    most: Number  # Labels that leave it move it by no more
    ahead: Number  # No labels move it further this way, and the other way
    back: Number  # No labels move it further this way, and the other way

    @property
    def is_finite(self) -> bool:
        """Whether all of these numbers are known."""
        return all(map(math.isfinite, (self.least, self.most, self.ahead, self.back)))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one kind of equal rows."""

    positive: bool | None  # The class; None for numbers
    sides: dict[int, Side]  # Ways (1 rising, -1 falling) in which it is not proven robust
    # For each witness the way in which it overturns the row, 0 if it does not; None if that is not
    # known
    after: tuple[int | None, ...]

    @classmethod
    def of(cls, facts: Measured, rule: Rule, witnesses: Sequence[Moves]) -> "Known | None":
        """Return what follows from a row's score and how far labels move it."""
        score, mark = ends_of(facts.score_range()), rule.mark
        positive: bool | None = None
        margins: _Margins = {1: (mark, mark, False), -1: (mark, mark, False)}
        if rule.task == "regression":
            pass
        elif score[0] > mark:
            positive, margins = True, {-1: (score[0] - mark, score[1] - mark, True)}
        elif score[1] <= mark:
            positive, margins = False, {1: (mark - score[1], mark - score[0], False)}
        else:
            return None
        reach = {way: ends_of(facts.reach(way))[1] for way in (1, -1)}
        sides = {
            way: Side(least, most, reach[way], reach[-way])
            for way, (least, most, closed) in margins.items()
            if not (reach[way] < least or (reach[way] == least and not closed))
        }
        after = tuple(_after(ends_of(facts.shift(each)), margins, sides) for each in witnesses)
        return cls(positive, sides, after)


def _after(shift: Ends, margins: _Margins, sides: dict[int, Side]) -> int | None:
    """Return the way in which a row is overturned by a movement; 0 if it is not."""
    unknown = False
    for way in sides:  # in another way no admissible labels overturn it
        least, most, closed = margins[way]
        low, high = shift if way > 0 else (-shift[1], -shift[0])
        if low > most or (closed and low == most):
            return way
        unknown |= not (high < least or (high == least and not closed))
    return None if unknown else 0
