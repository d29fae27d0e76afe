"""Operations on python-flint's integer matrices that exact arithmetic needs."""

import importlib
from collections.abc import Sequence
from typing import Any

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
