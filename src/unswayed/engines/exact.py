"""Exact answers by selection over influence rows (paper, section 4), in blocks on all cores."""

import hashlib
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import InfluenceMap, WeightRows
from unswayed._core.parallel import block_starts, run_blocks
from unswayed._typing import FloatArray, IntArray
from unswayed.bias import ResolvedBias
from unswayed.engines.margins import Margins
from unswayed.exceptions import InputError
from unswayed.learners.protocol import Learner

# Relative residual of a solve above which its digits mean nothing.
RELIABLE = 1e-6


class ExactEngine:
    """Ranges, minimum budgets and witnesses of one learner under one bias.

    Everything about the training rows is prepared once; questions come as weight rows.
    """

    def __init__(self, learner: Learner, bias: ResolvedBias) -> None:
        self.bias = bias
        self.learner = learner
        self.influence = InfluenceMap(learner.design, bias.lower, bias.upper, learner.row_scale)

    def _run(self, weights: WeightRows, work: Callable[[FloatArray, slice], None]) -> None:
        """Call ``work(influence rows, their place)`` for all rows, block by block."""
        entries = len(self.influence.entries)
        starts = block_starts(len(weights), 8 * max(self.influence.width, entries))

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            work(self.influence(weights.block(start, stop), buffer), slice(start, stop))

        run_blocks(starts, entries, block)

    def reach(self, weights: WeightRows, budget: int) -> tuple[FloatArray, FloatArray]:
        """How far `budget` labels can raise and lower the score of each row."""
        up, down = np.empty(len(weights)), np.empty(len(weights))

        def work(z: FloatArray, here: slice) -> None:
            up[here], down[here] = selection.reach(z, self.influence.entries, budget)

        self._run(weights, work)
        return up, down

    def extremes(
        self, weights: WeightRows, budget: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
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

        self._run(weights, work)
        return up, down, moved_up, moved_down

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
            units = np.eye(self.learner.n_parameters)  # type: ignore[attr-defined]
            parts.append(self.learner.direction_weights(units[:64]))  # type: ignore[attr-defined]
        if self.learner.design is not None:
            parts.append(np.asarray(probe @ self.learner.design))
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def minimum_budget(self, weights: WeightRows, margins: Margins) -> FloatArray:
        """Least number of labels that overturns each row; inf if all of them do not."""
        out = np.empty(len(weights))

        def work(z: FloatArray, here: slice) -> None:
            up, down = margins.up[here], margins.down[here]
            out[here] = selection.minimum_budget(z, self.influence.entries, up, down)

        self._run(weights, work)
        return out

    @property
    def reliable(self) -> bool:
        """Whether the learner's equations were solved well enough for any verdict."""
        return self.learner.residual <= RELIABLE

    def _needed(self, z: FloatArray, margins: Margins, budget: int) -> tuple[float, int]:
        """Direction in which the fewest labels overturn a row, and how many these are.

        A product of one row may differ in the last bit from the block the verdict came from. On
        a tie that can hide the answer, which then lies within rounding of the margin.
        """
        never = np.array([np.inf])
        for slack in (0.0, 1e-12, 1e-9):
            needed = {
                sign: selection.minimum_budget(z, self.influence.entries, up, down)[0]
                for sign, up, down in (
                    (+1.0, margins.up * (1 - slack), never),
                    (-1.0, never, margins.down * (1 - slack)),
                )
            }
            sign = min(needed, key=lambda s: needed[s])
            if needed[sign] <= budget:
                return sign, int(needed[sign])
        raise InputError("no set of label changes within the budget overturns this row")

    def changes(
        self, weights: WeightRows, row: int, margins: Margins, budget: int
    ) -> tuple[IntArray, FloatArray, float]:
        """Smallest set of at most `budget` label changes that overturns a row.

        Returns the training rows, ascending, what is added to their labels, and how far that
        moves the score. Of equally strong labels those with the lowest row numbers are taken.
        """
        z = self.influence(weights.block(row, row + 1))
        sign, count = self._needed(z, margins[row : row + 1], budget)
        strength, offset = self._labels(sign * z[0])
        # lexsort's last key leads: strongest first, then lowest row number.
        chosen = np.lexsort((np.arange(len(strength)), -strength))[:count]
        return np.sort(chosen), offset[np.sort(chosen)], sign * math.fsum(strength[chosen])

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
