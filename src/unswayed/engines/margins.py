"""How far a score may move before its prediction changes.

A prediction is overturned when the score can rise by *more* than `up` or fall by *more* than
`down`. Where touching already counts (a score that falls onto the threshold is no longer above
it), the margin is the double just below, which makes "more than" mean "at least".
"""

from dataclasses import dataclass

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Per row; infinity where that direction cannot overturn the prediction."""

    up: FloatArray
    down: FloatArray

    def __getitem__(self, rows: IntArray | slice) -> "Margins":
        return Margins(self.up[rows], self.down[rows])

    def broken(self, reach_up: FloatArray, reach_down: FloatArray) -> BoolArray:
        """Whether reaches of these sizes overturn the predictions."""
        return np.asarray((reach_up > self.up) | (reach_down > self.down))


def _touching(distance: FloatArray) -> FloatArray:
    return np.nextafter(distance, -np.inf)


def threshold_margins(score: FloatArray, threshold: float) -> Margins:
    """Classification: the decision is ``score > threshold``."""
    positive = score > threshold
    return Margins(
        up=np.where(positive, np.inf, threshold - score),
        down=np.where(positive, _touching(score - threshold), np.inf),
    )


def radius_margins(n_rows: int, radius: float) -> Margins:
    """Regression: the prediction may move by `radius` either way, inclusively."""
    return Margins(np.full(n_rows, radius), np.full(n_rows, radius))


def sign_margins(value: FloatArray) -> Margins:
    """Coefficients: the sign must stay; a zero must not move."""
    away = _touching(np.abs(value))
    return Margins(
        up=np.where(value < 0, away, np.where(value > 0, np.inf, 0.0)),
        down=np.where(value > 0, away, np.where(value < 0, np.inf, 0.0)),
    )
