"""Exact arithmetic: doubles as integers times powers of two, and matrices of integers."""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError

# The exponent of zero: above that of every double, so that a minimum passes it over.
_NO_EXPONENT = 1 << 20


def power_of_two(exponent: int) -> Fraction:
    """Return 2**exponent, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@dataclass(frozen=True, slots=True, eq=False)
class Dyadic:
    """Finite doubles as odd integers (or 0) times 2**exponent.

    Examples
    --------
    >>> halves = Dyadic.of(np.array([0.5, 3.0, 0.0]))
    >>> halves.least(), halves.over(-1)
    (-1, [1, 6, 0])
    """

    odd: IntArray
    exponent: IntArray

    @classmethod
    def of(cls, values: FloatArray) -> "Dyadic":
        """Split doubles into odd integers and powers of two; raise if one is not finite."""
        if not np.isfinite(values).all():  # scikit-learn may have been told not to look
            raise InputError(
                "NaN and infinity are no numbers to compute with exactly; drop such rows, or "
                "fill their values in"
            )
        fraction, exponent = np.frexp(values)
        whole = (fraction * 2.0**53).astype(np.int64)
        lowest_bit = whole & -whole
        trailing = np.maximum(np.frexp(lowest_bit.astype(np.float64))[1] - 1, 0)
        zero = whole == 0
        return cls(
            whole >> trailing,
            np.where(zero, _NO_EXPONENT, exponent.astype(np.int64) - 53 + trailing),
        )

    def __getitem__(self, rows: int | slice | IntArray) -> "Dyadic":
        return Dyadic(self.odd[rows], self.exponent[rows])

    def scaled(self, exponent: IntArray) -> "Dyadic":
        """Return the values times 2**exponent."""
        zero = self.exponent == _NO_EXPONENT
        return Dyadic(self.odd, np.where(zero, _NO_EXPONENT, self.exponent + exponent))

    def least(self) -> int:
        """Return the largest e for which all values are multiples of 2**e; 0 if all are zero."""
        found = int(self.exponent.min(initial=_NO_EXPONENT))
        return 0 if found == _NO_EXPONENT else found

    def least_by_column(self) -> IntArray:
        """Return `least` of every column; a column of zeros gets the largest of the others."""
        found = self.exponent.min(axis=0, initial=_NO_EXPONENT)
        known = found != _NO_EXPONENT
        return np.where(known, found, found[known].max(initial=-_NO_EXPONENT) if known.any() else 0)

    def over(self, exponent: int | IntArray) -> list[int]:
        """Return the values divided by 2**exponent, which must be whole, in C order."""
        shift = np.where(self.odd == 0, 0, self.exponent - exponent)
        if (shift <= 9).all():  # 53 bits and 9 more fit into an int64 with its sign
            return list((self.odd << shift).ravel().tolist())
        pairs = zip(self.odd.ravel().tolist(), shift.ravel().tolist(), strict=True)
        return [odd << by for odd, by in pairs]


def nearest(value: Fraction) -> float:
    """Return the nearest double; infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def enclose(value: Fraction) -> tuple[float, float]:
    """Return the nearest doubles below and above; the same one twice if the value is a double.

    Examples
    --------
    >>> enclose(Fraction(1, 2))
    (0.5, 0.5)
    >>> enclose(Fraction(1, 10))
    (0.09999999999999999, 0.1)
    """
    found = nearest(value)
    if found > value:
        return math.nextafter(found, -math.inf), found
    return found, found if found == value else math.nextafter(found, math.inf)


def whole_sums(values: Sequence[int], group: IntArray, n_groups: int) -> list[int]:
    """Return the exact sum of the values of each group."""
    sums = [0] * n_groups
    for value, at in zip(values, group.tolist(), strict=True):
        sums[at] += value
    return sums


# --- Matrices of integers, by python-flint --------------------------------------------------

_PRIMES = (2**61 - 1, 2**62 - 57, 2**63 - 25, 2**64 - 59)


def exact_arithmetic() -> Any:
    """Return the module `flint`."""
    try:
        return importlib.import_module("flint")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "exact rational arithmetic needs python-flint, which is not installed; "
            "pip install 'unswayed[exact]'",
            name="flint",
        ) from error


def column_of(matrix: Any, column: int) -> list[int]:
    """Return one column of a matrix as Python integers."""
    return [int(matrix[row, column]) for row in range(matrix.nrows())]


def diagonal(values: Sequence[int]) -> Any:
    """Return a square matrix with these values on its diagonal."""
    matrix = exact_arithmetic().fmpz_mat(len(values), len(values))
    for at, value in enumerate(values):
        matrix[at, at] = value
    return matrix


def scale_rows(matrix: Any, factors: Sequence[int]) -> Any:
    """Return a matrix with each row multiplied by its factor."""
    if all(factor == 1 for factor in factors):
        return matrix
    width = matrix.ncols()
    entries = matrix.entries()
    scaled = [entry * factors[at // width] for at, entry in enumerate(entries)] if width else []
    return type(matrix)(matrix.nrows(), width, scaled)


def take(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """Return some rows and columns of a matrix."""
    chosen = [matrix[row, column] for row in rows for column in columns]
    return type(matrix)(len(rows), len(columns), chosen)


def _pivots(matrix: Any, prime: int) -> list[int]:
    """Return columns that are independent modulo a prime, and therefore over the rationals."""
    reduced, rank = exact_arithmetic().nmod_mat(matrix, prime).rref()
    found: list[int] = []
    for row in range(rank):
        column = found[-1] + 1 if found else 0
        while reduced[row, column] == 0:
            column += 1
        found.append(column)
    return found


def is_surely_regular(matrix: Any) -> bool:
    """Return whether a square matrix is regular modulo a large prime, and therefore regular.

    A regular matrix fails this test if the prime divides its determinant, which is rare.
    """
    return bool(exact_arithmetic().nmod_mat(matrix, _PRIMES[0]).det() != 0)


def _is_spanned(matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> bool:
    """Return whether some rows span all rows; their part in `columns` must be regular."""
    other_columns = sorted(set(range(matrix.ncols())) - set(columns))
    other_rows = sorted(set(range(matrix.nrows())) - set(rows))
    if len(other_rows) < len(other_columns):  # the same question of the transpose is cheaper
        return _is_spanned(matrix.transpose(), columns, rows)
    if not other_columns:
        return True
    everything = range(matrix.nrows())
    square = take(matrix, rows, columns)
    answer = square.solve(take(matrix, rows, other_columns))
    numerator, denominator = answer.numer_denom()
    made = take(matrix, everything, columns) * numerator
    return bool(made == take(matrix, everything, other_columns) * denominator)


def independent_rows(matrix: Any) -> list[int]:
    """Return the numbers of rows that are a basis of a matrix's row space, over the rationals."""
    for prime in _PRIMES:
        rows = _pivots(matrix.transpose(), prime)
        chosen = take(matrix, rows, range(matrix.ncols()))
        # A prime may hide independent rows but never invent them: what it found is checked.
        if _is_spanned(matrix, rows, _pivots(chosen, prime)):
            return rows
    raise ArithmeticError("the rank of the training features differs modulo four large primes")
