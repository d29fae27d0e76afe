"""Exponentials, means and secant slopes, from additions and products of doubles alone.

No library function is trusted: an exponential is a power of two times a Taylor polynomial, whose
rest is below 2^-57. Secants are products, so that nothing cancels: with a < b and t = b - a

    σ(b) - σ(a) = σ(b) σ(-a) (1 - e^-t)        and        e^b - e^a = e^b (1 - e^-t).
"""

import math
from abc import ABC, abstractmethod
from decimal import Context, Decimal

import numpy as np

from unswayed.verify.doubles import TINY, FloatArray

# Bounds on relative errors: of `exponential`, a dozen roundings of which are at most 2^-48; of
# means, beside `TINY`; and of secants, beside `TINY`, for margins and moves below `FAR`. Three
# factors of a secant are wrong by 2^-44 each at most; the sum of a margin and its move is rounded
# by 2^-41, and changes secants by as much, relatively.
EXPONENTIAL, MEAN, SECANT = 2.0**-46, 2.0**-44, 2.0**-40
FAR = 1024.0  # margins and moves beyond this are not looked into: NaN stands for what is not known

_MOST = 700.0  # exponents: e^-700 is less than `TINY`, and is taken for 0

_LN2 = Context(prec=50).ln(Decimal(2))
_HIGH = math.floor(float(_LN2) * 2.0**32) / 2.0**32  # times whole numbers below 2^20: no rounding
_LOW = float(_LN2 - Decimal(_HIGH))
_DEGREE = 13  # |r| < 0.36, and 0.36^14 / 14! < 2^-57
_SERIES = 18  # t < 1, and 1 / 19! < 2^-56
_BISECTIONS = 32


def exponential(values: FloatArray) -> FloatArray:
    """Return exponentials, wrong by `EXPONENTIAL` of their value at most."""
    values = np.asarray(values, dtype=np.float64)
    known = np.abs(values) <= _MOST
    safe = np.where(known, values, 0.0)
    power = np.rint(safe * (1.0 / float(_LN2)))
    rest = (safe - power * _HIGH) - power * _LOW
    found = np.full_like(rest, 1.0 / math.factorial(_DEGREE))
    for degree in range(_DEGREE - 1, -1, -1):
        found = found * rest + 1.0 / math.factorial(degree)
    beyond = np.where(values < -_MOST, 0.0, np.nan)
    return np.where(known, np.ldexp(found, power.astype(np.int64)), beyond)


def _share(moved: FloatArray) -> FloatArray:
    """Return (1 - e^-t) / t for t >= 0, wrong by 2^-45 of it at most."""
    small = moved < 1.0
    near = np.where(small, moved, 0.0)
    series = np.zeros_like(near)
    for degree in range(_SERIES, -1, -1):
        series = 1.0 / math.factorial(degree + 1) - near * series
    far = np.where(small, 1.0, moved)
    return np.where(small, series, (1.0 - exponential(-far)) / far)


class Link(ABC):
    """The mean of a label as a function of its margin.

    The logarithm of its slope changes by |t| at most where the margin moves by t; so does that of
    every secant, since it is a mean of slopes.
    """

    @abstractmethod
    def mean(self, margins: FloatArray) -> FloatArray:
        """Return means, wrong by `MEAN` of their value at most; NaN where they are not known."""

    @abstractmethod
    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return (mean(m + t) - mean(m)) / t, the slope for t = 0; wrong by `SECANT` at most."""

    @abstractmethod
    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants of moves between two numbers, up to `SECANT`."""

    def slopes(
        self, margins: FloatArray, least: FloatArray, most: FloatArray, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return proven bounds on the secants of margins that move by `least` to `most`."""
        # A secant of the logistic function has one peak as its end moves: where its derivative
        # (slope - secant) / t is 0 beyond the turning point, slopes fall, so that it becomes
        # negative, and cannot come back to 0 from below for the same reason.
        low = np.minimum(self.secant(margins, least), self.secant(margins, most))
        high = self.steepest(margins, least, most)
        lost = 2.0 * SECANT + 2.0 * error
        near = (np.abs(margins) < FAR) & (least > -FAR) & (most < FAR) & (error < 0.25)
        low = np.where(near, np.maximum(low * (1.0 - lost), 0.0), np.nan)
        return low, np.where(near, high * (1.0 + lost) + TINY, np.nan)


class Logistic(Link):
    """mean = 1 / (1 + e^-margin)."""

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return probabilities."""
        small = exponential(-np.abs(margins))
        return np.where(margins >= 0, 1.0, small) / (1.0 + small)

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants."""
        first, last = np.minimum(moved, 0.0), np.maximum(moved, 0.0)
        ends = self.mean(margins + last) * self.mean(-(margins + first))
        return ends * _share(np.abs(moved))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants.

        Let m <= 0; for m > 0 all signs are changed. Where m + t <= 0 the function is convex and
        secants rise with t. Where m + s >= 0 it is concave, below its tangent at any m + t >= 0:
        with its slope p there and the secant g of t, the secant of s is p + (g - p) t / s at most.
        """
        mirrored = margins > 0
        size = np.abs(margins)
        first, last = np.where(mirrored, -most, least), np.where(mirrored, -least, most)
        found = np.maximum(self.secant(-size, first), self.secant(-size, last))
        at = np.flatnonzero(last > size)
        if len(at):
            size, start, stop = size[at], np.maximum(first[at], size[at]), last[at]
            touch = np.clip(self._peak(size), start, stop)
            slope = self.secant(touch - size, np.zeros_like(touch))
            gap = self.secant(-size, touch) - slope
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(start > 0, touch / np.where(start > 0, start, 1.0), 1.0)
            bound = slope + np.maximum(gap * ratio, gap * touch / np.maximum(stop, 1e-300))
            bound += 8.0 * SECANT * (slope + np.abs(gap))
            found[at] = np.maximum(found[at], np.minimum(bound, 0.25))
        return found

    def _peak(self, size: FloatArray) -> FloatArray:
        """Return about where the secant from minus a size is steepest: at most 1.5 of it away."""
        low, high = size, 1.5 * size
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            rising = self.secant(middle - size, np.zeros_like(size)) > self.secant(-size, middle)
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return low


class Exponential(Link):
    """mean = e^margin."""

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return expected counts."""
        return exponential(margins)

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants."""
        return exponential(margins + np.maximum(moved, 0.0)) * _share(np.abs(moved))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants: they rise with the end of a move, as e^t is convex."""
        return self.secant(margins, most)


LINKS: dict[str, Link] = {"logistic": Logistic(), "poisson": Exponential()}
"""By the kind of a model."""
