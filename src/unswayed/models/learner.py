"""Learner: what engines need of a model that is linear in its labels, with error bounds."""

import importlib
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from unswayed._core.dyadic import Dyadic, power_of_two
from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.labels.bias import Functional, Linear

_PRIMES = (2**61 - 1, 2**62 - 57, 2**63 - 25, 2**64 - 59)


def exact_arithmetic() -> Any:
    """Return the module `flint`."""
    try:
        return importlib.import_module("flint")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "exact rational arithmetic needs python-flint, which is not installed; "
            "pip install 'unswayed[exact]'",
            name="flint",
        ) from error


def column_of(matrix: Any, column: int) -> list[int]:
    """Return one column of a matrix as Python integers."""
    return [int(matrix[row, column]) for row in range(matrix.nrows())]


def diagonal(values: Sequence[int]) -> Any:
    """Return a square matrix with these values on its diagonal."""
    matrix = exact_arithmetic().fmpz_mat(len(values), len(values))
    for at, value in enumerate(values):
        matrix[at, at] = value
    return matrix


def scale_rows(matrix: Any, factors: Sequence[int]) -> Any:
    """Return a matrix with each row multiplied by its factor."""
    if all(factor == 1 for factor in factors):
        return matrix
    width = matrix.ncols()
    entries = matrix.entries()
    scaled = [entry * factors[at // width] for at, entry in enumerate(entries)] if width else []
    return type(matrix)(matrix.nrows(), width, scaled)


def take(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """Return some rows and columns of a matrix."""
    chosen = [matrix[row, column] for row in rows for column in columns]
    return type(matrix)(len(rows), len(columns), chosen)


def _pivots(matrix: Any, prime: int) -> list[int]:
    """Return columns that are independent modulo a prime, and therefore over the rationals."""
    reduced, rank = exact_arithmetic().nmod_mat(matrix, prime).rref()
    found: list[int] = []
    for row in range(rank):
        column = found[-1] + 1 if found else 0
        while reduced[row, column] == 0:
            column += 1
        found.append(column)
    return found


def is_surely_regular(matrix: Any) -> bool:
    """Return whether a square matrix is regular modulo a large prime, and therefore regular.

    A regular matrix fails this test if the prime divides its determinant, which is rare.
    """
    return bool(exact_arithmetic().nmod_mat(matrix, _PRIMES[0]).det() != 0)


def _is_spanned(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> bool:
    """Return whether some rows span all rows; their part in `columns` must be regular."""
    other_columns = sorted(set(range(matrix.ncols())) - set(columns))
    other_rows = sorted(set(range(matrix.nrows())) - set(rows))
    if len(other_rows) < len(other_columns):  # the same question of the transpose is cheaper
        return _is_spanned(matrix.transpose(), columns, rows)
    if not other_columns:
        return True
    everything = range(matrix.nrows())
    square = take(matrix, rows, columns)
    answer = square.solve(take(matrix, rows, other_columns))
    numerator, denominator = answer.numer_denom()
    made = take(matrix, everything, columns) * numerator
    return bool(made == take(matrix, everything, other_columns) * denominator)


def independent_rows(matrix: Any) -> list[int]:
    """Return the numbers of rows that are a basis of a matrix's row space, over the rationals."""
    for prime in _PRIMES:
        rows = _pivots(matrix.transpose(), prime)
        chosen = take(matrix, rows, range(matrix.ncols()))
        # A prime may hide independent rows but never invent them: what it found is checked.
        if _is_spanned(matrix, rows, _pivots(chosen, prime)):
            return rows
    raise ArithmeticError("the rank of the training features differs modulo four large primes")


# ----------------------------------------------------------------------------------------
# Specification: the numbers that define a model, for exact arithmetic and certificate files.


@dataclass(frozen=True, slots=True, eq=False)
class InfluenceRow:
    """Influence of the labels on one score: ``z_i = scale · s_i · numerators[group_i]``.

    Training row i is in group `group_i` of equal training rows and has sample weight s_i.
    """

    numerators: list[int]
    scale: Fraction  # positive


class ExactInfluence(ABC):
    """Influence of the labels on scores, in rational arithmetic."""

    group: IntArray  # of each training row; rows of weight 0 may be in any
    n_groups: int

    @abstractmethod
    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the score of each row."""

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Yield the influence on each of some coefficients."""
        raise InputError("this model has no coefficients; ask about rows instead")

    def combinations(self, weights: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on linear combinations of coefficients."""
        raise InputError("this model has no coefficients; ask about rows instead")


class GivenInfluenceRows(ExactInfluence):
    """Exact form of influence rows that are given as doubles."""

    def __init__(self, n_rows: int) -> None:
        self.group, self.n_groups = np.arange(n_rows), n_rows

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield each influence row as whole numbers times a power of two."""
        for values in dense(represented):
            row = Dyadic.of(values)
            low = row.least()
            yield InfluenceRow(row.over(low), power_of_two(low))


def _checksum(matrix: Matrix) -> int:
    # Of sparse ones the data alone: they are copies, nobody else has them.
    data = matrix.data if hasattr(matrix, "indptr") else matrix
    # It must depend on the order of the rows: shuffling them in place is a change too.
    return zlib.crc32(np.ascontiguousarray(data).data)


class Specification(ABC):
    """The kind of a model and the doubles that define it."""

    kind: str  # Its name in certificate files

    def __init__(
        self, matrix: Matrix | None = None, *, sample_weight: FloatArray | None = None
    ) -> None:
        self.sample_weight = sample_weight
        # Not a copy: features may be gigabytes. The sum tells if somebody wrote into them since.
        self._matrix = matrix
        self._sum = None if matrix is None else _checksum(matrix)

    @property
    def matrix(self) -> Matrix | None:
        """What the model is trained on, or None; raises InputError if it was changed since."""
        if self._matrix is not None and _checksum(self._matrix) != self._sum:
            raise InputError(
                "the training features were changed in place after fit, so that nothing exact "
                "can be said of the fitted model any more; fit again"
            )
        return self._matrix

    def weights(self, n_rows: int) -> FloatArray:
        """Return the sample weights, 1 where none were given."""
        return np.ones(n_rows) if self.sample_weight is None else self.sample_weight

    @abstractmethod
    def exact(self, n_rows: int) -> ExactInfluence:
        """Return the model in rational arithmetic."""

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, apart from its weights."""
        return {"kind": self.kind}


class SmootherSpecification(Specification):
    """Score z·y for given influence z: the form of every model without one of its own."""

    kind = "smoother"

    def exact(self, n_rows: int) -> GivenInfluenceRows:
        """Return the given influence rows in rational arithmetic."""
        return GivenInfluenceRows(n_rows)


# ----------------------------------------------------------------------------------------
# Learner: what certifiers need of a model that is linear in its labels, with error bounds.


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
            np.concatenate([np.zeros(0), *(part.value for part in parts)]),
            np.concatenate([np.zeros(0), *(part.error for part in parts)]),
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
    """A model that is fitted to features; labels are given to `solve` later."""

    link: str | None = None  # name of the link, where scores are not on the scale of the labels
    functional: ClassVar[type[Functional]]  # what its scores are of the labels: chooses the engine
    capabilities: ClassVar[frozenset[str]] = frozenset()  # "coefficients" (`Parametric`), "anchors"
    takes_features: bool = False  # whether `represent` returns the feature rows

    n_rows: int  # number of training rows
    specification: Specification  # the model in full, where all training rows are in memory

    @abstractmethod
    def represent(self, rows: Matrix) -> Matrix:
        """Return feature rows as the specification takes them: features, kernel or influence."""

    @abstractmethod
    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels."""

    @abstractmethod
    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows."""

    def effective_parameters(self) -> float | None:
        """Return the trace of the hat matrix, about as computed; None if it is not known."""
        return None

    def reference(self, labels: FloatArray) -> float:
        """Return what scores are measured from, as the estimator itself measures them."""
        return 0.0


class LinearInLabels(Learner):
    """A model whose scores are linear in its labels.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None. It is
    computed in doubles: `error_scale` bounds how far it is from the model in `specification`.
    """

    functional = Linear

    sparse: bool = False  # whether influence rows are CSR: few labels have any influence
    error_scale: ErrorScale
    design: Matrix | None = None
    row_scale: FloatArray | None = None

    @abstractmethod
    def weights(self, represented: Matrix) -> Weights:
        """Return the weight vectors of rows."""


class Parametric(Learner):
    """A model whose scores are linear in its features: score = parameters · direction(x).

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


class LinearLearner(LinearInLabels, Parametric):
    """A model that is linear in its labels and in its features."""

    @abstractmethod
    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions; they are linear in these, up to rounding."""

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions, for learners with the capability "anchors"."""
        raise NotImplementedError


def with_coefficients(learner: Learner, name: str = "this model") -> Parametric:
    """Return the learner as one with parameters; raise if it has no coefficients."""
    if not isinstance(learner, Parametric):
        raise _without_coefficients(name)
    return learner


def linear_in_both(learner: Learner, name: str = "this model") -> LinearLearner:
    """Return the learner as one that is linear in labels and features; raise if it is not."""
    if not isinstance(learner, LinearLearner):
        raise _without_coefficients(name)
    return learner


def _without_coefficients(name: str) -> InputError:
    return InputError(
        f"{name} has no coefficients; certify its predictions with method='auto' or 'exact' instead"
    )
