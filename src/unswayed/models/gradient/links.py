"""Links: means of labels as functions of margins, with bounds on how steep they are.

A row's *margin* is its score: features times parameters. Bounds allow for functions of NumPy and
SciPy that are wrong by `LIBRARY` of their value, hundreds of units in the last place.

Slopes here are *secants*: (mean(m + t) - mean(m)) / t, and the derivative for t = 0. Where a margin
moves far, secants of the logistic function fall like 1/t, its derivatives like exp(-t).
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy import special

from unswayed._typing import FloatArray

LIBRARY = 2.0**-44
"""Relative error that exp, log1p and their like may have."""

_STEPS = 96  # parts of an interval in which a secant may be steepest: 0.4 % are lost
_FAR = 2.0**16  # margins beyond this: nothing is said about their slopes
_NEAR = 2.0**-10  # a part of a margin, of which a series is better than a quotient


class Link(ABC):
    """The mean of a label as a function of its margin: increasing, and its logarithm's slope <= 1.

    That is: |d/dm log mean'(m)| <= 1, so that slopes change by a factor exp(t) at most where a
    margin moves by t.
    """

    name: str

    @abstractmethod
    def mean(self, margins: FloatArray) -> FloatArray:
        """Return means, wrong by `LIBRARY` of their value at most."""

    @abstractmethod
    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed: relative errors are within `error_of_secant`."""

    @abstractmethod
    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""

    def slopes(
        self, margins: FloatArray, least: FloatArray, most: FloatArray, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return proven bounds on the secants of margins that move by `least` to `most`."""
        with np.errstate(all="ignore"):
            # As functions of how far a margin moves, secants rise to one peak and fall from there.
            low = np.minimum(self.secant(margins, least), self.secant(margins, most))
            high = self.steepest(margins, least, most)
            lost = error_of_secant(margins, np.maximum(-least, most), error)
            low, high = low * (1.0 - lost), high * (1.0 + lost)
            known = np.isfinite(high) & (lost < 0.5)
        return np.where(known, np.maximum(low, 0.0), 0.0), np.where(known, high, np.inf)


def error_of_secant(margins: FloatArray, moved: FloatArray, error: FloatArray) -> FloatArray:
    """Return bounds on the relative error of secants."""
    size = np.abs(margins) + np.abs(moved)
    found = 16.0 * LIBRARY * (1.0 + size) + 2.0 * error
    return np.where(size < _FAR, found, 1.0)


def _log_cosh(values: FloatArray) -> FloatArray:
    """Return log(2 cosh(v))."""
    size = np.abs(values)
    return size + np.log1p(np.exp(-2.0 * size))


def _log_sinhc(values: FloatArray) -> FloatArray:
    """Return log(sinh(v) / v)."""
    size = np.abs(values)
    small = size < _NEAR
    safe = np.where(small, 1.0, size)
    squared = size * size
    series = squared / 6.0 - squared * squared / 180.0  # wrong by less than 2^-70
    return np.where(small, series, size + np.log(-np.expm1(-2.0 * safe) / (2.0 * safe)))


class Logistic(Link):
    """Logistic regression: mean = 1 / (1 + exp(-margin)).

    Its secants are sinh(t/2)/(t/2) / (4 cosh(m/2) cosh((m+t)/2)). For m <= 0 the function is convex
    up to t = -m, so that secants rise until then. Beyond t = -1.5 m they fall, because the sign of
    their derivative is that of coth(t/2) - 2/t - tanh((m+t)/2), and coth(s) - 1/s <= tanh(s/3). So
    the steepest is in between. For m > 0 it is the same with all signs changed.

    Examples
    --------
    >>> link, zero = Logistic(), np.zeros(1)
    >>> link.secant(zero, zero).tolist(), link.secant(zero, zero + 100).round(6).tolist()
    ([0.25], [0.005])
    """

    name = "logistic"

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return probabilities."""
        return np.asarray(special.expit(margins))

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed."""
        logs = _log_sinhc(moved / 2) - _log_cosh(margins / 2) - _log_cosh((margins + moved) / 2)
        return np.asarray(np.exp(logs))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""
        mirrored = margins > 0
        size = np.abs(margins)
        first, last = np.where(mirrored, -most, least), np.where(mirrored, -least, most)
        found = np.maximum(self.secant(-size, first), self.secant(-size, last))
        start, stop = np.maximum(first, size), np.minimum(last, 1.5 * size)
        inside = np.flatnonzero(start <= stop)
        if len(inside):
            # mean(m + t) - mean(m) rises with t, so that between s and t a secant is at most
            # t/s times the one of t.
            start, stop = np.maximum(start[inside], 1e-300), np.maximum(stop[inside], 1e-300)
            ratio = (stop / start) ** (1.0 / _STEPS)
            ends = start[:, None] * ratio[:, None] ** np.arange(1, _STEPS + 1)
            ends[:, -1] = np.maximum(ends[:, -1], stop)
            peak = self.secant(-size[inside][:, None], ends).max(axis=1)
            peak *= ratio * (1.0 + _STEPS * LIBRARY)
            found[inside] = np.maximum(found[inside], np.minimum(peak, 0.25))
        return np.asarray(found)


class Exponential(Link):
    """Poisson regression with a log link: mean = exp(margin), whose secants rise throughout.

    Examples
    --------
    >>> Exponential().secant(np.zeros(1), np.log([4.0])).round(6).tolist()
    [2.164043]
    """

    name = "log"

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return expected counts."""
        with np.errstate(over="ignore"):
            return np.exp(margins)

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(margins + moved / 2 + _log_sinhc(moved / 2)))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""
        return self.secant(margins, most)
