"""Margins: how far the score of a row may move until its prediction changes.

`decisions`  Threshold, Radius and Sign: from scores to margins, and back to words
`margin`     Margin: what must not be crossed; a row has one or more
`verdicts`   what follows from bounds and margins
"""

from unswayed.margins.decisions import Decision, MeanRadius, Radius, Sign, Threshold
from unswayed.margins.margin import Margin

__all__ = ["Decision", "Margin", "MeanRadius", "Radius", "Sign", "Threshold"]
