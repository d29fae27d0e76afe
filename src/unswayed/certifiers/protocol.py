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
        """Return what is known of how far the score of each row can rise and fall.

        Parameters
        ----------
        rows : FeatureRows
        budget : Budget
            What may be wrong at once.
        margins : Margins
            How far the scores may move. Bounds need be no sharper than it takes to tell whether
            they can move further.

        Returns
        -------
        Bounds
        """
        ...


class Engine(Protocol):
    """Evaluates how far a budget can move scores, for one learner under one bias.

    Attributes
    ----------
    precision : Precision
    rounds : int
        Anchors of a sandwich are evaluated in so many lots.
    """

    precision: Precision
    rounds: int

    @property
    def learner(self) -> Learner:
        """The learner that is asked about."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of learner and bias: bounds that were built from others are refused."""
        ...

    def roughly(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return bounds on how far a budget can raise and lower the score of each row.

        Parameters
        ----------
        weights : WeightRows
        budget : Budget

        Returns
        -------
        Bounds
            As tight as they are cheap.
        """
        ...

    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return bounds of each row, and what label changes within the budget do to any score.

        Parameters
        ----------
        weights : WeightRows
        budget : Budget

        Returns
        -------
        reach : Bounds
        moved_up, moved_down : (rows, m) arrays
            A vector per row: its product with another row's weights is how far label changes that
            attain the bounds, or nearly so, move that row's score.
        """
        ...

    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset.

        Returns
        -------
        gram : (m, m) array
        terms : int
            Roundings that follow one another in its sums.
        """
        ...
