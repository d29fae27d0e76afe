"""A matrix of doubles, row by row."""

import sys
from array import array
from collections.abc import Iterator
from typing import Any


class Matrix:
    """Rows of doubles, in eight bytes each."""

    def __init__(self, width: int, numbers: "array[float] | None" = None) -> None:
        self.width = width
        self.numbers: array[float] = array("d") if numbers is None else numbers
        self._n_rows = len(self.numbers) // width if width else 0

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, row: int) -> "array[float]":
        return self.numbers[row * self.width : (row + 1) * self.width]

    def __iter__(self) -> Iterator["array[float]"]:
        return map(self.__getitem__, range(len(self)))

    def append(self, row: "array[float]") -> None:
        """Add a row."""
        self.numbers.extend(row)
        self._n_rows += 1

    def column(self, at: int) -> "array[float]":
        """Return one column."""
        return self.numbers[at :: self.width]

    @classmethod
    def of_no_columns(cls, n_rows: int) -> "Matrix":
        """Return a matrix of empty rows."""
        made = cls(0)
        made._n_rows = n_rows
        return made


def little_endian(numbers: "array[Any]") -> "array[Any]":
    """Return numbers with their bytes in little-endian order; swapped in place where necessary."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
