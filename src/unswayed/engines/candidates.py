"""The engine of models that the labels choose among candidates.

A row is robust if no candidate that can be chosen leads to another decision: its range is the union
of the candidates' ranges. Candidates that are proven to lose, whatever labels change, are left out
(`validation`). Labels that overturn a row are put through the whole search again; where they do
not, the row is undecided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unswayed._core.rounding import Bounds, above, below, narrower, subtraction_error, wider
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.linear import LinearCase
from unswayed.engines.protocol import (
    Certifier,
    Claimed,
    FeatureRows,
    LabelChanges,
    Stated,
    Terms,
    predicted,
)
from unswayed.engines.rational import ExactRow
from unswayed.engines.selection import ExactEngine, SparseEngine
from unswayed.engines.validation import Contest
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Answer, Margins, judge, verdicts
from unswayed.models.candidates import CandidatesLearner
from unswayed.models.learner import Scores, Solution
from unswayed.results.candidates import Candidates
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.groups import StandardErrors

CANDIDATES, REPLAY = "candidates", "replay"
_TRIED = 3  # candidates whose strongest labels are tried on a row
_NEAR = 1 / 8  # between numbers of labels with which a candidate cannot, and may, be chosen
_UNKNOWN = "which model is fitted depends on the labels, and formulas for a fixed one do not apply"


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Feature rows, as each of the candidates sees them."""

    learner: CandidatesLearner
    features: Matrix
    _seen: dict[int, FeatureRows] = field(default_factory=dict)

    sums = None

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def take(self, which: IntArray) -> "CandidateRows":
        """Return some of the rows."""
        return CandidateRows(self.learner, self.features[which])

    def shown(self, which: IntArray) -> Matrix:
        """Return some of the rows as the search sees them."""
        return self.features[which]

    def of(self, candidate: int) -> FeatureRows:
        """Return the rows as a candidate sees them."""
        if candidate not in self._seen:
            found = self.learner.candidates[candidate]
            self._seen[candidate] = FeatureRows.of(found.learner, found.features(self.features))
        return self._seen[candidate]


class CandidatesEngine:
    """Ranges and witnesses of whichever candidate the labels choose."""

    can = frozenset({"draws"})
    setting = "candidates"

    def __init__(self, learner: CandidatesLearner, targets: FloatArray, bias: ResolvedBias) -> None:
        self.learner, self.targets, self.bias = learner, targets, bias
        self.contest = Contest(learner, targets, bias)
        self.engines = [
            (SparseEngine if each.learner.sparse else ExactEngine)(each.learner, bias)
            for each in learner.candidates
        ]
        self.solutions = [each.learner.solve(targets) for each in learner.candidates]

    @property
    def proven(self) -> bool:
        """Whether rounding errors of the chosen candidate are bounded."""
        return self.engines[self.learner.chosen].proven

    @property
    def width(self) -> int:
        """Number of weights of a row."""
        return self.engines[self.learner.chosen].width

    @property
    def fingerprint(self) -> str:
        """What tells this engine from others."""
        return " ".join(each.fingerprint for each in self.engines)

    def rows(self, features: Matrix) -> CandidateRows:
        """Return feature rows as the candidates take them."""
        return CandidateRows(self.learner, features)

    def coefficients(self, sums: Matrix | None = None) -> CandidateRows:
        """Raise: candidates have coefficients of their own."""
        raise InputError(
            "coefficients of a model that the labels choose cannot be certified; certify those of "
            "one candidate, with the parameters as given numbers"
        )

    def scores(self, rows: CandidateRows, solution: Solution) -> Scores:
        """Return the scores that the chosen candidate gives rows."""
        return rows.of(self.learner.chosen).scores(solution)

    def case(self, rows: CandidateRows, terms: Terms) -> "CandidatesCase":
        """Put rows to the engine."""
        return CandidatesCase(self, rows, self.scores(rows, terms.solution), terms)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return nothing: there are no certificate files about these models."""
        return {}

    def possible(self, budget: Budget) -> BoolArray:
        """Return the candidates that may be chosen within a budget."""
        return self.contest.possible(budget.most_labels)

    def candidates(self, budget: Budget) -> Candidates:
        """Return all candidates, and which may be chosen within a budget."""
        parameters = tuple(dict(each) for each in self.learner.parameters)
        return Candidates(parameters, self.learner.chosen, self.possible(budget))

    @cached_property
    def turns(self) -> FloatArray:
        """The number of labels below which each candidate is proven not to be chosen."""
        contest, own = self.contest, self.bias.budget
        found = np.zeros(len(self.engines))
        if not own.countable:
            return found
        most = contest.n_movable
        start = int(np.clip(own.most_labels, 1, max(1, most)))
        for at in range(len(found)):
            low, high, tried = -1, most + 1, start
            while at != self.learner.chosen and high - low > max(1.0, low * _NEAR):
                if contest.may_win(at, tried):
                    high = tried
                else:
                    low = tried
                if high > most:
                    tried = min(2 * tried, most)
                    if low == most:
                        break
                else:
                    tried = (max(low, 0) + high) // 2 if low >= 0 else high // 2
                if tried in (low, high):
                    break
            found[at] = np.inf if low >= most else low + 1
        return found

    # --- refits ---------------------------------------------------------------------------

    def refitted(self, rows: CandidateRows, changed: IntArray, added: FloatArray) -> Scores | None:
        """Return the scores of rows after the whole search was fitted to changed labels."""
        labels = self.targets.copy()
        labels[changed] += added
        chosen = self.learner.chosen_by(labels)
        if chosen is None:
            return None
        solution = self.learner.candidates[chosen].learner.solve(labels)
        return rows.of(chosen).scores(solution)


@dataclass(frozen=True, eq=False)
class CandidatesCase:
    """Rows put to the engine of models that the labels choose."""

    engine: CandidatesEngine
    rows: CandidateRows
    scores: Scores
    terms: Terms
    exact: dict[int, ExactRow] = field(default_factory=dict, init=False)  # none: nothing rational
    _found: dict[int, tuple[float, LabelChanges]] = field(default_factory=dict, init=False)
    _tried: set[bytes] = field(default_factory=set, init=False)
    _judged: dict[float, tuple[BoolArray, BoolArray]] = field(default_factory=dict, init=False)

    @cached_property
    def margins(self) -> Margins:
        """How far the score of each row may move."""
        return self.terms.decision.margins(self.scores)

    def predictions(self, score: FloatArray) -> Any:
        """Return the prediction of each row, given its score."""
        return predicted(self.terms.decision, score, self.exact)

    @cached_property
    def plain(self) -> LinearCase[ExactEngine]:
        """The same rows, as if the chosen candidate were certain."""
        at = self.engine.learner.chosen
        return self.engine.engines[at].case(self.rows.of(at), self.terms)

    def _alone(self, budget: Budget) -> bool:
        """Return whether no other candidate than the chosen one is possible."""
        return int(self.engine.possible(budget).sum()) == 1

    # --- answers --------------------------------------------------------------------------

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return the union of the candidates' ranges, and what was found to overturn rows."""
        candidates = self.engine.candidates(budget)
        if self._alone(budget):
            found = self.plain.answer(budget)
            self._judged[budget.amount] = judge(found.bounds, self.margins)
            return Answer(
                found.bounds, found.verdict, np.full(len(self.rows), CANDIDATES), candidates
            )
        bounds = self._union(budget)
        robust, _ = judge(bounds, self.margins)
        left = np.flatnonzero(~robust & np.isfinite(self.margins.slack))
        if budget.amount > 0:
            self._attack(left, budget)
        broken = np.zeros(len(self.rows), dtype=bool)
        for row in left.tolist():
            if row in self._found and self._found[row][0] <= budget.amount:
                broken[row] = True
                self._reached(bounds, row)
        self._judged[budget.amount] = robust, broken
        method = np.where(broken, REPLAY, CANDIDATES)
        return Answer(bounds, verdicts(broken, ~robust & ~broken), method, candidates)

    def verdicts(self, budget: Budget) -> Answer:
        """Return ranges and what was found: ranges cost nothing more."""
        return self.answer(budget)

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Leave the answer as it is: searches are not made in rational arithmetic."""

    def _union(self, budget: Budget) -> Bounds:
        """Return how far above and below its score each row's range goes, over all candidates."""
        engine, score = self.engine, self.scores
        own = engine.learner.chosen
        start = engine.engines[own].reach(self.rows.of(own), budget)
        up, down, error = start.outer_up.copy(), start.outer_down.copy(), start.error.copy()
        for at in np.flatnonzero(engine.possible(budget)).tolist():
            if at == own:
                continue
            reach = engine.engines[at].reach(self.rows.of(at), budget)
            own_score = self.rows.of(at).scores(engine.solutions[at])
            high = above(own_score.value, reach.outer_up, own_score.error)
            low = below(own_score.value, -reach.outer_down, own_score.error)
            up = np.maximum(up, above(high, -score.value, score.error))
            down = np.maximum(down, above(-low, score.value, score.error))
            error = np.maximum(error, reach.error + own_score.error + score.error)
        return Bounds.outside(up, down, error)

    def _reached(self, bounds: Bounds, row: int) -> None:
        """Widen the inner bounds of a row to the score that a refit reached."""
        moved = self._found[row][1].score - float(self.scores.value[row])
        inner = bounds.inner_up if moved > 0 else bounds.inner_down
        inner[row] = max(0.0, np.nextafter(abs(moved) - bounds.error[row], 0.0))

    # --- label changes that are put through the whole search --------------------------------

    def _attack(self, rows: IntArray, budget: Budget) -> None:
        """Look for labels that overturn rows: those that turn the choice, then each row's own."""
        engine = self.engine
        others = np.flatnonzero(engine.possible(budget))
        missing = [row for row in rows.tolist() if not self._is_found(row, budget)]
        if not missing:
            return
        for at in others[others != engine.learner.chosen].tolist():
            if budget.countable:
                self._replay(*engine.contest.towards(at, budget.most_labels), budget)
        for row in missing:
            for changes in self._strongest(row, budget):
                if self._is_found(row, budget):
                    break
                self._replay(*changes, budget)

    def _is_found(self, row: int, budget: Budget) -> bool:
        return row in self._found and self._found[row][0] <= budget.amount

    def _strongest(self, row: int, budget: Budget) -> list[tuple[IntArray, FloatArray]]:
        """Return label changes that move the score of a row furthest, by the nearest candidates."""
        engine, margins = self.engine, self.margins
        found = []
        for sign, margin in ((1.0, margins.up[row]), (-1.0, margins.down[row])):
            if not np.isfinite(margin):
                continue
            own = [engine.learner.chosen]
            others = []
            for at in np.flatnonzero(engine.possible(budget)).tolist():
                value = self.rows.of(at).scores(engine.solutions[at]).value[row]
                if at not in own:
                    others.append((-sign * float(value), at))
            for at in own + [at for _, at in sorted(others)][: _TRIED - 1]:
                rows = self.rows.of(at)
                found.append(engine.engines[at].strongest(rows, row, sign, budget))
        return found

    def _replay(self, changed: IntArray, added: FloatArray, budget: Budget) -> None:
        """Fit the whole search to changed labels, and remember which rows that overturns."""
        moved = added != 0  # labels that could only do harm stay as they are
        changed, added = changed[moved], added[moved]
        key = changed.tobytes() + added.tobytes()
        if not len(changed) or key in self._tried:
            return
        self._tried.add(key)
        found = self.engine.refitted(self.rows, changed, added)
        if found is None:
            return
        amount = float(len(changed)) if budget.countable else budget.amount
        for row in np.flatnonzero(self._overturned(found)).tolist():
            if row not in self._found or amount < self._found[row][0]:
                changes = LabelChanges(changed, added, float(found.value[row]))
                self._found[row] = amount, changes

    def _overturned(self, found: Scores) -> BoolArray:
        """Return which rows other scores are proven to overturn."""
        margins, score = self.margins, self.scores.value
        with np.errstate(invalid="ignore"):
            error = wider(found.error + self.scores.error, subtraction_error(found.value, score))
            error = wider(error, margins.slack)
            moved = found.value - score
            over = narrower(moved, error) > margins.up
            over |= narrower(-moved, error) > margins.down
        return np.asarray(over & np.isfinite(error))

    # --- minimum budgets and witnesses ------------------------------------------------------

    @cached_property
    def least(self) -> MinimumBudgets:
        """Minimum budgets: `low` by ranges, `high` by label changes that were put through."""
        engine, own = self.engine, self.engine.learner.chosen
        budget, turns = engine.bias.budget, engine.turns
        chosen = self.plain.least
        low, high = (
            np.nan_to_num(chosen.low, nan=0.0, posinf=np.inf),
            np.full(len(self.rows), np.inf),
        )
        others = [at for at in range(len(turns)) if at != own]
        for at in others:
            low = np.minimum(low, np.maximum(self._crossing(at), turns[at]))
        low = np.maximum(low, budget.least_amount)
        certain = chosen.high < min((turns[at] for at in others), default=np.inf)
        high[certain] = chosen.high[certain]
        for row in np.flatnonzero(~(high <= low) & np.isfinite(low)).tolist():
            self._search(row, {float(low[row]), float(chosen.high[row]), float(budget.amount)})
            if row in self._found:
                high[row] = min(high[row], self._found[row][0])
        for amount, (robust, _) in self._judged.items():
            if budget.countable:
                low = np.where(robust, np.maximum(low, amount + 1.0), low)
        unknown = ~np.isfinite(self.margins.slack)
        low[unknown] = high[unknown] = np.nan
        return MinimumBudgets(low, np.maximum(low, high))

    def _crossing(self, at: int) -> FloatArray:
        """Return the least budget with which a candidate leaves the margins of each row."""
        engine, score, margins = self.engine.engines[at], self.scores, self.margins
        rows = self.rows.of(at)
        found = rows.scores(self.engine.solutions[at])
        ahead = found.value - score.value
        error = wider(found.error + score.error, subtraction_error(found.value, score.value))
        with np.errstate(invalid="ignore"):
            # Sums round once more, and touching an end counts as leaving it.
            size = np.abs(ahead) + np.abs(found.value) + np.abs(score.value)
            slack = wider(margins.slack + error, 2.0**-50 * size)
            up, down = margins.up - ahead, margins.down + ahead
            left = (up <= slack) | (down <= slack)
        own = Margins(np.maximum(up, 0.0), np.maximum(down, 0.0), slack)
        least = engine.minimum_budget(rows, own).low
        return np.where(left | np.isnan(least), 0.0, least)

    def _search(self, row: int, amounts: set[float]) -> None:
        """Look for small sets of labels that overturn a row, at some amounts."""
        for amount in sorted(each for each in amounts if 0 < each < np.inf):
            budget = self.engine.bias.budget.sized(amount)
            if row in self._found and self._found[row][0] <= amount:
                return
            self._attack(np.array([row]), budget)

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the smallest set of label changes that was found to overturn a row."""
        if self._alone(budget):
            return self.plain.changes(row, budget)
        if not self._is_found(row, budget):
            self._attack(np.array([row]), budget)
        if not self._is_found(row, budget):
            raise InputError(f"no label changes within the budget were found to overturn row {row}")
        return self._found[row][1]

    # --- for people and files -------------------------------------------------------------

    def standard_errors(self) -> StandardErrors:
        """Return that there are none."""
        return StandardErrors.missing(len(self.rows), _UNKNOWN)

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers of the certificates."""
        return Stated(certificates.low, certificates.high, certificates.minimum_budgets)

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return label changes that overturn a row."""
        return self.changes(row, budget)

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes overturns, the search fitted again."""
        total = np.zeros(changes.shape[0])
        for at in range(changes.shape[0]):
            here = slice(changes.indptr[at], changes.indptr[at + 1])
            found = self.engine.refitted(self.rows, changes.indices[here], changes.data[here])
            total[at] = 0.0 if found is None else float(count @ self._overturned(found))
        return total

    def overturned_at_least(self, labels: int, count: IntArray) -> None:
        """Return that no label set was tried on all rows."""
