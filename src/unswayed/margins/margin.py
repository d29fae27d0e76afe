"""Margin: numbers that must not rise too far; a row has one or more, and is robust if all hold.

A binary decision has one margin, a radius two, the largest of C scores C - 1, and a choice among
candidate models those of every candidate.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.labels.functionals import Functional
from unswayed.margins.decisions import Decision, ExactLimits, Margins, hidden_slack, touched
from unswayed.models.learner import Scores


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """How far numbers may rise; several of them may belong to one row."""

    functional: Functional  # m numbers that depend on the labels
    distance: FloatArray | None = None  # how far each may rise; None: until it is 0
    touching: bool = False  # rising by just that much counts as crossing
    rows: IntArray | None = None  # the row that each belongs to; None: number i is row i's


@dataclass(frozen=True, slots=True, eq=False)
class Rise(Decision):
    """What a `Margin` says, as a decision about scores: they may rise so far, and fall at will."""

    distance: FloatArray | None
    touching: bool

    def margins(self, scores: Scores) -> Margins:
        """Return how far each number may rise, rounding accounted for."""
        never = np.full(len(scores.value), np.inf)
        if self.distance is None:
            up, slack = -scores.value, hidden_slack(scores.value, scores.error)
        else:
            up, slack = np.array(self.distance, dtype=np.float64), np.zeros(len(never))
        return Margins(touched(up) if self.touching else up, never, slack)

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a number may rise until it is 0, exactly."""
        if self.distance is not None:
            raise InputError("distances of several margins are compared in doubles only")
        return ExactLimits(-score, None, touching=self.touching)

    def predict(self, score: FloatArray) -> NDArray[Any]:
        """Return the numbers themselves."""
        return score.copy()

    def predict_exactly(self, score: Fraction) -> float:
        """Return the nearest double."""
        return float(score)

    def __str__(self) -> str:
        return "same outcome"
