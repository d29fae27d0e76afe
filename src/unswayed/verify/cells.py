"""Turn the cells of a table into features and labels, as `certify` does."""

import math
from array import array
from collections.abc import Callable
from reprlib import repr as shown
from typing import Any

from unswayed.verify.document import row_numbers
from unswayed.verify.limits import CertificateError
from unswayed.verify.tables import Row
from unswayed.verify.writing import Writing

_USUAL = Writing()
_WORDS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}


class Rows:
    """Numbers of the rows that a recipe uses, compared with a file row by row."""

    def __init__(self, value: Any, n_rows: int, where: str) -> None:
        self._numbers = row_numbers(value, n_rows, 2**32, where)
        self._where = where
        self._at = 0

    def wants(self, row: int) -> bool:
        """Return whether a row is used."""
        wanted = self._at < len(self._numbers) and self._numbers[self._at] == row
        self._at += wanted
        return wanted

    def check_all_found(self, n_rows: int) -> None:
        """Raise if some of the rows are not in the file; to be called after its last row."""
        if self._at < len(self._numbers):
            raise CertificateError(
                f"it belongs to other data: {self._where} names row {self._numbers[-1]:,}, but the "
                f"file has {n_rows:,} rows"
            )


class Features:
    """Makes the features of a recipe, row by row."""

    _MOST_KNOWN = 10_000  # features of cells that are remembered, per column
    _LONGEST_KNOWN = 100  # characters of such a cell

    def __init__(self, features: Any, names: list[str], writing: Writing) -> None:
        self._writing = writing
        self.width = len(features)
        self.filled = dict.fromkeys(names, 0)
        kinds = {each["column"]: type(each["equals"]) for each in features
                 if each.get("equals") is not None}  # fmt: skip
        places = {name: at for at, name in enumerate(names)}
        self._uses: dict[tuple[int, type], list[tuple[int, Any]]] = {}
        for at, feature in enumerate(features):
            name = feature["column"]
            kind = kinds.get(name, str) if "equals" in feature else float
            self._uses.setdefault((places[name], kind), []).append((at, feature))
        self._known: dict[tuple[int, type], dict[Any, list[float]]] = {
            key: {} for key in self._uses
        }

    def row(self, cells: Row, *, count: bool = False) -> "array[float]":
        """Return the features of one row."""
        numbers = array("d", bytes(8 * self.width))
        for key, uses in self._uses.items():
            cell, known = cells[key[0]], self._known[key]
            made = known.get(cell)
            if made is None:
                value = value_of(cell, key[1], self._writing)
                made = [_feature(value, feature) for _, feature in uses]
                short = not isinstance(cell, str) or len(cell) <= self._LONGEST_KNOWN
                if short and (len(known) + 1) * len(uses) <= self._MOST_KNOWN:
                    known[cell] = made
            for (at, feature), number in zip(uses, made, strict=True):
                numbers[at] = number
                if (
                    count
                    and "missing" in feature
                    and (value_of(cell, key[1], self._writing) is None)
                ):
                    self.filled[feature["column"]] += 1
        return numbers


def _feature(value: Any, feature: Any) -> float:
    """Return one feature of a cell's value."""
    if "equals" in feature:
        return float(value == feature["equals"])
    value = feature.get("missing") if value is None else value
    if value is None or not feature["scale"]:
        raise CertificateError(f"column {shown(feature['column'])} misses a value or a scale")
    # In doubles and in this order, as the features of the model were computed.
    return float((value - feature["mean"]) / feature["scale"])


def label_reader(classes: Any, writing: Writing = _USUAL) -> Callable[[Any], float]:
    """Return a function that turns a cell of the label column into a number."""
    code: dict[Any, float] | None = None
    kind: type = float
    rest: float | None = None  # the number of labels that are of no class that is named
    if classes is not None:
        first, second = classes["values"]
        pairs = [classes["numbers"]] if first is None else classes.values()
        if second is None or any(type(a) is not type(b) or a >= b for a, b in pairs):
            raise CertificateError("classes must be in sorted order, and so must their numbers")
        code = dict(zip(classes["values"], classes["numbers"], strict=True))
        kind, rest = type(second), code.pop(None, None)

    def read(cell: Any) -> float:
        value = value_of(cell, kind, writing)
        label = value if code is None else code.get(value, rest)
        if label is None or value is None:
            raise CertificateError("a label is missing, or of neither class")
        return float(label)

    return read


def value_of(cell: Any, kind: type, writing: Writing = _USUAL) -> Any:
    """Return a cell's value, as Arrow reads it in a column of such values."""
    if kind is str or cell is None:
        return cell
    try:
        number = _number(writing.numeral(cell.strip())) if isinstance(cell, str) else cell
        return None if math.isnan(number) else float(number) if kind is float else number
    except (ValueError, TypeError, OverflowError):
        raise CertificateError(f"the cell {shown(cell)} is not a number") from None


def _number(text: str) -> float:
    """Return the number that a text stands for, also of truth values and hexadecimals."""
    text = _WORDS.get(text, text).lower()
    if text.startswith("0x"):  # 64 bits, the first of them the sign
        return (int(text, 16) + 2**63) % 2**64 - 2**63
    text = "nan" if text.lstrip("-").startswith("nan(") else text  # as in Windows
    return int(text) if text.lstrip("-").isdecimal() else float(text)
