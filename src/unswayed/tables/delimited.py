"""CSV files in blocks: the types of the first block hold for all of the file."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from unswayed.exceptions import InputError
from unswayed.pieces.paths import File
from unswayed.pieces.pieces import Place
from unswayed.tables.cells import are_numbers, as_numbers, example, surely_numbers
from unswayed.tables.dialects import renamed, unique_names
from unswayed.tables.formats import START, refuse_foreign
from unswayed.words import beginning, shorten

BLOCK = 2**23
"""Bytes of a file that are parsed at once, and from which types are inferred."""

_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to ([^:]+): (.*)", re.S)
_INVALID = re.compile(r"invalid value '(.*)'", re.S)
_RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)")
_WORDS = {"null": "nothing", "bool": "truth values", "double": "numbers", "int64": "whole numbers"}


@dataclass(frozen=True, slots=True)
class Csv:
    """How a CSV file is written: by default commas, a header and decimal points."""

    delimiter: str = ","  # The sign between two cells
    # Whether the first record names the columns; if not, they are column1, column2 and so on
    header: bool = True
    decimal: Literal[".", ","] = "."  # The sign before the decimals of a number
    missing: tuple[str, ...] = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
    texts: tuple[str, ...] = ()  # Columns that are texts, even if they look like numbers
    # Columns of numbers that are written as in accounts, such as $1,200
    numerals: tuple[str, ...] = ()
    block: int = BLOCK  # Bytes that are parsed at once

    def schema(self, file: File) -> pa.Schema | None:
        """Infer the columns of a file from its first block."""
        names = self._names(file)
        if names is None:
            return None
        try:
            with self._reading(file), self._reader(file, {}, names) as reader:
                _ = reader.schema.names  # read now: they may not be UTF-8
                return pa.schema(
                    [
                        field.with_type(pa.float64()) if field.name in self.numerals else field
                        for field in reader.schema
                    ]
                )
        except EOFError:
            return pa.schema([(name, pa.null()) for name in names])

    def first_text(self, file: File, column: str) -> str | None:
        """Find what makes a column one of texts."""
        names = self._names(file) or []
        with file.reading(), file.stream() as stream:
            start = stream.read(self.block).decode("utf-8-sig", errors="replace")
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=self.delimiter)
        at, number = names.index(column), -int(self.header)
        for cells in filter(None, rows):
            number += 1
            text = cells[at] if number and at < len(cells) else ""
            if (
                text
                and text not in self.missing
                and not _is_number(text.replace(self.decimal, "."))
            ):
                return f"row {number:,} has {beginning(text, 60)!r}"
        return None

    def blocks(self, file: File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read some columns of a file."""
        names = self._names(file)
        if names is None:
            return
        types = {field.name: field.type for field in schema}
        row = 0
        try:
            with self._reading(file), self._reader(file, types, names, schema.names) as reader:
                for block in reader:
                    yield self._numbers(file, block, row)
                    row += block.num_rows
        except EOFError:
            return

    def first_block(self, file: File) -> pa.Table | None:
        """Return the first rows of a CSV file; None for a file without rows, and for Parquet."""
        names = None if file.is_parquet else self._names(file)
        if names is None:
            return None
        try:
            with self._reading(file), self._reader(file, {}, names) as reader:
                return pa.Table.from_batches([next(iter(reader))])
        except (EOFError, StopIteration):
            return None

    def written_numbers(self, block: pa.Table) -> dict[str, str]:
        """Return the columns of a block whose texts can only be numbers, with an example."""
        texts = [field.name for field in block.schema if pa.types.is_string(field.type)]
        return {
            name: example(block.column(name), self.decimal)
            for name in texts
            if name not in self.texts and surely_numbers(block.column(name), self.decimal)
        }

    def _numbers(self, file: File, block: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Turn the texts of `numerals` into numbers."""
        for at, name in enumerate(block.schema.names):
            if name not in self.numerals:
                continue
            texts = block.column(at)
            bad = np.flatnonzero(~are_numbers(texts, self.decimal) & np.asarray(texts.is_valid()))
            if len(bad):
                cell = beginning(texts[int(bad[0])].as_py(), 60)
                raise InputError(
                    f"{Place(file.name, row + int(bad[0]) + 1)}: column {shorten(name)!r} has "
                    f"{cell!r} here but numbers at the start of the file; correct the cell, name "
                    "it as one that means missing, or leave the column out or have it read as texts"
                )
            block = block.set_column(at, name, as_numbers(texts, self.decimal).combine_chunks())
        return block

    def _reader(
        self,
        file: File,
        types: Mapping[str, Any],
        names: Sequence[str],
        columns: Sequence[str] = (),
    ) -> Any:
        texts = dict.fromkeys((*self.texts, *self.numerals), pa.string())
        types = {name: kind for name, kind in types.items() if name not in self.numerals}
        first, blank = self._first(file)
        twins = self.header and names != first  # Arrow cannot tell them apart
        try:
            return pa_csv.open_csv(
                file.stream(),
                # One thread: with more, messages do not say which row is at fault.
                read_options=pa_csv.ReadOptions(
                    use_threads=False,
                    block_size=self.block,
                    column_names=names if twins or not self.header else None,
                    skip_rows_after_names=blank + 1 if twins else 0,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=pa_csv.ConvertOptions(
                    null_values=self.missing,
                    strings_can_be_null=True,
                    column_types={**texts, **types},
                    decimal_point=self.decimal,
                    include_columns=list(columns),
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):  # a header without an end of its line
                raise EOFError from None
            raise

    def notes(self, file: File) -> list[str]:
        """Return what to say about the names of the columns of a CSV file."""
        plain = file.is_parquet or not self.header
        return [] if plain else renamed(file.name, self._first(file)[0] or [])

    def _names(self, file: File) -> list[str] | None:
        """Return the names of the columns; None for a file without a record."""
        first, _ = self._first(file)
        if first is None or self.header:
            return first and unique_names(first)
        return [f"column{at + 1}" for at in range(len(first))]

    def _first(self, file: File) -> tuple[list[str] | None, int]:
        """Return the first record, None for a file without one, and how many lines are empty."""
        with file.reading(), file.stream() as stream:
            content = stream.read(self.block)
        refuse_foreign(file.name, content[:START])
        start = content.decode("utf-8-sig", errors="replace")
        if "\0" in start[:1000]:
            raise _encoding(file.name)
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=self.delimiter)
        try:
            return next(((row, at) for at, row in enumerate(rows) if row), (None, 0))
        except csv.Error as error:
            raise InputError(f"{file.name} is not a readable CSV file: {error}") from None

    @contextmanager
    def _reading(self, file: File) -> Iterator[None]:
        """Turn Arrow's messages into one line that names file, row and column."""
        with file.reading():
            try:
                yield
            except UnicodeDecodeError:
                raise _encoding(file.name) from None
            except pa.ArrowInvalid as error:
                found = self._fault(file, str(error))
                if found is None:
                    raise
                raise found from None

    def _fault(self, file: File, message: str) -> InputError | None:
        if ragged := _RAGGED.match(message):
            place = Place(file.name, int(ragged[1]) - self.header)
            return InputError(
                f"{place}: {ragged[3]} cells where the others have {ragged[2]}; a stray delimiter "
                "or quote? every row needs as many cells as the first"
            )
        if "straddl" in message:
            return InputError(
                f"{file.name} has a record of more than {self.block:,} bytes; is there a quote "
                "that is never closed?"
            )
        cell = _CELL.match(message)
        if cell is None:
            return None
        place = Place(file.name, int(cell[2]) - self.header)
        value = _INVALID.match(cell[4])
        if value is None:  # the only other thing that it says
            return _encoding(str(place))
        name = (self._names(file) or [])[int(cell[1])]
        return InputError(
            f"{place}: column {shorten(name)!r} has {beginning(value[1], 60)!r} here but "
            f"{_WORDS.get(cell[3], cell[3])} at the start of the file; correct the cell, name it "
            "as one that means missing, or leave the column out or have it read as texts"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _encoding(where: str) -> InputError:
    return InputError(
        f"{where} is not written in UTF-8; save the file as UTF-8, for example with iconv"
    )
