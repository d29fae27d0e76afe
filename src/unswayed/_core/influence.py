"""Influence rows over the entries: z = A·w, block by block, without the zeros of A if many."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from unswayed._core.compression import Entries, distinct_rows, merge_rows
from unswayed._core.sparse import SparseDesign
from unswayed._typing import FloatArray, IntArray, Matrix

_TILE_ROWS, _TILE_COLUMNS = 64, 4096  # of products that are used while they are in the cache
_GRAM_BLOCK = 4096  # rows at a time: short sums round less


class Weights(NamedTuple):
    """Weight vectors, one row each, and bounds on the error of the influence made of them.

    The error of a row is e + f, where e_i = √weight_i · v_i with ‖v‖ <= `error`, and |f_i| <=
    entry_i · `size`, with the weights and entries of the learner's `ErrorScale`.
    """

    values: FloatArray
    error: FloatArray
    size: FloatArray


class WeightRows(Protocol):
    """Weight vectors of the rows in question, computed on demand because they may be n wide."""

    def __len__(self) -> int: ...

    def block(self, start: int, stop: int) -> Weights:
        """Return the weights of rows start to stop, one row each."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MadeRows:
    """Weight vectors that are already computed."""

    weights: Weights

    def __len__(self) -> int:
        return int(self.weights.values.shape[0])

    def block(self, start: int, stop: int) -> Weights:
        """Return the weights of rows start to stop."""
        return Weights(*(each[start:stop] for each in self.weights))


class SlicedDesign:
    """A design whose products with weights are made tile by tile, each to be used at once."""

    def __init__(self, design: Matrix) -> None:
        self._design = design
        self._zeros_skipped = SparseDesign.if_worthwhile(design)

    def products(self, weights: FloatArray) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Yield which rows of the weights, which rows of the design, and their products.

        The next tile is written over the last one.
        """
        n_rows = self._design.shape[0]
        buffer = np.empty(_TILE_ROWS * min(_TILE_COLUMNS, n_rows))
        for first in range(0, n_rows, _TILE_COLUMNS):
            columns = slice(first, min(first + _TILE_COLUMNS, n_rows))
            for start in range(0, len(weights), _TILE_ROWS):
                rows = slice(start, min(start + _TILE_ROWS, len(weights)))
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = buffer[: shape[0] * shape[1]].reshape(shape)
                yield rows, columns, self._product(weights[rows], columns, tile)

    def _product(self, weights: FloatArray, columns: slice, out: FloatArray) -> FloatArray:
        if self._zeros_skipped is not None:
            part = self._zeros_skipped.part(columns)
            if part.times(weights, out):
                return out
        if hasattr(self._design, "indptr"):
            out[:] = (self._design[columns] @ np.ascontiguousarray(weights.T)).T
            return out
        return np.matmul(weights, self._design[columns].T, out=out)


class InfluenceMap:
    """Turns weights into influence over the entries of one bias."""

    def __init__(
        self,
        design: Matrix | None,
        lower: FloatArray,
        upper: FloatArray,
        row_scale: FloatArray | None = None,
        apart: FloatArray | None = None,
        count: FloatArray | None = None,
    ) -> None:
        self.width = len(lower) if design is None else design.shape[1]
        self._sparse = hasattr(design, "indptr")
        if row_scale is not None:
            # z_i·offset_i = (a_i·w)·(scale_i·offset_i): the scale moves into the offsets.
            lower, upper = lower * row_scale, upper * row_scale
        if design is None:
            self.entries: Entries = merge_rows(lower, upper, count=count)
            self._design: Matrix | None = None
            self._zeros_skipped: SparseDesign | None = None
            return
        first, group = distinct_rows(design)
        if apart is not None:
            first, group = distinct_rows(np.column_stack((group.astype(np.float64), apart)))
        self.entries = merge_rows(lower, upper, group, first, count)
        # Nothing merged: no copy, for features may be gigabytes.
        unmerged = np.array_equal(self.entries.rows, np.arange(design.shape[0]))
        rows = design if unmerged else design[self.entries.rows]
        self._zeros_skipped = SparseDesign.if_worthwhile(rows)
        if self._sparse:
            self._design = rows  # entries × m, times m × block
        else:
            self._design = rows.T if unmerged else np.ascontiguousarray(rows.T)

    def __call__(self, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the influence of every entry on every row of `weights`, in C order.

        `out` is a buffer of at least as many rows to write it into: allocating memory for every
        block would take as long as the product.
        """
        if out is None:
            out = np.empty((len(weights), len(self.entries)))
        out = out[: len(weights)]
        if self._design is None:
            return np.take(weights, self.entries.rows, axis=1, out=out)
        if self._zeros_skipped is not None and self._zeros_skipped.times(weights, out):
            return out
        if self._sparse:
            out[:] = (self._design @ np.ascontiguousarray(weights.T)).T
            return out
        return np.matmul(weights, self._design, out=out)

    @property
    def entry_rows(self) -> Matrix | None:
        """Design rows of the entries, (entries, m), dense or CSR; None without a design."""
        if self._design is None or self._sparse:
            return self._design
        return self._design.T

    @property
    def block_bytes(self) -> int:
        """How large a block of influence rows should be at most.

        Dense products want many rows at once; those that skip zeros are as fast on a few.
        """
        return 2**28 if self._zeros_skipped is None else 2**24

    def pull_back(self, index: IntArray, amount: FloatArray) -> FloatArray:
        """Return the vector whose product with a row's weights is how label changes move its score.

        This is the transposed map. `index` are entries, `amount` what is added to their labels.
        """
        if self._design is None:
            full = np.zeros(self.width)
            full[self.entries.rows[index]] = amount
            return full
        if self._sparse:
            return np.asarray(self._design[index].T @ amount)
        return np.asarray(self._design[:, index] @ amount)

    def gram(self, factors: FloatArray) -> FloatArray:
        """Return Σ factor_e a_e a_eᵀ over the design rows a_e of the entries.

        No sum has more roundings than `gram_terms` says.
        """
        if self._design is None:
            raise TypeError("influence rows without a design have no Gram matrix")
        if self._sparse:
            scaled = self._design.multiply(factors[:, None]).tocsr()
            return np.asarray((self._design.T @ scaled).toarray())
        total = np.zeros((self.width, self.width))
        for at in range(0, len(factors), _GRAM_BLOCK):
            part = self._design[:, at : at + _GRAM_BLOCK]
            total += (part * factors[at : at + _GRAM_BLOCK]) @ part.T
        return total

    @property
    def gram_terms(self) -> int:
        """Number of roundings in the longest sum of `gram`."""
        n_rows = len(self.entries)
        return n_rows if self._sparse else min(n_rows, _GRAM_BLOCK) + -(-n_rows // _GRAM_BLOCK)
