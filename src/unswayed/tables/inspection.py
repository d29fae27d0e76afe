"""Inspection: how the columns of a file are read, and what about them could mislead."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed.report.facts import Caveat
from unswayed.tables import suspicion
from unswayed.tables.columns import (
    Decimal,
    are_numbers,
    codes,
    have_one_unit,
    is_number,
    is_text,
    is_usable,
    plain,
    signs_in_words,
)
from unswayed.tables.suspicion import MOST_CLASSES, Label, Told, ValueCounts, not_shown
from unswayed.words import as_text, counted, in_shell, is_called, option, shorten, values_in_words

_LISTED = 12  # columns named in one sentence


def _first(named: Sequence[str]) -> str:
    """Name columns in a sentence, the first ones if they are many."""
    more = f" and {len(named) - _LISTED:,} more" if len(named) > _LISTED else ""
    return ", ".join(named[:_LISTED]) + more


def _names(names: Iterable[str]) -> str:
    return _first([repr(shorten(name)) for name in names])


def _about(kind: str, name: str, said: str, settles: str) -> Caveat:
    """Say something of one column, and what settles it."""
    return Caveat(kind, f"column {shorten(name)!r} {said}", settles)


def _out_or_kept(names: Sequence[str], texts: Sequence[str]) -> str:
    """Write the options that leave columns out, or keep them as what they are read as."""
    it, numbers = "it" if len(names) == 1 else "them", [name for name in names if name not in texts]
    given = (("--categorical", texts), ("--numeric", numbers))
    kept = " ".join(option(way, some) for way, some in given if some)
    return f"leave {it} out with {option('--ignore', names)}, or keep {it} with {kept}"


def constant(name: str, value: Any, rows: str = "row", *, nothing: bool | None = None) -> Caveat:
    """Say that a column is left out because all its cells are the same."""
    nothing = value is None if nothing is None else nothing
    holds = "holds the same" if value is None else f"is {as_text(value)!r}"
    holds = f"has no value in any {rows}" if nothing else f"{holds} in every {rows}"
    said = f"{holds}, so it says nothing and is left out"
    return _about(
        "constant-column", name, said, f"{option('--ignore', [name])} says that this is known"
    )


def _of_texts(name: str, values: pa.ChunkedArray, n_distinct: int) -> Iterator[Caveat]:
    """Say that texts are ids, or too many for test rows to have the same ones."""
    n_there = len(values) - values.null_count
    ids = suspicion.texts_are_ids(n_distinct, n_there)
    if ids or suspicion.is_too_many(n_distinct, len(values)):
        kind, so = "id-column", "it says who a row is and not what it is like"
    elif suspicion.texts_are_rare(n_distinct, n_there):
        kind, so = "free-text", "many test rows will have one that the model has not seen"
    else:
        return
    said = f"has {n_distinct:,} different texts in {n_there:,} rows, so {so}"
    yield _about(kind, name, said, _out_or_kept([name], [name]))


def _missing_mark(names: Sequence[str], mark: str) -> Caveat:
    """Say that a sign among texts, which often stands for a missing value, is a category."""
    shown, one = _names(names), len(names) == 1
    return Caveat(
        "missing-mark",
        f"{'column' if one else 'columns'} {shown} {'has' if one else 'have'} {mark!r} among "
        f"{'its' if one else 'their'} texts, which counts as a category like any other",
        f"pass {_na([mark])} if that means missing, or {option('--categorical', names)} if it is "
        "meant",
    )


def _of_numbers(
    name: str,
    values: pa.ChunkedArray,
    rows: ValueCounts,
    zero: tuple[int, str] | None,
    *,
    ordered: bool,
) -> Iterator[Caveat]:
    """Say that whole numbers are ids or codes."""
    known = f"or {option('--numeric', [name])} if they count or measure something"
    category = option("--categorical", [name])
    if zero is not None:
        row, cell = zero
        said = f"is used as a number, and the zeros in front of {cell!r} (row {row:,}) are lost"
        ways = f"pass {category} to keep such codes as they are written, {known}"
        yield _about("leading-zeros", name, said, ways)
        return
    whole, distinct = suspicion.whole_numbers(values), rows.distinct
    if whole is None:
        return
    if not values.null_count and suspicion.looks_like_ids(name, whole, len(distinct)):
        said = (
            f"has {len(distinct):,} different whole numbers in {len(whole):,} rows, which say who "
            "a row is and not what it is like"
        )
        ways = f"leave it out with {option('--ignore', [name])}, {known}"
        yield _about("id-column", name, said, ways)
    elif suspicion.looks_like_codes(name, rows, ordered=ordered):
        first = ", ".join(as_text(value) for value in sorted(distinct.to_pylist())[:4])
        more = ", …" if len(distinct) > 4 else ""
        said = (
            f"holds {len(distinct):,} different whole numbers ({first}{more}) that look like "
            "codes, but is used as a number, as if a larger code were more of something"
        )
        yield _about("code-column", name, said, f"pass {category} if they are codes, {known}")


def _mixed(
    name: str, mixture: suspicion.Mixture, decimal: Decimal, *, label: bool = False
) -> Caveat:
    """Say that a column of texts holds numbers, and which cell is none."""
    where = f"{shorten(mixture.cell)!r} in row {mixture.row:,}"
    ways = []
    if mixture.comma:
        sign, option_value = ("comma", ",") if decimal == "." else ("point", ".")
        ways.append(f"--decimal {option_value} if the {sign} stands before decimals")
        if are_numbers(pa.array([mixture.cell]), decimal)[0]:
            ways.append(f"{option('--numeric', [name])} if it separates thousands")
        said = f"holds numbers with a {sign} ({where}), so it is read as texts and not as numbers"
    elif len(mixture.signs) > 1:
        signs = signs_in_words(mixture.signs)
        said = f"holds numbers with {signs} ({where}), so that each is a category"
        if not have_one_unit(mixture.signs):
            keep = "" if label else f", or pass {option('--categorical', [name])}"
            return _about("mixed-column", name, said, f"write all of them alike{keep}")
        ways.append(f"{option('--numeric', [name])} if all are of one unit")
    elif not mixture.n_odd:
        ways.append(f"{option('--numeric', [name])} to use them as numbers")
        said = f"holds numbers that are written as texts ({where}), so that each is a category"
    else:
        said = (
            f"holds numbers, but also texts in {counted(mixture.n_odd, 'row')} ({where}), so that "
            "every different number is a category"
        )
        if mixture.marks:
            ways.append(f"{_na(mixture.marks)} if that means missing")
    if not label:
        ways.append(f"{option('--categorical', [name])} if its texts are meant")
    settles = f"pass {', or '.join(ways)}" if ways else "correct these cells"
    return _about("mixed-column", name, said, settles)


def _na(marks: Iterable[str]) -> str:
    return " ".join(in_shell("--na", text.strip()) for text in marks)


def _unreadable(name: str, kind: Any) -> Caveat:
    """Say that a column holds neither numbers nor texts."""
    ways = (
        f"turn it into one of them (a date into a year, say) or pass {option('--ignore', [name])}"
    )
    return _about(
        "unreadable-column", name, f"holds {kind} values, neither numbers nor texts", ways
    )


def _leak(name: str, told: Told) -> Caveat:
    """Say that a column tells the label by itself, or almost does."""
    kind, alone, more = ("leak", "", "no") if told.every else ("near-leak", "alone ", "little")
    said = f"{alone}{told}, so the model may do {more} more than repeat it"
    ways = f"pass {option('--ignore', [name])} if it is made from the label, or known only after it"
    return _about(kind, name, said, ways)


def _near_empty(name: str, rows: ValueCounts, read: str) -> Iterator[Caveat]:
    """Say that a column holds almost nothing: no value, or the same one, in nearly all rows."""
    there, most = rows.n_rows - rows.n_missing, int(rows.counts.max())
    if rows.n_rows < suspicion.FEWEST_ROWS:
        return
    if rows.n_missing >= suspicion.NEARLY_ALL_MISSING * rows.n_rows:
        said = f"has a value in only {there:,} of {rows.n_rows:,} rows"
    elif most >= suspicion.NEARLY_ALL_EQUAL * rows.n_rows:
        said = f"holds the same in {most:,} of {rows.n_rows:,} rows"
    else:
        return
    ways = _out_or_kept([name], [name] if read == "category" else [])
    yield _about("near-empty-column", name, f"{said}, so it says almost nothing", ways)


def _of_label(name: str, rows: ValueCounts, *, number: bool) -> Caveat:
    """Say that a label has too many classes, or numbers so few that they may be classes."""
    texts = [as_text(value, sys.maxsize) for value in sorted(rows.distinct.to_pylist())]
    named = values_in_words(rows.distinct.to_pylist(), rows.counts.tolist())
    ways = f"pass {in_shell('--positive', texts[-1])}, say, to tell one of them from the rest"
    said = f"has {len(texts):,} classes ({named}), and at most {MOST_CLASSES} are told apart"
    if number:
        said = (
            f"holds {len(texts)} different whole numbers ({named}) and is used as a number, not "
            "as classes"
        )
        ways += f", or {option('--numeric', [name])} if it counts or measures something"
    return Caveat("label-classes", f"the label {shorten(name)!r} {said}", ways)


# What is said of many columns, where it is the same for all of them, and what settles it.
_SEVERAL = {
    "constant-column": (
        "hold the same in every row, so they say nothing and are left out",
        "{ignore} says that this is known",
    ),
    "near-empty-column": (
        "hold the same value, or none, in nearly every row, so they say almost nothing",
        "{out_or_kept}",
    ),
    "unreadable-column": (
        "hold dates or other values that are neither numbers nor texts",
        "turn them into one (a date into a year, say) or pass {ignore}",
    ),
    "id-column": (
        "differ in (nearly) every row, so they say who a row is and not what it is like",
        "{out_or_kept}",
    ),
    "code-column": (
        "hold whole numbers that look like codes, but are used as numbers, as if a larger code "
        "were more of something",
        "pass {categorical} with those that are codes, and {numeric} with those that count or "
        "measure something",
    ),
}


def _of_several(kind: str, columns: Sequence["ColumnFacts"]) -> Caveat:
    """Say of many columns what is the same for all of them."""
    names, mixture = [each.name for each in columns], columns[0].mixture
    if kind == "missing-mark":
        return _missing_mark(names, str(columns[0].mark))
    ways = {way: option(f"--{way}", names) for way in ("ignore", "categorical", "numeric")}
    texts = [each.name for each in columns if each.kind == "category"]
    if mixture is not None and kind == "mixed-column":
        marks = mixture.marks
        said = (
            f"hold numbers, but also the text{'' if len(marks) == 1 else 's'} "
            f"{', '.join(map(repr, marks))} (first in row {mixture.row:,} of "
            f"{shorten(names[0])!r}), so that every different number is a category"
        )
        settles = (
            f"pass {_na(marks)} if that means missing, or {ways['categorical']} if the texts are "
            "meant"
        )
    else:
        said, settles = _SEVERAL[kind]
        settles = settles.format(out_or_kept=_out_or_kept(names, texts), **ways)
    return Caveat(kind, f"columns {_names(names)} {said}", settles)


def of_header(table: pa.Table) -> Iterator[Caveat]:
    """Say that the first line seems to be data, where half of its cells or more do.

    That is a number above a column of numbers, or a text that the column holds too.
    """
    names = table.column_names
    numerals = are_numbers(pa.array(names, pa.string()), grouped=False)
    numbers = [float(name) for name, is_one in zip(names, numerals, strict=True) if is_one]
    if numbers and numbers == [numbers[0] + at for at in range(len(numbers))]:
        return  # 0, 1, 2, … are names
    data = 0
    for name, numeral in zip(names, numerals.tolist(), strict=True):
        column = plain(table.column(name))
        if is_text(column.type):
            data += pc.index(column, pa.scalar(name, column.type)).as_py() >= 0
        else:
            data += numeral and is_number(column.type)
    if 2 * data >= len(names):
        some = ", ".join(repr(shorten(name, 20)) for name in names[:3])
        yield Caveat(
            "no-header",
            f"the first line ({some}, …) looks like a row and not like names of columns",
            "pass --no-header if it is one: columns are then column1, column2 and so on",
        )


# --- Inspection ---------------------------------------------------------------------------


Role = Literal["feature", "label", "weights", "ignored"]
Kind = Literal["number", "category", "constant", "other"]
_EXAMPLES = 3
_LOOKED_AT = 100  # rows that examples are taken from
_INFINITE = (float("inf"), -float("inf"))  # refused, and not left out
# Kinds that are told in one sentence for all columns that have the same key.
_TOGETHER: dict[str, Callable[["ColumnFacts"], Any]] = {
    **dict.fromkeys(_SEVERAL, lambda _: None),
    "missing-mark": lambda each: each.mark,
    "mixed-column": lambda each: (each.role, each.marks or each.name),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What the columns of a file are for, by name; the others are features."""

    label: str | None = None
    positive: str | None = None
    classification: bool = False  # whether the label is told to be classes
    regression: bool = False  # the label is a number, by the user's word
    weights: str | None = None
    fold_by: str | None = None  # left out of the model
    beside: Mapping[str, str] = field(default_factory=dict)  # so are these, by their options
    ignore: tuple[str, ...] = ()
    features: tuple[str, ...] = ()  # the only ones; empty: all others
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    decimal: Decimal = "."

    @property
    def is_positive(self) -> Callable[[Any], bool] | None:
        """Whether a label is the class that ``--positive`` names; None if none is named."""
        positive = self.positive
        return None if positive is None else lambda value: is_called(value, positive)

    def of(self, name: str) -> Role:
        """Return what a column is for."""
        if name == self.label:
            return "label"
        if name == self.weights:
            return "weights"
        out = (*self.ignore, self.fold_by, *self.beside.values())
        return "feature" if name in (self.features or (name,)) and name not in out else "ignored"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """How a column is read, what it holds, and what could mislead."""

    name: str
    role: Role
    kind: Kind
    n_values: int  # Number of different values
    n_missing: int  # Number of cells without one
    examples: tuple[str, ...]
    caveats: tuple[Caveat, ...] = ()
    mixture: suspicion.Mixture | None = None  # Numbers among its texts
    mark: str | None = None  # A text that perhaps stands for a missing value
    not_shown: str | None = None  # Why there are no examples

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts among numbers that perhaps stand for missing values."""
        return () if self.mixture is None else self.mixture.marks

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON and tables."""
        return {
            "column": shorten(self.name),
            "role": self.role,
            "read_as": self.kind,
            "values": self.n_values,
            "missing": self.n_missing,
            "examples": list(self.examples),
            "not_shown": self.not_shown,
            "warnings": [str(caveat) for caveat in self.caveats],
        }


@dataclass(frozen=True, slots=True)
class Inspection:
    """The columns of a file as they are read."""

    n_rows: int
    columns: tuple[ColumnFacts, ...]  # In the file's order
    general: tuple[Caveat, ...] = ()  # About the file and not about one column
    notes: tuple[str, ...] = ()  # How the file was read where that was not asked for

    @property
    def constant(self) -> tuple[str, ...]:
        """Names of feature columns with the same cell in every row."""
        return tuple(
            each.name for each in self.columns if each.kind == "constant" and each.role == "feature"
        )

    def in_words(self) -> str:
        """Return the names of the columns by what they hold, those with two classes first."""
        two = [each for each in self.columns if each.n_values == 2 and each.kind != "other"]
        rest = [each for each in self.columns if each not in two]
        kinds = {"number": "numbers", "category": "categories", "constant": "one value",
                 "other": "neither numbers nor texts"}  # fmt: skip
        named = {"two classes": _first([f"{shorten(each.name)!r} ({' or '.join(each.examples)})"
                                        for each in two])}  # fmt: skip
        for kind, words in kinds.items():
            named[words] = _names(each.name for each in rest if each.kind == kind)
        return "; ".join(f"{words} in {names}" for words, names in named.items() if names)

    def caveats(self) -> list[Caveat]:
        """Return what could mislead."""
        found = list(self.general)
        same: dict[Any, list[ColumnFacts]] = {}
        for each in self.columns:
            for caveat in each.caveats:
                together = _TOGETHER.get(caveat.kind)
                key = each.name if together is None else together(each)
                same.setdefault((caveat.kind, key), []).append(each)
        for (kind, _), columns in same.items():
            if len(columns) > 1:
                found.append(_of_several(kind, columns))
            else:
                found += [caveat for caveat in columns[0].caveats if caveat.kind == kind]
        return found


def inspect_table(
    table: pa.Table, roles: Roles, zeros: Mapping[str, tuple[int, str]] | None = None
) -> Inspection:
    """Look at the columns of a file."""
    label = None
    if roles.label in table.column_names:
        values = plain(table.column(roles.label))
        label = Label.of(codes(values), roles.is_positive) if is_usable(values.type) else None
    columns = [
        _facts(name, plain(table.column(name)), roles, label, (zeros or {}).get(name))
        for name in table.column_names
    ]
    return Inspection(table.num_rows, tuple(columns), tuple(of_header(table)))


def _facts(
    name: str,
    values: pa.ChunkedArray,
    roles: Roles,
    label: Label | None,
    zero: tuple[int, str] | None,
) -> ColumnFacts:
    """Look at one column."""
    role = roles.of(name)
    kind, values = values.type, codes(values)
    some = values.slice(0, _LOOKED_AT).drop_null()
    try:
        examples = pc.unique(some).slice(0, _EXAMPLES).to_pylist()
        rows = suspicion.ValueCounts.of(values)
    except pa.ArrowNotImplementedError:  # lists and the like
        examples = some.slice(0, _EXAMPLES).to_pylist()
        rows = suspicion.ValueCounts(
            some, np.ones(len(some), np.intp), len(values), values.null_count
        )
    hidden = "ignored" if role == "ignored" else None
    if role in ("feature", "weights"):
        hidden = not_shown(name, values, len(rows.distinct))
    distinct = rows.distinct
    facts = ColumnFacts(
        name,
        role,
        "number",
        len(distinct),
        rows.n_missing,
        () if hidden else tuple(as_text(value, 20) for value in examples),
        not_shown=hidden,
    )
    same = len(distinct) == 1 and not rows.n_missing and distinct[0].as_py() not in _INFINITE
    if len(distinct) and not is_usable(kind):
        facts = replace(facts, kind="other", caveats=(_unreadable(name, kind),))
    elif same or not len(distinct):
        held = distinct[0].as_py() if same and not hidden else None
        facts = replace(facts, kind="constant", caveats=(constant(name, held, nothing=not same),))
    if facts.kind != "number":
        return facts if role == "feature" else replace(facts, caveats=())
    classes = role == "label" and (len(distinct) == 2 or roles.positive is not None)
    if is_text(kind) or name in roles.categorical or classes:
        facts = replace(facts, kind="category")
    if is_text(kind) and name not in roles.categorical and role != "ignored":
        mixture = suspicion.Mixture.of(values, rows, roles.decimal)
        if mixture is not None and not (classes and roles.positive is not None):
            said = _mixed(name, mixture, roles.decimal, label=role == "label")
            facts = replace(facts, mixture=mixture, caveats=(said,))
    said_so = roles.regression or roles.classification or name in roles.numeric
    if role == "label" and not facts.caveats and not classes and not said_so:
        said = _of_label(name, rows, number=facts.kind == "number")
        few = facts.kind != "number" and len(rows.distinct) <= MOST_CLASSES
        facts = replace(facts, caveats=(said,) if rows.may_be_classes() and not few else ())
    if role == "feature":
        facts = _suspected(facts, values, rows, roles, label, zero)
    return facts


def _suspected(
    facts: ColumnFacts,
    values: pa.ChunkedArray,
    rows: suspicion.ValueCounts,
    roles: Roles,
    label: Label | None,
    zero: tuple[int, str] | None,
) -> ColumnFacts:
    """Return a feature column with what could mislead about it."""
    name, caveats, mark = facts.name, list(facts.caveats), None
    known = name in (*roles.categorical, *roles.numeric)
    if is_text(values.type) and not known and not caveats:
        caveats += _of_texts(name, values, len(rows.distinct))
        mark = suspicion.missing_mark(rows.distinct)
        caveats += [] if mark is None else [_missing_mark([name], mark)]
    elif facts.kind == "number" and not known and not pa.types.is_boolean(values.type):
        few = len(rows.distinct) <= suspicion.FEW
        ordered = label is not None and few and label.is_in_order_of(values)
        caveats += _of_numbers(name, values, rows, zero, ordered=ordered)
    told = None if label is None else label.told_by(values)
    if told is not None:
        caveats.append(_leak(name, told))
    elif not caveats and not known:
        caveats += _near_empty(name, rows, facts.kind)
    return replace(facts, caveats=tuple(caveats), mark=mark)
