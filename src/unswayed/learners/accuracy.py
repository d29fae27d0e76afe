"""How far what a learner computes may be from its definition."""

from dataclasses import dataclass

import numpy as np

from unswayed._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Proven bounds on the errors of influence rows, per unit of a row's size.

    An influence row is off by e + f, where e_i = √weight_i · v_i with ‖v‖ <= `root` · size, and
    |f_i| <= `entry`_i · size. Infinite where nothing is proven.
    """

    root: float
    weight: FloatArray
    entry: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores as computed, and how far each may be off."""

    value: FloatArray
    error: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What training on labels leaves to remember, and how far its scores may be off.

    A score is off by at most `error` times its row's size.
    """

    values: FloatArray
    error: float

    def scores(self, value: FloatArray, sizes: FloatArray) -> Scores:
        """Computed scores of rows of these sizes."""
        with np.errstate(invalid="ignore", over="ignore"):
            error = sizes * self.error
        return Scores(value, np.where(np.isfinite(value) & ~np.isnan(error), error, np.inf))
