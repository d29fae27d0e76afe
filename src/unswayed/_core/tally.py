"""Tallies: how many labels move a score by how much, for training labels that come in pieces.

Selection needs all influence of a row at once. A tally does not: it counts and sums, piece by piece
and by the kernel in use, how far labels move a score (their *values*), between thresholds. Tallies
of pieces add up to that of the whole. What then lies between two thresholds of interest is little,
and can be collected in another pass.
"""

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from unswayed._core import tally_numpy
from unswayed._core.kernels import compiled
from unswayed._typing import FloatArray, IntArray


class Part(Protocol):
    """What is found in some of the rows, or labels."""

    def __add__(self, other: Self) -> Self: ...


P = TypeVar("P", bound=Part)


SUM_ERROR = 2.0**-104
"""Error of a tally's sum, relative to that sum, per value of the bin: see `tally_numpy.joined`."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Rows of influence, each looked at in one direction."""

    row: IntArray  # (L,) which influence row
    sign: FloatArray  # (L,) 1.0 for what raises the score, -1.0 for what lowers it


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many values lie in each bin of each line, and their sums as two doubles each.

    The sum of c values is within (c - 1)·`SUM_ERROR` of `high + low`, relative to itself, and it is
    exactly that where it is at most 2^51 times the least of them. `high` is `high + low`, rounded.
    Where the sum overflows, `high` is infinite and `low` is 0.
    """

    count: IntArray  # (L, G)
    high: FloatArray  # (L, G) the sum, rounded
    low: FloatArray  # (L, G) what the rounding lost

    @classmethod
    def blank(cls, n_lines: int, n_bins: int) -> "Tally":
        """Return the tally of no values."""
        shape = n_lines, n_bins
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape))

    def __add__(self, other: "Tally") -> "Tally":
        sums = tally_numpy.joined(self.high, self.low, other.high, other.low)
        return Tally(self.count + other.count, *sums)

    def above(self) -> "Tally":
        """Return the counts and sums of all values above each threshold, not up to the next."""
        count = np.cumsum(self.count[:, ::-1], axis=1)[:, ::-1]
        high, low = self.high.copy(), self.low.copy()
        for at in range(high.shape[1] - 2, -1, -1):
            here, there = (high[:, at], low[:, at]), (high[:, at + 1], low[:, at + 1])
            high[:, at], low[:, at] = tally_numpy.joined(*here, *there)
        return Tally(count, high, low)


def tally(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    lines: Lines,
    thresholds: FloatArray,
    into: Tally,
) -> None:
    """Add the values of some labels to a tally.

    On line l, label i has the value max(s·z[r, i]·lower[i], s·z[r, i]·upper[i]), where r is
    `lines.row[l]`, s is `lines.sign[l]`, and each product is rounded once. It is NaN where a
    product is; such values are not counted, so that callers have to look for influence that is
    not finite.
    """
    kernel = compiled()
    if kernel is None:
        sums = (into.count, into.high, into.low)
        tally_numpy.tally(z, lower, upper, lines.row, lines.sign, thresholds, *sums)
        return
    asked = (z, lower, upper, lines.row, lines.sign, thresholds)
    kernel.tally(*asked, into.count, into.high, into.low)


def collect(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    lines: Lines,
    floor: FloatArray,
    ceiling: FloatArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the values above a floor and not above a ceiling, ordered by line, then label."""
    kernel = compiled()
    if kernel is None:
        return tally_numpy.collect(z, lower, upper, lines.row, lines.sign, floor, ceiling)
    # Counted first: room for all labels of all lines could be gigabytes, for a handful of values.
    between = Tally.blank(len(lines.row), 2)
    tally(z, lower, upper, lines, np.stack((floor, np.maximum(floor, ceiling)), axis=1), between)
    count = between.count[:, 0]
    index, value = np.empty(count.sum(), dtype=np.int64), np.empty(count.sum())
    start = np.cumsum(count) - count
    kernel.collect(z, lower, upper, lines.row, lines.sign, floor, ceiling, start, index, value)
    return np.repeat(np.arange(len(count)), count), index, value
