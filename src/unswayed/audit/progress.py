"""Progress: who is told how far the work is."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Shows how far long work has come."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps, and show how many of them are done."""
        ...


class Silent:
    """Progress that is not shown."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps."""
        yield from steps
