"""Pieces: parts of the training rows, each of which is read in batches and never held whole."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unswayed._typing import IntArray
from unswayed.exceptions import InputError

BATCH = 2**16
"""Rows that are in memory at once, at most, for every thread that reads."""


class Place(NamedTuple):
    """Where a training row is: its file (or partition) and its number there, from 1."""

    file: str
    row: int

    def __str__(self) -> str:
        return f"{self.file}, row {self.row:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows of a piece, in memory."""

    rows: Any  # Features, as the user has them
    labels: Any  # As the user has them
    numbers: IntArray  # Positions of the rows in their piece, from 0, ascending
    # Rows of the piece, from the batch before to the next, that are left out because they miss a
    # value
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, here: slice) -> "Batch":
        return Batch(cut(self.rows, here), cut(self.labels, here), self.numbers[here])


class Piece(ABC):
    """Part of the training rows. It says where they are, and may travel to another machine."""

    name: str  # What messages call it: a file, or a partition

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Read the rows."""

    @property
    def identity(self) -> str:
        """Which rows these are: a run is resumed only where all pieces have the same identity.

        It is the name, for a piece that is all of its file; one that is some of it adds which.
        """
        return self.name

    def place(self, number: int) -> Place:
        """Return where one of its rows is."""
        return Place(self.name, number + 1)


@dataclass(frozen=True, slots=True, eq=False)
class HeldPiece(Piece):
    """A piece whose rows are in memory: a partition where it is computed, or a slice of arrays."""

    name: str
    rows: Any
    labels: Any

    def batches(self) -> Iterator[Batch]:
        """Cut the rows into batches."""
        if len(self.rows) != len(self.labels):
            raise InputError(
                f"{self.name} has {len(self.rows):,} rows but {len(self.labels):,} labels; take "
                "both from one frame, so that their partitions go together"
            )
        for start in range(0, len(self.rows), BATCH):
            here = slice(start, start + BATCH)
            labels = cut(self.labels, here)
            yield Batch(cut(self.rows, here), labels, np.arange(start, start + len(labels)))


def cut(rows: Any, here: slice) -> Any:
    """Return some rows by position."""
    if hasattr(rows, "slice"):  # of pyarrow, whose columns would be cut by [...]
        start, stop, _ = here.indices(len(rows))
        return rows.slice(start, stop - start)
    return rows.iloc[here] if hasattr(rows, "iloc") else rows[here]
