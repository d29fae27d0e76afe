"""Residuals of cross-validation as functions of the labels, with bounds on their errors.

A residual is a label, times what it counts, less a score that is linear in other labels:
r(y) = (A - G Ψᵀ) y, with G and Ψ of few columns. Labels that cannot be told apart, because rows,
values and intervals are equal, count as one kind.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from unswayed._core.influence import distinct_rows
from unswayed._core.rounding import SAFETY, UNIT, gamma, norm
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.models.candidates import Fold
from unswayed.models.learner import LinearInLabels, RidgeSpecification

_LONG = 2**25  # products of which so many are summed in long doubles
_FLAT = 1e-12  # of the largest: singular values below this are taken for 0


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
        """Return the least Σ slope δ + curve δ², its size, and how many labels move how far."""
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
    learner: LinearInLabels, features: Matrix, targets: FloatArray, kinds: Kinds
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
    kinds: Kinds,
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
    specification: RidgeSpecification, root: FloatArray, targets: FloatArray, kinds: Kinds
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
    left: FloatArray, right: FloatArray, less: FloatArray | float = 0.0
) -> tuple[float, float]:
    """Return the norm of left · right - less, in the longest doubles there are, and its error."""
    terms = left.shape[1] + 16
    size = norm(left) * norm(right) + norm(np.asarray(less))
    if left.shape[0] * terms * right.shape[1] > _LONG:
        return norm(left @ right - less), gamma(terms) * size
    found = left.astype(np.longdouble) @ right.astype(np.longdouble) - less
    unit = float(np.finfo(np.longdouble).eps)
    rounded = norm(found.astype(np.float64))
    return rounded, SAFETY * (terms * unit * size + UNIT * rounded)


def _hat(
    specification: RidgeSpecification, root: FloatArray, kinds: Kinds
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
        moved += SAFETY * (left + lost + 4 * UNIT * norm(centred)) / norm(root)
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
    moved += missed + lost + 2 * UNIT * norm(sizes)
    skew, turn = SAFETY * (skew + lost_skew), SAFETY * (turn + lost_turn)
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


def fold_residuals(folds: Iterable[Fold], targets: FloatArray, kinds: Kinds) -> Residuals:
    """Return the residuals of all rows that folds are tested on."""
    parts, rights = [], []
    folds = list(folds)
    for fold in folds:
        _, first, group = np.unique(kinds.group[fold.test], return_index=True, return_inverse=True)
        kind = kinds.group[fold.train]
        found = _Tested.of(fold.learner, fold.features[first], kind, targets[fold.train])
        labels, root = targets[fold.test[first]], math.sqrt(1.0 / (len(fold.test) * len(folds)))
        spread = (found.left, labels - found.score, found.off_value(labels), found.off)
        every = (root * each[group] for each in spread)
        parts.append((fold.test, *every, np.full(len(group), root)))
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
