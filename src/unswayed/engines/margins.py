"""How far a score may move before its prediction changes.

A prediction is overturned when the score can rise by *more* than `up` or fall by *more* than
`down`. Where touching already counts (a score that falls onto the threshold is no longer above
it), the margin is the double just below, which makes "more than" mean "at least".
"""

from dataclasses import dataclass

import numpy as np

from unswayed._core.rounding import subtraction_error, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.learners.accuracy import Scores


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Per row; infinity where that direction cannot overturn the prediction.

    The true margins are within `slack` of these; it is infinite where not even the prediction
    itself is known.
    """

    up: FloatArray
    down: FloatArray
    slack: FloatArray

    def __getitem__(self, rows: IntArray | slice) -> "Margins":
        return Margins(self.up[rows], self.down[rows], self.slack[rows])


def _touching(distance: FloatArray) -> FloatArray:
    return np.nextafter(distance, -np.inf)


def _slack(distance: FloatArray, error: FloatArray) -> FloatArray:
    """The error, or infinity where it leaves open on which side of 0 the distance is."""
    hidden = (error > 0) & ~(np.abs(distance) > error)
    return np.where(hidden, np.inf, error)


def threshold_margins(scores: Scores, threshold: float) -> Margins:
    """Classification: the decision is ``score > threshold``."""
    score = scores.value
    error = wider(scores.error, subtraction_error(score, threshold))
    positive = score > threshold
    return Margins(
        up=np.where(positive, np.inf, threshold - score),
        down=np.where(positive, _touching(score - threshold), np.inf),
        slack=_slack(score - threshold, error),
    )


def radius_margins(n_rows: int, radius: float) -> Margins:
    """Regression: the prediction may move by `radius` either way, inclusively."""
    return Margins(np.full(n_rows, radius), np.full(n_rows, radius), np.zeros(n_rows))


def sign_margins(values: Scores) -> Margins:
    """Coefficients: the sign must stay; a zero must not move."""
    value = values.value
    away = _touching(np.abs(value))
    return Margins(
        up=np.where(value < 0, away, np.where(value > 0, np.inf, 0.0)),
        down=np.where(value > 0, away, np.where(value < 0, np.inf, 0.0)),
        slack=_slack(value, values.error),
    )
