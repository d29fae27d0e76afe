"""Several classes: a row has a margin for every rival of its class, and each is one selection.

The lead of a rival over the winner is a score that is linear in the labels, with intervals of its
own (`labels/classes`): a *duel*, which the linear engines answer exactly. A row is robust if no
rival can draw level; ties go to the class that comes first, as scikit-learn's argmax has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from unswayed._core.influence import InfluenceMap, distinct_rows
from unswayed._core.rounding import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.linear import Duel
from unswayed.engines.protocol import (
    Certifier,
    Claimed,
    FeatureRows,
    LabelChanges,
    Stated,
    Terms,
    score_columns,
)
from unswayed.engines.rational import ExactRow
from unswayed.engines.selection import ExactEngine, SparseEngine
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.labels.classes import ClassChanges, lead_values
from unswayed.margins.decisions import EXACT, Answer, Margins, Rise, verdicts
from unswayed.models.classes import ClassScores, by_class, leads
from unswayed.models.learner import Scores, Solution
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict
from unswayed.results.groups import StandardErrors

_KEPT = 2**24  # numbers of the engines that are kept: larger ones are made again
_ROOM = 2.0**-30  # of a lead: less than anybody reads
_SHARED = 2**26  # numbers of influence that are kept for the next rival: 512 MB


class SharedInfluence(InfluenceMap):
    """Influence of one set of rows after the other, each of them for all rivals.

    Rivals differ in how far labels may move, and not in what these do: products are made once.
    """

    _last: dict[bytes, FloatArray]

    def __call__(self, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the influence of every entry on every row of `weights`."""
        key = weights.tobytes()
        found = self._last.get(key)
        if found is None:
            found = super().__call__(weights)
            while self._last and sum(each.size for each in self._last.values()) > _SHARED:
                self._last.pop(next(iter(self._last)), None)  # another thread may have been faster
            self._last[key] = found
        return found


class ClassEngine:
    """Bounds the leads of rows over every rival: one linear engine per pair of classes."""

    can = frozenset(
        {"bounds", "draws", "evidence", "exact", "files", "pages", "rivals", "together"}
    )
    setting = "classes"

    def __init__(self, learner: ClassScores, bias: ResolvedBias) -> None:
        assert bias.classes is not None  # noqa: S101  (labels are classes)
        self.learner, self.bias, self.changes = learner, bias, bias.classes
        self._kept: dict[tuple[int, int], ExactEngine] = {}
        self._solved: dict[tuple[int, int], Solution] = {}

    @property
    def proven(self) -> bool:
        """Whether rounding errors are bounded at all."""
        return self.learner.inner.error_scale.proven

    @property
    def width(self) -> int:
        """Number of weights of a row."""
        return self.shared.width

    @property
    def fingerprint(self) -> str:
        """Hash of model and bias."""
        return self.duel(0, 1).fingerprint

    @cached_property
    def shared(self) -> SharedInfluence:
        """Training rows of one kind merged, each label up and down by one."""
        bias, learner, ones = self.bias, self.learner.inner, np.ones(self.learner.n_rows)
        kind = self.changes.kind.astype(np.float64)
        apart = bias.budget.apart(bias.lower, bias.upper, learner.row_scale)
        if apart is not None:
            kind = distinct_rows(np.column_stack((kind, apart)))[1].astype(np.float64)
        moves = np.where((bias.lower < 0) | (bias.upper > 0), ones, 0.0)
        found = SharedInfluence(learner.design, -moves, moves, learner.row_scale, kind)
        found._last = {}
        return found

    def duel(self, winner: int, rival: int) -> ExactEngine:
        """Return the engine of a rival's lead over the winner."""
        pair = winner, rival
        if pair not in self._kept:
            found = self._made(*pair)
            if len(self._kept) * self.learner.n_rows > _KEPT:
                self._kept.clear()
            self._kept[pair] = found
        return self._kept[pair]

    def _made(self, winner: int, rival: int) -> ExactEngine:
        _, lower, upper = self.changes.lead(winner, rival, self.learner.step)
        bias = ResolvedBias(lower, upper, self.bias.budget, whole=True)
        inner = self.learner.inner
        if inner.sparse:
            return SparseEngine(inner, bias)
        at = self.shared.entries.rows  # labels of one kind have one interval
        return ExactEngine(inner, bias, self.shared.scaled(-lower[at], upper[at]))

    def solution(self, winner: int, rival: int) -> Solution:
        """Return the model that was trained on the numbers whose score is a rival's lead."""
        pair = min(winner, rival), max(winner, rival)
        if pair not in self._solved:
            targets, _, _ = self.changes.lead(*pair, self.learner.step)
            self._solved[pair] = self.learner.inner.solve(targets)
        found = self._solved[pair]
        return found if winner < rival else replace(found, values=-found.values)

    # --- what is asked --------------------------------------------------------------------

    def rows(self, features: Matrix) -> FeatureRows:
        """Return feature rows as weights that are made on demand."""
        return FeatureRows.of(self.learner.inner, features)

    def coefficients(self, sums: Matrix | None = None) -> FeatureRows:
        """Raise: every class has coefficients of its own."""
        self.learner.with_coefficients()
        raise AssertionError

    def scores(self, rows: FeatureRows, solution: Solution) -> Scores:
        """Return the leads of rows, with bounds on their errors."""
        return leads([rows.scores(each) for each in by_class(solution)])[0]

    def case(self, rows: FeatureRows, terms: Terms) -> "ClassCase":
        """Put rows to the engine."""
        scores, winner = leads([rows.scores(each) for each in by_class(terms.solution)])
        found = ClassCase(rows, scores, winner, terms, self)
        if terms.resolve:
            found.settle_winners()
        return found

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return nothing: the weights of a row follow from the question."""
        return {}


@dataclass(frozen=True, eq=False)
class ByDuels:
    """Bounds of another kind than the engine's, made for every duel."""

    fingerprint: str
    make: "Callable[[Any], Certifier]"  # given the case of a duel

    def bounds(self, rows: Any, budget: Budget, margins: Margins) -> Bounds:
        """Raise: leads are bounded one rival at a time."""
        raise NotImplementedError


R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Leading(Generic[R]):
    """Rows with the leads of their classes over the strongest rivals."""

    rows: R
    scores: Scores
    winner: IntArray
    terms: Terms

    @property
    def margins(self) -> Margins:
        """How far the lead of each row may fall."""
        return self.terms.decision.margins(self.scores)

    @property
    def exact(self) -> dict[int, ExactRow]:
        """Rows in rational arithmetic: none, as a lead is over several rivals."""
        return {}

    def predictions(self, score: FloatArray) -> NDArray[Any]:
        """Return the class of each row."""
        classes = self.terms.decision.classes
        assert classes is not None  # noqa: S101  (tells mypy)
        return np.asarray(classes[self.winner])

    def standard_errors(self) -> StandardErrors:
        """Return that leads have none."""
        return StandardErrors.missing(len(self.winner), "leads are over several rivals")

    def overturned_at_least(self, labels: int, count: IntArray) -> int | None:
        """Return that no label sets were tried for all rows."""
        return None


@dataclass(frozen=True, eq=False)
class ClassCase(Leading[FeatureRows]):
    """Rows put to every rival of their class."""

    engine: ClassEngine
    _answered: list[tuple[Duel, Answer, dict[str, FloatArray]]] = field(default_factory=list)

    @property
    def _changes(self) -> ClassChanges:
        return self.engine.changes

    @cached_property
    def _hidden(self) -> BoolArray:
        """Rows whose class rounding hides: nothing is known of them unless it is resolved."""
        return ~np.isfinite(self.margins.slack) & (not self.terms.resolve)

    # --- duels ----------------------------------------------------------------------------

    def _duel(self, winner: int, rival: int, rows: IntArray) -> Duel:
        engine = self.engine.duel(winner, rival)
        targets, _, _ = self._changes.lead(winner, rival, self.engine.learner.step)
        # A tie goes to the class that comes first.
        decision = Rise(None, touching=rival < winner)
        terms = self.terms._replace(
            decision=decision, targets=targets, solution=self.engine.solution(winner, rival)
        )
        values = lead_values(self._changes.n_classes, winner, rival) * self.engine.learner.step
        return Duel(rival, rows, engine.case(self.rows.take(rows), terms), values)

    @cached_property
    def duels(self) -> list[Duel]:
        """All rows against all rivals of their classes."""
        return [
            self._duel(winner, rival, np.flatnonzero(self.winner == winner))
            for winner in np.unique(self.winner).tolist()
            for rival in range(self._changes.n_classes)
            if rival != winner
        ]

    def settle_winners(self) -> None:
        """Find out, in rational arithmetic, whose leads are that rounding hides."""
        hidden = ~np.isfinite(self.margins.slack)
        for row in np.flatnonzero(hidden).tolist():
            first, one = int(self.winner[row]), np.array([row])
            best, winner = Fraction(0), first
            for rival in range(self._changes.n_classes):
                if rival != first:
                    ((_, found),) = self._duel(first, rival, one).case.exactly(np.array([0]))
                    if (found.score, -rival) > (best, -winner):
                        best, winner = found.score, rival
            self.winner[row] = winner

    # --- answers --------------------------------------------------------------------------

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return verdicts at a budget: robust if every duel is; ranges come with `settle`."""
        if not isinstance(certifier, ByDuels):
            return self._combined(lambda duel: duel.case.answer(budget), budget)
        make = certifier.make
        return self._combined(lambda duel: duel.case.answer(budget, make(duel.case)), budget)

    def verdicts(self, budget: Budget) -> Answer:
        """Return verdicts that follow from minimum budgets; ranges may say nothing."""
        return self._combined(lambda duel: duel.case.verdicts(budget), budget)

    def _combined(self, ask: Callable[[Duel], Answer], budget: Budget) -> Answer:
        self._answered.clear()
        for duel in self.duels:
            found = ask(duel)
            own = score_columns(duel.case.scores, found.bounds)
            duel.case.settle(found, budget, own)  # in rational arithmetic, verdicts too
            self._answered.append((duel, found, own))
        count = len(self.rows)
        robust, broken = np.ones(count, dtype=bool), self._forgotten <= budget.amount
        method = np.full(count, EXACT, dtype="<U13")
        for duel, found, _ in self._answered:
            robust[duel.rows] &= found.verdict == Verdict.ROBUST
            broken[duel.rows] |= found.verdict == Verdict.NOT_ROBUST
            other = found.method != EXACT
            method[duel.rows[other]] = found.method[other]
        broken &= ~self._hidden
        zeros = np.zeros((3, count))
        return Answer(Bounds.outside(*zeros), verdicts(broken, ~robust & ~broken), method)

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Write the ranges of leads: a lead is the least of those over each rival."""
        for name, end in _ENDS.items():
            columns[name][:] = end
        for duel, _, own in self._answered:
            for name, other in _LEAST.items():
                columns[name][duel.rows] = np.minimum(columns[name][duel.rows], -own[other])
            columns["error"][duel.rows] = np.maximum(columns["error"][duel.rows], own["error"])
        # No label need be wrong: a lead is reached as it is, but for its error.
        columns["inner_high"][:] = columns["score"] - columns["error"]

    @cached_property
    def forgettable(self) -> FloatArray:
        """The least budget at which each class can lose all of its labels.

        No model would know the class then. With an intercept its score is below another's anyway.
        """
        kind, found = self.engine.bias.budget, np.full(self._changes.n_classes, np.inf)
        for number in range(len(found)):
            rows = self._changes.losable(number)
            if len(rows):
                found[number] = kind.sized(np.inf).used(rows, np.zeros(0))
        return found

    @property
    def _forgotten(self) -> FloatArray:
        """The least budget at which the class of each row can lose all of its labels."""
        return np.asarray(self.forgettable[self.winner])

    @cached_property
    def least(self) -> MinimumBudgets:
        """The least budget that overturns each row: the least over its rivals."""
        low, high = np.full((2, len(self.rows)), np.inf)
        for duel in self.duels:
            found = duel.case.least
            low[duel.rows] = np.minimum(low[duel.rows], found.low)  # NaN stays
            high[duel.rows] = np.fmin(high[duel.rows], found.high)
        low, high = np.minimum(low, self._forgotten), np.fmin(high, self._forgotten)
        low[self._hidden] = high[self._hidden] = np.nan
        return MinimumBudgets(low, high)

    @cached_property
    def rivals(self) -> IntArray:
        """The class that the fewest labels raise to that of each row; -1 where there is none."""
        needed, found = np.full(len(self.rows), np.inf), np.full(len(self.rows), -1, dtype=np.intp)
        for duel in self.duels:
            high = duel.case.least.high
            better = high < needed[duel.rows]  # of equal ones the first, as `changes` has it
            needed[duel.rows[better]] = high[better]
            found[duel.rows[better]] = duel.rival
        found[self._forgotten < needed] = -1
        return found

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the smallest known set of label changes within a budget that overturns a row."""
        needed, duel, at = min(
            (
                (float(duel.case.least.high[at]), duel, at)
                for duel in self.duels
                for at in np.flatnonzero(duel.rows == row).tolist()
            ),
            key=lambda each: each[0],
        )
        number = int(self.winner[row])
        if self._forgotten[row] < needed and self._forgotten[row] <= budget.amount:
            return self._without(self._changes.losable(number))
        if not needed <= budget.amount and not self.terms.resolve:
            raise InputError(f"no set of label changes within the budget overturns row {row}")
        found = duel.case.changes(at, budget)
        new = self._changes.towards(number, duel.rival, found.rows, rising=found.added > 0)
        added = (new - self._changes.own[found.rows]).astype(np.float64)
        return LabelChanges(found.rows, added, -found.score, rival=duel.rival)

    def _without(self, rows: IntArray) -> LabelChanges:
        """Return changes of all labels of a class, each to the first that it may really be."""
        allowed = self._changes.allowed[rows].copy()
        allowed[np.arange(len(rows)), self._changes.own[rows]] = False
        new = np.argmax(allowed, axis=1)
        added = (new - self._changes.own[rows]).astype(np.float64)
        return LabelChanges(rows, added, float("-inf"))

    # --- for people and files -------------------------------------------------------------

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers that a certificate file states: none of rows that are undecided."""
        needed, rival = np.full(len(self.rows), np.inf), np.full(len(self.rows), -1)
        for duel in self.duels:
            found = duel.case.least.high
            closer = found < needed[duel.rows]
            rows = duel.rows[closer]
            needed[rows], rival[rows] = found[closer], duel.rival
        rival[self._forgotten < needed] = -1
        verdict, least = certificates.verdict.copy(), certificates.minimum_budgets
        if not self.terms.resolve:  # whose lead it is may be hidden by rounding
            verdict[~np.isfinite(self.margins.slack)[group]] = Verdict.UNDECIDED
        unknown = verdict == Verdict.UNDECIDED
        low = certificates.low - _ROOM * np.abs(certificates.score)  # so that doubles prove it
        low, *ends = (np.where(unknown, np.nan, each) for each in (low, least.low, least.high))
        none = np.full(len(low), np.nan)
        rival = np.where(unknown, -1, rival[group])
        return Stated(low, none, MinimumBudgets(*ends), verdict, rival)

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the label changes that a certificate file states for a row."""
        return self.changes(row, budget)

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes, a CSR matrix, overturns."""
        return np.asarray(self.crossed(changes) @ count)

    def crossed(self, changes: Any) -> BoolArray:
        """Return which of several label changes, a CSR matrix, overturn which rows."""
        found = np.zeros((changes.shape[0], len(self.rows)), dtype=bool)
        pulled, gone = [], []
        for number in range(self._changes.n_classes):
            gained = self._changes.gained(number, changes)
            left = np.sum(self._changes.own == number) + gained.sum(axis=1)
            gone.append((left <= 0)[:, None])  # no model knows the class: it neither wins nor stays
            found[:, self.winner == number] = gone[-1]
            pulled.append(self.duels[0].case.pulled(gained * self.engine.learner.step))
        for duel in self.duels:
            winner = int(self.winner[duel.rows[0]])
            for here, over in duel.case.crossed(pulled[duel.rival] - pulled[winner]):
                found[:, duel.rows[here]] |= over & ~gone[duel.rival]
        return found


_ENDS = {"score": np.inf, "error": 0.0, "low": np.inf, "high": np.inf, "inner_low": np.inf}
"""Where the search for the least lead begins."""
_LEAST = {"score": "score", "low": "high", "high": "low", "inner_low": "inner_high"}
"""Of a lead and of the rival's, which is its negative: what is the least of what."""
