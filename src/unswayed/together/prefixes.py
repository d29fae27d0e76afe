"""Sums of the strongest effects, whatever the number of labels: for choices, not for proofs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Sums of the strongest effects of labels on rows, as doubles add up."""

    count: IntArray  # Number of labels with each effect
    value: FloatArray  # Effects of each row in falling order, 0 or more

    @cached_property
    def _labels(self) -> FloatArray:
        return np.cumsum(self.count, axis=1, dtype=np.float64)

    @cached_property
    def _sums(self) -> FloatArray:
        return np.cumsum(self.count * self.value, axis=1)

    def __getitem__(self, rows: IntArray) -> "Prefixes":
        return Prefixes(self.count[rows], self.value[rows])

    def _place(self, labels: FloatArray) -> IntArray:
        """Return where the so manieth label of each row stands; the width if there is none."""
        return np.asarray((self._labels < labels[:, None]).sum(axis=1))

    def value_at(self, labels: FloatArray) -> FloatArray:
        """Return the effect of the so manieth label of each row, 0 if there is none."""
        padded = np.pad(self.value, ((0, 0), (0, 1)))
        return np.asarray(padded[np.arange(len(padded)), self._place(labels)])

    def first(self, labels: FloatArray) -> FloatArray:
        """Return the sum of the strongest so many labels of each row."""
        place, rows = self._place(labels), np.arange(len(self.value))
        sums, counts = (np.pad(each, ((0, 0), (1, 0))) for each in (self._sums, self._labels))
        rest = np.where(place < self.value.shape[1], labels - counts[rows, place], 0.0)
        return np.asarray(sums[rows, place] + rest * self.value_at(labels))

    def reach(self, budget: int, checked: FloatArray) -> FloatArray:
        """Return the reach of `budget` labels after the strongest so many were checked."""
        return self.first(checked + budget) - self.first(checked)

    def needed(self, budget: int, most: int, target: FloatArray) -> FloatArray:
        """Return how many checks bring each reach down to its target; more than `most` if none."""
        low, high = np.full(len(target), -1.0), np.full(len(target), most + 1.0)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            enough = self.reach(budget, middle) <= target
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return high

    def to_exceed(self, margin: FloatArray) -> FloatArray:
        """Return how many labels it takes to exceed each margin; infinite if all do not."""
        sums = np.pad(self._sums, ((0, 0), (1, 0)))
        labels = np.pad(self._labels, ((0, 0), (1, 0)))
        place, rows = (sums <= margin[:, None]).sum(axis=1) - 1, np.arange(len(margin))
        place = np.maximum(place, 0)
        value = np.pad(self.value, ((0, 0), (0, 1)))[rows, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.floor((margin - sums[rows, place]) / value) + 1
        return np.where(value > 0, labels[rows, place] + more, np.inf)
