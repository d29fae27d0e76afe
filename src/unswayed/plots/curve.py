"""Shares of robust rows: over budgets, by group, and against accuracy given up."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.budgets import count_budget
from unswayed.plots.style import COLOURS, ROBUST_ROWS, axes_of, height, lines, listed, need
from unswayed.results.curves import robustness_curve
from unswayed.results.groups import GroupRates, group_names

ALL_ROWS = "all rows"
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
BUDGETS = (0.005, 0.01, 0.02)
_AXES = {
    "labels": "labels wrong",
    "clusters": "clusters wrong",
    "total change": "total change of labels, in the label's unit",
    "cost": "cost of the wrong labels",
}


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
        Whether a rate holds until the next budget, as it does where all budgets at which it changes
        are given. False for rates at selected budgets.
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

    From certified rows, or from a model and rows:

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
        unit: str = _AXES["labels"],
    ) -> None:
        self.budgets = as_doubles(budgets, "budgets")
        self.rates = _doubles(rates, "rates of {!r}")
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
            Rows with the same columns as the training rows.
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
        least = need(estimator, "minimum_budgets")(X).low  # certifying would double the work
        unit = estimator.fitted_.engine.bias.budget.unit
        return cls._of(least, groups, max_budget, unit).plot(ax, **options)

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
            Its minimum budgets are drawn, so that the size of the budget it was asked about does
            not matter. For clusters, totals and costs, the horizontal axis is in their unit.
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
        least, unit = certificates.minimum_budget, certificates.unit
        return cls._of(least, groups, max_budget, unit).plot(ax, **options)

    @classmethod
    def _of(
        cls,
        least: FloatArray,
        groups: ArrayLike | None,
        max_budget: float | None,
        unit: str = "labels",
    ) -> Self:
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
        return cls(budgets, rates, unit=_AXES[unit])

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


def _doubles(rates: Mapping[str, ArrayLike], what: str) -> dict[str, FloatArray]:
    return {str(name): as_doubles(rate, what.format(name)) for name, rate in rates.items()}


def _rates(least: FloatArray, budgets: FloatArray) -> FloatArray:
    curve = robustness_curve(np.where(np.isnan(least), 0.0, least))
    return curve.rate[np.searchsorted(curve.budgets, budgets, side="right") - 1]


class GroupDisplay:
    """The share of robust rows of each group, with its interval, and the gap between groups.

    It is recommended to use `from_estimator` or `from_certificates`.

    Parameters
    ----------
    rates : GroupRates
        As `CertificateSet.by_group` returns them.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    line_ : Line2D
        A dot per group.
    intervals_ : LineCollection
        The intervals of their rates.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from unswayed import GroupDisplay, GroupRates
    >>> rates = GroupRates(("Black", "White"), np.array([0.4, 0.5]), np.array([10, 20]))
    >>> display = GroupDisplay(rates).plot()
    >>> display.line_.get_xdata().tolist(), display.ax_.get_title()
    ([40.0, 50.0], 'gap 10.0 points (0.0 to 40.7: within chance)')

    From certified rows, or from a model and rows:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, [1, 1, 1, 0, 1, 0])
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> GroupDisplay.from_certificates(certs, ["a", "b"]).line_.get_xdata().tolist()
    [100.0, 0.0]
    """

    def __init__(self, rates: GroupRates) -> None:
        if not isinstance(rates, GroupRates):
            raise InputError(
                f"rates must be a GroupRates, got {type(rates).__name__}; pass "
                "certificates.by_group(groups), or use GroupDisplay.from_certificates"
            )
        self.rates = rates

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        groups: ArrayLike,
        *,
        budget: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Certify rows and compare groups of them.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Fitted.
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        groups : (n,) array-like
            The group of each row.
        budget : int, float or Budget, optional
            Instead of the bias's own.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        GroupDisplay
        """
        certificates = need(estimator, "certify")(X, budget=budget)
        return cls.from_certificates(certificates, groups, ax=ax, **options)

    @classmethod
    def from_certificates(
        cls, certificates: Any, groups: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Compare groups of rows that were certified.

        Parameters
        ----------
        certificates : CertificateSet
            What to draw.
        groups : (n,) array-like
            The group of each row.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        GroupDisplay
        """
        return cls(certificates.by_group(groups)).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        **options
            For matplotlib's `Axes.plot`, which draws the dots.

        Returns
        -------
        GroupDisplay
            This one.
        """
        rates = self.rates
        axis = axes_of(ax, size=(5.6, height(len(rates.groups))))
        places = listed(
            axis,
            [f"{name} ({n:,})" for name, n in zip(rates.groups, rates.count, strict=True)],
        )
        low, high = 100 * rates.intervals().T
        self.intervals_ = axis.hlines(places, low, high, color=COLOURS[0], alpha=0.4, linewidth=4)
        look = {"color": COLOURS[0], "marker": "o", "linestyle": ""}
        (self.line_,) = axis.plot(100 * rates.rate, places, **(look | options))
        gap = " ".join(str(rates).splitlines()[-1].split())  # and whether it is within chance
        axis.set(xlabel=ROBUST_ROWS, xlim=(0, 101), title=gap if len(places) > 1 else "")
        self.ax_, self.figure_ = axis, axis.figure
        return self


class TradeoffDisplay:
    """What more penalty buys: the share of robust rows, against the accuracy it costs.

    It is recommended to use `from_estimator`.

    Parameters
    ----------
    loss : (n,) array-like
        Accuracy given up at each value of the parameter, a share.
    rates : dict of str to (n,) array-like
        Shares of robust rows, by budget.
    values : (n,) array-like, optional
        The values of the parameter, for reference: they are not drawn.
    what : str
        What is given up.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D
        One per budget.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from unswayed import TradeoffDisplay
    >>> rates = {"1 %": [0.5, 0.6, 0.9]}
    >>> display = TradeoffDisplay([0.0, 0.005, 0.02], rates).plot()
    >>> display.lines_[0].get_xdata().tolist(), display.lines_[0].get_ydata().tolist()
    ([0.0, 0.5, 2.0], [50.0, 60.0, 90.0])
    """

    def __init__(
        self,
        loss: ArrayLike,
        rates: Mapping[str, ArrayLike],
        *,
        values: ArrayLike | None = None,
        what: str = "accuracy",
    ) -> None:
        self.loss = as_doubles(loss, "loss")
        self.rates = _doubles(rates, "rates at {}")
        self.values = None if values is None else np.asarray(values)
        self.what = what
        given = [*self.rates.values(), *([] if self.values is None else [self.values])]
        if not self.rates or any(each.shape != self.loss.shape for each in given):
            raise InputError(
                "loss, values and every entry of rates must hold one number per value of the "
                "parameter, and there must be one entry of rates at least"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any,
        y_test: Any,
        param_name: str = "estimator__alpha",
        param_range: Sequence[Any] = ALPHAS,
        budgets: Sequence[float] = BUDGETS,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Fit and certify once per value of a parameter.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Copies of it are fitted; it is not changed.
        X, y : array-like
            Training rows and their labels.
        X_test, y_test : array-like
            Rows to certify, and their labels.
        param_name : str
            The parameter, as `set_params` of the estimator knows it: with a pipeline,
            "estimator__ridge__alpha", say, or "estimator__n_partitions" for votes.
        param_range : sequence
            Its values.
        budgets : sequence of int or float
            Counts of labels, or shares of the training rows.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        TradeoffDisplay
            Its `loss` is measured from the best of these models.
        """
        need(estimator, "minimum_budget", "a CertifiedClassifier or CertifiedRegressor")
        from sklearn.base import clone, is_classifier  # noqa: PLC0415

        scores, rates = [], []
        for value in param_range:
            model = clone(estimator).set_params(**{param_name: value}).fit(X, y)
            least = model.minimum_budget(X_test)
            counts = [count_budget(budget, len(y)) for budget in budgets]
            scores.append(model.score(X_test, y_test))
            rates.append([float((least > count).mean()) for count in counts])
        if not scores:
            raise InputError("param_range is empty; pass penalties to compare, such as [1, 10]")
        display = cls(
            max(scores) - np.array(scores),
            dict(zip(map(_called, budgets), np.transpose(rates), strict=True)),
            values=np.array(param_range),
            what="accuracy" if is_classifier(estimator) else "R²",
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        legend : bool
            Which line is which budget.
        **options
            For matplotlib's `Axes.plot`.

        Returns
        -------
        TradeoffDisplay
            This one.
        """
        axis = axes_of(ax)
        percent = {name: 100 * rate for name, rate in self.rates.items()}
        self.lines_ = lines(axis, 100 * self.loss, percent, **options)
        axis.set(xlabel=f"{self.what} given up (points)", ylabel=ROBUST_ROWS, ylim=(0, 101))
        if legend:
            axis.legend(title="labels wrong", frameon=False, fontsize="small")
        self.ax_, self.figure_ = axis, axis.figure
        return self


def _called(budget: float) -> str:
    return f"{100 * budget:g} %" if isinstance(budget, float) else f"{budget:,} labels"
