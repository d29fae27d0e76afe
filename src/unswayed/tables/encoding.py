"""Encoding: from rows as they are in files to features, the same in every piece."""

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.pieces.pieces import Place
from unswayed.tables.cells import codes, is_text, plain
from unswayed.tables.columns import Categories, as_numbers, as_table, first_bad, kind_of
from unswayed.tables.survey import Survey, SurveyedColumn, survey_table
from unswayed.words import as_text, shorten, suggest

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
