"""Exact answers by selection over influence rows (paper, section 4), in blocks on all cores.

Exact means up to rounding, and every answer carries a bound on its rounding error.
"""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from unswayed._core import selection
from unswayed._core.influence import (
    Entries,
    InfluenceMap,
    MadeRows,
    WeightRows,
    Weights,
    merge_rows,
)
from unswayed._core.kernels import block_starts, one_blas_thread, run_blocks
from unswayed._core.rounding import Bounds, exact_products, narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.linear import LinearEngine
from unswayed.engines.protocol import LabelChanges, Precision
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins
from unswayed.models.learner import LinearInLabels
from unswayed.models.smoother import packed_rows
from unswayed.results.certificates import MinimumBudgets

_AT_ONCE = 2**22  # weights that are made for all rows at once: larger ones block by block


class Rounded(NamedTuple):
    """What the errors of rows are relative to (see `Weights`), and rows that have none."""

    error: FloatArray
    size: FloatArray
    exact: BoolArray

    @classmethod
    def blank(cls, n_rows: int) -> "Rounded":
        """Return an object to be filled."""
        return cls(np.empty(n_rows), np.empty(n_rows), np.empty(n_rows, dtype=bool))


class Effects(NamedTuple):
    """Influence rows over the entries, and how far what is computed of them may be wrong."""

    influence: FloatArray
    # However labels move within the budget: of the sum of their effects on a row's score, if it is
    # rounded once
    error: FloatArray
    up: FloatArray  # How far scores can rise, rounded up
    down: FloatArray  # and fall


class ExactEngine(LinearEngine):
    """Ranges, minimum budgets and witnesses of one learner under one bias.

    Everything about the training rows is prepared once; questions come as weight rows.
    """

    can = frozenset(
        "bounds decisions draws errors evidence exact files joint pages together".split()
    )
    setting = "memory"
    again = True
    rounds = 8

    def __init__(
        self, learner: LinearInLabels, bias: ResolvedBias, influence: InfluenceMap | None = None
    ) -> None:
        self.bias = bias
        self.learner = learner
        self.influence = self._merged() if influence is None else influence
        self.precision = self._precision()

    def _merged(self) -> InfluenceMap:
        """Merge equal training rows."""
        learner, bias = self.learner, self.bias
        apart = bias.budget.apart(bias.lower, bias.upper, learner.row_scale)
        return InfluenceMap(learner.design, bias.lower, bias.upper, learner.row_scale, apart)

    def _precision(self) -> Precision:
        """Bound errors."""
        return Precision.of(self.learner, self.bias)

    @property
    def width(self) -> int:
        """Number of weights of a row."""
        return self.influence.width

    # --- reach ----------------------------------------------------------------------------

    def _run(self, weights: WeightRows, work: Callable[[FloatArray, slice], None]) -> Rounded:
        """Call ``work(influence rows, their place)`` for all rows, block by block.

        Errors are bounded for all rows at once, later: beside the kernels, which hold no GIL,
        small steps of Python would keep the threads waiting for one another.
        """
        entries, n_rows = self.influence.entries, len(weights)
        widest = max(self.influence.width, len(entries))
        starts = block_starts(n_rows, 8 * widest, self.influence.block_bytes)
        rounded = Rounded.blank(n_rows)
        if n_rows * self.influence.width <= _AT_ONCE:
            # Products of small matrices: more threads would wait for one another.
            with one_blas_thread:
                weights = MadeRows(weights.block(0, n_rows))

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            values, rounded.error[here], rounded.size[here] = weights.block(start, stop)
            z = self.influence(values, buffer)
            rounded.exact[here] = self.precision.exact_rows(z, entries)
            work(z, here)

        run_blocks(starts, len(entries), block)
        return rounded

    def _errors(
        self, rounded: Rounded, labels: FloatArray | float, reach: FloatArray, budget: Budget
    ) -> FloatArray:
        """Return bounds on the errors of reaches of so many labels."""
        error, size, exact = rounded
        exact = exact & budget.summed
        if reach.ndim == 2:
            error, size, exact = error[:, None], size[:, None], exact[:, None]
        with np.errstate(invalid="ignore"):
            found = self.precision.errors(error, size, labels) + budget.relative * reach
        return np.where(exact, 0.0, np.where(np.isnan(found), np.inf, found))

    def reach(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return how far a budget can raise and lower the score of each row."""
        (up, down, low_up, low_down), rounded = self._reaches(weights, budget)
        errors = self._errors(rounded, budget.most_labels, np.maximum(up, down), budget)
        found = Bounds.around(up, down, errors)
        if budget.closed:
            return found
        inner = Bounds.around(low_up, low_down, errors)
        tight = (found.outer_up == inner.outer_up) & (found.outer_down == inner.outer_down)
        return replace(found, inner_up=inner.inner_up, inner_down=inner.inner_down, tight=tight)

    def _reaches(self, weights: WeightRows, budget: Budget) -> tuple[FloatArray, Rounded]:
        """Return how far scores rise and fall, then how far some labels raise and lower them."""
        found = np.empty((4, len(weights)))

        def work(z: FloatArray, here: slice) -> None:
            found[:, here] = budget.ends(z, self.influence.entries)

        return found, self._run(weights, work)

    def _full(self, weights: WeightRows) -> WeightRows:
        """Return the weights of rows, dense."""
        return weights

    def full(self) -> "ExactEngine":
        """Return an engine that takes dense rows: itself."""
        return self

    def effects(self, weights: WeightRows, budget: Budget) -> "Effects":
        """Return influence rows, for questions about many of them at once."""
        n_rows, weights = len(weights), self._full(weights)
        z = np.empty((n_rows, len(self.influence.entries)))
        up, down = np.empty((2, n_rows))

        def work(block: FloatArray, here: slice) -> None:
            z[here] = block
            up[here], down[here] = budget.reach(block, self.influence.entries)

        rounded = self._run(weights, work)
        # Effects that raise a score and effects that lower it are each within a reach.
        errors = self._errors(rounded, budget.most_labels, up + down, budget)
        return Effects(z, errors, wider(up, errors), wider(down, errors))

    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return the reach of each row, and what the labels that attain it do to any score."""
        up, down = np.empty((2, len(weights)))
        moved_up = np.empty((len(weights), self.influence.width))
        moved_down = np.empty_like(moved_up)

        def work(z: FloatArray, here: slice) -> None:
            for sign, reached, moved in ((1.0, up, moved_up), (-1.0, down, moved_down)):
                best = budget.argmax(z, self.influence.entries, sign)
                reached[here] = best.reach
                moved[here] = [self.influence.pull_back(*best.changes(i)) for i in range(len(z))]

        rounded = self._run(weights, work)
        errors = self._errors(rounded, budget.most_labels, np.maximum(up, down), budget)
        return Bounds.around(up, down, errors), moved_up, moved_down

    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset."""
        entries = self.influence.entries
        up, down = entries.n_upper * entries.upper**2, entries.n_lower * entries.lower**2
        # In one direction an entry moves on one side only: the larger bounds both.
        return self.influence.gram(np.maximum(up, down)), self.influence.gram_terms

    @cached_property
    def fingerprint(self) -> str:
        """Hash of learner and bias: bounds that were built from others are refused."""
        digest = hashlib.blake2b(digest_size=16)
        # Uneven: offsets belong to rows, and the same rows in another order are another model.
        probe = np.random.default_rng(0).random((1, self.learner.n_rows))
        parts = [self.bias.lower, self.bias.upper]
        if self.learner.row_scale is not None:
            parts.append(self.learner.row_scale)
        if "coefficients" in self.learner.capabilities:
            learner = self.learner.with_coefficients()
            q = learner.n_parameters
            # An uneven one of all parameters too: those after the first may have changed places.
            every = np.random.default_rng(1).random((1, q))
            units = np.vstack((np.eye(min(64, q), q), every))
            parts.append(learner.direction_weights(units).values)
        if self.learner.design is not None:
            parts.append(np.asarray(probe @ self.learner.design))
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    # --- minimum budgets ------------------------------------------------------------------

    def minimum_budget(
        self, weights: WeightRows, margins: Margins, asked: Budget | None = None
    ) -> MinimumBudgets:
        """Return the least budget of the bias's kind that overturns each row; inf if none does."""
        crossings, rounded = self._crossings(weights, margins)
        found, sure = self._amounts(crossings, rounded, margins)
        for row in np.flatnonzero(~sure).tolist():
            found.low[row], found.high[row] = self._between(
                self._full(weights).block(row, row + 1), margins[row : row + 1]
            )
        return found

    def _crossings(
        self, weights: WeightRows, margins: Margins
    ) -> tuple[selection.Crossings, Rounded]:
        entries, budget = self.influence.entries, self.bias.budget
        crossings = selection.Crossings.blank(len(weights))

        def work(z: FloatArray, here: slice) -> None:
            up, down = margins.up[here], margins.down[here]
            crossings.put(here, budget.least(z, entries, up, down))

        return crossings, self._run(weights, work)

    def _amounts(
        self, found: selection.Crossings, rounded: Rounded, margins: Margins
    ) -> tuple[MinimumBudgets, BoolArray]:
        """Return least budgets, and rows for which they are proven, whatever was rounded."""
        margin, slack = np.stack((margins.up, margins.down), axis=1), margins.slack[:, None]
        budget = self.bias.budget
        labels, fewer = budget.labels_of(found.count)
        with np.errstate(invalid="ignore"):
            off_after = self._errors(rounded, labels, found.after, budget) + slack
            off_before = self._errors(rounded, fewer, found.before, budget) + slack
            enough = narrower(found.after, off_after) > margin
            too_few = (wider(found.before, off_before) <= margin) | np.isposinf(margin)
        # Overturned by the least count in one direction, by no smaller count in either.
        least = found.least
        overturned = (enough & (found.count == least[:, None])).any(axis=1) | np.isposinf(least)
        sure = overturned & too_few.all(axis=1) & np.isfinite(margins.slack) & budget.closed
        if not found.step.any():
            return MinimumBudgets(least, least.copy()), np.asarray(sure)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((margin - found.before) / (found.after - found.before), 0.0, 1.0)
            size = found.before + (found.before + found.after) * share
            labels, _ = budget.labels_of(found.at(margin, 1.0))
            off = self._errors(rounded, labels, size, budget) + slack
        low, high = (found.at(margin + sign * off, sign).min(axis=1) for sign in (-1.0, 1.0))
        sure &= (enough | np.isposinf(found.count)).all(axis=1)
        return MinimumBudgets(low, high), np.asarray(sure)

    def _between(self, weights: Weights, margins: Margins) -> tuple[float, float]:
        """Return the smallest and the largest budget that rounding leaves possible for one row."""
        if not (self.precision.proven and np.isfinite(margins.slack[0])):
            return np.nan, np.nan
        z, entries = self.influence(weights.values), self.influence.entries
        most = self.precision.errors(weights.error, weights.size, np.inf) + margins.slack

        budget, up, down = self.bias.budget, margins.up, margins.down
        less, more = 1.0 - 2 * budget.relative, 1.0 + 2 * budget.relative
        with np.errstate(invalid="ignore"):
            narrow = [
                np.where(np.isposinf(each), each, narrower(each * less, most))
                for each in (up, down)
            ]
            low = budget.least(z, entries, *narrow)
            high = budget.enough(z, entries, wider(up * more, most), wider(down * more, most))
            least = float(low.at(np.stack(narrow, axis=1), -1.0).min())
        return max(least, budget.least_amount), float(high[0])

    # --- witnesses ------------------------------------------------------------------------

    def witness(
        self,
        weights: WeightRows,
        row: int,
        margins: Margins,
        budget: Budget,
        least: Callable[[], float] | None = None,
        *,
        smallest: bool = False,
    ) -> LabelChanges | None:
        """Return the smallest set of label changes within a budget proven to overturn a row."""
        one, margins = self._full(weights).block(row, row + 1), margins[row : row + 1]
        found = self.minimum_budget(MadeRows(one), margins)
        needed = found.high[0]
        if not needed <= budget.amount or (smallest and not found.proven[0]):
            return None
        z, needed = (
            self.influence(one.values),
            budget.sized(min(budget.comfortable(needed), budget.amount)),
        )
        exact = self.precision.exact_rows(z, self.influence.entries)
        rounded = Rounded(one.error, one.size, exact)
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            strength, offset = self._labels(sign * z[0])
            chosen, share = needed.choose(strength, np.abs(offset))
            reach = np.array([math.fsum(strength[chosen] * share)])
            error = self._errors(rounded, needed.most_labels, reach, needed) + margins.slack
            if len(chosen) and narrower(reach, error) > margin:
                return LabelChanges(chosen, offset[chosen] * share, sign * float(reach[0]))
        return None

    def strongest(
        self, weights: WeightRows, row: int, sign: float, budget: Budget
    ) -> tuple[IntArray, FloatArray]:
        """Return the labels within a budget that move the score of a row furthest, and how."""
        one = self._full(weights).block(row, row + 1)
        strength, offset = self._labels(sign * self.influence(one.values)[0])
        chosen, share = budget.choose(strength, np.abs(offset))
        return chosen, offset[chosen] * share

    def _labels(self, signed: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what each single training label can add to the score, and by which offset."""
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


# --- Selection over CSR influence rows: the cost is that of the labels that have any influence


_BLOCK = 4096  # rows at a time


class SparseEngine(ExactEngine):
    """The exact engine of CSR influence rows; budgets other than counts see them dense."""

    setting = "neighbours"

    def _reaches(self, weights: WeightRows, budget: Budget) -> tuple[FloatArray, Rounded]:
        if not budget.countable:
            return super()._reaches(_Dense(weights), budget)
        up, down = np.zeros((2, len(weights)))
        rounded = Rounded.blank(len(weights))
        for here, rise, fall in self._packed(weights, rounded):
            if rise.shape[1]:
                entries = _units(rise.shape[1])
                up[here], _ = selection.reach(rise, entries, budget.most_labels)
                down[here], _ = selection.reach(fall, entries, budget.most_labels)
        return np.stack((up, down, up, down)), rounded

    def _crossings(
        self, weights: WeightRows, margins: Margins
    ) -> tuple[selection.Crossings, Rounded]:
        if not self.bias.budget.countable:
            return super()._crossings(_Dense(weights), margins)
        crossings, rounded = selection.Crossings.blank(len(weights)), Rounded.blank(len(weights))
        for here, rise, fall in self._packed(weights, rounded):
            never = np.full(len(rise), np.inf)
            entries = _units(max(1, rise.shape[1]))
            for side, effects, margin in ((0, rise, margins.up), (1, fall, margins.down)):
                some = effects if effects.shape[1] else np.zeros((len(effects), 1))
                found = selection.minimum_budget(some, entries, margin[here], never)
                crossings.count[here, side] = found.count[:, 0]
                crossings.before[here, side] = found.before[:, 0]
                crossings.after[here, side] = found.after[:, 0]
        return crossings, rounded

    def _packed(
        self, weights: WeightRows, rounded: Rounded
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield blocks of rows: where they are, and what each label can add or take away."""
        lower, upper, every = self.bias.lower, self.bias.upper, np.arange(self.width)[None]
        for start in range(0, len(weights), _BLOCK):
            here = slice(start, min(start + _BLOCK, len(weights)))
            values, rounded.error[here], rounded.size[here] = weights.block(here.start, here.stop)
            z, label = packed_rows(values) if sparse.issparse(values) else (values, every)
            low, high = lower[label], upper[label]
            both = np.hstack((low, high))  # together: a sum may be made of either
            rounded.exact[here] = exact_products(np.hstack((z, z)), both)
            with np.errstate(invalid="ignore"):
                fallen, risen = z * low, z * high
            yield here, np.maximum(fallen, risen), np.maximum(-fallen, -risen)

    def _full(self, weights: WeightRows) -> WeightRows:
        return _Dense(weights)

    def full(self) -> ExactEngine:
        """Return the engine of the same influence in dense rows."""
        return ExactEngine(self.learner.full(), self.bias)


class _Dense:
    """Weights of CSR rows, dense: for questions about a few of them."""

    def __init__(self, weights: WeightRows) -> None:
        self._weights = weights

    def __len__(self) -> int:
        return len(self._weights)

    def block(self, start: int, stop: int) -> Weights:
        """Return the weights of rows start to stop, dense."""
        values, error, size = self._weights.block(start, stop)
        return Weights(np.ascontiguousarray(dense(values)), error, size)


def _units(width: int) -> Entries:
    """Return entries whose effects are given: each may rise by one unit, once."""
    return merge_rows(np.zeros(width), np.ones(width))
