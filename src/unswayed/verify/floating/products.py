"""Matrix products with 80 binary digits, from exact products of short slices.

Numbers of at most 1 in size are cut into multiples of 2^-21, 2^-42, 2^-63 and 2^-84. A product of
two slices over 2,048 terms is a whole number of units below 2^53, so that BLAS computes it without
rounding, in whatever order it likes; the products are added up as pairs of doubles.

What is left out: per term less than 2^-83 for slices beyond the fourth and for products of slices
that are small, and less than 2^-104 for factors that were themselves rounded to pairs. Adding N
products of slices up loses N² · 2^-106 per term at most.
"""

import numpy as np

from unswayed.verify.floating.enclosure import Enclosure, two_sum
from unswayed.verify.floating.rounding import SAFETY, TINY, FloatArray, exponents

LENGTH = 2**11  # terms of a sum of products of slices: 2·21 + 11 = 53 digits
_DIGITS, _SLICES = 21, 4
_LOST_PER_TERM = 2.0**-81
_LOST_PER_ADDITION = 2.0**-104
_ROWS = 256  # of the left factor at a time, to bound the memory of its slices
_COLUMNS = 512  # of a product that is added to others

Pair = tuple[FloatArray, FloatArray]  # high and low parts


class SumOfProducts:
    """A product of two matrices, added up block by block of the terms."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._high, self._low = np.zeros(shape), np.zeros(shape)
        self._n_terms, self._n_added = 0, 0

    def add(self, left: Pair, right: Pair) -> None:
        """Add the product of the transpose of one matrix with another."""
        lefts, rights = _slices(*left), _slices(*right)
        self._n_terms += len(left[0])
        for depth in range(_SLICES):
            for at in range(depth + 1):
                one, other = lefts[at], rights[depth - at]
                if one is not None and other is not None:
                    self._add(one.T, other)
                    self._n_added += 1

    def _add(self, left: FloatArray, right: FloatArray) -> None:
        """Add a product that does not round; some columns at a time, to bound the memory."""
        for start in range(0, right.shape[1], _COLUMNS):
            part = slice(start, start + _COLUMNS)
            self._high[:, part], rest = two_sum(self._high[:, part], left @ right[:, part])
            self._low[:, part] += rest

    def total(self) -> Enclosure:
        """Return the product."""
        high, low = two_sum(self._high, self._low)
        lost = self._n_terms * (_LOST_PER_TERM + self._n_added**2 * _LOST_PER_ADDITION)
        return Enclosure(high, low, np.full_like(high, lost * SAFETY))


def product(left: Enclosure, right: Enclosure) -> Enclosure:
    """Return the product of two matrices of any sizes of numbers."""
    blocks = [
        _block(left.high[start : start + _ROWS], left.low[start : start + _ROWS], right)
        for start in range(0, len(left.high), _ROWS)
    ]
    parts = ([getattr(block, name) for block in blocks] for name in ("high", "low", "error"))
    return Enclosure(*map(np.concatenate, parts))


def _block(high: FloatArray, low: FloatArray, right: Enclosure) -> Enclosure:
    """Return the product of some rows with a matrix, all scaled by powers of two on the way."""
    rows, columns = exponents(high, axis=1), exponents(right.high, axis=0)
    found = SumOfProducts((len(high), right.high.shape[1]))
    for start in range(0, high.shape[1], LENGTH):
        part = slice(start, start + LENGTH)
        found.add(
            (np.ldexp(high[:, part], -rows).T, np.ldexp(low[:, part], -rows).T),
            (np.ldexp(right.high[part], -columns), np.ldexp(right.low[part], -columns)),
        )
    total = found.total().shifted(rows + columns)
    return Enclosure(total.high, total.low, total.error + TINY)


def _slices(high: FloatArray, low: FloatArray) -> list[FloatArray | None]:
    """Return numbers cut into slices, the largest digits first; None for a slice of zeros."""
    found: list[FloatArray | None] = []
    for at in range(1, _SLICES + 1):
        unit = 2.0 ** (_DIGITS * at)
        part = np.rint(high * unit) / unit
        found.append(part if part.any() else None)  # NaN counts as something
        high, low = two_sum(high - part, low)
    return found
