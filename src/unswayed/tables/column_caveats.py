"""Caveats of columns: what about them could mislead, and the option that settles it."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unswayed.report.facts import Caveat
from unswayed.tables import suspicion
from unswayed.tables.cells import (
    Decimal,
    are_numbers,
    have_one_unit,
    is_number,
    is_text,
    plain,
    signs_in_words,
)
from unswayed.tables.suspicion import Told, ValueCounts
from unswayed.words import as_text, counted, in_shell, option, shorten, values_in_words

_LISTED = 12  # columns named in one sentence


def _names(names: Sequence[str]) -> str:
    """Name columns in a sentence, the first ones if they are many."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(repr(shorten(name)) for name in names[:_LISTED]) + more


def constant(name: str, value: Any, rows: str = "row", *, nothing: bool | None = None) -> Caveat:
    """Say that a column is left out because all its cells are the same."""
    nothing = value is None if nothing is None else nothing
    holds = "holds the same" if value is None else f"is {as_text(value)!r}"
    holds = f"has no value in any {rows}" if nothing else f"{holds} in every {rows}"
    return Caveat(
        "constant-column",
        f"column {shorten(name)!r} {holds}, so it says nothing and is left out",
        f"{option('--ignore', [name])} says that this is known",
    )


def of_texts(name: str, values: pa.ChunkedArray, n_distinct: int) -> Iterator[Caveat]:
    """Say that texts are ids, or too many for test rows to have the same ones."""
    n_there = len(values) - values.null_count
    ways = f"leave it out with {option('--ignore', [name])}, or keep it with " + option(
        "--categorical", [name]
    )
    if suspicion.texts_are_ids(n_distinct, n_there) or suspicion.is_too_many(
        n_distinct, len(values)
    ):
        yield Caveat(
            "id-column",
            f"column {shorten(name)!r} has {n_distinct:,} different texts in {n_there:,} rows, so "
            "it says who a row is and not what it is like",
            ways,
        )
    elif suspicion.texts_are_rare(n_distinct, n_there):
        yield Caveat(
            "free-text",
            f"column {shorten(name)!r} has {n_distinct:,} different texts in {n_there:,} rows, so "
            "many test rows will have one that the model has not seen",
            ways,
        )


def missing_mark(names: Sequence[str], mark: str) -> Caveat:
    """Say that a sign among texts, which often stands for a missing value, is a category."""
    shown, one = _names(names), len(names) == 1
    return Caveat(
        "missing-mark",
        f"{'column' if one else 'columns'} {shown} {'has' if one else 'have'} {mark!r} among "
        f"{'its' if one else 'their'} texts, which counts as a category like any other",
        f"pass {_na([mark])} if that means missing, or {option('--categorical', names)} if it is "
        "meant",
    )


def of_numbers(
    name: str,
    values: pa.ChunkedArray,
    rows: ValueCounts,
    zero: tuple[int, str] | None,
    *,
    ordered: bool = False,
) -> Iterator[Caveat]:
    """Say that whole numbers are ids or codes."""
    known = f"or {option('--numeric', [name])} if they count or measure something"
    if zero is not None:
        row, cell = zero
        yield Caveat(
            "leading-zeros",
            f"column {shorten(name)!r} is used as a number, and the zeros in front of {cell!r} "
            f"(row {row:,}) are lost",
            f"pass {option('--categorical', [name])} to keep such codes as they are written, "
            f"{known}",
        )
        return
    whole, distinct = suspicion.whole_numbers(values), rows.distinct
    if whole is None:
        return
    if not values.null_count and suspicion.looks_like_ids(name, whole, len(distinct)):
        yield Caveat(
            "id-column",
            f"column {shorten(name)!r} has {len(distinct):,} different whole numbers in "
            f"{len(whole):,} rows, which say who a row is and not what it is like",
            f"leave it out with {option('--ignore', [name])}, {known}",
        )
    elif suspicion.looks_like_codes(name, rows, ordered=ordered):
        first = ", ".join(as_text(value) for value in sorted(distinct.to_pylist())[:4])
        more = ", …" if len(distinct) > 4 else ""
        yield Caveat(
            "code-column",
            f"column {shorten(name)!r} holds {len(distinct):,} different whole numbers ({first}"
            f"{more}) that look like codes, but is used as a number, as if a larger code were more "
            "of something",
            f"pass {option('--categorical', [name])} if they are codes, {known}",
        )


def mixed(
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
            return Caveat(
                "mixed-column", f"column {shorten(name)!r} {said}", f"write all of them alike{keep}"
            )
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
    return Caveat("mixed-column", f"column {shorten(name)!r} {said}", settles)


def _na(marks: Iterable[str]) -> str:
    return " ".join(in_shell("--na", text.strip()) for text in marks)


def unreadable(name: str, kind: Any) -> Caveat:
    """Say that a column holds neither numbers nor texts."""
    return Caveat(
        "unreadable-column",
        f"column {shorten(name)!r} holds {kind} values, neither numbers nor texts",
        f"turn it into one of them (a date into a year, say) or pass {option('--ignore', [name])}",
    )


def near_leak(name: str, told: Told) -> Caveat:
    """Say that a column almost tells the label by itself, and how nearly."""
    return Caveat(
        "near-leak",
        f"column {shorten(name)!r} alone {told}, so the model may do little more than repeat it",
        f"pass {option('--ignore', [name])} if it is made from the label, or known only after it",
    )


def near_empty(name: str, rows: ValueCounts, read: str) -> Iterator[Caveat]:
    """Say that a column holds almost nothing: no value, or the same one, in nearly all rows."""
    if rows.n_rows < suspicion.FEWEST_ROWS:
        return
    keep = "--categorical" if read == "category" else "--numeric"
    said = None
    if rows.n_missing >= suspicion.NEARLY_ALL_MISSING * rows.n_rows:
        there = rows.n_rows - rows.n_missing
        said = f"has a value in only {there:,} of {rows.n_rows:,} rows"
    elif (most := int(rows.counts.max())) >= suspicion.NEARLY_ALL_EQUAL * rows.n_rows:
        said = f"holds the same in {most:,} of {rows.n_rows:,} rows"
    if said is not None:
        yield Caveat(
            "near-empty-column",
            f"column {shorten(name)!r} {said}, so it says almost nothing",
            f"leave it out with {option('--ignore', [name])}, or keep it with "
            + option(keep, [name]),
        )


def of_label(name: str, rows: ValueCounts, *, number: bool) -> Caveat:
    """Say that a label has three classes or more, or numbers so few that they may be classes."""
    texts = [as_text(value, sys.maxsize) for value in sorted(rows.distinct.to_pylist())]
    last = in_shell("--positive", texts[-1])
    named = values_in_words(rows.distinct.to_pylist(), rows.counts.tolist())
    if number:
        return Caveat(
            "label-classes",
            f"the label {shorten(name)!r} holds {len(texts)} different whole numbers "
            f"({named}) and is used as a number, not as classes",
            f"pass {last}, say, to tell one of them from the rest, or "
            f"{option('--numeric', [name])} if it counts or measures something",
        )
    return Caveat(
        "label-classes",
        f"the label {shorten(name)!r} has {len(texts):,} classes ({named}), and only two "
        "can be told apart",
        f"pass {last}, say, to tell one of them from the rest",
    )


def leak(name: str) -> Caveat:
    """Say that a column tells the label."""
    return Caveat(
        "leak",
        f"column {shorten(name)!r} tells the label of every row, so the model may do no more than "
        "repeat it",
        f"pass {option('--ignore', [name])} if it is made from the label, or known only after it",
    )


def together(
    kind: str, names: Sequence[str], mixture: suspicion.Mixture | None, texts: Sequence[str] = ()
) -> Caveat:
    """Say of many columns what is the same for all of them."""
    shown = _names(names)
    if kind == "constant-column":
        return Caveat(
            kind,
            f"columns {shown} hold the same in every row, so they say nothing and are left out",
            f"{option('--ignore', names)} says that this is known",
        )
    if kind == "near-empty-column":
        return Caveat(
            kind,
            f"columns {shown} hold the same value, or none, in nearly every row, so they say "
            "almost nothing",
            f"leave them out with {option('--ignore', names)}, or keep them with "
            + _kept(names, texts),
        )
    if kind == "unreadable-column":
        return Caveat(
            kind,
            f"columns {shown} hold dates or other values that are neither numbers nor texts",
            f"turn them into one (a date into a year, say) or pass {option('--ignore', names)}",
        )
    if kind == "id-column":
        return Caveat(
            kind,
            f"columns {shown} differ in (nearly) every row, so they say who a row is and not what "
            "it is like",
            f"leave them out with {option('--ignore', names)}, or keep them with "
            + _kept(names, texts),
        )
    if mixture is not None and kind == "mixed-column":
        marks = mixture.marks
        return Caveat(
            kind,
            f"columns {shown} hold numbers, but also the text"
            f"{'' if len(marks) == 1 else 's'} {', '.join(map(repr, marks))} (first in row "
            f"{mixture.row:,} of {shorten(names[0])!r}), so that every different number is a "
            "category",
            f"pass {_na(marks)} if that means missing, or {option('--categorical', names)} if the "
            "texts are meant",
        )
    return Caveat(
        kind,
        f"columns {shown} hold whole numbers that look like codes, but are used as numbers, as if "
        "a larger code were more of something",
        f"pass {option('--categorical', names)} with those that are codes, and "
        f"{option('--numeric', names)} with those that count or measure something",
    )


def _kept(names: Sequence[str], texts: Sequence[str]) -> str:
    """Write the options that keep columns as what they are read as."""
    numbers = [name for name in names if name not in texts]
    found = [option("--categorical", texts)] if texts else []
    return " ".join([*found, *([option("--numeric", numbers)] if numbers else [])])


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
