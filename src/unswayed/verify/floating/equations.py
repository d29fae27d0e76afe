"""Linear equations that are proven to have one solution, and a proven bound on its error.

Let R be any matrix, here an inverse that LAPACK computed, and T >= |I - RH| entry by entry. If the
rows of T sum up to less than 1, H is regular. An approximate solution x of Hx = b with residual
r = b - Hx errs by e = Rr + (I - RH)e; so with v >= |Rr| and δ the row sums of T,

    max|e| <= max(v) / (1 - max(δ))   and   |e| <= v + δ·max|e|.

The residual is computed with 80 binary digits, so that x can be improved far beyond a double.
"""

import numpy as np

from unswayed.verify.floating.enclosure import Enclosure, two_sum
from unswayed.verify.floating.products import product
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    gamma,
)

MOST_EQUATIONS = 2**11  # a dozen matrices of that size are what memory is promised for
_STEPS = 3  # of refinement
_ROWS = 256  # of the inverse that are checked at a time


class Equations:
    """Equations Hx = b with a proven regular matrix."""

    def __init__(self, matrix: Enclosure, sizes: IntArray) -> None:
        self._sizes = sizes[:, None]
        self._matrix = matrix.shifted(-(self._sizes + sizes))
        parts = (self._matrix.high, self._matrix.low, self._matrix.error)
        if not all(np.isfinite(part).all() for part in parts):
            raise UnprovenError("the equations overflow")
        try:
            self._inverse = np.linalg.inv(self._matrix.high)
        except np.linalg.LinAlgError:
            raise UnprovenError("the equations look singular") from None
        self._magnitude = np.abs(self._inverse)
        self._defect = self._row_sums()[:, None]
        self._most = float(self._defect.max())
        if not self._most < 0.5:  # NaN proves nothing
            raise UnprovenError("the equations are too close to singular")

    def _row_sums(self) -> FloatArray:
        """Return bounds on the row sums of |I - RH|."""
        matrix, size = self._matrix, len(self._inverse)
        relative = gamma(size + 2)
        doubt, found = np.empty(size), np.empty(size)
        for start in range(0, size, _ROWS):
            part = slice(start, start + _ROWS)
            sizes = relative * np.abs(matrix.high[part]) + np.abs(matrix.low[part])
            doubt[part] = (sizes + matrix.error[part]).sum(axis=1)
            rows = self._inverse[part] @ matrix.high
            rows[np.arange(len(rows)), start + np.arange(len(rows))] -= 1.0
            found[part] = np.abs(rows).sum(axis=1)
        found += self._magnitude @ doubt + relative
        return np.asarray(found * SAFETY + size * TINY)

    def solve(self, right: Enclosure) -> Enclosure:
        """Return the solution for each column of the right side."""
        right = right.shifted(-self._sizes)
        high = self._inverse @ right.high
        low = np.zeros_like(high)
        for _ in range(_STEPS):
            rest, _ = self._residual(high, low, right)
            total, lost = two_sum(high, self._inverse @ rest)
            high, low = two_sum(total, low + lost)
        rest, doubt = self._residual(high, low, right)
        error = self._magnitude @ (np.abs(rest) + doubt) * SAFETY + len(high) * TINY
        most = error.max(axis=0, initial=0.0) / (1.0 - self._most)
        error = (error + self._defect * most) * SAFETY
        return Enclosure(high, low, error).shifted(-self._sizes)

    def _residual(
        self, high: FloatArray, low: FloatArray, right: Enclosure
    ) -> tuple[FloatArray, FloatArray]:
        """Return the residual of an approximate solution, and a bound on its own error."""
        matrix = self._matrix
        made = product(matrix, Enclosure(high, low, low))
        total, lost = two_sum(right.high, -made.high)
        rest = right.low - made.low
        found = total + (lost + rest)
        roundings = UNIT * (np.abs(rest) + np.abs(lost + rest) + np.abs(found))
        doubt = matrix.error @ (np.abs(high) + np.abs(low)) + len(high) * TINY
        return found, (made.error + right.error + doubt + roundings) * SAFETY
