"""Moments: count, range, mean and spread of columns of numbers, which add up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unswayed._typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Count, range, mean and spread of some columns of numbers."""

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    squares: FloatArray  # Sum of squared distances from the mean

    @classmethod
    def of(cls, columns: Sequence[FloatArray]) -> "Moments":
        """Look at columns of finite numbers."""
        d, count = len(columns), len(columns[0]) if columns else 0
        found = cls(count, np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d))
        distance = np.empty(count)
        with np.errstate(over="ignore", invalid="ignore"):
            for at, column in enumerate(columns if count else ()):
                found.low[at], found.high[at] = column.min(), column.max()
                found.mean[at] = mean = column.mean()
                np.subtract(column, mean, out=distance)
                found.squares[at] = np.square(distance, out=distance).sum()
        return found

    def take(self, at: IntArray) -> "Moments":
        """Return those of some of the columns."""
        return Moments(self.count, self.low[at], self.high[at], self.mean[at], self.squares[at])

    def __add__(self, other: "Moments") -> "Moments":
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        apart = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            between = apart * apart * (self.count * (other.count / count))
            return Moments(
                count,
                np.minimum(self.low, other.low),
                np.maximum(self.high, other.high),
                self.mean + apart * (other.count / count),
                self.squares + other.squares + between,
            )

    @property
    def variance(self) -> FloatArray:
        """Mean squared distance from the mean."""
        return self.squares / max(self.count, 1)
