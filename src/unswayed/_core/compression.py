"""Equal rows, merged: of training rows for selection, of test rows for certification.

Training rows with the same features have the same influence on every test row. They become one
*entry* with counts: how many of them may rise by `upper`, how many may fall by `lower`. A label
that may only rise and one that may only fall never move the score the same way, so flips of
0 and of 1 with equal features share one entry too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
