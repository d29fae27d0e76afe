"""Certifier: whoever bounds how far a budget can move the scores of rows."""

from typing import Protocol

from unswayed._core.sandwich import Bounds
from unswayed.budgets import Budget
from unswayed.certifiers.rows import FeatureRows
from unswayed.decisions import Margins


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
