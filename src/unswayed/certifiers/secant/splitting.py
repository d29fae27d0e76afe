"""Sharper bounds by splitting a budget: few of its labels within some rows, or few outside them.

Where a region is wide, that is because labels may pile up on a few rows: a rare category, say. Then
they are not elsewhere. Of a budget of k labels, either at most t are within those rows, or at most
k - t - 1 outside them, and each case has a smaller region of its own: what the region of the whole
budget proves holds in either case, so that it can be cut down by what follows from it there. Cases
are split again until every one of them leaves a row within its margin.
"""

from typing import NamedTuple

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.certifiers.secant.moves import SplitMoves
from unswayed.certifiers.secant.region import Region
from unswayed.certifiers.secant.remainder import COARSE, FINE, Remainder
from unswayed.doubles import dense

WIDE = 3.0
"""Log-odds: margins that may move by more belong to rows on which labels pile up."""

_CASES = 48  # that are looked at
_CUTS = 2  # of a region, to what follows from it


class Case(NamedTuple):
    """How many labels are within the rows, the region that is known to hold, rows still open."""

    least: int
    most: int
    region: Region
    open: IntArray


class Splitting:
    """Bounds on scores, case by case."""

    def __init__(self, region: Region, labels: int, slopes: FloatArray) -> None:
        self.region, self.labels, self.slopes = region, labels, slopes
        wide = np.maximum(region.up, region.down) > WIDE
        self._inside = wide[region.base.sides.rows]
        self._design = dense(region.problem.design)

    def reach(self, directions: FloatArray, enough: FloatArray) -> FloatArray:
        """Return upper bounds on how far scores can rise, seen from the centre."""
        found = np.zeros(len(directions))
        inside = int(min(self.labels, self.region.base.sides.n_upper[self._inside].sum()))
        if not inside or self._inside.all():
            return np.full(len(directions), np.inf)
        todo = self._halves(Case(0, inside, self.region, np.arange(len(directions))))
        for _ in range(_CASES):
            if not todo:
                break
            least, most, region, rows = todo.pop()
            rows = rows[np.isfinite(found[rows])]
            if not len(rows):
                continue
            region = self._smaller(region, least, most)
            bound = self._bound(region, directions[rows], enough[rows])
            done = bound < enough[rows]
            found[rows[done]] = np.maximum(found[rows[done]], bound[done])
            if least == most:
                found[rows[~done]] = np.inf
            elif not done.all():
                todo += self._halves(Case(least, most, region, rows[~done]))
        for case in todo:
            found[case.open] = np.inf
        return found

    @staticmethod
    def _halves(case: Case) -> list[Case]:
        """Return two cases that are one together; the one of few labels inside comes last."""
        middle = (case.least + case.most) // 2
        if case.least == case.most:
            return [case]
        return [case._replace(least=middle + 1), case._replace(most=middle)]

    def _smaller(self, region: Region, least: int, most: int) -> Region:
        """Cut down a region by what follows from it for fewer labels inside, or outside."""
        moves = SplitMoves.split(self.region.base, self._inside, most, self.labels - least)
        known = self._cut(region, moves, region.down, region.up)
        for _ in range(_CUTS):
            up, down = known.reach(self._design, self.labels)
            known = self._cut(known, moves, down, up)
        rest = Remainder(known, self.labels, self.slopes)
        up, down = (
            rest.reach(sign * self._design, end)
            for sign, end in ((1.0, known.up), (-1.0, known.down))
        )
        return self._cut(known, moves, down, up)

    @staticmethod
    def _cut(known: Region, moves: SplitMoves, down: FloatArray, up: FloatArray) -> Region:
        down, up = np.minimum(known.down, down), np.minimum(known.up, up)
        found = Region(known.problem, known.labels, known.centre, moves, down, up)
        return found if found.proven else known

    def _bound(self, region: Region, directions: FloatArray, enough: FloatArray) -> FloatArray:
        """Return bounds of one case."""
        bound, _ = region.reach(directions, self.labels)
        for grid in (COARSE, FINE):
            left = np.flatnonzero(~(bound < enough))
            if len(left):
                rest = Remainder(region, self.labels, self.slopes, grid)
                sharper = rest.reach(directions[left], bound[left])
                bound[left] = np.minimum(bound[left], sharper)
        return bound
