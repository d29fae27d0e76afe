"""Bounds from anchors: directions whose exact reach is known sandwich all others.

For an anchor c with exact h(c), reached by the parameter shift g:

- below: h(r) >= g·r for every reachable shift g (a cutting plane);
- above: h(r) <= a·h(c) + h(r - a·c) for every a >= 0, and the rest r - a·c is bounded by a box
  or an ellipsoid, or by another anchor and a smaller rest. For a < 0 the anchor is -c.

Both are exact at r = c, so every exact evaluation sharpens them. The cost does not depend on
the number of training rows.
"""

from dataclasses import dataclass

import numpy as np

from unswayed._core.box import Box, Ellipsoid
from unswayed._typing import BoolArray, FloatArray, IntArray

_CHUNK = 1024  # rows at a time: a chunk's products with all anchors stay in cache
_NEAREST = 3  # anchors tried as they are; more were never better by half a point


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What is known of the reach of each row: inner <= exact <= outer, upwards and downwards."""

    outer_up: FloatArray
    outer_down: FloatArray
    inner_up: FloatArray
    inner_down: FloatArray
    base_up: FloatArray  # the outer bounds without any anchor
    base_down: FloatArray

    @classmethod
    def exact(cls, up: FloatArray, down: FloatArray) -> "Bounds":
        """Bounds of rows whose reach is known."""
        return cls(up, down, up, down, up, down)


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """Directions with their exact reach, and the parameter shifts that attain it."""

    directions: FloatArray  # (K, q)
    up: FloatArray  # (K,) h(c)
    down: FloatArray  # (K,) h(-c)
    shift_up: FloatArray  # (K, q) g with g·c = h(c)
    shift_down: FloatArray  # (K, q) g with -g·c = h(-c)

    @classmethod
    def none(cls, n_parameters: int) -> "Anchors":
        """No anchor yet."""
        empty = np.empty((0, n_parameters))
        return cls(empty, np.empty(0), np.empty(0), empty, empty)

    def __len__(self) -> int:
        return len(self.directions)

    def __add__(self, other: "Anchors") -> "Anchors":
        return Anchors(
            *(
                np.concatenate((getattr(self, name), getattr(other, name)))
                for name in ("directions", "up", "down", "shift_up", "shift_down")
            )
        )

    def __getitem__(self, kept: IntArray | slice) -> "Anchors":
        return Anchors(
            self.directions[kept],
            self.up[kept],
            self.down[kept],
            self.shift_up[kept],
            self.shift_down[kept],
        )


class AnchoredBounds:
    """Immutable: an extended set of anchors is a new object, so readers need no lock."""

    def __init__(self, boxes: tuple[Box, ...], ellipsoid: Ellipsoid, anchors: Anchors) -> None:
        self.boxes = boxes
        self.ellipsoid = ellipsoid
        self.anchors = anchors
        self._planes = np.concatenate((anchors.shift_up, anchors.shift_down)).T.copy()
        self._images = ellipsoid.image(anchors.directions)
        self._squares = np.einsum("ij,ij->i", self._images, self._images)

    def with_anchors(self, anchors: Anchors) -> "AnchoredBounds":
        """Return the same boxes with other anchors."""
        return AnchoredBounds(self.boxes, self.ellipsoid, anchors)

    def _rest(self, directions: FloatArray, image: FloatArray) -> tuple[FloatArray, FloatArray]:
        up = self.ellipsoid.reach(image)
        down = up
        for box in self.boxes:
            box_up, box_down = box.reach(directions)
            up, down = np.minimum(up, box_up), np.minimum(down, box_down)
        return up, down

    def base(self, directions: FloatArray) -> Bounds:
        """Bounds from planes and boxes: one product each."""
        up, down = self._rest(directions, self.ellipsoid.image(directions))
        nothing = np.zeros(len(directions))
        if not len(self.anchors):
            return Bounds(up, down, nothing, nothing, up, down)
        moved = directions @ self._planes
        inner_up = np.maximum(moved.max(axis=1), 0.0)
        inner_down = np.maximum(-moved.min(axis=1), 0.0)
        return Bounds(up, down, inner_up, inner_down, up, down)

    def refined(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Outer bounds through anchors."""
        up, down = np.full(len(directions), np.inf), np.full(len(directions), np.inf)
        if not len(self.anchors):
            return up, down
        for start in range(0, len(directions), _CHUNK):
            here = slice(start, start + _CHUNK)
            up[here], down[here] = self._refine_chunk(directions[here])
        return up, down

    def _refine_chunk(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        image = self.ellipsoid.image(directions)
        inner = image @ self._images.T
        # Up to the row's own square, which is the same for all anchors.
        distance = self._squares - 2.0 * inner
        tried = min(_NEAREST, len(self.anchors))
        nearest = np.argpartition(distance, tried - 1, axis=1)[:, :tried]
        order = np.argsort(-np.take_along_axis(distance, nearest, axis=1), axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)  # the nearest of all comes last
        one, zero = np.ones(len(directions)), np.zeros(len(directions))
        best = self._pursue(directions, image, inner, (zero, zero))
        for c in nearest.T:
            rest, rest_image, spent = self._subtract(directions, image, c, one, (zero, zero))
            up, down = self._rest(rest, rest_image)
            best = np.minimum(best[0], spent[0] + up), np.minimum(best[1], spent[1] + down)
        # The rest of the last one once more: a nonnegative combination of two anchors.
        up, down = self._pursue(rest, rest_image, rest_image @ self._images.T, spent)
        return np.minimum(best[0], up), np.minimum(best[1], down)

    def _pursue(
        self,
        directions: FloatArray,
        image: FloatArray,
        inner: FloatArray,
        spent: tuple[FloatArray, FloatArray],
    ) -> tuple[FloatArray, FloatArray]:
        """One step of matching pursuit: project onto the anchor of the smallest angle."""
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = np.nan_to_num(inner**2 / self._squares, posinf=0.0)
        c = np.argmax(cosine, axis=1)
        square = self._squares[c]
        share = np.where(square > 0, inner[np.arange(len(c)), c], 0.0) / np.where(
            square > 0, square, 1.0
        )
        rest, rest_image, spent = self._subtract(directions, image, c, share, spent)
        up, down = self._rest(rest, rest_image)
        return spent[0] + up, spent[1] + down

    def _subtract(
        self,
        directions: FloatArray,
        image: FloatArray,
        c: IntArray,
        share: FloatArray,
        spent: tuple[FloatArray, FloatArray],
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        """Take share·c off each row; for a negative share the anchor is -c."""
        forth, back = np.maximum(share, 0.0), np.maximum(-share, 0.0)
        up, down = self.anchors.up[c], self.anchors.down[c]
        paid = (spent[0] + forth * up + back * down, spent[1] + forth * down + back * up)
        rest = directions - share[:, None] * self.anchors.directions[c]
        return rest, image - share[:, None] * self._images[c], paid

    def bounds(self, directions: FloatArray, wanted: BoolArray | None = None) -> Bounds:
        """Bounds of every row; through anchors only where `wanted`."""
        base = self.base(directions)
        rows = slice(None) if wanted is None else np.flatnonzero(wanted)
        up, down = self.refined(directions[rows])
        outer_up, outer_down = base.outer_up.copy(), base.outer_down.copy()
        outer_up[rows] = np.minimum(outer_up[rows], up)
        outer_down[rows] = np.minimum(outer_down[rows], down)
        return Bounds(
            outer_up, outer_down, base.inner_up, base.inner_down, base.base_up, base.base_down
        )
