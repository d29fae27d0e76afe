"""Encoding: from rows as they are in files to features, the same in every piece."""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense, is_missing
from unswayed.pieces.passes import Task
from unswayed.pieces.pieces import Batch, Piece, Place
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
    codes,
    first_bad,
    is_text,
    kind_of,
    plain,
)
from unswayed.words import as_text, shorten, suggest

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
        raise _bad_in_piece(piece, batch, what, values)
    if is_category:
        found = Categories.of(values).different()
        if first_bad(pa.chunked_array([found.values])) is None:
            return found
        raise _bad_in_piece(piece, batch, what, values)
    numbers = as_numbers(values)
    # A sum that is finite has finite terms only; one that is not may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(numbers.sum()) or np.isfinite(numbers).all()
    if not finite:
        raise _bad_in_piece(piece, batch, what, values)
    return numbers


def _bad_in_piece(piece: Piece, batch: Batch, what: str, values: pa.ChunkedArray) -> InputError:
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
        raise _bad_in_piece(
            piece, batch, f"column {names[at]!r}", pa.chunked_array([by_column[at]])
        )
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


# --- Encoding: from rows as they are in files to features, the same in every piece ---------


_ROWS = 2048  # encoded together
_DENSE = 0.3  # of the features that are not 0 in a row of rows in memory: fewer, and it is sparse

_Where = Callable[[int], Place]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn:
    """A column and the features that it becomes."""

    name: str
    kind: str
    start: int  # Its first feature
    is_category: bool
    categories: pa.Array  # Sorted, one feature for each; empty for a number
    mean: float = 0.0  # A number x becomes (x - mean) / scale
    scale: float = 1.0
    missing: float | None = None  # The number that a missing one is taken for; None: it is refused

    @property
    def width(self) -> int:
        """Number of its features."""
        return len(self.categories) if self.is_category else 1

    @property
    def names(self) -> list[str]:
        """Names of its features."""
        if not self.is_category:
            return [self.name]
        return [f"{self.name} = {as_text(value)}" for value in self.categories.to_pylist()]

    def scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers as scikit-learn's StandardScaler would, or as they are."""
        if self.mean == 0.0 and self.scale == 1.0:
            return numbers
        found = numbers - self.mean
        found /= self.scale
        return found

    def positions(self, values: pa.ChunkedArray) -> IntArray:
        """Return which feature is 1, for cells of a column of categories."""
        if self.categories.null_count:
            values = codes(plain(values))
        cells, known = Categories.of(values), self.categories
        present = cells.values
        if pa.types.is_null(present.type):  # a piece without rows has no type of its own
            present = present.cast(known.type)
        if pa.types.is_integer(present.type) and pa.types.is_integer(known.type):
            with contextlib.suppress(pa.ArrowInvalid):  # doubles would not tell large ones apart
                present = present.cast(known.type)
        if present.type != known.type:  # integers here, decimals there
            present, known = (each.cast(pa.float64(), safe=False) for each in (present, known))
        found = pc.index_in(present, value_set=known)
        feature = np.asarray(found.fill_null(-1) if found.null_count else found).astype(np.intp)
        feature[feature >= 0] += self.start
        return feature.take(cells.codes)


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """How rows become features. It is small, and travels to whoever reads rows."""

    columns: tuple[EncodedColumn, ...]  # In the order of their features
    names: tuple[str, ...]  # Of the features
    centre: FloatArray  # Mean of each feature that is a number; 0 for the others
    peak: FloatArray  # Largest distance of a training row's feature from it, or a little more
    # Features of each column of categories: every training row has one 1 in each
    blocks: tuple[slice, ...]
    is_sparse: bool  # Whether features are a sparse matrix: most of them are 0 in every row
    gaps: bool = False  # Whether a missing category is one like others, and a number filled in

    @classmethod
    def of_table(
        cls, table: pa.Table, categorical: Collection[str] = (), *, impute: bool = False
    ) -> "Encoding":
        """Make it of the feature columns of training rows that are in memory.

        Numbers are centred and scaled by the same arithmetic as in scikit-learn's StandardScaler.
        """
        fills = _medians(table, categorical) if impute else {}
        survey = survey_table(table, categorical, fills)
        made = cls.of(survey, standardise=True, categories_first=True)
        columns = tuple(replace(each, missing=fills.get(each.name)) for each in made.columns)
        is_sparse = bool(made.blocks) and len(columns) / made.n_features < _DENSE
        return replace(made, columns=columns, is_sparse=is_sparse, gaps=impute)

    @classmethod
    def of(
        cls, survey: Survey, *, standardise: bool = False, categories_first: bool = False
    ) -> "Encoding":
        """Make it of what a survey found."""
        if not survey.n_rows:
            raise InputError("there are no training rows; nothing can be learned from no rows")
        columns: list[EncodedColumn] = []
        centre: list[FloatArray] = []
        peak: list[FloatArray] = []
        start = 0
        for column, at in _ordered(survey, categories_first):
            if column.is_category:
                values = _in_order(survey.categories[at])
                made = EncodedColumn(column.name, column.kind, start, True, values)
                middle, far = np.zeros(made.width), np.ones(made.width)
            else:
                made, middle, far = _number(survey, column, at, start, standardise)
            columns.append(made)
            centre.append(middle)
            peak.append(far)
            start += made.width
        names = tuple(name for column in columns for name in column.names)
        blocks = tuple(
            slice(column.start, column.start + column.width)
            for column in columns
            if column.is_category
        )
        is_sparse = len(names) > 4 * len(columns) + 8
        middle, far = np.concatenate(centre), np.concatenate(peak)
        return cls(tuple(columns), names, middle, far, blocks, is_sparse)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def categories(self) -> list[EncodedColumn]:
        """Columns of categories."""
        return [column for column in self.columns if column.is_category]

    @property
    def numbers(self) -> list[EncodedColumn]:
        """Columns of numbers."""
        return [column for column in self.columns if not column.is_category]

    def unseen(self, rows: pa.Table) -> dict[str, BoolArray]:
        """Return the rows that have a category which no training row has, by column."""
        found = {
            column.name: column.positions(rows.column(column.name)) < 0
            for column in self.categories
        }
        return {name: flags for name, flags in found.items() if flags.any()}

    def features(
        self,
        rows: Any,
        place: _Where | None = None,
        unseen: Literal["raise", "zeros"] = "raise",
    ) -> Matrix:
        """Encode rows."""
        values = self._values(rows)
        columns = zip(self.columns, values, strict=True)
        found = (
            self._known(column, cells, place, unseen)
            if column.is_category
            else self._finite(column, cells, place)
            for column, cells in columns
        )
        if not self.is_sparse:
            return self._dense(list(found))
        return self._sparse(found, len(values[0]))  # a column at a time: they take memory

    def _dense(self, found: list[Any]) -> FloatArray:
        n, p = len(found[0]), self.n_features
        out = np.zeros((n, p))
        whole = [not column.is_category or cells.min(initial=0) >= 0
                 for column, cells in zip(self.columns, found, strict=True)]  # fmt: skip
        corners = np.arange(0, min(n, _ROWS) * p, p)
        for start in range(0, n, _ROWS):  # few enough to stay in the cache for all columns
            here = out[start : start + _ROWS]
            flat, ends = here.reshape(-1), corners[: len(here)]
            for column, cells, is_whole in zip(self.columns, found, whole, strict=True):
                part = cells[start : start + _ROWS]
                if not column.is_category:
                    here[:, column.start] = part
                elif is_whole:
                    flat[ends + part] = 1.0
                else:
                    flat[(ends + part)[part >= 0]] = 1.0
        return out

    def _sparse(self, found: Iterator[Any], n: int) -> Matrix:
        d = len(self.columns)
        indices, data = np.empty((n, d), dtype=np.int32), np.ones((n, d))
        for at, (column, cells) in enumerate(zip(self.columns, found, strict=True)):
            if not column.is_category:
                data[:, at] = cells
                indices[:, at] = column.start
                continue
            indices[:, at] = cells
            if cells.min(initial=0) < 0:
                data[cells < 0, at] = 0.0
                indices[cells < 0, at] = column.start
        ends = np.arange(0, n * d + 1, d, dtype=np.int32)
        shape = (n, self.n_features)
        return sparse.csr_array((data.reshape(-1), indices.reshape(-1), ends), shape=shape)

    def as_rows(self, features: FloatArray) -> Matrix:
        """Return features in the form that training rows have."""
        return sparse.csr_array(features) if self.is_sparse else features

    def _finite(self, column: EncodedColumn, cells: Any, place: _Where | None) -> FloatArray:
        _check(column, cells, place, gaps=self.gaps)
        numbers = as_numbers(cells, column.missing)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(numbers.sum()) or np.isfinite(numbers).all()
        if not finite:
            raise _bad(column, cells, place)
        return column.scaled(numbers)

    def _known(
        self, column: EncodedColumn, cells: Any, place: _Where | None, unseen: str
    ) -> IntArray:
        _check(column, cells, place, gaps=self.gaps)
        feature = column.positions(cells)
        if unseen == "zeros" or feature.min(initial=0) >= 0:
            return feature
        at = int(np.flatnonzero(feature < 0)[0])
        value = as_text(cells[at].as_py())
        known = [as_text(each) for each in column.categories.to_pylist()]
        raise InputError(
            f"{_where(at, place)}: column {shorten(column.name)!r} is {value!r}, a category that "
            f"no training row has; {suggest(value, known, 'categories')}"
        )

    def _values(self, rows: Any) -> list[Any]:
        """Return the columns of rows, in the order of the features."""
        table = as_table(rows)
        if table is None:
            array = np.asarray(dense(rows))
            fits = array.ndim == 2 and array.shape[1] == len(self.columns)
            if not fits or any(column.is_category for column in self.columns):
                raise InputError(
                    f"the rows are an array of shape {array.shape}, but the training rows have "
                    f"the columns {', '.join(repr(c.name) for c in self.columns[:8])}; pass a "
                    "frame with these columns, or, if all are numbers, an array of as many"
                )
            by_column = np.ascontiguousarray(array.T, dtype=np.float64)
            return [pa.chunked_array([pa.array(column)]) for column in by_column]
        known = table.column_names
        for column in self.columns:
            if column.name not in known:
                raise InputError(
                    f"the rows have no column {shorten(column.name)!r}, which the training rows "
                    f"have; {suggest(column.name, known)}"
                )
        return [table.column(column.name) for column in self.columns]


def _medians(table: pa.Table, categorical: Collection[str]) -> dict[str, float]:
    """Return the median of every column of numbers, without the cells that miss one."""
    found = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if not is_text(values.type) and name not in categorical:
            known = as_numbers(codes(plain(values)).drop_null())
            found[name] = float(np.median(known)) if len(known) else 0.0
    return found


def _in_order(values: Collection[Any]) -> pa.Array:
    """Return categories in order, a missing one last."""
    found = sorted(values, key=lambda value: (value is None, value))
    try:
        return pa.array(found)
    except OverflowError:  # beyond the integers that Arrow tries first
        return pa.array(found, pa.uint64())


def _ordered(survey: Survey, categories_first: bool) -> list[tuple[SurveyedColumn, int]]:
    """Return columns in the order of their features, with their position among their like."""
    seen = {True: 0, False: 0}
    found = []
    for column in survey.columns:
        found.append((column, seen[column.is_category]))
        seen[column.is_category] += 1
    return sorted(found, key=lambda each: not each[0].is_category) if categories_first else found


def _number(
    survey: Survey, column: SurveyedColumn, at: int, start: int, standardise: bool
) -> tuple[EncodedColumn, FloatArray, FloatArray]:
    """Return a column of numbers, its centre and its peak."""
    moments, none = survey.moments, pa.array([], pa.float64())
    mean, variance = float(moments.mean[at]), float(moments.variance[at])
    if moments.low[at] == moments.high[at]:
        mean, variance = float(moments.low[at]), 0.0  # what is the same everywhere becomes 0
    if not np.isfinite(mean) or (standardise and not np.isfinite(variance)):
        raise InputError(
            f"column {shorten(column.name)!r} holds numbers too large for a mean and a variance "
            "in doubles; divide it by a power of ten"
        )
    if not standardise:
        made = EncodedColumn(column.name, column.kind, start, False, none)
        middle = mean
    else:
        # scikit-learn's rule for a column whose spread is rounding: its scale is left alone.
        n, eps = survey.n_rows, float(np.finfo(np.float64).eps)
        is_constant = variance <= n * eps * variance + (n * mean * eps) ** 2
        scale = 1.0 if is_constant else float(np.sqrt(variance))
        made = EncodedColumn(column.name, column.kind, start, False, none, mean, scale)
        middle = 0.0
    ends = made.scaled(np.array([moments.low[at], moments.high[at]])) - middle
    # Rounding keeps order, so no feature is beyond those of the ends; the subtraction may round.
    peak = np.abs(ends).max(keepdims=True)
    return made, np.array([middle]), np.where(peak > 0, np.nextafter(peak, np.inf), 0.0)


def _check(column: EncodedColumn, cells: Any, place: _Where | None, *, gaps: bool) -> None:
    """Raise unless cells are of the column's kind and none is missing that may not be."""
    kind = kind_of(cells.type)
    numbers = not column.is_category and {column.kind, kind} <= {"numbers", "truth values"}
    if kind not in (column.kind, "nothing") and not numbers:
        raise InputError(
            f"column {shorten(column.name)!r} held {column.kind} in the training rows but holds "
            f"{kind or f'{cells.type} values'} here; give both the same kind"
        )
    if cells.null_count and not gaps:
        raise _bad(column, cells, place)


def _bad(column: EncodedColumn, cells: Any, place: _Where | None) -> InputError:
    at = first_bad(cells) or 0
    found = "infinite" if cells[at].as_py() in (np.inf, -np.inf) else "missing"
    return InputError(
        f"{_where(at, place)}: column {shorten(column.name)!r} is {found}; fill it in or drop "
        "the row"
    )


def _where(at: int, place: _Where | None) -> str:
    return f"row {at + 1:,}" if place is None else str(place(at))
