"""Reading: how a CSV file writes its cells, where that is not the usual way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from unswayed.exceptions import InputError
from unswayed.pieces.paths import find_files
from unswayed.tables.dialects import SAMPLE, SIGNS, decimal_of, delimiter_of, records
from unswayed.tables.formats import format_of

# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a CSV file is written: by default commas, a header and decimal points."""

    delimiter: str = ","  # The sign between two cells
    # Whether the first record names the columns; if not, they are column1, column2 and so on
    header: bool = True
    decimal: Literal[".", ","] = "."  # The sign before the decimals of a number
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
        decimal: Literal[".", ","] = ".",
        missing: Sequence[str] = (),
        sheet: str | None = None,
    ) -> "Reading":
        """Make it of the values of options."""
        given = (";" if decimal == "," else ",") if delimiter is None else delimiter
        return cls(_NAMES.get(given, given), header, decimal, tuple(dict.fromkeys(missing)), sheet)

    @classmethod
    def for_files(
        cls,
        sources: Iterable[Path | str],
        delimiter: str | None = None,
        *,
        decimal: Literal[".", ","] | None = None,
        **rest: Any,
    ) -> "Reading":
        """Make it like `of`, with the signs that the first CSV file shows where none are given."""
        reading = cls.of(delimiter, decimal=decimal or ".", **rest)
        if delimiter is not None and decimal is not None:
            return reading
        name, sample = _first_csv(sources)
        said = []
        if delimiter is None:
            signs = [sign for sign in SIGNS if sign != decimal]
            found = delimiter_of(name, sample, signs) or reading.delimiter
            if found != reading.delimiter:
                said.append(f"{found!r} between cells" if found != "\t" else "tabs between cells")
                reading = replace(reading, delimiter=found)
        if decimal is None and reading.delimiter != ",":
            rows = records(sample, reading.delimiter)[reading.header :]
            if decimal_of(rows, reading.missing_cells()) == ",":
                said.append("a comma before decimals")
                reading = replace(reading, decimal=",")
        if not said:
            return reading
        note = f"{name} is read with {' and '.join(said)}; --delimiter and --decimal say otherwise"
        return replace(reading, notes=(note,))

    @property
    def is_usual(self) -> bool:
        """Whether files are read as they are without any option."""
        return self == Reading()

    def document(self) -> dict[str, Any]:
        """Return it as a certificate file has it."""
        return {
            "delimiter": self.delimiter,
            "header": self.header,
            "decimal": self.decimal,
            "missing": [text for text in self.missing_cells() if text not in _MISSING],
        }

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
