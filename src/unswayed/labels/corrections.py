"""Labels that were checked, and a bias for the others or for some of the rows."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, IntArray
from unswayed.exceptions import BiasError, InputError
from unswayed.inputs import as_doubles, refuse_masked, take_rows
from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import Budget


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


# ----------------------------------------------------------------------------------------
# A bias for some of the training rows that it was written for.


def bias_of_rows(bias: LabelBias, rows: IntArray, n_rows: int) -> LabelBias:
    """Return the same bias for some of the training rows."""
    ends: dict[str, Any] = {
        name: end if end is None or end.size == 1 else _entries(end, rows, n_rows, name)
        for name, end in (("lower", bias.lower), ("upper", bias.upper))
        if bias.kind == "intervals"
    }
    where, budget = bias.where, bias.budget
    if where is not None and not callable(where):
        where = _entries(where, rows, n_rows, "where")
    if isinstance(budget, Budget):
        budget = budget.taken(rows)
    return replace(bias, budget=budget, where=where, **ends)


def _entries(values: Any, rows: IntArray, n_rows: int, name: str) -> Any:
    refuse_masked(values, name, BiasError)
    if np.shape(values) != (n_rows,):
        raise BiasError(
            f"{name} has shape {np.shape(values)} but there are {n_rows} rows; it needs exactly "
            "one entry per row"
        )
    return take_rows(values, rows)
