"""Kernel ridge: z(x) = √S N⁻¹ √S k(x) with N = √S K √S + αI, K and k(x) as computed."""

import math
from typing import Any

import numpy as np

from unswayed._core.influence import Weights
from unswayed._core.rounding import SAFETY, SMALL, UNIT, binade, gamma, norm
from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.learners.accuracy import Accuracy, Scores, Solution
from unswayed.learners.definition import Definition
from unswayed.learners.scaling import ScaledWeights, padded, rescaled, row_norms
from unswayed.learners.verified import VerifiedInverse

_ROUNDING = 1e-6  # of the largest kernel number: more is no rounding, not even to single precision


def _symmetric(gram: FloatArray) -> FloatArray:
    """Return the lower half of a kernel matrix, twice: its products may round differently."""
    lower = np.tril(gram)
    lower += np.tril(gram, -1).T
    # No more matrices at a time than needed: they are the largest there are.
    off, largest = (max(float(m.max()), -float(m.min())) for m in (gram - lower, gram))
    if not off <= _ROUNDING * largest:
        raise InputError(
            f"the kernel is not symmetric: k(a, b) and k(b, a) differ by {off:.1e} for two "
            "training rows, and solvers read one of them only; pass a symmetric kernel"
        )
    return lower


class KernelLearner:
    """A fitted scikit-learn KernelRidge as the engine sees it.

    The kernel as computed is its data: kernels do not look at labels.

    Parameters
    ----------
    model : KernelRidge
        Fitted: it knows its kernel and its training rows.
    alpha : float
    sample_weight : (n,) array, optional
    """

    design = None
    row_scale = None

    def __init__(
        self, model: Any, *, alpha: float, sample_weight: FloatArray | None = None
    ) -> None:
        self._model = model
        gram = _symmetric(np.asarray(model._get_kernel(model.X_fit_), dtype=np.float64))
        self.n_rows = len(gram)
        self.definition = Definition("kernel-ridge", gram, alpha=alpha, sample_weight=sample_weight)
        weight = ScaledWeights.of(sample_weight, self.n_rows)
        self._weight, self._root = weight.values, np.sqrt(weight.values)
        largest = max(float(np.abs(gram).max()), alpha / weight.factor)
        self._scale = float(1.0 / binade(largest))
        penalty = alpha / weight.factor * self._scale
        exact = weight.exact and penalty / self._scale * weight.factor == alpha
        matrix = gram * self._scale * np.outer(self._root, self._root)
        matrix[np.diag_indices_from(matrix)] += penalty
        size = float(np.linalg.norm(matrix)) + penalty * math.sqrt(self.n_rows)
        error = SAFETY * 8 * UNIT * size + SMALL
        self._solver = VerifiedInverse(matrix, error if exact else math.inf)
        self.accuracy = self._accuracy()

    def _accuracy(self) -> Accuracy:
        solver = self._solver
        if not solver.proven:
            return Accuracy.none(self.n_rows)
        off = SAFETY * (solver.bound * (solver.residual + 8 * UNIT) + 8 * UNIT * solver.norm)
        return Accuracy(self._weight, np.full(self.n_rows, SMALL), off + SMALL, 1.0)

    def inputs(self, rows: Matrix) -> FloatArray:
        """Kernel rows."""
        found = np.asarray(self._model._get_kernel(rows, self._model.X_fit_), dtype=np.float64)
        if not np.isfinite(found).all():
            raise InputError(
                "the kernel of a row with the training rows is NaN or infinite, so that the model "
                "has no score there; scale the features, or drop rows that far away"
            )
        return found

    def _weighted(self, kernel: FloatArray) -> tuple[FloatArray, FloatArray]:
        weighted = np.asarray(rescaled(rescaled(kernel, self._scale), self._root))
        return weighted, padded(row_norms(weighted))

    def weights(self, inputs: FloatArray) -> Weights:
        """Whole influence rows."""
        right, sizes = self._weighted(inputs)
        found, left = self._solver.solve(right, sizes)
        with np.errstate(over="ignore", invalid="ignore"):
            off = self._solver.bound * (left + 8 * UNIT * sizes) + 8 * UNIT * row_norms(found)
            found = found * self._root
        return Weights(np.ascontiguousarray(found), SAFETY * off + SMALL * sizes, sizes)

    def solve(self, labels: FloatArray) -> Solution:
        """Dual coefficients, in the scale of the weighted kernel."""
        solver, right = self._solver, self._root * labels
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = row_norms(right[None])
            (dual,), (left,) = solver.solve(right[None], sizes)
            left = SAFETY * float(left + 4 * UNIT * sizes[0])
            rounding = gamma(self.n_rows + 8) * norm(dual) + SMALL
            return Solution(dual, left if solver.proven else math.inf, rounding)

    def scores(self, inputs: FloatArray, solution: Solution) -> Scores:
        """Scores of kernel rows, given the dual coefficients."""
        weighted, sizes = self._weighted(inputs)
        norms = self._solver.solution_norms(weighted, sizes)
        norms = norms + self._solver.bound * 8 * UNIT * sizes  # of the weighted row
        return solution.scores(weighted @ solution.values, sizes, norms)
