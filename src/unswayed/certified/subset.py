"""A bias for some of the training rows that it was written for."""

from dataclasses import replace
from typing import Any

import numpy as np

from unswayed._typing import IntArray
from unswayed.bias import LabelBias
from unswayed.budgets import Budget
from unswayed.doubles import refuse_masked
from unswayed.exceptions import BiasError
from unswayed.frames import take_rows


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
