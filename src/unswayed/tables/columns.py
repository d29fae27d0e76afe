"""Columns of a batch in one form, their moments, and which rows are different."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import eager_frame
from unswayed.tables.cells import is_number, is_text, plain
from unswayed.words import shorten

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Texts as they travel: every different one once, and a number for each row."""

Codes = NDArray[np.int32]


def kind_of(kind: Any) -> str | None:
    """Return what a column of an Arrow type holds, in words."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(kind):
        return "nothing"
    if is_text(kind) or pa.types.is_string_view(kind):
        return "texts"
    if pa.types.is_boolean(kind):
        return "truth values"
    return "numbers" if is_number(kind) else None


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Cells of a column of categories."""

    codes: Codes  # Positions among the values
    values: pa.Array  # Some of which no row may have

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "Categories":
        """Make it of a column; a missing value is a value of its own."""
        if column.null_count and pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not pa.types.is_dictionary(column.type) or column.type.value_type == pa.float64():
            column = _plain_values(column).dictionary_encode(null_encoding="encode")
        if column.num_chunks > 1:
            column = column.unify_dictionaries()
        if not column.num_chunks:
            return cls(np.zeros(0, np.int32), pa.array([], column.type.value_type))
        values = _plain_values(column.chunk(0).dictionary)
        parts = [np.asarray(chunk.indices) for chunk in column.chunks]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return cls(codes.astype(np.int32, copy=False), values)

    def different(self) -> "Categories":
        """Return the cells with values that are all different."""
        encoded = self.values.dictionary_encode()
        if len(encoded.dictionary) == len(self.values):  # but Arrow allows others
            return self
        return Categories(np.asarray(encoded.indices)[self.codes], encoded.dictionary)

    def used(self) -> list[Any]:
        """Return the values that some row has."""
        found = np.bincount(self.codes, minlength=len(self.values)) > 0
        return list(self.values.filter(pa.array(found)).to_pylist())

    def array(self) -> pa.DictionaryArray:
        """Return the cells as Arrow has them."""
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), self.values, safe=False)


def _plain_values(values: Any) -> Any:
    """Give equal values one form: texts of one width, integers and floats of 64 bits, no -0.0."""
    kind = values.type
    if is_text(kind) or pa.types.is_string_view(kind):
        return values if kind == pa.string() else values.cast(pa.string())
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return values.cast(pa.int64())
    if is_number(kind) and not pa.types.is_integer(kind):
        return pc.add(values.cast(pa.float64(), safe=False), 0.0)
    return values


def as_numbers(column: pa.ChunkedArray, missing: float | None = None) -> FloatArray:
    """Return cells as doubles; None for `missing`: there are none that miss a value."""
    column = plain(column)
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    if missing is not None:
        gaps = pc.is_null(column, nan_is_null=True)
        column = pc.if_else(gaps, pa.scalar(missing), column)
    return np.asarray(column.chunk(0) if column.num_chunks == 1 else column, dtype=np.float64)


def as_table(rows: Any, name: str = "") -> pa.Table | None:
    """Return rows of any library as an Arrow table."""
    if isinstance(rows, pa.Table):
        table = rows
    elif isinstance(rows, pa.RecordBatch):
        table = pa.Table.from_batches([rows])
    else:
        frame = eager_frame(rows)
        if frame is None:
            return None
        try:
            if frame.implementation.is_pandas():
                table = pa.Table.from_pandas(rows, preserve_index=False)
            else:
                table = frame.to_arrow()
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                f"{_opening(name)}the rows cannot be turned into columns of one kind each "
                f"({'; '.join(map(str, error.args))}); write every column's cells the same way"
            ) from None
    names = table.column_names
    if len(set(names)) < len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{_opening(name)}two columns are named {shorten(twin)!r}; rename or remove one"
        )
    return table


def _opening(name: str) -> str:
    return f"{name}: " if name else ""


def as_column(values: Any, name: str = "") -> pa.ChunkedArray:
    """Return labels of any library as an Arrow column."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if not isinstance(values, pa.Array):
        if hasattr(values, "to_arrow"):
            values = values.to_arrow()
        else:
            try:
                values = pa.Array.from_pandas(values)
            except (pa.ArrowException, TypeError) as error:
                raise InputError(
                    f"{_opening(name)}the labels are not all of one kind ({error}); write all the "
                    "same way"
                ) from None
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def first_bad(column: pa.ChunkedArray) -> int | None:
    """Return the first row that misses a value or is not finite."""
    if not column.null_count and not pa.types.is_floating(plain(column).type):
        return None
    column = plain(column)
    bad = pc.is_null(column, nan_is_null=True)
    if pa.types.is_floating(column.type):
        bad = pc.or_(bad, pc.fill_null(pc.is_inf(column), False))
    at = pc.index(bad, True).as_py()
    return None if at < 0 else int(at)


# ----------------------------------------------------------------------------------------
# Moments: count, range, mean and spread of columns of numbers, which add up.


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Count, range, mean and spread of some columns of numbers."""

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    squares: FloatArray  # Sum of squared distances from the mean

    @classmethod
    def of(cls, columns: Sequence[FloatArray]) -> "Moments":
        """Look at columns of finite numbers."""
        d, count = len(columns), len(columns[0]) if columns else 0
        found = cls(count, np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d))
        distance = np.empty(count)
        with np.errstate(over="ignore", invalid="ignore"):
            for at, column in enumerate(columns if count else ()):
                found.low[at], found.high[at] = column.min(), column.max()
                found.mean[at] = mean = column.mean()
                np.subtract(column, mean, out=distance)
                rest = distance.sum()  # 0 but for rounding; taken off as scikit-learn does
                found.squares[at] = np.square(distance, out=distance).sum() - rest**2 / count
        return found

    def take(self, at: IntArray) -> "Moments":
        """Return those of some of the columns."""
        return Moments(self.count, self.low[at], self.high[at], self.mean[at], self.squares[at])

    def __add__(self, other: "Moments") -> "Moments":
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        apart = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            between = apart * apart * (self.count * (other.count / count))
            return Moments(
                count,
                np.minimum(self.low, other.low),
                np.maximum(self.high, other.high),
                self.mean + apart * (other.count / count),
                self.squares + other.squares + between,
            )

    @property
    def variance(self) -> FloatArray:
        """Mean squared distance from the mean."""
        return self.squares / max(self.count, 1)


# ----------------------------------------------------------------------------------------
# Distinct rows: which rows of a table are different, and how often each occurs.

Words = NDArray[np.uint64]
Cells = Categories | FloatArray

_MOST_CELLS = 2**24  # of a table: 128 MB of doubles
_FULL = 2**62  # more combinations than this do not fit into a word
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_MINUS_ZERO = np.uint64(2**63)


class MostDistinct:
    """How many distinct rows are worth keeping. Whoever sees more tells all who share it.

    More in some of the rows are more in all of them: whether a table is given up depends on the
    rows alone, and only how early on who saw what first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.exceeded = False

    def __reduce__(self) -> tuple[type["MostDistinct"], tuple[int]]:
        return MostDistinct, (self.most,)  # where it arrives, nobody has seen anything yet

    def rows(self, width: int) -> int:
        """Return how many rows of a number of columns are worth keeping."""
        return min(self.most, _MOST_CELLS // (width + 2))


class DistinctRows:
    """The distinct rows of some batches, grouped when many have come together or at the end."""

    def __init__(self, parts: "tuple[Distinct, ...] | None", limit: MostDistinct) -> None:
        self._parts = parts
        self._limit = limit
        self._group_many()

    def __reduce__(self) -> tuple[Any, ...]:
        self.table()  # as small as it can be, to travel
        return DistinctRows, (self._parts, self._limit)

    def __add__(self, other: "DistinctRows") -> "DistinctRows":
        if self._parts is None or other._parts is None or self._limit.exceeded:
            return DistinctRows(None, self._limit)
        return DistinctRows((*self._parts, *other._parts), self._limit)

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
