"""Numbers as sums of two doubles, with a bound on how far they are from the truth.

A pair ``high + low`` holds about 106 binary digits. The two functions below get the rounding error
of a sum and of a product as a double of its own (Knuth; Dekker and Veltkamp), without fused
multiply-add.
"""

from dataclasses import dataclass

import numpy as np

from unswayed.verify.floating.rounding import TINY, UNIT, FloatArray, IntArray

_SPLITTER = 2.0**27 + 1.0


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a sum and its rounding error, which together are the exact sum."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a product and its rounding error, which together are the exact product."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, rest


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two numbers of 26 digits whose sum is `a`."""
    large = _SPLITTER * a
    high = large - (large - a)
    return high, a - high


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Real numbers: each is ``high + low``, up to `error`."""

    high: FloatArray  # `low` is at most a rounding error of `high`
    low: FloatArray  # `low` is at most a rounding error of `high`
    # Of the same shape, or one that broadcasts to it. Where it or the others are infinite or NaN,
    # nothing is known
    error: FloatArray

    @classmethod
    def of(cls, numbers: FloatArray) -> "Enclosure":
        """Return doubles as they are."""
        zeros = np.broadcast_to(0.0, numbers.shape)
        return cls(numbers, zeros, zeros)

    @property
    def transposed(self) -> "Enclosure":
        """The transpose of a matrix."""
        return Enclosure(self.high.T, self.low.T, self.error.T)

    def part(self, which: slice) -> "Enclosure":
        """Return some of the numbers of a vector."""
        return Enclosure(self.high[which], self.low[which], self.error[which])

    def columns(self, which: slice) -> "Enclosure":
        """Return some columns of a matrix."""
        return Enclosure(self.high[:, which], self.low[:, which], self.error[:, which])

    def shifted(self, power: IntArray | int) -> "Enclosure":
        """Return the numbers times powers of two; what underflows is counted as an error."""
        error = np.ldexp(self.error, power) + TINY
        return Enclosure(np.ldexp(self.high, power), np.ldexp(self.low, power), error)

    def plus(self, numbers: FloatArray, error: FloatArray | float = 0.0) -> "Enclosure":
        """Return the sums with other numbers."""
        total, rest = two_sum(self.high, numbers)
        low = self.low + rest
        high, rest = two_sum(total, low)
        return Enclosure(high, rest, self.error + error + UNIT * np.abs(low))

    def plus_diagonal(self, diagonal: "Enclosure") -> "Enclosure":
        """Return a square matrix with numbers added to its diagonal."""
        at = np.arange(len(self.high))
        parts = [part.copy() for part in (self.high, self.low, self.error)]
        old = Enclosure(*(part[at, at] for part in parts))
        new = old.plus(diagonal.high).plus(diagonal.low, diagonal.error)
        for part, values in zip(parts, (new.high, new.low, new.error), strict=True):
            part[at, at] = values
        return Enclosure(*parts)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return doubles that the true numbers lie between."""
        below = np.nextafter(self.low - self.error, -np.inf)
        above = np.nextafter(self.low + self.error, np.inf)
        return np.nextafter(self.high + below, -np.inf), np.nextafter(self.high + above, np.inf)
