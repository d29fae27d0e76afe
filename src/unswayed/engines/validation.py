"""Cross-validation errors as functions of the labels, and bounds on their differences.

The residuals of a candidate c in cross-validation are linear in the labels: r_c(y) = (A - G Ψᵀ) y,
A what a label has in its own residual, G and Ψ of low rank. Its error is Σ ω r². If labels move by
δ, the errors of two candidates differ by

    f(δ) = f(0) + g·δ + Σ q_i δ_i² + Σ λ_j t_j²,  t_j = v_j·δ.

For any slopes p, and δ that keep each t_j within [l_j, u_j],

    f(δ) >= f(0) + Σ_j min over t in [l_j, u_j] of (λ_j t² - p_j t)
                 + min over δ of (g + V p)·δ + Σ q_i δ_i²

where the last minimum is one selection: every label has a best change of its own, and the k best
count. Bad slopes make a weak bound, and never a false one. Where λ_j < 0 the bound is loose if the
interval is long: intervals are halved until the bound is positive, or until a label set is found
that makes the difference negative.
"""

import heapq
import math
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unswayed._core.influence import distinct_rows
from unswayed._core.kernels import Locked, one_blas_thread
from unswayed._core.rounding import SAFETY, UNIT, above, below, gamma, norm
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.residuals import Kinds, Residuals, fold_residuals, leave_one_out
from unswayed.engines.selection import ExactEngine, SparseEngine
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.models.candidates import CandidatesLearner, Fold

TIE = 1e-9  # of both errors: scikit-learn's own rounding may decide between candidates this close
_NODES = 400  # pieces that intervals are cut into
_ROOT_STEPS, _STEPS = 120, 30  # of slopes, for the whole and for each piece
_RIVALS = 4  # candidates that each is compared with
_MOST = 2**26  # numbers that describe the errors of all candidates
_WIDEST = 1000  # columns of one of them: quadratic forms have four times as many
_HARDLY = 1e-3  # of what is to be proven: what directions may do that are left out
_SLOWER = 0.8  # times the last step, where a step made the bound worse


# --- Differences of squared errors ----------------------------------------------------------


class Squares(NamedTuple):
    """The squared error of one candidate as a function of δ: its parts, and how far it may be off.

    error = size² + slope·δ + Σ own δ² - 2 (across δ)·(right δ) + ‖left (right δ)‖²
    """

    value: float
    slope: FloatArray
    own: FloatArray
    across: FloatArray
    right: FloatArray
    inner: FloatArray  # Gram matrix of `left`
    grows: float  # the norm of residuals rises by at most this, per unit of δ
    off: float  # of the norm of residuals
    slope_off: float  # and per unit of δ

    @classmethod
    def of(cls, found: Residuals, n_labels: int) -> "Squares":
        """Return the parts of the sum of squared residuals."""
        slope, own = np.zeros((2, n_labels))
        across = np.zeros((n_labels, found.left.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            np.add.at(slope, found.label, found.own * found.value)
            slope -= found.right @ (found.left.T @ found.value)
            np.add.at(own, found.label, found.own**2)
            np.add.at(across, found.label, found.own[:, None] * found.left)
            # No norm of a matrix exceeds the root of the largest row sum of its Gram matrix.
            spread = float(np.abs(found.right.T @ found.right).sum(axis=1).max(initial=0.0))
            grows = math.sqrt(float(own.max(initial=0.0))) + norm(found.left) * math.sqrt(spread)
            return cls(
                float(found.value @ found.value), 2.0 * slope, own, across, found.right,
                found.left.T @ found.left, SAFETY * grows, found.off, found.slope_off,
            )  # fmt: skip

    def largest(self, step: float) -> float:
        """Return a bound on the norm of residuals, for δ of norm up to `step`."""
        return SAFETY * (math.sqrt(self.value) + self.grows * step)

    def uncertainty(self, step: float) -> float:
        """Return how far the error may be from the true one, for δ of norm up to `step`."""
        off = self.off + self.slope_off * step
        return SAFETY * off * (2.0 * self.largest(step) + off)


class _Piece(NamedTuple):
    """A bound for δ that keep each t within an interval."""

    bound: float
    number: int  # pieces with equal bounds are compared by this
    low: FloatArray
    high: FloatArray
    slopes: FloatArray


class Difference:
    """How much larger the squared error of one candidate is than another's, at least."""

    def __init__(self, one: Squares, other: Squares, kinds: Kinds, labels: int) -> None:
        self._kinds, self._labels = kinds, labels
        first, root = kinds.first, np.sqrt(kinds.count)
        self._start = one.value - other.value
        self._slope = (one.slope - other.slope)[first]
        self._curve = (one.own - other.own)[first]
        self._step = step = kinds.step(labels)
        columns = [each[first] for s in (one, other) for each in (s.across, s.right)]
        stacked = np.hstack(columns) * root[:, None]
        middle = _middle(one, other)
        basis, triangle = np.linalg.qr(stacked)
        core = triangle @ middle @ triangle.T
        core = (core + core.T) / 2
        self._curves, turned = np.linalg.eigh(core)
        self._ways = (basis @ turned) / root[:, None]
        size = norm(stacked)
        missed = norm(stacked - basis @ triangle) + gamma(stacked.shape[1] + 4) * (
            norm(basis) * norm(triangle) + size
        )
        left = norm(core - (turned * self._curves) @ turned.T)
        terms = gamma(4 * (len(one.slope) + stacked.shape[1]) + 64)
        largest = one.largest(step) ** 2 + other.largest(step) ** 2
        rounding = norm(middle) * (2 * size + missed) * missed + left
        rounding += 8 * gamma(4 * stacked.shape[1] + 64) * norm(core) * stacked.shape[1]
        # What candidates must differ by: rounding here, and scikit-learn's own.
        self._needed = SAFETY * (
            one.uncertainty(step)
            + other.uncertainty(step)
            + 16 * terms * largest
            + rounding * step**2
            + TIE * (one.value + other.value)
        )
        self._rounding = gamma(4 * (len(first) + stacked.shape[1]) + 64)

    def is_positive(self) -> bool:
        """Return whether the difference is proven to be positive, whatever labels change."""
        if not (math.isfinite(self._needed) and self._start > self._needed):
            return False
        if not self._labels:
            return True
        low, high = self._without_flat(*self._intervals())
        slopes = np.where(self._curves < 0, self._curves * (low + high), 0.0)
        root = self._best_piece(0, low, high, slopes, _ROOT_STEPS)
        if root is None:
            return False
        pieces, number = [root], 0
        while number < _NODES:
            piece = heapq.heappop(pieces)
            if piece.bound > self._needed:
                return True  # it was the lowest
            for half in self._halves(piece):
                number += 1
                found = self._best_piece(number, *half, piece.slopes, _STEPS)
                if found is None:
                    return False
                heapq.heappush(pieces, found)
        return False

    def _intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return within what each t lies."""
        found = np.zeros((2, len(self._curves)))
        nothing = np.zeros(len(self._kinds.first))
        for at, way in enumerate(self._ways.T):
            for side, sign in enumerate((1.0, -1.0)):
                value, size, _, _ = self._kinds.best(sign * way, nothing, self._labels)
                found[side, at] = sign * (value - self._rounding * size)
        return found[0], found[1]

    def _without_flat(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Leave out directions that hardly matter, and take away what they may do."""
        most = np.abs(self._curves) * np.maximum(-low, high) ** 2
        order = np.argsort(most, kind="stable")
        flat = np.cumsum(most[order]) <= _HARDLY * (self._start - self._needed)
        kept = np.sort(order[~flat])
        self._needed += SAFETY * float(most[order[flat]].sum())
        self._curves, self._ways = self._curves[kept], np.ascontiguousarray(self._ways[:, kept])
        return low[kept], high[kept]

    def _halves(self, piece: _Piece) -> list[tuple[FloatArray, FloatArray]]:
        """Cut the interval in two whose bound is loosest."""
        loose = np.where(self._curves < 0, -self._curves * (piece.high - piece.low) ** 2, 0.0)
        at = int(loose.argmax())
        middle = (piece.low[at] + piece.high[at]) / 2
        low, high = piece.low.copy(), piece.high.copy()
        low[at], high[at] = middle, middle
        return [(piece.low, high), (low, piece.high)]

    def _best_piece(
        self, number: int, low: FloatArray, high: FloatArray, slopes: FloatArray, steps: int
    ) -> _Piece | None:
        """Return a bound by slopes that are improved step by step; None if labels refute it."""
        curves, ways, kinds = self._curves, self._ways, self._kinds
        scale = np.abs(curves) + 1e-3 * np.abs(curves).max(initial=0.0)
        best, best_slopes, length = -math.inf, slopes, 1.0
        for _ in range(steps):
            inner, at, inner_size = _inner(curves, slopes, low, high)
            slope = self._slope + ways @ slopes
            value, size, count, offset = kinds.best(slope, self._curve, self._labels)
            bound = self._start + inner + value
            bound -= self._rounding * (abs(self._start) + inner_size + size)
            moved = count * offset
            reached = ways.T @ moved
            if self._at(moved, count * offset**2, reached) <= self._needed:
                return None
            if bound > best:
                best, best_slopes = bound, slopes
            else:
                length *= _SLOWER
            if best > self._needed:
                break
            slopes = slopes + length * scale * (reached - at)
        return _Piece(best, number, low, high, best_slopes)

    def _at(self, moved: FloatArray, squares: FloatArray, reached: FloatArray) -> float:
        """Return the difference for given label changes, about."""
        linear = self._slope @ moved + self._curve @ squares
        return float(self._start + linear + self._curves @ reached**2)


def _middle(one: Squares, other: Squares) -> FloatArray:
    """Return the quadratic form of both candidates in the columns (across, right) of each."""
    sizes = [one.right.shape[1], other.right.shape[1]]
    found = np.zeros((2 * sum(sizes), 2 * sum(sizes)))
    start = 0
    for sign, each, size in ((1.0, one, sizes[0]), (-1.0, other, sizes[1])):
        across, right = slice(start, start + size), slice(start + size, start + 2 * size)
        found[across, right] = found[right, across] = -sign * np.eye(size)
        found[right, right] = sign * each.inner
        start += 2 * size
    return found


def _inner(
    curves: FloatArray, slopes: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, FloatArray, float]:
    """Return the least Σ λ t² - p t over intervals, where that is, and the size of its terms."""
    bent = curves > 0
    with np.errstate(over="ignore", invalid="ignore"):
        bottom = np.clip(slopes / np.where(bent, 2.0 * curves, 1.0), low, high)
    ends = np.array([low, high, np.where(bent, bottom, low)])
    values = ends * (curves * ends - slopes)
    which = values.argmin(axis=0)
    at = ends[which, np.arange(len(curves))]
    size = float(np.sum(np.abs(at) * (np.abs(curves * at) + np.abs(slopes))))
    return float(values.min(axis=0).sum()), at, size


# --- Differences of accuracies --------------------------------------------------------------


def fold_sides(
    folds: Iterable[Fold], targets: FloatArray, bias: ResolvedBias, labels: int, middle: float
) -> FloatArray:
    """Return on which side of `middle` scores of tested rows stay: 1 above, -1 not, 0 unknown."""
    found = []
    for fold in folds:
        learner, train = fold.learner, fold.train
        own = ResolvedBias(bias.lower[train], bias.upper[train], Count(labels), whole=bias.whole)
        engine = (SparseEngine if learner.sparse else ExactEngine)(learner, own)
        rows = engine.rows(fold.features)
        bounds, scores = engine.reach(rows, own.budget), rows.scores(learner.solve(targets[train]))
        over = below(scores.value, -bounds.outer_down, scores.error) > middle
        under = above(scores.value, bounds.outer_up, scores.error) <= middle
        found.append(over.astype(np.float64) - under)
    return np.concatenate(found)


def most_lead(
    one: FloatArray, other: FloatArray, truth: FloatArray, movable: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return by how much one candidate can lead another at each row, and more if its label changes.

    `truth` is 1 for labels of the second class and -1 for the others.
    """

    def lead(truth: FloatArray) -> FloatArray:
        best = np.where(one == 0, 1.0, one == truth)
        worst = np.where(other == 0, 0.0, other == truth)
        return np.where((one != 0) & (one == other), 0.0, best - worst)

    now = lead(truth)
    changed = np.where(movable, np.maximum(lead(-truth) - now, 0.0), 0.0)
    return weight * now, weight * changed


# --- Who can be chosen ----------------------------------------------------------------------


class Contest(Locked):
    """Candidates and the labels that choose among them: who can win if some labels change?"""

    def __init__(self, learner: CandidatesLearner, targets: FloatArray, bias: ResolvedBias) -> None:
        super().__init__()
        self._learner, self._targets, self._bias = learner, targets, bias
        self._movable = np.asarray((bias.lower < 0) | (bias.upper > 0))
        # Per candidate: the most labels with which it loses, the fewest with which it may win.
        self._known = [(-1, math.inf)] * len(learner.parameters)
        self._known[learner.chosen] = -1, 0
        self._sides_at: tuple[int, list[FloatArray] | None] = -1, None  # the last that was asked

    @property
    def n_movable(self) -> int:
        """Number of labels that may change."""
        return int(self._movable.sum())

    def possible(self, labels: float) -> BoolArray:
        """Return the candidates that are not proven to lose whatever so many labels change."""
        return np.array([self.may_win(at, labels) for at in range(len(self._known))])

    def may_win(self, at: int, labels: float) -> bool:
        """Return whether a candidate is not proven to lose whatever so many labels change."""
        count = int(min(labels, self.n_movable))
        with self._lock:
            loses, wins = self._known[at]
            if loses < count < wins:  # fewer labels can do less, and more can do more
                with one_blas_thread:  # thousands of products with small matrices
                    lost = self._loses(at, count)
                loses, wins = self._known[at] = (count, wins) if lost else (loses, count)
            return count > loses

    def _loses(self, at: int, labels: int) -> bool:
        """Return whether a candidate is proven to lose."""
        error = self._learner.validation.error
        if error == "accuracy":
            return self._loses_accuracy(at, labels)
        return error == "squared" and self.squares is not None and self._loses_squares(at, labels)

    # --- squared errors -------------------------------------------------------------------

    @cached_property
    def kinds(self) -> Kinds:
        """Labels that cannot be told apart."""
        learner = self._learner
        _, group = distinct_rows(learner.features)
        weight = np.zeros(len(group)) if learner.sample_weight is None else learner.sample_weight
        key = [group.astype(np.float64), weight, self._targets]
        for parts in learner.validation.folds or ():
            key += [np.isin(np.arange(len(group)), rows).astype(np.float64) for rows in parts]
        return Kinds.of(np.column_stack(key), self._bias)

    @cached_property
    def squares(self) -> list[Squares] | None:
        """The squared error of each candidate; None if they would fill the memory."""
        learner, found = self._learner, []
        for at, candidate in enumerate(learner.candidates):
            if learner.validation.folds is None:
                features = candidate.features(learner.features)
                each = leave_one_out(candidate.learner, features, self._targets, self.kinds)
            else:
                each = fold_residuals(learner.folds(at), self._targets, self.kinds)
            if each.right.size * len(learner.candidates) > _MOST or each.right.shape[1] > _WIDEST:
                return None
            found.append(Squares.of(each, learner.n_rows))
        return found

    def _rivals(self, at: int, labels: int) -> list[int]:
        """Return candidates that are better now, first those that labels hardly help against."""
        assert self.squares is not None  # noqa: S101  (asked before)
        own, first, found = self.squares[at], self.kinds.first, []
        nothing = np.zeros(len(first))
        for number, other in enumerate(self.squares):
            ahead = own.value - other.value - TIE * (own.value + other.value)
            if number != at and ahead > 0:
                slope = (own.slope - other.slope)[first]
                lost = -self.kinds.best(slope, nothing, labels)[0]
                found.append((-ahead / (lost or UNIT), number))
        return [number for _, number in sorted(found)]

    def _loses_squares(self, at: int, labels: int) -> bool:
        assert self.squares is not None  # noqa: S101  (asked before)
        own = self.squares[at]
        return any(
            Difference(own, self.squares[rival], self.kinds, labels).is_positive()
            for rival in self._rivals(at, labels)[:_RIVALS]
        )

    def towards(self, at: int, labels: float) -> tuple[IntArray, FloatArray]:
        """Return label changes that favour a candidate over the chosen one: a guess."""
        nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
        if self._learner.validation.error != "squared" or self.squares is None:
            return nothing
        own, other = self.squares[at], self.squares[self._learner.chosen]
        first, kinds = self.kinds.first, self.kinds
        slope, curve = (own.slope - other.slope)[first], (own.own - other.own)[first]
        many = int(min(labels, self.n_movable))
        _, _, count, offset = kinds.best(slope, curve, many)
        moved = np.flatnonzero(count).tolist()
        rows = [np.flatnonzero(kinds.group == each)[: int(count[each])] for each in moved]
        if not rows:
            return nothing
        chosen = np.sort(np.concatenate(rows))
        return chosen, offset[kinds.group[chosen]]

    # --- accuracies -----------------------------------------------------------------------

    def _loses_accuracy(self, at: int, labels: int) -> bool:
        """Return whether a candidate is less accurate than another, whatever changes."""
        sides, targets = self._sides(labels), self._targets
        if sides is None:
            return False
        folds = self._learner.validation.folds or ()
        tested = np.concatenate([test for _, test in folds])
        truth = np.where(targets > self._middle, 1.0, -1.0)[tested]
        weight, movable = fold_weights(folds), self._movable[tested]
        for other, side in enumerate(sides):
            now, more = most_lead(sides[at], side, truth, movable, weight)
            gain = np.bincount(tested, weights=more, minlength=len(targets))
            best = now.sum() + np.sort(gain)[::-1][:labels].sum()
            if other != at and best < -TIE:
                return True
        return False

    @property
    def _middle(self) -> float:
        """The number between both classes."""
        codes = self._learner.classes
        assert codes is not None  # noqa: S101  (accuracies are of classifiers)
        return (codes[0] + codes[1]) / 2

    def _sides(self, labels: int) -> list[FloatArray] | None:
        """Return the sides of tested rows by each candidate; None if a fold may see one class."""
        if self._sides_at[0] != labels:
            learner, second = self._learner, self._targets > self._middle
            found: list[FloatArray] | None = None
            trained = [second[train] for train, _ in learner.validation.folds or ()]
            if all(min(each.sum(), (~each).sum()) > labels for each in trained):
                found = [
                    fold_sides(learner.folds(at), self._targets, self._bias, labels, self._middle)
                    for at in range(len(learner.parameters))
                ]
            self._sides_at = labels, found
        return self._sides_at[1]


def fold_weights(folds: Iterable[tuple[IntArray, IntArray]]) -> FloatArray:
    """Return how much each tested row counts: a mean over folds of the mean over their rows."""
    sizes = [len(test) for _, test in folds]
    return np.concatenate([np.full(size, 1.0 / (size * len(sizes))) for size in sizes])
