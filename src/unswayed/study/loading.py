"""Loading: the rows of a file that are used, and what was done with cells that miss a value."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.report.facts import Caveat
from unswayed.study.request import Loaded, Request
from unswayed.study.target import only_looks_different
from unswayed.tables.columns import (
    Decimal,
    are_numbers,
    codes,
    example,
    have_one_unit,
    in_words,
    is_number,
    is_text,
    is_usable,
    marks_of,
    plain,
    signs_in_words,
    surely_numbers,
    texts_as_numbers,
)
from unswayed.tables.delimited import Dialect
from unswayed.tables.files import leading_zeros, read_table
from unswayed.tables.inspection import Inspection, Roles, inspect_table, of_header
from unswayed.tables.suspicion import is_too_many
from unswayed.words import as_text, counted, in_shell, listed, option, shorten, suggest


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a file: their cells, their numbers in the file (from 1), features and labels."""

    table: pa.Table
    numbers: IntArray
    features: Matrix
    labels: FloatArray | None
    weights: FloatArray | None = None  # how much each row counts; None: all the same

    def __len__(self) -> int:
        return len(self.numbers)

    def cells(self, at: IntArray, names: list[str], length: int = 60) -> list[list[str]]:
        """Return cells of some rows as texts."""
        if not len(at):
            return []
        some = self.table.select(names).take(pa.array(at))
        columns = [[as_text(value, length) for value in each.to_pylist()] for each in some.columns]
        return [list(row) for row in zip(*columns, strict=True)]


def take(rows: Loaded, at: IntArray) -> Loaded:
    """Return some rows of a file."""
    table, numbers = rows
    return table.take(pa.array(at)), numbers[at]


# ----------------------------------------------------------------------------------------
# Rows of one person, household or site, which are never split between training and test.


def owners(name: str, rows: Loaded, given: str = "--fold-by") -> IntArray:
    """Return, for each row, the number of its value in a column; raise if a row has none."""
    table, numbers = rows
    column = table.column(name)
    missing = np.asarray(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))
    if missing.any():
        raise InputError(
            f"{given}: column {shorten(name)!r} is missing in row "
            f"{int(numbers[np.flatnonzero(missing)[0]]):,} "
            f"({counted(int(missing.sum()), 'such row')}), so nobody knows which rows it belongs "
            "with; fill it in (a value of its own for a row that belongs with no other), or remove "
            "the rows"
        )
    found: IntArray = np.asarray(pc.dictionary_encode(column.combine_chunks()).indices)
    return found


def draw_folds(name: str, owner: IntArray, folds: int, seed: int) -> IntArray:
    """Return the fold of each row: the largest owners first, each to the smallest fold so far."""
    size = np.bincount(owner)
    if len(size) < folds:
        raise InputError(
            f"--fold-by: column {shorten(name)!r} has {counted(len(size), 'different value')}, too "
            f"few for --folds {folds}: every fold needs one of its own; pass fewer folds, or "
            "another column"
        )
    order = np.random.default_rng(seed).permutation(len(size))
    of_owner, filled = np.empty(len(size), dtype=np.intp), np.zeros(folds, dtype=np.intp)
    for each in order[np.argsort(-size[order], kind="stable")].tolist():
        of_owner[each] = np.argmin(filled)
        filled[of_owner[each]] += size[each]
    return of_owner[owner]


def split_rows(n_rows: int, n_out: int, seed: int) -> tuple[Any, Any]:
    """Split row positions at random into those that stay and those that are taken out."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def hold_out(name: str, owner: IntArray, n_out: int, seed: int) -> tuple[IntArray, IntArray]:
    """Split rows into those that stay and those held out: whole owners, until there are enough."""
    size = np.bincount(owner)
    order = np.random.default_rng(seed).permutation(len(size))
    taken = order[: 1 + int(np.searchsorted(np.cumsum(size[order]), n_out))]
    out = np.isin(owner, taken)
    if (~out).sum() < 2:
        raise InputError(
            f"--fold-by: column {shorten(name)!r} has {counted(len(size), 'different value')}, and "
            f"holding out {n_out:,} of {len(owner):,} rows without splitting one leaves too few to "
            "train on; pass a smaller --holdout, or another column"
        )
    return np.flatnonzero(~out), np.flatnonzero(out)


_NAMED = 3  # columns named that miss most values


@dataclass(frozen=True, slots=True)
class Gaps:
    """Cells of the training file that miss a value, in the columns that are used."""

    cells: int | None = 0  # None where they were not counted: all are in rows that were left out
    dropped: int = 0  # Rows that were left out for it
    imputed: bool = False  # Whether the rest was filled in

    def __str__(self) -> str:
        """Say how many cells are missing and what was done with them.

        Examples
        --------
        >>> print(Gaps(4262, 2399))
        4,262 missing cells: 2,399 rows left out
        """
        if self.cells is None:
            return f"{self.dropped:,} rows that miss a value are left out"
        if not self.cells:
            return "no missing cells"
        done = [f"{self.dropped:,} rows left out"] if self.dropped else []
        if self.imputed:
            rest = "the others " if self.dropped else ""
            done.append(f"{rest}filled in (numbers by their median, texts as a category)")
        return f"{self.cells:,} missing cells: {', '.join(done)}"


class Loader:
    """Reads the files of a request."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.notes: list[str] = []
        self.caveats: list[Caveat] = []
        self.names: list[str] = []
        self.inspection: Inspection | None = None
        self.gaps = Gaps()
        self.sizes: dict[Path, int] = {}
        self.every: pa.Table | None = None  # all rows of the training file, if they matter

    def train(self) -> tuple[pa.Table, IntArray]:
        """Read the training file."""
        request, path = self.request, self.request.train
        table, found = inspect_file(path, request.roles, request.dialect)
        self.inspection, self.sizes[path] = found, table.num_rows
        self.every = None if request.stated is None else table
        self._refuse_mixtures(found)
        self.notes += found.notes
        self.caveats += found.caveats()
        used = [each.name for each in found.columns if each.role == "feature"]
        self.names = [name for name in used if name not in found.constant]
        kept, numbers = self._without_gaps(path, table, [*self.names, request.label])
        cells = int(sum(_empty(table.column(n)).sum() for n in (*self.names, request.label)))
        dropped = table.num_rows - kept.num_rows
        self.gaps = Gaps(cells, dropped, cells > 0 and request.missing == "impute")
        return kept, numbers

    @property
    def versus_rest(self) -> bool:
        """Whether ``--positive`` has several other classes against it in the training file."""
        columns = () if self.inspection is None else self.inspection.columns
        return self.request.positive is not None and any(
            each.role == "label" and each.n_values > 2 for each in columns
        )

    def other(self, path: Path, like: pa.Schema) -> tuple[pa.Table, IntArray]:
        """Read a file of test rows, or of rows that choose alpha."""
        request, texts = self.request, [field.name for field in like if is_text(field.type)]
        table = read_table(path, texts, request.dialect, self.notes)
        self.sizes[path] = table.num_rows
        missing = [name for name in self.names if name not in table.column_names]
        if missing:
            raise InputError(
                f"{path} lacks the column {shorten(missing[0])!r} that the model was trained "
                f"on; {suggest(missing[0], table.column_names)}"
            )
        table = with_numbers(
            path,
            table,
            request.dialect,
            request.numeric,
            [*texts, *request.categorical],
            like=like,
            notes=self.notes,
        )
        used = [*self.names, *({request.label} & set(table.column_names))]
        return self._without_gaps(path, table, used)

    def _refuse_mixtures(self, found: Inspection) -> None:
        """Refuse numbers with a few texts among them where thousands of categories would follow."""
        for each in found.columns:
            label = each.role == "label" and each.n_values > 2
            if label or (each.role == "feature" and is_too_many(each.n_values, found.n_rows)):
                for caveat in each.caveats:
                    if caveat.kind == "mixed-column":
                        raise InputError(f"{self.request.train}: {caveat}")

    def _without_gaps(
        self, path: Path, table: pa.Table, used: list[str]
    ) -> tuple[pa.Table, IntArray]:
        """Apply ``--missing``. Returns the rows that are used and their numbers, from 1."""
        request, keep = self.request, np.ones(table.num_rows, dtype=bool)
        gaps: dict[str, int] = {}
        for name in used:
            column = table.column(name)
            if pa.types.is_floating(column.type) and np.asarray(pc.is_inf(column)).any():
                raise InputError(
                    f"{path}: column {shorten(name)!r} holds infinity; replace it by a number"
                )
            empty = _empty(column)
            if not empty.any():
                continue
            if request.missing != "impute" or name == request.label:
                gaps[name] = int(empty.sum())
                keep &= ~empty
        if keep.all():
            return table, np.arange(table.num_rows) + 1
        if request.missing == "refuse":
            raise self._gap_error(path, gaps, keep)
        self._say_what_is_left(path, keep, gaps)
        return table.filter(pa.array(keep)), np.flatnonzero(keep) + 1

    def _gap_error(self, path: Path, gaps: dict[str, int], keep: Any) -> InputError:
        """Return an error that names all columns that miss values, and what can be done."""
        label, first = self.request.label, int(np.flatnonzero(~keep)[0]) + 1
        shown = [f"{shorten(name)!r} misses {counted(n, 'value')}" for name, n in gaps.items()]
        features = [name for name in gaps if name != label]
        ways = [
            f"--missing drop to leave out every row that misses a value "
            f"({int((~keep).sum()):,} of {len(keep):,})"
        ]
        if not features:
            ways.append("--missing impute, which leaves them out too")
        else:
            fill = "to fill them in" + (" where it is not the label" if label in gaps else "")
            ways.append(f"--missing impute {fill}")
            ways.append(
                f"{option('--ignore', features)} to do without these columns (or --features, which "
                "names those to use)"
            )
        return InputError(
            f"{path}: column {', '.join(shown)} (first in row {first:,}); pass "
            f"{', '.join(ways[:-1])}, or {ways[-1]}"
        )

    def _say_what_is_left(self, path: Path, keep: Any, gaps: dict[str, int]) -> None:
        most = sorted(gaps, key=lambda name: -gaps[name])[:_NAMED]
        where = ", ".join(
            f"{shorten(name)!r} misses {counted(gaps[name], 'value')}" for name in most
        )
        columns = [name for name in most if name != self.request.label]
        ways = f"leave columns out with {option('--ignore', columns)}, or pass --missing impute"
        if not keep.any():
            raise InputError(
                f"{path}: every row misses a value, so nothing is left to certify: {where}"
                + (f"; {ways}" if columns else "; name another label")
            )
        label = "a label" if self.request.missing == "impute" else "a value"
        n_out = int((~keep).sum())
        self.notes.append(
            f"{n_out:,} rows of {path} miss values and are left out"
            if label == "a value"
            else f"{n_out:,} rows of {path} have no label and are left out"
        )
        if 2 * keep.sum() < len(keep):
            self.caveats.append(
                Caveat(
                    "few-rows-left",
                    f"{int(keep.sum()):,} of {len(keep):,} rows of {path} are left, because the "
                    f"others miss {label}: {where}",
                    ways if columns else None,
                )
            )


def inspect_file(path: Path, roles: Roles, dialect: Dialect) -> tuple[pa.Table, Inspection]:
    """Read a file of training rows and look at its columns."""
    notes = list(dialect.notes)
    table = read_table(path, (), dialect, notes)
    for given, names in (
        ("--label", () if roles.label is None else (roles.label,)),
        ("--categorical", roles.categorical),
        ("--numeric", roles.numeric),
        ("--ignore", roles.ignore),
        ("--features", roles.features),
        ("--weights", () if roles.weights is None else (roles.weights,)),
        ("--fold-by", () if roles.fold_by is None else (roles.fold_by,)),
        *((given, (name,)) for given, name in roles.beside.items()),
    ):
        try:
            need(names, table, given)
        except InputError as error:
            why = [f"; {caveat}" for caveat in of_header(table) if dialect.header]
            raise InputError("".join([str(error), *why])) from None
    zeros = leading_zeros(path, table, dialect)
    written = [name for name in zeros if name in roles.categorical]
    if written:
        table = read_table(path, written, dialect)
    table = with_numbers(path, table, dialect, roles.numeric, roles.categorical, notes=notes)
    return table, replace(inspect_table(table, roles, zeros), notes=tuple(notes))


def need(names: Iterable[str], table: pa.Table, given: str) -> None:
    """Raise unless a table has some columns."""
    for name in names:
        if name not in table.column_names:
            raise InputError(
                f"{given}: there is no column {shorten(name)!r}; "
                f"{suggest(name, table.column_names)}"
            )


def with_numbers(
    path: Path,
    table: pa.Table,
    dialect: Dialect,
    numeric: Iterable[str],
    texts: Iterable[str],
    *,
    like: pa.Schema | None = None,
    notes: list[str] | None = None,
) -> pa.Table:
    """Turn texts into numbers where that was asked for, or where they can be nothing else."""
    numeric, texts, decimal = set(numeric), set(texts), dialect.decimal
    expected = {field.name for field in like or () if is_number(field.type)}
    read: dict[str, str] = {}
    for at, name in enumerate(table.column_names):
        column = plain(table.column(at))
        asked = name in numeric
        if not is_text(column.type) or name in texts - numeric:
            continue
        if not (asked or decimal == "," or name in expected or surely_numbers(column, decimal)):
            continue
        bad = ~are_numbers(column, decimal) & ~_empty(column)
        plainly = bool(are_numbers(column.drop_null(), decimal, grouped=False).all())
        if plainly and not asked and decimal == ".":
            continue  # texts of a file that knows numbers
        if not bad.any() and column.null_count < len(column):
            if not have_one_unit(marks_of(column, decimal)):
                if asked:
                    raise _units(name, column, decimal)
                continue
            if not plainly:
                read[name] = example(column, decimal)
            table = table.set_column(at, name, texts_as_numbers(column, decimal))
        elif asked and bad.any():
            first = int(np.flatnonzero(bad)[0])
            cell = column[first].as_py()
            ways = f"{in_shell('--na', cell.strip())} if it means missing"
            if decimal == "." and are_numbers(pa.array([cell]), ",")[0]:
                ways = "--decimal , if the comma stands before decimals"
            raise InputError(
                f"--numeric {shorten(name)}: {shorten(cell)!r} in row {first + 1:,} is no number "
                f"({int(bad.sum()):,} such cells); correct it, or pass {ways}"
            )
    if notes is not None:
        notes += in_words(str(path), read)
    return table


def _units(name: str, column: pa.ChunkedArray, decimal: Decimal) -> InputError:
    """Return an error about numbers of different currencies, or some of them percents."""
    return InputError(
        f"--numeric {shorten(name)}: it has numbers with "
        f"{signs_in_words(marks_of(column, decimal))}, which cannot be compared; write all of them "
        "alike, or leave the column out with --ignore"
    )


def _empty(column: pa.ChunkedArray) -> Any:
    """Return which cells miss a value, NaN included."""
    if not column.null_count and not pa.types.is_floating(column.type):
        return np.zeros(len(column), dtype=bool)
    return np.asarray(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))


# --- Another file beside the training file: what of it the model has not seen, or cannot read


_LISTED = 5  # values or columns that a sentence names


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
    texts += roles.categorical
    table = with_numbers(path, table, dialect, roles.numeric, texts, like=train.schema)
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
    named = listed([as_text(value, 40) for value in values], _LISTED)
    alike = only_looks_different(values, seen)
    what = f"the label {shorten(name)!r}" if label else f"column {shorten(name)!r}"
    text = (
        f"{what} has {named} in {counted(int(flags.sum()), 'row')} here (first in row {first:,}), "
        "which no training row has"
    )
    if alike:
        known = listed([as_text(value, 40) for value in seen], _LISTED)
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
        text = f"{counted(cells, 'cell')} of {listed(gaps, _LISTED)} miss a value here"
        ways = "pass --missing drop or --missing impute to certify"
        made.append(Caveat("missing-values", text, ways))
    more = [name for name in table.column_names if name not in train.column_names]
    if more:
        text = f"the training file has no column {listed(more, _LISTED)}, so the model ignores it"
        made.append(Caveat("unused-column", text))
    return made
