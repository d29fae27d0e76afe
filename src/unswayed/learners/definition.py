"""The model in full, as numbers: what an exact computation or a checker starts from."""

import zlib
from typing import Literal

import numpy as np

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError


def _checksum(matrix: Matrix) -> int:
    # Of sparse ones the data alone: they are copies, nobody else has them.
    data = matrix.data if hasattr(matrix, "indptr") else matrix
    # It must depend on the order of the rows: shuffling them in place is a change too.
    return zlib.crc32(np.ascontiguousarray(data).data)


class Definition:
    """Which linear model it is, and the doubles that define it.

    "ridge": minimise Σ s_i (y_i - b - x_i·c)² + alpha ‖c‖² over c (and b with an intercept);
    with alpha 0 the minimiser of least ‖c‖. "kernel-ridge": score k(x)·(K + alpha S⁻¹)⁻¹ y for
    the kernel matrix K as it was computed. "smoother": score z·y.

    Attributes
    ----------
    kind : {"ridge", "kernel-ridge", "smoother"}
    alpha : float
    fit_intercept : bool
    sample_weight : (n,) array or None
    """

    def __init__(
        self,
        kind: Literal["ridge", "kernel-ridge", "smoother"],
        matrix: Matrix | None = None,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = False,
        sample_weight: FloatArray | None = None,
    ) -> None:
        self.kind = kind
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.sample_weight = sample_weight
        # Not a copy: features may be gigabytes. The sum tells if somebody wrote into them since.
        self._matrix = matrix
        self._sum = None if matrix is None else _checksum(matrix)

    @property
    def matrix(self) -> Matrix | None:
        """Training features ("ridge") or the kernel matrix; None for a smoother."""
        if self._matrix is not None and _checksum(self._matrix) != self._sum:
            raise InputError(
                "the training features were changed in place after fit, so that nothing exact "
                "can be said of the fitted model any more; fit again"
            )
        return self._matrix
