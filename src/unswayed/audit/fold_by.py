"""Rows of one person, household or site, which are never split between training and test."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import IntArray
from unswayed.audit.rows import Loaded
from unswayed.exceptions import InputError
from unswayed.words import counted, shorten


def owners(name: str, rows: Loaded) -> IntArray:
    """Return, for each row, the number of its value in a column; raise if a row has none."""
    table, numbers = rows
    column = table.column(name)
    missing = np.asarray(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))
    if missing.any():
        raise InputError(
            f"--fold-by: column {shorten(name)!r} is missing in row "
            f"{int(numbers[np.flatnonzero(missing)[0]]):,} "
            f"({counted(int(missing.sum()), 'such row')}), so nobody knows which rows it belongs "
            "with; fill it in (a value of its own for a row that belongs with no other), or remove "
            "the rows"
        )
    found: IntArray = np.asarray(pc.dictionary_encode(column.combine_chunks()).indices)
    return found


def draw_folds(name: str, owner: IntArray, folds: int, seed: int) -> IntArray:
    """Return the fold of each row: the largest owners first, each to the smallest fold so far."""
    size = np.bincount(owner)
    if len(size) < folds:
        raise InputError(
            f"--fold-by: column {shorten(name)!r} has {counted(len(size), 'different value')}, too "
            f"few for --folds {folds}: every fold needs one of its own; pass fewer folds, or "
            "another column"
        )
    order = np.random.default_rng(seed).permutation(len(size))
    of_owner, filled = np.empty(len(size), dtype=np.intp), np.zeros(folds, dtype=np.intp)
    for each in order[np.argsort(-size[order], kind="stable")].tolist():
        of_owner[each] = np.argmin(filled)
        filled[of_owner[each]] += size[each]
    return of_owner[owner]


def hold_out(name: str, owner: IntArray, n_out: int, seed: int) -> tuple[IntArray, IntArray]:
    """Split rows into those that stay and those held out: whole owners, until there are enough."""
    size = np.bincount(owner)
    order = np.random.default_rng(seed).permutation(len(size))
    taken = order[: 1 + int(np.searchsorted(np.cumsum(size[order]), n_out))]
    out = np.isin(owner, taken)
    if (~out).sum() < 2:
        raise InputError(
            f"--fold-by: column {shorten(name)!r} has {counted(len(size), 'different value')}, and "
            f"holding out {n_out:,} of {len(owner):,} rows without splitting one leaves too few to "
            "train on; pass a smaller --holdout, or another column"
        )
    return np.flatnonzero(~out), np.flatnonzero(out)
