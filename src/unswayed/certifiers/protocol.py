"""Certifier: whoever bounds how far a budget can move scores, and Engine: whoever evaluates it."""

from typing import Protocol

from unswayed._core.influence import WeightRows
from unswayed._core.sandwich import Bounds
from unswayed._typing import FloatArray
from unswayed.budgets import Budget
from unswayed.certifiers.precision import Precision
from unswayed.certifiers.rows import FeatureRows
from unswayed.decisions import Margins
from unswayed.models.learner import Learner


class Certifier(Protocol):
    """Takes rows and a budget, and returns bounds; what follows from them is judged elsewhere.

    The same rows and the same budget get the same bounds, whatever was asked before and however
    long it took.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for: that of their `ExactEngine`."""
        ...

    def bounds(self, rows: FeatureRows, budget: Budget, margins: Margins) -> Bounds:
        """Return what is known of how far the score of each row can rise and fall."""
        ...


class Engine(Protocol):
    """Evaluates how far a budget can move scores, for one learner under one bias."""

    precision: Precision
    rounds: int  # Anchors of a sandwich are evaluated in so many lots

    @property
    def learner(self) -> Learner:
        """The learner that is asked about."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of learner and bias: bounds that were built from others are refused."""
        ...

    def roughly(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return bounds on how far a budget can raise and lower the score of each row."""
        ...

    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return bounds of each row, and what label changes within the budget do to any score."""
        ...

    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset."""
        ...
