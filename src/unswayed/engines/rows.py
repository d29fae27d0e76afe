"""Rows put to an engine, as weights made on demand."""

from dataclasses import dataclass

import numpy as np

from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.learners.protocol import Learner, LinearLearner


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Weights of feature rows."""

    learner: Learner
    rows: Matrix

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def block(self, start: int, stop: int) -> FloatArray:
        """Weights of rows start to stop."""
        return self.learner.weights(self.rows[start:stop])

    def take(self, which: IntArray) -> "FeatureRows":
        """Some of the rows."""
        return FeatureRows(self.learner, self.rows[which])


@dataclass(frozen=True, slots=True, eq=False)
class DirectionRows:
    """Weights of directions in parameter space."""

    learner: LinearLearner
    directions: FloatArray

    def __len__(self) -> int:
        return len(self.directions)

    def block(self, start: int, stop: int) -> FloatArray:
        """Weights of directions start to stop."""
        return self.learner.direction_weights(self.directions[start:stop])


def unit_rows(learner: LinearLearner, count: int) -> DirectionRows:
    """The first `count` parameters themselves."""
    return DirectionRows(learner, np.eye(learner.n_parameters)[:count])
