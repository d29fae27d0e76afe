"""Between which values predictions, coefficients and metrics lie."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.plots.style import COLOURS, axes_of, height, listed, need
from unswayed.results.certificates import Verdict
from unswayed.results.collective import MetricRange

_LOOKS = {
    Verdict.ROBUST: (COLOURS[0], "o"),
    Verdict.NOT_ROBUST: (COLOURS[1], "s"),
    Verdict.UNDECIDED: ("0.5", "^"),
}
_NAMED = 40  # ranges with names beside them; more are drawn side by side, in order


class RangeDisplay:
    """Ranges of scores, predictions or coefficients over all labels that the bias allows.

    Few are drawn one below the other, by name; over forty as a band, in order of their values.
    Colour and marker tell verdicts apart. A range without an end is drawn to the edge.

    It is recommended to use `from_estimator`, `from_coefficients` or `from_certificates`.

    Parameters
    ----------
    values, low, high : (n,) array-like
        What the model says, and the ends of its range.
    verdicts : sequence of Verdict
        One each; they decide the colours.
    names : sequence of str, optional
        By default their numbers.
    reference : float, optional
        A line to draw: the threshold of a decision, 0 for coefficients.
    what : str
        What the ranges are about: the label of their axis.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : dict of Verdict to Line2D
        The markers at the values, of each verdict that there is.
    ranges_ : dict of Verdict to LineCollection
        The ranges.
    reference_ : Line2D or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from unswayed import RangeDisplay, Verdict
    >>> verdicts = [Verdict.ROBUST, Verdict.NOT_ROBUST]
    >>> display = RangeDisplay([2, 1], [1, -1], [3, 3], verdicts, reference=0).plot()
    >>> display.ranges_[Verdict.ROBUST].get_segments()[0].tolist()
    [[1.0, 0.0], [3.0, 0.0]]

    From a model and rows, from its coefficients, or from certified rows:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, [1, 1, 1, 0, 1, 0])
    >>> RangeDisplay.from_coefficients(model).high.round(3).tolist()
    [1.0, 0.667]
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> RangeDisplay.from_certificates(certs).high.round(3).tolist()
    [1.0, 0.667]
    """

    def __init__(
        self,
        values: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        verdicts: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        reference: float | None = None,
        what: str = "score",
    ) -> None:
        self.values = as_doubles(values, "values")
        self.low, self.high = as_doubles(low, "low"), as_doubles(high, "high")
        self.verdicts = [Verdict(verdict) for verdict in verdicts]
        self.names = [str(n) for n in (range(len(self.values)) if names is None else names)]
        self.reference = reference
        self.what = what
        sizes = {len(each) for each in (self.low, self.high, self.verdicts, self.names)}
        if sizes != {len(self.values)} or not len(self.values):
            raise InputError(
                "values, low, high, verdicts and names must hold one entry per range, and there "
                "must be one at least"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        budget: Any = None,
        rows: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Certify rows and draw the ranges of their scores.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Fitted. The threshold of a classifier is drawn too.
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        budget : int, float or Budget, optional
            Instead of the bias's own.
        rows : array-like of int, optional
            Which of the rows to draw; by default all.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        RangeDisplay
        """
        certificates = need(estimator, "certify")(X, budget=budget)
        threshold = getattr(estimator, "threshold_", None)
        return cls.from_certificates(
            certificates,
            rows=rows,
            reference=threshold,
            what="prediction" if threshold is None else "score",
            ax=ax,
            **options,
        )

    @classmethod
    def from_coefficients(
        cls,
        estimator: Any,
        *,
        contrasts: Any = None,
        budget: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Certify coefficients, or contrasts of them, and draw their ranges.

        Parameters
        ----------
        estimator : CertifiedClassifier or CertifiedRegressor
            Fitted.
        contrasts : mapping or array, optional
            As for `certify_coefficients`.
        budget : int, float or Budget, optional
            Instead of the bias's own.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        RangeDisplay
        """
        certify = need(estimator, "certify_coefficients")
        return cls.from_certificates(certify(contrasts=contrasts, budget=budget), ax=ax, **options)

    @classmethod
    def from_certificates(
        cls,
        certificates: Any,
        *,
        rows: ArrayLike | None = None,
        reference: float | None = None,
        what: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the ranges of rows or coefficients that were certified.

        Parameters
        ----------
        certificates : CertificateSet
            What to draw.
        rows : array-like of int, optional
            Which of them to draw; by default all.
        reference : float, optional
            A line to draw; by default 0 for coefficients, and none for rows.
        what : str, optional
            What the ranges are of.
        ax : Axes, optional
            Where to draw; by default on axes of a new figure.
        **options
            For `plot`.

        Returns
        -------
        RangeDisplay
        """
        names, n_rows = certificates.names, len(certificates)
        chosen = _chosen(rows, n_rows)
        coefficients = names is not None
        display = cls(
            certificates.score[chosen],
            certificates.low[chosen],
            certificates.high[chosen],
            certificates.verdict[chosen],
            names=[names[at] if coefficients else f"row {at}" for at in chosen],
            reference=0.0 if coefficients and reference is None else reference,
            what=what or ("coefficient" if coefficients else "score"),
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True, **options: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            By default those of a new figure.
        legend : bool
            Which colour is which verdict.
        **options
            For matplotlib's `Axes.plot`, which draws the markers.

        Returns
        -------
        RangeDisplay
            This one.
        """
        few = len(self.values) <= _NAMED
        axis = axes_of(ax, size=(5.6, height(len(self.values))) if few else (5.6, 3.6))
        places = np.arange(len(self.values), dtype=np.float64)
        if few:
            listed(axis, self.names)
        else:
            order = np.lexsort((self.high, self.low, self.values))
            places[order] = np.arange(len(order))
        low, high = self._ends()
        self.lines_: dict[Verdict, Any] = {}
        self.ranges_: dict[Verdict, Any] = {}
        for verdict, (colour, marker) in _LOOKS.items():
            mine = np.array([each == verdict for each in self.verdicts])
            if not mine.any():
                continue
            bar = axis.hlines if few else axis.vlines
            width = 3.0 if few else 1.2
            self.ranges_[verdict] = bar(
                places[mine], low[mine], high[mine], color=colour, alpha=0.45, linewidth=width
            )
            look = {"color": colour, "marker": marker, "linestyle": "", "label": str(verdict)}
            at = (self.values[mine], places[mine]) if few else (places[mine], self.values[mine])
            (self.lines_[verdict],) = axis.plot(
                *at, **(look | {"markersize": 5 if few else 2} | options)
            )
        self.reference_ = self._line(axis, few=few)
        axis.set(**({"xlabel": self.what} if few else {"ylabel": self.what, "xlabel": "rows"}))
        if legend:
            axis.legend(frameon=False, fontsize="small")
        self.ax_, self.figure_ = axis, axis.figure
        return self

    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the ranges, those that are infinite at the edge of what is drawn."""
        everything = np.concatenate((self.low, self.high, self.values))
        finite = everything[np.isfinite(everything)]
        if not len(finite):
            raise InputError("no range has a finite value; there is nothing to draw")
        room = 0.1 * np.ptp(finite) or 1.0
        low = np.where(np.isfinite(self.low), self.low, finite.min() - room)
        high = np.where(np.isfinite(self.high), self.high, finite.max() + room)
        return low, high

    def _line(self, axis: Any, *, few: bool) -> Any:
        if self.reference is None:
            return None
        draw = axis.axvline if few else axis.axhline
        return draw(self.reference, color="0.3", linewidth=0.9, linestyle="--")


def _chosen(rows: ArrayLike | None, n_rows: int) -> IntArray:
    if rows is None:
        return np.arange(n_rows)
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < n_rows)).all():
        raise InputError(f"rows must be numbers of certified rows, 0 to {n_rows - 1}, got {rows!r}")
    return chosen


class MetricRangeDisplay:
    """Ranges of metrics over all admissible sets of wrong labels.

    A thin bar is what is proven: no set of wrong labels that the bias allows takes the metric out
    of it. The thick bar inside is what witnesses reach. They are the same where the range is proven
    to be tight.

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
            Rows with the same columns as the training rows.
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
        certify = need(estimator, "certify_metric")
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
