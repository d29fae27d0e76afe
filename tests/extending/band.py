"""A decision of somebody else's: the score must stay on its side of two limits."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from unswayed._core.rounding import subtraction_error, wider
from unswayed.margins.decisions import Decision, ExactLimits, Margins


@dataclass(frozen=True)
class Band(Decision):
    """Scores from `low` to `high` must stay there; others are of no interest."""

    low: float
    high: float

    def margins(self, scores):
        score = scores.value
        inside = (self.low <= score) & (score <= self.high)
        rounding = np.maximum(
            subtraction_error(score, self.low), subtraction_error(score, self.high)
        )
        error = wider(scores.error, rounding)
        near = np.minimum(np.abs(score - self.low), np.abs(self.high - score)) <= error
        return Margins(
            up=np.where(inside, self.high - score, np.inf),
            down=np.where(inside, score - self.low, np.inf),
            slack=np.where(near, np.inf, error),
        )

    def limits(self, score):
        if not self.low <= score <= self.high:
            return ExactLimits(None, None, touching=False)
        up, down = Fraction(self.high) - score, score - Fraction(self.low)
        return ExactLimits(up, down, touching=False)

    def predict(self, score):
        return np.where((self.low <= score) & (score <= self.high), "inside", "outside")

    def predict_exactly(self, score):
        return "inside" if self.low <= score <= self.high else "outside"

    def __str__(self):
        return f"between {self.low:g} and {self.high:g}"
