"""Progress where there is no terminal: a line now and then, for logs."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
EVERY = 10.0  # seconds


class ProgressLines:
    """Says in a line how far long work has come, every ten seconds.

    Parameters
    ----------
    say : callable
        Takes the line.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._clock = say, clock

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield steps, and say how many of them are done.

        Parameters
        ----------
        steps : iterable
        what : str
            Name of the work.
        total : int
            Number of steps.

        Yields
        ------
        object
            The steps, unchanged.
        """
        said = self._clock()
        for done, step in enumerate(steps, start=1):
            yield step
            if self._clock() - said >= EVERY:
                self._say(f"{what}: {done:,} of {total:,}")
                said = self._clock()
