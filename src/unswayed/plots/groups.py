"""Robust rows by group."""

from typing import Any, Self

from numpy.typing import ArrayLike

from unswayed.exceptions import InputError
from unswayed.plots.style import COLOURS, ROBUST_ROWS, axes_of, height, listed, need
from unswayed.results.groups import GroupRates


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

    Of certified rows, or of a model and rows:

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
            Rows, of the same columns as the training rows.
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
        certify = need(estimator, "certify", "a fitted CertifiedClassifier or CertifiedRegressor")
        certificates = certify(X, budget=budget)
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
        axis.set(xlabel=ROBUST_ROWS, xlim=(0, 101), title=_gap(rates) if len(places) > 1 else "")
        self.ax_, self.figure_ = axis, axis.figure
        return self


def _gap(rates: GroupRates) -> str:
    """Return the last line of what rates print: the gap, and whether it is within chance."""
    words = str(rates).splitlines()[-1].split()
    return " ".join(words)
