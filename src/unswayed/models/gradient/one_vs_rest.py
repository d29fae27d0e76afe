"""One logistic regression per class against all others: OneVsRestClassifier."""

import math
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.labels.bias import Functional
from unswayed.models.family import Family, decision_scores, family_of, refuse_nonlinear, register
from unswayed.models.gradient.family import GradientLearner
from unswayed.models.learner import Learner, Parametric, Scores, Solution


class RivalScores(Functional):
    """Scores of several models, each of which has its labels in its gradient."""


class OneVsRest(Learner):
    """One learner per class, whose labels are 1 for the class and 0 for all others."""

    functional = RivalScores
    takes_features = True

    def __init__(self, learners: list[GradientLearner]) -> None:
        self.learners = learners
        self.n_rows, self.specification = learners[0].n_rows, learners[0].specification

    def with_coefficients(self, name: str = "this model") -> Parametric:
        """Raise: every class has coefficients of its own."""
        raise InputError(
            f"{name} has coefficients for each of {len(self.learners)} classes, and these are not "
            "certified; certify predictions, or two classes at a time"
        )

    def represent(self, rows: Matrix) -> Matrix:
        """Return the feature rows themselves."""
        return rows

    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels that are numbers of classes, once per class."""
        columns = [(labels == each).astype(np.float64) for each in range(len(self.learners))]
        found = [each.solve(column) for each, column in zip(self.learners, columns, strict=True)]
        return Solution(np.stack([each.values for each in found]), math.inf, math.inf)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of all classes; those of the engine are proven."""
        values = [
            each.directions(represented) @ own
            for each, own in zip(self.learners, solution.values, strict=True)
        ]
        value = np.stack(values, axis=1)
        return Scores(value, np.full(len(value), np.inf))


def _check(final: Any) -> None:
    inner = final.estimator
    if type(inner) is not LogisticRegression:
        raise refuse_nonlinear(inner)
    family_of(inner).check(inner)
    if inner.class_weight is not None:
        raise InputError(
            "class_weight of a LogisticRegression inside a OneVsRestClassifier weighs a class "
            "against all others, which is not certified; pass class_weight=None"
        )


def _learner(final: Any, features: Matrix, weight: FloatArray | None) -> OneVsRest:
    if len(final.estimators_) < 3:
        raise InputError(
            "OneVsRestClassifier has two classes here; certify the LogisticRegression inside it"
        )
    of = family_of(final.estimator).learner
    learners: list[Any] = [of(each, features, weight) for each in final.estimators_]
    return OneVsRest(learners)


register(
    Family(
        (OneVsRestClassifier,),
        learner=_learner,
        check=_check,
        scores=decision_scores,
        functional=RivalScores,
    )
)
