"""What floating point knows of one row: bounds, and what follows from them."""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from unswayed.verify.facts import Moves
from unswayed.verify.floating.given import Entries
from unswayed.verify.floating.reach import Prefix
from unswayed.verify.floating.rounding import SAFETY, TINY, UNIT, FloatArray


def _down(a: float, b: float) -> float:
    """Return a sum, rounded down."""
    return math.nextafter(a + b, -math.inf)


def _up(a: float, b: float) -> float:
    """Return a sum, rounded up."""
    return math.nextafter(a + b, math.inf)


@dataclass(frozen=True, slots=True)
class BoundedFacts:
    """What is true of one row, as far as bounds tell."""

    task: str
    mark: float  # The threshold, or the radius
    score: tuple[float, float]  # The score is between these
    falls: Prefix  # How far labels move it down and up
    rises: Prefix  # How far labels move it down and up
    budget: int
    influence: FloatArray
    error: FloatArray
    entries: Entries

    def decision(self) -> int | None:
        """Return the class, or the sign; None if the bounds do not tell."""
        return self._decision(*self.score)

    def _decision(self, lowest: float, highest: float) -> int | None:
        mark = self.mark if self.task == "classification" else 0.0
        if lowest > mark:
            return 1
        if self.task == "classification":
            return 0 if highest <= mark else None
        return -1 if highest < mark else None

    def holds_below(self, low: float) -> bool | None:
        """Return whether no score below `low` is reached; None if the bounds do not tell."""
        least, most = self.falls.within(self.budget)
        if low <= _down(self.score[0], -most):
            return True
        return False if low > _up(self.score[1], -least) else None

    def holds_above(self, high: float) -> bool | None:
        """Return whether no score above `high` is reached; None if the bounds do not tell."""
        least, most = self.rises.within(self.budget)
        if high >= _up(self.score[1], most):
            return True
        return False if high < _down(self.score[0], least) else None

    def overturned(self, labels: float) -> bool | None:
        """Return whether so many labels can overturn the answer; None if bounds do not tell."""
        found = [margin.crossed(*steps.within(labels)) for margin, steps in self._margins()]
        if not found or None in found:
            return True if True in found else None
        return any(found)

    def _margins(self) -> list[tuple["_Margin", Prefix]]:
        """Return how far the score must move to overturn the answer; nothing if unknown."""
        lowest, highest = self.score
        if self.task == "regression":
            margin = _Margin(self.mark, self.mark, closed=False)
            return [(margin, self.falls), (margin, self.rises)]
        decision = self.decision()
        mark = self.mark if self.task == "classification" else 0.0
        if decision == 1:
            ends = _down(lowest, -mark), _up(highest, -mark)
            return [(_Margin(*ends, closed=True), self.falls)]
        if decision is not None:
            ends = _down(mark, -highest), _up(mark, -lowest)
            return [(_Margin(*ends, closed=self.task == "coefficients"), self.rises)]
        return []

    def overturned_by(self, moves: Moves) -> bool | None:
        """Return whether labels moved to ends of their intervals overturn the answer."""
        lowest, highest = self._shift(moves)
        if self.task == "regression":
            if lowest > self.mark or highest < -self.mark:
                return True
            return False if -self.mark <= lowest and highest <= self.mark else None
        before = self.decision()
        after = self._decision(_down(self.score[0], lowest), _up(self.score[1], highest))
        return None if before is None or after is None else before != after

    def _shift(self, moves: Moves) -> tuple[float, float]:
        """Return bounds on how far the score moves with some labels."""
        steps, doubts = [], [0.0]
        for rows, end, shares in moves.parts():
            at = self.entries.entry[np.asarray(rows, dtype=np.int64)]
            ends = (self.entries.upper if end else self.entries.lower)[at]
            ends = ends if shares is None else ends * np.asarray(shares)
            made = self.influence[at] * ends
            steps.append(made)
            doubts.append(float((self.error[at] * np.abs(ends)).sum()))
            doubts.append(4 * UNIT * float(np.abs(made).sum()))
        terms = np.concatenate(steps)
        if not np.isfinite(terms).all():
            return -math.inf, math.inf
        doubt = sum(doubts) * SAFETY + (len(terms) + 1) * TINY
        try:
            total = math.fsum(terms)
        except OverflowError:
            return -math.inf, math.inf
        return _down(total, -doubt), _up(total, doubt)

    def score_range(self) -> tuple[float, float]:
        """Return two numbers that the score is between."""
        return self.score

    def reach(self, way: int) -> tuple[float, float]:
        """Return bounds on how far labels move the score up, or down."""
        return (self.rises if way > 0 else self.falls).within(self.budget)

    def shift(self, moves: Moves) -> tuple[float, float]:
        """Return bounds on how far some labels move the score."""
        return self._shift(moves)

    def fewest(self) -> tuple[float, float]:
        """Return bounds on the fewest labels that overturn the answer."""
        ends = [float(part.labels[-1]) for part in (self.falls, self.rises) if len(part.labels)]
        counts = range(int(min(ends, default=0.0)) + 1)
        answers = self.overturned(math.inf)
        least: float = bisect_left(counts, True, key=lambda k: self.overturned(k) is not False)
        if least == len(counts) and answers is False:
            least = math.inf
        most: float = bisect_left(counts, True, key=lambda k: self.overturned(k) is True)
        if most == len(counts):
            most = self.rises.n_labels if answers else math.inf
        return least, most


@dataclass(frozen=True, slots=True)
class _Margin:
    """How far a score must move: from a margin on if it is closed, or beyond it."""

    least: float
    most: float
    closed: bool

    def crossed(self, lowest: float, highest: float) -> bool | None:
        """Return whether a move between these bounds crosses the margin."""
        if lowest > self.most or (self.closed and lowest == self.most):
            return True
        if highest < self.least or (not self.closed and highest == self.least):
            return False
        return None
