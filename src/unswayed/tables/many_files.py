"""Training rows in files: Parquet by its row groups, CSV from start to end, never held whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unswayed._typing import BoolArray
from unswayed.exceptions import InputError
from unswayed.pieces.pieces import BATCH, Batch, File, Piece, Place, Stamp, find_files, with_gaps
from unswayed.pieces.store import digest
from unswayed.tables.columns import TEXT, kind_of
from unswayed.tables.delimited import CsvReader
from unswayed.words import shorten, suggest


def one_schema(
    files: Sequence["OpenedFile"],
    label: str,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> pa.Schema:
    """Find types that hold all that some files have."""
    with_header = [each for each in files if each.schema is not None]
    if not with_header:
        raise InputError(f"{files[0].name} is empty; it needs a header line and rows")
    for each in with_header:
        _refuse_twins(each)
    first = with_header[0]
    known = first.names
    given = [(label, "label"), *((name, "ignore") for name in ignore)]
    for name, what in [*given, *((name, "columns") for name in columns or ())]:
        if name not in known:
            raise InputError(
                f"{what}: {first.name} has no column {shorten(name)!r}; {suggest(name, known)}"
            )
    out = {label, *ignore}
    chosen = known if columns is None else [name for name in known if name in columns]
    names = [name for name in chosen if name not in out]
    if not names:
        raise InputError("no feature column is left beside the label; ignore fewer columns")
    for each in with_header:
        _check_names(each, first, [*names, label], None if columns is not None else out)
    return pa.schema([(name, _type(name, with_header)) for name in [*names, label]])


def _refuse_twins(each: "OpenedFile") -> None:
    names = each.names
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin is not None:
        raise InputError(
            f"{each.name} has two columns named {shorten(twin)!r}; rename or remove one, a "
            "name must say which column is meant"
        )


def _check_names(
    each: "OpenedFile", first: "OpenedFile", names: list[str], out: set[str] | None
) -> None:
    """Raise if a file lacks a column, or has one that the first file lacks and nobody ignores."""
    found = each.names
    for name in names:
        if name not in found:
            raise InputError(
                f"{each.name} has no column {shorten(name)!r}, which {first.name} has; "
                "add it, or leave the file or the column out"
            )
    more = [name for name in found if name not in names and out is not None and name not in out]
    if more:
        raise InputError(
            f"{each.name} has a column {shorten(more[0])!r} that {first.name} lacks; "
            "remove it, or name the columns to use"
        )


def _type(name: str, files: Sequence["OpenedFile"]) -> Any:
    """Return the type that holds a column of all files; raise where one is of another kind."""
    seen: OpenedFile | None = None
    types: list[Any] = []
    for each in files:
        kind = each.schema.field(name).type if each.schema is not None else pa.null()
        if pa.types.is_null(kind):
            continue
        if pa.types.is_binary(kind):
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds bytes that are not text in "
                "UTF-8; save the file as UTF-8, or ignore the column"
            )
        if kind_of(kind) is None:
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds {kind} values, neither numbers "
                "nor texts; turn it into one of them (a date into a year, say) or ignore it"
            )
        if seen is None:
            seen = each
        elif kind_of(kind) != kind_of(types[0]):
            texts = each if kind_of(kind) == "texts" else seen
            found = texts.first_text(name)
            why = "" if found is None else f" ({texts.name}, {found})"
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds {kind_of(kind)} but "
                f"{kind_of(types[0])} in {seen.name}{why}; give both files the same kind"
            )
        types.append(kind)
    if seen is None:
        filled = next((each for each in files if not each.is_empty), None)
        if filled is not None:
            raise InputError(
                f"{filled.name}: column {shorten(name)!r} is empty (in CSV, at the start of "
                "the file); ignore it, or have it read as texts"
            )
        return pa.null()
    return _wide(types)


def _wide(types: list[Any]) -> Any:
    """Return one type for columns of one kind."""
    if kind_of(types[0]) == "texts":
        return TEXT
    if {*types} in ({pa.bool_()}, {pa.uint64()}):
        return types[0]
    whole = all(pa.types.is_integer(kind) and kind != pa.uint64() for kind in types)
    return pa.int64() if whole else pa.float64()


# --- Pieces of files --------------------------------------------------------------------------

MOST_ROWS = 2**21
"""Rows of a piece, at most, where a file has row groups to split it by."""

_BUFFER = 2**20  # bytes read at once of each column: without it, whole row groups are
_OPENED = 8  # files looked at together, because those elsewhere answer slowly
_COMMAS = CsvReader()


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
    reader: CsvReader

    @property
    def identity(self) -> str:
        """The file and, of Parquet, its row groups; and how it is read."""
        read = digest((self.schema, self.missing, self.reader))[:32]
        return f"{self.file.path} {self.groups} {read}"

    def batches(self) -> Iterator[Batch]:
        """Read the rows."""
        blocks = self._csv_blocks() if self.groups is None else self._parquet_blocks(self.groups)
        return with_gaps(self._batches(blocks))

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

    def _batches(self, blocks: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        self._check_unchanged()
        start = 0
        for table in _even(blocks):
            numbers = np.arange(start, start + table.num_rows)
            start += table.num_rows
            keep = _complete(table) if self.missing == "drop" else np.ones(len(numbers), dtype=bool)
            rows = table if keep.all() else table.filter(pa.array(keep))
            last = table.num_columns - 1
            left_out = int((~keep).sum())
            yield Batch(rows.remove_column(last), rows.column(last), numbers[keep], left_out)
        self._check_unchanged()

    def _csv_blocks(self) -> Iterator[pa.RecordBatch]:
        # Not `yield from`: closing this generator is then no error of the file's.
        for block in self.reader.blocks(self.file, self.schema):
            yield block.select(self.schema.names)

    def _parquet_blocks(self, groups: range) -> Iterator[pa.RecordBatch]:
        with self.file.reading(), self.file.open() as source:
            texts = [field.name for field in self.schema if field.type == TEXT]
            opened = pq.ParquetFile(
                source, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False
            )
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
    reader: CsvReader = _COMMAS,
    options: Mapping[str, Any] | None = None,
    most_rows: int = MOST_ROWS,
) -> list[FilePiece]:
    """Look at files of training rows: their columns and, for Parquet, their row groups."""
    files = find_files(source, options)
    kept = frozenset((label, *categorical))
    with ThreadPoolExecutor(_OPENED) as pool:
        opened = list(pool.map(lambda file: OpenedFile.of(file, reader, kept), files))
    schema = one_schema(opened, label, columns, tuple(ignore))
    return [piece for each in opened for piece in each.pieces(schema, missing, most_rows)]


def fingerprint(pieces: Iterable[FilePiece]) -> list[Stamp]:
    """Return what the files of some pieces looked like when they were opened."""
    return list(dict.fromkeys(piece.stamp for piece in pieces))


@dataclass(frozen=True, slots=True, eq=False)
class OpenedFile:
    """What is known of a file without reading its rows."""

    file: File
    stamp: Stamp
    schema: pa.Schema | None  # None for a file without a header; columns without a value are null
    groups: tuple[int, ...] | None  # Rows of each row group; None for CSV
    reader: CsvReader

    @classmethod
    def of(cls, file: File, reader: CsvReader, kept: frozenset[str]) -> "OpenedFile":
        """Look at a file; whole numbers of the columns that are kept stay whole."""
        stamp = file.stamp()
        if not file.is_parquet:
            schema = reader.schema(file)
            return cls(file, stamp, schema and _doubles(schema, kept), None, reader)
        with file.reading(), file.open() as source:
            about = pq.read_metadata(source)
            groups = tuple(about.row_group(at).num_rows for at in range(about.num_row_groups))
            schema = about.schema.to_arrow_schema()
        return cls(file, stamp._replace(rows=about.num_rows), schema, groups, reader)

    @property
    def name(self) -> str:
        """What messages call the file."""
        return self.file.name

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [] if self.schema is None else list(self.schema.names)

    @property
    def is_empty(self) -> bool:
        """Whether the file has no rows."""
        if self.groups is not None:
            return not sum(self.groups)
        return self.schema is None or all(pa.types.is_null(field.type) for field in self.schema)

    def first_text(self, column: str) -> str | None:
        """Return the first cell of a CSV file that makes a column one of texts, in words."""
        return None if self.groups is not None else self.reader.first_text(self.file, column)

    def pieces(
        self, schema: pa.Schema, missing: Literal["refuse", "drop"], most: int
    ) -> Iterator[FilePiece]:
        """Yield the pieces of the file."""

        def piece(groups: range | None, first: int, rows: int | None) -> FilePiece:
            part = groups is not None and len(groups) < len(self.groups or ())
            name = f"{self.name}, rows from {first + 1:,}" if part else self.name
            return FilePiece(
                name, self.file, self.stamp, schema, rows, first, groups, missing, self.reader
            )

        if self.groups is None:
            yield piece(None, 0, None)
            return
        start, first, rows = 0, 0, 0
        for at, size in enumerate(self.groups):
            if at > start and rows + size > most:
                yield piece(range(start, at), first, rows)
                start, first, rows = at, first + rows, 0
            rows += size
        yield piece(range(start, len(self.groups)), first, rows)


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


def _even(blocks: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of `BATCH` rows, and a last one: the same ones however the file is laid out."""
    held: list[pa.RecordBatch] = []
    for block in blocks:
        held.append(block)
        while sum(each.num_rows for each in held) >= BATCH:
            table = pa.Table.from_batches(held)
            yield table.slice(0, BATCH)
            held = table.slice(BATCH).to_batches()
    if any(each.num_rows for each in held):
        yield pa.Table.from_batches(held)


def _complete(table: pa.Table) -> BoolArray:
    """Return which rows miss no value."""
    keep = np.ones(table.num_rows, dtype=bool)
    for column in table.columns:
        if column.null_count or pa.types.is_floating(column.type):
            keep &= ~np.asarray(pc.is_null(column, nan_is_null=True))
    return keep
