"""Exact answers by selection over influence rows (paper, section 4), in blocks on all cores.

Exact up to rounding, that is, and every answer says how much that is.
"""

import hashlib
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import InfluenceMap, WeightRows, Weights
from unswayed._core.parallel import block_starts, run_blocks
from unswayed._core.rounding import narrower, wider
from unswayed._core.sandwich import Bounds
from unswayed._typing import FloatArray, IntArray
from unswayed.bias import ResolvedBias
from unswayed.certificates import MinimumBudgets
from unswayed.engines.margins import Margins
from unswayed.engines.precision import RELATIVE, Precision
from unswayed.learners.protocol import Learner


class ExactEngine:
    """Ranges, minimum budgets and witnesses of one learner under one bias.

    Everything about the training rows is prepared once; questions come as weight rows.
    """

    def __init__(self, learner: Learner, bias: ResolvedBias) -> None:
        self.bias = bias
        self.learner = learner
        self.influence = InfluenceMap(learner.design, bias.lower, bias.upper, learner.row_scale)
        self.precision = Precision(learner, bias)

    def _run(self, weights: WeightRows, work: Callable[[FloatArray, Weights, slice], None]) -> None:
        """Call ``work(influence rows, their weights, their place)`` for all rows, in blocks."""
        entries = len(self.influence.entries)
        starts = block_starts(len(weights), 8 * max(self.influence.width, entries))

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            found = weights.block(start, stop)
            work(self.influence(found.values, buffer), found, slice(start, stop))

        run_blocks(starts, entries, block)

    def _errors(
        self, z: FloatArray, weights: Weights, budget: float, reach: FloatArray
    ) -> FloatArray:
        """Bounds on the errors of reaches."""
        exact = self.precision.exact_rows(z, self.influence.entries)
        with np.errstate(invalid="ignore"):
            found = self.precision.errors(weights.off, weights.size, budget) + RELATIVE * reach
        return np.where(exact, 0.0, np.where(np.isnan(found), np.inf, found))

    def reach(self, weights: WeightRows, budget: int) -> Bounds:
        """How far `budget` labels can raise and lower the score of each row."""
        up, down, error = np.empty((3, len(weights)))

        def work(z: FloatArray, found: Weights, here: slice) -> None:
            up[here], down[here] = selection.reach(z, self.influence.entries, budget)
            error[here] = self._errors(z, found, budget, np.maximum(up[here], down[here]))

        self._run(weights, work)
        return Bounds.around(up, down, error)

    def extremes(self, weights: WeightRows, budget: int) -> tuple[Bounds, FloatArray, FloatArray]:
        """Reach up and down of each row, and what the labels that attain it do to any score.

        The last two hold one vector per row: its product with another row's weights is how far
        the same label changes move that row's score.
        """
        up, down, error = np.empty((3, len(weights)))
        moved_up = np.empty((len(weights), self.influence.width))
        moved_down = np.empty_like(moved_up)

        def work(z: FloatArray, found: Weights, here: slice) -> None:
            for sign, reached, moved in ((1.0, up, moved_up), (-1.0, down, moved_down)):
                best = selection.extremes(z, self.influence.entries, budget, sign)
                reached[here] = best.reach
                moved[here] = [self.influence.pull_back(*best.changes(i)) for i in range(len(z))]
            error[here] = self._errors(z, found, budget, np.maximum(up[here], down[here]))

        self._run(weights, work)
        return Bounds.around(up, down, error), moved_up, moved_down

    @property
    def has_parameters(self) -> bool:
        """Whether scores are linear in the features, so that bounds on parameters exist."""
        return hasattr(self.learner, "directions")

    @cached_property
    def fingerprint(self) -> str:
        """What bounds were built from: they are refused by a model or bias that differs."""
        digest = hashlib.blake2b(digest_size=16)
        probe = np.ones((1, self.learner.n_rows))
        parts = [self.bias.lower, self.bias.upper]
        if self.has_parameters:
            units = np.eye(min(64, self.learner.n_parameters), self.learner.n_parameters)  # type: ignore[attr-defined]
            parts.append(self.learner.direction_weights(units).values)  # type: ignore[attr-defined]
        if self.learner.design is not None:
            parts.append(np.asarray(probe @ self.learner.design))
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    # --- minimum budgets ------------------------------------------------------------------

    def minimum_budget(self, weights: WeightRows, margins: Margins) -> MinimumBudgets:
        """Least number of labels that overturns each row; inf if all of them do not."""
        low, high = np.empty((2, len(weights)))

        def work(z: FloatArray, found: Weights, here: slice) -> None:
            budgets = self._crossings(z, found, margins[here])
            low[here], high[here] = budgets.low, budgets.high

        self._run(weights, work)
        return MinimumBudgets(low, high)

    def _crossings(self, z: FloatArray, weights: Weights, margins: Margins) -> MinimumBudgets:
        entries = self.influence.entries
        found = selection.minimum_budget(z, entries, margins.up, margins.down)
        exact = self.precision.exact_rows(z, entries)[:, None]
        margin = np.stack((margins.up, margins.down), axis=1)
        off, size, slack = (each[:, None] for each in (*weights[1:], margins.slack))

        def error(reach: FloatArray, count: FloatArray) -> FloatArray:
            most = self.precision.errors(off, size, count) + (RELATIVE + found.error) * reach
            return np.where(exact, 0.0, most) + slack

        before, after = found.before, found.after
        with np.errstate(invalid="ignore"):
            enough = narrower(after, error(after, found.count)) > margin
            too_few = wider(before, error(before, np.maximum(found.count - 1, 0))) <= margin
            too_few |= np.isposinf(margin)
        least = found.least
        # Overturned by the least count in one direction, by no smaller count in either.
        sure = (enough & (found.count == least[:, None])).any(axis=1) | np.isposinf(least)
        sure &= too_few.all(axis=1)
        low, high = least.copy(), least.copy()
        unsure = np.flatnonzero(~sure)
        if len(unsure):
            some = Weights(*(each[unsure] for each in weights))
            low[unsure], high[unsure] = self._between(z[unsure], some, margins[unsure])
        known = np.isfinite(margins.slack) & self.precision.proven
        return MinimumBudgets(np.where(known, low, np.nan), np.where(known, high, np.nan))

    def _between(
        self, z: FloatArray, weights: Weights, margins: Margins
    ) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest counts that rounding leaves possible."""
        entries = self.influence.entries
        most = self.precision.errors(weights.off, weights.size, np.inf) + margins.slack

        def least(up: FloatArray, down: FloatArray) -> FloatArray:
            return selection.minimum_budget(z, entries, up, down).least

        up, down = margins.up, margins.down
        less, more = 1.0 - 2 * RELATIVE, 1.0 + 2 * RELATIVE
        with np.errstate(invalid="ignore"):
            low = least(
                np.where(np.isposinf(up), up, narrower(up * less, most)),
                np.where(np.isposinf(down), down, narrower(down * less, most)),
            )
            high = least(wider(up * more, most), wider(down * more, most))
        return np.maximum(low, 1.0), high

    # --- witnesses ------------------------------------------------------------------------

    def changes(
        self, weights: WeightRows, row: int, margins: Margins, budget: int
    ) -> tuple[IntArray, FloatArray, float] | None:
        """Smallest set of at most `budget` label changes that is proven to overturn a row.

        Returns the training rows, ascending, what is added to their labels, and how far that
        moves the score; None if rounding hides it. Of equally strong labels those with the
        lowest row numbers are taken.
        """
        found, margins = weights.block(row, row + 1), margins[row : row + 1]
        z = self.influence(found.values)
        needed = self._crossings(z, found, margins).high[0]
        if not needed <= budget:
            return None
        count = int(needed)
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            strength, offset = self._labels(sign * z[0])
            # lexsort's last key leads: strongest first, then lowest row number.
            chosen = np.sort(np.lexsort((np.arange(len(strength)), -strength))[:count])
            reach = np.array([math.fsum(strength[chosen])])
            error = self._errors(z, found, count, reach) + margins.slack
            if narrower(reach, error) > margin:
                return chosen, offset[chosen], sign * float(reach[0])
        return None

    def _labels(self, signed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each single training label can add to the score, and by which offset."""
        entries, bias = self.influence.entries, self.bias
        strength, offset = np.zeros(len(bias.lower)), np.zeros(len(bias.lower))
        for members, count, step, source in (
            (entries.members_up, entries.n_upper, entries.upper, bias.upper),
            (entries.members_down, entries.n_lower, entries.lower, bias.lower),
        ):
            gain = np.repeat(signed * step, count.astype(np.intp))
            better = gain > strength[members]
            rows = members[better]
            strength[rows], offset[rows] = gain[better], source[rows]
        return strength, offset
