"""Rows of CSV and Parquet files, one at a time, and what their cells stand for."""

import csv
import gzip
import math
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from re import fullmatch
from reprlib import repr as shown
from typing import Any

from unswayed.verify.document import MOST_LINES, MOST_TEXT, MOST_UNPACKED, CertificateError
from unswayed.verify.parquet import is_parquet, parquet_rows

Row = tuple[Any, ...]  # cells: texts, numbers, truth values, None

# A number as in accounts, $1,200 or 13.4% or (1,200), where brackets stand for a minus.
_DRESSED = r"(\(?)\s*([+-]?)\s*([$€£¥]?)\s*([+-]?)([\d.,]+(?:[eE][+-]?\d+)?)\s*([$€£¥%]?)\s*(\)?)"
# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))
_WORDS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}


@dataclass(frozen=True, slots=True)
class Writing:
    """How cells, numbers and missing values are written in a CSV file."""

    delimiter: str = ","  # The sign between two cells
    # Whether the first row names the columns; if not, they are column1, column2 and so on
    header: bool = True
    # The sign before decimals, a point or a comma; the other one may separate thousands
    decimal: str = "."
    missing: tuple[str, ...] = ()  # Cells that stand for no value, beside the usual ones

    @classmethod
    def of(cls, recipe: Any) -> "Writing":
        """Return how the files of a recipe are written."""
        written = recipe.get("written", {})
        found = cls(**(written | {"missing": tuple(written.get("missing", ()))}))
        if found.delimiter in ("", found.decimal, '"', "\r", "\n"):
            raise CertificateError(
                f"in its recipe, {shown(found.delimiter)} cannot stand between cells"
            )
        return found

    def numeral(self, text: str) -> str:
        """Return a number with a decimal point, without a currency, a percent sign or brackets."""
        dressed = fullmatch(_DRESSED, text)
        if dressed is not None:
            bracket, sign, front, minus, number, back, end = dressed.groups()
            if len(bracket + sign + minus) > 1 or len(front + back) > 1 or len(bracket) != len(end):
                return "no number"
            text = ("-" if bracket else sign + minus) + number
        other = "." if self.decimal == "," else ","
        if other in text:
            grouped = rf"[+-]?[1-9]\d{{0,2}}([{other}]\d{{3}})+([{self.decimal}]\d*)?"
            if not fullmatch(grouped, text):
                return "no number"
            text = text.replace(other, "")
        return text.replace(self.decimal, ".")


USUAL = Writing()


# --- rows -----------------------------------------------------------------------------------


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file that is written in the usual way."""
    return list(next(_table(path, None, USUAL)))


def read_table(path: Path, names: list[str], writing: Writing) -> Iterator[Row]:
    """Return rows of some columns of a file, to be read once; none is kept."""
    return islice(_table(path, names, writing), 1, None)


def _table(path: Path, names: list[str] | None, writing: Writing) -> Iterator[Row]:
    """Yield the names of the columns, then the rows."""
    try:
        if not is_parquet(path):
            yield from _csv_rows(path, names, writing)
        elif writing == USUAL:
            yield from parquet_rows(path, names)
        else:
            raise ValueError("it is a Parquet file, but its recipe is for CSV files")
    except Exception as error:  # whatever a damaged file leads to
        if isinstance(error, OSError) and error.filename is not None:
            raise  # there is no such file, or it may not be read
        raise CertificateError(f"{path} lacks a column or is no table: {error}") from None


def _csv_rows(path: Path, names: list[str] | None, writing: Writing) -> Iterator[Row]:
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
        names = list(places) if names is None else names
        for name in names:
            if name not in places:
                raise ValueError(f"there is no column {shown(name)}")
        wanted = [places[name] for name in names]
        yield tuple(names)
        for row in rows:
            if len(row) != len(places):
                raise ValueError(
                    f"line {lines.number:,} ends a row of {len(row):,} cells where the header has "
                    f"{len(places):,}"
                )
            cells = (row[at] for at in wanted)
            yield tuple(
                None if cell in _MISSING or cell in writing.missing else cell for cell in cells
            )


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
        self._file, self._in_row, self._in_all, self.number = file, 0, 0, 0

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


# --- cells ----------------------------------------------------------------------------------


class Features:
    """Makes the features of a recipe, row by row."""

    def __init__(self, features: Any, names: list[str], writing: Writing) -> None:
        self._writing = writing
        self.width = len(features)
        self.filled = dict.fromkeys(names, 0)  # training cells that were missing
        kinds = {each["column"]: type(each["equals"]) for each in features
                 if each.get("equals") is not None}  # fmt: skip
        place = {name: at for at, name in enumerate(names)}
        self._numbers: list[tuple[int, int, Any]] = []
        self._categories: dict[tuple[int, type], dict[Any, list[int]]] = {}
        for at, feature in enumerate(features):
            name = feature["column"]
            if "equals" in feature:
                values = self._categories.setdefault((place[name], kinds.get(name, str)), {})
                values.setdefault(feature["equals"], []).append(at)
            else:
                self._numbers.append((at, place[name], feature))

    def row(self, cells: Row, *, count: bool = False) -> "array[float]":
        """Return the features of one row."""
        numbers = array("d", bytes(8 * self.width))
        for at, place, feature in self._numbers:
            value, name = value_of(cells[place], float, self._writing), feature["column"]
            if value is None and "missing" in feature:
                value = feature["missing"]
                self.filled[name] += count
            if value is None or not feature["scale"]:
                raise CertificateError(f"column {shown(name)} misses a value or a scale")
            # In doubles and in this order, as the features of the model were computed.
            numbers[at] = (value - feature["mean"]) / feature["scale"]
        for (place, kind), values in self._categories.items():
            for at in values.get(value_of(cells[place], kind, self._writing), ()):
                numbers[at] = 1.0
        return numbers


def label_reader(classes: Any, writing: Writing = USUAL) -> Callable[[Any], float]:
    """Return a function that turns a cell of the label column into a number."""
    code: dict[Any, float] | None = None
    kind: type = float
    rest: float | None = None  # the number of labels that are of no class that is named
    if classes is not None:
        *_, second = values = classes["values"]
        named = values[values[0] is None :]
        pairs = [*pairwise(named), *pairwise(classes["numbers"])]
        if None in named or any(type(a) is not type(b) or a >= b for a, b in pairs):
            raise CertificateError("classes must be in sorted order, and so must their numbers")
        code = dict(zip(classes["values"], classes["numbers"], strict=True))
        kind, rest = type(second), code.pop(None, None)

    def read(cell: Any) -> float:
        value = value_of(cell, kind, writing)
        label = value if code is None else code.get(value, rest)
        if label is None or value is None:
            raise CertificateError("a label is missing, or of no class that the file names")
        return float(label)

    return read


def value_of(cell: Any, kind: type, writing: Writing = USUAL) -> Any:
    """Return a cell's value, as Arrow reads it in a column of such values."""
    if kind is str or cell is None:
        return cell
    try:
        number = _number(writing.numeral(cell.strip())) if isinstance(cell, str) else cell
        return None if math.isnan(number) else float(number) if kind is float else number
    except (ValueError, TypeError, OverflowError):
        raise CertificateError(f"the cell {shown(cell)} is not a number") from None


def _number(text: str) -> float:
    """Return the number that a text stands for, also of truth values and hexadecimals."""
    text = _WORDS.get(text, text).lower()
    if text.startswith("0x"):  # 64 bits, the first of them the sign
        return (int(text, 16) + 2**63) % 2**64 - 2**63
    text = "nan" if text.lstrip("-").startswith("nan(") else text  # as in Windows
    return int(text) if text.lstrip("-").isdecimal() else float(text)
