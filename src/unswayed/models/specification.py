"""Specification: the numbers that define a model, for exact arithmetic and certificate files."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed._core.dyadic import Dyadic, power_of_two
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.doubles import dense
from unswayed.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class InfluenceRow:
    """Influence of the labels on one score: ``z_i = scale · s_i · numerators[group_i]``.

    Training row i is in group `group_i` of equal training rows and has sample weight s_i.
    """

    numerators: list[int]
    scale: Fraction  # positive


class ExactInfluence(ABC):
    """Influence of the labels on scores, in rational arithmetic."""

    group: IntArray  # of each training row; rows of weight 0 may be in any
    n_groups: int

    @abstractmethod
    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the score of each row."""

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Yield the influence on each of some coefficients."""
        raise InputError("this model has no coefficients; ask about rows instead")

    def combinations(self, weights: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on linear combinations of coefficients."""
        raise InputError("this model has no coefficients; ask about rows instead")


class GivenInfluenceRows(ExactInfluence):
    """Exact form of influence rows that are given as doubles."""

    def __init__(self, n_rows: int) -> None:
        self.group, self.n_groups = np.arange(n_rows), n_rows

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield each influence row as whole numbers times a power of two."""
        for values in dense(represented):
            row = Dyadic.of(values)
            low = row.least()
            yield InfluenceRow(row.over(low), power_of_two(low))


def _checksum(matrix: Matrix) -> int:
    # Of sparse ones the data alone: they are copies, nobody else has them.
    data = matrix.data if hasattr(matrix, "indptr") else matrix
    # It must depend on the order of the rows: shuffling them in place is a change too.
    return zlib.crc32(np.ascontiguousarray(data).data)


class Specification(ABC):
    """The kind of a model and the doubles that define it."""

    kind: str  # Its name in certificate files

    def __init__(
        self, matrix: Matrix | None = None, *, sample_weight: FloatArray | None = None
    ) -> None:
        self.sample_weight = sample_weight
        # Not a copy: features may be gigabytes. The sum tells if somebody wrote into them since.
        self._matrix = matrix
        self._sum = None if matrix is None else _checksum(matrix)

    @property
    def matrix(self) -> Matrix | None:
        """What the model is trained on, or None; raises InputError if it was changed since."""
        if self._matrix is not None and _checksum(self._matrix) != self._sum:
            raise InputError(
                "the training features were changed in place after fit, so that nothing exact "
                "can be said of the fitted model any more; fit again"
            )
        return self._matrix

    def weights(self, n_rows: int) -> FloatArray:
        """Return the sample weights, 1 where none were given."""
        return np.ones(n_rows) if self.sample_weight is None else self.sample_weight

    @abstractmethod
    def exact(self, n_rows: int) -> ExactInfluence:
        """Return the model in rational arithmetic."""

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, apart from its weights."""
        return {"kind": self.kind}


class SmootherSpecification(Specification):
    """Score z·y for given influence z: the form of every model without one of its own."""

    kind = "smoother"

    def exact(self, n_rows: int) -> GivenInfluenceRows:
        """Return the given influence rows in rational arithmetic."""
        return GivenInfluenceRows(n_rows)
