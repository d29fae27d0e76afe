"""Files of all formats as typed tables, or one sentence that says what is wrong and where."""

import gzip
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq

from unswayed.exceptions import InputError
from unswayed.pieces.pieces import EXCEL, FEATHER, START, STATA, File, refuse_foreign
from unswayed.tables.columns import is_text
from unswayed.tables.delimited import CsvReader, Dialect, open_bytes, renamed, unique_names
from unswayed.words import beginning, counted, listed, shorten, suggest

_NAMED = 5  # columns or sheets that a note names


def read_foreign(path: Path, kind: str, dialect: Dialect, notes: list[str]) -> pa.Table:
    """Read a file of a format in `READERS`; what a reader should know goes into `notes`."""
    try:
        return READERS[kind](path, dialect, notes)
    except (InputError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # the libraries raise whatever a damaged file leads to
        what = str(error).strip().split("\n")[0]
        raise InputError(
            f"{path} is {kind} that cannot be read ({beginning(what, 100)}); write it again, or "
            "save it as CSV (UTF-8) or Parquet"
        ) from None


def _stata(path: Path, dialect: Dialect, notes: list[str]) -> pa.Table:
    import pandas as pd

    frame = pd.read_stata(path)
    labelled = [name for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    for name in labelled:  # codes without a label stay numbers among the texts
        frame[name] = frame[name].astype(object).map(_as_text, na_action="ignore")
    if labelled:
        named = listed(labelled, _NAMED)
        notes.append(f"{path} has value labels in {named}: the labels are read, not the codes")
    return pa.Table.from_pandas(frame, preserve_index=False)


def _excel(path: Path, dialect: Dialect, notes: list[str]) -> pa.Table:
    from openpyxl import load_workbook

    with closing(load_workbook(path, read_only=True, data_only=True)) as book:
        sheet = _sheet(path, book, dialect.sheet, notes)
        rows, title = list(sheet.iter_rows(values_only=True)), sheet.title
    if any(None in row for row in rows):
        with closing(load_workbook(path, read_only=True)) as book:
            formulas = list(book[title].iter_rows(values_only=True))
        lost = [at for at, (row, made) in enumerate(zip(rows, formulas, strict=False), 1)
                for cell, formula in zip(row, made, strict=False)
                if cell is None and formula is not None]  # fmt: skip
        if lost:
            notes.append(
                f"{path}: a formula has no saved value in {counted(len(lost), 'cell')} (first in "
                f"line {lost[0]:,} of the sheet), which counts as missing; open the file in a "
                "spreadsheet program and save it"
            )
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    return _table(path, rows, dialect)


def _sheet(path: Path, book: Any, asked: str | None, notes: list[str]) -> Any:
    """Return the sheet that is asked for, or the first one that is not hidden."""
    names = [sheet.title for sheet in book.worksheets]
    if asked is not None:
        if asked not in names:
            raise InputError(f"--sheet: {path} has no {asked!r}; {suggest(asked, names, 'sheets')}")
        return book[asked]
    seen = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    first = (seen or book.worksheets)[0]
    if len(names) > 1:
        others = listed([name for name in names if name != first.title], _NAMED)
        notes.append(
            f"{path} has {len(names):,} sheets, of which {first.title!r} is read and not {others}; "
            "pass --sheet to read another"
        )
    return first


def _table(path: Path, rows: list[tuple[Any, ...]], dialect: Dialect) -> pa.Table:
    """Make columns of the cells of a sheet, the first of them the header."""
    if not rows:
        raise InputError(f"{path} is empty; it needs a header line and rows")
    used = [at for at in range(len(rows[0])) if any(row[at] is not None for row in rows)]
    names = [f"column{at + 1}" for at in range(len(used))]
    if dialect.header:
        named = [at for at in used if rows[0][at] is not None]
        if 2 * len(named) <= len(used) and len(used) > 1:
            raise InputError(
                f"{path}: the first line of the sheet names {len(named):,} of {len(used):,} "
                "columns; the names must stand in the first line, without a title above them"
            )
        names = [str(_as_text(rows[0][at] if at in named else "")) for at in used]
        rows = rows[1:]
    missing = set(dialect.missing_cells())
    columns = [_column([row[at] for row in rows], missing) for at in used]
    return pa.Table.from_arrays(columns, names)


def _column(cells: Sequence[Any], missing: set[str]) -> Any:
    """Return cells as numbers, texts, truth values or dates; as texts where they are mixed."""
    known = [None if _as_text(cell) in missing else cell for cell in cells]
    kinds = {type(cell) for cell in known if cell is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        known = [None if cell is None else _as_text(cell) for cell in known]
    return pa.array(known, pa.float64() if kinds == {int, float} else None)


def _as_text(cell: Any) -> str:
    """Return a cell as a CSV file would have it."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)


READERS: dict[str, Callable[[Path, Dialect, list[str]], pa.Table]] = {
    EXCEL: _excel,
    STATA: _stata,
    FEATHER: lambda path, *_: pyarrow.feather.read_table(path),
}


# --- Tables of any format -----------------------------------------------------------------

_BLOCK = 2**20  # bytes searched at a time
_USUAL = Dialect()


def file_at(path: Path) -> File:
    """Return a file of this machine."""
    return File(str(path), os.path.abspath(path))


def read_table(
    path: Path,
    texts: Iterable[str] = (),
    dialect: Dialect = _USUAL,
    notes: list[str] | None = None,
) -> pa.Table:
    """Read a CSV file (UTF-8), a Parquet file, or one of the formats in `READERS`."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a CSV or Parquet file in it")
    try:
        with path.open("rb") as opened:
            empty = not opened.read(1)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the name and the folder") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if empty:
        raise InputError(f"{path} is empty; it needs a header line and rows")
    notes = [] if notes is None else notes
    if is_parquet(path):
        table = _without_marks(_read_parquet(path), dialect.missing)
        _refuse_twins(path, table.column_names)
    elif (kind := foreign_format(path)) is not None:
        made = read_foreign(path, kind, dialect, notes)
        notes += renamed(str(path), made.column_names)
        table = _without_marks(_without_views(made), dialect.missing)
        table = table.rename_columns(unique_names(table.column_names))
    else:
        reader, file = CsvReader(dialect, tuple(texts)), file_at(path)
        table = reader.table(file)
        notes += reader.notes(file)
    if table.num_rows == 0:
        raise InputError(f"{path} has a header but no rows; nothing can be learned from it")
    return table


def leading_zeros(path: Path, table: pa.Table, dialect: Dialect) -> dict[str, tuple[int, str]]:
    """Find the whole numbers of a CSV file that are written with zeros in front, such as 01234."""
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or not is_csv(path) or not _has_zero_first(path, dialect.delimiter):
        return {}
    written = CsvReader(dialect, tuple(whole)).table(file_at(path), whole)
    found = {}
    for name in whole:
        padded = pc.match_substring_regex(written.column(name), r"^\s*-?0\d")
        at = pc.index(padded, True).as_py()
        if at >= 0:
            found[name] = (at + 1, written.column(name)[at].as_py())
    return found


def _has_zero_first(path: Path, delimiter: str) -> bool:
    """Return whether some cell may begin with 0 and a digit, by a quick look at all bytes."""
    edges = np.isin(np.arange(256), list(f'{delimiter}\n" '.encode()))
    digits = np.isin(np.arange(256), list(b"0123456789"))
    with open_bytes(file_at(path)) as file:
        end = b"\n"  # of the block before: a cell may be cut in two
        while block := file.read(_BLOCK):
            found = np.frombuffer(end + block, dtype=np.uint8)
            zero = np.flatnonzero(found[1:-1] == ord("0"))
            if (edges[found[zero]] & digits[found[zero + 2]]).any():
                return True
            end = block[-2:]
    return False


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, by which a report says which data it is about."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_parquet(path: Path) -> bool:
    """Return whether a file is a Parquet file, by its name or its first bytes."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def is_csv(path: Path) -> bool:
    """Return whether a file is neither Parquet nor one of the formats in `READERS`."""
    return not is_parquet(path) and foreign_format(path) is None


def foreign_format(path: Path) -> str | None:
    """Return which of the formats in `READERS` a file has; raise if it has one that is not read."""
    try:
        with open_bytes(file_at(path)) as opened:
            return refuse_foreign(str(path), opened.read(START), READERS)
    except (gzip.BadGzipFile, EOFError):
        raise InputError(f"{path} is not compressed by gzip, although its name says so") from None


def _read_parquet(path: Path) -> pa.Table:
    try:
        return _without_views(pq.read_table(path))
    except MemoryError:
        raise  # Arrow's own is an ArrowException too, but no fault of the file
    except (pa.ArrowException, OSError) as error:
        said = str(error).strip().split("\n", maxsplit=1)[0]
        raise InputError(
            f"{path} is not a readable Parquet file ({beginning(said, 100)}); "
            "write it again, or pass a CSV file"
        ) from None


def _without_views(table: pa.Table) -> pa.Table:
    """Give texts the layout that all of Arrow's functions take."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.large_string()))
    return table


def _without_marks(table: pa.Table, marks: tuple[str, ...]) -> pa.Table:
    """Make cells of a Parquet file missing that stand for it by what they hold."""
    for at, field in enumerate(table.schema if marks else ()):
        column, kind = table.column(at), field.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        known = [mark for mark in marks if _casts(mark, kind)]
        if not known:
            continue
        cells = pc.utf8_trim_whitespace(column) if is_text(kind) else column
        found = pc.is_in(cells, pa.array(known).cast(kind))
        gone = pc.if_else(found, pa.scalar(None, kind), column)
        table = table.set_column(at, field.name, gone)
    return table


def _casts(mark: str, kind: Any) -> bool:
    """Return whether a text can be a value of an Arrow type."""
    try:
        pa.scalar(mark).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _refuse_twins(path: Path, names: list[str]) -> None:
    for at, name in enumerate(names, 1):
        if (first := names.index(name) + 1) < at:
            raise InputError(
                f"{path} has two columns named {shorten(name)!r} (columns {first:,} and {at:,}); "
                "rename or remove one, a name must say which column is meant"
            )
