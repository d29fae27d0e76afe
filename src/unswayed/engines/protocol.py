"""What an engine is: it bounds how far a budget can move the margins of rows.

Rows become a `Case`: rows, the margins that a decision gives them, and an engine that bounds these.
An engine is chosen by the functional of the model's scores (`choice`). What it cannot do is
missing from its `can`: the front turns that into a refusal, in one place.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from unswayed._core.influence import Entries, WeightRows
from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SQUARES_UNDERFLOW,
    UNIT,
    Bounds,
    exact_dots,
)
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.rational import ExactRow
from unswayed.engines.rows import LinearRows, Rows
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Answer, Decision, Margins
from unswayed.models.learner import (
    ErrorScale,
    Learner,
    LinearInLabels,
    Scores,
    Solution,
)
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.groups import StandardErrors

RELATIVE = 4.0 * UNIT
"""Of a reach: its offsets are scaled, multiplied and summed, one rounding each."""


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

        Every reach has a relative error of `RELATIVE` beside these.
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
        return exact_dots(z, entries.lower, entries.n_lower) & exact_dots(
            z, entries.upper, entries.n_upper
        )


# --- what is asked, and who answers -----------------------------------------------------------


class LabelChanges(NamedTuple):
    """Label changes that overturn a row."""

    rows: IntArray  # numbers of training rows, ascending
    added: FloatArray  # what is added to their labels
    score: float  # what the model then says
    before: FloatArray | None = None  # their labels, where training labels are not in memory
    places: tuple[str, ...] | None = None  # where they are, likewise


class Stated(NamedTuple):
    """What a certificate file states of each distinct row, beside its verdict."""

    low: FloatArray  # no score beyond these is reached
    high: FloatArray
    least: MinimumBudgets  # NaN where nothing is said


class Terms(NamedTuple):
    """How rows are asked about."""

    decision: Decision
    targets: FloatArray  # training labels, as numbers
    solution: Solution  # what training on them left
    alone: bool = True  # ask about close calls once more, each by itself
    resolve: bool = False  # settle in rational arithmetic what rounding leaves open
    effort: int | None = None  # for engines with "effort": how much to do for undecided rows


class Case(Protocol):
    """Rows and their margins, put to an engine; it remembers what it found of them."""

    @property
    def rows(self) -> Rows:
        """The rows in question."""
        ...

    @property
    def scores(self) -> Scores:
        """Their scores."""
        ...

    @property
    def margins(self) -> Margins:
        """How far these may move."""
        ...

    def answer(self, budget: Budget, certifier: "Certifier | None" = None) -> Answer:
        """Return bounds and verdicts at a budget, by the engine or by bounds of another kind."""
        ...

    def verdicts(self, budget: Budget) -> Answer:
        """Return verdicts alone: ranges may say nothing."""
        ...

    @property
    def least(self) -> MinimumBudgets:
        """The least budget that overturns each row."""
        ...

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return a smallest known set of label changes within a budget that overturns a row."""
        ...

    @property
    def exact(self) -> dict[int, ExactRow]:
        """Rows that were settled in rational arithmetic, by number."""
        ...

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Overwrite what rounding left open by rational arithmetic, if that was asked for."""
        ...

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers in question."""
        ...

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers that a certificate file states of rows, given their distinct ones."""
        ...

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the label changes that a certificate file states."""
        ...

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes, a CSR matrix, overturns."""
        ...

    def overturned_at_least(self, labels: int, count: IntArray) -> int | None:
        """Return how many rows some set of labels is proven to overturn; None if none was tried."""
        ...


class Engine(Protocol):
    """Bounds margins for one model under one bias."""

    can: frozenset[str]  # "bounds", "exact", "files", "joint", "draws", "effort", "errors"
    setting: str  # what it is about, for refusals: "memory", "pieces" or "gradient"

    @property
    def learner(self) -> Learner:
        """The model."""
        ...

    @property
    def bias(self) -> Any:
        """The bias, with its `budget`; with `lower` and `upper` where labels are in memory."""
        ...

    @property
    def proven(self) -> bool:
        """Whether rounding errors are bounded at all."""
        ...

    @property
    def width(self) -> int:
        """Number of parameters, or of weights of a row."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of model and bias: bounds that were built from others are refused."""
        ...

    def rows(self, features: Matrix) -> Rows:
        """Return feature rows as the engine takes them."""
        ...

    def coefficients(self, sums: Matrix | None = None) -> Rows:
        """Return coefficients, or sums of them, as the engine takes them."""
        ...

    def scores(self, rows: Any, solution: Solution) -> Scores:
        """Return the scores of rows, with bounds on their errors."""
        ...

    def case(self, rows: Any, terms: Terms) -> Case:
        """Put rows to the engine."""
        ...

    def proof(self, budget: Budget) -> dict[str, Any]:
        """Return what a certificate file needs beside the question to prove its claims."""
        ...


class Certifier(Protocol):
    """Bounds the scores of rows in a way of its own, such as a box; see `anchors`.

    The same rows and the same budget get the same bounds, whatever was asked before and however
    long it took.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for: that of their engine."""
        ...

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return what is known of how far the score of each row can rise and fall."""
        ...


class AnchorEngine(Protocol):
    """What a sandwich needs of an engine to evaluate its anchors."""

    precision: Precision
    rounds: int  # anchors are evaluated in so many lots

    @property
    def learner(self) -> LinearInLabels:
        """The model."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of model and bias."""
        ...

    def roughly(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return bounds on how far a budget can raise and lower the score of each row."""
        ...

    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return bounds of each row, and what label changes within the budget do to any score."""
        ...

    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset."""
        ...
