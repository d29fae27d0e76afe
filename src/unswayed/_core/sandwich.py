"""Bounds from anchors: directions of known reach bound the reach of all others.

For an anchor c with exact h(c), reached by the parameter shift g:

- below: h(r) >= g·r for every reachable shift g (a cutting plane);
- above: h(r) <= a·h(c) + h(r - a·c) for every a >= 0, and the rest r - a·c is bounded by a box
  or an ellipsoid, or by another anchor and a smaller rest. For a < 0 the anchor is -c.

Both are exact at r = c, so every exact evaluation sharpens them. The cost does not depend on
the number of training rows.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from unswayed._core.box import Box, Ellipsoid
from unswayed._core.rounding import PRODUCT_UNDERFLOW, UNIT, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray

_CHUNK = 1024  # rows at a time: a chunk's products with all anchors stay in cache
_NEAREST = 3  # anchors tried as they are; more were never better by half a point


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bounds:
    """Bounds on the reach of each row, upwards and downwards: inner <= exact <= outer."""

    outer_up: FloatArray
    outer_down: FloatArray
    inner_up: FloatArray
    inner_down: FloatArray
    base_up: FloatArray  # the outer bounds without any anchor
    base_down: FloatArray
    error: FloatArray  # how much of that is there because of rounding
    tight: BoolArray  # whether the reach itself is known, up to that error
    within: BoolArray  # proven to stay within its margins, by more than these bounds
    beyond: BoolArray  # proven to go beyond them
    close: BoolArray  # decided, or left open, by so little that rounding in another batch could
    # decide otherwise

    @classmethod
    def around(cls, up: FloatArray, down: FloatArray, error: FloatArray) -> "Bounds":
        """Return the bounds of rows whose reaches are known up to an error."""
        outer_up, outer_down = wider(up, error), wider(down, error)
        within, beyond, close = np.zeros((3, len(up)), dtype=bool)
        return cls(
            outer_up=outer_up,
            outer_down=outer_down,
            inner_up=np.maximum(narrower(up, error), 0.0),
            inner_down=np.maximum(narrower(down, error), 0.0),
            base_up=outer_up,
            base_down=outer_down,
            error=error,
            tight=np.ones(len(up), dtype=bool),
            within=within,
            beyond=beyond,
            close=close,
        )

    @classmethod
    def outside(cls, up: FloatArray, down: FloatArray, error: FloatArray) -> "Bounds":
        """Return outer bounds alone; the inner ones are 0."""
        # Arrays of their own: better answers are written into them later.
        inner_up, inner_down = np.zeros((2, len(up)))
        tight, within, beyond, close = np.zeros((4, len(up)), dtype=bool)
        return cls(
            outer_up=up,
            outer_down=down,
            inner_up=inner_up,
            inner_down=inner_down,
            base_up=up.copy(),
            base_down=down.copy(),
            error=error,
            tight=tight,
            within=within,
            beyond=beyond,
            close=close,
        )

    def decided_as(self, within: BoolArray, beyond: BoolArray, close: BoolArray) -> "Bounds":
        """Return the same bounds with decisions that were made by sharper ones."""
        return replace(self, within=within, beyond=beyond, close=close)

    def put(self, rows: IntArray, other: "Bounds") -> None:
        """Overwrite some rows with better bounds, those of these rows alone."""
        for each in fields(Bounds):
            getattr(self, each.name)[rows] = getattr(other, each.name)


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
