"""Three numbers beside every rate: rows one at a time, together, and labels wrong at random."""

from typing import Any

import numpy as np

from unswayed.report.findings import Findings
from unswayed.summaries import Alone, Summary

_STOPS = 10  # numbers of labels between which a slider moves, beside those that were asked about


def of(findings: Findings, end: int | None) -> dict[int, Summary]:
    """Return the three numbers by number of labels: as asked, and up to the end of a slider."""
    if findings.three is None or not findings.decided:
        return {}
    alone = {
        each.labels: Alone(each.labels, int(each.robust.sum()), int(each.undecided.sum()))
        for each in findings.budgets
    }
    if end is not None:
        least = findings.proven_budget
        enough = np.nan_to_num(findings.enough, nan=np.inf, posinf=np.inf)
        for labels in np.unique(np.linspace(0, end, _STOPS + 1).round().astype(int)).tolist():
            kept = least > labels
            still = int((~kept & (enough > labels)).sum())
            alone.setdefault(labels, Alone(labels, int(kept.sum()), still, main=False))
    found = findings.three([alone[labels] for labels in sorted(alone)])
    return {each.labels: each for each in found}


def dial(summaries: dict[int, Summary], main: int) -> dict[str, Any]:
    """Return columns over the number of labels, for a slider, and the sentences where it starts."""
    found = list(summaries.values())
    return {
        "sentences": summaries[main].lines(),
        "labels": [each.labels for each in found],
        "at_most": [each.at_most for each in found],
        "at_least": [each.at_least for each in found],
        "mean": [None if each.random is None else each.random.mean for each in found],
        "largest": [None if each.random is None else each.random.largest for each in found],
        "draws": [None if each.random is None else each.random.draws for each in found],
    }
