"""Learner: what engines need of a model that is linear in its labels, with error bounds."""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from unswayed._core.dyadic import (
    Dyadic,
    column_of,
    diagonal,
    exact_arithmetic,
    independent_rows,
    is_surely_regular,
    power_of_two,
    scale_rows,
    take,
    whole_sums,
)
from unswayed._core.influence import Weights, distinct_rows
from unswayed._core.rounding import SAFETY
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.labels.bias import Functional, Linear

# ----------------------------------------------------------------------------------------
# Specification: the numbers that define a model, for exact arithmetic and certificate files.


_BLOCK = 16  # rows solved for at once


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

    def solutions(self, subjects: FloatArray) -> Iterator[list[Fraction]]:
        """Yield, for each of some rows, what a certificate file proves its influence from."""
        raise NotImplementedError

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

    def exact(self, n_rows: int) -> ExactInfluence:
        """Return the given influence rows in rational arithmetic."""
        return GivenInfluenceRows(n_rows)


class RidgeSpecification(Specification):
    """Minimise Σ s_i (y_i - b - x_i·c)² + alpha ‖c‖² over c (and b with an intercept).

    With alpha 0, take the minimiser of least ‖c‖.
    """

    kind = "ridge"

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = False,
        sample_weight: FloatArray | None = None,
    ) -> None:
        super().__init__(features, sample_weight=sample_weight)
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def exact(self, n_rows: int) -> "RidgeInfluence":
        """Return the model in rational arithmetic."""
        return RidgeInfluence(self, n_rows)

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model."""
        return {
            "kind": self.kind,
            "alpha": float(self.alpha),
            "intercept": bool(self.fit_intercept),
        }


class RidgeInfluence(ExactInfluence):
    """Exact influence of least squares and ridge: z(x) = S·(D·v + 1/Σs), v = M⁻¹ t(x).

    The slope is sought as P·v. Where the normal equations are regular, P is the identity;
    otherwise (or with fewer rows than features) its columns are independent training rows, in
    whose span lies the slope of least norm. D are the training rows times P, t(x) the centred
    row x times P, and M = DᵀSD (centred) + alpha·PᵀP is regular.
    """

    def __init__(self, specification: RidgeSpecification, n_rows: int) -> None:
        flint = self._flint = exact_arithmetic()
        weight = specification.weights(n_rows)
        kept = np.flatnonzero(weight > 0)
        self._fit_intercept = specification.fit_intercept
        features: Matrix = specification.matrix
        if len(kept) < n_rows:
            features = features[kept]
        first, group = distinct_rows(features)
        self.group = np.zeros(n_rows, dtype=np.intp)
        self.group[kept] = group
        self.n_groups = len(first)
        dyadic = Dyadic.of(dense(features[first]))
        self.n_features = int(dyadic.odd.shape[1])
        self._exponent = dyadic.least_by_column()
        self._features = flint.fmpz_mat(self.n_groups, self.n_features, dyadic.over(self._exponent))
        weights = Dyadic.of(weight[kept])
        self._weight_exponent = weights.least()
        self._weight = whole_sums(weights.over(self._weight_exponent), group, self.n_groups)
        self._alpha = Fraction(specification.alpha)
        regular = False
        if self.n_features <= self.n_groups:
            self._use_features()
            regular = is_surely_regular(self._matrix)
        if not regular:
            self._use_rows()

    def _use_features(self) -> None:
        """Set up one unknown per column: regular unless alpha is 0 and columns are dependent."""
        top = int(self._exponent.max())
        squares = [1 << 2 * (top - int(e)) for e in self._exponent]
        self._basis: Any = None
        penalty = diagonal(squares)
        self._assemble(self._features, penalty, self._alpha * power_of_two(-2 * top))

    def _use_rows(self) -> None:
        """Set up one unknown per independent row: always regular."""
        flint, rows = self._flint, self._features
        if self._fit_intercept:  # centred rows and differences to one row have the same span
            ones = flint.fmpz_mat(rows.nrows(), 1, [1] * rows.nrows())
            rows = rows - ones * take(rows, [0], range(rows.ncols()))
        chosen = take(rows, independent_rows(rows), range(rows.ncols()))
        low = int(self._exponent.min())
        # Rows of unscaled features, seen in scaled columns, carry each column's scale squared.
        squares = [1 << 2 * (int(e) - low) for e in self._exponent]
        self._basis = scale_rows(chosen.transpose(), squares)
        self._assemble(
            self._features * self._basis,
            chosen * self._basis,
            self._alpha * power_of_two(-2 * low),
        )

    def _assemble(self, design: Any, penalty: Any, alpha: Fraction) -> None:
        """Set up M, times Σs with an intercept, as whole numbers times a power of two."""
        flint = self._flint
        weighted = scale_rows(design, self._weight).transpose()
        normal = weighted * design
        self._total, self._moment = 1, flint.fmpz_mat(design.ncols(), 1)
        if self._fit_intercept:
            self._total = sum(self._weight)
            self._moment = weighted * flint.fmpz_mat(self.n_groups, 1, [1] * self.n_groups)
            normal = normal * self._total - self._moment * self._moment.transpose()
        # alpha = numerator · 2**-shift: a denominator of a double is a power of two.
        shift = alpha.denominator.bit_length() - 1
        low = min(self._weight_exponent, -shift) if alpha else self._weight_exponent
        self._matrix = normal * (1 << (self._weight_exponent - low))
        if alpha:
            self._matrix += penalty * (self._total * alpha.numerator << (-shift - low))
        self._matrix_exponent = low
        self._design = design

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the scores of feature rows."""
        for start in range(0, represented.shape[0], _BLOCK):
            block = Dyadic.of(dense(represented[start : start + _BLOCK]))
            yield from self._solve(block.scaled(-self._exponent), centred=self._fit_intercept)

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Yield the influence on coefficients."""
        units = sparse.eye_array(self.n_features, format="csr")
        return self.combinations(units if which is None else units[which])

    def combinations(self, weights: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on linear combinations of coefficients."""
        for start in range(0, weights.shape[0], _BLOCK):
            block = Dyadic.of(dense(weights[start : start + _BLOCK]))
            yield from self._solve(block.scaled(-self._exponent), centred=False)

    def _solve(self, directions: Dyadic, *, centred: bool) -> Iterator[InfluenceRow]:
        """Yield one influence row per direction; `centred` ones are rows and include the mean."""
        for slope, mean, denominator, low in self._slopes(directions, centred=centred):
            raw = column_of(self._design * slope, 0)
            yield self._row(raw, mean, denominator, low, constant=centred)

    def _slopes(self, directions: Dyadic, *, centred: bool) -> Iterator[tuple[Any, int, int, int]]:
        """Yield the slope of each direction, its mean, denominator and power of two."""
        flint, n_rows = self._flint, len(directions.odd)
        lows = [min(0, directions[row].least()) for row in range(n_rows)]
        whole = directions.over(np.array(lows, dtype=np.int64)[:, None])
        right = flint.fmpz_mat(n_rows, self.n_features, whole).transpose()
        if self._basis is not None:
            right = self._basis.transpose() * right
        right *= self._total
        if centred:
            right -= self._moment * flint.fmpz_mat(1, n_rows, [1 << -low for low in lows])
        solution, denominator = self._matrix.solve(right).numer_denom()
        for row, low in enumerate(lows):
            # One at a time: the influence of a row takes kilobytes per training row.
            slope = take(solution, range(solution.nrows()), [row])
            mean = int((self._moment.transpose() * slope)[0, 0])
            yield slope, mean, int(denominator), low

    def solutions(self, subjects: FloatArray) -> Iterator[list[Fraction]]:
        """Yield w for each row: the influence of label i is s_i times features and 1, times w."""
        total = power_of_two(self._weight_exponent) * sum(self._weight)
        for subject in subjects:
            row = Dyadic.of(subject[None, : self.n_features]).scaled(-self._exponent)
            centred = self._fit_intercept and bool(subject[-1])
            ((slope, mean, denominator, low),) = self._slopes(row, centred=centred)
            scale = power_of_two(low - self._matrix_exponent) / (denominator * self._total)
            along = slope if self._basis is None else self._basis * slope
            found = [
                scale * self._total * number * power_of_two(-int(exponent))
                for number, exponent in zip(column_of(along, 0), self._exponent, strict=True)
            ]
            if self._fit_intercept:
                found.append((1 / total if centred else 0) - scale * mean)
            yield found

    def _row(
        self, raw: list[int], mean: int, denominator: int, low: int, *, constant: bool
    ) -> InfluenceRow:
        """Subtract the mean and, for a row's score, add the share of the mean prediction."""
        scale = power_of_two(low - self._matrix_exponent) / (denominator * self._total)
        if not self._fit_intercept:
            return InfluenceRow(raw, scale)
        centred = [self._total * each - mean for each in raw]
        if not constant:
            return InfluenceRow(centred, scale)
        # 1/Σs over the same scale, which becomes finer where that is no whole number.
        shift = self._matrix_exponent - low - self._weight_exponent
        pad = max(0, -shift)
        share = denominator << (shift + pad)
        return InfluenceRow([(each << pad) + share for each in centred], scale / (1 << pad))


# ----------------------------------------------------------------------------------------
# Learner: what certifiers need of a model that is linear in its labels, with error bounds.


@dataclass(frozen=True, slots=True, eq=False)
class ErrorScale:
    """How the error of influence rows is spread over the labels; see `Weights`."""

    # For each label, the two factors that occur in the error bound of `Weights`
    weight: FloatArray
    entry: FloatArray
    # For any row or direction of parameters, `error` and `size` of its `Weights` are at most these
    # times its own size. Infinite where nothing is proven
    most_error: float
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

    def shown(self, represented: Matrix) -> Matrix:
        """Return represented rows as a certificate file holds them."""
        return represented

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

    def with_coefficients(self, name: str = "this model") -> "Parametric":
        """Return the learner as one with parameters; raise if it has no coefficients."""
        raise _without_coefficients(name)


def _without_coefficients(name: str) -> InputError:
    return InputError(
        f"{name} has no coefficients; certify its predictions with method='auto' or 'exact' instead"
    )


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

    def full(self) -> "LinearInLabels":
        """Return a learner whose weights are dense: questions about all rows at once need them."""
        return self

    def with_coefficients(self, name: str = "this model") -> "LinearLearner":
        """Return the learner as one that is linear in labels and features; raise if it is not."""
        raise _without_coefficients(name)


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

    def with_coefficients(self, name: str = "this model") -> Self:
        """Return the learner itself."""
        return self

    def represent(self, rows: Matrix) -> Matrix:
        """Return the feature rows themselves."""
        return rows

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


class LinearLearner(Parametric, LinearInLabels):
    """A model that is linear in its labels and in its features."""

    @abstractmethod
    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions; they are linear in these, up to rounding."""

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions, for learners with the capability "anchors"."""
        raise NotImplementedError
