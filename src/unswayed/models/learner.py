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
    """How the error of influence rows is spread over the labels; see `Weights`.

    Attributes
    ----------
    weight, entry : (n,) arrays
        For each label, the two factors that occur in the error bound of `Weights`.
    most_error, most_size : float
        For any row or direction of parameters, `error` and `size` of its `Weights` are at most this
        times its own size. Infinite where nothing is proven.
    """

    weight: FloatArray
    entry: FloatArray
    most_error: float
    most_size: float

    @property
    def proven(self) -> bool:
        """Whether there is a finite error bound."""
        return math.isfinite(self.most_error)

    @classmethod
    def unknown(cls, n_rows: int) -> "ErrorScale":
        """Return the scale of a learner that has no proven error bound.

        Parameters
        ----------
        n_rows : int
            Number of training labels.

        Returns
        -------
        ErrorScale
        """
        return cls(np.ones(n_rows), np.zeros(n_rows), math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores as computed, and a bound on the error of each."""

    value: FloatArray
    error: FloatArray

    @classmethod
    def concatenate(cls, parts: "Sequence[Scores]") -> "Scores":
        """Return the scores of several sets of rows, one after the other.

        Parameters
        ----------
        parts : sequence of Scores

        Returns
        -------
        Scores
        """
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
        """Return computed scores together with their error bounds.

        Parameters
        ----------
        value : (m,) array
            Scores as computed.
        sizes : (m,) array
            Sizes of the rows.
        weights : (m,) array
            Upper bounds on the norms of the rows' weights.

        Returns
        -------
        Scores
            Rows of size 0 have no error; the error of a score that is not finite is infinite.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            error = SAFETY * (sizes * self.rounding + weights * self.residual)
        error = np.where(sizes == 0, 0.0, np.where(np.isnan(error), np.inf, error))
        return Scores(value, np.where(np.isfinite(value), error, np.inf))


class Learner(ABC):
    """A model that is fitted to features; labels are given to `solve` later.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None. It is
    computed in doubles: `error_scale` bounds how far it is from the model in `specification`.

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
    takes_features: bool = False

    n_rows: int
    specification: Specification
    error_scale: ErrorScale
    design: Matrix | None = None
    row_scale: FloatArray | None = None

    @abstractmethod
    def weights(self, represented: Matrix) -> Weights:
        """Return the weight vectors of rows.

        Parameters
        ----------
        represented : matrix
            Rows as `represent` returns them.

        Returns
        -------
        Weights
            One vector per row.
        """

    @abstractmethod
    def represent(self, rows: Matrix) -> Matrix:
        """Return feature rows in the form the specification takes: features, kernel or influence.

        Parameters
        ----------
        rows : (m, p) matrix
            Features.

        Returns
        -------
        matrix
            One row per row.
        """

    @abstractmethod
    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels; the solution is linear in them.

        Parameters
        ----------
        labels : (n,) array

        Returns
        -------
        Solution
        """

    @abstractmethod
    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows.

        Parameters
        ----------
        represented : matrix
            Rows as `represent` returns them.
        solution : Solution
            What `solve` returned.

        Returns
        -------
        Scores
        """

    def effective_parameters(self) -> float | None:
        """Return the trace of the hat matrix, about as computed; None if it is not known.

        Returns
        -------
        float or None
        """
        return None

    def reference(self, labels: FloatArray) -> float:
        """Return what scores are measured from, as the estimator itself measures them.

        Parameters
        ----------
        labels : (n,) array
            Training labels.

        Returns
        -------
        float
            0, unless scores are measured from the labels' mean.
        """
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

        Parameters
        ----------
        rows : (m, p) matrix
            Features.

        Returns
        -------
        (m, n_parameters) array
        """

    @abstractmethod
    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return the sizes of directions, rounded up.

        Parameters
        ----------
        directions : (m, n_parameters) array

        Returns
        -------
        (m,) array
        """

    @abstractmethod
    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions: their products with the parameters.

        Parameters
        ----------
        directions : (m, n_parameters) array
        solution : Solution
            What `solve` returned.

        Returns
        -------
        Scores
        """

    @abstractmethod
    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions; they are linear in these, up to rounding.

        Parameters
        ----------
        directions : (m, n_parameters) array

        Returns
        -------
        Weights
            One vector per direction.
        """

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions, for learners with the capability "anchors".

        Parameters
        ----------
        most : int
            About as many, evenly spread, or all of them.

        Returns
        -------
        (m, n_parameters) array

        Raises
        ------
        NotImplementedError
            If the learner does not have that capability.
        """
        raise NotImplementedError


def with_coefficients(learner: Learner, name: str = "this model") -> LinearLearner:
    """Return the learner as a `LinearLearner`; raise if it has no coefficients.

    Parameters
    ----------
    learner : Learner
    name : str
        What to call the model in the error message.

    Returns
    -------
    LinearLearner
        The same object.

    Raises
    ------
    InputError
        If it does not have the capability "coefficients".
    """
    if "coefficients" not in learner.capabilities:
        raise InputError(
            f"{name} has no coefficients; certify its predictions with method='auto' or 'exact' "
            "instead"
        )
    return cast(LinearLearner, learner)
