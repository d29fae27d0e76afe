"""Influence that is given: nothing is solved, and nothing rounds but products and sums."""

from collections.abc import Callable

import numpy as np

from unswayed._core.influence import Weights
from unswayed._core.rounding import TINY, exact_dots, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.learners.accuracy import Accuracy, Scores, Solution
from unswayed.learners.definition import Definition


class GivenInfluence:
    """Influence that is given, as the engine sees it."""

    design = None
    row_scale = None

    def __init__(self, n_rows: int, inputs: Callable[[Matrix], FloatArray]) -> None:
        self.n_rows = n_rows
        self.definition = Definition("smoother")
        # The influence is given, nothing is solved.
        self.accuracy = Accuracy(np.ones(self.n_rows), np.zeros(self.n_rows), 0.0, 1.0)
        self.inputs = inputs  # from feature rows to influence rows

    def weights(self, inputs: FloatArray) -> Weights:
        """Influence rows: given, so that they are what they are."""
        return Weights(inputs, np.zeros(len(inputs)), np.abs(inputs).max(axis=1, initial=0.0))

    def solve(self, labels: FloatArray) -> Solution:
        """The labels themselves."""
        return Solution(labels, 0.0, 0.0)

    def scores(self, inputs: FloatArray, solution: Solution) -> Scores:
        """Scores of influence rows, given the labels; rounded where a sum is not exact."""
        size = np.abs(inputs) @ np.abs(solution.values)
        rounding = gamma(self.n_rows + 2) * size + self.n_rows * TINY
        exact = exact_dots(inputs, solution.values)
        return Scores(inputs @ solution.values, np.where(exact, 0.0, rounding))
