"""Passes on dask: the workers of a cluster, or the threads of this process."""

import contextlib
import pydoc
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic
from uuid import uuid4

import numpy as np

from unswayed import __version__
from unswayed._core.kernels import thread_count
from unswayed._core.tally import P
from unswayed.exceptions import InputError, UnswayedError
from unswayed.pieces.passes import OrderedSum, Passes, Progress, Task, Watch
from unswayed.pieces.pieces import HeldPiece, Partition, Piece, import_dask, import_extra

GROUP = 8
"""Parts that one task adds up. A power of two: the sum is then that of `OrderedSum`."""

SEGMENTS = 16
"""Into so many sums, or a few more, a pass is divided if it is stored while it goes on."""

VERSIONS = {"unswayed": __version__, "numpy": np.__version__}
"""Of what the same bits depend on."""

NOTE = "unswayed:"
"""Marks errors of tasks, rather than of what users have dask compute."""


class DaskGraph(Generic[P]):
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
        # Of partitions; a task says itself what is wrong with other pieces.
        self.names = {
            node.key: piece.name if isinstance(piece, Partition) else None
            for node, piece in zip(self.pieces, pieces[first:], strict=True)
        }
        # Of what is to come here.
        self.places = {node.key: place for place, node in enumerate(self.segments)}
        self._ready: dict[int, P] = {}
        self._added = 0

    def done(self, key: object, found: P | None) -> None:
        """Note that something has been computed."""
        if key in self.names:
            self._done += 1
            self._watch.done(self._done)
        if key in self.places:
            self._ready[self.places[key]] = found  # type: ignore[assignment]
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


# --- Passes -------------------------------------------------------------------------------
#
# One task per piece; its results are added up where they are, eight at a time, and the sum alone
# comes back. Rows and labels stay on the workers. The shape of the sum depends on the number of
# pieces alone, so that any number of workers returns the same bits, and the same as
# `LocalPasses`.

_LOOK = 1.0  # seconds without news, after which one looks whether the cluster is still there


def _distributed() -> Any:
    return import_extra("distributed", "a cluster needs dask.distributed")


class DaskPasses(Passes):
    """Passes on dask.

    A worker that is lost is replaced by the others (dask does a piece again, on four workers at
    most); one that joins late gets its share. What goes wrong in a piece is raised here as it
    was raised there, and ends the pass. If the pass is stored (`StoredPasses`), about 16 sums
    come back instead of one, and a resumed pass begins after the last of those.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        client: Any = None,
        *,
        timeout: float = 60.0,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(pieces, progress)
        import_dask()
        self.timeout = timeout
        self._checked: set[str] = set()  # workers whose versions are ours
        self._own = isinstance(client, str)
        if client is None and "distributed" in sys.modules:
            client = _current_client()
        self.client = _connect(client, timeout) if isinstance(client, str) else client

    def close(self) -> None:
        """Leave the scheduler, if the connection was made here."""
        if self._own:
            self.client.close()

    def finish(self, task: Task[P], total: OrderedSum[P], watch: Watch[P]) -> P:
        """Do a task with the pieces that are not yet in a sum."""
        if len(total) < len(self.pieces):
            work = DaskGraph(self.pieces, task, total, watch)
            if self.client is None:
                self._on_threads(work)
            else:
                self._check_cluster()
                self._on_cluster(work)
        return total.value()

    def _on_threads(self, work: DaskGraph[P]) -> None:
        from dask.callbacks import Callback  # noqa: PLC0415

        try:
            with Callback(posttask=lambda key, found, *_: work.done(key, found)):
                import_dask().compute(
                    *work.segments, scheduler="threads", num_workers=thread_count()
                )
        except Exception as error:
            raise _explained(error, self._lazy_name) from error.__cause__

    def _on_cluster(self, work: DaskGraph[P]) -> None:
        """Compute, and hold on to no result of a piece: workers forget it once it is added."""
        pending: dict[Any, Any] = {}
        news: SimpleQueue[Any] = SimpleQueue()
        try:
            sent = self._compute([work.sent], pending, news)[0]
            self._result(work, pending.pop(self._next(news)))
            self._share(sent)
            self._compute([*work.pieces, *work.segments], pending, news)
            while pending:
                future = pending.pop(self._next(news), None)
                if future is not None:
                    work.done(future.key, self._result(work, future))
                    future.release()
        finally:
            # Nobody wants them any more, so they are not begun. (Client.cancel would fail on
            # sums of which there is no future, and take the connection with it.)
            for future in pending.values():
                future.release()

    def _compute(
        self, nodes: list[Any], pending: dict[Any, Any], news: "SimpleQueue[Any]"
    ) -> list[Any]:
        """Begin to compute something; the keys of what is finished are put into a queue."""
        # Tasks of some megabytes are meant: they are sent once, and told to no user.
        with import_dask().config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            futures: list[Any] = self.client.compute(nodes)
        pending.update((future.key, future) for future in futures)
        for future in pending.values():
            future.add_done_callback(lambda future: news.put(future.key))
        return futures

    def _share(self, sent: Any) -> None:
        """Copy a task to all workers, who hand it on to each other.

        Dask would give all pieces to the one that has the task, if they are few. Nothing depends
        on the copies: a worker without one will fetch it.
        """
        with contextlib.suppress(OSError, ValueError):
            self.client.replicate([sent])

    def _next(self, news: "SimpleQueue[Any]") -> Any:
        """Return the key of what is finished next, while there is somebody to finish it."""
        deadline = None
        while True:
            try:
                return news.get(timeout=_LOOK)
            except Empty:
                if self._workers():
                    deadline = None
                    continue
            deadline = deadline or time.monotonic() + self.timeout
            if time.monotonic() > deadline:
                raise InputError(
                    f"all workers of {self._address} are gone, and none came back within "
                    f"{self.timeout:g} seconds; see their logs (do they have unswayed and all "
                    "that it needs?), and start them again"
                )

    def _result(self, work: DaskGraph[P], future: Any) -> P | None:
        """Return the sum of a segment, and nothing for a piece, which stays where it is."""
        if future.cancelled():
            raise self._lost()
        error = future.exception()
        if error is not None:
            raise _explained(error, work.names.get(future.key)) from error.__cause__
        return future.result() if future.key in work.places else None

    @property
    def _address(self) -> str:
        return f"the scheduler at {self.client.scheduler.address}"

    def _lost(self) -> InputError:
        return InputError(
            f"the connection to {self._address} was lost before the pass was finished; see "
            "whether it still runs, and run this again"
        )

    def _workers(self) -> set[str]:
        """Return the addresses of the workers."""
        try:
            if self.client.status == "running":
                return set(self.client.scheduler_info()["workers"])
        except (OSError, CancelledError):
            pass
        raise self._lost() from None

    def _check_cluster(self) -> None:
        """Wait for a worker, and raise unless all have the versions that this process has."""
        if not self._checked:
            for package in VERSIONS:
                theirs = self.client.run_on_scheduler(pydoc.locate, f"{package}.__version__")
                check_version(package, theirs, self._address)
        deadline = time.monotonic() + self.timeout
        self._check_workers()
        while not self._workers() & self._checked:
            if time.monotonic() > deadline:
                raise InputError(
                    f"{self._address} has no workers, and none came within {self.timeout:g} "
                    f"seconds; start some: dask worker {self.client.scheduler.address}"
                )
            time.sleep(_LOOK / 10)
            self._check_workers()

    def _check_workers(self) -> None:
        """Raise if a worker that was not there before has other versions."""
        new = list(self._workers() - self._checked)
        if not new:
            return
        for package in VERSIONS:
            # A function of the standard library: a worker need not have ours to run it.
            wanted = f"{package}.__version__"
            found = self.client.run(pydoc.locate, wanted, workers=new, on_error="return")
            for worker, theirs in found.items():
                if not isinstance(theirs, OSError):  # it was lost meanwhile
                    check_version(package, theirs, f"the worker at {worker}")
                    self._checked.add(worker)

    @property
    def _lazy_name(self) -> str | None:
        """What to call a piece of which one does not know which it was."""
        return "a partition" if isinstance(self.pieces[0], Partition) else None


def _current_client() -> Any:
    """Return the client that dask would use, if there is one."""
    try:
        return _distributed().default_client()
    except ValueError:
        return None


def _connect(address: str, timeout: float) -> Any:
    try:
        return _distributed().Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no scheduler answers at {address} ({_first_line(error)}); check the address (it "
            "looks like tcp://host:8786), or start one: dask scheduler"
        ) from None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _explained(error: Exception, name: str | None) -> Exception:
    """Return an error as users of this package know it."""
    if isinstance(error, UnswayedError):
        return error
    kind = type(error).__name__
    if kind == "KilledWorker":
        # Dask blames every piece that was on those workers, and reports any of them first.
        return InputError(
            f"{name or 'a piece'}, or another on the same workers: one worker after the other "
            "died with it, probably for want of memory; use smaller pieces or larger workers, and "
            "see the workers' logs"
        )
    absent = error if isinstance(error, ModuleNotFoundError) else error.__cause__
    if isinstance(absent, ModuleNotFoundError):
        return InputError(
            f"{absent.name} is not installed where it is needed; install the same packages on "
            "all machines of the cluster"
        )
    if name is None or any(note.startswith(NOTE) for note in getattr(error, "__notes__", ())):
        return error  # a bug of ours
    return InputError(f"{name} cannot be computed: {kind}: {_first_line(error)}")
