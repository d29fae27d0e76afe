"""Solving with a symmetric matrix, through the pseudo-inverse where it is singular."""

import contextlib
from collections.abc import Callable

import numpy as np
from scipy import linalg

from unswayed._typing import FloatArray


def relative_residual(
    apply: Callable[[FloatArray], FloatArray],
    solve: Callable[[FloatArray], FloatArray],
    probe: FloatArray,
) -> float:
    """How far ``apply(solve(b))`` is from b, for the b that the probe solves; inf if undefined."""
    with np.errstate(over="ignore", invalid="ignore"):
        right = apply(probe)
        size = float(np.linalg.norm(right))
        miss = float(np.linalg.norm(apply(solve(right)) - right))
    if not (np.isfinite(miss) and np.isfinite(size)):
        return np.inf
    return miss / size if size else 0.0


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

        probe = np.cos(np.arange(1.0, len(matrix) + 1.0))
        self.residual = relative_residual(lambda v: matrix @ v, self.solve, probe)

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for every column of `right`."""
        if self._factor is not None:
            return np.asarray(linalg.cho_solve(self._factor, right))
        inner = self._vectors.T @ right
        scale = self._values if inner.ndim == 1 else self._values[:, None]
        return np.asarray(self._vectors @ (inner / scale))
