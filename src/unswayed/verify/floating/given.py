"""What the floating-point stage is given: arrays, all of them finite doubles."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unswayed.verify.floating.enclosure import Enclosure
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
)


@dataclass(frozen=True, slots=True)
class Given:
    """Training rows, their labels and which of these may be wrong, and what is asked."""

    train: FloatArray  # Features; the numbers of a kernel; no columns for a smoother
    labels: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    alpha: float
    intercept: bool
    tests: FloatArray | None  # None where claims are about coefficients
    # Sums of coefficients that claims are about; empty if they are about coefficients
    contrasts: list[dict[str, Any]]
    balanced: bool  # Whether scores are measured from the weighted mean of the labels

    def test_rows(self, numbers: IntArray) -> FloatArray:
        """Return some test rows."""
        if self.tests is None:
            raise UnprovenError("there are no test rows")
        return self.tests[numbers]

    def subjects(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return rows x and numbers e, such that claims are about c·x + e·intercept."""
        if self.tests is not None:
            return self.tests[numbers], np.full(len(numbers), float(self.intercept))
        rows, ends = np.zeros((len(numbers), self.train.shape[1])), np.zeros(len(numbers))
        for place, at in enumerate(numbers):
            if self.contrasts:
                contrast = self.contrasts[at]
                rows[place, contrast["features"]] = contrast["weights"]
                ends[place] = float(contrast.get("intercept", False))
            else:
                rows[place, at] = 1.0
        return rows, ends

    def mean_label(self) -> tuple[float, float, float]:
        """Return the weighted mean of the labels, its error, and the share of a unit of weight."""
        try:
            total = math.fsum(self.weights)
            parts = self.weights / total * self.labels
            mean, size = math.fsum(parts), math.fsum(np.abs(parts))
        except (OverflowError, ValueError):
            raise UnprovenError("the mean of the labels overflows") from None
        if not math.isfinite(total * size):
            raise UnprovenError("the mean of the labels overflows")
        return mean, 6 * UNIT * size * SAFETY + len(parts) * TINY, 1.0 / total


@dataclass(frozen=True, slots=True)
class Entries:
    """Training labels, those that count and move alike taken together."""

    lower: FloatArray  # How far a label of the entry may move
    upper: FloatArray  # How far a label of the entry may move
    weight: FloatArray  # What such a label weighs, and how many there are
    count: FloatArray  # What such a label weighs, and how many there are
    entry: IntArray  # The entry of each training row

    @classmethod
    def one_per_row(cls, given: Given) -> "Entries":
        """Return an entry for each training row."""
        n_rows = len(given.labels)
        return cls(given.lower, given.upper, given.weights, np.ones(n_rows), np.arange(n_rows))


@dataclass(frozen=True, slots=True)
class Solved:
    """What equations say about some test rows, coefficients or contrasts."""

    solution: Enclosure  # One column for each of them
    scores: Enclosure  # One number for each of them


def distinct(*columns: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return which rows of a table differ, bit by bit."""
    table = np.ascontiguousarray(np.column_stack(columns))
    table += 0.0  # -0 is 0
    keys = table.view(np.dtype((np.void, table.shape[1] * table.itemsize)))[:, 0]
    _, first, kind, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind, count
