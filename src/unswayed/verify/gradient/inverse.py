"""Inverses in the order of quadratic forms.

Let H be a regular matrix Σ c_i a_i a_iᵀ + Λ with c >= 0, and G symmetric with every row of |I - HG|
summing up to d < 1 at most, in some units of the parameters. The eigenvalues of HG are those of
H^½ G H^½, hence real, and within d of 1. So G / (1 + d) ≼ H⁻¹ ≼ G / (1 - d).
"""

from dataclasses import dataclass

import numpy as np

from unswayed.verify.floating.rounding import SAFETY, TINY, FloatArray, UnprovenError, gamma
from unswayed.verify.gradient.problem import Gram


@dataclass(frozen=True, slots=True)
class Inverse:
    """G, and a bound d on how far HG is from 1."""

    matrix: FloatArray
    defect: float

    @property
    def above(self) -> FloatArray:
        """What H⁻¹ is not above, up to two roundings of each entry."""
        return self.matrix / (1.0 - self.defect)

    @property
    def below(self) -> FloatArray:
        """What H⁻¹ is not below, up to two roundings of each entry."""
        return self.matrix / (1.0 + self.defect)


def inverse(gram: Gram) -> Inverse:
    """Return the inverse of a matrix, with a proof."""
    if not np.isfinite(gram.matrix).all():
        raise UnprovenError("the equations overflow")
    half = (np.frexp(gram.matrix.diagonal())[1] // 2)[:, None]
    matrix = np.ldexp(gram.matrix, -(half + half.T))
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise UnprovenError("the equations look singular") from None
    found = (found + found.T) / 2
    positive, sizes = np.abs(found), np.ldexp(gram.sizes, -half[:, 0])
    missed = np.abs(matrix @ found - np.eye(len(found))).sum(axis=1)
    rounding = gamma(len(found) + 3) * (np.abs(matrix) @ positive.sum(axis=1) + 1.0)
    doubt = gram.doubt * sizes * float(sizes @ positive.sum(axis=1))
    defect = float((missed + rounding + doubt).max(initial=0.0)) * SAFETY + TINY
    if not defect < 0.5:
        raise UnprovenError("the equations are too close to singular")
    return Inverse(np.ldexp(found, -(half + half.T)), defect)
