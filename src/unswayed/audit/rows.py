"""Rows of a file, as models and readers see them."""

from dataclasses import dataclass

import pyarrow as pa

from unswayed._typing import FloatArray, IntArray
from unswayed.words import as_text

Loaded = tuple[pa.Table, IntArray]
"""Rows of a file, and their numbers in it, from 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a file: their cells, their numbers in the file (from 1), features and labels."""

    table: pa.Table
    numbers: IntArray
    features: FloatArray
    labels: FloatArray | None
    weights: FloatArray | None = None  # how much each row counts; None: all the same

    def __len__(self) -> int:
        return len(self.numbers)

    def cells(self, at: IntArray, names: list[str], length: int = 60) -> list[list[str]]:
        """Return cells of some rows as texts."""
        if not len(at):
            return []
        some = self.table.select(names).take(pa.array(at))
        columns = [[as_text(value, length) for value in each.to_pylist()] for each in some.columns]
        return [list(row) for row in zip(*columns, strict=True)]


def take(rows: Loaded, at: IntArray) -> Loaded:
    """Return some rows of a file."""
    table, numbers = rows
    return table.take(pa.array(at)), numbers[at]
