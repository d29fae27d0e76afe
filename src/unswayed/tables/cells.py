"""Cells: how a table writes values, numbers with their signs, and what counts as missing."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray
from unswayed.words import shorten


def codes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values with one representation per category: -0.0 becomes 0.0, NaN becomes null."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.add(values, pa.scalar(0, values.type))
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def same_everywhere(values: pa.ChunkedArray) -> bool:
    """Return whether all values are the same, a missing one being a value of its own."""
    if not len(values) or values.null_count in (len(values), 0):
        known = values.drop_null()
        return not len(known) or bool(pc.all(pc.equal(known, known[0])).as_py())
    return False


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in an Arrow type that the rest of the package handles."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    rare = pa.types.is_decimal(values.type) or pa.types.is_float16(values.type)
    return values.cast(pa.float64(), safe=False) if rare else values


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type holds texts, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type holds integers, floats or decimals."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_usable(kind: Any) -> bool:
    """Return whether an Arrow type holds numbers, texts or truth values."""
    return is_text(kind) or is_number(kind) or bool(pa.types.is_boolean(kind))


# ----------------------------------------------------------------------------------------
# Numerals: texts that are numbers, in the ways that people write them.

Decimal = Literal[".", ","]

_OTHER: dict[Decimal, Decimal] = {".": ",", ",": "."}
_ENGLISH = {"$", "£"}  # before a number whose thousands are separated by commas
_GLANCE = 100  # cells that are looked at before all are
_NAMED = 12  # columns that a note names


def _core(decimal: Decimal, *, grouped: bool) -> str:
    """Return the pattern of a number without a sign; thousands are separated by the other sign."""
    point, other = re.escape(decimal), re.escape(_OTHER[decimal])
    if grouped:
        return rf"[1-9]\d{{0,2}}(?:{other}\d{{3}})+(?:{point}\d*)?"
    return rf"(?:\d+{point}?\d*|{point}\d+)(?:[eE][+-]?\d+)?"


_PLAIN = {decimal: rf"^\s*[+-]?{_core(decimal, grouped=False)}\s*$" for decimal in _OTHER}
# As in accounts: $1,200 or -€ 1.200,50 or 13.4% or (1,200).
_WRITTEN = {
    decimal: r"^\s*(?P<open>\(?)\s*(?P<sign>[+-]?)\s*(?P<front>[$€£¥]?)\s*(?P<minus>[+-]?)"
    rf"(?P<number>{_core(decimal, grouped=True)}|{_core(decimal, grouped=False)})"
    r"\s*(?P<back>[$€£¥%]?)\s*(?P<close>\)?)\s*$"
    for decimal in _OTHER
}


def are_numbers(texts: Any, decimal: Decimal = ".", *, grouped: bool = True) -> BoolArray:
    """Return which texts are numbers.

    Examples
    --------
    >>> are_numbers(pa.array(["1.5", "1,169.00", "1.169,00", "?", "$5", "(7)"])).tolist()
    [True, True, False, False, True, True]
    """
    if grouped:
        return _is_one(_parts(texts, decimal))
    found = pc.match_substring_regex(texts, _PLAIN[decimal])
    return np.asarray(pc.fill_null(found, False), dtype=bool)


def as_numbers(texts: pa.ChunkedArray, decimal: Decimal = ".") -> pa.ChunkedArray:
    """Return texts as doubles.

    Examples
    --------
    >>> as_numbers(pa.chunked_array([["1.169,00", None, "-7", "(3,5 €)"]]), ",").to_pylist()
    [1169.0, None, -7.0, -3.5]
    """
    parts = _parts(texts, decimal)
    bare = pc.replace_substring(parts["number"], _OTHER[decimal], "")
    numbers = pc.cast(pc.replace_substring(bare, decimal, "."), pa.float64())
    minus = pc.or_(pc.equal(parts["sign"], "-"), pc.equal(parts["minus"], "-"))
    below = pc.or_(minus, pc.equal(parts["open"], "("))
    return pa.chunked_array([pc.if_else(below, pc.negate(numbers), numbers)])


def marks_of(texts: Any, decimal: Decimal) -> set[str]:
    """Return the currencies and percent signs of texts that are numbers; "" where one has none."""
    parts = _parts(texts, decimal)
    found = pc.binary_join_element_wise(parts["front"], parts["back"], "")
    return set(pc.unique(found.filter(pa.array(_is_one(parts)))).to_pylist())


def have_one_unit(marks: Collection[str]) -> bool:
    """Return whether numbers with these signs can be compared: 0.134 beside 13.4% cannot."""
    return len({*marks} - {""}) < 2 and not {"%", ""} <= {*marks}


def signs_in_words(marks: Collection[str]) -> str:
    """Return signs as a sentence has them.

    Examples
    --------
    >>> signs_in_words({"", "%", "$"})
    "'%' or '$' or no sign"
    """
    return " or ".join(repr(mark) if mark else "no sign" for mark in sorted(marks, reverse=True))


def surely_numbers(texts: pa.ChunkedArray, decimal: Decimal) -> bool:
    """Return whether texts can only be numbers that are not written plainly, such as $1,200.

    All must be numbers, with the same currency, a percent sign, or neither. Where 1,200 could also
    be 1.2, something must tell: a cell that is no number if the comma stands before decimals; a
    dollar sign; or cells without a comma beside some that end in 0, which 1.2 would not.
    """
    known = texts.drop_null()
    if not len(known) or not are_numbers(known.slice(0, _GLANCE), decimal).all():
        return False
    known = pc.unique(known)
    parts, plain = _parts(known, decimal), are_numbers(known, decimal, grouped=False)
    marks = marks_of(known, decimal)
    if not _is_one(parts).all() or plain.all() or len(marks) > 1:
        return False
    brackets, signs = (pc.any(pc.not_equal(parts[name], "")).as_py() for name in ("open", "sign"))
    if brackets and (signs or pc.all(pc.equal(parts["open"], "(")).as_py()):
        return False
    if not are_numbers(known, _OTHER[decimal]).all() or (decimal == "." and marks <= _ENGLISH):
        return True

    def some(pattern: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(parts["number"], pattern)).as_py())

    point, other = re.escape(decimal), re.escape(_OTHER[decimal])
    if some(rf"^[1-9]\d{{0,2}}{point}\d{{3}}$") and "%" not in marks:
        return False
    thousands = some(rf"^[1-9]\d{{0,2}}{other}\d{{3}}$")
    return not thousands or (some(r"^\d{1,3}$") and some(rf"{other}\d\d0$"))


def example(texts: pa.ChunkedArray, decimal: Decimal) -> str:
    """Say how a text is read that is no plain number, one in brackets if there is one."""
    known = texts.drop_null()
    brackets = np.flatnonzero(pc.match_substring(known, "("))
    odd = np.flatnonzero(~are_numbers(known, decimal, grouped=False))
    first = known.slice(int((*brackets[:1], *odd[:1], 0)[0]), 1)
    number = as_numbers(first, decimal)[0].as_py()
    return f"{shorten(first[0].as_py().strip())!r} as {number:.15g}"


def in_words(file: str, read: Mapping[str, str]) -> list[str]:
    """Return a note about columns whose texts are read as numbers, by their examples."""
    if not read:
        return []
    said = [f"{how} in column {shorten(name)!r}" for name, how in list(read.items())[:_NAMED]]
    said[0] = said[0].replace(" as ", " is read as ", 1)
    more = f" and the like in {len(read) - _NAMED:,} more columns" if len(read) > _NAMED else ""
    return [f"{file}: {', '.join(said)}{more}; --categorical keeps the texts"]


def _parts(texts: Any, decimal: Decimal) -> dict[str, Any]:
    """Return the parts of texts that are numbers; null where one is none."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    found = pc.extract_regex(texts, _WRITTEN[decimal])
    names = ("open", "sign", "front", "minus", "number", "back", "close")
    return {name: pc.struct_field(found, name) for name in names}


def _is_one(parts: Mapping[str, Any]) -> BoolArray:
    """Return which texts are numbers: brackets are closed, and there is one sign of a kind."""
    twice = [pc.and_(pc.not_equal(parts[one], ""), pc.not_equal(parts[other], ""))
             for one, other in (("sign", "minus"), ("front", "back"), ("open", "sign"),
                                ("open", "minus"))]  # fmt: skip
    found = pc.equal(pc.equal(parts["open"], "("), pc.equal(parts["close"], ")"))
    for each in twice:
        found = pc.and_(found, pc.invert(each))
    return np.asarray(pc.fill_null(found, False), dtype=bool)
