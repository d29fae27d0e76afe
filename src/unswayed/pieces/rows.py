"""Some rows of pieces: those that are held out, and all others."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unswayed._typing import IntArray
from unswayed.pieces.passes import Task
from unswayed.pieces.pieces import Batch, Piece, Place, with_gaps
from unswayed.pieces.store import digest


@dataclass(frozen=True, slots=True, eq=False)
class SelectedRows(Piece):
    """Some rows of a piece of a file, or all but some."""

    name: str
    piece: Piece  # Its batches are of pyarrow
    positions: IntArray  # In the piece, ascending
    inside: bool  # Whether these rows are read, or all others

    @property
    def identity(self) -> str:
        """That of the piece, and which of its rows."""
        way = "only" if self.inside else "without"
        return f"{self.piece.identity} {way} {digest(self.positions)[:32]}"

    def place(self, number: int) -> Place:
        """Return where one of the piece's rows is."""
        return self.piece.place(number)

    def batches(self) -> Iterator[Batch]:
        """Read the rows."""
        return with_gaps(map(self._selected, self.piece.batches()))

    def _selected(self, batch: Batch) -> Batch:
        keep = np.isin(batch.numbers, self.positions, assume_unique=True, invert=not self.inside)
        if keep.all():
            return batch
        mask = pa.array(keep)
        return Batch(
            batch.rows.filter(mask), batch.labels.filter(mask), batch.numbers[keep], batch.left_out
        )


@dataclass(frozen=True, slots=True, eq=False)
class RowCounts:
    """How many rows pieces have, those that miss a value included."""

    rows: dict[int, int]  # By the number of the piece; one without rows may lack

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(dict(Counter(self.rows) + Counter(other.rows)))


@dataclass(frozen=True, slots=True, eq=False)
class CountRows(Task[RowCounts]):
    """Count rows, where only reading them tells how many there are."""

    title = "counting rows"

    def nothing(self) -> RowCounts:
        """Return no counts."""
        return RowCounts({})

    def batch(self, number: int, piece: Piece, batch: Batch) -> RowCounts:
        """Count the rows of a batch."""
        return RowCounts({number: len(batch) + batch.left_out})


@dataclass(frozen=True, slots=True, eq=False)
class CollectedRows:
    """Rows that were brought together."""

    table: Any  # Features and label; None for no rows
    piece: IntArray  # The number of the piece that each is in
    number: IntArray  # Its position there

    def __add__(self, other: "CollectedRows") -> "CollectedRows":
        if self.table is None or other.table is None:
            return other if self.table is None else self
        return CollectedRows(
            pa.concat_tables((self.table, other.table)),
            np.concatenate((self.piece, other.piece)),
            np.concatenate((self.number, other.number)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CollectRows(Task[CollectedRows]):
    """Bring rows together: few ones, of pieces that have no others."""

    title = "collecting rows"

    label: str  # What the column of labels is called

    def nothing(self) -> CollectedRows:
        """Return no rows."""
        none = np.empty(0, dtype=np.intp)
        return CollectedRows(None, none, none)

    def batch(self, number: int, piece: Piece, batch: Batch) -> CollectedRows:
        """Return all rows of a batch."""
        if not len(batch):
            return self.nothing()
        table = batch.rows.append_column(self.label, batch.labels)
        piece_numbers = np.full(len(batch), number, dtype=np.intp)
        return CollectedRows(table, piece_numbers, np.asarray(batch.numbers, dtype=np.intp))
