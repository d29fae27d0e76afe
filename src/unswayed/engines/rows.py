"""Rows put to an engine: as the model's specification sees them, and as weights made on demand."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from unswayed._core.influence import WeightRows, Weights
from unswayed._core.kernels import one_blas_thread
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.engines.rational import ExactRow, RationalEngine
from unswayed.inputs import dense
from unswayed.models.learner import (
    LinearInLabels,
    LinearLearner,
    Parametric,
    Scores,
    Solution,
    with_coefficients,
)
from unswayed.models.ridge.verified import weighted_gram
from unswayed.results.groups import StandardErrors

_BLOCK = 2**22  # numbers in a block: kernel rows of all rows may not fit into memory
_SPARSE = 64  # numbers that a CSR row is taken to have, however many training rows there are
_BLOCKS_KEPT = 4  # blocks kept: threads work side by side on neighbouring rows


class RepresentedRows:
    """A set of feature rows as a learner represents them, made on demand."""

    def __init__(self, learner: LinearInLabels, rows: Matrix) -> None:
        self.rows = rows
        self._learner = learner
        self._given = learner.takes_features  # they are what they are
        self._step = max(1, _BLOCK // max(1, _SPARSE if learner.sparse else learner.n_rows))
        self._made: OrderedDict[int, Matrix] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def _block(self, number: int) -> Matrix:
        with self._lock:
            if number not in self._made:
                start = number * self._step
                rows = self.rows[start : start + self._step]
                with one_blas_thread:
                    self._made[number] = self._learner.represent(rows)
            self._made.move_to_end(number)
            while len(self._made) > _BLOCKS_KEPT:
                self._made.popitem(last=False)
            return self._made[number]

    def take(self, which: IntArray) -> Matrix:
        """Return some of the rows as the learner represents them."""
        if self._given or not len(which):
            return self.rows[which] if self._given else np.empty((0, self._learner.n_rows))
        block = which // self._step
        if sparse.issparse(first := self._block(int(block[0]))):
            return self._sparse_rows(which, block)
        out = np.empty((len(which), first.shape[1]))
        for number in np.unique(block).tolist():
            here = np.flatnonzero(block == number)
            out[here] = self._block(number)[which[here] - number * self._step]
        return out

    def _sparse_rows(self, which: IntArray, block: IntArray) -> Matrix:
        parts, places = [], []
        for number in np.unique(block).tolist():
            here = np.flatnonzero(block == number)
            parts.append(self._block(number)[which[here] - number * self._step])
            places.append(here)
        order = np.argsort(np.concatenate(places), kind="stable")
        return sparse.csr_array(sparse.vstack(parts, format="csr"))[order]

    def blocks(self) -> Iterator[Matrix]:
        """Yield all rows as the learner represents them, block by block, in order."""
        if self._given:
            yield self.rows
            return
        for number in range(-(-len(self) // self._step)):
            yield self._block(number)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


class Rows(Protocol):
    """Numbers in question, one per row: scores of feature rows, coefficients or sums of them."""

    def __len__(self) -> int: ...

    def take(self, which: IntArray) -> "Rows":
        """Return some of the rows."""
        ...

    def shown(self, which: IntArray) -> Matrix | None:
        """Return feature rows as the model's specification sees them; None for coefficients."""
        ...

    @property
    def sums(self) -> Matrix | None:
        """Sums of coefficients, (m, n_features) CSR; None if rows are not given as such."""
        ...


class LinearRows(Rows, Protocol):
    """Rows whose scores are linear in the labels: an engine asks for their weights."""

    def take(self, which: IntArray) -> "LinearRows":
        """Return some of the rows."""
        ...

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of rows start to stop."""
        ...

    def directions(self, here: slice) -> FloatArray:
        """Return some of the rows as directions in parameter space."""
        ...

    def scores(self, solution: Solution) -> Scores:
        """Return scores of the rows."""
        ...

    def exactly(self, engine: RationalEngine, which: IntArray) -> Iterator[ExactRow]:
        """Return some of the rows in rational arithmetic."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Weights of feature rows, of all or of the selected ones."""

    learner: LinearInLabels
    represented: RepresentedRows
    which: IntArray

    sums = None

    @classmethod
    def of(cls, learner: LinearInLabels, rows: Matrix) -> "FeatureRows":
        """Return all of the rows."""
        return cls(learner, RepresentedRows(learner, rows), np.arange(rows.shape[0]))

    def __len__(self) -> int:
        return len(self.which)

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of rows start to stop."""
        return self.learner.weights(self.represented.take(self.which[start:stop]))

    def take(self, which: IntArray) -> "FeatureRows":
        """Return some of the rows."""
        return FeatureRows(self.learner, self.represented, self.which[which])

    def directions(self, here: slice) -> FloatArray:
        """Return some of the rows as directions in parameter space."""
        learner = with_coefficients(self.learner)
        return learner.directions(self.represented.take(self.which[here]))

    def scores(self, solution: Solution) -> Scores:
        """Return scores of the rows."""
        with one_blas_thread:  # products of small matrices, as a rule
            if len(self) < len(self.represented):
                return self.learner.scores(self.represented.take(self.which), solution)
            parts = [self.learner.scores(block, solution) for block in self.represented.blocks()]
        return Scores.concatenate(parts)

    def exactly(self, engine: RationalEngine, which: IntArray) -> Iterator[ExactRow]:
        """Return some of the rows in rational arithmetic."""
        return engine.rows(self.represented.take(which))

    def shown(self, which: IntArray) -> Matrix:
        """Return some of the rows as the model's specification sees them."""
        return self.represented.take(which)


@dataclass(frozen=True, slots=True, eq=False)
class DirectionRows:
    """Weights of directions in parameter space."""

    learner: LinearLearner
    given: FloatArray

    def __len__(self) -> int:
        return len(self.given)

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of directions start to stop."""
        return self.learner.direction_weights(self.given[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class CoefficientRows:
    """Weights of coefficients, or of linear combinations of them: differences of two, say.

    The influence of the labels on a combination is that combination of their influences, one row
    of its own. Its range is not to be had from the ranges of the coefficients, because the same
    labels cannot move each of them as far as it goes. Weights are made in blocks: those of all
    coefficients at once may be huge.
    """

    learner: LinearLearner
    units: IntArray  # numbers of parameters, where single ones are asked about
    sums: Matrix | None = None  # (m, n_features) CSR: how often each coefficient counts

    @classmethod
    def of(cls, learner: LinearLearner, sums: Matrix | None = None) -> "CoefficientRows":
        """Return the rows of combinations, or of all coefficients."""
        return cls(learner, np.arange(learner.n_features), sums)

    def __len__(self) -> int:
        return len(self.units) if self.sums is None else int(self.sums.shape[0])

    def directions(self, here: slice) -> FloatArray:
        """Return some of the rows as directions in parameter space."""
        if self.sums is None:
            return unit_directions(self.learner, self.units[here])
        return sum_directions(self.learner, self.sums[here])

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of rows start to stop."""
        return self.learner.direction_weights(self.directions(slice(start, stop)))

    def scores(self, solution: Solution) -> Scores:
        """Return the values of the rows, in the user's units."""
        blocks = [self.directions(slice(at, at + 64)) for at in range(0, len(self), 64)]
        parts = [self.learner.direction_scores(block, solution) for block in blocks]
        return Scores.concatenate(parts)

    def take(self, which: IntArray) -> "CoefficientRows":
        """Return some of the rows."""
        if self.sums is None:
            return CoefficientRows(self.learner, self.units[which])
        return CoefficientRows(self.learner, self.units, self.sums[which])

    def exactly(self, engine: RationalEngine, which: IntArray) -> Iterator[ExactRow]:
        """Return some of the rows in rational arithmetic."""
        sums = self.sums
        if sums is None:
            sums = sparse.eye_array(self.learner.n_features, format="csr")[self.units]
        return engine.combinations(sums[which])

    def shown(self, which: IntArray) -> None:
        """Return that there are no feature rows."""


def unit_directions(learner: Parametric, which: IntArray) -> FloatArray:
    """Return single parameters as directions in parameter space."""
    units = np.zeros((len(which), learner.n_parameters))
    units[np.arange(len(which)), which] = learner.parameter_scale[which]
    return units


def sum_directions(learner: Parametric, sums: Matrix) -> FloatArray:
    """Return linear combinations of coefficients as directions in parameter space."""
    found = np.zeros((sums.shape[0], learner.n_parameters))
    width = learner.n_features
    # Powers of two: nothing is rounded, or the combination was refused.
    found[:, :width] = dense(sums) * learner.parameter_scale[:width]
    return found


# --- Standard errors of coefficients: by how much chance in the sample moves them ----------


_ERROR_ROWS = 64
FEW_DEGREES = 1e-6  # of the rows: fewer degrees of freedom are rounding errors of none

PIECES = "the training rows are read in pieces, and residuals would take another pass"
WEIGHTED = "the training rows are weighted, and what the weights mean decides the formula"
_UNKNOWN = "how many parameters this kind of model has is not known"
SINGULAR = "columns depend on one another so nearly that doubles tell nothing of the coefficients"
SATURATED = "the model has as many parameters as there are training rows"


def linear_errors(learner: LinearInLabels, targets: FloatArray, rows: WeightRows) -> StandardErrors:
    """Return standard errors of numbers c·y, for labels y with errors of equal variance σ²: σ‖c‖.

    σ² is estimated by the sum of squared residuals over n less the trace of the hat matrix.
    """
    count, used = len(rows), learner.effective_parameters()
    if learner.specification.sample_weight is not None:
        return StandardErrors.missing(count, WEIGHTED)
    features = learner.specification.matrix
    if used is None or features is None:
        return StandardErrors.missing(count, _UNKNOWN)
    if not learner.error_scale.proven:
        return StandardErrors.missing(count, SINGULAR)
    degrees = learner.n_rows - used
    if degrees <= FEW_DEGREES * learner.n_rows:
        return StandardErrors.missing(count, SATURATED)
    fitted = learner.scores(learner.represent(features), learner.solve(targets)).value
    variance = float(np.sum((targets - fitted) ** 2)) / degrees
    gram = None if learner.design is None else weighted_gram(learner.design, None)
    squares = np.zeros(count)
    for start in range(0, count, _ERROR_ROWS):
        here = slice(start, min(start + _ERROR_ROWS, count))
        weights = np.asarray(rows.block(here.start, here.stop).values)
        moved = weights if gram is None else weights @ gram
        squares[here] = np.sum(moved * weights, axis=1)
    return StandardErrors(np.sqrt(variance * np.maximum(squares, 0.0)), degrees)
