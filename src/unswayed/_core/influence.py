"""Influence rows over the entries: z = A·w, block by block, without the zeros of A if many."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unswayed._core.kernels import compiled
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.inputs import dense

_AT_ONCE = 2**15  # numbers hashed at a time: they stay in the cache


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entries:
    """Label changes that the bias allows, one entry per group of equal training rows.

    Members of entry e, ascending, are ``members_up[start_up[e]:start_up[e + 1]]`` (rows whose
    label may rise by ``upper[e]``) and likewise down.
    """

    rows: IntArray  # a training row that has the entry's features
    lower: FloatArray  # <= 0
    upper: FloatArray  # >= 0
    n_lower: FloatArray  # counts, as doubles for the kernels
    n_upper: FloatArray
    members_down: IntArray
    start_down: IntArray
    members_up: IntArray
    start_up: IntArray

    @property
    def sides(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The arrays the kernels read, in their order."""
        return self.lower, self.upper, self.n_lower, self.n_upper

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_labels(self) -> int:
        """Number of labels that may move, those that may move either way counted twice."""
        return int(self.n_lower.sum() + self.n_upper.sum())

    def only(self, entries: IntArray) -> "Entries":
        """Return some of the entries, ascending, as the kernels read them: without members."""
        if len(entries) == len(self):
            return self
        none, start = np.zeros(0, dtype=np.intp), np.zeros(len(entries) + 1, dtype=np.intp)
        lower, upper, n_lower, n_upper = (each[entries] for each in self.sides)
        return Entries(
            rows=self.rows[entries], lower=lower, upper=upper, n_lower=n_lower, n_upper=n_upper,
            members_down=none, start_down=start, members_up=none, start_up=start,
        )  # fmt: skip

    def members(self, entry: int, sign: float) -> IntArray:
        """Return the training rows of `entry` whose label may move up (sign > 0) or down."""
        members, start = (
            (self.members_up, self.start_up) if sign > 0 else (self.members_down, self.start_down)
        )
        return members[start[entry] : start[entry + 1]]


def mix(bits: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Scramble 64-bit words so that sums of them collide only by chance (splitmix64's steps)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def mix_rows(matrix: Matrix) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return a 64-bit hash per row, of its numbers as they are stored: cheap, for fingerprints."""
    odd = mix(np.arange(1, matrix.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    if hasattr(matrix, "indptr"):
        words = _folded(matrix.data) * odd[matrix.indices]
        sums = np.concatenate(([np.uint64(0)], np.cumsum(words, dtype=np.uint64)))
        return mix(sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]])
    mixed = np.empty(len(matrix), dtype=np.uint64)
    step = max(1, _AT_ONCE // max(1, len(odd)))
    for at in range(0, len(matrix), step):
        words = _folded(np.ascontiguousarray(matrix[at : at + step]))
        words *= odd
        mixed[at : at + step] = words.sum(axis=1, dtype=np.uint64)
    return mix(mixed)


def _folded(values: FloatArray) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return doubles as words whose lower half is not 0 where the upper one is not."""
    bits = values.view(np.uint64)
    return np.asarray(bits ^ (bits >> np.uint64(32)))


def _hash_rows(matrix: Matrix) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return a 64-bit hash per row; zeros do not count, so that sparse and dense rows agree."""
    n_rows, n_columns = matrix.shape
    salt = mix(np.arange(1, n_columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    if hasattr(matrix, "indptr"):
        words = mix(matrix.data.view(np.uint64) ^ salt[matrix.indices])
        words[matrix.data == 0] = 0
        sums = np.concatenate(([np.uint64(0)], np.cumsum(words, dtype=np.uint64)))
        return np.asarray(sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]])
    hashed = np.zeros(n_rows, dtype=np.uint64)
    step = max(1, _AT_ONCE // max(1, n_columns))
    for start in range(0, n_rows, step):
        values = np.ascontiguousarray(matrix[start : start + step])
        words = mix(values.view(np.uint64) ^ salt)
        words *= values != 0
        hashed[start : start + step] = words.sum(axis=1)
    return hashed


def distinct_rows(matrix: Matrix) -> tuple[IntArray, IntArray]:
    """Return the first row of each group of equal rows, ascending, and each row's group.

    Hashes suggest the groups and every row is compared with the first of its group, so a hash
    collision costs time but never correctness.

    Examples
    --------
    >>> first, group = distinct_rows(np.array([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]))
    >>> first.tolist(), group.tolist()
    ([0, 1], [0, 1, 0])
    """
    first, group = _groups(_hash_rows(matrix))
    if _rows_differ(matrix, first[group]):
        return _groups(dense(matrix) + 0.0)
    return first, group


def _groups(values: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the first place of each distinct value or row, ascending, and each place's group."""
    _, first, group = np.unique(values, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[group.reshape(-1)]


def _rows_differ(matrix: Matrix, partner: IntArray) -> bool:
    """Return whether any row differs from its partner."""
    if hasattr(matrix, "indptr"):
        return bool((matrix != matrix[partner]).nnz)
    step = max(1, 2**20 // max(1, matrix.shape[1]))
    return any(
        not np.array_equal(matrix[at : at + step], matrix[partner[at : at + step]])
        for at in range(0, len(partner), step)
    )


def _sides(
    group: IntArray, offset: FloatArray
) -> tuple[IntArray, FloatArray, IntArray, IntArray, IntArray]:
    """Group movable rows with equal features and equal offset.

    Returns each group's feature group, its offset, its rank among the offsets of the feature
    group, the position of its first member, and all members, ordered by group.
    """
    movable = np.flatnonzero(offset)
    # Stable, so that members stay ascending within a group.
    order = movable[np.lexsort((offset[movable], group[movable]))]
    feature, value = group[order], offset[order]
    new_feature = np.ones(len(order), dtype=bool)
    new_feature[1:] = feature[1:] != feature[:-1]
    new = new_feature.copy()
    new[1:] |= value[1:] != value[:-1]
    start = np.flatnonzero(new)
    serial = np.arange(len(start))
    first_of_feature = np.maximum.accumulate(np.where(new_feature[start], serial, 0))
    return feature[start], value[start], serial - first_of_feature, start, order


def merge_rows(
    lower: FloatArray,
    upper: FloatArray,
    group: IntArray | None = None,
    first: IntArray | None = None,
    count: FloatArray | None = None,
) -> Entries:
    """Return the entries of a bias that lets labels fall by `lower` and rise by `upper`.

    `group` gives the group of equal features of each training row and `first` a row of each
    group; without them every row is a group of its own. Rows that may not move are left out.
    `count` says how many labels each row stands for; members then are such rows, not labels.
    """
    if group is None or first is None:
        group = first = np.arange(len(lower))
    down_feature, down_value, down_rank, down_start, down_order = _sides(group, lower)
    up_feature, up_value, up_rank, up_start, up_order = _sides(group, upper)
    # The j-th downward group of a feature group pairs with its j-th upward one.
    key = np.concatenate(
        (
            np.stack((down_feature, down_rank), axis=1),
            np.stack((up_feature, up_rank), axis=1),
        )
    ).astype(np.intp)
    pairs, where = np.unique(key, axis=0, return_inverse=True)
    where = where.reshape(-1)
    at_down, at_up = where[: len(down_feature)], where[len(down_feature) :]
    size = len(pairs)
    n_lower, n_upper = np.zeros(size), np.zeros(size)
    size_lower, size_upper = np.zeros((2, size), dtype=np.intp)
    size_lower[at_down] = np.diff(down_start, append=len(down_order))
    size_upper[at_up] = np.diff(up_start, append=len(up_order))
    n_lower[at_down] = _members(down_start, down_order, count)
    n_upper[at_up] = _members(up_start, up_order, count)
    entry_lower, entry_upper = np.zeros(size), np.zeros(size)
    entry_lower[at_down], entry_upper[at_up] = down_value, up_value
    return Entries(
        rows=first[pairs[:, 0]],
        lower=entry_lower,
        upper=entry_upper,
        n_lower=n_lower,
        n_upper=n_upper,
        # Groups are ordered by (feature, rank), and so are entries: members stay in place.
        members_down=down_order,
        start_down=np.concatenate(([0], np.cumsum(size_lower))),
        members_up=up_order,
        start_up=np.concatenate(([0], np.cumsum(size_upper))),
    )


def _members(start: IntArray, order: IntArray, count: FloatArray | None) -> FloatArray:
    """Return how many labels each group has, whose rows begin at `start` in `order`."""
    if count is None or not len(start):
        return np.diff(start, append=len(order)).astype(np.float64)
    return np.asarray(np.add.reduceat(count[order], start), dtype=np.float64)


# --- Training rows most of whose features are 0, for products that skip the zeros ----------


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
            # Those of one part side by side: a part's influence is then a slice.
            order = np.lexsort((first, apart[first]))
            first, group = first[order], np.argsort(order)[group]
        self.entries = merge_rows(lower, upper, group, first, count)
        # Nothing merged: no copy, for features may be gigabytes.
        unmerged = np.array_equal(self.entries.rows, np.arange(design.shape[0]))
        rows = design if unmerged else design[self.entries.rows]
        self._zeros_skipped = SparseDesign.if_worthwhile(rows)
        if self._sparse:
            self._design = rows  # entries × m, times m × block
        else:
            self._design = rows.T if unmerged else np.ascontiguousarray(rows.T)

    def scaled(self, lower: FloatArray, upper: FloatArray) -> "InfluenceMap":
        """Return the same map with offsets that are multiplied, one factor >= 0 per entry."""
        found = copy(self)
        entries = self.entries
        # Adding 0.0 turns -0.0 into 0.0: equal offsets must have equal bits.
        found.entries = replace(
            entries, lower=entries.lower * lower + 0.0, upper=entries.upper * upper + 0.0
        )
        return found

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
