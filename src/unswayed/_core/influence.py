"""Influence rows over the entries: z = A·w, block by block, dense or sparse."""

from typing import Protocol

import numpy as np

from unswayed._core.compression import Entries, distinct_rows, merge_rows
from unswayed._typing import FloatArray, Matrix


class WeightRows(Protocol):
    """Weight vectors of the rows in question, made on demand: they may be as wide as n."""

    def __len__(self) -> int: ...

    def block(self, start: int, stop: int) -> FloatArray:
        """Weights of rows start to stop, one row each."""
        ...


class InfluenceMap:
    """Turns weights into influence over the entries of one bias.

    Parameters
    ----------
    design : (n, m) matrix, dense or CSR, or None
        z = design · w for a weight vector w; None when the weights are the influence itself.
    lower, upper : (n,) arrays
        How far each label may fall and rise.
    row_scale : (n,) array, optional
        z_i is scaled by it (sample weights). Nonnegative.

    Attributes
    ----------
    entries : Entries
        What may move, equal training rows merged.
    width : int
        Length of a weight vector.
    """

    def __init__(
        self,
        design: Matrix | None,
        lower: FloatArray,
        upper: FloatArray,
        row_scale: FloatArray | None = None,
    ) -> None:
        self.width = len(lower) if design is None else design.shape[1]
        self._sparse = hasattr(design, "indptr")
        if row_scale is not None:
            # z_i·offset_i = (a_i·w)·(scale_i·offset_i): the scale moves into the offsets.
            lower, upper = lower * row_scale, upper * row_scale
        if design is None:
            self.entries: Entries = merge_rows(lower, upper)
            self._design: Matrix | None = None
            return
        first, group = distinct_rows(design)
        self.entries = merge_rows(lower, upper, group, first)
        rows = design[self.entries.rows]
        # Sparse: entries × m times m × block; dense: block × m times m × entries.
        self._design = rows if self._sparse else np.ascontiguousarray(rows.T)

    def __call__(self, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Influence of every entry on every row of `weights`, in C order.

        `out` is a buffer of at least as many rows: fresh pages for every block would cost as
        much as the product.
        """
        if out is None:
            out = np.empty((len(weights), len(self.entries)))
        out = out[: len(weights)]
        if self._design is None:
            return np.take(weights, self.entries.rows, axis=1, out=out)
        if self._sparse:
            out[:] = (self._design @ np.ascontiguousarray(weights.T)).T
            return out
        return np.matmul(weights, self._design, out=out)
