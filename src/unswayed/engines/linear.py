"""Rows whose scores are linear in the labels, and their margins: one case for all linear engines.

Selection (`selection`) and passes over rows in pieces (`passes`) bound them; what rounding leaves
open is settled in rational arithmetic where the engine can.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from unswayed._core.dyadic import enclose, nearest
from unswayed._core.influence import MadeRows, WeightRows
from unswayed._core.kernels import one_blas_thread
from unswayed._core.rounding import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.protocol import (
    PIECES,
    Certifier,
    Claimed,
    CoefficientRows,
    FeatureRows,
    LabelChanges,
    LinearRows,
    Precision,
    Stated,
    Terms,
    linear_errors,
    predicted,
)
from unswayed.engines.rational import ExactRow, RationalEngine
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import EXACT, RATIONAL, Answer, Decision, Margins, close_calls
from unswayed.models.learner import LinearInLabels, Scores, Solution
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict
from unswayed.results.groups import StandardErrors

_FEW = 2**20  # numbers: 8 MB, kept as long as the certificates are
_FEW_ROWS = 16  # rows of which passes find all there is to know in the time that verdicts take
_BLOCK = 2**22  # numbers of scores at a time
_HELD = 2**25  # numbers of weights that are made once: 256 MB
_LARGE = 2**20  # numbers of weights: single precision is enough for a simulation then


class LinearEngine(ABC):
    """An engine of scores that are linear in the labels: it takes rows as weights."""

    can: frozenset[str]
    setting: str
    again: bool  # whether a row can be asked about once more by itself, without another pass
    rounds: int  # anchors of a sandwich come in so many lots, each where others left rows open
    learner: LinearInLabels
    bias: Any  # with its `budget`
    precision: Precision

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of weights of a row."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of learner and bias: bounds that were built from others are refused."""

    @property
    def proven(self) -> bool:
        """Whether rounding errors are bounded at all."""
        return self.precision.proven

    # --- what is asked --------------------------------------------------------------------

    def rows(self, features: Matrix) -> FeatureRows:
        """Return feature rows as weights that are made on demand."""
        return FeatureRows.of(self.learner, features)

    def coefficients(self, sums: Matrix | None = None) -> CoefficientRows:
        """Return coefficients, or sums of them, as weights that are made on demand."""
        return CoefficientRows.of(self.learner.with_coefficients(), sums)

    def scores(self, rows: LinearRows, solution: Solution) -> Scores:
        """Return the scores of rows, with bounds on their errors."""
        return rows.scores(solution)

    def case(self, rows: LinearRows, terms: Terms) -> "LinearCase[Self]":
        """Put rows to the engine."""
        return LinearCase(self, rows, rows.scores(terms.solution), terms)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return nothing: the weights of a row follow from the question."""
        return {}

    # --- what is answered -----------------------------------------------------------------

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return the reach of each row, whatever the margins, as the certifier "exact"."""
        return self.reach(rows, budget)

    @abstractmethod
    def reach(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return how far a budget can raise and lower the score of each row."""

    def roughly(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return the same as `reach`, or bounds on it that are cheaper."""
        return self.reach(weights, budget)

    @abstractmethod
    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return bounds of each row, and what label changes within the budget do to any score."""

    @abstractmethod
    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset."""

    @abstractmethod
    def minimum_budget(
        self, weights: WeightRows, margins: Margins, asked: Budget | None = None
    ) -> MinimumBudgets:
        """Return the least budget that overturns each row, or on which side of `asked` it is."""

    @abstractmethod
    def witness(
        self,
        weights: WeightRows,
        row: int,
        margins: Margins,
        budget: Budget,
        least: Callable[[], float] | None = None,
        *,
        smallest: bool = False,
    ) -> LabelChanges | None:
        """Return the fewest label changes within a budget that are proven to overturn a row.

        None if none are. Of equally strong labels those with the lowest row numbers are taken. The
        score is how far they move it.
        """


E = TypeVar("E", bound=LinearEngine)


@dataclass(frozen=True, eq=False)
class LinearCase(Generic[E]):
    """Rows put to a linear engine."""

    engine: E
    rows: LinearRows
    scores: Scores
    terms: Terms
    exact: dict[int, ExactRow] = field(default_factory=dict)

    @property
    def decision(self) -> Decision:
        """What must stay the same."""
        return self.terms.decision

    @cached_property
    def margins(self) -> Margins:
        """How far the score of each row may move."""
        found = self.decision.margins(self.scores)
        # Copies: close calls are overwritten, and a decision may hand out what it uses again.
        return Margins(*(np.array(getattr(found, each.name)) for each in fields(Margins)))

    # --- rational arithmetic --------------------------------------------------------------

    @cached_property
    def rational(self) -> RationalEngine:
        """The same model in rational arithmetic."""
        return RationalEngine(
            self.engine.learner.specification, self.engine.bias, self.terms.targets
        )

    def exactly(self, which: IntArray) -> Iterator[tuple[int, ExactRow]]:
        """Return some of the rows in rational arithmetic, each computed once."""
        missing = np.array([row for row in which.tolist() if row not in self.exact], dtype=int)
        if len(missing):
            found = self.rows.exactly(self.rational, missing)
            self.exact.update(zip(missing.tolist(), found, strict=True))
        return ((row, self.exact[row]) for row in which.tolist())

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Overwrite rows that are undecided, or of infinite error, by rational arithmetic."""
        if not self.terms.resolve:
            return
        unknown = (answer.verdict == Verdict.UNDECIDED) | ~np.isfinite(columns["error"])
        for at, row in self.exactly(np.flatnonzero(unknown)):
            up, down = row.reach(budget)
            overturned = row.overturned(self.decision.limits(row.score), budget)
            answer.verdict[at] = Verdict.NOT_ROBUST if overturned else Verdict.ROBUST
            answer.method[at] = RATIONAL
            low, inner_low = enclose(row.score - down)
            inner_high, high = enclose(row.score + up)
            below, above = enclose(row.score)
            error = max(above - below, high - inner_high, inner_low - low)
            for name, value in (
                ("score", below), ("error", error), ("low", low), ("high", high),
                ("inner_low", inner_low), ("inner_high", inner_high),
            ):  # fmt: skip
                columns[name][at] = value

    # --- answers --------------------------------------------------------------------------

    def predictions(self, score: FloatArray) -> Any:
        """Return the prediction of each row, given its score."""
        return predicted(self.decision, score, self.exact)

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return the answer that follows from the bounds of the engine, or of a certifier."""
        by = self.engine if certifier is None else certifier
        found = Answer.of(by.bounds(self.rows, budget, self.margins), self.margins)
        found = self._whatever_the_batch(found, by, budget)
        return self._sharpened(found, budget) if self.terms.resolve else found

    def verdicts(self, budget: Budget) -> Answer:
        """Return the verdicts that follow from minimum budgets, and ranges that say nothing."""
        amount, nowhere = budget.amount, np.zeros(len(self.rows), dtype=bool)
        if not self.engine.again:  # passes are made until verdicts are known, and not longer
            known = "least" in self.__dict__ or len(self.rows) <= _FEW_ROWS
            engine = self.engine
            found = self.least if known else engine.minimum_budget(self.rows, self.margins, budget)
            return self._decided(found, amount, nowhere)
        least = self.least
        # Ranges decide where a little less or more would be another verdict: they say the same
        # in every batch. Amounts that are no counts have no next one: all rows are asked about.
        near = (least.low - 1 <= amount) & (amount <= least.high)
        near |= np.isposinf(least.low) & (amount >= self.engine.precision.n_movable)
        near |= not budget.countable
        answer = self._sharpened(self._decided(least, amount, near), budget)
        return self._whatever_the_batch(answer, self.engine, budget)

    def _decided(self, least: MinimumBudgets, amount: float, near: BoolArray) -> Answer:
        """Return verdicts that follow from minimum budgets, but for rows that are `near`."""
        endless = np.full(len(self.rows), np.inf)
        bounds = Bounds.outside(endless, endless.copy(), np.zeros(len(endless))).decided_as(
            within=np.asarray((least.low > amount) & ~near),
            beyond=np.asarray((least.high <= amount) & ~near),
            close=np.zeros(len(endless), dtype=bool),
        )
        return Answer.of(bounds, self.margins)

    def _whatever_the_batch(self, answer: Answer, certifier: Certifier, budget: Budget) -> Answer:
        """Ask again about each row that is a close call, by itself: its batch then plays no part.

        Scores and margins of these rows are overwritten, too: they are as right as the others.
        """
        if not (self.engine.again and self.terms.alone):
            return answer
        known = np.isfinite(self.scores.error)
        for row in np.flatnonzero(close_calls(answer.bounds, self.margins) & known).tolist():
            alone = self.rows.take(np.array([row]))
            scores = alone.scores(self.terms.solution)
            margins = self.decision.margins(scores)
            with one_blas_thread:
                bounds = certifier.bounds(alone, budget, margins)
            answer.put(np.array([row]), Answer.of(bounds, margins))
            self.scores.value[row], self.scores.error[row] = scores.value[0], scores.error[0]
            for each in fields(Margins):
                getattr(self.margins, each.name)[row] = getattr(margins, each.name)[0]
        return answer

    def _sharpened(self, answer: Answer, budget: Budget) -> Answer:
        """Ask selection about rows that bounds alone leave open: cheaper than fractions."""
        open_rows = np.flatnonzero((answer.verdict == Verdict.UNDECIDED) & (answer.method != EXACT))
        if len(open_rows):
            found = self.engine.reach(self.rows.take(open_rows), budget)
            answer.put(open_rows, Answer.of(found, self.margins[open_rows]))
        return answer

    @cached_property
    def least(self) -> MinimumBudgets:
        """Minimum budgets of the rows."""
        with one_blas_thread:  # rows that rounding leaves open are asked about one by one
            found = self.engine.minimum_budget(self.rows, self.margins)
        if self.terms.resolve:
            for at, row in self.exactly(np.flatnonzero(~found.proven)):
                found.low[at] = found.high[at] = row.minimum_budget(self.decision.limits(row.score))
        return found

    # --- witnesses ------------------------------------------------------------------------

    def _made(self, most: int) -> WeightRows:
        """Return the weights, made all at once where there are no more numbers than that."""
        if len(self.rows) * self.engine.width > most:
            return self.rows
        return MadeRows(self.rows.block(0, len(self.rows)))

    @cached_property
    def _weights(self) -> WeightRows:
        return self._made(_FEW)  # one by one takes far longer

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the smallest set of label changes that overturns a row.

        Where rounding hides whether fewer labels would do, it has as many as are proven to be
        enough; with `resolve` it is always the smallest.
        """
        if row not in self.exact:
            known = (lambda: float(self.least.high[row])) if "least" in self.__dict__ else None
            found = self.engine.witness(
                self._weights, row, self.margins, budget, known, smallest=self.terms.resolve
            )
            if found is not None:
                return found._replace(score=float(self.scores.value[row] + found.score))
        if "exact" not in self.engine.can:
            raise InputError(
                f"rounding hides which labels overturn row {row}, and rational arithmetic, which "
                "would tell, needs all training rows in memory"
            )
        ((_, exact),) = self.exactly(np.array([row]))
        rows, added, moved = exact.changes(self.decision.limits(exact.score), budget)
        return LabelChanges(rows, added, nearest(exact.score + moved))

    # --- for people and files -------------------------------------------------------------

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers in question."""
        if "errors" not in self.engine.can:
            return StandardErrors.missing(len(self.rows), PIECES)
        return linear_errors(self.engine.learner, self.terms.targets, self.rows)

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers that a certificate file states: those of the certificates."""
        return Stated(certificates.low, certificates.high, certificates.minimum_budgets)

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the label changes that a certificate file states for a row."""
        return self.changes(row, budget)

    # --- random labels --------------------------------------------------------------------

    @property
    def duels(self) -> "list[Duel]":
        """All rows, as one case: they have one score."""
        return [Duel(0, np.arange(len(self.rows)), self)]

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes overturns: one product for all."""
        total = np.zeros(changes.shape[0])
        for here, over in self.crossed(self.pulled(changes)):
            total += over @ count[here]
        return total

    def pulled(self, changes: Any) -> Any:
        """Return what label changes, (draws, n) and CSR, are to be multiplied by weights."""
        learner = self.engine.learner
        pulled = changes if learner.row_scale is None else changes * learner.row_scale
        if learner.design is not None:
            pulled = pulled @ learner.design
            pulled = pulled.toarray() if hasattr(pulled, "toarray") else np.asarray(pulled)
        return pulled

    def crossed(self, pulled: Any) -> Iterator[tuple[slice, BoolArray]]:
        """Yield, for blocks of rows, which label changes (`pulled`) take which of them across."""
        width, n_rows, draws = self.engine.width, len(self.rows), pulled.shape[0]
        # Of many rows, single precision: it takes half the time, and a simulation needs no more.
        kind = np.float32 if n_rows * width > _LARGE else np.float64
        pulled = pulled.astype(kind)
        step = max(1, _BLOCK // max(1, draws, width))
        for start in range(0, n_rows, step):
            here = slice(start, min(start + step, n_rows))
            weights = self.held.block(here.start, here.stop).values.astype(kind)
            product = pulled @ weights.T
            moved = product.toarray() if hasattr(product, "toarray") else np.asarray(product)
            over = moved > self.margins.up[here]
            over |= moved < -self.margins.down[here]
            yield here, over

    @cached_property
    def held(self) -> WeightRows:
        """The weights of the rows, made once where they fit into memory."""
        return self._made(_HELD)

    def overturned_at_least(self, labels: int, count: IntArray) -> None:
        """Return that no label set was tried: `joint` looks for them, all labels being at hand."""


class Duel(NamedTuple):
    """Rows of one class against one rival; of scores that have no rivals, all rows."""

    rival: int
    rows: IntArray  # among all rows
    case: LinearCase[Any]
    values: FloatArray | None = None  # what a label of each class counts in the rival's lead
