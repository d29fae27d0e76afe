"""Several classes: one column of numbers per class, and the same influence on all of them."""

from collections.abc import Iterator

import numpy as np

from unswayed._core.rounding import subtraction_error, wider
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.labels.bias import Functional
from unswayed.models.learner import Learner, LinearInLabels, Parametric, Scores, Solution


class Leads(Functional):
    """The lead of a row's class over its rivals, which is linear in labels that are classes."""


class ClassScores(Learner):
    """A learner that is trained once per class: on one number for it, another for the others."""

    functional = Leads

    def __init__(self, inner: LinearInLabels, codes: tuple[float, float], n_classes: int) -> None:
        self.inner, self.codes, self.n_classes = inner, codes, n_classes
        self.n_rows, self.specification = inner.n_rows, inner.specification
        self.takes_features = inner.takes_features

    @property
    def step(self) -> float:
        """How much more a label counts in the column of its own class."""
        return self.codes[1] - self.codes[0]

    def with_coefficients(self, name: str = "this model") -> Parametric:
        """Raise: every class has coefficients of its own."""
        raise InputError(
            f"{name} has coefficients for each of {self.n_classes} classes, and these are not "
            "certified; certify predictions, or two classes at a time"
        )

    def represent(self, rows: Matrix) -> Matrix:
        """Return rows as the inner learner represents them."""
        return self.inner.represent(rows)

    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels that are numbers of classes, once per class."""
        found = [
            self.inner.solve(np.where(labels == each, self.codes[1], self.codes[0]))
            for each in range(self.n_classes)
        ]
        return Solution(
            np.stack([each.values for each in found]),
            max(each.residual for each in found),
            max(each.rounding for each in found),
        )

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the lead of each row's class over the strongest rival."""
        return leads([self.inner.scores(represented, each) for each in by_class(solution)])[0]


def by_class(solution: Solution) -> Iterator[Solution]:
    """Yield the model of every class."""
    for each in solution.values:
        yield Solution(each, solution.residual, solution.rounding)


def leads(scores: list[Scores]) -> tuple[Scores, IntArray]:
    """Return the leads of rows, and whose they are, given their scores class by class."""
    value = np.stack([each.value for each in scores], axis=1)
    error = np.stack([each.error for each in scores], axis=1).max(axis=1)
    winner, rows = np.argmax(value, axis=1), np.arange(len(value))
    others = value.copy()
    others[rows, winner] = -np.inf
    first, second = value[rows, winner], others.max(axis=1)
    off = wider(2.0 * error, subtraction_error(first, second))
    return Scores(first - second, off), winner
