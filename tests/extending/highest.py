"""A functional that is not linear, with an engine of its own: the highest label nearby."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np

from unswayed.engines.choice import register_margins
from unswayed.engines.protocol import LabelChanges
from unswayed.labels.bias import Functional
from unswayed.margins.decisions import verdicts
from unswayed.results.certificates import MinimumBudgets


@dataclass(frozen=True, eq=False)
class Highest(Functional):
    near: np.ndarray  # (m, k) training rows
    targets: np.ndarray
    upper: np.ndarray  # how far each label may rise


class HighestCase:
    """One label that rises far enough is all it takes, and the best one is easily found."""

    def __init__(self, margin, budget):
        of = margin.functional
        self.rows, self._touching, self._distance = of.near, margin.touching, margin.distance
        self._reached = (of.targets + of.upper)[of.near]
        self._score, self._near, self._upper = of.targets[of.near].max(axis=1), of.near, of.upper

    @cached_property
    def least(self):
        risen = self._reached.max(axis=1) - self._score
        crossed = risen >= self._distance if self._touching else risen > self._distance
        needed = np.where(crossed, 1.0, np.inf)
        return MinimumBudgets(needed, needed)

    def answer(self, budget, certifier=None):
        broken = self.least.high <= budget.amount
        return SimpleNamespace(verdict=verdicts(broken, np.zeros(len(broken), dtype=bool)))

    def changes(self, row, budget):
        best = int(np.argmax(self._reached[row]))
        label = self._near[row, best]
        return LabelChanges(
            np.array([label]), np.array([self._upper[label]]), float(self._reached[row, best])
        )


register_margins(Highest, HighestCase)
