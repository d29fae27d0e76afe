"""Robust rows over budgets."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.plots.style import ROBUST_ROWS, axes_of, lines, need
from unswayed.results.curves import robustness_curve
from unswayed.results.groups import group_names

ALL_ROWS = "all rows"


class RobustnessCurveDisplay:
    """The share of rows that keep their prediction, over the number of labels that may be wrong.

    It is recommended to use `from_estimator` or `from_certificates`.

    Parameters
    ----------
    budgets : (n,) array-like
        Ascending.
    rates : dict of str to (n,) array-like
        Shares of robust rows at these budgets, by name of the curve.
    steps : bool
        Whether a rate holds until the next budget, as it does where all budgets at which it
        changes are given. False for rates that were looked at here and there.
    unit : str
        What the budgets count: the label of the horizontal axis.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D
        One per curve.
    line_ : Line2D
        The first of them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from unswayed import RobustnessCurveDisplay, robustness_curve
    >>> curve = robustness_curve([1, 3, 3, np.inf])
    >>> display = RobustnessCurveDisplay(curve.budgets, {"four rows": curve.rate}).plot()
    >>> display.line_.get_ydata().tolist()
    [100.0, 75.0, 25.0]

    Of certified rows, or of a model and rows:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, [1, 1, 1, 0, 1, 0])
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> RobustnessCurveDisplay.from_certificates(certs).budgets.tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(
        self,
        budgets: ArrayLike,
        rates: Mapping[str, ArrayLike],
        *,
        steps: bool = True,
        unit: str = "labels wrong",
    ) -> None:
        self.budgets = as_doubles(budgets, "budgets")
        self.rates = {
            str(name): as_doubles(rate, f"rates of {name!r}") for name, rate in rates.items()
        }
        self.steps = steps
        self.unit = unit
        if not self.rates:
            raise InputError("there are no rates to draw; pass {'all rows': rates}")
        for name, rate in self.rates.items():
            if rate.shape != self.budgets.shape:
                raise InputError(
                    f"rates of {name!r} has shape {rate.shape} but budgets {self.budgets.shape}; "
                    "pass one rate per budget"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        max_budget: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Certify rows for every budget at once, and draw how many are robust.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Fitted.
        X : array, sparse matrix or frame
            Rows, of the same columns as the training rows.
        groups : (n,) array-like, optional
            The group of each row, for one curve per group.
        max_budget : float, optional
            Where the curve ends; by default where it changes for the last time.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        RobustnessCurveDisplay
        """
        example = "a fitted CertifiedClassifier or CertifiedRegressor"
        least = need(estimator, "minimum_budget", example)(X)
        return cls._of(least, groups, max_budget).plot(ax, **options)

    @classmethod
    def from_certificates(
        cls,
        certificates: Any,
        *,
        groups: ArrayLike | None = None,
        max_budget: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the same for rows that were certified.

        Parameters
        ----------
        certificates : CertificateSet
            Its minimum budgets are drawn, so that the budget it was asked about does not matter.
        groups : (n,) array-like, optional
            The group of each row, for one curve per group.
        max_budget : float, optional
            Where the curve ends; by default where it changes for the last time.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        RobustnessCurveDisplay
        """
        return cls._of(certificates.minimum_budget, groups, max_budget).plot(ax, **options)

    @classmethod
    def _of(cls, least: FloatArray, groups: ArrayLike | None, max_budget: float | None) -> Self:
        """Return curves of minimum budgets. Of rows with none (NaN) nothing is proven at all."""
        if not len(least):
            raise InputError("there are no rows to draw a curve of; pass at least one")
        changes = np.unique(np.concatenate(([0.0], least[np.isfinite(least)])))
        end = changes[-1] if max_budget is None else float(max_budget)
        if not end >= 0:
            raise InputError(f"max_budget must be 0 or more, got {max_budget!r}")
        budgets = np.unique(np.append(changes[changes <= end], end))
        rates = {ALL_ROWS: _rates(least, budgets)}
        if groups is not None:
            names, which = group_names(groups, len(least))
            rates = {
                str(name): _rates(least[which == place], budgets)
                for place, name in enumerate(names)
            }
        return cls(budgets, rates)

    def plot(self, ax: Any = None, *, legend: bool | None = None, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        legend : bool, optional
            By default where there is more than one curve.
        **options
            For matplotlib's `Axes.plot`.

        Returns
        -------
        RobustnessCurveDisplay
            This one.
        """
        axis = axes_of(ax)
        look = {"drawstyle": "steps-post", "marker": ""} if self.steps else {}
        percent = {name: 100 * rate for name, rate in self.rates.items()}
        self.lines_ = lines(axis, self.budgets, percent, **(look | options))
        self.line_ = self.lines_[0]
        axis.set(xlabel=self.unit, ylabel=ROBUST_ROWS, ylim=(0, 101))
        if len(self.rates) > 1 if legend is None else legend:
            axis.legend(frameon=False, fontsize="small")
        self.ax_, self.figure_ = axis, axis.figure
        return self


def _rates(least: FloatArray, budgets: FloatArray) -> FloatArray:
    curve = robustness_curve(np.where(np.isnan(least), 0.0, least))
    return curve.rate[np.searchsorted(curve.budgets, budgets, side="right") - 1]
