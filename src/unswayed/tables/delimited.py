"""CSV files, whole or in blocks: typed columns, or one sentence on what is wrong and where."""

import csv
import gzip
import io
import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from unswayed.exceptions import InputError
from unswayed.pieces.pieces import START, File, Place, find_files, format_of, refuse_foreign
from unswayed.tables.columns import Decimal, are_numbers, example, surely_numbers, texts_as_numbers
from unswayed.words import beginning, listed, shorten

# --- Dialects: which signs separate cells and decimals, and what stands for a missing value ---

_SAMPLE = 2**18  # bytes of a file that its dialect is judged by
_SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS = 1000  # of the sample that are looked at
# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written: by default commas, a header and decimal points."""

    delimiter: str = ","  # The sign between two cells
    # Whether the first record names the columns; if not, they are column1, column2 and so on
    header: bool = True
    decimal: Decimal = "."  # The sign before the decimals of a number
    missing: tuple[str, ...] = ()  # Texts that stand for a missing value, beside the usual ones
    sheet: str | None = None  # Of an Excel workbook; None: the first
    # What was read off the file, and not asked for
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise InputError(
                f"--delimiter {self.delimiter!r} is not a sign that can stand between cells; pass "
                "one sign such as ';', or tab"
            )
        if self.delimiter == self.decimal:
            raise InputError(
                f"--delimiter and --decimal are both {self.decimal!r}, so nobody could tell where "
                "a cell ends; pass the sign that stands between cells, such as --delimiter ';'"
            )

    @classmethod
    def for_files(
        cls,
        sources: Iterable[Path | str],
        delimiter: str | None = None,
        *,
        header: bool = True,
        decimal: Decimal | None = None,
        missing: Sequence[str] = (),
        sheet: str | None = None,
    ) -> "Dialect":
        """Make it of options, with the signs that the first CSV file shows where none are given."""
        given = (";" if decimal == "," else ",") if delimiter is None else delimiter
        sign, cells = _NAMES.get(given, given), tuple(dict.fromkeys(missing))
        dialect = cls(sign, header, decimal or ".", cells, sheet)
        if delimiter is not None and decimal is not None:
            return dialect
        name, sample = _first_csv(sources)
        said = []
        if delimiter is None:
            signs = [sign for sign in _SIGNS if sign != decimal]
            found = delimiter_of(name, sample, signs) or dialect.delimiter
            if found != dialect.delimiter:
                said.append(f"{found!r} between cells" if found != "\t" else "tabs between cells")
                dialect = replace(dialect, delimiter=found)
        if decimal is None and dialect.delimiter != ",":
            rows = records(sample, dialect.delimiter)[dialect.header :]
            if decimal_of(rows, dialect.missing_cells()) == ",":
                said.append("a comma before decimals")
                dialect = replace(dialect, decimal=",")
        if not said:
            return dialect
        note = f"{name} is read with {' and '.join(said)}; --delimiter and --decimal say otherwise"
        return replace(dialect, notes=(note,))

    @property
    def is_usual(self) -> bool:
        """Whether files are read as they are without any option."""
        return self == Dialect()

    def document(self) -> dict[str, Any]:
        """Return it as a certificate file has it."""
        return {
            "delimiter": self.delimiter,
            "header": self.header,
            "decimal": self.decimal,
            "missing": [text for text in self.missing_cells() if text not in _MISSING],
        }

    def names(self, first: Sequence[str]) -> list[str]:
        """Return the names of the columns, given the cells of the first record."""
        return (
            unique_names(first) if self.header else [f"column{at + 1}" for at in range(len(first))]
        )

    def missing_cells(self) -> list[str]:
        """Return the texts of a cell that stand for a missing value."""
        named = [f"{left}{text}{right}" for text in self.missing for left in ("", " ")
                 for right in ("", " ")]  # fmt: skip
        return list(dict.fromkeys([*_MISSING, *named]))


def _first_csv(sources: Iterable[Path | str]) -> tuple[str, bytes]:
    """Return name and start of the first file that may be CSV; nothing if it cannot be read."""
    for source in sources:
        try:
            file = find_files(source)[0]
            if not file.is_parquet:
                with file.reading(), file.stream() as stream:
                    sample = stream.read(_SAMPLE)
                if format_of(file.name, sample) is None:
                    return file.name, sample
        except InputError:  # whoever reads all of it says what is wrong
            continue
    return "", b""


def records(sample: bytes, delimiter: str) -> list[list[str]]:
    """Return the cells of the first rows, without the last of a full sample, which may be cut."""
    text = sample.decode("utf-8-sig", errors="replace")
    found: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                found.append(row)
            if len(found) > _ROWS:
                break
    except csv.Error:
        return []
    return found[:-1] if len(sample) >= _SAMPLE and len(found) <= _ROWS else found


def delimiter_of(name: str, sample: bytes, signs: Iterable[str]) -> str | None:
    """Return the sign that cuts all rows into the same number of cells; None if there is none."""
    widths = {}
    for sign in signs:
        found = {len(row) for row in records(sample, sign)}
        if len(found) == 1 and (width := found.pop()) > 1:
            widths[sign] = width
    if len(widths) > 1:
        ways = " or ".join(
            f"{_SIGNS[sign]} ({width:,} cells a line)" for sign, width in widths.items()
        )
        options = " or ".join(f"--delimiter {_as_option(sign)}" for sign in widths)
        raise InputError(f"{name} may be separated by {ways}; pass {options}")
    return next(iter(widths), None)


def _as_option(sign: str) -> str:
    return "tab" if sign == "\t" else repr(sign)


def decimal_of(rows: Sequence[Sequence[str]], missing: Collection[str]) -> Decimal:
    """Return the sign before decimals: a comma if some columns of numbers tell and none a point."""
    comma = point = False
    for column in zip(*rows, strict=False):
        cells = [cell for cell in column if cell not in missing and any(map(str.isalnum, cell))]
        texts = pa.array(cells, pa.string())
        by_comma, by_point = are_numbers(texts, ",").all(), are_numbers(texts, ".").all()
        comma |= bool(by_comma and not by_point)
        point |= bool(by_point and not by_comma)
    return "," if comma and not point else "."


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names of columns; the second column named a is a.1, the third a.2, as in pandas.

    Examples
    --------
    >>> unique_names(["a", "b", "a", "a.1", "a"])
    ['a', 'b', 'a.2', 'a.1', 'a.3']
    """
    taken, first, made = set(names), set(), []
    for name in names:
        found, number = name, 0
        while found in first or (number and found in taken):
            number += 1
            found = f"{name}.{number}"
        first.add(found)
        made.append(found)
    return made


def renamed(file: str, names: Sequence[str]) -> list[str]:
    """Return a note about columns that have the name of another, if there are some."""
    new = [made for name, made in zip(names, unique_names(names), strict=True) if made != name]
    if not new:
        return []
    return [
        f"{file} has several columns of the same name; the later ones are called {listed(new, 12)}"
    ]


# --- Reading ------------------------------------------------------------------------------

_BLOCK = 2**23  # bytes of a file that are parsed at once, and from which types are inferred

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
    block: int = _BLOCK  # Bytes that are parsed at once

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
        """Infer the columns of a file from its first block; None for a file without a header."""
        with self._stream(file) as reader:
            if reader is None:
                names = self._names(file)
                return pa.schema([(name, pa.null()) for name in names]) if names else None
            _ = reader.schema.names  # read now: they may not be UTF-8
            return pa.schema(
                [
                    field.with_type(pa.float64()) if field.name in self.numerals else field
                    for field in reader.schema
                ]
            )

    def blocks(self, file: File, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read some columns of a file."""
        types = {field.name: field.type for field in schema if field.name not in self.numerals}
        row = 0
        with self._stream(file, types, schema.names) as reader:
            for block in reader or ():
                yield self._numbers(file, block, row)
                row += block.num_rows

    def first_block(self, file: File) -> pa.Table | None:
        """Return the first rows of a CSV file; None for a file without rows, and for Parquet."""
        if file.is_parquet:
            return None
        with self._stream(file) as reader:
            block = next(iter(reader or ()), None)
            return None if block is None else pa.Table.from_batches([block])

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
            block = block.set_column(at, name, texts_as_numbers(texts, decimal).combine_chunks())
        return block

    @contextmanager
    def _stream(
        self, file: File, types: Mapping[str, Any] | None = None, columns: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Yield what reads a file block by block; None for a file without rows."""
        with file.reading(), file.stream() as stream:
            start = bytes(stream.read(START))
        refuse_foreign(file.name, start)
        if b"\0" in start[:1000]:
            raise _not_utf8(file.name)
        header = self.header(file)
        # One thread: with more, messages do not say which row is at fault.
        options = {"use_threads": False, "block_size": self.block}
        with self._reading(file):
            reader = None
            try:
                if header is not None:
                    parse = pa_csv.open_csv
                    reader = self._parsed(parse, file, header, types or {}, columns, **options)
            except pa.ArrowInvalid as error:
                if "Empty CSV" not in str(error):  # a header without an end of its line
                    raise
            with reader or nullcontext():
                yield reader

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
    for sign, word in {**_SIGNS, " ": "spaces"}.items():
        several = sign != "," and "".join(names).count(sign) > (sign == " ")  # a name may have one
        if len(names) == 1 and several:
            raise InputError(
                f"{file.name} seems to be separated by {word}; pass --delimiter "
                f"{_as_option(sign)}, or save it with commas or as Parquet"
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
