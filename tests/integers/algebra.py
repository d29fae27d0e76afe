"""Linear algebra in integers of any size.

Doubles are integers over powers of two, so that nothing is rounded. Such integers can be long:
their memory is charged to a `Room` before they are made.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import gcd
from operator import mul
from typing import Any

from unswayed.verify.document import CertificateError
from unswayed.verify.doubles import FloatArray

MOST_EXACT_BYTES = 300 * 2**20  # of exact numbers at any one time
Integers = list[list[int]]
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]  # steps, what they do, how many


class Matrix:
    """Rows of Python's floats."""

    def __init__(self, rows: FloatArray) -> None:
        self.width, self._rows = rows.shape[1], rows

    @property
    def numbers(self) -> list[float]:
        """All of them, row by row."""
        return list(self._rows.ravel().tolist())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> list[float]:
        return list(self._rows[row].tolist())

    def __iter__(self) -> Iterator[list[float]]:
        return map(self.__getitem__, range(len(self)))


class Room:
    """A budget of memory for exact numbers, charged before they are made.

    An integer of b bits takes 28 + 4·⌈b/30⌉ bytes in CPython, and 8 more in a list.
    """

    def __init__(self, n_bytes: int = MOST_EXACT_BYTES) -> None:
        self._left = n_bytes

    def take(self, count: int, bits: int) -> None:
        """Charge the memory of integers that are kept."""
        self.check(count, bits)
        self._left -= _size(count, bits)

    def check(self, count: int, bits: int) -> None:
        """Raise unless there is memory left for integers; nothing is charged."""
        if _size(count, bits) > self._left:
            raise CertificateError(
                f"{count:,} exact numbers of about {bits:,} bits would take more memory than the "
                "checker allows itself; certify fewer rows or features, or features of fewer digits"
            )


def _size(count: int, bits: int) -> int:
    """Return the bytes that integers of so many bits take."""
    return count * (40 + bits * 4 // 30)


class SingularError(CertificateError):
    """Equations without a unique solution."""


def common_power(values: Iterable[float]) -> int:
    """Return the least power of two that makes all of these doubles whole when multiplied by it."""
    return max((value.as_integer_ratio()[1] for value in values), default=1)


def whole(values: Iterable[float], power: int) -> list[int]:
    """Return doubles times a power of two as integers."""
    return [above * (power // below) for above, below in (v.as_integer_ratio() for v in values)]


def bits(values: Iterable[int]) -> int:
    """Return the length of the longest of these integers, in bits."""
    return max((value.bit_length() for value in values), default=0)


def bits_of_doubles(values: Iterable[float], power: int) -> int:
    """Return an upper bound on the length of these doubles times a power of two, in bits."""
    largest = max(map(abs, values), default=0.0)
    return (int(largest) + 1).bit_length() + power.bit_length()


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    """Return the sum of products of two vectors."""
    return sum(map(mul, a, b))


def inverse(matrix: Integers, room: Room, track: Track) -> tuple[Integers, int]:
    """Return the inverse of a matrix of integers, by Bareiss' elimination."""
    size, last = len(matrix), 1
    # All numbers on the way are minors of the matrix, which Hadamard's inequality bounds; of the
    # 2·size columns as many as the matrix has are neither 0 nor 1 at any time.
    room.take(size * size, size * (bits(chain.from_iterable(matrix)) + size.bit_length() // 2 + 1))
    rows = [[*row, *(int(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for k in track(range(size), "inverting", size):
        at = next((i for i in range(k, size) if rows[i][k]), None)
        if at is None:
            raise SingularError("the equations of its model are singular")
        rows[k], rows[at] = rows[at], rows[k]
        top, pivot = rows[k], rows[k][k]
        for i, row in enumerate(rows):
            if i != k:  # the divisions are exact
                rows[i] = [(pivot * a - row[k] * b) // last for a, b in zip(row, top, strict=True)]
        last = pivot
    shared = gcd(last, *chain(*(row[size:] for row in rows))) * (1 if last > 0 else -1)
    for i, row in enumerate(rows):
        rows[i] = [number // shared for number in row[size:]]
    return rows, last // shared


def independent_rows(rows: Iterable[list[int]], room: Room) -> Integers:
    """Return rows of which none is a combination of the others, but all rows are of them."""
    found: list[tuple[int, list[int], list[int]]] = []  # a place, 0 in later rests; rest; row
    for row in rows:
        rest, last = row, 1
        for lead, other, _ in found:
            room.check(2 * len(row), bits(rest) + other[lead].bit_length())
            pivot, factor = other[lead], rest[lead]
            # Exact divisions, as in `inverse`: these numbers are minors of the rows.
            rest = [(pivot * a - factor * b) // last for a, b in zip(rest, other, strict=True)]
            last = pivot
        if any(rest):
            lead = next(j for j, number in enumerate(rest) if number)
            room.take(len(row), bits(rest))
            found.append((lead, rest, row))
        if len(found) == len(row):
            break
    return [row for *_, row in found]
