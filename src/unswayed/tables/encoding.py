"""Encoding: what the columns of rows hold, and from rows to features, the same in every piece."""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense, is_missing
from unswayed.pieces.passes import Task
from unswayed.pieces.pieces import Batch, Piece
from unswayed.tables.columns import (
    Categories,
    Cells,
    Distinct,
    DistinctRows,
    Moments,
    MostDistinct,
    all_finite,
    array_as_table,
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
"""Labels with more different values are not counted one by one."""

_MOST_ARRAY = 64  # columns of an array in which equal rows are looked for


@dataclass(frozen=True, slots=True, eq=False)
class SurveyedColumn:
    """What a feature column holds: numbers, or categories."""

    name: str
    kind: str  # What its cells are
    seen_in: str  # The piece that told
    moments: Moments  # Of its numbers
    categories: frozenset[Any] | None  # Its different values, if each becomes a feature

    @classmethod
    def of(cls, name: str, kind: str, seen_in: str, cells: Cells) -> "SurveyedColumn":
        """Look at the cells of a column."""
        if isinstance(cells, Categories):
            return cls(name, kind, seen_in, Moments(), frozenset(cells.counts()))
        return cls(name, kind, seen_in, Moments.of(cells), None)

    @property
    def is_category(self) -> bool:
        """Whether it becomes one feature for each different value."""
        return self.categories is not None

    @property
    def first(self) -> Any:
        """One of its values."""
        return self.moments.low if self.categories is None else next(iter(self.categories))

    @property
    def varies(self) -> bool:
        """Whether not all rows have the same value."""
        if self.categories is None:
            return self.moments.low != self.moments.high
        return len(self.categories) > 1

    def __add__(self, other: "SurveyedColumn") -> "SurveyedColumn":
        if (self.kind, self.is_category) != (other.kind, other.is_category):
            raise InputError(
                f"{other.seen_in}: column {shorten(self.name)!r} holds {other._in_words()} but "
                f"{self._in_words()} in {self.seen_in}; give it the same kind everywhere"
            )
        mine, theirs = self.categories, other.categories
        if mine is not None and theirs is not None and not theirs <= mine:
            mine = mine | theirs
        return replace(self, moments=self.moments + other.moments, categories=mine)

    def _in_words(self) -> str:
        return f"categories that are {self.kind}" if self.is_category else self.kind


@dataclass(frozen=True, slots=True, eq=False)
class SurveyedLabels:
    """What the labels are."""

    kind: str = "numbers"
    # How often each value occurs; None if there are more than `MOST_CLASSES`
    counts: dict[Any, int] | None = field(default_factory=dict)
    moments: Moments = field(default_factory=Moments)  # Its count is 0 for texts
    seen_in: str = ""  # The first piece that has labels

    @classmethod
    def of(cls, column: pa.ChunkedArray, cells: Cells, seen_in: str) -> "SurveyedLabels":
        """Look at labels."""
        kind = str(kind_of(column.type))
        if isinstance(cells, Categories):
            return cls(kind, _few(cells.counts()), Moments(), seen_in)
        moments = Moments.of(cells)
        for part in (cells[: 2 * MOST_CLASSES], cells):  # a look is enough where all are different
            values, times = np.unique(part, return_counts=True)
            if len(values) > MOST_CLASSES:
                return cls(kind, None, moments, seen_in)
        whole = int if pa.types.is_integer(column.type) else float
        made: Any = bool if kind == "truth values" else whole
        counts = dict(zip(map(made, values.tolist()), times.tolist(), strict=True))
        return cls(kind, counts, moments, seen_in)

    def __add__(self, other: "SurveyedLabels") -> "SurveyedLabels":
        if self.kind != other.kind:
            raise InputError(
                f"{other.seen_in}: the labels are {other.kind} but {self.kind} in {self.seen_in}; "
                "write them the same way everywhere"
            )
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = _few(dict(Counter(self.counts) + Counter(other.counts)))
        return SurveyedLabels(self.kind, counts, self.moments + other.moments, self.seen_in)


def _few(counts: dict[Any, int]) -> dict[Any, int] | None:
    return counts if len(counts) <= MOST_CLASSES else None


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What was found in some of the rows; rows in memory are one piece."""

    columns: tuple[SurveyedColumn, ...] = ()  # Of features, in order; none before any row is seen
    rows: dict[int, int] = field(default_factory=dict)  # By the number of a piece that has some
    # Position after the last of these, likewise: more than `rows` where some are left out
    ends: dict[int, int] = field(default_factory=dict)
    left_out: int = 0  # Rows that miss a value and are left out
    labels: SurveyedLabels = field(default_factory=SurveyedLabels)
    tally: DistinctRows | None = None  # The different rows, or that they are too many

    @property
    def distinct(self) -> Distinct | None:
        """All different rows; None if they are too many."""
        return None if self.tally is None else self.tally.table()

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self.rows.values())

    def __add__(self, other: "Survey") -> "Survey":
        if not self.columns or not other.columns:
            return self if self.columns else other
        columns = _columns(self.columns, other.columns)
        _refuse_identifiers(columns)
        return Survey(
            columns,
            dict(Counter(self.rows) + Counter(other.rows)),
            dict(Counter(self.ends) | Counter(other.ends)),
            self.left_out + other.left_out,
            self.labels + other.labels,
            None if self.tally is None or other.tally is None else self.tally + other.tally,
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


def _refuse_identifiers(columns: Iterable[SurveyedColumn]) -> None:
    for column in columns:
        if len(column.categories or ()) > MOST_CATEGORIES:
            raise InputError(
                f"column {shorten(column.name)!r} has more than {MOST_CATEGORIES:,} different "
                "categories, so it is an identifier: it says who a row is and not what it is like; "
                "ignore it"
            )


class SurveyTask(Task[Survey]):
    """The first pass over the training rows."""

    title = "looking at the rows"

    def __init__(self, categorical: Iterable[str] = (), most_distinct: int = 2**18) -> None:
        self.categorical = tuple(sorted(set(categorical)))  # equal tasks are pickled equally
        self.limit = MostDistinct(most_distinct)

    def nothing(self) -> Survey:
        """Return what is found in no rows."""
        return Survey(tally=DistinctRows((), self.limit))

    def batch(self, number: int, piece: Piece, batch: Batch) -> Survey:
        """Look at a batch."""
        columns, cells = _features(piece, batch, self.categorical)
        column, label = _labels(piece, batch)
        _refuse_identifiers(columns)
        parts: tuple[Distinct, ...] | None = None
        wide = isinstance(batch.rows, np.ndarray) and len(cells) > _MOST_ARRAY
        if not self.limit.exceeded and not wide:
            parts = (Distinct.of([column.name for column in columns], cells, label),)
        return Survey(
            columns,
            {number: len(batch)},
            {number: int(batch.numbers[-1]) + 1 if len(batch) else 0},
            batch.left_out,
            SurveyedLabels.of(column, label, piece.name),
            DistinctRows(parts, self.limit),
        )


def _features(
    piece: Piece, batch: Batch, categorical: Collection[str]
) -> tuple[tuple[SurveyedColumn, ...], list[Cells]]:
    table = as_table(batch.rows, piece.name)
    if table is None:
        rows = np.asarray(batch.rows)
        if rows.ndim != 2 or rows.dtype.kind not in "fiub":
            raise InputError(
                f"{piece.name} holds an array of shape {rows.shape} and type {rows.dtype}; pass a "
                "frame, or an array of numbers with a row for each training row"
            )
        table = array_as_table(rows)
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
        what = f"column {shorten(name)!r}"
        cells.append(_cells(piece, batch, what, values, is_category=is_category))
        columns.append(SurveyedColumn.of(name, kind, piece.name, cells[-1]))
    return tuple(columns), cells


def _cells(
    piece: Piece, batch: Batch, what: str, values: pa.ChunkedArray, *, is_category: bool
) -> Cells:
    """Return cells in the form in which they are computed with; raise if one is missing."""
    is_bad = bool(values.null_count) or pa.types.is_null(values.type)
    if not is_bad and is_category:
        categories = Categories.of(values).different()
        if first_bad(pa.chunked_array([categories.values])) is None:
            return categories
    elif not is_bad and all_finite(numbers := as_numbers(values)):
        return numbers
    at = first_bad(values) or 0
    gone = is_missing(values[at].as_py())
    way = "fill it in, or drop such rows" if gone else "correct it, or drop the row"
    found = "missing" if gone else "infinite"
    place = piece.place(int(batch.numbers[at]))
    raise InputError(f"{place}: {what} is {found}; {way}")


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


# --- From rows to features ----------------------------------------------------------------


_ROWS = 2048  # encoded together
_DENSE = 0.3  # of the features that are not 0 in a row of rows in memory: fewer, and it is sparse

_Where = Callable[[int], object]


def _row(at: int) -> str:
    return f"row {at + 1:,}"


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
    is_sparse: bool  # Whether features are a sparse matrix: most of them are 0 in every row
    gaps: bool = False  # Whether a missing category is one like others, and a number filled in

    @classmethod
    def of_table(
        cls, table: pa.Table, categorical: Collection[str] = (), *, impute: bool = False
    ) -> "Encoding":
        """Make it of the feature columns of training rows that are in memory.

        Numbers are centred and scaled by the same arithmetic as in scikit-learn's StandardScaler.
        """
        columns, fills = [], {}
        for name, given in zip(table.column_names, table.columns, strict=True):
            values = codes(plain(given))
            is_category = is_text(values.type) or name in categorical
            if impute and not is_category:
                known = as_numbers(values.drop_null())
                fills[name] = float(np.median(known)) if len(known) else 0.0
            cells = Categories.of(values) if is_category else as_numbers(values, fills.get(name))
            columns.append(SurveyedColumn.of(name, str(kind_of(values.type)), "", cells))
        survey = Survey(tuple(columns), {0: table.num_rows})
        made = cls.of(survey, standardise=True, categories_first=True)
        filled = tuple(replace(each, missing=fills.get(each.name)) for each in made.columns)
        is_sparse = bool(made.blocks) and len(filled) / made.n_features < _DENSE
        return replace(made, columns=filled, is_sparse=is_sparse, gaps=impute)

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
        for column in sorted(survey.columns, key=lambda c: categories_first and not c.is_category):
            if column.categories is not None:
                values = _in_order(column.categories)
                made = EncodedColumn(column.name, column.kind, start, True, values)
                middle, far = np.zeros(made.width), np.ones(made.width)
            else:
                made, middle, far = _number(column, start, survey.n_rows, standardise)
            columns.append(made)
            centre.append(middle)
            peak.append(far)
            start += made.width
        names = tuple(name for column in columns for name in column.names)
        is_sparse = len(names) > 4 * len(columns) + 8
        return cls(tuple(columns), names, np.concatenate(centre), np.concatenate(peak), is_sparse)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Features of each column of categories: every training row has one 1 in each."""
        return tuple(slice(each.start, each.start + each.width) for each in self.categories)

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
        place: _Where = _row,
        unseen: Literal["raise", "zeros"] = "raise",
    ) -> Matrix:
        """Encode rows."""
        values = self._values(rows)
        found = (
            self._encoded(column, cells, place, unseen)
            for column, cells in zip(self.columns, values, strict=True)
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

    def _encoded(self, column: EncodedColumn, cells: Any, place: _Where, unseen: str) -> Any:
        """Return the feature of numbers, or which feature of a column of categories is 1."""
        _check(column, cells, place, gaps=self.gaps)
        if not column.is_category:
            numbers = as_numbers(cells, column.missing)
            if not all_finite(numbers):
                raise _bad(column, cells, place)
            return column.scaled(numbers)
        feature = column.positions(cells)
        if unseen == "zeros" or feature.min(initial=0) >= 0:
            return feature
        at = int(np.flatnonzero(feature < 0)[0])
        value = as_text(cells[at].as_py())
        known = [as_text(each) for each in column.categories.to_pylist()]
        raise InputError(
            f"{place(at)}: column {shorten(column.name)!r} is {value!r}, a category that "
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
            return list(array_as_table(array).columns)
        known = table.column_names
        for column in self.columns:
            if column.name not in known:
                raise InputError(
                    f"the rows have no column {shorten(column.name)!r}, which the training rows "
                    f"have; {suggest(column.name, known)}"
                )
        return [table.column(column.name) for column in self.columns]


def _in_order(values: Collection[Any]) -> pa.Array:
    """Return categories in order, a missing one last."""
    found = sorted(values, key=lambda value: (value is None, value))
    try:
        return pa.array(found)
    except OverflowError:  # beyond the integers that Arrow tries first
        return pa.array(found, pa.uint64())


def _number(
    column: SurveyedColumn, start: int, n_rows: int, standardise: bool
) -> tuple[EncodedColumn, FloatArray, FloatArray]:
    """Return a column of numbers, its centre and its peak."""
    moments = column.moments
    mean, variance = moments.mean, moments.variance
    if not column.varies:
        mean, variance = moments.low, 0.0  # what is the same everywhere becomes 0
    if not np.isfinite(mean) or (standardise and not np.isfinite(variance)):
        raise InputError(
            f"column {shorten(column.name)!r} holds numbers too large for a mean and a variance "
            "in doubles; divide it by a power of ten"
        )
    middle, shift, scale = mean, 0.0, 1.0
    if standardise:
        # scikit-learn's rule for a column whose spread is rounding: its scale is left alone.
        eps = float(np.finfo(np.float64).eps)
        is_constant = variance <= n_rows * eps * variance + (n_rows * mean * eps) ** 2
        middle, shift, scale = 0.0, mean, 1.0 if is_constant else float(np.sqrt(variance))
    none = pa.array([], pa.float64())
    made = EncodedColumn(column.name, column.kind, start, False, none, shift, scale)
    ends = made.scaled(np.array([moments.low, moments.high])) - middle
    # Rounding keeps order, so no feature is beyond those of the ends; the subtraction may round.
    peak = np.abs(ends).max(keepdims=True)
    return made, np.array([middle]), np.where(peak > 0, np.nextafter(peak, np.inf), 0.0)


def _check(column: EncodedColumn, cells: Any, place: _Where, *, gaps: bool) -> None:
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


def _bad(column: EncodedColumn, cells: Any, place: _Where) -> InputError:
    at = first_bad(cells) or 0
    found = "infinite" if cells[at].as_py() in (np.inf, -np.inf) else "missing"
    return InputError(
        f"{place(at)}: column {shorten(column.name)!r} is {found}; fill it in or drop the row"
    )
