"""What a review can be expected to bring: labels drawn wrong, corrected, and the model refitted."""

from dataclasses import dataclass, replace

import numpy as np

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import FloatArray, IntArray
from unswayed.bias import ResolvedBias
from unswayed.budgets import Budget
from unswayed.certificates import Verdict
from unswayed.certified.question import Question
from unswayed.certifiers.exact import ExactEngine
from unswayed.certifiers.rows import FeatureRows


@dataclass(frozen=True, eq=False)
class Simulation:
    """A model, and the rows that a review is to make robust."""

    question: Question  # Labels that were checked before cannot be wrong in it
    budget: Budget

    @property
    def usual_rate(self) -> float:
        """The budget's share of the labels that may be wrong."""
        bias = self.question.engine.bias
        movable = int(np.sum((bias.lower < 0) | (bias.upper > 0)))
        return min(1.0, self.budget.amount / movable) if movable else 0.0

    @ordinary_arithmetic()
    def robust(
        self, order: IntArray, checks: IntArray, rate: float, rng: np.random.Generator
    ) -> IntArray:
        """Draw which labels are wrong, and count robust rows after the first checks of a plan."""
        wrong = rng.random(len(order)) < rate
        correction = np.where(wrong, self._corrections(order, rng), 0.0)
        return np.array([self._count(order[:many], correction[:many]) for many in checks.tolist()])

    def _corrections(self, order: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return what is added to labels that turn out to be wrong."""
        bias = self.question.engine.bias
        lower, upper = bias.lower[order], bias.upper[order]
        if bias.whole:
            return np.where(upper > 0, upper, lower)
        return lower + rng.random(len(order)) * (upper - lower)

    def _count(self, checked: IntArray, correction: FloatArray) -> int:
        """Return how many rows are proven robust after labels were checked and corrected."""
        question = self.question
        engine, weights = question.engine, question.weights
        targets, lower, upper = (
            np.array(each) for each in (question.targets, engine.bias.lower, engine.bias.upper)
        )
        targets[checked] += correction
        lower[checked] = upper[checked] = 0.0
        left = ResolvedBias(lower, upper, engine.bias.budget, engine.bias.whole)
        solution = engine.learner.solve(targets)
        assert isinstance(weights, FeatureRows)  # noqa: S101  (no others are asked about)
        after = replace(
            question,
            engine=ExactEngine(engine.learner, left),
            targets=targets,
            scores=weights.scores(solution),
            solution=solution,
            _settled={},
        )
        verdict = after.exact(self.budget).verdict[question.group]
        return int(np.sum(verdict == Verdict.ROBUST))
