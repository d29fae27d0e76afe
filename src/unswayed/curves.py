"""Robustness over all budgets at once: one minimum budget per row gives every rate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray
from unswayed.doubles import as_doubles
from unswayed.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class RobustnessCurve:
    """Share of rows that keep their prediction, as a function of the budget.

    A step function: `rate` holds from each of `budgets` up to the next.

    Attributes
    ----------
    budgets : (k,) array
        Where the rate changes, ascending from 0.
    rate : (k,) array
        Share of robust rows from there on.

    Examples
    --------
    >>> curve = robustness_curve([1, 3, 3, np.inf])
    >>> curve.budgets.tolist(), curve.rate.tolist()
    ([0.0, 1.0, 3.0], [1.0, 0.75, 0.25])
    >>> curve(2), curve(1000)
    (0.75, 0.25)
    """

    budgets: FloatArray
    rate: FloatArray

    def __call__(self, budget: float) -> float:
        """Return the rate at a budget."""
        if not budget >= 0:
            raise InputError(f"a budget is a count of labels, 0 or more; got {budget!r}")
        return float(self.rate[np.searchsorted(self.budgets, budget, side="right") - 1])


def robustness_curve(minimum_budget: ArrayLike) -> RobustnessCurve:
    """Return the rates at every budget where they change: ``rate(k) = mean(minimum_budget > k)``.

    Parameters
    ----------
    minimum_budget : (n,) array-like
        Least number of wrong labels that overturns each row; inf where none does.

    Returns
    -------
    RobustnessCurve
        A function of the budget, with the steps it is made of.

    Raises
    ------
    InputError
        If there are no rows, or a minimum budget is NaN.

    Examples
    --------
    >>> robustness_curve([1, 3, 3, np.inf])(2)
    0.75
    """
    least = as_doubles(minimum_budget, "minimum_budget")
    if least.ndim != 1 or not least.size:
        raise InputError("minimum_budget must hold one number per row, for at least one row")
    if np.isnan(least).any():
        raise InputError(
            "minimum_budget holds NaN: rows that are undecided have no place on a curve; leave "
            "them out, and say so"
        )
    budgets = np.unique(np.concatenate(([0.0], least[np.isfinite(least)])))
    ranked = np.sort(least)
    rate = 1.0 - np.searchsorted(ranked, budgets, side="right") / len(ranked)
    return RobustnessCurve(budgets, rate)
