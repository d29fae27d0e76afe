"""Margins: how far the score of a row may move until its prediction changes.

`decisions`  Threshold, Radius and Sign: from scores to margins, verdicts and words; Margin
"""

from unswayed.margins.decisions import Decision, Margin, MeanRadius, Radius, Sign, Threshold

__all__ = ["Decision", "Margin", "MeanRadius", "Radius", "Sign", "Threshold"]
