"""Parts: what is found in some of the data; parts of all of it add up."""

from typing import Protocol, Self, TypeVar


class Part(Protocol):
    """What is found in some of the rows, or labels."""

    def __add__(self, other: Self) -> Self: ...


P = TypeVar("P", bound=Part)
