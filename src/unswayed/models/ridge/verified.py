"""Approximate inverses with a proven error bound."""

import math

import numpy as np
from scipy import linalg

from unswayed._core.parallel import few_blas_threads
from unswayed._core.rounding import LEAST_SIZE, SAFETY, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import dense
from unswayed.models.ridge.scaling import row_norms

_CONVINCING = 0.5  # a defect above this proves nothing worth having
_SMALL = 256  # products with matrices up to this size are cheap beside all the rest
_BLOCK = 2**17  # numbers looked at at a time
_NEGLIGIBLE = 0.25  # share of the rounding that measuring a residual takes: less is not improved on
_SHARP = 1e-8  # with larger ones, solutions are refined and measured above this residual only


class VerifiedInverse:
    """Approximate inverse G of a symmetric matrix M that is known up to an error.

    If ‖I - M G‖ <= defect < 1, then M is regular and ‖M⁻¹‖ <= ‖G‖ / (1 - defect), however G was
    computed.
    """

    def __init__(self, matrix: FloatArray, error: float) -> None:
        size = len(matrix)
        with few_blas_threads(size), np.errstate(over="ignore", invalid="ignore"):
            self.inverse = _invert(matrix)
            self.norm = _norm(self.inverse)
            missed = matrix @ self.inverse
            missed[np.diag_indices(size)] -= 1.0
        # Rounding of that product, what M is off by, and rounding of products with G later on.
        spread = _norm(matrix) + error
        rounding = gamma(size + 2) * (spread * self.norm + math.sqrt(size))
        defect = SAFETY * (float(np.linalg.norm(missed)) + error * self.norm + rounding)
        self.defect = defect
        self.proven = bool(defect < _CONVINCING)
        self.bound = self.norm / (1.0 - defect) * SAFETY if self.proven else math.inf
        self.residual = SAFETY * (defect + rounding) if self.proven else math.inf
        sharp = self.proven and (size <= _SMALL or self.residual > _SHARP)
        self._matrix = matrix if sharp else None
        self._residual_rounding = SAFETY * (gamma(size + 4) * spread + error)

    def solution_norms(self, right: Matrix, sizes: FloatArray) -> FloatArray:
        """Return upper bounds on ‖M⁻¹ b‖ for every row b of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._matrix is None:
                return self.bound * sizes
            found, residual = self.solve(right, sizes)
            return SAFETY * (row_norms(found) + self.bound * residual)

    def solve(self, right: Matrix, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve M x = b approximately for every row b of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(right @ self.inverse)
            if self._matrix is None:
                return found, self.residual * sizes
            # Measured residuals are far less than G promises for every right side. Where M is
            # badly conditioned, they are solved for once more.
            right = dense(right)
            missed = right - found @ self._matrix
            rounding = self._measuring(found, sizes)
            poor = np.flatnonzero(~(row_norms(missed) <= _NEGLIGIBLE * rounding))
            if len(poor):
                found[poor] += missed[poor] @ self.inverse
                missed[poor] = right[poor] - found[poor] @ self._matrix
                rounding[poor] = self._measuring(found[poor], sizes[poor])
            return found, SAFETY * (row_norms(missed) + rounding)

    def _measuring(self, found: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return bounds on the rounding of measured residuals."""
        return self._residual_rounding * row_norms(found) + gamma(len(self.inverse) + 4) * sizes


def _norm(matrix: FloatArray) -> float:
    """Return an upper bound on the spectral norms of a symmetric matrix and its absolute value."""
    # In blocks: a second matrix of that size would cost more than the sums.
    blocks = np.array_split(matrix, 1 + matrix.size // _BLOCK)
    rows = max(float(np.abs(block).sum(axis=1).max(initial=0.0)) for block in blocks)
    frobenius = float(np.linalg.norm(matrix))
    # Of small entries the squares underflow: that norm would then be too small.
    return (min(frobenius, rows) if frobenius > LEAST_SIZE else rows) * SAFETY


def _invert(matrix: FloatArray) -> FloatArray:
    """Return an approximate inverse of a symmetric matrix; zeros if the matrix is not finite."""
    size = len(matrix)
    if not np.isfinite(matrix).all():
        return np.zeros_like(matrix)  # proves nothing, and says so
    factor, failed = linalg.lapack.dpotrf(matrix, lower=True)
    if not failed:
        inverse, failed = linalg.lapack.dpotri(factor, lower=True)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
    if failed or not np.isfinite(inverse).all():
        values, vectors = linalg.eigh(matrix)
        kept = np.abs(values) > size * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
        with np.errstate(over="ignore"):
            inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        inverse = (inverse + inverse.T) / 2
    return np.asarray(inverse)
