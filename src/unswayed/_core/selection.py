"""Selection: what the strongest labels can do to a score, by the kernel in use."""

from dataclasses import dataclass

import numpy as np

from unswayed._core import selection_numpy
from unswayed._core.influence import Entries
from unswayed._core.kernels import compiled
from unswayed._typing import FloatArray, IntArray


def reach(z: FloatArray, entries: Entries, budget: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the `budget` most influential labels can raise and lower each row's score.

    A budget that is not whole takes a part of the last label; sums are then rounded more than once.
    """
    kernel = compiled()
    if kernel is None:
        return selection_numpy.reach(z, entries, budget)
    up, down = np.empty(len(z)), np.empty(len(z))
    kernel.reach(z, *entries.sides, float(budget), up, down)
    return up, down


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """Reach of each row in one direction, and the label changes that attain it."""

    reach: FloatArray
    index: IntArray  # entries, per row the first `length` columns
    amount: FloatArray  # what is added to their labels, summed over each entry's
    length: IntArray

    def changes(self, row: int) -> tuple[IntArray, FloatArray]:
        """Return the entries that move in `row`, and what is added to their labels in total."""
        return self.index[row, : self.length[row]], self.amount[row, : self.length[row]]


def extremes(z: FloatArray, entries: Entries, budget: int, sign: float) -> Extremes:
    """Return the reach with `sign` +1 upwards or -1 downwards, and the changes that attain it."""
    kernel = compiled()
    if kernel is None:
        return Extremes(*selection_numpy.extremes(z, entries, budget, sign))
    n_rows, most = len(z), min(budget, len(entries))
    found = Extremes(
        np.empty(n_rows),
        np.empty((n_rows, most), dtype=np.int64),
        np.empty((n_rows, most)),
        np.empty(n_rows, dtype=np.int64),
    )
    out = (found.reach, found.index, found.amount, found.length)
    kernel.extremes(z, *entries.sides, float(budget), sign, *out)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """How many labels are needed for the reach to exceed a margin, upwards and downwards.

    `count` is correct for the influence rows given. `before` and `after` are the reaches of one
    label less and of `count` labels (`before` of all labels where the count is infinite), each
    rounded once. Of amounts that need not be whole, `before` is the reach of `step` less than
    `count`, and reaches between the two are on a line.
    """

    count: FloatArray  # (rows, 2)
    before: FloatArray
    after: FloatArray
    step: FloatArray

    @classmethod
    def blank(cls, n_rows: int) -> "Crossings":
        """Return an object to be filled by `put` or by a kernel."""
        count, before, after, step = np.zeros((4, n_rows, 2))
        return cls(count, before, after, step)

    def put(self, rows: slice, other: "Crossings") -> None:
        """Fill in some of the rows."""
        self.count[rows], self.before[rows] = other.count, other.before
        self.after[rows], self.step[rows] = other.after, other.step

    def at(self, margin: FloatArray, sign: float) -> FloatArray:
        """Return the amounts whose reach is at a margin near the one asked about.

        Rounded down, or up where `sign` is positive; where there are no steps, the counts.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((margin - self.before) / (self.after - self.before), 0.0, 1.0)
            found = (self.count - self.step) + self.step * share
            found *= 1.0 + sign * 2.0**-50
        return np.where(self.step > 0, found, self.count)

    @property
    def least(self) -> FloatArray:
        """Least number of labels whose reach exceeds a row's margin, either way; inf if none."""
        return np.asarray(self.count.min(axis=1))


def minimum_budget(
    z: FloatArray, entries: Entries, margin_up: FloatArray, margin_down: FloatArray
) -> Crossings:
    """Return the least number of labels whose reach exceeds a row's margin, in each direction."""
    kernel = compiled()
    if kernel is None:
        made = selection_numpy.minimum_budget(z, entries, margin_up, margin_down)
        return Crossings(*made, np.zeros((len(z), 2)))
    found = Crossings.blank(len(z))
    out = (found.count, found.before, found.after)
    kernel.minimum_budget(z, *entries.sides, margin_up, margin_down, *out)
    return found
