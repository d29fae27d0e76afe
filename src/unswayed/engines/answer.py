"""What an engine says of rows: bounds on their reach, a verdict, and how it was reached."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from unswayed._core.sandwich import Bounds
from unswayed._typing import BoolArray, IntArray
from unswayed.certificates import verdicts
from unswayed.engines.margins import Margins

EXACT, CUTTING_PLANE, ANCHOR, BOX = "exact", "cutting-plane", "anchor", "box"


def judge(bounds: Bounds, margins: Margins, tolerance: float = 0.0) -> tuple[BoolArray, BoolArray]:
    """Rows that are proven robust, and rows that are proven not to be.

    `tolerance` allows for rounding in bounds that were put together from several exact values,
    relative to what the rows could reach at most; closer calls are left open.
    """
    slack_up, slack_down = tolerance * bounds.base_up, tolerance * bounds.base_down
    robust = (bounds.outer_up + slack_up <= margins.up) & (
        bounds.outer_down + slack_down <= margins.down
    )
    broken = (bounds.inner_up - slack_up > margins.up) | (
        bounds.inner_down - slack_down > margins.down
    )
    return robust, broken


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Bounds, verdicts and methods of a set of rows."""

    bounds: Bounds
    verdict: NDArray[np.object_]
    method: NDArray[np.str_]

    @classmethod
    def exact(cls, bounds: Bounds, margins: Margins) -> "Answer":
        """Verdicts from reaches that are known; not finite is not known."""
        finite = np.isfinite(bounds.outer_up) & np.isfinite(bounds.outer_down)
        verdict = verdicts(margins.broken(bounds.outer_up, bounds.outer_down), ~finite)
        return cls(bounds, verdict, np.full(len(verdict), EXACT, dtype="<U13"))

    @classmethod
    def bounded(cls, bounds: Bounds, margins: Margins, tolerance: float) -> "Answer":
        """Verdicts from bounds: what they leave open is undecided."""
        robust, broken = judge(bounds, margins, tolerance)
        without_anchors = replace(bounds, outer_up=bounds.base_up, outer_down=bounds.base_down)
        boxed, _ = judge(without_anchors, margins, tolerance)
        method = np.where(broken, CUTTING_PLANE, np.where(robust & ~boxed, ANCHOR, BOX))
        return cls(bounds, verdicts(broken, ~robust & ~broken), method.astype("<U13"))

    def put(self, rows: IntArray | slice, other: "Answer") -> None:
        """Overwrite some rows with a better answer."""
        for each in fields(Bounds):
            getattr(self.bounds, each.name)[rows] = getattr(other.bounds, each.name)
        self.verdict[rows] = other.verdict
        self.method[rows] = other.method

    @classmethod
    def blank(cls, n_rows: int) -> "Answer":
        """Nothing known yet, to be filled by `put`."""
        bounds = Bounds(*(np.empty(n_rows) for _ in fields(Bounds)))
        return cls(bounds, np.empty(n_rows, dtype=object), np.empty(n_rows, dtype="<U13"))
