"""Plots in matplotlib, with scikit-learn's manners: a Display holds what it draws.

`curve`     RobustnessCurveDisplay: robust rows over budgets, of all rows or by group
`ranges`    RangeDisplay: between which values predictions or coefficients lie
`tradeoff`  TradeoffDisplay: robust rows against accuracy given up, over alpha
`groups`    GroupDisplay: robust rows by group, with intervals
`metric`    MetricRangeDisplay: between which values metrics lie, proven and reached
`style`     colours, markers and axes that all of them have in common; imports matplotlib

Each is made by `from_estimator`, by `from_certificates` (or `from_ranges`) of what was certified
before, or from arrays; `plot(ax=...)` draws it, again if need be, and leaves `ax_`, `figure_` and
what was drawn as attributes. matplotlib comes with the extra `plots` and is imported by `plot`.
"""

from unswayed.plots.curve import RobustnessCurveDisplay
from unswayed.plots.groups import GroupDisplay
from unswayed.plots.metric import MetricRangeDisplay
from unswayed.plots.ranges import RangeDisplay
from unswayed.plots.tradeoff import TradeoffDisplay

__all__ = [
    "GroupDisplay",
    "MetricRangeDisplay",
    "RangeDisplay",
    "RobustnessCurveDisplay",
    "TradeoffDisplay",
]
