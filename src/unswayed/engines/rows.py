"""Rows put to an engine: as the model's specification sees them, and as weights made on demand."""

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from unswayed._core.influence import Weights
from unswayed._core.parallel import one_blas_thread
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.inputs import dense
from unswayed.models.learner import Learner, LinearLearner, Scores, Solution

_BLOCK = 2**22  # numbers in a block: kernel rows of all rows may not fit into memory
_BLOCKS_KEPT = 4  # blocks kept: threads work side by side on neighbouring rows


class RepresentedRows:
    """A set of feature rows as a learner represents them, made on demand."""

    def __init__(self, learner: Learner, rows: Matrix) -> None:
        self.rows = rows
        self._learner = learner
        self._given = learner.takes_features  # they are what they are
        self._step = max(1, _BLOCK // max(1, learner.n_rows))
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
        out = np.empty((len(which), self._learner.n_rows))
        for number in np.unique(block).tolist():
            here = np.flatnonzero(block == number)
            out[here] = self._block(number)[which[here] - number * self._step]
        return out

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


# ----------------------------------------------------------------------------------------
# Rows put to an engine, as weights made on demand.


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """Weights of feature rows, of all or of the selected ones."""

    learner: Learner
    represented: RepresentedRows
    which: IntArray

    @classmethod
    def of(cls, learner: Learner, rows: Matrix) -> "FeatureRows":
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
        assert isinstance(self.learner, LinearLearner)  # noqa: S101  (asked before)
        return self.learner.directions(self.represented.take(self.which[here]))

    def scores(self, solution: Solution) -> Scores:
        """Return scores of the rows."""
        with one_blas_thread:  # products of small matrices, as a rule
            if len(self) < len(self.represented):
                return self.learner.scores(self.represented.take(self.which), solution)
            parts = [self.learner.scores(block, solution) for block in self.represented.blocks()]
        return Scores.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class DirectionRows:
    """Weights of directions in parameter space."""

    learner: LinearLearner
    directions: FloatArray

    def __len__(self) -> int:
        return len(self.directions)

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of directions start to stop."""
        return self.learner.direction_weights(self.directions[start:stop])


class _ParameterRows(ABC):
    """Weights of directions in parameter space, made in blocks: all at once may be huge."""

    __slots__ = ()
    learner: LinearLearner

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def directions(self, start: int, stop: int) -> FloatArray:
        """Return parameters start to stop as directions in parameter space."""

    def scores(self, solution: Solution) -> Scores:
        """Return the values of the parameters, in the user's units."""
        blocks = [self.directions(at, min(at + 64, len(self))) for at in range(0, len(self), 64)]
        parts = [self.learner.direction_scores(block, solution) for block in blocks]
        return Scores.concatenate(parts)

    def block(self, start: int, stop: int) -> Weights:
        """Return weights of parameters start to stop."""
        return self.learner.direction_weights(self.directions(start, stop))


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows(_ParameterRows):
    """Weights of the first `count` parameters."""

    learner: LinearLearner
    count: int

    def __len__(self) -> int:
        return self.count

    def directions(self, start: int, stop: int) -> FloatArray:
        """Return parameters start to stop as directions in parameter space."""
        units = np.zeros((stop - start, self.learner.n_parameters))
        units[np.arange(stop - start), np.arange(start, stop)] = self.learner.parameter_scale[
            start:stop
        ]
        return units

    def combinations(self, which: IntArray) -> Matrix:
        """Return some of the parameters as combinations of coefficients."""
        return sparse.eye_array(self.learner.n_features, format="csr")[which]


@dataclass(frozen=True, slots=True, eq=False)
class CombinationRows(_ParameterRows):
    """Weights of linear combinations of coefficients: differences of two, say.

    The influence of the labels on a combination is that combination of their influences, one row
    of its own. Its range is not to be had from the ranges of the coefficients, because the same
    labels cannot move each of them as far as it goes.
    """

    learner: LinearLearner
    weights: Matrix  # (m, n_features) CSR: how often each coefficient counts

    def __len__(self) -> int:
        return int(self.weights.shape[0])

    def directions(self, start: int, stop: int) -> FloatArray:
        """Return combinations start to stop as directions in parameter space."""
        found = np.zeros((stop - start, self.learner.n_parameters))
        width = self.learner.n_features
        # Powers of two: nothing is rounded, or the combination was refused.
        scale = self.learner.parameter_scale[:width]
        found[:, :width] = dense(self.weights[start:stop]) * scale
        return found

    def combinations(self, which: IntArray) -> Matrix:
        """Return some of the combinations."""
        return self.weights[which]

    def take(self, which: IntArray) -> "CombinationRows":
        """Return some of the combinations."""
        return CombinationRows(self.learner, self.weights[which])
