"""Selection over CSR influence rows: the cost is that of the labels that have any influence.

Rows are packed side by side, each with as many entries as the row with the most has. What a label
can do to a score is then a number of its own, and the same kernels select the largest of them.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from unswayed._core import selection
from unswayed._core.compression import Entries, merge_rows
from unswayed._core.influence import WeightRows, Weights
from unswayed._typing import FloatArray
from unswayed.engines.selection import ExactEngine, Rounded
from unswayed.inputs import dense
from unswayed.labels.budgets import Budget, Count
from unswayed.margins.decisions import Margins
from unswayed.models.smoother import exact_products, packed_rows

_BLOCK = 4096  # rows at a time


class SparseEngine(ExactEngine):
    """The exact engine of CSR influence rows; budgets other than counts see them dense."""

    def _reaches(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[FloatArray, FloatArray, Rounded]:
        if type(budget) is not Count:
            return super()._reaches(_Dense(weights), budget)
        up, down = np.zeros((2, len(weights)))
        rounded = Rounded.blank(len(weights))
        for here, rise, fall in self._packed(weights, rounded):
            if rise.shape[1]:
                entries = _units(rise.shape[1])
                up[here], _ = selection.reach(rise, entries, budget.labels)
                down[here], _ = selection.reach(fall, entries, budget.labels)
        return up, down, rounded

    def _crossings(
        self, weights: WeightRows, margins: Margins
    ) -> tuple[selection.Crossings, Rounded]:
        if type(self.bias.budget) is not Count:
            return super()._crossings(_Dense(weights), margins)
        crossings, rounded = selection.Crossings.blank(len(weights)), Rounded.blank(len(weights))
        for here, rise, fall in self._packed(weights, rounded):
            never = np.full(len(rise), np.inf)
            entries = _units(max(1, rise.shape[1]))
            for side, effects, margin in ((0, rise, margins.up), (1, fall, margins.down)):
                some = effects if effects.shape[1] else np.zeros((len(effects), 1))
                found = selection.minimum_budget(some, entries, margin[here], never)
                crossings.count[here, side] = found.count[:, 0]
                crossings.before[here, side] = found.before[:, 0]
                crossings.after[here, side] = found.after[:, 0]
        return crossings, rounded

    def _packed(
        self, weights: WeightRows, rounded: Rounded
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield blocks of rows: where they are, and what each label can add or take away."""
        lower, upper, every = self.bias.lower, self.bias.upper, np.arange(self.width)[None]
        for start in range(0, len(weights), _BLOCK):
            here = slice(start, min(start + _BLOCK, len(weights)))
            values, rounded.error[here], rounded.size[here] = weights.block(here.start, here.stop)
            z, label = packed_rows(values) if sparse.issparse(values) else (values, every)
            low, high = lower[label], upper[label]
            rounded.exact[here] = exact_products(z, low) & exact_products(z, high)
            with np.errstate(invalid="ignore"):
                fallen, risen = z * low, z * high
            yield here, np.maximum(fallen, risen), np.maximum(-fallen, -risen)

    def _one(self, weights: WeightRows, row: int) -> Weights:
        return _Dense(weights).block(row, row + 1)

    def _full(self, weights: WeightRows) -> WeightRows:
        return _Dense(weights)


class _Dense:
    """Weights of CSR rows, dense: for questions about a few of them."""

    def __init__(self, weights: WeightRows) -> None:
        self._weights = weights

    def __len__(self) -> int:
        return len(self._weights)

    def block(self, start: int, stop: int) -> Weights:
        """Return the weights of rows start to stop, dense."""
        values, error, size = self._weights.block(start, stop)
        return Weights(np.ascontiguousarray(dense(values)), error, size)


def _units(width: int) -> Entries:
    """Return entries whose effects are given: each may rise by one unit, once."""
    return merge_rows(np.zeros(width), np.ones(width))
