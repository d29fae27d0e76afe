"""Tasks and pieces for tests of passes. Workers import them, so they are in no test file."""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unswayed.exceptions import InputError
from unswayed.pieces.passes import Task
from unswayed.pieces.pieces import Batch, HeldPiece, Piece
from unswayed.pieces.store import storable

WEIGHTS = np.array([[0.1, 0.3], [0.7, 1.1]])
ROWS = 300
PATIENCE = 300.0  # seconds that no test should need


def values(pieces: int) -> list[npt.NDArray[np.float64]]:
    """Numbers of very different sizes, so that every order of adding them has its own rounding."""
    rng = np.random.default_rng(7)
    sizes = np.linspace(1, ROWS, pieces).astype(int)
    return [rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-9, 9, (n, 2)) for n in sizes]


def held(pieces: int) -> list[HeldPiece]:
    return [
        HeldPiece(f"partition {i}", rows, rows[:, 0] > 0) for i, rows in enumerate(values(pieces))
    ]


def wait_for(condition: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition.exists():
        assert time.monotonic() < deadline, f"{condition.name} never came"
        time.sleep(0.01)


@storable
@dataclass(frozen=True, eq=False)
class Sums:
    columns: npt.NDArray[np.float64]
    labels: int
    pieces: tuple[int, ...]

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.columns + other.columns, self.labels + other.labels, self.pieces + other.pieces
        )

    @property
    def bits(self) -> tuple[bytes, int, tuple[int, ...]]:
        return self.columns.tobytes(), self.labels, self.pieces


@dataclass(frozen=True, eq=False)
class Summing(Task[Sums]):
    """Adds up columns and labels, and notes which pieces were seen."""

    weights: npt.NDArray[np.float64]
    title: str = "summing"

    def nothing(self) -> Sums:
        return Sums(np.zeros(2), 0, ())

    def batch(self, number: int, piece: Piece, batch: Batch) -> Sums:
        rows = np.asarray(batch.rows, dtype=float)
        return Sums(self.weights @ rows.sum(axis=0), int(np.sum(batch.labels)), (number,))


@dataclass(frozen=True, eq=False)
class Gated(Summing):
    """Notes in a folder that it has begun with a piece, and goes on when it finds "go" there."""

    folder: str = ""
    stops: tuple[int, ...] = ()

    def batch(self, number: int, piece: Piece, batch: Batch) -> Sums:
        folder = Path(self.folder)
        (folder / f"begun-{number}-{os.getpid()}").touch()
        if number in self.stops:
            wait_for(folder / "go")
        return super().batch(number, piece, batch)


class Heavy(Summing):
    """Notes in a folder which processes receive it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(WEIGHTS)
        self.__dict__.update(folder=str(folder), ballast=np.ones(2**21))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        descriptor, _ = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=state["folder"])
        os.close(descriptor)


@dataclass(frozen=True, eq=False)
class Deadly(Summing):
    """Kills whoever does piece 1."""

    def batch(self, number: int, piece: Piece, batch: Batch) -> Sums:
        if number == 1:
            os._exit(1)
        return super().batch(number, piece, batch)


@dataclass(frozen=True, eq=False)
class Failing(Summing):
    """Has a bug."""

    def batch(self, number: int, piece: Piece, batch: Batch) -> Sums:
        raise LookupError("a bug")


@dataclass(frozen=True, slots=True, eq=False)
class SavedPiece(Piece):
    """A piece in a file of its own."""

    name: str

    def batches(self) -> Iterator[Batch]:
        try:
            rows = np.load(self.name)
        except (OSError, ValueError) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from None
        yield from HeldPiece(self.name, rows, rows[:, 0] > 0).batches()


def saved(folder: Path, pieces: int) -> list[SavedPiece]:
    found = []
    for number, rows in enumerate(values(pieces)):
        path = folder / f"part-{number}.npy"
        np.save(path, rows)
        found.append(SavedPiece(str(path)))
    return found
