"""The survey: a first pass that finds out what the columns hold and which rows are equal."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
from unswayed.inputs import is_missing
from unswayed.pieces.passes import Task
from unswayed.pieces.pieces import Batch, Piece
from unswayed.tables.cells import codes, is_text, plain
from unswayed.tables.columns import (
    Categories,
    Cells,
    Distinct,
    DistinctRows,
    Moments,
    MostDistinct,
    as_column,
    as_numbers,
    as_table,
    first_bad,
    kind_of,
)
from unswayed.words import shorten

MOST_CATEGORIES = 10_000
"""A column with more of them is an identifier."""

MOST_CLASSES = 20
"""SurveyedLabels with more different values are not counted one by one."""

_MOST_ARRAY = 64  # columns of an array in which equal rows are looked for


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """A feature column."""

    name: str
    kind: str  # What its cells are
    is_category: bool  # Whether it becomes one feature for each different value
    seen_in: str  # The piece that told

    def __add__(self, other: "SurveyedColumn") -> "SurveyedColumn":
        if (self.kind, self.is_category) == (other.kind, other.is_category):
            return self
        raise InputError(
            f"{other.seen_in}: column {shorten(self.name)!r} holds {other._in_words()} but "
            f"{self._in_words()} in {self.seen_in}; give it the same kind everywhere"
        )

    def _in_words(self) -> str:
        return f"categories that are {self.kind}" if self.is_category else self.kind


@dataclass(frozen=True, slots=True, eq=False)
class SurveyedLabels:
    """What the labels are."""

    kind: str
    # How often each value occurs; None if there are more than `MOST_CLASSES`
    counts: dict[Any, int] | None
    moments: Moments  # Of one column; its count is 0 for texts
    seen_in: str  # The first piece that has labels

    @classmethod
    def of(cls, column: pa.ChunkedArray, cells: Cells, seen_in: str) -> "SurveyedLabels":
        """Look at labels."""
        kind = str(kind_of(column.type))
        if isinstance(cells, Categories):
            times = np.bincount(cells.codes, minlength=len(cells.values)).tolist()
            found = dict(zip(cells.values.to_pylist(), times, strict=True))
            counts = {value: n for value, n in found.items() if n}
            return cls(kind, _few(counts), Moments.of([np.zeros(0)]), seen_in)
        moments = Moments.of([cells])
        for part in (cells[: 2 * MOST_CLASSES], cells):  # a look is enough where all are different
            values, times = np.unique(part, return_counts=True)
            if len(values) > MOST_CLASSES:
                return cls(kind, None, moments, seen_in)
        whole: Any = bool if kind == "truth values" else int
        if kind == "truth values" or pa.types.is_integer(column.type):
            values = np.array([whole(value) for value in values], dtype=object)
        counts = dict(zip(values.tolist(), times.tolist(), strict=True))
        return cls(kind, counts, moments, seen_in)

    def __add__(self, other: "SurveyedLabels") -> "SurveyedLabels":
        if self.kind != other.kind:
            raise InputError(
                f"{other.seen_in}: the labels are {other.kind} but {self.kind} in {self.seen_in}; "
                "write them the same way everywhere"
            )
        counts = None
        if self.counts is not None and other.counts is not None:
            total = Counter(self.counts)
            total.update(other.counts)
            counts = _few(dict(total))
        return SurveyedLabels(self.kind, counts, self.moments + other.moments, self.seen_in)


def _few(counts: dict[Any, int]) -> dict[Any, int] | None:
    return counts if len(counts) <= MOST_CLASSES else None


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What was found in some of the rows."""

    rows: dict[int, int]  # Rows by the number of their piece; a piece without rows may lack
    # Position after the last of these, likewise: more than `rows` where some are left out
    ends: dict[int, int]
    left_out: int  # Rows that miss a value and are left out
    columns: tuple[SurveyedColumn, ...]  # Feature columns, in order; none before any row is seen
    moments: Moments  # Of the columns that are no categories, in order
    categories: tuple[frozenset[Any], ...]  # Values of the columns that are, in order
    labels: SurveyedLabels
    tally: DistinctRows  # The different rows, or that they are too many

    @property
    def distinct(self) -> Distinct | None:
        """All different rows; None if they are too many."""
        return self.tally.table()

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self.rows.values())

    def __add__(self, other: "Survey") -> "Survey":
        if not self.columns or not other.columns:
            return self if self.columns else other
        rows, ends = dict(self.rows), dict(self.ends)
        for number, n in other.rows.items():
            rows[number] = rows.get(number, 0) + n
        for number, end in other.ends.items():
            ends[number] = max(ends.get(number, 0), end)
        columns = _columns(self.columns, other.columns)
        names = [column.name for column in columns if column.is_category]
        categories = tuple(
            mine if theirs <= mine else mine | theirs
            for mine, theirs in zip(self.categories, other.categories, strict=True)
        )
        for name, values in zip(names, categories, strict=True):
            _refuse_identifier(name, len(values))
        return Survey(
            rows,
            ends,
            self.left_out + other.left_out,
            columns,
            self.moments + other.moments,
            categories,
            self.labels + other.labels,
            self.tally + other.tally,
        )


def _columns(
    mine: tuple[SurveyedColumn, ...], theirs: tuple[SurveyedColumn, ...]
) -> tuple[SurveyedColumn, ...]:
    names, others = [column.name for column in mine], [column.name for column in theirs]
    if names != others:
        at = next((name for name in [*others, *names] if (name in names) != (name in others)), None)
        what = "its columns are in another order than" if at is None else (
            f"column {shorten(at)!r} is {'not ' if at in names else ''}there, other than"
        )  # fmt: skip
        raise InputError(
            f"{theirs[0].seen_in}: {what} in {mine[0].seen_in}; give all parts the same columns"
        )
    return tuple(a + b for a, b in zip(mine, theirs, strict=True))


def _refuse_identifier(name: str, count: int) -> None:
    if count > MOST_CATEGORIES:
        raise InputError(
            f"column {shorten(name)!r} has more than {MOST_CATEGORIES:,} different categories, so "
            "it is an identifier: it says who a row is and not what it is like; ignore it"
        )


class SurveyTask(Task[Survey]):
    """The first pass over the training rows."""

    title = "looking at the rows"

    def __init__(self, categorical: Iterable[str] = (), most_distinct: int = 2**18) -> None:
        self.categorical = tuple(sorted(set(categorical)))  # equal tasks are pickled equally
        self.limit = MostDistinct(most_distinct)

    def nothing(self) -> Survey:
        """Return what is found in no rows."""
        empty = Moments.of([])
        return Survey(
            {},
            {},
            0,
            (),
            empty,
            (),
            SurveyedLabels("numbers", {}, empty, ""),
            DistinctRows((), self.limit),
        )

    def batch(self, number: int, piece: Piece, batch: Batch) -> Survey:
        """Look at a batch."""
        columns, cells = _features(piece, batch, self.categorical)
        column, label = _labels(piece, batch)
        categories = tuple(frozenset(each.used()) for each in cells if isinstance(each, Categories))
        names = [column.name for column in columns if column.is_category]
        for name, values in zip(names, categories, strict=True):
            _refuse_identifier(name, len(values))
        return Survey(
            {number: len(batch)},
            {number: int(batch.numbers[-1]) + 1 if len(batch) else 0},
            batch.left_out,
            columns,
            Moments.of([each for each in cells if not isinstance(each, Categories)]),
            categories,
            SurveyedLabels.of(column, label, piece.name),
            self._tally(batch, columns, cells, label),
        )

    def _tally(
        self, batch: Batch, columns: Sequence[SurveyedColumn], cells: list[Cells], label: Cells
    ) -> DistinctRows:
        wide = isinstance(batch.rows, np.ndarray) and len(cells) > _MOST_ARRAY
        if self.limit.exceeded or wide:
            return DistinctRows(None, self.limit)
        found = Distinct.of([column.name for column in columns], cells, label)
        return DistinctRows((found,), self.limit)


def survey_table(
    table: pa.Table, categorical: Collection[str], fills: Mapping[str, float]
) -> Survey:
    """Look at the feature columns of rows in memory, as one batch, with missing numbers filled in.

    A missing category is one of its own. SurveyedLabels are looked at elsewhere.
    """
    columns: list[SurveyedColumn] = []
    categories: list[frozenset[Any]] = []
    numbers: list[FloatArray] = []
    for name, given in zip(table.column_names, table.columns, strict=True):
        values = codes(plain(given))
        is_category = is_text(values.type) or name in categorical
        columns.append(SurveyedColumn(name, str(kind_of(values.type)), is_category, ""))
        if is_category:
            categories.append(frozenset(Categories.of(values).used()))
        else:
            numbers.append(as_numbers(values, fills.get(name)))
    none = Moments.of([])
    n_rows = table.num_rows
    return Survey(
        {0: n_rows},
        {0: n_rows},
        0,
        tuple(columns),
        Moments.of(numbers),
        tuple(categories),
        SurveyedLabels("numbers", {}, none, ""),
        DistinctRows(None, MostDistinct(0)),
    )


def _features(
    piece: Piece, batch: Batch, categorical: Collection[str]
) -> tuple[tuple[SurveyedColumn, ...], list[Cells]]:
    table = as_table(batch.rows, piece.name)
    if table is None:
        return _array(piece, batch)
    columns: list[SurveyedColumn] = []
    cells: list[Cells] = []
    for name, values in zip(table.column_names, table.columns, strict=True):
        kind = kind_of(values.type)
        if kind is None:
            raise InputError(
                f"{piece.name}: column {shorten(name)!r} holds {values.type} values, neither "
                "numbers nor texts; turn it into one of them (a date into a year, say) or "
                "ignore it"
            )
        is_category = kind == "texts" or pa.types.is_dictionary(values.type) or name in categorical
        cells.append(
            _cells(piece, batch, f"column {shorten(name)!r}", values, is_category=is_category)
        )
        columns.append(SurveyedColumn(name, kind, is_category, piece.name))
    return tuple(columns), cells


def _cells(
    piece: Piece, batch: Batch, what: str, values: pa.ChunkedArray, *, is_category: bool
) -> Cells:
    """Return cells in the form in which they are computed with; raise if one is missing."""
    if values.null_count or pa.types.is_null(values.type):
        raise _bad(piece, batch, what, values)
    if is_category:
        found = Categories.of(values).different()
        if first_bad(pa.chunked_array([found.values])) is None:
            return found
        raise _bad(piece, batch, what, values)
    numbers = as_numbers(values)
    # A sum that is finite has finite terms only; one that is not may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(numbers.sum()) or np.isfinite(numbers).all()
    if not finite:
        raise _bad(piece, batch, what, values)
    return numbers


def _bad(piece: Piece, batch: Batch, what: str, values: pa.ChunkedArray) -> InputError:
    """Name the first cell that is missing or infinite."""
    at = first_bad(values) or 0
    gone = is_missing(values[at].as_py())
    way = "fill it in, or drop such rows" if gone else "correct it, or drop the row"
    found = "missing" if gone else "infinite"
    place = piece.place(int(batch.numbers[at]))
    return InputError(f"{place}: {what} is {found}; {way}")


def _array(piece: Piece, batch: Batch) -> tuple[tuple[SurveyedColumn, ...], list[Cells]]:
    """Return the columns of an array of numbers: x0, x1 and so on."""
    rows = np.asarray(batch.rows)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise InputError(
            f"{piece.name} holds an array of shape {rows.shape} and type {rows.dtype}; pass a "
            "frame, or an array of numbers with a row for each training row"
        )
    by_column = np.ascontiguousarray(rows.T, dtype=np.float64)
    bad = ~np.isfinite(by_column.sum(axis=0))
    if bad.any():
        bad = ~np.isfinite(rows).all(axis=1)
    names = [f"x{at}" for at in range(rows.shape[1])]
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        at = int(np.flatnonzero(~np.isfinite(rows[row]))[0])
        raise _bad(piece, batch, f"column {names[at]!r}", pa.chunked_array([by_column[at]]))
    columns = tuple(SurveyedColumn(name, "numbers", False, piece.name) for name in names)
    return columns, list(by_column)


def _labels(piece: Piece, batch: Batch) -> tuple[pa.ChunkedArray, Cells]:
    column = as_column(batch.labels, piece.name)
    kind = kind_of(column.type)
    if kind is None:
        raise InputError(
            f"{piece.name}: the labels are {column.type} values, neither numbers nor texts; turn "
            "them into one of them"
        )
    if len(column) != len(batch):
        raise InputError(f"{piece.name} has {len(column):,} labels for {len(batch):,} rows")
    if kind != "texts":
        column = plain(column)
    return column, _cells(piece, batch, "the label", column, is_category=kind == "texts")
