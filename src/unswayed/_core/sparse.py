"""Training rows most of whose features are 0, for products that skip the zeros."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unswayed._core.kernels import compiled
from unswayed._typing import FloatArray, Matrix

# In the time of a column of the dense product, the sparse one does about one feature that is not 0;
# turning its sums into rows takes it as long as this many.
_TURNING = 8


@dataclass(frozen=True, slots=True, eq=False)
class SparseDesign:
    """Features of training rows that are not 0, in compressed rows."""

    start: np.ndarray[Any, np.dtype[np.int64]]
    feature: np.ndarray[Any, np.dtype[np.int32]]
    value: FloatArray
    width: int
    ones: bool  # every value is 1

    @classmethod
    def if_worthwhile(cls, design: Matrix) -> "SparseDesign | None":
        """Return the design in this form if products are faster that way, else None.

        `design` has a row per training row, dense or CSR.
        """
        n_rows, width = design.shape
        sparse = hasattr(design, "indptr")
        n_values = int(design.nnz if sparse else np.count_nonzero(design))
        if n_values + _TURNING * n_rows >= width * n_rows:
            return None
        if sparse:
            start, feature, value = design.indptr, design.indices, design.data
        else:
            row, feature = np.nonzero(design)
            value = design[row, feature]
            start = np.searchsorted(row, np.arange(n_rows + 1))
        return cls(
            np.ascontiguousarray(start, dtype=np.int64),
            np.ascontiguousarray(feature, dtype=np.int32),
            np.ascontiguousarray(value, dtype=np.float64),
            width,
            ones=bool((value == 1.0).all()),
        )

    def part(self, rows: slice) -> "SparseDesign":
        """Return some of the training rows; nothing is copied but where they start."""
        return replace(self, start=self.start[rows.start : rows.stop + 1])

    def times(self, weights: FloatArray, out: FloatArray) -> bool:
        """Write the product of each row of `weights` with each training row to `out`.

        Returns whether it did: without a compiled kernel it does not.
        """
        kernel = compiled()
        if kernel is None:
            return False
        lanes = kernel.most_lanes
        padded = np.zeros((self.width, -(-len(weights) // lanes) * lanes))
        padded[:, : len(weights)] = weights.T
        kernel.product(self.start, self.feature, self.value, self.ones, padded, out)
        return True
