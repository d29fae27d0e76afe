"""Files of all formats as typed tables, or one sentence that says what is wrong and where."""

import csv
import gzip
import hashlib
import io
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.feather
import pyarrow.parquet as pq

from unswayed.exceptions import InputError
from unswayed.tables.dialects import renamed, unique_names
from unswayed.tables.formats import EXCEL, FEATHER, START, STATA, refuse_foreign
from unswayed.tables.reading import Reading
from unswayed.words import beginning, counted, listed, shorten, suggest

_NAMED = 5  # columns or sheets that a note names


def read_foreign(path: Path, kind: str, reading: Reading, notes: list[str]) -> pa.Table:
    """Read a file of a format in `READERS`; what a reader should know goes into `notes`."""
    try:
        return READERS[kind](path, reading, notes)
    except (InputError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # the libraries raise whatever a damaged file leads to
        what = str(error).strip().split("\n")[0]
        raise InputError(
            f"{path} is {kind} that cannot be read ({beginning(what, 100)}); write it again, or "
            "save it as CSV (UTF-8) or Parquet"
        ) from None


def _feather(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    return pyarrow.feather.read_table(path)


def _stata(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    import pandas as pd

    frame = pd.read_stata(path)
    labelled = [name for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    for name in labelled:  # codes without a label stay numbers among the texts
        frame[name] = frame[name].astype(object).map(_as_text, na_action="ignore")
    if labelled:
        named = listed(labelled, _NAMED)
        notes.append(f"{path} has value labels in {named}: the labels are read, not the codes")
    return pa.Table.from_pandas(frame, preserve_index=False)


def _excel(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    sheet = _sheet(path, book, reading.sheet, notes)
    rows = list(sheet.iter_rows(values_only=True))
    if any(None in row for row in rows):
        formulas = load_workbook(path, read_only=True)[sheet.title].iter_rows(values_only=True)
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
    return _table(path, rows, reading)


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


def _table(path: Path, rows: list[tuple[Any, ...]], reading: Reading) -> pa.Table:
    """Make columns of the cells of a sheet, the first of them the header."""
    if not rows:
        raise InputError(f"{path} is empty; it needs a header line and rows")
    used = [at for at in range(len(rows[0])) if any(row[at] is not None for row in rows)]
    names = [f"column{at + 1}" for at in range(len(used))]
    if reading.header:
        named = [at for at in used if rows[0][at] is not None]
        if 2 * len(named) <= len(used) and len(used) > 1:
            raise InputError(
                f"{path}: the first line of the sheet names {len(named):,} of {len(used):,} "
                "columns; the names must stand in the first line, without a title above them"
            )
        names = [str(_as_text(rows[0][at] if at in named else "")) for at in used]
        rows = rows[1:]
    missing = set(reading.missing_cells())
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


READERS: dict[str, Callable[[Path, Reading, list[str]], pa.Table]] = {
    EXCEL: _excel,
    STATA: _stata,
    FEATHER: _feather,
}


# ----------------------------------------------------------------------------------------
# CSV and Parquet files in: typed tables, or one sentence that says what is wrong and where.

# What a file begins with that is not UTF-8: with a mark of its byte order, or without one and a
# header of ASCII letters. The longer ones first, because they begin with the shorter.
_WIDE = (
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff"), "UTF-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "UTF-16"),
    (re.compile(rb"[^\0]\0[^\0]\0", re.DOTALL), "UTF-16LE"),
    (re.compile(rb"\0[^\0]\0[^\0]", re.DOTALL), "UTF-16BE"),
)
_BLOCK = 2**24  # bytes searched at a time
_USUAL = Reading()


def read_table(
    path: Path,
    texts: Iterable[str] = (),
    reading: Reading = _USUAL,
    notes: list[str] | None = None,
) -> pa.Table:
    """Read a CSV file (UTF-8), a Parquet file, or one of the formats in `foreign`."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a CSV or Parquet file in it")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the name and the folder") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if empty:
        raise InputError(f"{path} is empty; it needs a header line and rows")
    notes = [] if notes is None else notes
    if is_parquet(path):
        table = _without_marks(_read_parquet(path), reading.missing)
        _refuse_twins(path, table.column_names)
    elif (kind := foreign_format(path)) is not None:
        made = read_foreign(path, kind, reading, notes)
        notes += renamed(str(path), made.column_names)
        table = _without_marks(_without_views(made), reading.missing)
        table = table.rename_columns(unique_names(table.column_names))
    else:
        table = _read_csv(path, texts, reading)
        _check_delimiter(path, table.column_names)
        if reading.header:
            notes += renamed(str(path), _first_record(path, reading)[0])
    if table.num_rows == 0:
        raise InputError(f"{path} has a header but no rows; nothing can be learned from it")
    return table


def leading_zeros(path: Path, table: pa.Table, reading: Reading) -> dict[str, tuple[int, str]]:
    """Find the whole numbers of a CSV file that are written with zeros in front, such as 01234."""
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or not is_csv(path) or not _has_zero_first(path, reading.delimiter):
        return {}
    written = _parse(path, whole, reading, pa_csv.ReadOptions(), whole)
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
    with open_bytes(path) as file:
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
    """Return whether a file is neither Parquet nor one of the formats in `foreign`."""
    return not is_parquet(path) and foreign_format(path) is None


def foreign_format(path: Path) -> str | None:
    """Return which of the formats in `foreign` a file has; raise if it has one that is not read."""
    try:
        with open_bytes(path) as file:
            return refuse_foreign(str(path), file.read(START), READERS)
    except (gzip.BadGzipFile, EOFError):
        raise InputError(f"{path} is not compressed by gzip, although its name says so") from None


def _read_parquet(path: Path) -> pa.Table:
    try:
        return _without_views(pq.read_table(path))
    except MemoryError:
        raise  # Arrow's own is an ArrowException too, but no fault of the file
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file ({beginning(_first_line(error), 100)}); "
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
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        cells = pc.utf8_trim_whitespace(column) if is_text else column
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


def _read_csv(path: Path, texts: Iterable[str], reading: Reading) -> pa.Table:
    with open_bytes(path) as file:
        start = file.read(START)
    for mark, codec in _WIDE:
        if mark.match(start):
            raise _encoding_error(path, f"it looks like {codec}", codec)
    if b"\0" in start:
        raise InputError(
            f"{path} is a binary file of an unknown format; save it as CSV (UTF-8) or Parquet"
        )
    try:
        try:
            table = _parse(path, texts, reading, pa_csv.ReadOptions())
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            # Types are read off the first block; a later cell disagrees. Look at all of it.
            size = min(_size(path) + 1, 2**31 - 1)
            table = _parse(path, texts, reading, pa_csv.ReadOptions(block_size=size))
        _ = table.column_names  # read now: it may not be UTF-8
    except UnicodeDecodeError:
        raise _encoding_error(path, "its header is not UTF-8") from None
    except pa.ArrowInvalid as error:
        raise _csv_error(path, error, reading) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type):
            raise _encoding_error(path, f"column {shorten(name)!r} is not UTF-8")
    return table


def open_bytes(path: Path) -> Any:
    """Open a file for reading, unpacked."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _size(path: Path) -> int:
    with open_bytes(path) as file:
        return int(file.seek(0, io.SEEK_END))


def _parse(
    path: Path,
    texts: Iterable[str],
    reading: Reading,
    options: Any,
    columns: list[str] | None = None,
) -> pa.Table:
    first, blank = _first_record(path, reading)
    if not reading.header:
        options.column_names = [f"column{at + 1}" for at in range(len(first))]
    elif len(set(first)) < len(first):  # Arrow cannot tell them apart
        options.column_names, options.skip_rows_after_names = unique_names(first), blank + 1
    return pa_csv.read_csv(
        path,
        read_options=options,
        parse_options=pa_csv.ParseOptions(delimiter=reading.delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            null_values=reading.missing_cells(),
            strings_can_be_null=True,
            column_types=dict.fromkeys(texts, pa.string()),
            decimal_point=reading.decimal,
            include_columns=columns,
        ),
    )


def _first_record(path: Path, reading: Reading) -> tuple[list[str], int]:
    """Return the cells of the first record, and how many empty lines are before it."""
    csv.field_size_limit(2**31 - 1)
    with io.TextIOWrapper(
        open_bytes(path), encoding="utf-8-sig", errors="replace", newline=""
    ) as file:
        for blank, cells in enumerate(csv.reader(file, delimiter=reading.delimiter)):
            if cells:
                return cells, blank
    return [], 0


def _encoding_error(path: Path, what: str, codec: str = "WINDOWS-1252") -> InputError:
    return InputError(
        f"{path} has another encoding: {what}; save it as UTF-8, for example with "
        f"iconv -f {codec} -t UTF-8 {shlex.quote(path.name)} > utf8.csv"
    )


def _csv_error(path: Path, error: Exception, reading: Reading) -> InputError:
    """Find the ragged line: Arrow's own number is missing when it reads in parallel."""
    csv.field_size_limit(2**31 - 1)
    first = "header" if reading.header else "first line"
    try:
        with io.TextIOWrapper(open_bytes(path), encoding="utf-8", newline="") as file:
            lines = csv.reader(file, delimiter=reading.delimiter)
            header = next(lines, [])
            _check_delimiter(path, header)
            width = len(header)
            for cells in lines:
                if cells and len(cells) != width:
                    return InputError(
                        f"{path}, line {lines.line_num}: {len(cells)} cells where the {first} has "
                        f"{width}; a stray {_word(reading.delimiter)} or quote? every line needs "
                        f"{width} cells"
                    )
    except UnicodeDecodeError:
        return _encoding_error(path, "it is not UTF-8")
    except csv.Error as broken:
        return InputError(f"{path} is not a readable CSV file: {broken}")
    return InputError(f"{path} is not a readable CSV file: {beginning(_first_line(error), 200)}")


def _word(delimiter: str) -> str:
    return {",": "comma", ";": "semicolon", "\t": "tab"}.get(delimiter, repr(delimiter))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0]


def _refuse_twins(path: Path, names: list[str]) -> None:
    for at, name in enumerate(names, 1):
        if (first := names.index(name) + 1) < at:
            raise InputError(
                f"{path} has two columns named {shorten(name)!r} (columns {first:,} and {at:,}); "
                "rename or remove one, a name must say which column is meant"
            )


def _check_delimiter(path: Path, names: list[str]) -> None:
    for sign, given, word in ((";", "';'", "semicolons"), ("\t", "tab", "tabs"),
                              ("|", "'|'", "bars"), (" ", "' '", "spaces")):  # fmt: skip
        if len(names) == 1 and names[0].count(sign) > (sign == " "):  # a name may have a space
            raise InputError(
                f"{path} seems to be separated by {word}; pass --delimiter {given}, or save it "
                "with commas or as Parquet"
            )
