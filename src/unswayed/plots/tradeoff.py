"""Robust rows against accuracy given up, over the penalty."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.budgets import count_budget
from unswayed.plots.style import ROBUST_ROWS, axes_of, lines, need

ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
BUDGETS = (0.005, 0.01, 0.02)


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
        The values of the parameter, for whoever reads the display.
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
        self.rates = {
            str(name): as_doubles(rate, f"rates at {name}") for name, rate in rates.items()
        }
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
            Copies of it are fitted, itself is left alone.
        X, y : array-like
            Training rows and their labels.
        X_test, y_test : array-like
            Rows to certify, and their labels.
        param_name : str
            The parameter, as `set_params` of the estimator knows it: with a pipeline,
            "estimator__ridge__alpha", say.
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
