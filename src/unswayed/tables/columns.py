"""Columns of a batch in one form, their moments, and which rows are different."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import eager_frame
from unswayed.words import shorten


def codes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values with one representation per category: -0.0 becomes 0.0, NaN becomes null."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.add(values, pa.scalar(0, values.type))
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def same_everywhere(values: pa.ChunkedArray) -> bool:
    """Return whether all values are the same, a missing one being a value of its own."""
    if not len(values) or values.null_count in (len(values), 0):
        known = values.drop_null()
        return not len(known) or bool(pc.all(pc.equal(known, known[0])).as_py())
    return False


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in an Arrow type that the rest of the package handles."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    rare = pa.types.is_decimal(values.type) or pa.types.is_float16(values.type)
    return values.cast(pa.float64(), safe=False) if rare else values


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type holds texts, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type holds integers, floats or decimals."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_usable(kind: Any) -> bool:
    """Return whether an Arrow type holds numbers, texts or truth values."""
    return is_text(kind) or is_number(kind) or bool(pa.types.is_boolean(kind))


# --- Numerals: texts that are numbers, in the ways that people write them -----------------------

Decimal = Literal[".", ","]

_OTHER: dict[Decimal, Decimal] = {".": ",", ",": "."}
_ENGLISH = {"$", "£"}  # before a number whose thousands are separated by commas
_GLANCE = 100  # cells that are looked at before all are
_NAMED = 12  # columns that a note names


def _core(decimal: Decimal, *, grouped: bool) -> str:
    """Return the pattern of a number without a sign; thousands are separated by the other sign."""
    point, other = re.escape(decimal), re.escape(_OTHER[decimal])
    if grouped:
        return rf"[1-9]\d{{0,2}}(?:{other}\d{{3}})+(?:{point}\d*)?"
    return rf"(?:\d+{point}?\d*|{point}\d+)(?:[eE][+-]?\d+)?"


_PLAIN = {decimal: rf"^\s*[+-]?{_core(decimal, grouped=False)}\s*$" for decimal in _OTHER}
# As in accounts: $1,200 or -€ 1.200,50 or 13.4% or (1,200).
_WRITTEN = {
    decimal: r"^\s*(?P<open>\(?)\s*(?P<sign>[+-]?)\s*(?P<front>[$€£¥]?)\s*(?P<minus>[+-]?)"
    rf"(?P<number>{_core(decimal, grouped=True)}|{_core(decimal, grouped=False)})"
    r"\s*(?P<back>[$€£¥%]?)\s*(?P<close>\)?)\s*$"
    for decimal in _OTHER
}


def are_numbers(texts: Any, decimal: Decimal = ".", *, grouped: bool = True) -> BoolArray:
    """Return which texts are numbers.

    Examples
    --------
    >>> are_numbers(pa.array(["1.5", "1,169.00", "1.169,00", "?", "$5", "(7)"])).tolist()
    [True, True, False, False, True, True]
    """
    if grouped:
        return _is_one(_parts(texts, decimal))
    found = pc.match_substring_regex(texts, _PLAIN[decimal])
    return np.asarray(pc.fill_null(found, False), dtype=bool)


def texts_as_numbers(texts: pa.ChunkedArray, decimal: Decimal = ".") -> pa.ChunkedArray:
    """Return texts as doubles.

    Examples
    --------
    >>> texts_as_numbers(pa.chunked_array([["1.169,00", None, "-7", "(3,5 €)"]]), ",").to_pylist()
    [1169.0, None, -7.0, -3.5]
    """
    parts = _parts(texts, decimal)
    bare = pc.replace_substring(parts["number"], _OTHER[decimal], "")
    numbers = pc.cast(pc.replace_substring(bare, decimal, "."), pa.float64())
    minus = pc.or_(pc.equal(parts["sign"], "-"), pc.equal(parts["minus"], "-"))
    below = pc.or_(minus, pc.equal(parts["open"], "("))
    return pa.chunked_array([pc.if_else(below, pc.negate(numbers), numbers)])


def marks_of(texts: Any, decimal: Decimal) -> set[str]:
    """Return the currencies and percent signs of texts that are numbers; "" where one has none."""
    parts = _parts(texts, decimal)
    found = pc.binary_join_element_wise(parts["front"], parts["back"], "")
    return set(pc.unique(found.filter(pa.array(_is_one(parts)))).to_pylist())


def have_one_unit(marks: Collection[str]) -> bool:
    """Return whether numbers with these signs can be compared: 0.134 beside 13.4% cannot."""
    return len({*marks} - {""}) < 2 and not {"%", ""} <= {*marks}


def signs_in_words(marks: Collection[str]) -> str:
    """Return signs as a sentence has them.

    Examples
    --------
    >>> signs_in_words({"", "%", "$"})
    "'%' or '$' or no sign"
    """
    return " or ".join(repr(mark) if mark else "no sign" for mark in sorted(marks, reverse=True))


def surely_numbers(texts: pa.ChunkedArray, decimal: Decimal) -> bool:
    """Return whether texts can only be numbers that are not written plainly, such as $1,200.

    All must be numbers, with the same currency, a percent sign, or neither. Where 1,200 could also
    be 1.2, something must tell: a cell that is no number if the comma stands before decimals; a
    dollar sign; or cells without a comma beside some that end in 0, which 1.2 would not.
    """
    known = texts.drop_null()
    if not len(known) or not are_numbers(known.slice(0, _GLANCE), decimal).all():
        return False
    known = pc.unique(known)
    parts, plain = _parts(known, decimal), are_numbers(known, decimal, grouped=False)
    marks = marks_of(known, decimal)
    if not _is_one(parts).all() or plain.all() or len(marks) > 1:
        return False
    brackets, signs = (pc.any(pc.not_equal(parts[name], "")).as_py() for name in ("open", "sign"))
    if brackets and (signs or pc.all(pc.equal(parts["open"], "(")).as_py()):
        return False
    if not are_numbers(known, _OTHER[decimal]).all() or (decimal == "." and marks <= _ENGLISH):
        return True

    def some(pattern: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(parts["number"], pattern)).as_py())

    point, other = re.escape(decimal), re.escape(_OTHER[decimal])
    if some(rf"^[1-9]\d{{0,2}}{point}\d{{3}}$") and "%" not in marks:
        return False
    thousands = some(rf"^[1-9]\d{{0,2}}{other}\d{{3}}$")
    return not thousands or (some(r"^\d{1,3}$") and some(rf"{other}\d\d0$"))


def example(texts: pa.ChunkedArray, decimal: Decimal) -> str:
    """Say how a text is read that is no plain number, one in brackets if there is one."""
    known = texts.drop_null()
    brackets = np.flatnonzero(pc.match_substring(known, "("))
    odd = np.flatnonzero(~are_numbers(known, decimal, grouped=False))
    first = known.slice(int((*brackets[:1], *odd[:1], 0)[0]), 1)
    number = texts_as_numbers(first, decimal)[0].as_py()
    return f"{shorten(first[0].as_py().strip())!r} as {number:.15g}"


def in_words(file: str, read: Mapping[str, str]) -> list[str]:
    """Return a note about columns whose texts are read as numbers, by their examples."""
    if not read:
        return []
    said = [f"{how} in column {shorten(name)!r}" for name, how in list(read.items())[:_NAMED]]
    said[0] = said[0].replace(" as ", " is read as ", 1)
    more = f" and the like in {len(read) - _NAMED:,} more columns" if len(read) > _NAMED else ""
    return [f"{file}: {', '.join(said)}{more}; --categorical keeps the texts"]


def _parts(texts: Any, decimal: Decimal) -> dict[str, Any]:
    """Return the parts of texts that are numbers; null where one is none."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    found = pc.extract_regex(texts, _WRITTEN[decimal])
    names = ("open", "sign", "front", "minus", "number", "back", "close")
    return {name: pc.struct_field(found, name) for name in names}


def _is_one(parts: Mapping[str, Any]) -> BoolArray:
    """Return which texts are numbers: brackets are closed, and there is one sign of a kind."""
    twice = [pc.and_(pc.not_equal(parts[one], ""), pc.not_equal(parts[other], ""))
             for one, other in (("sign", "minus"), ("front", "back"), ("open", "sign"),
                                ("open", "minus"))]  # fmt: skip
    found = pc.equal(pc.equal(parts["open"], "("), pc.equal(parts["close"], ")"))
    for each in twice:
        found = pc.and_(found, pc.invert(each))
    return np.asarray(pc.fill_null(found, False), dtype=bool)


# --- Columns in one form --------------------------------------------------------------------

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

    def counts(self) -> dict[Any, int]:
        """Return how many rows have each of the values that some row has."""
        times = np.bincount(self.codes, minlength=len(self.values))
        used = np.flatnonzero(times)
        values = self.values.take(pa.array(used)).to_pylist()
        return dict(zip(values, times[used].tolist(), strict=True))


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


def array_as_table(rows: Any) -> pa.Table:
    """Return the columns of an array of numbers: x0, x1 and so on."""
    by_column = np.ascontiguousarray(rows.T, dtype=np.float64)
    return pa.table({f"x{at}": numbers for at, numbers in enumerate(by_column)})


def _opening(name: str) -> str:
    return f"{name}: " if name else ""


def as_column(values: Any, name: str = "") -> pa.ChunkedArray:
    """Return labels of any library as an Arrow column."""
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    elif not isinstance(values, pa.Array | pa.ChunkedArray):
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
    column = plain(column)
    bad = pc.is_null(column, nan_is_null=True)
    if pa.types.is_floating(column.type):
        bad = pc.or_(bad, pc.fill_null(pc.is_inf(column), False))
    at = pc.index(bad, True).as_py()
    return None if at < 0 else int(at)


def all_finite(numbers: FloatArray) -> bool:
    """Return whether no number is infinite or NaN."""
    # A sum that is finite has finite terms only; one that is not may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(numbers.sum()) or np.isfinite(numbers).all())


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, range, mean and spread of a column of numbers, which add up."""

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    mean: float = 0.0
    squares: float = 0.0  # Sum of squared distances from the mean

    @classmethod
    def of(cls, column: FloatArray) -> "Moments":
        """Look at a column of finite numbers."""
        count = len(column)
        if not count:
            return cls()
        with np.errstate(over="ignore", invalid="ignore"):
            distance = column - (mean := column.mean())
            rest = distance.sum()  # 0 but for rounding; taken off as scikit-learn does
            squares = np.square(distance, out=distance).sum() - rest**2 / count
        return cls(count, float(column.min()), float(column.max()), float(mean), float(squares))

    def __add__(self, other: "Moments") -> "Moments":
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        apart = other.mean - self.mean
        return Moments(
            count,
            min(self.low, other.low),
            max(self.high, other.high),
            self.mean + apart * (other.count / count),
            self.squares + other.squares + apart * apart * (self.count * (other.count / count)),
        )

    @property
    def variance(self) -> float:
        """Mean squared distance from the mean."""
        return self.squares / max(self.count, 1)


# --- Distinct rows: which rows of a table are different, and how often each occurs -------------

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
        most = limit.rows(parts[0].rows.num_columns) if parts else 0
        if sum(map(len, parts or ())) > most and len(self.table() or ()) > most:
            limit.exceeded = True
            self._parts = None

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
        totals = np.zeros(len(first), dtype=np.intp)
        np.add.at(totals, groups, 1 if counts is None else counts)
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
        return pa.DictionaryArray.from_arrays(pa.array(codes), cells.values, safe=False)
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
