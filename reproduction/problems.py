"""The paper's classification problems: data, folds, the constant column, alphas."""

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import Bunch

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.datasets import load_compas, load_income, load_mnist17
from unswayed.estimators import CertifiedClassifier
from unswayed.exceptions import VacuousWarning
from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import count_budget

CLASSIFICATION = ("MNIST 1/7", "Income", "COMPAS")

LOSSES = (0.0, 0.2, 0.5, 1.0, 1.5, 2.0)
"""Accuracy given up, in points."""

ALPHAS = {
    "MNIST 1/7": (0.042, 1.2, 84.0, 1200.0, 8000.0, 14000.0),
    "Income": (20.0, 240.0, 700.0, 3400.0, 5400.0, 6000.0),
    "COMPAS": (480.0, 520.0, 900.0, 1200.0, 1400.0, 2000.0),
}
"""Ridge penalties, one per loss, as the authors' code has them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set of the paper with its splits."""

    rows: FloatArray
    labels: IntArray
    splits: list[tuple[IntArray, IntArray]]  # train, test
    race: NDArray[np.str_] | None = None

    def subset(self, chosen: IntArray) -> "Problem":
        """Return the problem on some rows only, split anew."""
        race = None if self.race is None else self.race[chosen]
        return Problem(self.rows[chosen], self.labels[chosen], paper_splits(len(chosen)), race)


@dataclass(frozen=True)
class Data:
    """The folder of the data sets; every problem is loaded once."""

    home: str | os.PathLike[str] | None = None

    def problem(self, name: str) -> Problem:
        """Load "MNIST 1/7", "COMPAS", "Income" or another state's, such as "Income GA"."""
        return _problem(name, None if self.home is None else str(self.home))


@lru_cache(maxsize=8)
def _problem(name: str, home: str | None) -> Problem:
    if name == "MNIST 1/7":
        mnist = load_mnist17(data_home=home)
        split = (np.flatnonzero(~mnist.test), np.flatnonzero(mnist.test))
        # The only one without a constant column: the authors' code adds none to the embedding.
        return Problem(mnist.data.to_numpy(np.float64), mnist.target, [split])
    if name == "COMPAS":
        return _folded(load_compas(data_home=home))
    return _folded(load_income(name.removeprefix("Income").strip() or "WI", data_home=home))


def _folded(bunch: Bunch) -> Problem:
    rows = with_constant(bunch.data)
    return Problem(rows, bunch.target, paper_splits(len(rows)), bunch.race)


def with_constant(frame: Any) -> FloatArray:
    """Append a constant column, which the paper regularises like any other."""
    rows = np.asarray(frame, dtype=np.float64)
    return np.hstack((rows, np.ones((len(rows), 1))))


def paper_splits(n_rows: int, folds: int = 10, seed: int = 42) -> list[tuple[IntArray, IntArray]]:
    """Return training and test rows of each fold.

    Of the rows outside a fold, about as many as a fold has are left out: the paper used them for
    validation.
    """
    splits = []
    for rest, test in KFold(folds, shuffle=True, random_state=seed).split(np.zeros(n_rows)):
        train, _ = train_test_split(rest, test_size=1 / (folds - 1), random_state=seed)
        splits.append((train, test))
    return splits


def ridge(alpha: float) -> Ridge:
    """Make the paper's model: ridge regression whose constant is a column, not an intercept."""
    return Ridge(alpha=alpha, fit_intercept=False)


def fitted(
    problem: Problem, train: IntArray, alpha: float, where: BoolArray | None = None
) -> CertifiedClassifier:
    """Fit the model on some rows, of which the labels in `where`, or all, may be flipped."""
    bias = LabelBias.flips(budget=1, where=None if where is None else where[train])
    return CertifiedClassifier(ridge(alpha), bias=bias).fit(
        problem.rows[train], problem.labels[train]
    )


def percentages(minimum_budget: FloatArray, n_train: int, percents: Iterable[float]) -> list[float]:
    """Return robustness rates, in per cent, at budgets in per cent of the training rows."""
    with warnings.catch_warnings():  # a grid's least share may be no label of a small part
        warnings.simplefilter("ignore", VacuousWarning)
        return counted(minimum_budget, [count_budget(p / 100, n_train) for p in percents])


def counted(minimum_budget: FloatArray, budgets: Iterable[int]) -> list[float]:
    """Return robustness rates, in per cent, at budgets in labels."""
    return [100 * float(np.mean(minimum_budget > budget)) for budget in budgets]


@lru_cache(maxsize=256)
def _minimum_budget(problem: Problem, alpha: float, fold: int) -> FloatArray:
    """Return minimum budgets of a fold's test rows; cached, as several tables use the same ones."""
    train, test = problem.splits[fold]
    return fitted(problem, train, alpha).minimum_budget(problem.rows[test])


def mean_rates(
    problem: Problem,
    alpha: float,
    percents: Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    where: BoolArray | None = None,
) -> dict[str, list[float]]:
    """Return rates in per cent, as means over the folds: by group, or under "all"."""
    found: dict[str, list[list[float]]] = {}
    for fold, (train, test) in enumerate(problem.splits):
        if where is None:
            minimum = _minimum_budget(problem, alpha, fold)
        else:
            minimum = fitted(problem, train, alpha, where).minimum_budget(problem.rows[test])
        for group, members in _members(problem, test, groups).items():
            rates = percentages(minimum[members], len(train), percents)
            found.setdefault(group, []).append(rates)
    return {group: np.mean(rates, axis=0).tolist() for group, rates in found.items()}


def _members(
    problem: Problem, test: IntArray, groups: Sequence[str] | None
) -> dict[str, BoolArray]:
    if groups is None:
        return {"all": np.ones(len(test), dtype=bool)}
    assert problem.race is not None  # noqa: S101
    return {group: problem.race[test] == group for group in groups}


def mean_accuracy(problem: Problem, alpha: float) -> float:
    """Return the accuracy in per cent, as a mean over the folds."""
    accuracies = []
    for train, test in problem.splits:
        model = ridge(alpha).fit(problem.rows[train], problem.labels[train])
        positive = model.predict(problem.rows[test]) > 0.5
        accuracies.append(np.mean(positive == (problem.labels[test] == 1)))
    return 100 * float(np.mean(accuracies))


def subsample(n_rows: int, share: float, seed: int) -> IntArray:
    """Draw a random part of the rows, in ascending order."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, int(share * n_rows), replace=False))
