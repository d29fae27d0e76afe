"""Learner: what certifiers need of a model that is linear in its labels, and how exact it is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.models.specification import Specification


@dataclass(frozen=True, slots=True, eq=False)
class ErrorScale:
    """What the errors of influence rows are relative to, label by label; see `Weights`.

    For any direction of parameters or row, `error` and `size` of its weights are at most
    `most_error` and `most_size` times its own size. Infinite where nothing is proven.
    """

    weight: FloatArray
    entry: FloatArray
    most_error: float
    most_size: float

    @property
    def proven(self) -> bool:
        """Whether anything is proven at all."""
        return math.isfinite(self.most_error)

    @classmethod
    def unknown(cls, n_rows: int) -> "ErrorScale":
        """Return that of `n_rows` labels where nothing is proven."""
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
    """What training on labels leaves to remember, and how exact it is.

    The equations M x = b it solves are met up to a residual of norm `residual`. The score of a
    row of size s whose own weights have norm w then errs by at most w · residual + s · `rounding`.
    """

    values: FloatArray
    residual: float
    rounding: float

    def scores(self, value: FloatArray, sizes: FloatArray, weights: FloatArray) -> Scores:
        """Return computed scores of rows with these sizes and (at least) norms of weights."""
        with np.errstate(invalid="ignore", over="ignore"):
            error = SAFETY * (sizes * self.rounding + weights * self.residual)
        error = np.where(sizes == 0, 0.0, np.where(np.isnan(error), np.inf, error))
        return Scores(value, np.where(np.isfinite(value), error, np.inf))


class Learner(ABC):
    """A model trained on features; its labels come later, because only the score needs them.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None: as
    computed, which `error_scale` compares with the specification.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    specification : Specification
        The model in full.
    error_scale : ErrorScale
    capabilities : frozenset of str
        What it can do beyond scores of rows: "coefficients" (see `LinearLearner`), "anchors"
        (its training rows make anchors of a sandwich).
    takes_features : bool
        Whether `represent` returns the feature rows themselves.
    design : (n, m) matrix, dense or CSR, or None
    row_scale : (n,) array of nonnegative numbers, or None
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    takes_features: ClassVar[bool] = False

    n_rows: int
    specification: Specification
    error_scale: ErrorScale
    design: Matrix | None = None
    row_scale: FloatArray | None = None

    @abstractmethod
    def weights(self, represented: Matrix) -> Weights:
        """Return weight vectors of rows, as `represent` gives them."""

    @abstractmethod
    def represent(self, rows: Matrix) -> Matrix:
        """Return feature rows as the specification sees them."""

    @abstractmethod
    def solve(self, labels: FloatArray) -> Solution:
        """Train on `labels`; linear in them."""

    @abstractmethod
    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return scores of rows, as `represent` gives them, given what `solve` returned."""


class LinearLearner(Learner):
    """A learner whose score is also linear in the features: score = parameters · direction(x).

    Parameters are what `solve` returns: the coefficients, and with an intercept the mean
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
        """How many parameters there are."""

    @abstractmethod
    def directions(self, rows: Matrix) -> FloatArray:
        """Return feature rows as directions in parameter space, one row each.

        Every entry has a relative error of one rounding at most.
        """

    @abstractmethod
    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return sizes of directions, rounded up."""

    @abstractmethod
    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return scores of directions: what parameters make of them."""

    @abstractmethod
    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return weight vectors of directions: linear in them, up to rounding."""

    def training_directions(self, which: IntArray | slice) -> FloatArray:
        """Return training rows as directions, for learners that can make "anchors"."""
        raise NotImplementedError
