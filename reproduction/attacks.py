"""Attacks found for ridge, carried over to logistic regression (appendix D.6)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from reproduction.experiment import Claim, Comparison, Experiment, Record, Result, Results, Table
from reproduction.problems import ALPHAS, Data, fitted, ridge
from unswayed._typing import FloatArray, IntArray
from unswayed.labels.budgets import count_budget

_SAMPLES = 100
_PERCENTS = (1, 2, 3, 4, 5)
PAPER = {"Income": (4, 3, 5, 5, 5, 5), "MNIST 1/7": (18, 36, 71, 84, 94, 98)}


def strongest_first(
    rows: FloatArray, labels: IntArray, weights: FloatArray, positive: bool
) -> IntArray:
    """Order training rows by how far flipping their label moves a prediction to the other class."""
    influence = rows @ weights
    step = np.where(labels == 1, -influence, influence)  # of the score, by a flip
    return np.argsort(step if positive else -step, kind="stable")


@dataclass(frozen=True, eq=False)
class _Logistic:
    """Logistic regression for changing labels: equal rows are fitted once, with a weight."""

    distinct: FloatArray
    place: IntArray  # of each row among the distinct ones

    @classmethod
    def on(cls, rows: FloatArray) -> "_Logistic":
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        return cls(distinct, place.ravel())

    def fit(self, labels: IntArray) -> LogisticRegression:
        size = len(self.distinct)
        weights = [np.bincount(self.place, labels == label, size) for label in (0, 1)]
        present = [np.flatnonzero(weight) for weight in weights]
        # Out of the box but for the solver: Newton's is exact and the fastest with few columns.
        return LogisticRegression(solver="newton-cholesky").fit(
            self.distinct[np.concatenate(present)],
            np.repeat([0, 1], [len(rows) for rows in present]),
            np.concatenate([weight[rows] for weight, rows in zip(weights, present, strict=True)]),
        )


def _piece(name: str, data: Data) -> Result:
    with threadpool_limits(1):  # hundreds of small fits: threads would only wait
        return _carried_over(name, data)


def _carried_over(name: str, data: Data) -> Result:
    """Return the share of test rows whose class each attack changes, in per cent.

    "hits" is for logistic regression, "own" for the ridge regression that was attacked.
    """
    problem = data.problem(name)
    train, test = problem.splits[0]
    alpha = ALPHAS[name][0]
    rows, labels = problem.rows[train], problem.labels[train]
    targets = problem.rows[test][:_SAMPLES]
    minimum = fitted(problem, train, alpha).minimum_budget(targets)
    score = ridge(alpha).fit(rows, labels).predict(targets)
    gram = rows.T @ rows + alpha * np.eye(rows.shape[1])
    weights = np.linalg.solve(gram, targets.T).T
    logistic = _Logistic.on(rows)
    before = logistic.fit(labels).predict(targets)
    shares = [count_budget(percent / 100, len(train)) for percent in _PERCENTS]
    hits, own = np.zeros(1 + len(_PERCENTS)), np.zeros(1 + len(_PERCENTS))
    for at in range(_SAMPLES):
        order = strongest_first(rows, labels, weights[at], bool(score[at] > 0.5))
        for attack, count in enumerate([int(minimum[at]), *shares]):
            changed = labels.copy()
            changed[order[:count]] = 1 - changed[order[:count]]
            after = logistic.fit(changed).predict(targets[at : at + 1])
            hits[attack] += after[0] != before[at]
            moved = score[at] + weights[at] @ (rows.T @ (changed - labels))
            own[attack] += (moved > 0.5) != (score[at] > 0.5)
    return {"hits": (100 * hits / _SAMPLES).tolist(), "own": (100 * own / _SAMPLES).tolist()}


def _report(results: Results) -> Record:
    hits = {name: results[name]["hits"] for name in PAPER}
    mnist, income = hits["MNIST 1/7"], hits["Income"]
    return Record(
        name="attacks",
        title="Attacks carried over to logistic regression",
        comparisons=[
            Comparison(
                title=f"Test rows of {_SAMPLES} whose class the attack changes, in %",
                rows=list(PAPER),
                columns=["minimal", *(f"{percent} %" for percent in _PERCENTS)],
                paper=[[float(value) for value in PAPER[name]] for name in PAPER],
                ours=[hits[name] for name in PAPER],
                decimals=0,
            )
        ],
        claims=[
            Claim(
                "MNIST 1/7: with 4 % or more of the labels the attack carries over more than 90 % "
                "of the time (D.6)",
                min(mnist[4:]) > 90,
                f"{mnist[4]:.0f} % of the rows at 4 %, {mnist[5]:.0f} % at 5 %",
            ),
            Claim(
                "The attacks are not as effective on Income (D.6)",
                all(there < here for there, here in zip(income[1:], mnist[1:], strict=True)),
                "at 1 to 5 %: " + ", ".join(f"{value:.0f}" for value in income[1:]),
            ),
        ],
        tables=[
            Table(
                "The ridge model itself: test rows whose class the attack changes, in %",
                ["data set", "minimal", *(f"{percent} %" for percent in _PERCENTS)],
                [[name, *results[name]["own"]] for name in PAPER],
            )
        ],
        notes=[
            "The first 100 test rows (of fold 0 for Income); which rows the paper targeted is not "
            "known, so the cells are shown, not judged. A row counts when the logistic model "
            "trained on the attacked labels gives it another class than the one trained on the "
            "original labels. Ours carry over far more often than the paper's on Income, and the "
            "minimal attack does on both data sets; why the paper's are so rare we do not know. "
            "The attacks are the ones they should be: the table shows how often they overturn the "
            "ridge model they were made for, which the minimal one always must.",
        ],
    )


EXPERIMENT = Experiment(
    name="attacks",
    title="Attacks carried over",
    pieces={name: partial(_piece, name) for name in PAPER},
    report=_report,
)
