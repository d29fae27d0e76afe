"""Between which values metrics lie."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unswayed.exceptions import InputError
from unswayed.plots.style import COLOURS, axes_of, height, listed, need
from unswayed.results.collective import MetricRange


class MetricRangeDisplay:
    """Ranges of metrics over all admissible sets of wrong labels.

    A thin bar is what is proven: no set of labels leads outside of it. The thick bar within is what
    witnesses reach. They are the same where the range is proven to be tight.

    It is recommended to use `from_estimator` or `from_ranges`.

    Parameters
    ----------
    ranges : dict of str to MetricRange
        What to draw, by name.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    line_ : Line2D
        The metrics of the model as trained.
    outer_, inner_ : LineCollection
        What is proven and what is reached.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias, MetricRangeDisplay
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, [1, 1, 0, 1, 1, 0])
    >>> display = MetricRangeDisplay.from_estimator(model, [[1, 0], [0, 1]], "selection_rate")
    >>> display.outer_.get_segments()[0][:, 0].tolist()
    [0.5, 1.0]
    >>> found = model.certify_metric([[1, 0], [0, 1]], "selection_rate")
    >>> len(MetricRangeDisplay.from_ranges({"hired": found}).ranges)
    1
    """

    def __init__(self, ranges: Mapping[str, MetricRange]) -> None:
        self.ranges = dict(ranges)
        if not self.ranges or not all(isinstance(r, MetricRange) for r in self.ranges.values()):
            raise InputError(
                "ranges must be a MetricRange by name, one at least; pass "
                "{'selection rate': model.certify_metric(X, 'selection_rate')}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        metric: Any,
        *,
        groups: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        budget: Any = None,
        time_limit: float = 60.0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Certify a metric and draw its range, and those of the groups where there are groups.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Fitted.
        X : array, sparse matrix or frame
            Rows, of the same columns as the training rows.
        metric : str, RowSum, quotient of two, or callable
            As for `certify_metric`.
        groups : (n,) array-like, optional
            The group of each row.
        y_true : (n,) array-like, optional
            The labels of the rows, where the metric needs them.
        budget : int, float or Budget, optional
            Instead of the bias's own.
        time_limit : float
            In seconds.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        MetricRangeDisplay
        """
        certify = need(
            estimator, "certify_metric", "a fitted CertifiedClassifier or CertifiedRegressor"
        )
        found = certify(
            X, metric, groups=groups, y_true=y_true, budget=budget, time_limit=time_limit
        )
        return cls.from_ranges(found, ax=ax, **options)

    @classmethod
    def from_ranges(
        cls, ranges: MetricRange | Mapping[str, MetricRange], *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw ranges that were certified.

        Parameters
        ----------
        ranges : MetricRange, or dict of str to MetricRange
            One is drawn with those of its groups below it, several by name.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        MetricRangeDisplay
        """
        if isinstance(ranges, MetricRange):
            parts = {str(group): ranges.by_group[group] for group in ranges.by_group}
            ranges = {ranges.metric: ranges, **parts}
        return cls(ranges).plot(ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        legend : bool
            Which bar is proven and which is reached.
        **options
            For matplotlib's `Axes.plot`, which draws the markers.

        Returns
        -------
        MetricRangeDisplay
            This one.
        """
        axis = axes_of(ax, size=(5.6, height(len(self.ranges)) + 0.4 * legend))
        places = listed(axis, list(self.ranges))
        names = ("value", "low", "high", "inner_low", "inner_high")
        value, low, high, inner_low, inner_high = np.array(
            [[getattr(each, name) for each in self.ranges.values()] for name in names]
        )
        self.outer_ = axis.hlines(places, low, high, color="0.55", linewidth=1.6)
        self.inner_ = axis.hlines(
            places, inner_low, inner_high, color=COLOURS[0], alpha=0.45, linewidth=7
        )
        self.outer_.set_label("proven")
        self.inner_.set_label("reached")
        look = {"color": COLOURS[0], "marker": "o", "linestyle": "", "label": "as trained"}
        (self.line_,) = axis.plot(value, places, **(look | options))
        axis.set_xlabel("metric")
        if legend:
            axis.legend(
                frameon=False, fontsize="small", ncols=3, loc="lower left", bbox_to_anchor=(0, 1)
            )
        self.ax_, self.figure_ = axis, axis.figure
        return self
