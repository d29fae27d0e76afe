"""Weights: a column that says how much each training row counts."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import FloatArray, IntArray
from unswayed.cells import is_number, plain
from unswayed.exceptions import InputError
from unswayed.report.findings import Caveat
from unswayed.words import counted, shorten


def weights_of(name: str, table: pa.Table, numbers: IntArray) -> FloatArray:
    """Return the weights of rows."""
    column = plain(table.column(name))
    if not is_number(column.type) and not pa.types.is_boolean(column.type):
        raise InputError(
            f"--weights: column {shorten(name)!r} holds {column.type} values; weights are numbers, "
            "0 or more"
        )
    values = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan))
    for wrong, what in (
        (np.isnan(values), "is missing"),
        (values < 0, "is negative"),
        (np.isinf(values), "is infinite"),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"--weights: the weight in column {shorten(name)!r} {what} in row "
                f"{int(numbers[at]):,} ({counted(int(wrong.sum()), 'such row')}); correct it, or "
                "remove the rows: a weight says how much a row counts, 0 or more"
            )
    if not values.any():
        raise InputError(
            f"--weights: column {shorten(name)!r} is zero in every training row, so nothing is "
            "left to learn from; name another column"
        )
    return values


def follow_labels(name: str) -> Caveat:
    """Say that weights follow the labels."""
    return Caveat(
        "label-weights",
        f"the weights in column {shorten(name)!r} follow the labels, as weights that balance "
        "classes do; if they were computed from the labels, changing a label would change them "
        "too, and nothing here is certified",
        "leave --weights out unless they were fixed before the labels were seen",
    )
