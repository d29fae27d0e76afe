"""Least squares by gradient descent that stops early: steps and step size are fixed beforehand.

With rows A, less a centre c that the features decide, and H = AᵀA/n, t steps of size η from 0 lead
to θ = G·Aᵀy, where nG = η Σ_{s<t} (I - ηH)^s: the labels enter linearly. Where H has an eigenvalue
λ, nG has (1 - (1 - ηλ)^t)/λ. G is found by doubling: with P_s = (I - ηH)^s,

    P_{2s} = P_s P_s,   G_{2s} = G_s + P_s G_s,   P_{s+1} = P_1 P_s,   G_{s+1} = G_1 + P_1 G_s,

so that its error is bounded step by step, in as many steps as t has binary digits.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unswayed._core.dyadic import Dyadic, column_of, diagonal, exact_arithmetic, power_of_two
from unswayed._core.influence import Weights, distinct_rows
from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SIZE_UNDERFLOW,
    SQUARES_UNDERFLOW,
    UNIT,
    binade,
    gamma,
    norm,
)
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.models.family import Family, register
from unswayed.models.learner import (
    ErrorScale,
    ExactInfluence,
    InfluenceRow,
    LinearLearner,
    Scores,
    SmootherSpecification,
    Solution,
)
from unswayed.models.ridge.verified import (
    moment,
    padded,
    rescaled,
    row_norms,
    summation,
    weighted_gram,
    weighted_mean,
    with_ones,
)


class GradientDescentRegressor(RegressorMixin, BaseEstimator):
    """Least squares by gradient descent from 0, stopped after a fixed number of steps.

    Stopping early is a penalty: few steps make each label matter less, as a large `alpha` of Ridge
    does, and the most important directions of the features come first. The number of steps and
    their size must be fixed before the labels are seen: the model is then linear in its labels.

    Parameters
    ----------
    steps : int
        How many steps are taken.
    step_size : float or "auto"
        How far each of them goes along the gradient of half the mean squared error. With "auto",
        one over the largest sum of a row of the features' covariance, in absolute value: no step
        is then too far.
    fit_intercept : bool
        Whether features are centred, and the mean of the labels is added to predictions.

    Attributes
    ----------
    coef_ : (p,) array
        Coefficients after the last step.
    intercept_ : float
        Prediction where all features are 0.
    step_size_ : float
        Size of the steps that were taken.
    centre_ : (p,) array
        What is subtracted from features: their means, or zeros without an intercept.

    Examples
    --------
    Features of mean 0 and variance 1: every step of size 0.5 halves what is left of the way.

    >>> X, y = [[-1.0], [1.0]], [0.0, 4.0]
    >>> [GradientDescentRegressor(t, step_size=0.5).fit(X, y).coef_.item() for t in (1, 2, 3)]
    [1.0, 1.5, 1.75]

    A label that is off by 1 moves the prediction at 1 by 0.5 for the mean, and by 0.25 for the
    coefficient after one step:

    >>> from unswayed import CertifiedRegressor, LabelBias
    >>> model = CertifiedRegressor(
    ...     GradientDescentRegressor(1, step_size=0.5), bias=LabelBias.shifts(1, budget=1), radius=1
    ... ).fit(X, y)
    >>> certificate = model.certify([[1.0]])
    >>> certificate.score.item(), certificate.high.round(6).item(), str(certificate.verdict[0])
    (3.0, 3.75, 'robust')
    """

    def __init__(
        self,
        steps: int = 100,
        step_size: float | Literal["auto"] = "auto",
        *,
        fit_intercept: bool = True,
    ) -> None:
        self.steps = steps
        self.step_size = step_size
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> "GradientDescentRegressor":
        """Take the steps.

        Parameters
        ----------
        X : (n, p) array
            Training rows.
        y : (n,) array
            Labels.

        Returns
        -------
        GradientDescentRegressor
            The estimator itself.

        Raises
        ------
        InputError
            If the steps lead beyond all numbers because they are too large.
        """
        check_steps(self)
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        n_rows, n_features = X.shape
        self.centre_ = np.zeros(n_features)
        if self.fit_intercept:
            self.centre_ = weighted_mean(X, np.full(n_rows, 1.0 / n_rows))
        rows, mean = X - self.centre_, float(y.mean()) if self.fit_intercept else 0.0
        self.step_size_ = self._size(rows)
        self.coef_ = np.zeros(n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            if n_features <= n_rows:
                gram, right = rows.T @ rows / n_rows, rows.T @ (y - mean) / n_rows
                for _ in range(self.steps):
                    self.coef_ += self.step_size_ * (right - gram @ self.coef_)
            else:
                for _ in range(self.steps):
                    left = y - mean - rows @ self.coef_
                    self.coef_ += self.step_size_ * (rows.T @ left / n_rows)
            self.intercept_ = mean - float(self.centre_ @ self.coef_)
        if not (np.isfinite(self.coef_).all() and math.isfinite(self.intercept_)):
            raise InputError(
                f"{self.steps} steps of size {self.step_size_:g} lead beyond all numbers: each "
                "goes further beyond the minimum than the one before; pass a smaller step_size, "
                "or 'auto'"
            )
        self.label_mean_, self.n_iter_ = mean, int(self.steps)
        return self

    def _size(self, rows: FloatArray) -> float:
        """Return the size of the steps, which the features alone decide."""
        if not isinstance(self.step_size, str):
            return float(self.step_size)
        # Of a row x, the sums of |x xᵀ| are |x_j|·Σ|x_k|: no matrix of all columns is needed.
        with np.errstate(over="ignore"):
            sums = np.abs(rows).T @ (np.abs(rows).sum(axis=1) / len(rows))
        most = float(sums.max(initial=0.0))
        return 1.0 / most if most > 1.0 / np.finfo(np.float64).max else 1.0

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions at rows.

        Parameters
        ----------
        X : (m, p) array
            Feature rows.

        Returns
        -------
        (m,) array
            One number per row.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray((rows - self.centre_) @ self.coef_ + self.label_mean_)


_MOST_STEPS = 1_000_000


def check_steps(model: Any) -> None:
    """Raise unless the number of steps and their size are numbers that can be taken."""
    steps, size = model.steps, model.step_size
    if isinstance(steps, bool) or not isinstance(steps, Integral) or steps < 1:
        raise InputError(f"steps must be a whole number, 1 or more, got {steps!r}")
    if int(steps) > _MOST_STEPS:
        raise InputError(
            f"steps are taken one after the other, and {int(steps):,} would take too long; pass at "
            f"most {_MOST_STEPS:,}, or Ridge, which many steps hardly differ from"
        )
    number = isinstance(size, int | float | np.number) and not isinstance(size, bool)
    if not (number and 0 < size < math.inf) and not (isinstance(size, str) and size == "auto"):
        raise InputError(f"step_size must be 'auto' or a positive number, got {size!r}")


# --- the matrix that takes moments of the labels to coefficients, and its error --------------


@dataclass(frozen=True, eq=False)
class _Powers:
    """P_s and G_s as computed, bounds on their errors and on the norms of the true ones."""

    p: FloatArray
    g: FloatArray
    p_error: float
    g_error: float
    p_norm: float
    g_norm: float

    def then(self, other: "_Powers", *, contracts: bool) -> "_Powers":
        """Return the powers of as many steps as both have together."""
        lost, underflow = gamma(len(self.p) + 2), PRODUCT_UNDERFLOW * len(self.p)
        made = self.p @ other.p, self.g + self.p @ other.g
        p_error = SAFETY * (
            self.p_norm * other.p_error
            + self.p_error * (other.p_norm + other.p_error)
            + lost * norm(self.p) * norm(other.p)
            + underflow
        )
        g_error = SAFETY * (
            self.g_error
            + self.p_norm * other.g_error
            + self.p_error * (other.g_norm + other.g_error)
            + lost * (norm(self.p) * norm(other.g) + norm(self.g))
            + underflow
        )
        p_norm = 1.0 if contracts else SAFETY * (norm(made[0]) + p_error)
        g_norm = SAFETY * min(self.g_norm + self.p_norm * other.g_norm, norm(made[1]) + g_error)
        return _Powers(*made, p_error, g_error, p_norm, g_norm)


def _descended(gram: FloatArray, gram_error: float, factor: float, steps: int) -> _Powers:
    """Return the powers of all steps; `factor` is the step size over the number of rows."""
    width = len(gram)
    moved = factor * gram
    error = SAFETY * (factor * gram_error + 4 * UNIT * norm(moved)) + SQUARES_UNDERFLOW
    # Eigenvalues of ηH are not negative; none above 2 means that no step goes too far.
    largest = SAFETY * float(np.abs(moved).sum(axis=1).max(initial=0.0)) + error
    contracts = largest <= 2.0
    p = np.eye(width) - moved
    p_error = SAFETY * (error + UNIT * (math.sqrt(width) + norm(p)))
    p_norm = 1.0 if contracts else SAFETY * (norm(p) + p_error)
    one = _Powers(p, factor * np.eye(width), p_error, 2 * UNIT * factor, p_norm, SAFETY * factor)
    found = one
    for digit in bin(steps)[3:]:
        found = found.then(found, contracts=contracts)
        if digit == "1":
            found = one.then(found, contracts=contracts)
    return found


class DescentLearner(LinearLearner):
    """The learner of gradient descent: z_i(x) = a_i·G·(x - c) + 1/n with an intercept.

    All features are scaled by one power of two, and the step size by its square.
    """

    capabilities = LinearLearner.capabilities | {"anchors"}
    design: FloatArray

    def __init__(self, model: Any, features: FloatArray) -> None:
        self.n_rows, self.n_features = (int(size) for size in features.shape)
        self._intercept, self._centre = bool(model.fit_intercept), model.centre_.copy()
        rows = features - self._centre if self._intercept else features
        self.specification = DescentSpecification(rows, model)
        peak = float(np.abs(rows).max(initial=0.0))
        self._scale = float(1.0 / binade(peak))
        self.parameter_scale = np.full(self.n_features, self._scale)
        scaled = np.asarray(rescaled(rows, self._scale))
        self._rows_norm = norm(scaled)
        self.design = scaled
        if self._intercept:
            self.parameter_scale = np.append(self.parameter_scale, 1.0)
            self.design = np.asarray(with_ones(scaled))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            gram = weighted_gram(scaled, None)
            lost = summation(self.n_rows) * float(np.trace(gram)) + SQUARES_UNDERFLOW
            factor = model.step_size_ / self.n_rows / self._scale / self._scale
            powers = _descended(gram, SAFETY * lost, factor, int(model.steps))
        self._solver, self._off = powers.g, powers.g_error
        usual = SQUARES_UNDERFLOW < factor < 1 / SQUARES_UNDERFLOW
        if not (usual and math.isfinite(self._off)):
            self._off = math.inf
        self.error_scale = self._error_scale()

    def _error_scale(self) -> ErrorScale:
        if not (math.isfinite(self._off) and np.isfinite(self.design).all()):
            self._off = math.inf
            return ErrorScale.unknown(self.n_rows)
        # Of G, of the product with it, and of that with the design.
        size = norm(self._solver) + self._off + 1.0 / self.n_rows
        share = SAFETY * (self._off + gamma(2 * self.n_parameters + 16) * size) + SIZE_UNDERFLOW
        # Of a row that underflows nothing is left to measure it by.
        entry = share * row_norms(self.design) + PRODUCT_UNDERFLOW * size
        return ErrorScale(np.ones(self.n_rows), entry, UNIT, 1.0)

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, plus one for the mean of the labels with an intercept."""
        return self.n_features + int(self._intercept)

    # --- rows -----------------------------------------------------------------------------

    def directions(self, rows: Matrix) -> FloatArray:
        """Return rows less the centre and scaled, with a 1 after them if there is an intercept."""
        found = dense(rows) - self._centre if self._intercept else dense(rows)
        found = np.asarray(rescaled(found, self._scale))
        return np.asarray(with_ones(found)) if self._intercept else found

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return the norms of directions."""
        return padded(row_norms(directions))

    def example_directions(self, most: int) -> FloatArray:
        """Return training rows as directions."""
        return self.design[:: max(1, self.n_rows // most)]

    def weights(self, represented: Matrix) -> Weights:
        """Return the weight vectors of feature rows."""
        return self.direction_weights(self.directions(represented))

    def direction_weights(self, directions: FloatArray) -> Weights:
        """Return the weight vectors of directions in parameter space."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = directions[:, : self.n_features] @ self._solver
            if self._intercept:
                found = np.hstack((found, directions[:, -1:] / self.n_rows))
        sizes = self.direction_sizes(directions)
        return Weights(np.ascontiguousarray(found), np.zeros(len(found)), sizes)

    def shown(self, represented: Matrix) -> Matrix:
        """Return influence as computed: a file about gradient descent holds that."""
        return np.asarray(self.weights(represented).values @ self.design.T)

    # --- labels ---------------------------------------------------------------------------

    def solve(self, labels: FloatArray) -> Solution:
        """Return the coefficients, and the mean of the labels after them."""
        with np.errstate(over="ignore", invalid="ignore"):
            right = moment(self.design[:, : self.n_features], labels)
            values, size = self._solver @ right, norm(labels)
            off = summation(self.n_rows) * self._rows_norm * size + PRODUCT_UNDERFLOW * self.n_rows
            solver = norm(self._solver) + self._off
            error = self._off * norm(right) + solver * off
            error += gamma(self.n_features + 4) * solver * norm(right)
            if self._intercept:
                values = np.append(values, labels.sum() / self.n_rows)
                error += gamma(self.n_rows + 4) * float(np.abs(labels).sum()) / self.n_rows
            error = SAFETY * (error + gamma(self.n_parameters + 8) * norm(values)) + SIZE_UNDERFLOW
        return Solution(values, 0.0, error if math.isfinite(error) else math.inf)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of feature rows."""
        return self.direction_scores(self.directions(represented), solution)

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions in parameter space."""
        sizes = self.direction_sizes(directions)
        with np.errstate(over="ignore", invalid="ignore"):
            return solution.scores(directions @ solution.values, sizes, np.zeros(len(sizes)))


class DescentSpecification(SmootherSpecification):
    """Rows less their centre, steps and step size; in a certificate file, influence as computed."""

    def __init__(self, rows: FloatArray, model: Any) -> None:
        super().__init__()
        self.rows, self.centre = rows.copy(), model.centre_.copy()
        self.fit_intercept = bool(model.fit_intercept)
        self.steps, self.step_size = int(model.steps), float(model.step_size_)

    def exact(self, n_rows: int) -> "DescentInfluence":
        """Return the model in rational arithmetic."""
        return DescentInfluence(self)


class DescentInfluence(ExactInfluence):
    """Exact influence of gradient descent: numbers get longer with every step."""

    def __init__(self, specification: DescentSpecification) -> None:
        self._flint = exact_arithmetic()
        self._model = specification
        first, self.group = distinct_rows(specification.rows)
        self.n_groups = len(first)
        self._n_rows, self.n_features = specification.rows.shape
        count = np.bincount(self.group, minlength=self.n_groups).tolist()
        self._rows = self._rational(specification.rows[first])
        gram = self._rows.transpose() * self._flint.fmpq_mat(diagonal(count)) * self._rows
        factor = Fraction(specification.step_size) / self._n_rows
        self._solver = self._descended(gram, self._number(factor), specification.steps)

    def _number(self, value: Fraction) -> Any:
        return self._flint.fmpq(value.numerator, value.denominator)

    def _rational(self, values: FloatArray) -> Any:
        """Return doubles as a matrix of rational numbers."""
        dyadic = Dyadic.of(values)
        low = dyadic.least()
        whole = self._flint.fmpz_mat(*values.shape, dyadic.over(low))
        return self._flint.fmpq_mat(whole) * self._number(power_of_two(low))

    def _descended(self, gram: Any, factor: Any, steps: int) -> Any:
        """Return G by doubling; see the opening of this file."""
        unit = self._flint.fmpq_mat(diagonal([1] * self.n_features))
        p_one, g_one = unit - gram * factor, unit * factor
        p, g = p_one, g_one
        for digit in bin(steps)[3:]:
            p, g = p * p, g + p * g
            if digit == "1":
                p, g = p_one * p, g_one + p_one * g
        return g

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the scores of feature rows."""
        found = dense(represented)
        if self._model.fit_intercept:
            found = found - self._model.centre
        share = Fraction(int(self._model.fit_intercept), self._n_rows)
        return self._influence(found, share)

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Yield the influence on coefficients."""
        units = np.eye(self.n_features)
        return self.combinations(units if which is None else units[which])

    def combinations(self, weights: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on linear combinations of coefficients."""
        return self._influence(dense(weights), Fraction(0))

    def _influence(self, directions: FloatArray, share: Fraction) -> Iterator[InfluenceRow]:
        """Yield a_i·G·d, and a share of the mean, for each direction d."""
        for direction in directions:
            moved = self._rows * (self._solver * self._rational(direction[:, None]))
            numerators, below = moved.numer_denom()
            whole, below = column_of(numerators, 0), int(below)
            added = share * below
            yield InfluenceRow(
                [each * added.denominator + added.numerator for each in whole],
                Fraction(1, below * added.denominator),
            )


def _learner(model: Any, features: Matrix, sample_weight: FloatArray | None) -> DescentLearner:
    if sparse.issparse(features):
        raise InputError("GradientDescentRegressor takes dense rows; pass an array")
    return DescentLearner(model, dense(features))


register(Family((GradientDescentRegressor,), learner=_learner, check=check_steps, several=False))
