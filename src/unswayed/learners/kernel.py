"""Kernel ridge: z(x) = √S (√S K √S + αI)⁺ √S k(x)."""

from typing import Any

import numpy as np

from unswayed._typing import FloatArray, Matrix
from unswayed.learners.definition import Definition
from unswayed.learners.symmetric import SymmetricSolver


class KernelLearner:
    """A fitted scikit-learn KernelRidge as the engine sees it.

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
        gram = np.asarray(model._get_kernel(model.X_fit_))
        self.n_rows = len(gram)
        self.definition = Definition("kernel-ridge", gram, alpha=alpha, sample_weight=sample_weight)
        self._root = np.ones(self.n_rows) if sample_weight is None else np.sqrt(sample_weight)
        matrix = gram * np.outer(self._root, self._root)
        matrix[np.diag_indices_from(matrix)] += alpha
        self._solver = SymmetricSolver(matrix)
        self.residual = self._solver.residual

    def inputs(self, rows: Matrix) -> FloatArray:
        """Kernel rows."""
        return np.asarray(self._model._get_kernel(rows, self._model.X_fit_))

    def weights(self, rows: Matrix) -> FloatArray:
        """Whole influence rows."""
        right = (self.inputs(rows) * self._root).T
        return np.ascontiguousarray((self._solver.solve(right) * self._root[:, None]).T)

    def solve(self, labels: FloatArray) -> FloatArray:
        """Dual coefficients."""
        return self._root * self._solver.solve(self._root * labels)

    def scores(self, rows: Matrix, solution: FloatArray) -> FloatArray:
        """Scores of feature rows, given the dual coefficients."""
        # In blocks: the kernel of all rows with all training rows would be T×n.
        step = max(1, 2**22 // self.n_rows)
        parts = [
            self.inputs(rows[at : at + step]) @ solution for at in range(0, rows.shape[0], step)
        ]
        return np.concatenate(parts)
