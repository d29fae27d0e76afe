"""Excel workbooks, Stata files and Feather files, as tables."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather

from unswayed.audit.reading import Reading
from unswayed.exceptions import InputError
from unswayed.formats import EXCEL, FEATHER, STATA
from unswayed.words import beginning, counted, listed, suggest

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
