"""Kernel ridge: z(x) = √S N⁻¹ √S k(x) with N = √S K √S + αI.

K is the kernel matrix of the training rows and k(x) the kernel of a row x with them, both as
computed in doubles; S are the sample weights.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels

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
)
from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY, SIZE_UNDERFLOW, UNIT, binade, gamma, norm
from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError
from unswayed.inputs import dense
from unswayed.models.averages import Average, Member
from unswayed.models.family import Family, one_alpha, register
from unswayed.models.learner import (
    ErrorScale,
    ExactInfluence,
    InfluenceRow,
    LinearInLabels,
    Scores,
    Solution,
    Specification,
)
from unswayed.models.ridge.verified import (
    ScaledWeights,
    VerifiedInverse,
    padded,
    rescaled,
    row_norms,
)

_BLOCK = 16  # rows solved for at once
_ROUNDING = 1e-6  # of the largest kernel number: more is no rounding, not even to single precision


def _kernel(model: Any, rows: Matrix, others: Matrix | None) -> FloatArray:
    """Return the kernel of a fitted KernelRidge between rows, as it computes it itself."""
    given = {name: getattr(model, name) for name in ("gamma", "degree", "coef0")}
    given = (model.kernel_params or {}) if callable(model.kernel) else given
    found = pairwise_kernels(rows, others, metric=model.kernel, filter_params=True, **given)
    return np.asarray(found, dtype=np.float64)


def _symmetric(gram: FloatArray) -> FloatArray:
    """Return a symmetric matrix made of the lower triangle of a kernel matrix.

    The two triangles may differ by rounding; raise if they differ by more.
    """
    lower = np.tril(gram)
    lower += np.tril(gram, -1).T
    # No more matrices at a time than needed: they are the largest there are.
    gap, largest = (max(float(m.max()), -float(m.min())) for m in (gram - lower, gram))
    if not gap <= _ROUNDING * largest:
        raise InputError(
            f"the kernel is not symmetric: k(a, b) and k(b, a) differ by {gap:.1e} for two "
            "training rows, and solvers read one of them only; pass a symmetric kernel"
        )
    return lower


class KernelSpecification(Specification):
    """Score k(x)·(K + alpha S⁻¹)⁻¹ y for the kernel matrix K as it was computed."""

    kind = "kernel-ridge"

    def __init__(
        self, gram: FloatArray, *, alpha: float = 0.0, sample_weight: FloatArray | None = None
    ) -> None:
        super().__init__(gram, sample_weight=sample_weight)
        self.alpha = alpha

    def exact(self, n_rows: int) -> "KernelInfluence":
        """Return the model in rational arithmetic."""
        return KernelInfluence(self, n_rows)

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model."""
        return {"kind": self.kind, "alpha": float(self.alpha)}


class KernelInfluence(ExactInfluence):
    """Exact influence of kernel ridge: z(x) = S·q with (KᵀS + alpha·I) q = k(x).

    Only rows of positive weight take part. Where the equations are singular, z(x) is
    √S (√S Kᵀ √S + alpha·I)⁺ √S k(x), which has a form without square roots.
    """

    def __init__(self, specification: KernelSpecification, n_rows: int) -> None:
        flint = self._flint = exact_arithmetic()
        weight = specification.weights(n_rows)
        self._kept = np.flatnonzero(weight > 0)
        self.group, self.n_groups = np.arange(n_rows), n_rows
        size = len(self._kept)
        gram: Matrix = specification.matrix
        kernel = Dyadic.of(gram[np.ix_(self._kept, self._kept)])
        weights = Dyadic.of(weight[self._kept])
        kernel_low, weight_low = kernel.least(), weights.least()
        whole = weights.over(weight_low)
        low = kernel_low + weight_low
        self._kernel, self._kernel_low = kernel.over(kernel_low), kernel_low
        self._weight = [Fraction(each) for each in weight.tolist()]
        matrix = scale_rows(flint.fmpz_mat(size, size, self._kernel), whole).transpose()
        if specification.alpha:
            alpha = Dyadic.of(np.full(size, specification.alpha))
            matrix *= 1 << max(0, low - alpha.least())
            low = min(low, alpha.least())
            matrix += diagonal(alpha.over(low))
        self._matrix, self._exponent = matrix, low
        self._pseudo_inverse = None
        if not is_surely_regular(matrix) and matrix.rank() < size:
            self._pseudo_inverse = self._invert(whole)

    def _invert(self, weight: list[int]) -> Any:
        """Return the matrix that takes k to q = S⁻¹ z, where the equations are singular.

        With Q = K + alpha·S⁻¹, C independent columns and P independent rows of it,
        q = Q_C (Q_CᵀSQ_C)⁻¹ Q_PCᵀ (Q_P S Q_Pᵀ)⁻¹ Q_P S k.
        """
        flint, size = self._flint, len(weight)
        scale = flint.fmpq_mat(diagonal(weight))
        q = scale.inv() * flint.fmpq_mat(self._matrix.transpose())
        # Rows of Q are those of the whole matrix up to factors; its columns are the same.
        whole = self._matrix.transpose()
        columns = independent_rows(whole.transpose())
        rows = independent_rows(whole)
        everything = range(size)
        tall, wide = take(q, everything, columns), take(q, rows, everything)
        core = take(q, rows, columns)
        left = tall * (tall.transpose() * scale * tall).inv()
        right = (wide * scale * wide.transpose()).inv() * wide * scale
        return left * core.transpose() * right

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the scores of rows, given their kernel with the training rows."""
        for start in range(0, represented.shape[0], _BLOCK):
            block = Dyadic.of(dense(represented[start : start + _BLOCK])[:, self._kept])
            yield from self._solve(block)

    def solutions(self, subjects: FloatArray) -> Iterator[list[Fraction]]:
        """Yield z for each row; where equations are singular, u with z = K·u."""
        for found in self.rows(subjects):
            kept = self._kept.tolist()
            z = [found.numerators[at] * found.scale * self._weight[at] for at in kept]
            yield z if self._pseudo_inverse is None else self._combined(z)

    def _combined(self, z: list[Fraction]) -> list[Fraction]:
        """Return how often each column of the kernel matrix counts in a sum of them."""
        flint = self._flint
        columns = independent_rows(self._matrix)
        kernel = flint.fmpz_mat(len(z), len(z), self._kernel)
        tall = flint.fmpq_mat(take(kernel, range(len(z)), columns))
        right = flint.fmpq_mat(len(z), 1, [flint.fmpq(e.numerator, e.denominator) for e in z])
        found = (tall.transpose() * tall).inv() * (tall.transpose() * right)
        made = [Fraction(0)] * len(z)
        for row, at in enumerate(columns):
            number = Fraction(int(found[row, 0].p), int(found[row, 0].q))
            made[at] = number * power_of_two(-self._kernel_low)
        return made

    def _solve(self, kernel: Dyadic) -> Iterator[InfluenceRow]:
        """Yield one influence row for each row of kernel values."""
        n_rows = len(kernel.odd)
        lows = [kernel[row].least() for row in range(n_rows)]
        whole = kernel.over(np.array(lows, dtype=np.int64)[:, None])
        right = self._flint.fmpz_mat(n_rows, len(self._kept), whole).transpose()
        if self._pseudo_inverse is None:
            solution = self._matrix.solve(right)
        else:
            solution = self._pseudo_inverse * self._flint.fmpq_mat(right)
        numerator, denominator = solution.numer_denom()
        for row, low in enumerate(lows):
            numerators = [0] * self.n_groups
            for at, value in zip(self._kept.tolist(), column_of(numerator, row), strict=True):
                numerators[at] = value
            scale = power_of_two(low - self._exponent) / int(denominator)
            yield InfluenceRow(numerators, scale)


class KernelLearner(LinearInLabels):
    """The learner of kernel ridge, and of Gaussian processes: their mean is the same.

    Certificates are about the kernel values as computed: they do not depend on labels.
    """

    def __init__(
        self,
        kernel: Callable[[Matrix, Matrix | None], FloatArray],
        rows: Matrix,
        *,
        alpha: float = 0.0,
        added: FloatArray | float = 0.0,  # to the kernel of each training row with itself
        sample_weight: FloatArray | None = None,
    ) -> None:
        self._kernel, self._rows = kernel, rows
        gram = _symmetric(kernel(rows, None))
        gram[np.diag_indices_from(gram)] += added
        self.n_rows = len(gram)
        self.specification = KernelSpecification(gram, alpha=alpha, sample_weight=sample_weight)
        weight = ScaledWeights.of(sample_weight, self.n_rows)
        self._weight, self._root = weight.values, np.sqrt(weight.values)
        largest = max(float(np.abs(gram).max()), alpha / weight.factor)
        self._scale = float(1.0 / binade(largest))
        penalty = alpha / weight.factor * self._scale
        exact = weight.exact and penalty / self._scale * weight.factor == alpha
        matrix = gram * self._scale * np.outer(self._root, self._root)
        matrix[np.diag_indices_from(matrix)] += penalty
        size = float(np.linalg.norm(matrix)) + penalty * math.sqrt(self.n_rows)
        error = SAFETY * 8 * UNIT * size + SIZE_UNDERFLOW
        self._solver = VerifiedInverse(matrix, error if exact else math.inf)
        self.error_scale = self._error_scale()

    def _error_scale(self) -> ErrorScale:
        solver = self._solver
        if not solver.proven:
            return ErrorScale.unknown(self.n_rows)
        error = SAFETY * (solver.bound * (solver.residual + 8 * UNIT) + 8 * UNIT * solver.norm)
        entry = np.full(self.n_rows, SIZE_UNDERFLOW)
        return ErrorScale(self._weight, entry, error + SIZE_UNDERFLOW, 1.0)

    def represent(self, rows: Matrix) -> FloatArray:
        """Return the kernel of rows with the training rows; raise if it is not finite."""
        found = self._kernel(rows, self._rows)
        if not np.isfinite(found).all():
            raise InputError(
                "the kernel of a row with the training rows is NaN or infinite, so that the model "
                "has no score there; scale the features, or drop rows that far away"
            )
        return found

    def _weighted(self, kernel: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return kernel rows, scaled and times the roots of the weights, and their sizes."""
        weighted = np.asarray(rescaled(rescaled(kernel, self._scale), self._root))
        return weighted, padded(row_norms(weighted))

    def weights(self, represented: FloatArray) -> Weights:
        """Return the influence rows themselves: there is no design."""
        right, sizes = self._weighted(represented)
        found, residual = self._solver.solve(right, sizes)
        with np.errstate(over="ignore", invalid="ignore"):
            error = self._solver.bound * (residual + 8 * UNIT * sizes) + 8 * UNIT * row_norms(found)
            found = found * self._root
        return Weights(np.ascontiguousarray(found), SAFETY * error + SIZE_UNDERFLOW * sizes, sizes)

    def solve(self, labels: FloatArray) -> Solution:
        """Return the dual coefficients, in the scale of the weighted kernel."""
        solver, right = self._solver, self._root * labels
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = row_norms(right[None])
            (dual,), (residual,) = solver.solve(right[None], sizes)
            residual = SAFETY * float(residual + 4 * UNIT * sizes[0])
            rounding = gamma(self.n_rows + 8) * norm(dual) + SIZE_UNDERFLOW
            return Solution(dual, residual if solver.proven else math.inf, rounding)

    def scores(self, represented: FloatArray, solution: Solution) -> Scores:
        """Return the scores of kernel rows, given the dual coefficients."""
        weighted, sizes = self._weighted(represented)
        norms = self._solver.solution_norms(weighted, sizes)
        norms = norms + self._solver.bound * 8 * UNIT * sizes  # of the weighted row
        return solution.scores(weighted @ solution.values, sizes, norms)


def _learner(model: Any, features: Matrix, sample_weight: FloatArray | None) -> KernelLearner:
    kernel = partial(_kernel, model)
    alpha = one_alpha(model)
    return KernelLearner(kernel, model.X_fit_, alpha=alpha, sample_weight=sample_weight)


register(
    Family(
        (KernelRidge,),
        learner=_learner,
        check=one_alpha,
        keeps_rows=lambda model: model.kernel != "precomputed",
    )
)


# --- Gaussian processes -----------------------------------------------------------------------


def _check_process(model: Any) -> None:
    """Raise if the labels choose the kernel."""
    free = model.kernel is None or model.kernel.n_dims > 0  # None stands for one that is fitted
    if model.optimizer is not None and free:
        raise LabelPeekError(
            f"GaussianProcessRegressor(optimizer={model.optimizer!r}) chooses the parameters of "
            "its kernel by the labels, so changing a label changes the kernel and the certificate "
            "would be false; choose them on data outside the training set, and pass that kernel "
            "with optimizer=None"
        )


def _process(model: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearInLabels:
    found = KernelLearner(model.kernel_, model.X_train_, added=model.alpha)
    if not model.normalize_y:
        return found
    # Labels are divided by their spread, and predictions multiplied by it: only the mean is left.
    return Average(found.n_rows, [Member(Fraction(1), found)], centred=True)


register(
    Family(
        (GaussianProcessRegressor,),
        learner=_process,
        check=_check_process,
        keeps_rows=lambda model: True,
    )
)
