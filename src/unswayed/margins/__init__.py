"""Margins: how far the score of a row may move until its prediction changes.

`decisions`  Threshold, Radius and Sign: from scores to margins, and back to words
`verdicts`   what follows from bounds and margins
"""

from unswayed.margins.decisions import Decision, MeanRadius, Radius, Sign, Threshold

__all__ = ["Decision", "MeanRadius", "Radius", "Sign", "Threshold"]
