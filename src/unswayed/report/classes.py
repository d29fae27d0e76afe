"""Classes: how common each is among labels and predictions, and how robust each prediction is.

A model that says "no" to everyone is as robust as can be: what it says, and how often that is
right, belongs beside every rate.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.groups import SMALL_GROUP
from unswayed.report.findings import Findings


def class_facts(findings: Findings) -> dict[str, Any]:
    """Return class balance, confusion, and robustness per predicted class."""
    if not findings.classes:
        keys = "balance majority majority_quality confusion predicted_classes".split()
        return dict.fromkeys((*keys, *_SKILLS))
    predicted = codes(findings, findings.prediction)
    actual = None if findings.truth is None else codes(findings, findings.truth)
    larger = None if actual is None else _larger(findings, actual)
    return {
        "balance": _balance(findings, actual),
        "majority": None if larger is None else findings.classes[larger],
        "majority_quality": None if larger is None else float(np.mean(actual == larger)),
        "confusion": None
        if actual is None
        else [
            [int(np.sum((actual == label) & (predicted == said))) for said in _each(findings)]
            for label in _each(findings)
        ],
        "predicted_classes": [
            _predicted(findings, at, predicted == at, actual) for at in _each(findings)
        ],
        **(dict.fromkeys(_SKILLS) if actual is None else _skill(findings, predicted, actual)),
    }


_SKILLS = ("balanced_accuracy", "recall", "precision", "auc")


def _skill(findings: Findings, predicted: IntArray, actual: IntArray) -> dict[str, float | None]:
    """Return how well the classes are told apart, which accuracy hides where one is rare."""
    said, positive = predicted == len(findings.classes) - 1, actual == len(findings.classes) - 1
    recall, others = _share(said, positive), _share(~said, ~positive)
    known = recall is not None and others is not None
    return {
        "balanced_accuracy": (recall + others) / 2 if known else None,  # type: ignore[operator]
        "recall": recall,
        "precision": _share(positive, said),
        "auc": _auc(findings.score, positive) if known else None,
    }


def _share(found: BoolArray, among: BoolArray) -> float | None:
    """Return the share of some rows that have something; None where there are no such rows."""
    return float(found[among].mean()) if among.any() else None


def _auc(score: FloatArray, positive: BoolArray) -> float:
    """Return how often a positive row has a higher score than a negative one; ties count half."""
    _, at, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[at]
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    above = rank[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


def selected(findings: Findings) -> BoolArray | None:
    """Return which test rows are predicted to be of the positive class."""
    if not findings.classes:
        return None
    return np.asarray(codes(findings, findings.prediction) == len(findings.classes) - 1)


def codes(findings: Findings, names: Sequence[str]) -> IntArray:
    """Return the position of each class among the classes."""
    position = {name: at for at, name in enumerate(findings.classes)}
    return np.array([position[name] for name in names], dtype=np.intp)


def _each(findings: Findings) -> range:
    return range(len(findings.classes))


def _larger(findings: Findings, actual: IntArray) -> int:
    return int(np.argmax(np.bincount(actual, minlength=len(findings.classes))))


def _balance(findings: Findings, actual: IntArray | None) -> list[dict[str, Any]]:
    """Return how many training and test labels are of each class."""
    trained = list(findings.train_counts)
    tested = None if actual is None else np.bincount(actual, minlength=len(findings.classes))
    return [
        {
            "class": name,
            "train": trained[at] if trained else None,
            "train_share": trained[at] / sum(trained) if trained else None,
            **findings.within_budget(findings.class_sizes.get(name)),
            "test": None if tested is None else int(tested[at]),
            "test_share": None if tested is None else float(tested[at] / tested.sum()),
        }
        for at, name in enumerate(findings.classes)
    ]


def _predicted(
    findings: Findings, at: int, members: BoolArray, actual: IntArray | None
) -> dict[str, Any]:
    """Return how many test rows get a prediction, how often it is right, and how robust it is."""
    rows = int(members.sum())
    return {
        "class": findings.classes[at],
        "rows": rows,
        "share": rows / findings.n_test,
        "small": rows < SMALL_GROUP,
        **findings.within_budget(findings.class_sizes.get(findings.classes[at])),
        "right": None if actual is None or not rows else float(np.mean(actual[members] == at)),
        "intervals": [each.interval(members) if rows else None for each in findings.budgets],
        "robust": [int(each.robust[members].sum()) for each in findings.budgets],
        "undecided": [int(each.undecided[members].sum()) for each in findings.budgets],
        "rates": [
            float(each.robust[members].mean()) if rows else None for each in findings.budgets
        ],
        "highest_rates": [
            float(each.standing[members].mean()) if rows else None for each in findings.budgets
        ],
    }
