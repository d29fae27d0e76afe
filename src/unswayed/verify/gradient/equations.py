"""The equations of logistic and Poisson regression, and their solutions, enclosed.

Parameters θ of labels y solve Σ_i w_i (mean(a_i·θ) - y_i) a_i + Λθ = 0. Equal rows are one: what
counts of them is W, the sum of their weights, and T, the sum of their weighted labels. Columns are
scaled by powers of two, which rounds nothing.

**Inverses** (`Inverse`). Let H = Σ c_i a_i a_iᵀ + Λ with c >= 0, and G symmetric with every row of
|I - HG| summing up to d < 1 at most, in some units of the parameters. Then H is regular, the
eigenvalues of HG are those of H^½ G H^½, hence real, and within d of 1. So
G / (1 + d) ≼ H⁻¹ ≼ G / (1 - d). The file has G; a product shows what it is worth.

**Solutions** (`Inverse.solution`). Let θ miss the equations of some labels by ρ, with curvatures
W_i·slope_i >= q c_i at θ, q <= 1. Where no margin moves by more than ¼ from those of θ, slopes are
at least e^-¼ times those at θ, so that every matrix H̄ of secants is at least e^-¼ q H. Along the
path on which the equations are missed by less and less of ρ, margins move by
√(aᵀH̄⁻¹a · ρᵀH̄⁻¹ρ) at most; if that is below ¼ for every row, the path stays there and ends at the
solution. The file has θ, of the labels as they are and of those of every witness; one G, at the
first of these, serves them all unless q is tiny.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from unswayed.verify import doubles
from unswayed.verify.data import Given, distinct
from unswayed.verify.doubles import SAFETY, TINY, UNIT, FloatArray, IntArray, UnprovenError, gamma
from unswayed.verify.gradient.functions import MEAN, SECANT, Link

_MOST_PARAMETERS = 2**11  # a dozen matrices of that size are what memory is promised for
_ROWS = 256  # added up by BLAS at a time: roundings of a sum of sums are few
_NEAR = 0.25
_FACTOR = 1.2841  # more than e^¼


class Labels(NamedTuple):
    """Labels as the equations see them, for every distinct row."""

    weight: FloatArray  # W
    total: FloatArray  # T
    # Bound on the relative error of W, and on that of T beside the sum of absolute values
    doubt: float
    size: FloatArray  # That sum, for T


class Point(NamedTuple):
    """Parameters, and what is known there."""

    parameters: FloatArray
    labels: Labels
    margins: FloatArray  # Of the distinct rows
    error: FloatArray  # How far from the truth these may be
    missed: FloatArray  # What the equations of the labels are missed by
    doubt: FloatArray  # How far from the truth that may be, each entry


class Pushes(NamedTuple):
    """What single labels can add to the gradient, those that rise before those that fall."""

    rows: IntArray  # Distinct rows
    signs: FloatArray
    amounts: FloatArray
    counts: FloatArray  # Of labels that are alike


class Problem:
    """Distinct training rows, in the order in which they appear, with weights and penalty."""

    def __init__(
        self, given: Given, link: Link, class_weights: Any, offsets: FloatArray | None
    ) -> None:
        self.given, self.link, self.class_weights = given, link, class_weights
        self._offsets = offsets
        if offsets is not None and not given.intercept:
            raise UnprovenError("features are seen from offsets, but there is no intercept")
        if given.train.shape[1] >= _MOST_PARAMETERS:
            raise UnprovenError("there are too many features")
        first, kind, count = distinct(given.train, np.zeros(len(given.labels)))
        order = np.argsort(first)
        self.first, self.count, self.kind = first[order], count[order], np.argsort(order)[kind]
        rows = given.train[self.first]
        rows = np.column_stack((rows, np.ones(len(rows)))) if given.intercept else rows
        rows = self._shifted(rows)
        self.power = doubles.exponents(np.abs(rows).max(axis=0, initial=0.0))
        if given.intercept:
            self.power[-1] = 0
        self.design = doubles.scaled(rows, -self.power)
        self.sizes = norms(self.design)
        penalty = np.full(len(self.power), given.alpha)
        penalty[given.train.shape[1] :] = 0.0
        self.penalty = doubles.scaled(penalty, -2 * self.power)
        self.pushes = self._pushes()

    def directions(self, rows: FloatArray) -> FloatArray:
        """Return rows, with a number for the intercept if there is one, in scaled units."""
        return doubles.scaled(self._shifted(rows), -self.power)

    def scaled(self, parameters: FloatArray) -> FloatArray:
        """Return parameters of the file, or rows of them, in scaled units."""
        return doubles.scaled(parameters, self.power)

    def _shifted(self, rows: FloatArray) -> FloatArray:
        """Return rows less the offsets, each as often as the intercept counts."""
        if self._offsets is None:
            return rows
        less, features = rows[:, -1:] * self._offsets, rows[:, :-1]
        found = features - less
        # Dekker: taking off the larger of two numbers from their sum rounds nothing.
        larger = np.abs(features) >= np.abs(less)
        if not np.where(larger, found - features == -less, found + less == features).all():
            raise UnprovenError("features cannot be seen from the offsets without rounding")
        return np.column_stack((found, rows[:, -1]))

    def _pushes(self) -> Pushes:
        given, parts = self.given, []
        for sign, end in ((1.0, given.upper), (-1.0, -given.lower)):
            amount = end * given.weights
            rows = np.flatnonzero(amount > 0)
            if len(rows):
                first, _, count = distinct(self.kind[rows].astype(np.float64), amount[rows])
                at = rows[first]
                parts.append((self.kind[at], np.full(len(at), sign), amount[at], count))
        if not parts:
            return Pushes(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0))
        found, signs, amounts, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Pushes(found, signs, amounts * (1.0 + 2 * UNIT), counts.astype(np.float64))

    # --- equations ----------------------------------------------------------------------------

    def labels(self, targets: FloatArray, *, rounded: bool = False) -> Labels:
        """Return labels as the equations see them."""
        first, second = self.class_weights
        weight = self.given.weights
        if first != second or first != 1.0:
            weight = weight * np.where(targets == 1.0, second, first)
        parts, size = weight * targets, len(self.first)
        doubt = gamma(int(self.count.max()) + 4)
        whole = all((each == np.rint(each)).all() for each in (weight, parts))
        if whole and not rounded and max(weight.sum(), np.abs(parts).sum()) < 2.0**50:
            doubt = 0.0
        sums = (np.bincount(self.kind, each, size) for each in (weight, parts, np.abs(parts)))
        loads, totals, sizes = (np.asarray(each, dtype=np.float64) for each in sums)
        return Labels(loads, totals, doubt, sizes * (1.0 + doubt) * SAFETY)

    def at(self, parameters: FloatArray, labels: Labels) -> Point:
        """Return margins of given parameters, and what they miss the equations by."""
        margins = self.design @ parameters
        error = gamma(len(parameters) + 2) * (np.abs(self.design) @ np.abs(parameters))
        error = error * SAFETY + TINY
        loads = labels.weight * self.link.mean(margins)
        left = loads - labels.total
        # A mean changes by a factor of e^error <= 1 + 2 error at most.
        lost = loads * (MEAN + 2.0 * error + labels.doubt + 2 * UNIT)
        lost += labels.doubt * labels.size + UNIT * np.abs(left) + labels.weight * TINY
        own = self.penalty * parameters
        vector, size, doubt = np.array(own), np.abs(own), np.zeros_like(own)
        for part in self._parts():
            rows = self.design[part]
            vector += left[part] @ rows
            rows = np.abs(rows)
            size += np.abs(left[part]) @ rows
            doubt += lost[part] @ rows
        doubt = (doubt + self._roundings * size) * SAFETY + len(margins) * TINY
        known = bool((error < _NEAR).all())
        doubt = doubt if known else np.full_like(doubt, np.nan)
        return Point(parameters, labels, margins, error, vector, doubt)

    def curvature(self, point: Point) -> FloatArray:
        """Return W_i·slope_i at a point, about."""
        return point.labels.weight * self.link.secant(point.margins, 0.0 * point.margins)

    def gram(self, curvature: FloatArray) -> "Gram":
        """Return Σ_i c_i a_i a_iᵀ + Λ over the distinct rows."""
        matrix = np.zeros((len(self.power), len(self.power)))
        for part in self._parts():
            rows = self.design[part]
            matrix += (rows * curvature[part, None]).T @ rows
        matrix = (matrix + matrix.T) / 2
        matrix[np.diag_indices(len(matrix))] += self.penalty
        if not np.isfinite(matrix).all():
            raise UnprovenError("the equations overflow")
        return Gram(matrix, self._roundings * SAFETY * (1.0 + 1e-6))

    @property
    def _roundings(self) -> float:
        """Relative error of a sum over all rows, some of them at a time."""
        return gamma(_ROWS + len(self.first) // _ROWS + 8)

    def _parts(self) -> Iterator[slice]:
        return (slice(start, start + _ROWS) for start in range(0, len(self.design), _ROWS))


class Gram(NamedTuple):
    """A matrix Σ c_i a_i a_iᵀ + Λ: entry i, j is wrong by `doubt` √(h_i h_j) at most."""

    matrix: FloatArray
    doubt: float

    @property
    def sizes(self) -> FloatArray:
        """Upper bounds on √h."""
        return np.asarray(np.sqrt(np.maximum(self.matrix.diagonal(), 0.0)) * (1.0 + 1e-9) + TINY)


class Inverse:
    """H = Σ c_i a_i a_iᵀ + Λ, a matrix G, and a bound d on how far HG is from 1."""

    def __init__(self, problem: Problem, curvature: FloatArray, given: FloatArray) -> None:
        self.problem, self.curvature, self.gram = problem, curvature, problem.gram(curvature)
        power = problem.power[:, None]
        matrix = doubles.scaled(given, power + power.T)
        self.matrix = (matrix + matrix.T) / 2
        half = (np.frexp(self.gram.matrix.diagonal())[1] // 2)[:, None]
        gram, found = (
            doubles.scaled(each, sign * (half + half.T))
            for each, sign in ((self.gram.matrix, -1), (self.matrix, 1))
        )
        sums, sizes = np.abs(found).sum(axis=1), np.ldexp(self.gram.sizes, -half[:, 0])
        missed = np.abs(gram @ found - np.eye(len(found))).sum(axis=1)
        rounding = gamma(len(found) + 3) * (np.abs(gram) @ sums + 1.0)
        doubt = self.gram.doubt * sizes * float(sizes @ sums)
        self.defect = float((missed + rounding + doubt).max(initial=0.0)) * SAFETY + TINY
        if not self.defect < 0.5:
            raise UnprovenError("an inverse of the file is none, or of equations near singular")
        # What H⁻¹ is not above, and not below, up to two roundings of each entry.
        self.above = self.matrix / (1.0 - self.defect)
        self.below = self.matrix / (1.0 + self.defect)

    def residual(self, point: Point) -> float:
        """Return a bound on √(ρᵀ H⁻¹ ρ)."""
        size = np.abs(self.above)
        parts = np.stack((point.missed, point.doubt))
        own, lost = forms(parts, self.above, size)[0], forms(parts, size, size)[1]
        return float(own + lost) * SAFETY

    def solution(self, point: Point) -> "Solution":
        """Return the solution for the labels of a point, enclosed around it."""
        lost, used = 2.0 * (SECANT + point.error) + point.labels.doubt, self.curvature > 0
        curvature = self.problem.curvature(point) * (1.0 - lost - 4 * UNIT)
        ratio = curvature[used] / self.curvature[used]
        least = min(1.0, float(ratio.min(initial=1.0))) / SAFETY
        factor = float(np.sqrt(_FACTOR / least)) if least > 0 else np.inf
        rho = self.residual(point) * factor * SAFETY
        if not self._widest * factor * rho * SAFETY < _NEAR:
            raise UnprovenError("the solution could not be enclosed")
        return Solution(point.parameters, self.above, factor * rho)

    @cached_property
    def _widest(self) -> float:
        """A bound on √(aᵀ H⁻¹ a) for all training rows."""
        found = forms(self.problem.design, self.above, np.abs(self.above))
        return float(found.max(initial=0.0))


class Solution(NamedTuple):
    """A solution near some parameters: scores are off by `away` √(xᵀ above x) at most."""

    parameters: FloatArray
    above: FloatArray
    away: float

    def scores(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on scores; a row of zeros has 0."""
        value, error = score(directions, self.parameters)
        away = forms(directions, self.above, np.abs(self.above)) * self.away
        away = (away + error) * SAFETY
        low, high = np.nextafter(value - away, -np.inf), np.nextafter(value + away, np.inf)
        something = directions.any(axis=1)
        return np.where(something, low, 0.0), np.where(something, high, 0.0)


def score(directions: FloatArray, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores, and bounds on their rounding."""
    error = gamma(len(parameters) + 2) * (np.abs(directions) @ np.abs(parameters))
    return directions @ parameters, error * SAFETY + TINY


def norms(rows: FloatArray) -> FloatArray:
    """Return upper bounds on the norms of rows."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1.0 + 1e-9) + 2.0**-480)


def forms(rows: FloatArray, matrix: FloatArray, size: FloatArray) -> FloatArray:
    """Return upper bounds on √(xᵀ Q x) for the rows x."""
    found = np.einsum("ij,ij->i", rows @ matrix, rows)
    positive = np.abs(rows)
    rounding = gamma(2 * len(matrix) + 8) * np.einsum("ij,ij->i", positive @ size, positive)
    return np.asarray(np.sqrt(np.maximum(found, 0.0) + rounding * SAFETY + TINY) * (1.0 + 1e-9))
