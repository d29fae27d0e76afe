"""What dask computes in a pass: a result for each piece, and a tree of sums."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Generic
from uuid import uuid4

import numpy as np

from unswayed import __version__
from unswayed._core.parts import P
from unswayed.exceptions import InputError
from unswayed.scale.partitions import Partition, import_dask
from unswayed.scale.passes import OrderedSum, Task, Watch
from unswayed.scale.pieces import HeldPiece, Piece

GROUP = 8
"""Parts that one task adds up. A power of two: the sum is then that of `OrderedSum`."""

SEGMENTS = 16
"""Into so many sums, or a few more, a pass is divided if it is stored while it goes on."""

VERSIONS = {"unswayed": __version__, "numpy": np.__version__}
"""Of what the same bits depend on."""

NOTE = "unswayed:"
"""Marks errors of tasks, rather than of what users have dask compute."""


class Work(Generic[P]):
    """What dask computes in a pass, and what has come of it so far."""

    def __init__(
        self, pieces: Sequence[Piece], task: Task[P], total: OrderedSum[P], watch: Watch[P]
    ) -> None:
        self._total, self._watch = total, watch
        self._done = first = len(total)
        token = uuid4().hex
        delayed = partial(import_dask().delayed, pure=False, traverse=False)
        self.sent = delayed(partial(_same, task))(dask_key_name=f"unswayed-task-{token}")
        self.pieces = [
            _find(delayed, self.sent, number, pieces[number], f"unswayed-piece-{token}")
            for number in range(first, len(pieces))
        ]
        spans = list(_spans(first, len(pieces), watch.saves))
        self._levels = [level for level, _ in spans]
        add = delayed(_sum)
        self.segments = [_tree(add, [self.pieces[i - first] for i in span]) for _, span in spans]
        if len(spans) > 1 and not (watch.saves or total.runs):
            self.segments = [delayed(_fold)(self.segments)]
        self._names = {
            node.key: piece.name if isinstance(piece, Partition) else None
            for node, piece in zip(self.pieces, pieces[first:], strict=True)
        }
        self._places = {node.key: place for place, node in enumerate(self.segments)}
        self._ready: dict[int, P] = {}
        self._added = 0

    def name(self, key: object) -> str | None:
        """Return the name of a partition; a task says itself what is wrong with other pieces."""
        return self._names.get(key)

    def wants(self, key: object) -> bool:
        """Return whether a result is to come here."""
        return key in self._places

    def done(self, key: object, found: P | None) -> None:
        """Note that something has been computed."""
        if key in self._names:
            self._done += 1
            self._watch.done(self._done)
        if key in self._places:
            self._ready[self._places[key]] = found  # type: ignore[assignment]
        while self._added in self._ready:
            self._total.add(self._ready.pop(self._added), self._levels[self._added])
            self._added += 1
            if self._added < len(self.segments):
                self._watch.save(self._total)


def _spans(first: int, stop: int, short: bool) -> Iterator[tuple[int, range]]:
    """Cut pieces into segments of 2^level, as long ones as `OrderedSum` can add.

    If they are to be short, about 16 of them.
    """
    most = max(1, stop // SEGMENTS) if short else stop
    while first < stop:
        level = min(most, stop - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        yield level, range(first, first + 2**level)
        first += 2**level


def _find(delayed: Any, sent: Any, number: int, piece: Piece, name: str) -> Any:
    """Return what computes to the result of a task in a piece."""
    if isinstance(piece, Partition):
        found = delayed(partial(_in_partition, __version__, number, piece.name))
        return found(sent, piece.pair, dask_key_name=(name, number))
    return delayed(partial(_in_piece, __version__, number, piece))(
        sent, dask_key_name=(name, number)
    )


def _tree(add: Any, nodes: list[Any]) -> Any:
    """Return what computes to a sum."""
    while len(nodes) > 1:
        nodes = [add(nodes[i : i + GROUP]) for i in range(0, len(nodes), GROUP)]
    return nodes[0]


# What follows is done by workers.


def _same(task: Task[P]) -> Task[P]:
    """Return a task: a worker fetches the result of this once, and any worker can do it again."""
    return task


def _in_piece(version: str, number: int, piece: Piece, task: Task[P]) -> P:
    check_version("unswayed", __version__, "a worker", version)
    try:
        return task.piece(number, piece)
    except Exception as error:
        error.add_note(f"{NOTE} {task.title}, in {piece.name}")
        raise


def _in_partition(version: str, number: int, name: str, task: Task[P], pair: tuple[Any, Any]) -> P:
    return _in_piece(version, number, HeldPiece(name, *pair), task)


def _sum(parts: list[P]) -> P:
    total = OrderedSum(parts[0])
    for part in parts:
        total.add(part)
    return total.value()


def _fold(segments: list[P]) -> P:
    """Return the sum of segments, each of which is shorter than the one before."""
    return OrderedSum(segments[0], [(0, part) for part in segments]).value()


def check_version(package: str, theirs: object, where: str, ours: str | None = None) -> None:
    """Raise unless a machine has the same version of a package."""
    ours = ours or VERSIONS[package]
    if theirs != ours:
        what = f"{package} {theirs}" if isinstance(theirs, str) else f"no {package}"
        raise InputError(
            f"{where} has {what}, but this process has {package} {ours}; install the same on all "
            f"machines of the cluster: pip install {package}=={ours}"
        )
