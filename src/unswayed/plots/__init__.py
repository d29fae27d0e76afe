"""Plots in matplotlib, with scikit-learn's manners: a Display holds what it draws.

`curve`   robust rows: RobustnessCurveDisplay over budgets, GroupDisplay, TradeoffDisplay
`ranges`  RangeDisplay of predictions or coefficients, MetricRangeDisplay
`style`   colours, markers and axes that all of them have in common; imports matplotlib

Each is made by `from_estimator`, by `from_certificates` (or `from_ranges`) of what was certified
before, or from arrays; `plot(ax=...)` draws it, again if need be, and leaves `ax_`, `figure_` and
what was drawn as attributes. matplotlib comes with the extra `plots` and is imported by `plot`.
"""

from unswayed.plots.curve import GroupDisplay, RobustnessCurveDisplay, TradeoffDisplay
from unswayed.plots.ranges import MetricRangeDisplay, RangeDisplay

__all__ = [
    "GroupDisplay",
    "MetricRangeDisplay",
    "RangeDisplay",
    "RobustnessCurveDisplay",
    "TradeoffDisplay",
]
