"""Cascade: the sandwich where exact rows are dear, exact for what it leaves open.

Nothing is timed and nothing is learned from one call to the next: anchors are training rows, and
whether a sandwich is used follows from the size of the problem. So a row gets the same answer
alone or in any batch, in any order, on any machine. Building one takes as long as several hundred
exact rows, once per budget and decision.
"""

import threading
from collections import OrderedDict
from typing import Any

from unswayed._core.sandwich import Bounds
from unswayed.budgets import Budget
from unswayed.certifiers.exact import ExactEngine
from unswayed.certifiers.rows import FeatureRows
from unswayed.certifiers.sandwich import MAX_ANCHORS, Sandwich
from unswayed.certifiers.verdicts import put_bounds, undecided
from unswayed.decisions import Decision, Margins
from unswayed.models.learner import LinearLearner, Solution

LARGE = 2**22
"""Multiplications of an exact row from which on bounds are tried first: some milliseconds."""

_KEPT = 4  # sandwiches kept, one per budget and decision


class Cascade:
    """A certifier with the verdicts of `ExactEngine`, by bounds where these suffice.

    Parameters
    ----------
    exact : ExactEngine
    solution : Solution
        Of the training labels: anchors are chosen where predictions are in doubt.
    decision : Decision
    large : int
        Multiplications of an exact row from which on bounds are tried first.
    """

    def __init__(
        self, exact: ExactEngine, solution: Solution, decision: Decision, large: int = LARGE
    ) -> None:
        self._exact = exact
        self._solution = solution
        self._decision = decision
        self._large = large
        self._built: OrderedDict[Budget, Sandwich] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def uses_bounds(self) -> bool:
        """Whether bounds are tried at all."""
        learner, influence = self._exact.learner, self._exact.influence
        size = influence.width * len(influence.entries)
        able = "anchors" in learner.capabilities and self._exact.precision.proven
        return able and size >= self._large

    def bounds(self, rows: FeatureRows, budget: Budget, margins: Margins) -> Bounds:
        """Return bounds that decide whatever can be decided; exact ones where it takes them."""
        if not self.uses_bounds:
            return self._exact.bounds(rows, budget, margins)
        bounds = self._sandwich(budget).bounds(rows.directions(slice(None)), margins)
        left_open = undecided(bounds, margins)
        if len(left_open):
            put_bounds(bounds, left_open, self._exact.reach(rows.take(left_open), budget))
        return bounds

    def _sandwich(self, budget: Budget) -> Sandwich:
        with self._lock:
            if budget not in self._built:
                learner = self._exact.learner
                assert isinstance(learner, LinearLearner)  # noqa: S101  (tells mypy)
                self._built[budget] = Sandwich(self._exact, budget, MAX_ANCHORS).choose_anchors(
                    self._solution, self._decision
                )
            self._built.move_to_end(budget)
            while len(self._built) > _KEPT:
                self._built.popitem(last=False)
            return self._built[budget]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
