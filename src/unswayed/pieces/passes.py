"""Passes: a task is done with every batch of every piece, and the results are added up.

Results are added in one order, that of the batches in a piece and then that of the pieces, whoever
is finished first: as a number of workers or threads changes, not a bit of the sum does.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeAlias

from unswayed._core.kernels import one_blas_thread, thread_count
from unswayed._core.rounding import check_arithmetic
from unswayed._core.tally import P
from unswayed.pieces.pieces import Batch, Piece


class Task(ABC, Generic[P]):
    """What is done with the rows of a batch. It is pickled to travel to workers."""

    title: str  # What a progress line calls it

    @abstractmethod
    def nothing(self) -> P:
        """Return what is found in no rows."""

    @abstractmethod
    def batch(self, number: int, piece: Piece, batch: Batch) -> P:
        """Return what is found in a batch."""

    def piece(self, number: int, piece: Piece) -> P:
        """Return what is found in a whole piece, one batch after the other."""
        total: OrderedSum[P] = OrderedSum(self.nothing())
        with one_blas_thread:
            for batch in piece.batches():
                total.add(self.checked(number, piece, batch))
        return total.value()

    def checked(self, number: int, piece: Piece, batch: Batch) -> P:
        """Return what is found in a batch, in a thread that rounds as proofs assume."""
        found = self.batch(number, piece, batch)
        check_arithmetic()  # of this thread, after what others may have done in it
        return found


class OrderedSum(Generic[P]):
    """A sum of many parts, added in pairs, so that few roundings follow one another.

    Which parts are added to which depends on their number alone: sums of 2, 4, 8, … parts each,
    from the first part on. So a sum of sums of 8 parts each (whose last one may be of fewer) has
    the same bits, and so has one that goes on from the `runs` of another.
    """

    def __init__(self, nothing: P, runs: Sequence[tuple[int, P]] = ()) -> None:
        self._nothing = nothing
        self.runs = list(runs)

    def __len__(self) -> int:
        return sum(2**level for level, _ in self.runs)

    def add(self, part: P, level: int = 0) -> None:
        """Add the next part."""
        while self.runs and self.runs[-1][0] == level:
            part = self.runs.pop()[1] + part
            level += 1
        self.runs.append((level, part))

    def value(self) -> P:
        """Return the sum of all parts."""
        if not self.runs:
            return self._nothing
        total = self.runs[-1][1]
        for _, part in reversed(self.runs[:-1]):
            total = part + total
        return total


Progress: TypeAlias = Callable[[str, int, int], object]
"""Told what a pass does ("pass 3: counting"), the number of pieces done, and of all pieces."""


class Watch(Generic[P]):
    """Told how far a pass is, and hands it on to a caller who wants to know."""

    saves = False

    def __init__(self, report: Callable[[int], object]) -> None:
        self.done = report  # so many pieces are done, in whatever order

    def save(self, total: OrderedSum[P]) -> None:
        """Note the sum of the first pieces."""


class Passes(ABC):
    """The base of executors: it runs tasks on all pieces of the training rows."""

    def __init__(self, pieces: Sequence[Piece], progress: Progress | None = None) -> None:
        self.pieces = pieces
        self.progress = progress
        self.made = 0

    @property
    def names(self) -> Sequence[str]:
        """Names of the pieces."""
        return [piece.name for piece in self.pieces]

    @abstractmethod
    def finish(self, task: Task[P], total: OrderedSum[P], watch: Watch[P]) -> P:
        """Do a task with the pieces that are not yet in a sum."""

    def run(self, task: Task[P]) -> P:
        """Do a task with every piece."""
        title, progress = f"pass {self.made + 1}: {task.title}", self.progress
        total = len(self.pieces)
        watch: Watch[P] = Watch(lambda done: progress and progress(title, done, total))
        watch.done(0)
        found = self.finish(task, OrderedSum(task.nothing()), watch)
        self.made += 1
        return found


class LocalPasses(Passes):
    """Passes in this process: one thread reads, the others do the tasks."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(pieces, progress)
        self._threads = threads or thread_count()

    def _batches(self, first: int) -> Iterator[tuple[int, Piece, Batch] | None]:
        """Read pieces from the given one on; after each of them comes None."""
        for number in range(first, len(self.pieces)):
            piece = self.pieces[number]
            for batch in piece.batches():
                yield number, piece, batch
            yield None

    def finish(self, task: Task[P], total: OrderedSum[P], watch: Watch[P]) -> P:
        """Do a task with the pieces that are not yet in a sum."""
        here: OrderedSum[P] = OrderedSum(task.nothing())  # of the piece

        def settle(future: Future[P] | None) -> None:
            if future is not None:
                here.add(future.result())
                return
            total.add(here.value())
            here.runs.clear()
            watch.done(len(total))
            watch.save(total)

        waiting: deque[Future[P] | None] = deque()
        with one_blas_thread, ThreadPoolExecutor(self._threads) as pool:
            try:
                for work in self._batches(len(total)):
                    waiting.append(work and pool.submit(task.checked, *work))
                    while len(waiting) - waiting.count(None) > self._threads:
                        settle(waiting.popleft())
                while waiting:
                    settle(waiting.popleft())
            finally:
                for future in waiting:
                    if future is not None:
                        future.cancel()
        return total.value()
