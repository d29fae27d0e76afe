"""Progress: who is told how far the work is."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Told of the steps of long work, one by one."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps, telling the reader how many of `total` are done."""
        ...


class Silent:
    """Tells nobody."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps."""
        yield from steps
