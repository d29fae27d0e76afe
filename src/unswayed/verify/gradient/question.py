"""What must stay of a score, and whether it does, when scores are known up to bounds."""

from dataclasses import dataclass
from math import inf, nextafter
from typing import Any

import numpy as np

from unswayed.verify.floating.rounding import TINY
from unswayed.verify.gradient.functions import EXPONENTIAL, exponential

Range = tuple[float, float]
Answer = bool | None  # None: not known


@dataclass(frozen=True, slots=True)
class Rule:
    """A decision."""

    task: str  # "classification", "regression", "counts" or "coefficients"
    mark: float  # The threshold, or the radius

    @classmethod
    def of(cls, question: dict[str, Any]) -> "Rule":
        """Read the question of a certificate."""
        mark = question.get("threshold", question.get("radius", 0.0))
        return cls(question["task"], float(mark))

    def decision(self, score: Range) -> int | None:
        """Return the class, or the sign; None if the bounds do not tell."""
        low, high = score
        signs = self.task == "coefficients"
        if low > self.mark:
            return 1
        if signs:
            return -1 if high < 0 else 0 if low == high == 0 else None
        return 0 if high <= self.mark else None

    def stays_below(self, base: Range, high: float) -> Answer:
        """Return whether a score may rise to a number and still count as the same."""
        if self.task in ("regression", "counts"):
            return self._apart(base, (high, high), +1)
        found = self.decision(base)
        if found is None:
            return None
        if self.task == "coefficients":
            return found == 1 or (high < 0 if found else high <= 0)
        return found == 1 or high <= self.mark

    def stays_above(self, base: Range, low: float) -> Answer:
        """Return whether a score may fall to a number and still count as the same."""
        if self.task in ("regression", "counts"):
            return self._apart(base, (low, low), -1)
        found = self.decision(base)
        if found is None:
            return None
        if self.task == "coefficients":
            return found == -1 or (low > 0 if found else low >= 0)
        return found == 0 or low > self.mark

    def overturned(self, base: Range, score: Range) -> Answer:
        """Return whether another score is another answer."""
        if self.task in ("regression", "counts"):
            answers = [self._apart(base, score, sign) for sign in (+1, -1)]
            return True if False in answers else None if None in answers else False
        first, second = self.decision(base), self.decision(score)
        return None if first is None or second is None else first != second

    def _apart(self, base: Range, score: Range, sign: int) -> Answer:
        """Return whether a score is within the radius on one side."""
        if self.task == "counts":
            base, score = _exponentials(base), _exponentials(score)
        if not all(map(np.isfinite, (*base, *score))):
            return None
        first, second = (base, score) if sign > 0 else (score, base)
        if nextafter(second[1] - first[0], inf) <= self.mark:
            return True
        return False if nextafter(second[0] - first[1], -inf) > self.mark else None


def _exponentials(ends: Range) -> Range:
    low, high = exponential(np.array(ends)).tolist()
    return low * (1.0 - 2 * EXPONENTIAL), high * (1.0 + 2 * EXPONENTIAL) + TINY
