"""The equations of a model whose labels are in its gradient, with bounds on rounding.

Parameters θ of labels y solve Σ_i w_i (mean(a_i·θ) - y_i) a_i + Λθ = 0. Equal rows are one: what
counts of them is W, the sum of their weights, and T, the sum of their weighted labels. Columns are
scaled by powers of two, which rounds nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unswayed.verify.floating.enclosure import two_sum
from unswayed.verify.floating.equations import MOST_EQUATIONS
from unswayed.verify.floating.given import Given, distinct
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    exponents,
    gamma,
    scaled,
)
from unswayed.verify.gradient.functions import MEAN, Link

_ROWS = 256  # added up by BLAS at a time: roundings of a sum of sums are few


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels as the equations see them, for every distinct row."""

    weight: FloatArray  # W and T
    total: FloatArray  # W and T
    # Bound on the relative error of W, and on that of T beside the sum of absolute values
    doubt: float
    size: FloatArray  # That sum, for T


@dataclass(frozen=True, slots=True)
class Missed:
    """What parameters miss the equations by: `vector`, up to `error` in each entry."""

    vector: FloatArray
    error: FloatArray


@dataclass(frozen=True, slots=True)
class Gram:
    """A matrix Σ c_i a_i a_iᵀ + Λ: entry i, j is wrong by `doubt` √(h_i h_j) at most."""

    matrix: FloatArray
    doubt: float

    @property
    def sizes(self) -> FloatArray:
        """Upper bounds on √h."""
        return np.asarray(np.sqrt(np.maximum(self.matrix.diagonal(), 0.0)) * (1.0 + 1e-9) + TINY)


class Problem:
    """Distinct training rows, weights and penalty."""

    def __init__(
        self,
        given: Given,
        link: Link,
        class_weights: tuple[float, float] = (1.0, 1.0),
        offsets: FloatArray | None = None,
    ) -> None:
        self.given, self.link, self.class_weights = given, link, class_weights
        self._offsets = offsets
        if offsets is not None and not given.intercept:
            raise UnprovenError("features are seen from offsets, but there is no intercept")
        self.first, self.kind, self.count = distinct(given.train, np.zeros(len(given.labels)))
        width = given.train.shape[1]
        if width >= MOST_EQUATIONS:
            raise UnprovenError("there are too many features")
        none = np.zeros(0, dtype=np.int64)
        shifted = self._shifted(given.train, np.ones(1))
        self.power = np.append(
            exponents(shifted, axis=0)[0] if width else none,
            np.zeros(int(given.intercept), dtype=np.int64),
        )
        self.design = self.directions(given.train[self.first], np.ones(len(self.first)))
        self.sizes = norms(self.design)
        penalty = np.append(np.full(width, given.alpha), np.zeros(int(given.intercept)))
        self.penalty = scaled(penalty, -2 * self.power)

    def directions(self, rows: FloatArray, ends: FloatArray) -> FloatArray:
        """Return rows in scaled units, with a column for the intercept."""
        made = scaled(self._shifted(rows, ends), -self.power[: rows.shape[1]])
        return np.column_stack((made, ends)) if self.given.intercept else made

    def _shifted(self, rows: FloatArray, ends: FloatArray) -> FloatArray:
        """Return rows less the offsets, each as often as the intercept counts."""
        if self._offsets is None:
            return rows
        less, rest = two_sum(rows, -ends[:, None] * self._offsets)
        if rest.any():  # NaN counts
            raise UnprovenError("features cannot be seen from the offsets without rounding")
        return less

    def parameters(self, values: FloatArray) -> FloatArray:
        """Return parameters in scaled units."""
        return scaled(values, self.power)

    # --- labels -------------------------------------------------------------------------------

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

    # --- equations ----------------------------------------------------------------------------

    def margins(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return margins of the distinct rows, and bounds on their errors."""
        error = gamma(len(parameters) + 2) * (np.abs(self.design) @ np.abs(parameters))
        return self.design @ parameters, error * SAFETY + TINY

    def missed(self, parameters: FloatArray, labels: Labels) -> Missed:
        """Return what parameters miss the equations by."""
        margins, error = self.margins(parameters)
        means = self.link.mean(margins)
        loads = labels.weight * means
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
        known = bool((error < 0.25).all())
        return Missed(vector, doubt if known else np.full_like(doubt, np.nan))

    def gram(self, curvature: FloatArray) -> Gram:
        """Return Σ_i c_i a_i a_iᵀ + Λ over the distinct rows."""
        matrix = np.zeros((len(self.power), len(self.power)))
        for part in self._parts():
            rows = self.design[part]
            matrix += (rows * curvature[part, None]).T @ rows
        matrix = (matrix + matrix.T) / 2
        matrix[np.diag_indices(len(matrix))] += self.penalty
        return Gram(matrix, self._roundings * SAFETY * (1.0 + 1e-6))

    @property
    def _roundings(self) -> float:
        """Relative error of a sum over all rows, some of them at a time."""
        return gamma(_ROWS + len(self.first) // _ROWS + 8)

    def _parts(self) -> Iterator[slice]:
        return (slice(start, start + _ROWS) for start in range(0, len(self.design), _ROWS))


def norms(rows: FloatArray) -> FloatArray:
    """Return upper bounds on the norms of rows."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1.0 + 1e-9) + 2.0**-480)


def forms(rows: FloatArray, matrix: FloatArray, size: FloatArray) -> FloatArray:
    """Return upper bounds on √(xᵀ Q x) for the rows x."""
    found = np.einsum("ij,ij->i", rows @ matrix, rows)
    positive = np.abs(rows)
    rounding = gamma(2 * len(matrix) + 8) * np.einsum("ij,ij->i", positive @ size, positive)
    return np.asarray(np.sqrt(np.maximum(found, 0.0) + rounding * SAFETY + TINY) * (1.0 + 1e-9))


def pushes(problem: Problem) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return what single labels can add to the gradient, equal ones together."""
    given = problem.given
    parts = []
    for sign, end in ((1.0, given.upper), (-1.0, -given.lower)):
        amount = end * given.weights
        rows = np.flatnonzero(amount > 0)
        if len(rows):
            kinds = problem.kind[rows].astype(np.float64)
            first, _, count = distinct(kinds, amount[rows])
            at = rows[first]
            parts.append((problem.kind[at], np.full(len(at), sign), amount[at], count))
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0)
    found, signs, amounts, counts = (np.concatenate(each) for each in zip(*parts, strict=True))
    return found, signs, amounts * (1.0 + 2 * UNIT), counts.astype(np.float64)
