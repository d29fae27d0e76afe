"""CSV and Parquet files in: typed tables, or one sentence that says what is wrong and where."""

import csv
import gzip
import hashlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from unswayed.exceptions import InputError
from unswayed.words import beginning, shorten

# What counts as missing in a CSV file. "None" does not: it is a common category.
_MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"]
_PACKED = (".bz2", ".zst", ".lz4")  # Arrow would unpack them; gzip is enough
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_table(path: Path, texts: Iterable[str] = ()) -> pa.Table:
    """Read a CSV file (UTF-8, commas, a header) or a Parquet file.

    Parameters
    ----------
    path : Path
    texts : iterable of str
        Columns of a CSV file to read as texts, even if they look like numbers.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    InputError
        If the file cannot be read, has no rows, or has two columns of the same name.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a CSV or Parquet file in it")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the name and the folder") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if not start:
        raise InputError(f"{path} is empty; it needs a header line and rows")
    is_parquet = start == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")
    table = _read_parquet(path) if is_parquet else _read_csv(path, start, texts)
    _check_header(path, table.column_names)
    if table.num_rows == 0:
        raise InputError(f"{path} has a header but no rows; nothing can be learned from it")
    return table


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, by which a report says which data it is about.

    Parameters
    ----------
    path : Path

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _read_csv(path: Path, start: bytes, texts: Iterable[str]) -> pa.Table:
    if path.suffix in _PACKED:
        raise InputError(f"{path} is compressed in a way that is not read; unpack it, or use gzip")
    if start.startswith(_UTF16):
        raise _encoding_error(path, "it looks like UTF-16", "UTF-16")
    try:
        try:
            table = _parse(path, texts, pa_csv.ReadOptions())
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            # Types are read off the first block; a later cell disagrees. Look at all of it.
            size = min(_size(path) + 1, 2**31 - 1)
            table = _parse(path, texts, pa_csv.ReadOptions(block_size=size))
        _ = table.column_names  # read now: it may not be UTF-8
    except UnicodeDecodeError:
        raise _encoding_error(path, "its header is not UTF-8") from None
    except pa.ArrowInvalid as error:
        raise _csv_error(path, error) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type):
            raise _encoding_error(path, f"column {shorten(name)!r} is not UTF-8")
    return table


def _open(path: Path) -> Any:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _size(path: Path) -> int:
    with _open(path) as file:
        return int(file.seek(0, io.SEEK_END))


def _parse(path: Path, texts: Iterable[str], options: Any) -> pa.Table:
    return pa_csv.read_csv(
        path,
        read_options=options,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            null_values=_MISSING,
            strings_can_be_null=True,
            column_types=dict.fromkeys(texts, pa.string()),
        ),
    )


def _encoding_error(path: Path, what: str, codec: str = "WINDOWS-1252") -> InputError:
    return InputError(
        f"{path} has another encoding: {what}; save it as UTF-8, for example with "
        f"iconv -f {codec} -t UTF-8 {path.name} > utf8.csv"
    )


def _csv_error(path: Path, error: Exception) -> InputError:
    """Find the ragged line: Arrow's own number is missing when it reads in parallel."""
    csv.field_size_limit(2**31 - 1)
    try:
        with io.TextIOWrapper(_open(path), encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            width = len(next(lines, []))
            for cells in lines:
                if cells and len(cells) != width:
                    return InputError(
                        f"{path}, line {lines.line_num}: {len(cells)} cells where the header has "
                        f"{width}; a stray comma or quote? every line needs {width} cells"
                    )
    except UnicodeDecodeError:
        return _encoding_error(path, "it is not UTF-8")
    except csv.Error as broken:
        return InputError(f"{path} is not a readable CSV file: {broken}")
    return InputError(f"{path} is not a readable CSV file: {beginning(_first_line(error), 200)}")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0]


def _check_header(path: Path, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"{path} has two columns named {shorten(name)!r}; rename or remove one, a name "
                "must say which column is meant"
            )
        seen.add(name)
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and sign in names[0]:
            raise InputError(
                f"{path} seems to be separated by {word}; save it with commas, or as Parquet"
            )
