"""Inspection: how the columns of a file are read, and what about them could mislead."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed.report.facts import Caveat
from unswayed.tables import column_caveats, suspicion
from unswayed.tables.cells import Decimal, codes, is_text, is_usable, plain
from unswayed.tables.suspicion import Label, not_shown
from unswayed.words import as_text, is_called, shorten

Role = Literal["feature", "label", "weights", "ignored"]
Kind = Literal["number", "category", "constant", "other"]
_EXAMPLES = 3
_NAMED = 12  # columns of a kind that a sentence names
_LOOKED_AT = 100  # rows that examples are taken from
_INFINITE = (float("inf"), -float("inf"))  # refused, and not left out
# Kinds that are told in one sentence for all columns that have the same key.
_TOGETHER: dict[str, Callable[["ColumnFacts"], Any]] = {
    "code-column": lambda _: None,
    "constant-column": lambda _: None,
    "id-column": lambda _: None,
    "near-empty-column": lambda _: None,
    "unreadable-column": lambda _: None,
    "missing-mark": lambda each: each.mark,
    "mixed-column": lambda each: (each.role, each.marks or each.name),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What the columns of a file are for, by name; the others are features."""

    label: str | None = None
    positive: str | None = None
    regression: bool = False  # the label is a number, by the user's word
    weights: str | None = None
    fold_by: str | None = None  # left out of the model
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
        used = name in (self.features or (name,)) and name not in (*self.ignore, self.fold_by)
        return "feature" if used else "ignored"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """How a column is read, what it holds, and what could mislead."""

    name: str
    role: Role
    kind: Kind
    n_values: int  # Number of different values, and of cells without one
    n_missing: int  # Number of different values, and of cells without one
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
        named = {"two classes": [f"{shorten(each.name)!r} ({' or '.join(each.examples)})"
                                 for each in two]}  # fmt: skip
        for kind, words in kinds.items():
            named[words] = [repr(shorten(each.name)) for each in rest if each.kind == kind]
        return "; ".join(
            f"{words} in {', '.join(names[:_NAMED])}"
            + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
            for words, names in named.items()
            if names
        )

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
            if len(columns) > 1 and kind == "missing-mark":
                names = [each.name for each in columns]
                found.append(column_caveats.missing_mark(names, str(columns[0].mark)))
            elif len(columns) > 1:
                texts = [each.name for each in columns if each.kind == "category"]
                names = [each.name for each in columns]
                found.append(column_caveats.together(kind, names, columns[0].mixture, texts))
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
    return Inspection(table.num_rows, tuple(columns), tuple(column_caveats.of_header(table)))


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
    facts = ColumnFacts(
        name,
        role,
        "number",
        len(rows.distinct),
        rows.n_missing,
        () if hidden else tuple(as_text(value, 20) for value in examples),
        not_shown=hidden,
    )
    distinct = rows.distinct
    same = len(distinct) == 1 and not rows.n_missing and distinct[0].as_py() not in _INFINITE
    if len(distinct) and not is_usable(kind):
        said = column_caveats.unreadable(name, kind)
        return replace(facts, kind="other", caveats=(said,) if role == "feature" else ())
    if same or not len(distinct):
        held = distinct[0].as_py() if same and not hidden else None
        said = column_caveats.constant(name, held, nothing=not same)
        return replace(facts, kind="constant", caveats=(said,) if role == "feature" else ())
    classes = role == "label" and (len(distinct) == 2 or roles.positive is not None)
    read: Kind = "number"
    if is_text(kind) or name in roles.categorical or classes:
        read = "category"
    facts = replace(facts, kind=read)
    if is_text(kind) and name not in roles.categorical and role != "ignored":
        mixture = suspicion.Mixture.of(values, distinct, roles.decimal)
        if mixture is not None and not (classes and roles.positive is not None):
            said = column_caveats.mixed(name, mixture, roles.decimal, label=role == "label")
            facts = replace(facts, mixture=mixture, caveats=(said,))
    number = roles.regression or name in roles.numeric
    if role == "label" and not facts.caveats and not classes and not number:
        told = [column_caveats.of_label(name, rows, number=read == "number")]
        facts = replace(facts, caveats=tuple(told) if rows.may_be_classes() else ())
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
        caveats += column_caveats.of_texts(name, values, len(rows.distinct))
        mark = suspicion.missing_mark(rows.distinct)
        caveats += [] if mark is None else [column_caveats.missing_mark([name], mark)]
    elif facts.kind == "number" and not known and not pa.types.is_boolean(values.type):
        few = label is not None and len(rows.distinct) <= suspicion.FEW
        ordered = few and label is not None and label.is_in_order_of(values)
        caveats += column_caveats.of_numbers(name, values, rows, zero, ordered=ordered)
    if label is not None and label.is_told_by(values):
        caveats.append(column_caveats.leak(name))
    elif label is not None and (told := label.nearly_told_by(values)) is not None:
        caveats.append(column_caveats.near_leak(name, told))
    elif not caveats and not known:
        caveats += column_caveats.near_empty(name, rows, facts.kind)
    return replace(facts, caveats=tuple(caveats), mark=mark)
