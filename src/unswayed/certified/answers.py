"""What reviewers answer, as labels, and as a bias that leaves out what they have checked."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray
from unswayed.bias import LabelBias
from unswayed.doubles import as_doubles
from unswayed.exceptions import InputError


def corrected(given: NDArray[Any], answers: dict[int, Any], *, classes: bool) -> NDArray[Any]:
    """Return labels as they should be."""
    if classes:
        known = np.unique(given)
        found = given.copy()
        for row, answer in answers.items():
            found[row] = class_named(answer, known, row)
        return found
    found = given.astype(np.float64)
    for row, answer in answers.items():
        number = as_doubles(answer, f"the answer for row {row}")
        if number.ndim or not np.isfinite(number):
            raise InputError(f"the answer for row {row} must be a finite number, got {answer!r}")
        found[row] = float(number)
    return found


def class_named(answer: Any, known: NDArray[Any], row: int) -> Any:
    """Return the class that an answer names."""
    text = str(answer).strip()
    for same in (_equal_text, _equal_number, _equal_letters):  # from strict to what spreadsheets do
        found = [value for value in known if same(text, str(value))]
        if len(found) == 1:
            return found[0]
    named = " or ".join(repr(value) for value in known.tolist())
    raise InputError(
        f"the answer for row {row} is {answer!r}, which is none of the classes: say {named}, or "
        "leave it empty if the label was not checked"
    )


def _equal_text(answer: str, value: str) -> bool:
    return answer == value


def _equal_number(answer: str, value: str) -> bool:
    try:
        return float(answer) == float(value)
    except ValueError:
        return False


def _equal_letters(answer: str, value: str) -> bool:
    return answer.casefold() == value.casefold()


@dataclass(frozen=True, eq=False)
class _StillOpen:
    """A mask that is computed from rows and labels, without labels that were checked."""

    where: Any
    checked: BoolArray

    def __call__(self, X: Any, y: Any) -> BoolArray:
        return np.asarray(self.where(X, y)).astype(bool) & ~self.checked


def bias_without(bias: LabelBias, rows: Iterable[int], n_labels: int) -> LabelBias:
    """Return the same bias for labels that were not checked."""
    checked = np.zeros(n_labels, dtype=bool)
    checked[list(rows)] = True
    if callable(bias.where):
        return replace(bias, where=_StillOpen(bias.where, checked))
    where = ~checked if bias.where is None else np.asarray(bias.where).astype(bool) & ~checked
    return replace(bias, where=where)
