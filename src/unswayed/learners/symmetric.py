"""Solving with a symmetric matrix, through the pseudo-inverse where it is singular."""

import contextlib

import numpy as np
from scipy import linalg

from unswayed._typing import FloatArray


class SymmetricSolver:
    """Solve M x = b for a symmetric M: by Cholesky, else by the minimum-norm solution.

    Parameters
    ----------
    matrix : (m, m) array
    rank : int, optional
        Keep this many eigenvalues, the largest ones; by default those above rounding error.
    definite : bool
        Try Cholesky first. False where M is known to be singular, because rounding can let
        Cholesky pass on a singular matrix with a meaningless answer.
    """

    def __init__(
        self, matrix: FloatArray, *, rank: int | None = None, definite: bool = True
    ) -> None:
        self._factor = None
        if definite:
            with contextlib.suppress(linalg.LinAlgError):
                self._factor = linalg.cho_factor(matrix, lower=True)
        if self._factor is None:
            values, vectors = linalg.eigh(matrix)
            order = np.argsort(-np.abs(values))
            if rank is None:
                cutoff = len(matrix) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
                rank = int(np.sum(np.abs(values) > cutoff))
            kept = order[:rank]
            self._vectors, self._values = vectors[:, kept], values[kept]

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for every column of `right`."""
        if self._factor is not None:
            return np.asarray(linalg.cho_solve(self._factor, right))
        inner = self._vectors.T @ right
        scale = self._values if inner.ndim == 1 else self._values[:, None]
        return np.asarray(self._vectors @ (inner / scale))
