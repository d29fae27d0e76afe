"""Pieces: parts of the training rows, in files or of a dask collection, read in batches."""

import sys
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


# ----------------------------------------------------------------------------------------
# Partitions: pieces of training rows that dask computes, on a cluster or on threads.


def is_lazy(X: object) -> bool:
    """Return whether something is a dask collection."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


def import_dask() -> Any:
    """Return the module dask, or say which extra brings it."""
    try:
        import dask  # noqa: PLC0415
    except ImportError:
        raise ModuleNotFoundError(
            "training rows on a cluster need dask: pip install 'unswayed[distributed]'",
            name="dask",
        ) from None
    return dask


@dataclass(frozen=True, slots=True, eq=False)
class Partition(Piece):
    """A partition of a dask collection: it is computed where, and whenever, a task needs it."""

    name: str  # "partition 3", counted from 0 as dask does
    pair: Any  # It computes to rows and labels: a frame and a series, or arrays

    @property
    def identity(self) -> str:
        """The key that dask gave to what is computed; it changes with its source."""
        return str(self.pair.key)

    def batches(self) -> Iterator[Batch]:
        """Compute the rows, bring them here, and cut them into batches.

        Passes of `DaskPasses` do not use this.
        """
        yield from HeldPiece(self.name, *self.pair.compute()).batches()


def pieces_of(X: Any, y: Any) -> list[Partition]:
    """Return the pieces of rows that dask computes: one per partition, or per chunk of rows.

    They are computed from their source in every pass, unless the user has persisted them.

    Examples
    --------
    >>> import dask.array as da
    >>> X, y = da.ones((10, 2), chunks=(4, 1)), da.zeros(10, chunks=4)
    >>> [piece.name for piece in pieces_of(X, y)]
    ['partition 0', 'partition 1', 'partition 2']
    """
    for name, given in (("X", X), ("y", y)):
        if not is_lazy(given):
            raise InputError(
                f"{name} is in memory, but the other one of X and y is a dask collection; "
                "take both from one dask dataframe"
            )
        if not (_is_frame(given) or _is_array(given)):
            raise InputError(
                f"{name} is a dask collection of type {type(given).__name__}, which has no rows "
                "to train on; pass a dask dataframe or a dask array"
            )
    y = _one_column(y)
    if _is_array(X):
        if X.ndim != 2:
            raise InputError(f"X must have two dimensions, rows and columns, not {X.ndim}")
        X = X.rechunk({1: -1})
        if _is_array(y) and X.numblocks[0] != y.numblocks[0] and X.shape[0] == y.shape[0]:
            y = y.rechunk({0: X.chunks[0]})  # of known, equal lengths: unknown ones are NaN
    if _count(X) != _count(y):
        raise InputError(
            f"X has {_count(X):,} partitions but y has {_count(y):,}, so that rows and labels "
            "do not go together; take both from one dask dataframe (if they are persisted, "
            "persist that one), or repartition one like the other"
        )
    pairs = _frame_pairs(X, y) if _is_frame(X) and _is_frame(y) else _pairs(X, y)
    return [Partition(f"partition {number}", pair) for number, pair in enumerate(pairs)]


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "map_partitions") and hasattr(collection, "divisions")


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks") and hasattr(collection, "rechunk")


def _one_column(y: Any) -> Any:
    """Return labels as a series or as an array of one dimension."""
    if y.ndim == 1:
        return y
    if _is_frame(y) and len(y.columns) == 1:
        return y[y.columns[0]]
    raise InputError("y must have one dimension: one label for every row")


def _count(collection: Any) -> int:
    """Return the number of partitions, or of chunks of rows."""
    return int(collection.numblocks[0] if _is_array(collection) else collection.npartitions)


def _frame_pairs(X: Any, y: Any) -> list[Any]:
    """Return what computes to the rows and labels of each partition of frames.

    As one expression, which reads a common source once, and of it only the columns in use. All
    optimisation would go on to merge small partitions, so that users would not find a row under
    the number of its partition; and, of X and y by themselves, not in the same way.
    """
    import dask.dataframe as dd  # noqa: PLC0415

    pairs = dd.map_partitions(_pair, X, y, meta=(None, object), enforce_metadata=False)
    return list(pairs.simplify().to_delayed(optimize_graph=False))


def _pairs(X: Any, y: Any) -> list[Any]:
    """Return what computes to rows and labels, of arrays or of an array and a frame."""
    pair = import_dask().delayed(_pair, pure=True)
    return [pair(*both) for both in zip(_parts(X), _parts(y), strict=True)]


def _parts(collection: Any) -> list[Any]:
    """Return what computes to each partition."""
    if _is_frame(collection):
        return list(collection.simplify().to_delayed(optimize_graph=False))
    return list(collection.to_delayed(optimize_graph=True).ravel())


def _pair(rows: Any, labels: Any) -> tuple[Any, Any]:
    return rows, labels
