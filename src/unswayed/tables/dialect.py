"""What a file is: its format by its first bytes, and the dialect in which CSV writes its cells."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from unswayed.exceptions import InputError
from unswayed.pieces.paths import find_files
from unswayed.tables.cells import Decimal, are_numbers
from unswayed.words import listed

START = 1024
"""Bytes that tell."""
EXCEL, STATA, FEATHER = "an Excel workbook", "a Stata file", "a Feather file"

_IN_R = "save it there with write.csv(data, 'data.csv', row.names = FALSE)"
_AS_CSV = "save it as CSV (UTF-8) from the program that wrote it"
_UNPACK = "unpack it and name the file in it"
_MARK = b"\xef\xbb\xbf"
# What such a file begins with, what its name ends in if its first bytes do not tell, what it is,
# and what to do with it.
_FORMATS = (
    (rb"PK\x03\x04.{26}(\[Content_Types\]\.xml|_rels/|xl/|docProps/)", "", EXCEL,
     "save it as CSV (UTF-8) or Parquet"),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument", "", "an OpenDocument file",
     "save it as CSV (UTF-8) or .xlsx"),
    (rb"PK\x03\x04", "", "a zip archive", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c|Rar!", "", "an archive", _UNPACK),
    (rb".{257}ustar", "", "a tar archive", _UNPACK),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "an Excel workbook of the old kind (.xls)",
     "save it as .xlsx or CSV (UTF-8)"),
    (rb"<stata_dta>", ".dta", STATA, "save it as CSV (export delimited) or Parquet"),
    (rb"ARROW1|FEA1", "", FEATHER, "save it as Parquet"),
    (rb"\xff\xff\xff\xff.\x00", "", "a stream of Arrow batches", "save it as Feather or Parquet"),
    (rb"\$FL[23]@?\(?#?\)?", ".sav", "an SPSS file", _AS_CSV),
    (rb"\x00{12}\xc2\xea\x81\x60", ".sas7bdat", "a SAS file", _AS_CSV),
    (rb"HEADER RECORD\*{7}", ".xpt", "a SAS transport file", _AS_CSV),
    (rb"RD[AX][2-9]\n", ".rds .rdata .rda", "a file of R", _IN_R),
    (rb"\x89HDF\r\n", "", "an HDF5 file", "save it as Parquet, with pandas for example"),
    (rb"SQLite format 3\x00", "", "an SQLite database", "save the table as CSV (UTF-8)"),
    (rb"%PDF-", "", "a PDF document", "find its table as CSV"),
    (rb"\x80[\x02-\x05]", "", "a pickle of Python", "save it as Parquet"),
    (rb"BZh|\x28\xb5\x2f\xfd|\xfd7zXZ|\x04\x22\x4d\x18", ".bz2 .zst .xz .lz4",
     "compressed, but not by gzip", "unpack it, or use gzip (.csv.gz)"),
    (rb"\x1f\x8b", "", "compressed by gzip although its name does not end in .gz",
     "rename it to .csv.gz if it is a CSV file, or unpack it"),
    (rb"(?i)\s*<(!doctype html|html|head|body|table|meta|div)\b", "", "a web page (HTML) and no "
     "table", "download the data itself, or save the table as CSV (UTF-8)"),
    (rb"\s*<\?xml\b", "", "an XML file", "save it as CSV (UTF-8)"),
    (rb"\s*(\{\s*[\"}]|\[\s*[\[{])", "", "a JSON file",
     "save it as CSV (UTF-8) or Parquet, with pandas.read_json for example"),
)  # fmt: skip


def format_of(name: str, start: bytes) -> tuple[str, str] | None:
    """Return what a file is and what to do with it; None if it may be CSV or Parquet.

    Examples
    --------
    >>> format_of("people.csv", b'[{"age": 31}]')[0]
    'a JSON file'
    >>> format_of("people.csv", b"age;town") is None
    True
    """
    start = start.removeprefix(_MARK)
    for pattern, endings, what, instead in _FORMATS:
        named = endings and name.lower().endswith(tuple(endings.split()))
        if named or re.match(pattern, start, re.DOTALL):
            return what, instead
    return None


def refuse_foreign(name: str, start: bytes, readable: Collection[str] = ()) -> str | None:
    """Return which of the readable formats a file has, if any; raise if it has one that is not."""
    found = format_of(name, start)
    if found is None or found[0] in readable:
        return found and found[0]
    ways = " in pieces" if found[0] in (EXCEL, STATA, FEATHER) else ""
    raise InputError(f"{name} is {found[0]}, which is not read{ways}; {found[1]}")


# ----------------------------------------------------------------------------------------
# Dialects: which signs separate cells and decimals, and what stands for a missing value.

SAMPLE = 2**18
"""Bytes of a file that its dialect is judged by."""
SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
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
    def of(
        cls,
        delimiter: str | None = None,
        *,
        header: bool = True,
        decimal: Decimal = ".",
        missing: Sequence[str] = (),
        sheet: str | None = None,
    ) -> "Dialect":
        """Make it of the values of options."""
        given = (";" if decimal == "," else ",") if delimiter is None else delimiter
        return cls(_NAMES.get(given, given), header, decimal, tuple(dict.fromkeys(missing)), sheet)

    @classmethod
    def for_files(
        cls,
        sources: Iterable[Path | str],
        delimiter: str | None = None,
        *,
        decimal: Decimal | None = None,
        **rest: Any,
    ) -> "Dialect":
        """Make it like `of`, with the signs that the first CSV file shows where none are given."""
        dialect = cls.of(delimiter, decimal=decimal or ".", **rest)
        if delimiter is not None and decimal is not None:
            return dialect
        name, sample = _first_csv(sources)
        said = []
        if delimiter is None:
            signs = [sign for sign in SIGNS if sign != decimal]
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
                    sample = stream.read(SAMPLE)
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
    return found[:-1] if len(sample) >= SAMPLE and len(found) <= _ROWS else found


def delimiter_of(name: str, sample: bytes, signs: Iterable[str]) -> str | None:
    """Return the sign that cuts all rows into the same number of cells; None if there is none."""
    widths = {}
    for sign in signs:
        found = {len(row) for row in records(sample, sign)}
        if len(found) == 1 and (width := found.pop()) > 1:
            widths[sign] = width
    if len(widths) > 1:
        ways = " or ".join(
            f"{SIGNS[sign]} ({width:,} cells a line)" for sign, width in widths.items()
        )
        names = {"\t": "tab"}
        options = " or ".join(f"--delimiter {names.get(sign, repr(sign))}" for sign in widths)
        raise InputError(f"{name} may be separated by {ways}; pass {options}")
    return next(iter(widths), None)


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
