"""Cross-validation errors as functions of the labels, and bounds on their differences.

The residuals of a candidate c in cross-validation are linear in the labels: r_c(y) = (A - G Ψᵀ) y,
A what a label has in its own residual, G and Ψ of low rank. Its error is Σ ω r². If labels move by
δ, the errors of two candidates differ by

    f(δ) = f(0) + g·δ + Σ q_i δ_i² + Σ λ_j t_j²,  t_j = v_j·δ.

For any slopes p, and δ that keep each t_j within [l_j, u_j],

    f(δ) >= f(0) + Σ_j min over t in [l_j, u_j] of (λ_j t² - p_j t) + min over δ of (g + V p)·δ + q·δ²

where the last minimum is one selection: every label has a best change of its own, and the k best
count. Bad slopes make a weak bound, and never a false one. Where λ_j < 0 the bound is loose if the
interval is long: intervals are halved until the bound is positive, or until a label set is found
that makes the difference negative.
"""

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from unswayed._core.influence import distinct_rows
from unswayed._core.kernels import Locked, one_blas_thread
from unswayed._core.rounding import SAFETY, UNIT, above, below, gamma, norm
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.selection import ExactEngine, SparseEngine
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.models.candidates import CandidatesLearner, Fold
from unswayed.models.learner import LinearInLabels, RidgeSpecification

TIE = 1e-9  # of both errors: scikit-learn's own rounding may decide between candidates this close
_NODES = 400  # pieces that intervals are cut into
_ROOT_STEPS, _STEPS = 120, 30  # of slopes, for the whole and for each piece
_RIVALS = 4  # candidates that each is compared with
_MOST = 2**26  # numbers that describe the errors of all candidates
_WIDEST = 1000  # columns of one of them: quadratic forms have four times as many
_LONG = 2**25  # products of which so many are summed in long doubles
_HARDLY = 1e-3  # of what is to be proven: what directions may do that are left out
_FLAT = 1e-12  # of the largest: singular values below this are taken for 0
_SLOWER = 0.8  # times the last step, where a step made the bound worse


class Residuals(NamedTuple):
    """Residuals of one candidate in cross-validation, as a function of the labels.

    They are times the roots of how much each counts, so that their squares add up to the error.
    """

    label: IntArray  # the label that each of the residuals is of
    own: FloatArray  # how often it counts in its residual
    left: FloatArray  # G, one row per residual
    right: FloatArray  # Ψ, one row per label
    value: FloatArray  # residuals of the labels as they are
    off: float  # the norm of how far these may be off
    slope_off: float  # and of how far what δ adds to them may be, per unit of its norm


def _row_error(learner: LinearInLabels, error: FloatArray, size: FloatArray) -> FloatArray:
    """Return bounds on the norms of the errors of influence rows."""
    scale = learner.error_scale
    weight = math.sqrt(float(scale.weight.max(initial=0.0)))
    return np.asarray(SAFETY * (error * weight + size * norm(scale.entry)))


def _factors(
    learner: LinearInLabels, values: FloatArray, kind: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return influence as a product of two factors, and how far each row of it is off.

    Rows of the second factor are the same for all labels of a kind.
    """
    _, first, group = np.unique(kind, return_index=True, return_inverse=True)
    if learner.design is None:
        left = np.ascontiguousarray(values[:, first])
        right = (group[:, None] == np.arange(len(first))).astype(np.float64)
        return left, right, np.asarray(np.linalg.norm(values - left[:, group], axis=1))
    design = dense(learner.design)
    if learner.row_scale is not None:
        design = design * learner.row_scale[:, None]
    right, triangle = np.linalg.qr(design)
    right = right[first][group]
    width, sizes = gamma(design.shape[1] + 8), np.linalg.norm(values, axis=1)
    missed = norm(design - right @ triangle) + 2 * width * (
        norm(right) * norm(triangle) + norm(design)
    )
    return values @ triangle.T, right, np.asarray(SAFETY * sizes * missed)


class _Tested(NamedTuple):
    """Rows and a model that was trained on labels: influence and scores, with their errors."""

    left: FloatArray
    right: FloatArray
    off: FloatArray  # norms of the errors of influence rows
    score: FloatArray
    error: FloatArray

    @classmethod
    def of(
        cls, learner: LinearInLabels, features: Matrix, kind: IntArray, labels: FloatArray
    ) -> "_Tested":
        """Test a model; `kind` are those of its training labels."""
        represented = learner.represent(features)
        weights = learner.weights(represented)
        left, right, lost = _factors(learner, dense(weights.values), kind)
        off = _row_error(learner, weights.error, weights.size) + lost
        scores = learner.scores(represented, learner.solve(labels))
        return cls(left, right, off, scores.value, scores.error)

    def off_value(self, labels: FloatArray) -> FloatArray:
        """Return how far residuals of labels may be off."""
        return self.error + 4 * UNIT * (np.abs(labels) + np.abs(self.score))


def leave_one_out(
    learner: LinearInLabels, features: Matrix, targets: FloatArray, kinds: "Kinds"
) -> Residuals:
    """Return the residuals of training rows, each by a model that did not see it: r / (1 - h)."""
    specification = learner.specification
    root = np.sqrt(specification.weights(len(targets)))
    found = _solved_residuals(learner, features, root, targets, kinds)
    if isinstance(specification, RidgeSpecification) and specification.alpha > 0:
        other = _ridge_residuals(specification, root, targets, kinds)
        return other if other.off + other.slope_off < found.off + found.slope_off else found
    return found


def _solved_residuals(
    learner: LinearInLabels,
    features: Matrix,
    root: FloatArray,
    targets: FloatArray,
    kinds: "Kinds",
) -> Residuals:
    """Return leave-one-out residuals by the equations that a learner solves."""
    group = kinds.group
    found = _Tested.of(learner, features[kinds.first], group, targets)
    left, off = found.left, found.off
    leverage = np.einsum("ij,ij->i", left, found.right[kinds.first])
    sizes = np.linalg.norm(left, axis=1) * norm(found.right)
    off = off + gamma(left.shape[1] + 8) * sizes
    factor, wrong = _factor(leverage, off)
    with np.errstate(invalid="ignore", over="ignore"):
        value = factor * (targets[kinds.first] - found.score)
        error = factor * (1.0 + wrong) * found.off_value(targets[kinds.first])
        error += wrong * np.abs(value)
        slope_error = factor * (1.0 + wrong) * off + (wrong + 8 * UNIT) * factor * (1.0 + sizes)
    own, left, value, error, slope_error = (
        each[group] for each in (factor, factor[:, None] * left, value, error, slope_error)
    )
    return Residuals(
        np.arange(len(group)),
        root * own,
        root[:, None] * left,
        found.right,
        root * value,
        norm(root * error),
        norm(root * slope_error),
    )


def _factor(leverage: FloatArray, off: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Return 1 / (1 - h), and its relative error: infinite where nothing is left of a row."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rest = 1.0 - leverage
        wrong = np.where(rest > 2 * off, (off + 4 * UNIT) / (rest - off), np.inf)
        return 1.0 / rest, wrong


def _ridge_residuals(
    specification: RidgeSpecification, root: FloatArray, targets: FloatArray, kinds: "Kinds"
) -> Residuals:
    """Return leave-one-out residuals of ridge, by singular values: far sharper than its equations.

    The hat matrix A (AᵀA + αI)⁻¹ Aᵀ = I - α (AAᵀ + αI)⁻¹ moves by at most ‖E‖/√α if A moves by E.
    """
    ways, share, off = _hat(specification, root, kinds)
    leverage = np.einsum("ij,j,ij->i", ways, share, ways)
    off = off + gamma(len(share) + 8) * float((ways**2).sum(axis=1).max(initial=0.0))
    factor, wrong = _factor(leverage, off)
    labels = root * targets
    plain = labels - ways @ (share * (ways.T @ labels))
    rounding = 4 * gamma(len(labels) + len(share) + 8) * norm(ways) ** 2
    most, worst = float(np.abs(factor).max()), float(wrong.max())
    with np.errstate(invalid="ignore", over="ignore"):
        value = factor * plain
        off = SAFETY * most * (1.0 + worst) * (off + rounding)
        grows = SAFETY * most * (1.0 + norm(ways) ** 2) * (worst + 8 * UNIT)
        known = math.isfinite(worst)
        return Residuals(
            np.arange(len(labels)),
            factor * root,
            factor[:, None] * ways * share,
            root[:, None] * ways,
            value,
            off * norm(labels) + worst * norm(value) if known else math.inf,
            (off + grows) * float(root.max(initial=0.0)) if known else math.inf,
        )


def _precise(
    left: FloatArray, right: FloatArray, less: FloatArray | None = None
) -> tuple[FloatArray, float]:
    """Return left · right - less in the longest doubles there are, and a bound on its error."""
    terms, size = left.shape[1] + 16, norm(left) * norm(right)
    if left.shape[0] * terms * right.shape[1] > _LONG:
        found = left @ right - (0.0 if less is None else less)
        return found, gamma(terms) * (size + (0.0 if less is None else norm(less)))
    found = left.astype(np.longdouble) @ right.astype(np.longdouble)
    found = found if less is None else found - less
    unit = float(np.finfo(np.longdouble).eps)
    size += 0.0 if less is None else norm(less)
    rounded = found.astype(np.float64)
    return rounded, SAFETY * (terms * unit * size + UNIT * norm(rounded))


def _hat(
    specification: RidgeSpecification, root: FloatArray, kinds: "Kinds"
) -> tuple[FloatArray, FloatArray, float]:
    """Return U and f with the hat matrix U f Uᵀ of weighted labels, and how far it may be off."""
    features, total = dense(specification.matrix), float(root @ root)
    mean = np.zeros(features.shape[1])
    if specification.fit_intercept:
        mean = (root**2 / total) @ features
    centred = root[:, None] * (features - mean)
    moved = 8 * UNIT * (norm(root[:, None] * features) + norm(root) * norm(mean))
    if specification.fit_intercept:  # the mean is rounded
        left, lost = _precise(root[None], centred)
        moved += SAFETY * (norm(left) + lost + 4 * UNIT * norm(centred)) / norm(root)
    nothing = np.zeros((len(root), 1)), np.zeros(1), math.inf
    if not np.isfinite(centred).all():
        return nothing
    ways, sizes, turned = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > _FLAT * sizes.max(initial=0.0)
    ways, sizes, turned = ways[:, kept][kinds.first][kinds.group], sizes[kept], turned[kept]
    units = np.eye(len(sizes))
    (missed, lost), (skew, lost_skew), (turn, lost_turn) = (
        _precise(ways * sizes, turned, centred),
        _precise(ways.T, ways, units),
        _precise(turned, turned.T, units),
    )
    moved += norm(missed) + lost + 2 * UNIT * norm(sizes)
    skew, turn = norm(skew) + lost_skew, norm(turn) + lost_turn
    if not max(skew, turn) < 0.1:
        return nothing
    # Orthonormal columns are as near as these columns are to being orthonormal.
    moved += 2 * (skew + turn) * float(sizes.max(initial=0.0))
    off = SAFETY * (moved / math.sqrt(specification.alpha) + 3 * skew + 32 * UNIT)
    share = sizes**2 / (sizes**2 + specification.alpha)
    if specification.fit_intercept:
        ways = np.column_stack((ways, root / math.sqrt(total)))
        share = np.append(share, 1.0)
    return ways, share, off


def fold_residuals(folds: Iterable[Fold], targets: FloatArray, kinds: "Kinds") -> Residuals:
    """Return the residuals of all rows that folds are tested on."""
    parts, rights = [], []
    folds = list(folds)
    for fold in folds:
        _, first, group = np.unique(
            kinds.group[fold.test], return_index=True, return_inverse=True
        )
        kind = kinds.group[fold.train]
        found = _Tested.of(fold.learner, fold.features[first], kind, targets[fold.train])
        labels, root = targets[fold.test[first]], math.sqrt(1.0 / (len(fold.test) * len(folds)))
        spread = (found.left, labels - found.score, found.off_value(labels), found.off)
        parts.append((fold.test, *(root * each[group] for each in spread), np.full(len(group), root)))
        right = np.zeros((len(targets), found.right.shape[1]))
        right[fold.train] = found.right
        rights.append(right)
    label, value, error, off, own = (
        np.concatenate([part[at] for part in parts]) for at in (0, 2, 3, 4, 5)
    )
    left = block_diag(*(part[1] for part in parts))
    right = np.hstack(rights)
    lost = 8 * UNIT * (norm(own) + norm(left) * norm(right))
    off_value = SAFETY * (norm(error) + 8 * UNIT * norm(value))
    return Residuals(label, own, left, right, value, off_value, SAFETY * (norm(off) + lost))


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


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Labels of equal rows, equal value and equal intervals count as one kind."""

    group: IntArray  # the kind of each label
    first: IntArray  # a label of each kind
    count: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: bool  # labels move to an end of their interval, or not at all

    @classmethod
    def of(cls, key: FloatArray, bias: ResolvedBias) -> "Kinds":
        """Return the kinds of labels whose rows in `key` are equal."""
        key = np.column_stack((key, bias.lower, bias.upper))
        first, group = distinct_rows(np.ascontiguousarray(key))
        count = np.bincount(group).astype(np.float64)
        return cls(group, first, count, bias.lower[first], bias.upper[first], bias.whole)

    def step(self, labels: int) -> float:
        """Return a bound on the norm of changes of so many labels."""
        largest = np.maximum(-self.lower, self.upper) ** 2
        return math.sqrt(float(self.taken(-largest, labels) @ largest)) * SAFETY

    def taken(self, value: FloatArray, labels: int) -> FloatArray:
        """Return how many labels of each kind are among those of the smallest, negative values."""
        order = np.argsort(value, kind="stable")
        count = np.where(value[order] < 0, self.count[order], 0.0)
        before = np.cumsum(count) - count
        found = np.zeros(len(value))
        found[order] = np.clip(labels - before, 0.0, count)
        return found

    def best(
        self, slope: FloatArray, curve: FloatArray, labels: int
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return the least Σ slope δ + curve δ², its size, how many labels move, and by how much."""
        ends = [self.lower, self.upper]
        if not self.whole:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                bottom = np.where(curve > 0, -slope / (2.0 * curve), 0.0)
            ends.append(np.clip(np.nan_to_num(bottom), self.lower, self.upper))
        offsets = np.array(ends)
        values = offsets * (slope + curve * offsets)
        which = values.argmin(axis=0)
        every = np.arange(len(slope))
        value, offset = values[which, every], offsets[which, every]
        count = self.taken(value, labels)
        size = float(count @ (np.abs(offset) * (np.abs(slope) + np.abs(curve * offset))))
        return float(count @ value), size, count, offset


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

    def _without_flat(
        self, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
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

    def __init__(
        self, learner: CandidatesLearner, targets: FloatArray, bias: ResolvedBias
    ) -> None:
        super().__init__()
        self._learner, self._targets, self._bias = learner, targets, bias
        self._movable = np.asarray((bias.lower < 0) | (bias.upper > 0))
        self._possible: dict[int, BoolArray] = {}

    @property
    def n_movable(self) -> int:
        """Number of labels that may change."""
        return int(self._movable.sum())

    def possible(self, labels: float) -> BoolArray:
        """Return the candidates that are not proven to lose whatever so many labels change."""
        count = int(min(labels, self.n_movable))
        with self._lock:
            if count not in self._possible:
                with one_blas_thread:  # thousands of products with small matrices
                    self._possible[count] = self._find(count)
            return self._possible[count]

    def _find(self, labels: int) -> BoolArray:
        count, error = len(self._learner.parameters), self._learner.validation.error
        found = np.ones(count, dtype=bool)
        if count == 1 or error is None or (error == "squared" and self.squares is None):
            return found
        # Fewer labels can do less: who loses to any larger number of changes loses here too.
        known = [each for many, each in self._possible.items() if many >= labels]
        loses = self._loses_squares if error == "squared" else self._loses_accuracy(labels)
        for at in range(count):
            if at != self._learner.chosen and all(each[at] for each in known):
                found[at] = not loses(at, labels)
            else:
                found[at] = at == self._learner.chosen
        return found

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
        rows = [np.flatnonzero(kinds.group == each)[: int(count[each])] for each in count.nonzero()[0]]
        if not rows:
            return nothing
        chosen = np.sort(np.concatenate(rows))
        return chosen, offset[kinds.group[chosen]]

    # --- accuracies -----------------------------------------------------------------------

    def _loses_accuracy(self, labels: int) -> Callable[[int, int], bool]:
        """Return what tells whether a candidate is less accurate than another, whatever changes."""
        learner, targets = self._learner, self._targets
        folds = learner.validation.folds or ()
        codes = learner.classes
        assert codes is not None  # noqa: S101  (accuracies are of classifiers)
        middle = (codes[0] + codes[1]) / 2
        second = targets > middle
        for train, _ in folds:
            if min(second[train].sum(), (~second[train]).sum()) <= labels:
                return lambda at, labels: False  # a fold may see one class only
        sides = [
            fold_sides(learner.folds(at), targets, self._bias, labels, middle)
            for at in range(len(learner.parameters))
        ]
        tested = np.concatenate([test for _, test in folds])
        weight, truth = fold_weights(folds), np.where(second, 1.0, -1.0)[tested]
        movable = self._movable[tested]

        def loses(at: int, labels: int) -> bool:
            for other, side in enumerate(sides):
                now, more = most_lead(sides[at], side, truth, movable, weight)
                gain = np.bincount(tested, weights=more, minlength=len(targets))
                best = now.sum() + np.sort(gain)[::-1][:labels].sum()
                if other != at and best < -TIE:
                    return True
            return False

        return loses


def fold_weights(folds: Iterable[tuple[IntArray, IntArray]]) -> FloatArray:
    """Return how much each tested row counts: a mean over folds of the mean over their rows."""
    sizes = [len(test) for _, test in folds]
    return np.concatenate([np.full(size, 1.0 / (size * len(sizes))) for size in sizes])
