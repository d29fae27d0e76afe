"""Verdicts: what follows from bounds and margins, in one place."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unswayed._core.rounding import narrower, wider
from unswayed._core.sandwich import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.margins.decisions import Margins
from unswayed.results.certificates import verdicts

EXACT, CUTTING_PLANE, ANCHOR, BOX = "exact", "cutting-plane", "anchor", "box"
AUTO, RATIONAL = "auto", "rational"


def judge(bounds: Bounds, margins: Margins) -> tuple[BoolArray, BoolArray]:
    """Return which rows are proven robust, and which are proven not to be."""
    known = np.isfinite(margins.slack)

    def within(outer: FloatArray, margin: FloatArray) -> BoolArray:
        return np.asarray(np.isposinf(margin) | (wider(outer, margins.slack) <= margin))

    def beyond(inner: FloatArray, margin: FloatArray) -> BoolArray:
        return np.asarray(narrower(inner, margins.slack) > margin)

    robust = within(bounds.outer_up, margins.up) & within(bounds.outer_down, margins.down)
    broken = beyond(bounds.inner_up, margins.up) | beyond(bounds.inner_down, margins.down)
    return (known & robust) | bounds.within, (known & broken) | bounds.beyond


def close_calls(bounds: Bounds, margins: Margins) -> BoolArray:
    """Return which verdicts other rounding of the same rows could change.

    The last bits of a product depend on the rows it is computed beside. Elsewhere bounds and
    margins would be within their errors of the true ones too, and so within twice these of the
    ones here: a verdict that holds by four times the errors holds there as well.
    """
    with np.errstate(invalid="ignore"):
        room = 4 * (bounds.error + margins.slack)
        hidden = ~np.isfinite(margins.slack)  # on which side of its threshold a score is
        # What sharper bounds than these decided, they have looked at themselves.
        here = ~(bounds.within | bounds.beyond)
        close = bounds.close | hidden
        for margin, outer, inner in (
            (margins.up, bounds.outer_up, bounds.inner_up),
            (margins.down, bounds.outer_down, bounds.inner_down),
        ):
            near = (np.abs(margin - outer) <= room) | (np.abs(margin - inner) <= room)
            near |= (margins.slack > 0) & (margin <= 4 * margins.slack)
            close |= near & here & np.isfinite(margin) & (room > 0)
    return np.asarray(close & np.isfinite(bounds.error))


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Bounds, verdicts and methods of a set of rows."""

    bounds: Bounds
    verdict: NDArray[np.object_]
    method: NDArray[np.str_]

    @classmethod
    def of(cls, bounds: Bounds, margins: Margins) -> "Answer":
        """Return the verdicts that follow from bounds; UNDECIDED where they leave it open."""
        robust, broken = judge(bounds, margins)
        without_anchors = replace(bounds, outer_up=bounds.base_up, outer_down=bounds.base_down)
        boxed, _ = judge(without_anchors, margins)
        method = np.where(broken, CUTTING_PLANE, np.where(robust & ~boxed, ANCHOR, BOX))
        method = np.where(bounds.tight, EXACT, method)
        method = np.where(bounds.within | bounds.beyond, AUTO, method)
        return cls(bounds, verdicts(broken, ~robust & ~broken), method.astype("<U13"))

    def put(self, rows: IntArray, other: "Answer") -> None:
        """Overwrite some rows with a better answer."""
        self.bounds.put(rows, other.bounds)
        self.verdict[rows] = other.verdict
        self.method[rows] = other.method
