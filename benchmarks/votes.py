"""Votes over partitions on COMPAS and Income: what they cost in accuracy, and what they certify.

`python -m benchmarks.votes` prints the table of docs/guide/votes-measured.md. It needs the data
(UNSWAYED_DATA, or `shared/data` beside the project) and takes minutes.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold

from benchmarks.problems import data_folder
from unswayed import CertifiedClassifier, LabelBias, PartitionedClassifier
from unswayed.datasets import load_compas, load_income

SHARES = (0.0025, 0.005, 0.01)
PARTITIONS = {"COMPAS": (11, 51, 151), "Income": (51, 151, 651)}
LEARNERS = {
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    "RidgeClassifier": RidgeClassifier(alpha=1.0),
}


def _fold(name: str) -> tuple[Any, ...]:
    """Return training and test rows of the first of ten folds."""
    loaded = (load_compas if name == "COMPAS" else load_income)(data_home=data_folder())
    X, y = np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)
    train, test = next(KFold(10, shuffle=True, random_state=42).split(X))
    return X[train], y[train], X[test], y[test]


def _certified(model: Any, fold: tuple[Any, ...]) -> list[str]:
    """Return the accuracy of a model, and its robust and undecided shares."""
    X, y, X_test, y_test = fold
    certified = CertifiedClassifier(model, bias=LabelBias.flips(budget=SHARES[-1])).fit(X, y)
    least = certified.minimum_budgets(X_test)
    cells = [f"{100 * certified.score(X_test, y_test):.1f}"]
    for share in SHARES:
        labels = int(share * len(y))
        robust, broken = (least.low > labels).mean(), (least.high <= labels).mean()
        cells.append(f"{100 * robust:.1f} ({abs(100 * (1 - robust - broken)):.1f})")
    return cells


def rows() -> Iterator[list[str]]:
    """Yield the lines of the table."""
    for name, counts in PARTITIONS.items():
        fold = _fold(name)
        for learner, estimator in LEARNERS.items():
            alone = estimator.fit(*fold[:2]).score(*fold[2:])
            cells = [f"{100 * alone:.1f}", *["–"] * len(SHARES)]
            if learner == "RidgeClassifier":
                cells = _certified(estimator, fold)
            yield [name, learner, "none", "", *cells]
            for count, equal in product(counts, ("together", "apart")):
                votes = PartitionedClassifier(estimator, count, equal_rows=equal)
                yield [name, learner, str(count), equal, *_certified(votes, fold)]


if __name__ == "__main__":
    shown = " | ".join(f"robust at {100 * share:g} %" for share in SHARES)
    print(f"| data | learner | partitions | equal rows | accuracy | {shown} |")
    print("|---|---|---:|---|---:|" + "---:|" * len(SHARES))
    for row in rows():
        print(f"| {' | '.join(row)} |", flush=True)
