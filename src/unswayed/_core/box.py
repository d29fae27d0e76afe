"""Bounds from a box and from an ellipsoid: cheap, sound for every direction, loose for most.

For a fixed budget let h(r) be the furthest the score of direction r can rise, over all label
vectors the bias allows. It is convex, subadditive and positively homogeneous; the score can fall
by h(-r). Both bounds below hold for every r, and for every direction whose entries differ from
r's by one rounding.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unswayed._core.rounding import PRODUCT_UNDERFLOW, SAFETY, UNIT, gamma, norm
from unswayed._typing import FloatArray

_NORM_UNDERFLOW = 2.0**-530  # more than a norm loses where a square underflows


@dataclass(frozen=True, eq=False)
class Box:
    """Bound on h from a basis b_j (paper, section 5).

    For r = Σ_j u_j·b_j it is h(r) <= Σ_j u_j⁺·h(b_j) + u_j⁻·h(-b_j).
    """

    rise: FloatArray  # at least h(b_j)
    fall: FloatArray  # at least h(-b_j)
    basis: FloatArray | None = None  # columns b_j, orthonormal up to rounding; None for units
    missed: float = 0.0  # at least h of what the basis misses of r, per unit of ‖r‖

    @classmethod
    def of_basis(
        cls, rise: FloatArray, fall: FloatArray, basis: FloatArray, longest: float
    ) -> "Box":
        """Return the box of the columns of `basis`, which must be orthonormal up to rounding.

        `longest` is an upper bound on h of any unit vector.
        """
        size = len(basis)
        off = float(np.linalg.norm(np.eye(size) - basis @ basis.T))
        off += gamma(4 * size) * (1.0 + float(np.linalg.norm(basis))) ** 2
        return cls(rise, fall, basis, SAFETY * off * longest)

    @cached_property
    def longest(self) -> float:
        """Upper bound on h of any vector of norm 1, for the box of unit vectors."""
        return norm(np.maximum(self.rise, self.fall))

    def reach(self, directions: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return upper bounds on h(r) and h(-r) for every row r of `directions`.

        `sizes` are upper bounds on the norms of the rows.
        """
        u = directions if self.basis is None else directions @ self.basis
        positive = np.maximum(u, 0.0)
        negative = positive - u
        growth = 1.0 + gamma(2 * len(self.rise) + 16)
        # Of the products, and of the directions themselves.
        lost = PRODUCT_UNDERFLOW * len(self.rise) * (1.0 + self.longest)
        underflow = lost if self.longest > 0 else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            extra = self.missed * sizes + np.where(sizes == 0, 0.0, underflow)
            up = growth * (positive @ self.rise + negative @ self.fall + extra)
            down = growth * (positive @ self.fall + negative @ self.rise + extra)
        return np.where(np.isnan(up), np.inf, up), np.where(np.isnan(down), np.inf, down)


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """Bound on h by Cauchy-Schwarz: h(r) <= √budget·‖factorᵀr‖ + missed·‖r‖.

    The first norm is that of the vector of effects that single labels have on direction r; the k
    largest of these effects add up to at most √k times it.
    """

    factor: FloatArray
    size: float
    missed: float  # for rounding in the factor and in images

    def image(self, directions: FloatArray) -> FloatArray:
        """Return directions in the coordinates where the norm is Euclidean."""
        return directions @ self.factor

    def reach(self, image: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return upper bounds on h(r), and thus on h(-r), from images of r and their sizes."""
        norms = np.sqrt(np.einsum("ij,ij->i", image, image))
        norms += np.where(sizes == 0, 0.0, _NORM_UNDERFLOW * len(self.factor))
        return np.asarray(SAFETY * (self.size * norms + self.missed * sizes))

    @classmethod
    def of(cls, gram: FloatArray, error: float, off: float, budget: int) -> "Ellipsoid":
        """Return the ellipsoid of a Gram matrix of effects: rᵀ·gram·r is the squared norm.

        `error` bounds the error of the matrix and `off` that of the effects it is made of. What is
        lost in the factor is bounded by comparing its square with the matrix again.
        """
        values, vectors = np.linalg.eigh(gram)
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        size, longest = len(gram), norm(factor)
        error += norm(gram - factor @ factor.T) + gamma(2 * size) * longest**2
        missed = math.sqrt(error) + off + (gamma(size + 8) + 8 * UNIT) * longest
        return cls(factor, math.sqrt(budget), SAFETY * math.sqrt(budget) * missed)
