"""Dialects of CSV: which signs separate cells and decimals, and columns of the same name."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from unswayed.exceptions import InputError
from unswayed.tables.cells import Decimal, are_numbers
from unswayed.words import listed

SAMPLE = 2**18
"""Bytes of a file that its dialect is judged by."""
SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS = 1000  # of the sample that are looked at


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
