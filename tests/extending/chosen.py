"""A functional of somebody else's: models that are fitted to it get the engine it registers."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from unswayed.engines.choice import Trained, register_engine
from unswayed.engines.selection import ExactEngine
from unswayed.labels.bias import Functional
from unswayed.models.family import Family, register
from unswayed.models.smoother import GivenInfluence


class Mean(Functional):
    """The mean of all labels, whatever the row."""


class MeanOfAll(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.n_rows_, self.mean_ = len(y), float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class MeanLearner(GivenInfluence):
    functional = Mean


class MeanEngine(ExactEngine):
    """It offers neither rational arithmetic nor questions about all rows, though it could."""

    can = frozenset({"draws"})


def _learner(model, features, sample_weight):
    def influence(rows):
        return np.full((len(rows), model.n_rows_), 1.0 / model.n_rows_)

    return MeanLearner(model.n_rows_, influence)


def _trained(learner, labels, bias):
    return Trained(learner, learner.solve(labels), MeanEngine(learner, bias))


register(Family((MeanOfAll,), learner=_learner))
register_engine(Mean, _trained)
