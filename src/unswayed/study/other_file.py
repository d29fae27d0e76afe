"""Another file beside the training file: what of it the model has not seen, or cannot read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray
from unswayed.report.facts import Caveat
from unswayed.study.loading import with_numbers
from unswayed.study.target import only_looks_different
from unswayed.tables.cells import are_numbers, codes, is_number, is_text, is_usable, plain
from unswayed.tables.dialect import Dialect
from unswayed.tables.files import read_table
from unswayed.tables.inspection import Roles
from unswayed.words import as_text, counted, in_shell, listed, option, shorten, suggest

_NAMED = 5  # values or columns that a sentence names


@dataclass(frozen=True, slots=True)
class OtherColumn:
    """A column of the training file as another file has it."""

    name: str
    there: str  # "number", "category", "other" or "missing"
    n_values: int = 0
    n_missing: int = 0
    unseen: tuple[str, ...] = ()  # Values that no training row has, of a category or a label
    n_unseen: int = 0  # Rows that have one of them
    caveat: Caveat | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON and tables."""
        return {
            "column": shorten(self.name),
            "there": self.there,
            "values": self.n_values,
            "missing": self.n_missing,
            "unseen": list(self.unseen),
            "unseen_rows": self.n_unseen,
            "warnings": [] if self.caveat is None else [str(self.caveat)],
        }


@dataclass(frozen=True, slots=True)
class OtherFile:
    """The columns of another file, beside those that the model is trained on."""

    name: str
    n_rows: int
    # The features and the label, in the order of the training file
    columns: tuple[OtherColumn, ...]
    general: tuple[Caveat, ...] = ()  # About the file and not about one column

    def caveats(self) -> list[Caveat]:
        """Return what certifying the file's rows would stumble over."""
        return [*(each.caveat for each in self.columns if each.caveat is not None), *self.general]


def look_at(path: Path, train: pa.Table, roles: Roles, dialect: Dialect) -> OtherFile:
    """Compare a file of test rows with the training file."""
    texts = [field.name for field in train.schema if is_text(field.type)]
    table = read_table(path, texts, dialect)
    numeric = [name for name in roles.numeric if name in table.column_names]
    table = with_numbers(
        path, table, dialect, numeric, [*texts, *roles.categorical], like=train.schema
    )
    used = [name for name in train.column_names if roles.of(name) in ("feature", "label")]
    columns = tuple(_column(name, train, table, roles) for name in used)
    return OtherFile(path.name, table.num_rows, columns, tuple(_general(train, table, columns)))


def _column(name: str, train: pa.Table, table: pa.Table, roles: Roles) -> OtherColumn:
    label = roles.of(name) == "label"
    if name not in table.column_names:
        if label:
            text = f"it has no column {shorten(name)!r}, so how often the model is right is unknown"
            return OtherColumn(name, "missing", caveat=Caveat("no-labels", text))
        text = f"it lacks the column {shorten(name)!r}, which the model is trained on"
        ways = f"{suggest(name, table.column_names)} or leave it out with "
        ways += option("--ignore", [name])
        return OtherColumn(name, "missing", caveat=Caveat("lacking-column", text, ways))
    here, there = (codes(plain(each.column(name))) for each in (train, table))
    kind = "category" if is_text(there.type) or name in roles.categorical else "number"
    if not is_usable(there.type):
        kind = "other"
    n_values = len(pc.unique(there).drop_null()) if kind != "other" else 0
    facts = {"n_values": n_values, "n_missing": there.null_count}
    if _kind(here.type) != _kind(there.type) and there.null_count < len(there):
        return OtherColumn(name, kind, **facts, caveat=_other_kind(name, here, there))
    if not _compared(name, here, roles):
        return OtherColumn(name, kind, **facts)
    flags = _unseen(here, there)
    if not flags.any():
        return OtherColumn(name, kind, **facts)
    values = pc.unique(there.filter(pa.array(flags)).combine_chunks()).to_pylist()
    seen = pc.unique(here).drop_null().to_pylist()
    caveat = _strange(name, values, seen, flags, label=label)
    unseen = tuple(as_text(value, 40) for value in values)
    return OtherColumn(name, kind, **facts, unseen=unseen, n_unseen=int(flags.sum()), caveat=caveat)


def _kind(kind: Any) -> str:
    """Return what a column is compared as."""
    if is_text(kind):
        return "texts"
    if pa.types.is_boolean(kind):
        return "truth values"
    return "numbers" if is_number(kind) else str(kind)


def _compared(name: str, here: pa.ChunkedArray, roles: Roles) -> bool:
    """Return whether values are categories, which the model must have seen."""
    if is_text(here.type) or pa.types.is_boolean(here.type) or name in roles.categorical:
        return True
    return roles.of(name) == "label" and len(pc.unique(here).drop_null()) == 2


def _unseen(here: pa.ChunkedArray, there: pa.ChunkedArray) -> BoolArray:
    """Return which rows have a value that no training row has."""
    known = pc.unique(here).drop_null()
    if here.type != there.type:  # integers here and floats there, say
        if is_number(here.type):
            known, there = known.cast(pa.float64()), there.cast(pa.float64())
        else:
            known, there = known.cast(pa.large_string()), there.cast(pa.large_string())
    strange = pc.and_(pc.invert(pc.is_in(there, value_set=known)), pc.is_valid(there))
    return np.asarray(strange, dtype=bool)


def _other_kind(name: str, here: pa.ChunkedArray, there: pa.ChunkedArray) -> Caveat:
    text = (
        f"column {shorten(name)!r} holds {_kind(here.type)} in the training file but "
        f"{_kind(there.type)} here"
    )
    ways = "write both alike"
    if is_number(here.type) and is_text(there.type):
        bad = np.flatnonzero(~are_numbers(there, ".") & np.asarray(pc.is_valid(there)))
        if len(bad):
            cell = there[int(bad[0])].as_py()
            text += f": {shorten(cell)!r} in row {bad[0] + 1:,} is no number"
            ways = f"correct it, or pass {in_shell('--na', cell.strip())} if it means missing"
    return Caveat("other-kind", text, ways)


def _strange(
    name: str, values: list[Any], seen: list[Any], flags: BoolArray, *, label: bool
) -> Caveat:
    first = int(np.flatnonzero(flags)[0]) + 1
    named = listed([as_text(value, 40) for value in values], _NAMED)
    alike = only_looks_different(values, seen)
    what = f"the label {shorten(name)!r}" if label else f"column {shorten(name)!r}"
    text = (
        f"{what} has {named} in {counted(int(flags.sum()), 'row')} here (first in row {first:,}), "
        "which no training row has"
    )
    if alike:
        known = listed([as_text(value, 40) for value in seen], _NAMED)
        text += f": those have {known}, which differ by a full stop, spaces or capitals only"
    if label:
        return Caveat("other-labels", text, "write them alike" if alike else "correct them")
    ways = "write them alike, or " if alike else "correct them, or "
    ways += "pass --unseen ignore to certify, which predicts such rows from their other columns"
    return Caveat("unseen-values", text, ways)


def _general(train: pa.Table, table: pa.Table, columns: tuple[OtherColumn, ...]) -> list[Caveat]:
    made = []
    gaps = [each.name for each in columns if each.n_missing]
    if gaps:
        cells = sum(each.n_missing for each in columns)
        text = f"{counted(cells, 'cell')} of {listed(gaps, _NAMED)} miss a value here"
        ways = "pass --missing drop or --missing impute to certify"
        made.append(Caveat("missing-values", text, ways))
    more = [name for name in table.column_names if name not in train.column_names]
    if more:
        text = f"the training file has no column {listed(more, _NAMED)}, so nothing is made of it"
        made.append(Caveat("unused-column", text))
    return made
