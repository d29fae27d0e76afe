"""Schemas: one for all files, whatever the types in which each has its columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unswayed.exceptions import InputError
from unswayed.scale.columns import TEXT, kind_of
from unswayed.words import shorten, suggest


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What is known of a file without reading its rows."""

    name: str
    schema: pa.Schema | None  # None for a file without a header; columns without a value are null
    is_empty: bool  # Whether it has no rows
    # Of CSV files, from a column to the first cell that makes it one of texts, in words
    first_text: Callable[[str], str | None] = lambda _: None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [] if self.schema is None else list(self.schema.names)


def one_schema(
    files: Sequence[Contents],
    label: str,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> pa.Schema:
    """Find types that hold all that some files have."""
    with_header = [each for each in files if each.schema is not None]
    if not with_header:
        raise InputError(f"{files[0].name} is empty; it needs a header line and rows")
    for each in with_header:
        _refuse_twins(each)
    first = with_header[0]
    known = first.names
    given = [(label, "label"), *((name, "ignore") for name in ignore)]
    for name, what in [*given, *((name, "columns") for name in columns or ())]:
        if name not in known:
            raise InputError(
                f"{what}: {first.name} has no column {shorten(name)!r}; {suggest(name, known)}"
            )
    out = {label, *ignore}
    chosen = known if columns is None else [name for name in known if name in columns]
    names = [name for name in chosen if name not in out]
    if not names:
        raise InputError("no feature column is left beside the label; ignore fewer columns")
    for each in with_header:
        _check_names(each, first, [*names, label], None if columns is not None else out)
    return pa.schema([(name, _type(name, with_header)) for name in [*names, label]])


def _refuse_twins(each: Contents) -> None:
    names = each.names
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin is not None:
        raise InputError(
            f"{each.name} has two columns named {shorten(twin)!r}; rename or remove one, a "
            "name must say which column is meant"
        )


def _check_names(each: Contents, first: Contents, names: list[str], out: set[str] | None) -> None:
    """Raise if a file lacks a column, or has one that the first file lacks and nobody ignores."""
    found = each.names
    for name in names:
        if name not in found:
            raise InputError(
                f"{each.name} has no column {shorten(name)!r}, which {first.name} has; "
                "add it, or leave the file or the column out"
            )
    more = [name for name in found if name not in names and out is not None and name not in out]
    if more:
        raise InputError(
            f"{each.name} has a column {shorten(more[0])!r} that {first.name} lacks; "
            "remove it, or name the columns to use"
        )


def _type(name: str, files: Sequence[Contents]) -> Any:
    """Return the type that holds a column of all files; raise where one is of another kind."""
    seen: Contents | None = None
    types: list[Any] = []
    for each in files:
        kind = each.schema.field(name).type if each.schema is not None else pa.null()
        if pa.types.is_null(kind):
            continue
        if pa.types.is_binary(kind):
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds bytes that are not text in "
                "UTF-8; save the file as UTF-8, or ignore the column"
            )
        if kind_of(kind) is None:
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds {kind} values, neither numbers "
                "nor texts; turn it into one of them (a date into a year, say) or ignore it"
            )
        if seen is None:
            seen = each
        elif kind_of(kind) != kind_of(types[0]):
            texts = each if kind_of(kind) == "texts" else seen
            found = texts.first_text(name)
            why = "" if found is None else f" ({texts.name}, {found})"
            raise InputError(
                f"{each.name}: column {shorten(name)!r} holds {kind_of(kind)} but "
                f"{kind_of(types[0])} in {seen.name}{why}; give both files the same kind"
            )
        types.append(kind)
    if seen is None:
        filled = next((each for each in files if not each.is_empty), None)
        if filled is not None:
            raise InputError(
                f"{filled.name}: column {shorten(name)!r} is empty (in CSV, at the start of "
                "the file); ignore it, or have it read as texts"
            )
        return pa.null()
    return _wide(types)


def _wide(types: list[Any]) -> Any:
    """Return one type for columns of one kind."""
    if kind_of(types[0]) == "texts":
        return TEXT
    if all(pa.types.is_boolean(kind) for kind in types):
        return pa.bool_()
    if all(pa.types.is_uint64(kind) for kind in types):
        return pa.uint64()
    whole = all(pa.types.is_integer(kind) and not pa.types.is_uint64(kind) for kind in types)
    return pa.int64() if whole else pa.float64()
