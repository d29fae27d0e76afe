"""Output files: whole or not at all."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

from unswayed.atomic import atomic_write
from unswayed.exceptions import InputError

TABLES = (".csv", ".parquet", ".json")
# What spreadsheets take for the start of a formula, wide signs and spaces before it included.
_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def check_output(
    path: Path | None, option: str, suffixes: tuple[str, ...], *read: Path | None
) -> None:
    """Raise, before any work is done, if `path` cannot become an output file.

    Parameters
    ----------
    path : Path or None
        None is always fine.
    option : str
        Name of the option, for the error.
    suffixes : tuple of str
        Endings that the name may have.
    *read : Path or None
        Other files of the same command, which must not be overwritten.

    Raises
    ------
    InputError
    """
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}; make it first")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: nothing may be written to {folder}")
    if any(each is not None and each.resolve() == path.resolve() for each in read):
        raise InputError(f"{option} {path} would overwrite the input; choose another name")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all.

    Parameters
    ----------
    path : Path
    text : str
    """
    with atomic_write(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """Return a value as JSON that every reader accepts: infinity and NaN become null.

    Parameters
    ----------
    value : dict, list, array, str or number
        Nested at will.
    indent : int or None
        None puts everything on one line.

    Returns
    -------
    str
    """
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as one dict per row.

    Parameters
    ----------
    columns : dict of str to sequence
        All of the same length.

    Returns
    -------
    list of dict
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def escaped(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Numbers, signed ones too, stay as they are.

    Examples
    --------
    >>> escaped("=1+1"), escaped("-2+3"), escaped("-2.5"), escaped("a=1")
    ("'=1+1", "'-2+3", '-2.5', 'a=1')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def write_table(path: Path, columns: dict[str, Any], *, escape: bool = True) -> None:
    """Write columns as CSV, Parquet or JSON (a list of rows), by the name's ending.

    Parameters
    ----------
    path : Path
    columns : dict of str to sequence
        Values by the name of their column.
    escape : bool
        In CSV, put an apostrophe before texts, names of columns too, that a spreadsheet would run.
    """
    suffix = path.suffix.lower()
    if suffix == ".json":
        rows = as_rows(_plain(columns))
        write_text(path, to_json(rows, indent=None).replace("}, {", "},\n{") + "\n")
        return
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    table = pa.table(columns)
    with atomic_write(path) as beside:
        if suffix == ".csv":
            pa_csv.write_csv(_without_formulas(table) if escape else table, beside)
        else:
            pq.write_table(table, beside)


def _without_formulas(table: Any) -> Any:
    """Return a table with its texts and the names of its columns escaped."""
    import pyarrow as pa

    columns = [
        pa.array([None if text is None else escaped(text) for text in column.to_pylist()])
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[escaped(name) for name in table.column_names])
