"""Learner: what certifiers need of a model that is linear in its labels, with error bounds."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY
from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.models.specification import Specification


@dataclass(frozen=True, slots=True, eq=False)
class ErrorScale:
    """How the error of influence rows is spread over the labels; see `Weights`."""

    weight: FloatArray  # For each label, the two factors that occur in the error bound of `Weights`
    entry: FloatArray  # For each label, the two factors that occur in the error bound of `Weights`
    # For any row or direction of parameters, `error` and `size` of its `Weights` are at most this
    # times its own size. Infinite where nothing is proven
    most_error: float
    # For any row or direction of parameters, `error` and `size` of its `Weights` are at most this
    # times its own size. Infinite where nothing is proven
    most_size: float

    @property
    def proven(self) -> bool:
        """Whether there is a finite error bound."""
        return math.isfinite(self.most_error)

    @classmethod
    def unknown(cls, n_rows: int) -> "ErrorScale":
        """Return the scale of a learner that has no proven error bound."""
        return cls(np.ones(n_rows), np.zeros(n_rows), math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores as computed, and a bound on the error of each."""

    value: FloatArray
    error: FloatArray

    @classmethod
    def concatenate(cls, parts: "Sequence[Scores]") -> "Scores":
        """Return the scores of several sets of rows, one after the other."""
        return cls(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.error for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A model trained on labels, with bounds on its error.

    `values` solve linear equations M x = b up to a residual of norm `residual`. The score of a row
    of size s whose own weights have norm w then errs by at most w · `residual` + s · `rounding`.
    """

    values: FloatArray
    residual: float
    rounding: float

    def scores(self, value: FloatArray, sizes: FloatArray, weights: FloatArray) -> Scores:
        """Return computed scores together with their error bounds."""
        with np.errstate(invalid="ignore", over="ignore"):
            error = SAFETY * (sizes * self.rounding + weights * self.residual)
        error = np.where(sizes == 0, 0.0, np.where(np.isnan(error), np.inf, error))
        return Scores(value, np.where(np.isfinite(value), error, np.inf))


class Learner(ABC):
    """A model that is fitted to features; labels are given to `solve` later.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None. It is
    computed in doubles: `error_scale` bounds how far it is from the model in `specification`.
    """

    # What it can do beyond scores of rows: "coefficients" (see `LinearLearner`), "anchors" (its
    # training rows make anchors of a sandwich)
    capabilities: ClassVar[frozenset[str]] = frozenset()
    takes_features: bool = False  # Whether `represent` returns the feature rows themselves

    n_rows: int  # Number of training rows
    specification: Specification  # The model in full
    error_scale: ErrorScale
    design: Matrix | None = None
    row_scale: FloatArray | None = None

    @abstractmethod
    def weights(self, represented: Matrix) -> Weights:
        """Return the weight vectors of rows."""

    @abstractmethod
    def represent(self, rows: Matrix) -> Matrix:
        """Return feature rows as the specification takes them: features, kernel or influence."""

    @abstractmethod
    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels; the solution is linear in them."""

    @abstractmethod
    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows."""

    def effective_parameters(self) -> float | None:
        """Return the trace of the hat matrix, about as computed; None if it is not known."""
        return None

    def reference(self, labels: FloatArray) -> float:
        """Return what scores are measured from, as the estimator itself measures them."""
        return 0.0


class LinearLearner(Learner):
    """A learner whose score is also linear in the features: score = parameters · direction(x).

    Parameters are what `solve` returns: the coefficients and, with an intercept, the mean
    prediction after them. They are scaled by powers of two, so that features of any unit are
    treated alike: parameter j counts in units of ``parameter_scale[j]``.
    """

    capabilities = frozenset({"coefficients"})
    takes_features = True

    n_features: int
    parameter_scale: FloatArray

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Number of parameters."""

    @abstractmethod
    def directions(self, rows: Matrix) -> FloatArray:
        """Return feature rows as directions in parameter space.

        Every entry has a relative error of one rounding at most.
        """

    @abstractmethod
    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return the sizes of directions, rounded up."""

    @abstractmethod
    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions: their products with the parameters."""

    @abstractmethod
    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions; they are linear in these, up to rounding."""

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions, for learners with the capability "anchors"."""
        raise NotImplementedError


def with_coefficients(learner: Learner, name: str = "this model") -> LinearLearner:
    """Return the learner as a `LinearLearner`; raise if it has no coefficients."""
    if "coefficients" not in learner.capabilities:
        raise InputError(
            f"{name} has no coefficients; certify its predictions with method='auto' or 'exact' "
            "instead"
        )
    return cast(LinearLearner, learner)
