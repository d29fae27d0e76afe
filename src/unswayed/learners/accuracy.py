"""How far what a learner computes may be from its definition."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unswayed._core.rounding import SAFETY
from unswayed._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """What the errors of influence rows are relative to, label by label; see `Weights`.

    For any direction of parameters or row, `off` and `size` of its weights are at most
    `most_off` and `most_size` times its own size. Infinite where nothing is proven.
    """

    weight: FloatArray
    entry: FloatArray
    most_off: float
    most_size: float

    @property
    def proven(self) -> bool:
        """Whether anything is proven at all."""
        return math.isfinite(self.most_off)

    @classmethod
    def none(cls, n_rows: int) -> "Accuracy":
        """Nothing is proven."""
        return cls(np.ones(n_rows), np.zeros(n_rows), math.inf, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores as computed, and how far each may be off."""

    value: FloatArray
    error: FloatArray

    @classmethod
    def concatenate(cls, parts: "Sequence[Scores]") -> "Scores":
        """Scores of several sets of rows, one after the other."""
        return cls(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.error for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What training on labels leaves to remember, and how far its scores may be off.

    The equations M x = b it solves are met up to a rest of norm `left`. The score of a row of
    size s whose own weights have norm w is then off by at most w · left + s · `rounding`.
    """

    values: FloatArray
    left: float
    rounding: float

    def scores(self, value: FloatArray, sizes: FloatArray, weights: FloatArray) -> Scores:
        """Computed scores of rows with these sizes and (at least) these norms of weights."""
        with np.errstate(invalid="ignore", over="ignore"):
            error = SAFETY * (sizes * self.rounding + weights * self.left)
        error = np.where(sizes == 0, 0.0, np.where(np.isnan(error), np.inf, error))
        return Scores(value, np.where(np.isfinite(value), error, np.inf))
