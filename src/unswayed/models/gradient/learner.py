"""GradientLearner: a model whose labels are in the gradient, as certifiers see it."""

import math

import numpy as np

from unswayed._core.influence import Weights
from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import dense
from unswayed.exceptions import NotLinearError
from unswayed.models.gradient.problem import Centre, GradientProblem
from unswayed.models.gradient.solver import solve
from unswayed.models.gradient.specification import GradientSpecification
from unswayed.models.learner import ErrorScale, LinearLearner, Scores, Solution
from unswayed.models.ridge.scaling import row_norms


class GradientLearner(LinearLearner):
    """A fitted logistic or Poisson regression: scores are linear in features, not in labels."""

    def __init__(
        self, problem: GradientProblem, start: FloatArray, specification: GradientSpecification
    ) -> None:
        self.problem, self.specification = problem, specification
        self.n_rows, self.n_features = problem.n_rows, problem.n_features
        self.parameter_scale = problem.scale
        self.error_scale = ErrorScale.unknown(self.n_rows)
        found = problem.scaled_parameters(start[: problem.n_parameters])
        self._start = np.where(np.isfinite(found), found, 0.0)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.problem.n_parameters

    def centre(self, labels: FloatArray) -> Centre:
        """Solve for labels as precisely as doubles allow."""
        read = self.problem.labels(labels)
        return self.problem.centre(solve(self.problem, read, self._start), read)

    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels."""
        return self.solution(self.centre(labels))

    @staticmethod
    def solution(centre: Centre) -> Solution:
        """Return the parameters of a centre as a solution."""
        return Solution(centre.parameters, math.inf, math.inf)

    def represent(self, rows: Matrix) -> Matrix:
        """Return the rows themselves."""
        return rows

    def directions(self, rows: Matrix) -> FloatArray:
        """Return feature rows as directions in parameter space."""
        return dense(self.problem.directions(rows))

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return the sizes of directions, rounded up."""
        return row_norms(directions)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows, with infinite errors: those of the engine are proven."""
        return self.direction_scores(self.directions(represented), solution)

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions, with infinite errors."""
        value = directions @ solution.values
        return Scores(value, np.full(len(value), np.inf))

    def weights(self, represented: Matrix) -> Weights:
        """Raise: influence depends on the labels themselves."""
        raise NotLinearError("the scores of this model are not linear in its labels")

    def direction_weights(self, directions: FloatArray) -> Weights:
        """Raise: influence depends on the labels themselves."""
        raise NotLinearError("the scores of this model are not linear in its labels")
