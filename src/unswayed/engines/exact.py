"""Exact answers by selection over influence rows (paper, section 4), in blocks on all cores.

Exact up to rounding, that is, and every answer says how much that is.
"""

import hashlib
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import InfluenceMap, WeightRows
from unswayed._core.parallel import block_starts, run_blocks
from unswayed._core.rounding import narrower, wider
from unswayed._core.sandwich import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray
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

    def _run(
        self, weights: WeightRows, work: Callable[[FloatArray, slice], None]
    ) -> tuple[FloatArray, BoolArray]:
        """Call ``work(influence rows, their place)`` for all rows, block by block.

        Returns the sizes of the rows, and which of them involve no rounding.
        """
        entries = self.influence.entries
        sizes, exact = np.empty(len(weights)), np.empty(len(weights), dtype=bool)
        starts = block_starts(len(weights), 8 * max(self.influence.width, len(entries)))

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            values, sizes[here] = weights.block(start, stop)
            z = self.influence(values, buffer)
            exact[here] = self.precision.exact_rows(z, entries)
            work(z, here)

        run_blocks(starts, len(entries), block)
        return sizes, exact

    def _errors(
        self, sizes: FloatArray, exact: BoolArray, budget: FloatArray | float, reach: FloatArray
    ) -> FloatArray:
        """Bounds on the errors of reaches."""
        with np.errstate(invalid="ignore"):
            found = self.precision.errors(sizes, budget) + RELATIVE * reach
        return np.where(exact | (reach + found == 0), 0.0, np.where(np.isnan(found), np.inf, found))

    def reach(self, weights: WeightRows, budget: int) -> Bounds:
        """How far `budget` labels can raise and lower the score of each row."""
        up, down = np.empty(len(weights)), np.empty(len(weights))

        def work(z: FloatArray, here: slice) -> None:
            up[here], down[here] = selection.reach(z, self.influence.entries, budget)

        sizes, exact = self._run(weights, work)
        return Bounds.around(up, down, self._errors(sizes, exact, budget, np.maximum(up, down)))

    def extremes(self, weights: WeightRows, budget: int) -> tuple[Bounds, FloatArray, FloatArray]:
        """Reach up and down of each row, and what the labels that attain it do to any score.

        The last two hold one vector per row: its product with another row's weights is how far
        the same label changes move that row's score.
        """
        up, down = np.empty(len(weights)), np.empty(len(weights))
        moved_up = np.empty((len(weights), self.influence.width))
        moved_down = np.empty_like(moved_up)

        def work(z: FloatArray, here: slice) -> None:
            for sign, reached, moved in ((1.0, up, moved_up), (-1.0, down, moved_down)):
                found = selection.extremes(z, self.influence.entries, budget, sign)
                reached[here] = found.reach
                moved[here] = [self.influence.pull_back(*found.changes(i)) for i in range(len(z))]

        sizes, exact = self._run(weights, work)
        errors = self._errors(sizes, exact, budget, np.maximum(up, down))
        return Bounds.around(up, down, errors), moved_up, moved_down

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
        low, high = np.empty(len(weights)), np.empty(len(weights))
        entries = self.influence.entries

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            values, sizes = weights.block(start, stop)
            z = self.influence(values, buffer)
            found = self._crossings(z, sizes, margins[here])
            low[here], high[here] = found.low, found.high

        starts = block_starts(len(weights), 8 * max(self.influence.width, len(entries)))
        run_blocks(starts, len(entries), block)
        return MinimumBudgets(low, high)

    def _crossings(self, z: FloatArray, sizes: FloatArray, margins: Margins) -> MinimumBudgets:
        entries, slack = self.influence.entries, margins.slack[:, None]
        found = selection.minimum_budget(z, entries, margins.up, margins.down)
        exact = self.precision.exact_rows(z, entries)[:, None]
        margin = np.stack((margins.up, margins.down), axis=1)
        relative = RELATIVE + found.error

        def error(reach: FloatArray) -> FloatArray:
            most = self.precision.errors(sizes[:, None], found.count) + relative * reach
            return np.where(exact, 0.0, most) + slack

        with np.errstate(invalid="ignore"):
            enough = narrower(found.after, error(found.after)) > margin
            too_few = np.isposinf(margin) | (wider(found.before, error(found.before)) <= margin)
        least = found.least
        # Overturned by the least count in one direction, by no smaller count in either.
        sure = (enough & (found.count == least[:, None])).any(axis=1) | np.isposinf(least)
        sure &= too_few.all(axis=1)
        low, high = least.copy(), least.copy()
        unsure = np.flatnonzero(~sure)
        if len(unsure):
            low[unsure], high[unsure] = self._between(z[unsure], sizes[unsure], margins[unsure])
        known = np.isfinite(margins.slack) & self.precision.proven
        return MinimumBudgets(np.where(known, low, np.nan), np.where(known, high, np.nan))

    def _between(
        self, z: FloatArray, sizes: FloatArray, margins: Margins
    ) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest counts that rounding leaves possible."""
        entries = self.influence.entries
        most = self.precision.errors(sizes, np.inf) + margins.slack

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
        values, sizes = weights.block(row, row + 1)
        z, margins = self.influence(values), margins[row : row + 1]
        needed = self._crossings(z, sizes, margins).high[0]
        if not needed <= budget:
            return None
        count, exact = int(needed), self.precision.exact_rows(z, self.influence.entries)
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            strength, offset = self._labels(sign * z[0])
            # lexsort's last key leads: strongest first, then lowest row number.
            chosen = np.sort(np.lexsort((np.arange(len(strength)), -strength))[:count])
            reach = np.array([math.fsum(strength[chosen])])
            error = self._errors(sizes, exact, count, reach) + margins.slack
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
