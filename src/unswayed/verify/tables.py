"""Rows of CSV and Parquet files, one at a time; no row is kept."""

import csv
import gzip
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from unswayed.verify.limits import (
    MOST_LINES,
    MOST_TEXT,
    MOST_UNPACKED,
    CertificateError,
)
from unswayed.verify.parquet import is_parquet, parquet_rows
from unswayed.verify.writing import Writing

_USUAL = Writing()

Row = tuple[Any, ...]  # cells: texts, numbers, truth values, None


class Table:
    """Columns of a file, to be read from the first row to the last."""

    def __init__(self, path: Path, names: list[str] | None, writing: Writing = _USUAL) -> None:
        self._path = path
        self._writing = writing
        self._rows = self._read(names)
        self.names: list[str] = list(next(self._rows))

    def rows(self) -> Iterator[Row]:
        """Return the rows, to be read once."""
        return self._rows

    def _read(self, names: list[str] | None) -> Iterator[Row]:
        """Yield the names, then the rows."""
        try:
            if not is_parquet(self._path):
                yield from _csv_rows(self._path, names, self._writing)
            elif self._writing.is_usual:
                yield from parquet_rows(self._path, names)
            else:
                raise ValueError("it is a Parquet file, but its recipe is for CSV files")
        except OSError as error:
            if error.filename is not None:  # there is no such file, or it may not be read
                raise
            raise self._error(error) from None
        except Exception as error:  # whatever a damaged file leads to
            raise self._error(error) from None

    def _error(self, error: Exception) -> CertificateError:
        return CertificateError(f"{self._path} lacks a column or is no table: {error}")


def _csv_rows(path: Path, names: list[str] | None, writing: Writing) -> Iterator[Row]:
    """Yield the names of the columns, then the rows of a CSV file."""
    csv.field_size_limit(max(csv.field_size_limit(), MOST_TEXT))  # it is one for the whole process
    unpacked: Any = gzip.open if path.suffix == ".gz" else open
    with unpacked(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = _Lines(file)
        rows = lines.rows(writing.delimiter)
        header = next(rows, [])
        if not writing.header:
            rows = chain([header], rows)
            header = [f"column{at + 1}" for at in range(len(header))]
        places = {name: at for at, name in enumerate(_unique(header))}
        header = list(places)
        names = header if names is None else names
        for name in names:
            if name not in places:
                raise ValueError(f"there is no column {shown(name)}")
        at = [places[name] for name in names]
        yield tuple(names)
        for row in rows:
            if len(row) != len(header):
                raise ValueError(
                    f"line {lines.number:,} ends a row of {len(row):,} cells where the header has "
                    f"{len(header):,}"
                )
            cells = (row[place] for place in at)
            yield tuple(None if writing.is_missing(cell) else cell for cell in cells)


def _unique(header: list[str]) -> list[str]:
    """Return names of columns, of which the second named a is called a.1, the third a.2."""
    made: dict[str, None] = {}
    for name in header:
        found, number = name, 0
        while found in made or (number and found in header):
            number += 1
            found = f"{name}.{number}"
        made[found] = None
    return list(made)


class _Lines:
    """Lines of a file for the csv module, which reads several for one row if a quoted cell goes on.

    Limited are the characters between two rows, which the csv module keeps, and those of all lines.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._in_row = 0
        self._in_all = 0
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(MOST_TEXT + 1):
            self.number += 1
            self._in_row += len(line)
            self._in_all += len(line)
            if self._in_row > MOST_TEXT:
                raise ValueError(f"a row has more than {MOST_TEXT:,} characters")
            if self._in_all > MOST_UNPACKED or self.number > MOST_LINES:
                raise ValueError(
                    f"there are more than {MOST_UNPACKED:,} characters or {MOST_LINES:,} lines"
                )
            yield line

    def rows(self, delimiter: str) -> Iterator[list[str]]:
        """Yield all rows that are not empty lines."""
        for row in csv.reader(iter(self), delimiter=delimiter):
            self._in_row = 0
            if row:
                yield row
