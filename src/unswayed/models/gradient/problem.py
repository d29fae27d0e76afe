"""The problem whose minimiser a model with labels in its gradient is, and its numbers for files."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from scipy import special

from unswayed._core.influence import InfluenceMap, distinct_rows
from unswayed._core.rounding import SAFETY, UNIT, binade, gamma
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import NotLinearError
from unswayed.inputs import dense
from unswayed.models.learner import Specification
from unswayed.models.ridge.verified import column_peaks, rescaled, row_norms, with_ones

LIBRARY = 2.0**-44
"""Relative error that exp, log1p and their like may have."""

_STEPS = 96  # parts of an interval in which a secant may be steepest: 0.4 % are lost
_FAR = 2.0**16  # margins beyond this: nothing is said about their slopes
_NEAR = 2.0**-10  # a part of a margin, of which a series is better than a quotient


class Link(ABC):
    """The mean of a label as a function of its margin: increasing, and its logarithm's slope <= 1.

    That is: |d/dm log mean'(m)| <= 1, so that slopes change by a factor exp(t) at most where a
    margin moves by t.
    """

    name: str

    @abstractmethod
    def mean(self, margins: FloatArray) -> FloatArray:
        """Return means, wrong by `LIBRARY` of their value at most."""

    @abstractmethod
    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed: relative errors are within `error_of_secant`."""

    @abstractmethod
    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""

    def slopes(
        self, margins: FloatArray, least: FloatArray, most: FloatArray, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return proven bounds on the secants of margins that move by `least` to `most`."""
        with np.errstate(all="ignore"):
            # As functions of how far a margin moves, secants rise to one peak and fall from there.
            low = np.minimum(self.secant(margins, least), self.secant(margins, most))
            high = self.steepest(margins, least, most)
            lost = error_of_secant(margins, np.maximum(-least, most), error)
            low, high = low * (1.0 - lost), high * (1.0 + lost)
            known = np.isfinite(high) & (lost < 0.5)
        return np.where(known, np.maximum(low, 0.0), 0.0), np.where(known, high, np.inf)


def error_of_secant(margins: FloatArray, moved: FloatArray, error: FloatArray) -> FloatArray:
    """Return bounds on the relative error of secants."""
    size = np.abs(margins) + np.abs(moved)
    found = 16.0 * LIBRARY * (1.0 + size) + 2.0 * error
    return np.where(size < _FAR, found, 1.0)


def _log_cosh(values: FloatArray) -> FloatArray:
    """Return log(2 cosh(v))."""
    size = np.abs(values)
    return size + np.log1p(np.exp(-2.0 * size))


def _log_sinhc(values: FloatArray) -> FloatArray:
    """Return log(sinh(v) / v)."""
    size = np.abs(values)
    small = size < _NEAR
    safe = np.where(small, 1.0, size)
    squared = size * size
    series = squared / 6.0 - squared * squared / 180.0  # wrong by less than 2^-70
    return np.where(small, series, size + np.log(-np.expm1(-2.0 * safe) / (2.0 * safe)))


class Logistic(Link):
    """Logistic regression: mean = 1 / (1 + exp(-margin)).

    Its secants are sinh(t/2)/(t/2) / (4 cosh(m/2) cosh((m+t)/2)). For m <= 0 the function is convex
    up to t = -m, so that secants rise until then. Beyond t = -1.5 m they fall, because the sign of
    their derivative is that of coth(t/2) - 2/t - tanh((m+t)/2), and coth(s) - 1/s <= tanh(s/3). So
    the steepest is in between. For m > 0 it is the same with all signs changed.

    Examples
    --------
    >>> link, zero = Logistic(), np.zeros(1)
    >>> link.secant(zero, zero).tolist(), link.secant(zero, zero + 100).round(6).tolist()
    ([0.25], [0.005])
    """

    name = "logistic"

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return probabilities."""
        return np.asarray(special.expit(margins))

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed."""
        logs = _log_sinhc(moved / 2) - _log_cosh(margins / 2) - _log_cosh((margins + moved) / 2)
        return np.asarray(np.exp(logs))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""
        mirrored = margins > 0
        size = np.abs(margins)
        first, last = np.where(mirrored, -most, least), np.where(mirrored, -least, most)
        found = np.maximum(self.secant(-size, first), self.secant(-size, last))
        start, stop = np.maximum(first, size), np.minimum(last, 1.5 * size)
        inside = np.flatnonzero(start <= stop)
        if len(inside):
            # mean(m + t) - mean(m) rises with t, so that between s and t a secant is at most
            # t/s times the one of t.
            start, stop = np.maximum(start[inside], 1e-300), np.maximum(stop[inside], 1e-300)
            ratio = (stop / start) ** (1.0 / _STEPS)
            ends = start[:, None] * ratio[:, None] ** np.arange(1, _STEPS + 1)
            ends[:, -1] = np.maximum(ends[:, -1], stop)
            peak = self.secant(-size[inside][:, None], ends).max(axis=1)
            peak *= ratio * (1.0 + _STEPS * LIBRARY)
            found[inside] = np.maximum(found[inside], np.minimum(peak, 0.25))
        return np.asarray(found)


class Exponential(Link):
    """Poisson regression with a log link: mean = exp(margin), whose secants rise throughout.

    Examples
    --------
    >>> Exponential().secant(np.zeros(1), np.log([4.0])).round(6).tolist()
    [2.164043]
    """

    name = "log"

    def mean(self, margins: FloatArray) -> FloatArray:
        """Return expected counts."""
        with np.errstate(over="ignore"):
            return np.exp(margins)

    def secant(self, margins: FloatArray, moved: FloatArray) -> FloatArray:
        """Return secants, as computed."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(margins + moved / 2 + _log_sinhc(moved / 2)))

    def steepest(self, margins: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
        """Return upper bounds on secants, up to `error_of_secant`."""
        return self.secant(margins, most)


_KINDS = {"logistic": "logistic", "log": "poisson"}  # names of links, and of models in files


class GradientSpecification(Specification):
    """Features, penalty and weights of logistic or Poisson regression."""

    def __init__(
        self,
        matrix: Matrix,
        link: Link,
        *,
        penalty: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
        class_weight: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        super().__init__(matrix, sample_weight=sample_weight)
        self.kind = _KINDS[link.name]
        self._penalty, self._intercept, self._classes = penalty, fit_intercept, class_weight

    def exact(self, n_rows: int) -> NoReturn:
        """Raise: there is no form of it in rational arithmetic."""
        raise NotLinearError(
            "logistic and Poisson regression have no form in rational arithmetic: their solutions "
            "are no rational numbers"
        )

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, apart from its weights."""
        made = super().document() | {"penalty": self._penalty, "intercept": self._intercept}
        if self._classes != (1.0, 1.0):
            made["class_weights"] = list(self._classes)
        return made


# ----------------------------------------------------------------------------------------
# A training problem whose labels are in the gradient, with bounds on rounding.
#
# Parameters θ of labels y solve Σ_i w_i (mean(a_i·θ) - y_i) a_i + Λθ = 0. Equal rows are merged:
# what counts of them is the sum of their weights and of their weighted labels. Columns are scaled
# by powers of two, so that features of any unit are treated alike.
#
# Columns that vary little beside their size, years or numbers of accounts, are seen from their
# median if there is an intercept, which makes up for it: in the equations of such a column and a
# column of ones, all digits would cancel. The difference of two doubles that are within a factor
# 2 is a double, so that no training row is rounded; entries of other rows are, once.

_SCALES = 2.0**300  # columns are scaled by this at most: squares of it are doubles
_WHOLE = 2.0**40  # sums of whole numbers up to this are exact
_STIFF = 2.0**-4  # of its size: a column that varies by less is seen from its median
_LARGEST = 2.0**900  # of these medians: differences never overflow


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Label vectors as the equations see them, one row each; a single one has one dimension."""

    weight: FloatArray  # Of each distinct row, the sum of its labels' weights
    total: FloatArray  # The sum of its weighted labels

    def __getitem__(self, rows: IntArray | slice) -> "Labels":
        weight = self.weight if self.weight.ndim == 1 else self.weight[rows]
        return Labels(weight, self.total[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """Parameters that nearly solve the equations of some labels, and how nearly."""

    parameters: FloatArray  # In scaled units
    margins: FloatArray  # Of the distinct rows, as computed
    error: FloatArray  # Bounds on the errors of these
    residual: float  # Bound on the norm of what the equations are off by


def stiff_columns(features: Matrix, share: float = _STIFF) -> IntArray:
    """Return the columns that vary little beside their size, constant ones among them."""
    if not features.shape[0]:
        return np.zeros(0, dtype=np.intp)
    low, high = (
        np.ravel(each.toarray() if hasattr(each, "toarray") else each)
        for each in (features.min(axis=0), features.max(axis=0))
    )
    least, most = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    same_sign = (low > 0) | (high < 0)
    return np.flatnonzero(same_sign & (least >= (1.0 - share) * most) & (most < _LARGEST))


class GradientProblem:
    """Rows, weights and penalty of a training problem; labels are given later."""

    def __init__(
        self,
        features: Matrix,
        link: Link,
        *,
        penalty: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
        class_weight: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        self.link = link
        self.n_rows, self.n_features = features.shape
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.weight = np.ones(self.n_rows) if sample_weight is None else sample_weight
        self.first, self.group = distinct_rows(features)
        self.offset = np.zeros(self.n_features)
        if fit_intercept and not hasattr(features, "indptr"):
            stiff = stiff_columns(features)
            self.offset[stiff] = np.median(features[:, stiff], axis=0)
        peak = column_peaks(self._shifted(features)) if self.n_rows else self.offset
        ones = np.ones(int(fit_intercept))
        # Columns that the penalty rules are scaled such that it is about as steep as the rest.
        total = float(self.weight.sum()) * max(class_weight)
        least = math.sqrt(penalty / total) if 0.0 < total < math.inf else 0.0
        size = binade(np.maximum(peak, least))
        self.scale = np.concatenate((1.0 / np.clip(size, 1.0 / _SCALES, _SCALES), ones))
        design = self.directions(features[self.first])
        self.rows = InfluenceMap(design, -np.ones(len(self.first)), np.ones(len(self.first)))
        self.sizes = row_norms(design)
        self.penalty = np.concatenate(
            (np.full(self.n_features, penalty) * self.scale[: self.n_features] ** 2, 0.0 * ones)
        )

    @property
    def n_parameters(self) -> int:
        """Number of parameters: coefficients, and the intercept after them."""
        return len(self.scale)

    def directions(self, features: Matrix) -> Matrix:
        """Return rows in scaled units, with a one for the intercept."""
        scaled = rescaled(self._shifted(features), self.scale[: self.n_features])
        return with_ones(scaled) if self.fit_intercept else scaled

    def _shifted(self, features: Matrix) -> Matrix:
        return dense(features) - self.offset if self.offset.any() else features

    def scaled_parameters(self, parameters: FloatArray) -> FloatArray:
        """Return coefficients and intercept of the features as they are in scaled units, about."""
        found = np.array(parameters, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.offset.any():
                found[-1] += self.offset @ found[:-1]
            return found / self.scale

    @property
    def design(self) -> Matrix:
        """The distinct rows, (n, m), dense or CSR."""
        rows = self.rows.entry_rows
        assert rows is not None  # noqa: S101  (tells mypy)
        return rows

    # --- labels -------------------------------------------------------------------------------

    def labels(self, targets: FloatArray) -> Labels:
        """Return labels as the equations see them."""
        n = len(self.first)
        weight = self.weight
        if self._classes_differ:
            weight = weight * np.where(targets == 1.0, self.class_weight[1], self.class_weight[0])
        sums = [np.bincount(self.group, each, n) for each in (weight, weight * targets)]
        return Labels(*(each.astype(np.float64) for each in sums))

    @property
    def _classes_differ(self) -> bool:
        return self.class_weight != (1.0, 1.0)

    @cached_property
    def label_error(self) -> float:
        """Bound on the relative error of sums of weights and of weighted labels' absolute values.

        It allows for all labels to change once more.
        """
        factors = np.array(self.class_weight)
        whole = (self.weight == np.rint(self.weight)).all() and (factors == np.rint(factors)).all()
        if whole and self.weight.sum() * max(1.0, factors.max()) < _WHOLE:
            return 0.0
        return gamma(2 * int(np.bincount(self.group).max()) + 8)

    def push_factor(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return what a flipped label adds to the gradient, per unit of its own weight, at most.

        A flip changes the weight of a row's own loss, too, from one class's to the other's: what
        it adds is the second class's weight times (1 - mean) and the first's times the mean.
        """
        if not self._classes_differ:
            return np.ones(len(self.first))
        first, second = self.class_weight
        ends = [second * (1.0 - mean) + first * mean for mean in map(self.link.mean, (low, high))]
        return np.asarray(np.maximum(*ends) * (1.0 + 16 * LIBRARY))

    # --- equations ----------------------------------------------------------------------------

    def pull(self, values: FloatArray) -> FloatArray:
        """Return Σ_i value_i a_i over the distinct rows."""
        design = self.design
        if hasattr(design, "indptr"):
            return np.asarray((design.T @ values.T).T)
        return np.asarray(values @ design)

    def margins(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return margins of the distinct rows, and bounds on their errors."""
        norms = row_norms(parameters)
        return self.rows(parameters), gamma(self.n_parameters + 4) * norms[:, None] * self.sizes

    def gradient(self, parameters: FloatArray, labels: Labels) -> FloatArray:
        """Return what the equations are off by, as computed."""
        means = self.link.mean(self.rows(parameters))
        return self.pull(labels.weight * means - labels.total) + self.penalty * parameters

    def residual(self, parameters: FloatArray, labels: Labels) -> FloatArray:
        """Return bounds on the norms of what the equations are off by."""
        with np.errstate(all="ignore"):
            margins, error = self.margins(parameters)
            means = self.link.mean(margins)
            size = labels.weight * means + np.abs(labels.total)
            left = labels.weight * means - labels.total
            # Slopes are at most the means, times exp(error).
            lost = labels.weight * means * (2.0 * error + LIBRARY)
            lost += (8.0 * UNIT + self.label_error) * size
            lost += gamma(len(self.first) + 4) * np.abs(left)
            own = self.penalty * parameters
            found = row_norms(self.pull(left) + own) + lost @ self.sizes
            found += 8.0 * UNIT * row_norms(own)
            known = np.isfinite(found) & (error.max(axis=1, initial=0.0) < 0.25)
        return np.where(known, SAFETY * found, np.inf)

    def centre(self, parameters: FloatArray, labels: Labels) -> Centre:
        """Return parameters together with how nearly they solve the equations."""
        one = parameters[None]
        margins, error = self.margins(one)
        stacked = Labels(labels.weight, labels.total[None])
        return Centre(parameters, margins[0], error[0], float(self.residual(one, stacked)[0]))

    def hessian(self, curvature: FloatArray) -> tuple[FloatArray, float]:
        """Return Σ_i c_i a_i a_iᵀ + Λ, and a bound on the norm of its error."""
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self.rows.gram(curvature)
            matrix = (matrix + matrix.T) / 2
        # The absolute values of the terms sum up to a matrix with the same diagonal.
        trace = float(np.trace(matrix))
        error = gamma(self.rows.gram_terms + 6) * trace + 4.0 * UNIT * float(self.penalty.max())
        matrix[np.diag_indices(len(matrix))] += self.penalty
        return matrix, SAFETY * error
