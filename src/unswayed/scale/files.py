"""Training rows in files: Parquet by its row groups, CSV from start to end, never held whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unswayed._typing import BoolArray
from unswayed.exceptions import InputError
from unswayed.scale.columns import TEXT
from unswayed.scale.delimited import Csv
from unswayed.scale.packing import digest
from unswayed.scale.paths import File, Stamp, find_files
from unswayed.scale.pieces import BATCH, Batch, Piece, Place
from unswayed.scale.schemas import Contents, one_schema

MOST_ROWS = 2**21
"""Rows of a piece, at most, where a file has row groups to split it by."""

_BUFFER = 2**20  # bytes read at once of each column: without it, whole row groups are
_OPENED = 8  # files looked at together, because those elsewhere answer slowly
_COMMAS = Csv()


@dataclass(frozen=True, slots=True, eq=False)
class FilePiece(Piece):
    """A file of training rows, or some row groups of it."""

    name: str
    file: File
    stamp: Stamp  # What the file looked like when it was opened
    # Feature columns and, last, the label: with the types that all files are read as
    schema: pa.Schema
    rows: int | None  # Before any are left out; None for CSV
    first: int  # Position of its first row in the file
    groups: range | None  # Row groups of a Parquet file; None for CSV
    # With "drop", rows that miss a value are left out; with "refuse" they are read, for the survey
    # to name the first
    missing: Literal["refuse", "drop"]
    csv: Csv

    @property
    def identity(self) -> str:
        """The file and, of Parquet, its row groups; and how it is read."""
        read = digest((self.schema, self.missing, self.csv))[:32]
        return f"{self.file.path} {self.groups} {read}"

    def batches(self) -> Iterator[Batch]:
        """Read the rows."""
        self._check_unchanged()
        blocks = self._csv_blocks() if self.groups is None else self._parquet_blocks(self.groups)
        start, held = 0, None  # held back, for what is left out after it
        for table in _even(blocks):
            batch = self._batch(table, start)
            start += table.num_rows
            if held is None:
                held = batch
            elif not len(batch):
                held = replace(held, left_out=held.left_out + batch.left_out)
            elif not len(held):
                held = replace(batch, left_out=held.left_out + batch.left_out)
            else:
                yield held
                held = batch
        self._check_unchanged()
        if held is not None:
            yield held

    def place(self, number: int) -> Place:
        """Return where one of its rows is, counted from the start of its file."""
        return Place(self.file.name, self.first + number + 1)

    def _check_unchanged(self) -> None:
        now = self.file.stamp(self.stamp.rows)
        if now != self.stamp:
            what = "was written again"
            if now.size != self.stamp.size:
                what = f"had {self.stamp.size:,} bytes and now has {now.size:,}"
            raise InputError(
                f"{self.file.name} has changed since it was opened ({what}), so passes over it "
                "would not be about the same rows; start again"
            )

    def _batch(self, table: pa.Table, start: int) -> Batch:
        numbers, left_out = np.arange(start, start + table.num_rows), 0
        if self.missing == "drop":
            keep = _complete(table)
            if not keep.all():
                table, numbers = table.filter(pa.array(keep)), numbers[keep]
                left_out = len(keep) - len(numbers)
        last = table.num_columns - 1
        return Batch(table.remove_column(last), table.column(last), numbers, left_out)

    def _csv_blocks(self) -> Iterator[pa.RecordBatch]:
        # Not `yield from`: closing this generator is then no error of the file's.
        for block in self.csv.blocks(self.file, self.schema):
            yield block.select(self.schema.names)

    def _parquet_blocks(self, groups: range) -> Iterator[pa.RecordBatch]:
        with self.file.reading(), self.file.open() as source:
            opened = _parquet(source, self.schema)
            for block in opened.iter_batches(
                BATCH, list(groups), columns=self.schema.names, use_threads=False
            ):
                columns = [
                    pc.cast(block.column(field.name), field.type, safe=False)
                    for field in self.schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def open_files(
    source: Any,
    *,
    label: str,
    columns: Sequence[str] | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    csv: Csv = _COMMAS,
    options: Mapping[str, Any] | None = None,
    most_rows: int = MOST_ROWS,
) -> list[FilePiece]:
    """Look at files of training rows: their columns and, for Parquet, their row groups."""
    files = find_files(source, options)
    kept = frozenset((label, *categorical))
    with ThreadPoolExecutor(_OPENED) as pool:
        opened = list(pool.map(lambda file: _Opened.of(file, csv, kept), files))
    contents = [each.contents(csv) for each in opened]
    schema = one_schema(contents, label, columns, tuple(ignore))
    return [
        FilePiece(
            name=name,
            file=each.file,
            stamp=each.stamp,
            schema=schema,
            rows=rows,
            first=first,
            groups=groups,
            missing=missing,
            csv=csv,
        )
        for each in opened
        for name, groups, first, rows in each.pieces(most_rows)
    ]


def fingerprint(pieces: Iterable[FilePiece]) -> list[Stamp]:
    """Return what the files of some pieces looked like when they were opened."""
    return list(dict.fromkeys(piece.stamp for piece in pieces))


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """What is known of a file without reading its rows."""

    file: File
    stamp: Stamp
    schema: pa.Schema | None  # None for a file without a header
    groups: tuple[int, ...] | None  # rows of each row group; None for CSV

    @classmethod
    def of(cls, file: File, csv: Csv, kept: frozenset[str]) -> "_Opened":
        stamp = file.stamp()
        if not file.is_parquet:
            schema = csv.schema(file)
            return cls(file, stamp, schema and _doubles(schema, kept), None)
        with file.reading(), file.open() as source:
            about = pq.read_metadata(source)
            groups = tuple(about.row_group(at).num_rows for at in range(about.num_row_groups))
            schema = about.schema.to_arrow_schema()
        return cls(file, stamp._replace(rows=about.num_rows), schema, groups)

    @property
    def is_empty(self) -> bool:
        if self.groups is not None:
            return not sum(self.groups)
        return self.schema is None or all(pa.types.is_null(field.type) for field in self.schema)

    def contents(self, csv: Csv) -> Contents:
        if self.file.is_parquet:
            return Contents(self.file.name, self.schema, self.is_empty)
        return Contents(
            self.file.name, self.schema, self.is_empty, partial(csv.first_text, self.file)
        )

    def pieces(self, most: int) -> Iterator[tuple[str, range | None, int, int | None]]:
        """Yield name, row groups, first row and number of rows of every piece."""
        name = self.file.name
        if self.groups is None:
            yield name, None, 0, None
            return
        start, first, rows = 0, 0, 0
        for at, size in enumerate(self.groups):
            if at > start and rows + size > most:
                yield f"{name}, rows from {first + 1:,}", range(start, at), first, rows
                start, first, rows = at, first + rows, 0
            rows += size
        name = f"{name}, rows from {first + 1:,}" if start else name
        yield name, range(start, len(self.groups)), first, rows


def _doubles(schema: pa.Schema, kept: frozenset[str]) -> pa.Schema:
    """Make features of whole numbers doubles, because a later block may have decimals."""
    return pa.schema(
        [
            field.with_type(pa.float64())
            if pa.types.is_integer(field.type) and field.name not in kept
            else field
            for field in schema
        ]
    )


def _parquet(source: Any, schema: pa.Schema) -> Any:
    texts = [field.name for field in schema if field.type == TEXT]
    return pq.ParquetFile(source, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False)


def _even(blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of `BATCH` rows, and a last one: the same ones however the file is laid out."""
    held: list[Any] = []
    room = BATCH
    for block in blocks:
        rest = block
        while rest.num_rows:
            part = rest.slice(0, room)
            held.append(part)
            room -= part.num_rows
            rest = rest.slice(part.num_rows)
            if not room:
                yield pa.Table.from_batches(held)
                held, room = [], BATCH
    if held:
        yield pa.Table.from_batches(held)


def _complete(table: pa.Table) -> BoolArray:
    """Return which rows miss no value."""
    keep = np.ones(table.num_rows, dtype=bool)
    for column in table.columns:
        if column.null_count or pa.types.is_floating(column.type):
            keep &= ~np.asarray(pc.is_null(column, nan_is_null=True))
    return keep
