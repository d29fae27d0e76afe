"""What is asked and who answers: rows, cases and engines, and how far results may be off.

Rows become a `Case`: rows, the margins that a decision gives them, and an engine that bounds these.
An engine is chosen by the functional of the model's scores (`choice`). What it cannot do is
missing from its `can`: the front turns that into a refusal, in one place.
"""

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from unswayed._core.influence import Entries, WeightRows, Weights
from unswayed._core.kernels import Locked, one_blas_thread
from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SQUARES_UNDERFLOW,
    Bounds,
    above,
    below,
    exact_dots,
)
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.rational import ExactRow, RationalEngine
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Answer, Decision, Margins
from unswayed.models.learner import (
    ErrorScale,
    Learner,
    LinearInLabels,
    LinearLearner,
    Parametric,
    Scores,
    Solution,
)
from unswayed.models.ridge.verified import weighted_gram
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.groups import StandardErrors

_BLOCK = 2**22  # numbers in a block: kernel rows of all rows may not fit into memory
_SPARSE = 64  # numbers that a CSR row is taken to have, however many training rows there are
_BLOCKS_KEPT = 4  # blocks kept: threads work side by side on neighbouring rows


@dataclass(frozen=True, slots=True, eq=False)
class OffsetSums:
    """Sums over labels of how far each may move; those of several sets of labels add up.

    With o the larger end of a label's interval, `weight` and `entry` as in `ErrorScale`, and all
    in units of `unit`:
    """

    n_movable: int = 0  # Labels with o > 0
    largest: float = 0.0  # Largest o itself
    squares: tuple[float, float] = (0.0, 0.0)  # Largest o² weight, and the sum of them
    terms: tuple[float, float] = (0.0, 0.0)  # Largest o entry, and the sum of them

    @classmethod
    def of(
        cls,
        offset: FloatArray,
        weight: FloatArray | float,
        entry: FloatArray,
        count: FloatArray | float = 1.0,
    ) -> "OffsetSums":
        """Sum over labels."""
        counted = np.broadcast_to(count, offset.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            squares, terms = offset * offset * weight, offset * entry
            n_movable = int(counted[offset > 0].sum())
            return cls(
                n_movable,
                float(offset.max(initial=0.0)),
                # Of small offsets, or weights, the squares underflow.
                (
                    float(squares.max(initial=0.0)) + SQUARES_UNDERFLOW,
                    float(squares @ counted) + SQUARES_UNDERFLOW * n_movable,
                ),
                (float(terms.max(initial=0.0)), float(terms @ counted)),
            )

    def __add__(self, other: "OffsetSums") -> "OffsetSums":
        return OffsetSums(
            self.n_movable + other.n_movable,
            max(self.largest, other.largest),
            (max(self.squares[0], other.squares[0]), self.squares[1] + other.squares[1]),
            (max(self.terms[0], other.terms[0]), self.terms[1] + other.terms[1]),
        )


class Precision:
    """Bounds on |computed reach - true reach|, for one learner under one bias.

    Of k labels, each errs by its offset times the error of its influence. With o_i the larger
    end of label i's interval and an influence error e + f as in `Weights`, Cauchy-Schwarz gives
    Σ o_i|e_i| <= error·√(Σ o_i² weight_i) and Σ o_i|f_i| <= size·Σ o_i entry_i, both over any k
    labels: at most k times the largest term, and at most the sum of all.
    """

    def __init__(
        self, scale: ErrorScale, offsets: OffsetSums, unit: float = 1.0, *, given: bool = False
    ) -> None:
        self._scale, self._unit, self._given = scale, unit, given
        self.n_movable = offsets.n_movable
        self._squares, self._terms = offsets.squares, offsets.terms

    @classmethod
    def of(cls, learner: LinearInLabels, bias: ResolvedBias) -> "Precision":
        """Return the precision of reaches of labels that are all known."""
        scale = learner.error_scale
        offset = np.maximum(-bias.lower, bias.upper)
        unit = float(offset.max(initial=0.0)) or 1.0
        # At most 1: squares neither over- nor underflow.
        sums = OffsetSums.of(offset / unit, scale.weight, scale.entry)
        given = scale.most_error == 0.0 and not scale.entry.any()
        return cls(scale, sums, unit, given=given)

    @property
    def proven(self) -> bool:
        """Whether errors are bounded at all."""
        return self._scale.proven

    def errors(self, error: FloatArray, size: FloatArray, labels: FloatArray | float) -> FloatArray:
        """Return bounds on the errors of reaches, those that depend on rows and number of labels.

        Every reach has the relative error of its budget beside these.
        """
        k = np.minimum(labels, self.n_movable)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.sqrt(np.minimum(k * self._squares[0], self._squares[1]))
            terms = np.minimum(k * self._terms[0], self._terms[1])
            # Of an offset that is subnormal, scaling and products lose digits.
            underflow = k * PRODUCT_UNDERFLOW * (1.0 + size)
            found = SAFETY * self._unit * (error * squares + size * terms) + underflow
        nothing = ((error == 0) & (size == 0)) | (k == 0)
        return np.where(nothing, 0.0, np.where(np.isnan(found), np.inf, found))

    def most(self, labels: float) -> float:
        """Return a bound on errors of reaches of so many labels, per unit of a direction's size."""
        error, size = self._scale.most_error, self._scale.most_size
        return float(self.errors(np.array([error]), np.array([size]), labels)[0])

    @property
    def most_of_norm(self) -> float:
        """Bound on √(Σ (o_i·error_i)²) over all labels, per unit of a direction's size."""
        error, size = self._scale.most_error, self._scale.most_size
        return SAFETY * self._unit * (error * math.sqrt(self._squares[0]) + size * self._terms[1])

    def exact_rows(self, z: FloatArray, entries: Entries) -> BoolArray:
        """Return rows whose reaches have no error: influence is given, no product or sum rounds."""
        if not self._given:
            return np.zeros(len(z), dtype=bool)
        lower, upper, n_lower, n_upper = entries.sides
        return exact_dots(z, np.stack((lower, upper)), np.stack((n_lower, n_upper)))


# --- rows, as the specification of the model sees them, and as weights made on demand -----------


class RepresentedRows(Locked):
    """A set of feature rows as a learner represents them, made on demand."""

    def __init__(self, learner: LinearInLabels, rows: Matrix) -> None:
        super().__init__()
        self.rows = rows
        self._learner = learner
        self._given = learner.takes_features  # they are what they are
        self._step = max(1, _BLOCK // max(1, _SPARSE if learner.sparse else learner.n_rows))
        self._made: OrderedDict[int, Matrix] = OrderedDict()

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


class Rows(Protocol):
    """Numbers in question, one per row: scores of feature rows, coefficients or sums of them."""

    def __len__(self) -> int: ...

    def take(self, which: IntArray) -> "Rows":
        """Return some of the rows."""

    def shown(self, which: IntArray) -> Matrix | None:
        """Return feature rows as the model's specification sees them; None for coefficients."""

    @property
    def sums(self) -> Matrix | None:
        """Sums of coefficients, (m, n_features) CSR; None if rows are not given as such."""


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
        learner = self.learner.with_coefficients()
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
        return engine.rows(self.represented.take(self.which[which]))

    def shown(self, which: IntArray) -> Matrix:
        """Return some of the rows as the model's specification sees them."""
        return self.learner.shown(self.represented.take(self.which[which]))


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
    counts: Matrix  # (m, q) CSR: how often each of the first q parameters counts
    summed: bool = False  # whether users gave them as sums of coefficients

    @classmethod
    def of(cls, learner: LinearLearner, sums: Matrix | None = None) -> "CoefficientRows":
        """Return the rows of combinations, or of all coefficients."""
        return cls(learner, units(learner.n_features) if sums is None else sums, sums is not None)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @property
    def sums(self) -> Matrix | None:
        """Sums of coefficients; None if single ones are asked about."""
        return self.counts if self.summed else None

    def directions(self, here: slice) -> FloatArray:
        """Return some of the rows as directions in parameter space."""
        return combined(self.learner, self.counts[here])

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
        return replace(self, counts=self.counts[which])

    def exactly(self, engine: RationalEngine, which: IntArray) -> Iterator[ExactRow]:
        """Return some of the rows in rational arithmetic."""
        return engine.combinations(self.counts[which])

    def shown(self, which: IntArray) -> None:
        """Return that there are no feature rows."""


LinearRows: TypeAlias = FeatureRows | CoefficientRows
"""Rows whose scores are linear in the labels: an engine asks for their weights."""


def units(count: int) -> Matrix:
    """Return the combinations that are the first parameters themselves."""
    return sparse.eye_array(count, format="csr")


def combined(learner: Parametric, counts: Matrix) -> FloatArray:
    """Return linear combinations of parameters as directions in parameter space."""
    found = np.zeros((counts.shape[0], learner.n_parameters))
    width = counts.shape[1]
    # Powers of two: nothing is rounded, or the combination was refused.
    found[:, :width] = dense(counts) * learner.parameter_scale[:width]
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


# --- what is asked, and who answers -----------------------------------------------------------


class LabelChanges(NamedTuple):
    """Label changes that overturn a row."""

    rows: IntArray  # numbers of training rows, ascending
    added: FloatArray  # what is added to their labels
    score: float  # what the model then says
    before: FloatArray | None = None  # their labels, where training labels are not in memory
    places: tuple[str, ...] | None = None  # where they are, likewise
    rival: int | None = None  # of several classes, the one that draws level or passes


class Stated(NamedTuple):
    """What a certificate file states of each distinct row, beside its verdict."""

    low: FloatArray  # no score beyond these is reached
    high: FloatArray
    least: MinimumBudgets  # NaN where nothing is said
    verdict: Any = None  # where it is not that of the certificates
    rival: IntArray | None = None  # of several classes, whom `least` is about; -1 for none


class Claimed(NamedTuple):
    """Some rows of a case, and what a certificate file claims of them."""

    case: Any
    rows: IntArray
    numbers: IntArray  # of the rows, among those of the file
    claims: list[dict[str, Any]]


class Terms(NamedTuple):
    """How rows are asked about."""

    decision: Decision
    targets: FloatArray  # training labels, as numbers
    solution: Solution  # what training on them left
    alone: bool = True  # ask about close calls once more, each by itself
    resolve: bool = False  # settle in rational arithmetic what rounding leaves open
    effort: int | None = None  # for engines with "effort": how much to do for undecided rows


def score_columns(scores: Scores, bounds: Bounds) -> dict[str, FloatArray]:
    """Return scores and the ends of their ranges, rounded outwards, as certificates have them."""
    score, error = scores.value.copy(), scores.error
    with np.errstate(invalid="ignore"):
        return {
            "score": score,
            "error": error + bounds.error,
            "low": below(score, -bounds.outer_down, error),
            "high": above(score, bounds.outer_up, error),
            "inner_low": above(score, -bounds.inner_down, error),
            "inner_high": below(score, bounds.inner_up, error),
        }


def predicted(decision: Decision, score: FloatArray, exact: dict[int, ExactRow]) -> Any:
    """Return what a decision makes of scores, some of which are known exactly."""
    found = decision.predict(score)
    for at, row in exact.items():
        found[at] = decision.predict_exactly(row.score)
    return found


class Case(Protocol):
    """Rows and their margins, put to an engine; it remembers what it found of them."""

    @property
    def rows(self) -> Rows:
        """The rows in question."""

    @property
    def scores(self) -> Scores:
        """Their scores."""

    @property
    def margins(self) -> Margins:
        """How far these may move."""

    def predictions(self, score: FloatArray) -> Any:
        """Return the prediction of each row, given its score."""

    def answer(self, budget: Budget, certifier: "Certifier | None" = None) -> Answer:
        """Return bounds and verdicts at a budget, by the engine or by bounds of another kind."""

    def verdicts(self, budget: Budget) -> Answer:
        """Return verdicts alone: ranges may say nothing."""

    @property
    def least(self) -> MinimumBudgets:
        """The least budget that overturns each row."""

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return a smallest known set of label changes within a budget that overturns a row."""

    @property
    def exact(self) -> dict[int, ExactRow]:
        """Rows that were settled in rational arithmetic, by number."""

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Overwrite what rounding left open by rational arithmetic, if that was asked for."""

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers in question."""

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers that a certificate file states of rows, given their distinct ones."""

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the label changes that a certificate file states."""

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes, a CSR matrix, overturns."""

    def overturned_at_least(self, labels: int, count: IntArray) -> int | None:
        """Return how many rows some set of labels is proven to overturn; None if none was tried."""


class Engine(Protocol):
    """Bounds margins for one model under one bias."""

    # "bounds", "decisions", "exact", "files", "pages", "joint", "together", "evidence", "draws",
    # "effort", "errors"
    can: frozenset[str]
    # What it is about, for refusals and checks of solvers: "memory", "pieces", "votes" …
    setting: str

    @property
    def learner(self) -> Learner:
        """The model."""

    @property
    def bias(self) -> Any:
        """The bias, with its `budget`; with `lower` and `upper` where labels are in memory."""

    @property
    def proven(self) -> bool:
        """Whether rounding errors are bounded at all."""

    @property
    def width(self) -> int:
        """Number of parameters, or of weights of a row."""

    @property
    def fingerprint(self) -> str:
        """Hash of model and bias: bounds that were built from others are refused."""

    def rows(self, features: Matrix) -> Rows:
        """Return feature rows as the engine takes them."""

    def coefficients(self, sums: Matrix | None = None) -> Rows:
        """Return coefficients, or sums of them, as the engine takes them."""

    def scores(self, rows: Any, solution: Solution) -> Scores:
        """Return the scores of rows, with bounds on their errors."""

    def case(self, rows: Any, terms: Terms) -> Case:
        """Put rows to the engine."""

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return what proves claims to a checker, beside what all engines have in common."""


class Certifier(Protocol):
    """Bounds the scores of rows in a way of its own, such as a box; see `anchors`.

    The same rows and the same budget get the same bounds, whatever was asked before and however
    long it took.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for: that of their engine."""

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return what is known of how far the score of each row can rise and fall."""
