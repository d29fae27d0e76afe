"""CSV files, whole or in blocks: typed columns, or one sentence on what is wrong and where."""

import csv
import gzip
import io
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from unswayed.exceptions import InputError
from unswayed.pieces.paths import File
from unswayed.pieces.pieces import Place
from unswayed.tables.cells import are_numbers, as_numbers, example, surely_numbers
from unswayed.tables.dialect import START, Dialect, refuse_foreign, renamed
from unswayed.words import beginning, shorten

BLOCK = 2**23
"""Bytes of a file that are parsed at once, and from which types are inferred."""

_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to ([^:]+): (.*)", re.S)
_INVALID = re.compile(r"invalid value '(.*)'", re.S)
_RAGGED = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)")
_WORDS = {"null": "nothing", "bool": "truth values", "double": "numbers", "int64": "whole numbers"}
_LONGEST_CELL = 2**31 - 1

# What a file begins with that is not UTF-8: with a mark of its byte order, or without one and a
# header of ASCII letters. The longer ones first, because they begin with the shorter.
_WIDE = (
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff"), "UTF-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "UTF-16"),
    (re.compile(rb"[^\0]\0[^\0]\0", re.DOTALL), "UTF-16LE"),
    (re.compile(rb"\0[^\0]\0[^\0]", re.DOTALL), "UTF-16BE"),
)


class Header(NamedTuple):
    """The first record of a file."""

    cells: list[str]
    blank: int  # Empty lines before it


@dataclass(frozen=True, slots=True)
class CsvReader:
    """Reads CSV files of one dialect: all of a file at once, or a block after the other."""

    dialect: Dialect = field(default_factory=Dialect)
    texts: tuple[str, ...] = ()  # Columns that are texts, even if they look like numbers
    # Columns of numbers that are written as in accounts, such as $1,200
    numerals: tuple[str, ...] = ()
    block: int = BLOCK  # Bytes that are parsed at once

    # --- all of a file --------------------------------------------------------------------

    def table(self, file: File, columns: Sequence[str] = ()) -> pa.Table:
        """Read a file of this machine, or some of its columns."""
        with open_bytes(file) as opened:
            start = opened.read(START)
        for mark, codec in _WIDE:
            if mark.match(start):
                raise _other_encoding(file, f"it looks like {codec}", codec)
        if b"\0" in start:
            raise InputError(
                f"{file.name} is a binary file of an unknown format; save it as CSV (UTF-8) or "
                "Parquet"
            )
        header = self.header(file) or Header([], 0)
        try:
            try:
                table = self._parsed(pa_csv.read_csv, file, header, {}, columns)
            except pa.ArrowInvalid as error:
                if "conversion error" not in str(error):
                    raise
                # Types are read off the first block; a later cell disagrees. Look at all of it.
                size = min(_size(file) + 1, _LONGEST_CELL)
                table = self._parsed(pa_csv.read_csv, file, header, {}, columns, block_size=size)
            _ = table.column_names  # read now: it may not be UTF-8
        except UnicodeDecodeError:
            raise _other_encoding(file, "its header is not UTF-8") from None
        except pa.ArrowInvalid as error:
            raise self._whole_fault(file, error) from None
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_binary(column.type):
                raise _other_encoding(file, f"column {shorten(name)!r} is not UTF-8")
        refuse_other_delimiters(file, table.column_names)
        return table

    def _whole_fault(self, file: File, error: Exception) -> InputError:
        """Find the ragged line: Arrow's own number is missing when it reads in parallel."""
        csv.field_size_limit(_LONGEST_CELL)
        first = "header" if self.dialect.header else "first line"
        try:
            with io.TextIOWrapper(open_bytes(file), encoding="utf-8", newline="") as text:
                lines = csv.reader(text, delimiter=self.dialect.delimiter)
                header = next(lines, [])
                refuse_other_delimiters(file, header)
                width = len(header)
                for cells in lines:
                    if cells and len(cells) != width:
                        return InputError(
                            f"{file.name}, line {lines.line_num}: {len(cells)} cells where the "
                            f"{first} has {width}; a stray {_word(self.dialect.delimiter)} or "
                            f"quote? every line needs {width} cells"
                        )
        except UnicodeDecodeError:
            return _other_encoding(file, "it is not UTF-8")
        except csv.Error as broken:
            return InputError(f"{file.name} is not a readable CSV file: {broken}")
        said = str(error).strip().split("\n", maxsplit=1)[0]
        return InputError(f"{file.name} is not a readable CSV file: {beginning(said, 200)}")

    # --- a block after the other ----------------------------------------------------------

    def schema(self, file: File) -> pa.Schema | None:
        """Infer the columns of a file from its first block."""
        header = self._checked_header(file)
        if header is None:
            return None
        try:
            with self._reading(file), self._stream(file, header) as reader:
                _ = reader.schema.names  # read now: they may not be UTF-8
                return pa.schema(
                    [
                        field.with_type(pa.float64()) if field.name in self.numerals else field
                        for field in reader.schema
                    ]
                )
        except EOFError:
            return pa.schema([(name, pa.null()) for name in self.dialect.names(header.cells)])

    def blocks(self, file: File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read some columns of a file."""
        header = self._checked_header(file)
        if header is None:
            return
        types = {field.name: field.type for field in schema if field.name not in self.numerals}
        row = 0
        try:
            with self._reading(file), self._stream(file, header, types, schema.names) as reader:
                for block in reader:
                    yield self._numbers(file, block, row)
                    row += block.num_rows
        except EOFError:
            return

    def first_block(self, file: File) -> pa.Table | None:
        """Return the first rows of a CSV file; None for a file without rows, and for Parquet."""
        header = None if file.is_parquet else self._checked_header(file)
        if header is None:
            return None
        try:
            with self._reading(file), self._stream(file, header) as reader:
                return pa.Table.from_batches([next(iter(reader))])
        except (EOFError, StopIteration):
            return None

    def first_text(self, file: File, column: str) -> str | None:
        """Find what makes a column one of texts."""
        at, number = self._names(file).index(column), -int(self.dialect.header)
        missing, decimal = self.dialect.missing_cells(), self.dialect.decimal
        with self._records(file) as rows:
            for _, cells in rows:
                number += 1
                text = cells[at] if number and at < len(cells) else ""
                if text and text not in missing and not _is_number(text.replace(decimal, ".")):
                    return f"row {number:,} has {beginning(text, 60)!r}"
        return None

    def written_numbers(self, block: pa.Table) -> dict[str, str]:
        """Return the columns of a block whose texts can only be numbers, with an example."""
        texts, decimal = self.texts, self.dialect.decimal
        return {
            field.name: example(block.column(field.name), decimal)
            for field in block.schema
            if pa.types.is_string(field.type)
            and field.name not in texts
            and surely_numbers(block.column(field.name), decimal)
        }

    def _numbers(self, file: File, block: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Turn the texts of `numerals` into numbers."""
        decimal = self.dialect.decimal
        for at, name in enumerate(block.schema.names):
            if name not in self.numerals:
                continue
            texts = block.column(at)
            bad = np.flatnonzero(~are_numbers(texts, decimal) & np.asarray(texts.is_valid()))
            if len(bad):
                cell = beginning(texts[int(bad[0])].as_py(), 60)
                raise InputError(
                    f"{Place(file.name, row + int(bad[0]) + 1)}: column {shorten(name)!r} has "
                    f"{cell!r} here but numbers at the start of the file; correct the cell, name "
                    "it as one that means missing, or leave the column out or have it read as texts"
                )
            block = block.set_column(at, name, as_numbers(texts, decimal).combine_chunks())
        return block

    def _stream(
        self,
        file: File,
        header: Header,
        types: Mapping[str, Any] | None = None,
        columns: Sequence[str] = (),
    ) -> Any:
        # One thread: with more, messages do not say which row is at fault.
        options = {"use_threads": False, "block_size": self.block}
        try:
            return self._parsed(pa_csv.open_csv, file, header, types or {}, columns, **options)
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):  # a header without an end of its line
                raise EOFError from None
            raise

    # --- both -----------------------------------------------------------------------------

    def _parsed(
        self,
        parse: Any,
        file: File,
        header: Header,
        types: Mapping[str, Any],
        columns: Sequence[str],
        **options: Any,
    ) -> Any:
        """Have Arrow parse a file, whole or as a stream."""
        names = self.dialect.names(header.cells)
        twins = self.dialect.header and names != header.cells  # Arrow cannot tell them apart
        texts = dict.fromkeys((*self.texts, *self.numerals), pa.string())
        return parse(
            file.stream(),
            read_options=pa_csv.ReadOptions(
                column_names=names if twins or not self.dialect.header else None,
                skip_rows_after_names=header.blank + 1 if twins else 0,
                **options,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.dialect.delimiter, newlines_in_values=True
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=self.dialect.missing_cells(),
                strings_can_be_null=True,
                column_types={**texts, **types},
                decimal_point=self.dialect.decimal,
                include_columns=list(columns),
            ),
        )

    def header(self, file: File) -> Header | None:
        """Return the first record; None for a file without one."""
        with self._records(file) as rows:
            return next((Header(cells, at) for at, cells in rows), None)

    def notes(self, file: File) -> list[str]:
        """Return what to say about the names of the columns of a CSV file."""
        if file.is_parquet or not self.dialect.header:
            return []
        header = self.header(file)
        return [] if header is None else renamed(file.name, header.cells)

    @contextmanager
    def _records(self, file: File) -> Iterator[Iterator[tuple[int, list[str]]]]:
        """Yield the records of a file's start that are not empty, and how many are before each."""
        csv.field_size_limit(_LONGEST_CELL)
        with file.reading(), file.stream() as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            rows = csv.reader(_first_lines(text, self.block), delimiter=self.dialect.delimiter)
            try:
                yield ((at, cells) for at, cells in enumerate(rows) if cells)
            except csv.Error as error:
                raise InputError(f"{file.name} is not a readable CSV file: {error}") from None

    def _checked_header(self, file: File) -> Header | None:
        """Return the first record of a file that is seen for the first time."""
        with file.reading(), file.stream() as stream:
            start = bytes(stream.read(START))
        refuse_foreign(file.name, start)
        if b"\0" in start[:1000]:
            raise _not_utf8(file.name)
        return self.header(file)

    def _names(self, file: File) -> list[str]:
        header = self.header(file)
        return [] if header is None else self.dialect.names(header.cells)

    @contextmanager
    def _reading(self, file: File) -> Iterator[None]:
        """Turn Arrow's messages into one line that names file, row and column."""
        with file.reading():
            try:
                yield
            except UnicodeDecodeError:
                raise _not_utf8(file.name) from None
            except pa.ArrowInvalid as error:
                found = self._fault(file, str(error))
                if found is None:
                    raise
                raise found from None

    def _fault(self, file: File, message: str) -> InputError | None:
        if ragged := _RAGGED.match(message):
            place = Place(file.name, int(ragged[1]) - self.dialect.header)
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
        place = Place(file.name, int(cell[2]) - self.dialect.header)
        value = _INVALID.match(cell[4])
        if value is None:  # the only other thing that it says
            return _not_utf8(str(place))
        name = self._names(file)[int(cell[1])]
        return InputError(
            f"{place}: column {shorten(name)!r} has {beginning(value[1], 60)!r} here but "
            f"{_WORDS.get(cell[3], cell[3])} at the start of the file; correct the cell, name it "
            "as one that means missing, or leave the column out or have it read as texts"
        )


def _first_lines(text: Iterable[str], most: int) -> Iterator[str]:
    """Yield lines until they are long enough: a quote that is never closed would take them all."""
    for line in text:
        yield line
        most -= len(line)
        if most <= 0:
            return


def open_bytes(file: File) -> Any:
    """Open a file of this machine for reading, unpacked."""
    packed = file.path.lower().endswith(".gz")
    return gzip.open(file.path) if packed else open(file.path, "rb")


def refuse_other_delimiters(file: File, names: Sequence[str]) -> None:
    """Raise if the only name of a column seems to be several, which another sign separates."""
    for sign, given, word in ((";", "';'", "semicolons"), ("\t", "tab", "tabs"),
                              ("|", "'|'", "bars"), (" ", "' '", "spaces")):  # fmt: skip
        if len(names) == 1 and names[0].count(sign) > (sign == " "):  # a name may have a space
            raise InputError(
                f"{file.name} seems to be separated by {word}; pass --delimiter {given}, or save "
                "it with commas or as Parquet"
            )


def _size(file: File) -> int:
    with open_bytes(file) as opened:
        return int(opened.seek(0, io.SEEK_END))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _word(delimiter: str) -> str:
    return {",": "comma", ";": "semicolon", "\t": "tab"}.get(delimiter, repr(delimiter))


def _other_encoding(file: File, what: str, codec: str = "WINDOWS-1252") -> InputError:
    return InputError(
        f"{file.name} has another encoding: {what}; save it as UTF-8, for example with "
        f"iconv -f {codec} -t UTF-8 {shlex.quote(os.path.basename(file.path))} > utf8.csv"
    )


def _not_utf8(where: str) -> InputError:
    return InputError(
        f"{where} is not written in UTF-8; save the file as UTF-8, for example with iconv"
    )
