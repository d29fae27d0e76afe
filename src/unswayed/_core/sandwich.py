"""Bounds on the reach of every direction, from boxes, an ellipsoid and anchors.

For a fixed budget let h(r) be the furthest the score of direction r can rise, over all label
vectors the bias allows. It is convex, subadditive and positively homogeneous; the score can fall
by h(-r). Boxes and the ellipsoid hold for every r, and for every direction whose entries differ
from r's by one rounding.

Anchors are directions of known reach. For an anchor c with exact h(c), reached by the parameter
shift g:

- below: h(r) >= g·r for every reachable shift g (a cutting plane);
- above: h(r) <= a·h(c) + h(r - a·c) for every a >= 0, and the rest r - a·c is bounded by a box
  or an ellipsoid, or by another anchor and a smaller rest. For a < 0 the anchor is -c.

Both are exact at r = c, so every exact evaluation sharpens them. The cost does not depend on
the number of training rows.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from unswayed._core.rounding import PRODUCT_UNDERFLOW, SAFETY, UNIT, Bounds, gamma, narrower, norm
from unswayed._typing import FloatArray, IntArray

_CHUNK = 1024  # rows at a time: a chunk's products with all anchors stay in cache
_NEAREST = 3  # anchors tried as they are; more were never better by half a point
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


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Directions of known reach, and the parameter shifts that attain it."""

    directions: FloatArray  # (K, q)
    sizes: FloatArray  # (K,) at least their norms
    up: FloatArray  # (K,) at least h(c)
    down: FloatArray  # (K,) at least h(-c)
    shift_up: FloatArray  # (K, q) g with g·c = h(c)
    shift_down: FloatArray  # (K, q) g with -g·c = h(-c)

    @classmethod
    def none(cls, n_parameters: int) -> "Anchors":
        """Return an empty set of anchors."""
        empty, nothing = np.empty((0, n_parameters)), np.empty(0)
        return cls(empty, nothing, nothing, nothing, empty, empty)

    def __len__(self) -> int:
        return len(self.directions)

    def __add__(self, other: "Anchors") -> "Anchors":
        return Anchors(
            *(
                np.concatenate((getattr(self, each.name), getattr(other, each.name)))
                for each in fields(Anchors)
            )
        )

    def __getitem__(self, kept: IntArray | slice) -> "Anchors":
        return Anchors(*(getattr(self, each.name)[kept] for each in fields(Anchors)))


@dataclass(frozen=True, slots=True, eq=False)
class _Rests:
    """Remainders of rows after multiples of anchors were subtracted, and the reach of these."""

    directions: FloatArray
    image: FloatArray
    up: FloatArray  # paid so far
    down: FloatArray
    sizes: FloatArray  # of the row and of everything taken off: what rounding is relative to


class AnchoredBounds:
    """Bounds on the reach of rows from boxes, an ellipsoid and anchors.

    Immutable: adding anchors makes a new object, so readers need no lock.
    """

    def __init__(
        self,
        boxes: tuple[Box, ...],
        ellipsoid: Ellipsoid,
        anchors: Anchors,
        plane_error: float = 0.0,
    ) -> None:
        self.boxes = boxes
        self.ellipsoid = ellipsoid
        self.anchors = anchors
        self.plane_error = plane_error
        # A rest is computed with a few roundings of everything that it was computed from.
        self._rounding = boxes[0].longest * 16 * UNIT
        self._underflow = 16 * PRODUCT_UNDERFLOW if boxes[0].longest > 0 else 0.0
        self._planes = np.concatenate((anchors.shift_up, anchors.shift_down)).T.copy()
        self._images = ellipsoid.image(anchors.directions)
        self._squares = np.einsum("ij,ij->i", self._images, self._images)
        known = self._squares > 0
        with np.errstate(over="ignore"):
            self._inverse_squares = np.where(known, 1.0 / np.where(known, self._squares, 1.0), 0.0)

    def with_anchors(self, anchors: Anchors) -> "AnchoredBounds":
        """Return the same boxes and ellipsoid with other anchors."""
        return AnchoredBounds(self.boxes, self.ellipsoid, anchors, self.plane_error)

    def _bounded(self, rests: _Rests) -> tuple[FloatArray, FloatArray]:
        """Return outer bounds: the reach of what was subtracted plus the best bound on the rest."""
        up = self.ellipsoid.reach(rests.image, rests.sizes)
        down = up
        for box in self.boxes:
            box_up, box_down = box.reach(rests.directions, rests.sizes)
            up, down = np.minimum(up, box_up), np.minimum(down, box_down)
        with np.errstate(invalid="ignore", over="ignore"):
            extra = self._rounding * rests.sizes
            extra = extra + np.where(rests.sizes == 0, 0.0, self._underflow)
            growth = 1.0 + 16 * UNIT
            up, down = growth * (rests.up + up + extra), growth * (rests.down + down + extra)
        return np.where(np.isnan(up), np.inf, up), np.where(np.isnan(down), np.inf, down)

    def _untouched(self, directions: FloatArray, sizes: FloatArray) -> _Rests:
        """Return rows from which no anchor is subtracted yet."""
        nothing = np.zeros(len(directions))
        return _Rests(directions, self.ellipsoid.image(directions), nothing, nothing, sizes)

    def base(self, directions: FloatArray, sizes: FloatArray) -> Bounds:
        """Return bounds from cutting planes, boxes and the ellipsoid: one matrix product each."""
        up, down = self._bounded(self._untouched(directions, sizes))
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.where(sizes == 0, 0.0, self.plane_error * sizes + self._underflow)
            error = np.where(sizes == 0, 0.0, self._rounding * sizes) + off
        # Nothing moves (0) and the row is beyond bounds (infinity): nothing is known.
        off, error = (np.where(np.isnan(each), np.inf, each) for each in (off, error))
        if not len(self.anchors):
            return Bounds.outside(up, down, error)
        with np.errstate(invalid="ignore", over="ignore"):
            moved = directions @ self._planes
        inner_up, inner_down = (
            # A product that overflowed says nothing.
            np.where(np.isfinite(most), np.maximum(narrower(most, off), 0.0), 0.0)
            for most in (moved.max(axis=1), -moved.min(axis=1))
        )
        outside = Bounds.outside(up, down, error)
        return replace(outside, inner_up=inner_up, inner_down=inner_down)

    def refined(self, directions: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return outer bounds by way of anchors."""
        up, down = np.full(len(directions), np.inf), np.full(len(directions), np.inf)
        if not len(self.anchors):
            return up, down
        for start in range(0, len(directions), _CHUNK):
            here = slice(start, start + _CHUNK)
            up[here], down[here] = self._refine_chunk(directions[here], sizes[here])
        return up, down

    def _refine_chunk(
        self, directions: FloatArray, sizes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the best outer bounds by way of one or two anchors."""
        rows = self._untouched(directions, sizes)
        inner = rows.image @ self._images.T
        # Up to the row's own square, which is the same for all anchors.
        distance = self._squares - 2.0 * inner
        tried = min(_NEAREST, len(self.anchors))
        nearest = np.argpartition(distance, tried - 1, axis=1)[:, :tried]
        order = np.argsort(-np.take_along_axis(distance, nearest, axis=1), axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)  # the nearest of all comes last
        best = self._pursue(rows, inner)
        for c in nearest.T:
            rests = self._subtract(rows, c, np.ones(len(directions)))
            up, down = self._bounded(rests)
            best = np.minimum(best[0], up), np.minimum(best[1], down)
        # The rest of the last one once more: a nonnegative combination of two anchors.
        up, down = self._pursue(rests, rests.image @ self._images.T)
        return np.minimum(best[0], up), np.minimum(best[1], down)

    def _pursue(self, rows: _Rests, inner: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds after one step of matching pursuit: projection onto the closest anchor."""
        with np.errstate(over="ignore", invalid="ignore"):
            c = np.argmax(inner * inner * self._inverse_squares, axis=1)
            share = inner[np.arange(len(c)), c] * self._inverse_squares[c]
        share = np.where(np.isfinite(share), share, 0.0)  # any share will do
        return self._bounded(self._subtract(rows, c, share))

    def _subtract(self, rows: _Rests, c: IntArray, share: FloatArray) -> _Rests:
        """Return rows minus share·c; for a negative share the anchor is -c."""
        forth, back = np.maximum(share, 0.0), np.maximum(-share, 0.0)
        anchors, times = self.anchors, share[:, None]
        up, down = anchors.up[c], anchors.down[c]
        return _Rests(
            rows.directions - times * anchors.directions[c],
            rows.image - times * self._images[c],
            rows.up + forth * up + back * down,
            rows.down + forth * down + back * up,
            rows.sizes + (forth + back) * anchors.sizes[c],
        )

    def sharpened(
        self, base: Bounds, directions: FloatArray, sizes: FloatArray, rows: IntArray | slice
    ) -> Bounds:
        """Return bounds of every row, those of `rows` improved by way of anchors."""
        up, down = self.refined(directions[rows], sizes[rows])
        outer_up, outer_down = base.outer_up.copy(), base.outer_down.copy()
        outer_up[rows] = np.minimum(outer_up[rows], up)
        outer_down[rows] = np.minimum(outer_down[rows], down)
        return replace(base, outer_up=outer_up, outer_down=outer_down)
