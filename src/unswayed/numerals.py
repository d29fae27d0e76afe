"""Numerals: texts that are numbers, in the ways that people write them."""

import re
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray

Decimal = Literal[".", ","]

_SIGN, _POWER = r"^\s*[+-]?", r"([eE][+-]?\d+)?\s*$"
# Plain numbers, and those whose thousands are separated by the sign that is not decimal.
_PLAIN = {
    ".": rf"{_SIGN}(\d+\.?\d*|\.\d+){_POWER}",
    ",": rf"{_SIGN}(\d+,?\d*|,\d+){_POWER}",
}
_GROUPED = {
    ".": rf"{_SIGN}[1-9]\d{{0,2}}(,\d{{3}})+(\.\d*)?\s*$",
    ",": rf"{_SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+(,\d*)?\s*$",
}
_OTHER: dict[str, str] = {".": ",", ",": "."}


def is_number(text: str, decimal: Decimal) -> bool:
    """Return whether one text is a number, like `are_numbers`."""
    return bool(re.match(_PLAIN[decimal], text) or re.match(_GROUPED[decimal], text))


def are_numbers(texts: Any, decimal: Decimal = ".", *, grouped: bool = True) -> BoolArray:
    """Return which texts are numbers.

    Parameters
    ----------
    texts : pyarrow.Array or pyarrow.ChunkedArray
    decimal : {".", ","}
        The sign before the decimals.
    grouped : bool
        Whether the other sign may separate thousands.

    Returns
    -------
    (n,) bool array
        False for missing texts.

    Examples
    --------
    >>> are_numbers(pa.array(["1.5", "1,169.00", "1.169,00", "?"])).tolist()
    [True, True, False, False]
    """
    found = pc.match_substring_regex(texts, _PLAIN[decimal])
    if grouped:
        found = pc.or_(found, pc.match_substring_regex(texts, _GROUPED[decimal]))
    return np.asarray(pc.fill_null(found, False), dtype=bool)


def as_numbers(texts: pa.ChunkedArray, decimal: Decimal = ".") -> pa.ChunkedArray:
    """Return texts as doubles.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray
        All of them numbers, by `are_numbers`, or missing.
    decimal : {".", ","}

    Returns
    -------
    pyarrow.ChunkedArray

    Examples
    --------
    >>> as_numbers(pa.chunked_array([["1.169,00", None, "-7"]]), ",").to_pylist()
    [1169.0, None, -7.0]
    """
    bare = pc.replace_substring(pc.utf8_trim_whitespace(texts), _OTHER[decimal], "")
    return pc.cast(pc.utf8_ltrim(pc.replace_substring(bare, decimal, "."), "+"), pa.float64())
