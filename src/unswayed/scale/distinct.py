"""Distinct rows: which rows of a table are different, and how often each occurs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.scale.columns import Categories

Words = NDArray[np.uint64]
Cells = Categories | FloatArray

_MOST_CELLS = 2**24  # of a table: 128 MB of doubles
_FULL = 2**62  # more combinations than this do not fit into a word
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_MINUS_ZERO = np.uint64(2**63)


class Limit:
    """How many distinct rows are worth keeping. Whoever sees more tells all who share it.

    More in some of the rows are more in all of them: whether a table is given up depends on the
    rows alone, and only how early on who saw what first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.exceeded = False

    def __reduce__(self) -> tuple[type["Limit"], tuple[int]]:
        return Limit, (self.most,)  # where it arrives, nobody has seen anything yet

    def rows(self, width: int) -> int:
        """Return how many rows of a number of columns are worth keeping."""
        return min(self.most, _MOST_CELLS // (width + 2))


class Tally:
    """The distinct rows of some batches, grouped when many have come together or at the end."""

    def __init__(self, parts: "tuple[Distinct, ...] | None", limit: Limit) -> None:
        self._parts = parts
        self._limit = limit
        self._group_many()

    def __reduce__(self) -> tuple[Any, ...]:
        self.table()  # as small as it can be, to travel
        return Tally, (self._parts, self._limit)

    def __add__(self, other: "Tally") -> "Tally":
        if self._parts is None or other._parts is None or self._limit.exceeded:
            return Tally(None, self._limit)
        return Tally((*self._parts, *other._parts), self._limit)

    def table(self) -> "Distinct | None":
        """Return the distinct rows."""
        if not self._parts:
            return None
        if len(self._parts) > 1:
            self._parts = (Distinct.joined(self._parts),)
        return self._parts[0]

    def _group_many(self) -> None:
        if not self._parts:
            return
        most = self._limit.rows(self._parts[0].rows.num_columns)
        if sum(map(len, self._parts)) <= most:
            return
        found = self.table()
        if found is not None and len(found) > most:
            self._limit.exceeded = True
            self._parts = None


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Different rows with their labels, in the order in which they first occur."""

    rows: pa.Table  # Features: numbers as doubles, categories as dictionaries
    labels: pa.Array
    counts: IntArray  # How often each occurs

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        cells: Sequence[Cells],
        labels: Cells,
        counts: IntArray | None = None,
    ) -> "Distinct":
        """Group equal rows."""
        first, groups = group(words([*cells, labels]))
        if counts is None:
            totals = np.bincount(groups, minlength=len(first))
        else:
            totals = np.zeros(len(first), dtype=np.intp)
            np.add.at(totals, groups, counts)
        kept = None if len(first) == len(groups) else first
        rows = pa.table([_array(column, kept) for column in cells], names=list(names))
        return cls(rows, _array(labels, kept), totals)

    @classmethod
    def joined(cls, parts: "Sequence[Distinct]") -> "Distinct":
        """Group the rows of several tables."""
        names = parts[0].rows.column_names
        cells = [_joined([part.rows.column(at) for part in parts]) for at in range(len(names))]
        labels = _joined([pa.chunked_array([part.labels]) for part in parts])
        return cls.of(names, cells, labels, np.concatenate([part.counts for part in parts]))

    def __len__(self) -> int:
        return len(self.counts)


def _array(cells: Cells, kept: IntArray | None) -> pa.Array:
    if isinstance(cells, Categories):
        codes = cells.codes if kept is None else cells.codes[kept]
        return Categories(codes, cells.values).array()
    return pa.array(cells if kept is None else cells[kept])


def _joined(columns: Sequence[pa.ChunkedArray]) -> Cells:
    """Return the cells of columns, one after the other."""
    kind = columns[0].type
    if not pa.types.is_dictionary(kind):
        return np.concatenate([np.asarray(column) for column in columns])
    if any(column.type != kind for column in columns):  # integers here and decimals there
        wide = pa.dictionary(pa.int32(), pa.float64())
        columns = [column.cast(wide) for column in columns]
    return Categories.of(pa.chunked_array([c for column in columns for c in column.chunks]))


def words(cells: Sequence[Cells]) -> list[Words]:
    """Write rows as a few integers each, which are equal exactly if the rows are."""
    found: list[Words] = []
    packed: Any = None
    size = 1
    for column in cells:
        if not isinstance(column, Categories):
            word = column.view(np.uint64)
            found.append((column + 0.0).view(np.uint64) if (word == _MINUS_ZERO).any() else word)
            continue
        base = max(len(column.values), 1)
        if packed is None or size * base > _FULL:
            if packed is not None:
                found.append(packed)
            packed, size = column.codes.astype(np.uint64), base
        else:
            packed *= np.uint64(base)
            packed += column.codes.view(np.uint32)
            size *= base
    return found if packed is None else [*found, packed]


def mixed(rows: Sequence[Words]) -> Words:
    """Return a hash of every row."""
    key = rows[0].copy()
    for word in rows[1:]:
        key ^= key >> _HALF
        key *= _ODD
        key += word
    return key


def group(
    rows: Sequence[Words], mix: Callable[[Sequence[Words]], Words] = mixed
) -> tuple[IntArray, IntArray]:
    """Find equal rows."""
    if len(rows) == 1:
        return _ranked(rows[0])
    first, groups = _ranked(mix(rows))
    if len(first) < len(groups):
        like = first[groups]
        if any((word != word[like]).any() for word in rows):  # a hash that two rows share
            return _one_by_one(rows)
    return first, groups


def _one_by_one(rows: Sequence[Words]) -> tuple[IntArray, IntArray]:
    first, groups = _ranked(rows[0])
    for word in rows[1:]:
        values, position = _ranked(word)
        first, groups = _ranked((groups * len(values) + position).astype(np.uint64))
    return first, groups


def _ranked(key: Words) -> tuple[IntArray, IntArray]:
    ascending = np.sort(key)
    if (ascending[1:] != ascending[:-1]).all():  # ten times as fast as to look each one up
        order = np.arange(len(key))
        return order, order
    encoded = pa.array(key).dictionary_encode()
    groups = np.asarray(encoded.indices).astype(np.intp)
    first = np.empty(len(encoded.dictionary), dtype=np.intp)
    first[groups[::-1]] = np.arange(len(key) - 1, -1, -1)
    return first, groups
