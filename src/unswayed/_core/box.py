"""Bounds from a box and from an ellipsoid: cheap, sound for every direction, loose for most.

For a fixed budget let h(r) be the furthest the score of direction r can rise, over all label
vectors the bias allows. It is convex, subadditive and positively homogeneous; the score can fall
by h(-r). Both bounds below hold for every r.
"""

from dataclasses import dataclass

import numpy as np

from unswayed._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """h(r) <= Σ_j u_j⁺·h(b_j) + u_j⁻·h(-b_j) for r = Σ_j u_j·b_j (paper, section 5)."""

    rise: FloatArray  # h(b_j)
    fall: FloatArray  # h(-b_j)
    basis: FloatArray | None = None  # orthonormal columns b_j; None for unit vectors

    def reach(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds on h(r) and h(-r), one row each."""
        u = directions if self.basis is None else directions @ self.basis
        positive = np.maximum(u, 0.0)
        negative = positive - u
        return (
            positive @ self.rise + negative @ self.fall,
            positive @ self.fall + negative @ self.rise,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """h(r) <= √budget·‖factorᵀr‖ (Cauchy–Schwarz).

    The norm is that of the effects of all single labels on direction r; the k largest of them
    add up to at most √k times it.
    """

    factor: FloatArray
    size: float

    def image(self, directions: FloatArray) -> FloatArray:
        """Directions in the coordinates where the norm is Euclidean."""
        return directions @ self.factor

    def reach(self, image: FloatArray) -> FloatArray:
        """Bound on h(r), and on h(-r), from the image of r."""
        return np.asarray(self.size * np.sqrt(np.einsum("ij,ij->i", image, image)))

    @classmethod
    def of(cls, gram: FloatArray, budget: int) -> "Ellipsoid":
        """Build from the Gram matrix of the effects: rᵀ·gram·r is the squared norm."""
        values, vectors = np.linalg.eigh(gram)
        return cls(vectors * np.sqrt(np.maximum(values, 0.0)), float(np.sqrt(budget)))
