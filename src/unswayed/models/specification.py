"""Specification: a model in full, as numbers, for exact arithmetic and for checkers."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from unswayed._core.dyadic import Dyadic, power_of_two
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.doubles import dense
from unswayed.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class InfluenceRow:
    """Influence of the labels on one score: ``z_i = scale · s_i · numerators[group_i]``.

    Whole numbers, one per group of equal training rows, and one positive rational; s_i is the
    sample weight of training row i.
    """

    numerators: list[int]
    scale: Fraction  # positive


class ExactInfluence(ABC):
    """Influence rows in rational arithmetic."""

    group: IntArray  # of each training row; rows of weight 0 may be in any
    n_groups: int

    @abstractmethod
    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Return influence on the score of each row, as the learner's `represent` returns it."""

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Return influence on some coefficients, by number; by default on all."""
        raise InputError("this model has no coefficients; ask about rows instead")


class GivenInfluenceRows(ExactInfluence):
    """Influence rows that are given."""

    def __init__(self, n_rows: int) -> None:
        self.group, self.n_groups = np.arange(n_rows), n_rows

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Return influence rows as whole numbers."""
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
    """Which model it is, and the doubles that define it.

    Parameters
    ----------
    matrix : matrix, optional
        What the model is trained on: features, or a kernel.
    sample_weight : (n,) array, optional

    Attributes
    ----------
    kind : str
        Its name in certificate files.
    """

    kind: ClassVar[str]

    def __init__(
        self, matrix: Matrix | None = None, *, sample_weight: FloatArray | None = None
    ) -> None:
        self.sample_weight = sample_weight
        # Not a copy: features may be gigabytes. The sum tells if somebody wrote into them since.
        self._matrix = matrix
        self._sum = None if matrix is None else _checksum(matrix)

    @property
    def matrix(self) -> Matrix | None:
        """What the model is trained on; None if there is no such thing."""
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
        """Return the model in rational arithmetic, trained on `n_rows` labels."""

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, beside its weights."""
        return {"kind": self.kind}


class SmootherSpecification(Specification):
    """Score z·y for the influence z as it is given: that of every model without its own form."""

    kind = "smoother"

    def exact(self, n_rows: int) -> GivenInfluenceRows:
        """Return influence rows as they are given."""
        return GivenInfluenceRows(n_rows)
