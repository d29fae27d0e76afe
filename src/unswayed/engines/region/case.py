"""Rows of models such as logistic regression, and their margins: bounds by regions, attacks."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unswayed._core.rounding import narrower
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import Certifier, LabelChanges, Stated, Terms
from unswayed.engines.rational import ExactRow
from unswayed.engines.region.engine import EFFORTS, Directions, SecantEngine
from unswayed.engines.region.least import LeastBudgets
from unswayed.engines.region.stated import safe_labels, wider_ends
from unswayed.engines.standard_errors import FEW_DEGREES, SATURATED, SINGULAR, WEIGHTED
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins
from unswayed.margins.verdicts import Answer, judge
from unswayed.models.gradient.solver import changed, solve_all
from unswayed.models.learner import Scores
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict, verdicts
from unswayed.results.groups import StandardErrors

REGION, ATTACK = "region", "attack"


@dataclass(frozen=True, eq=False)
class RegionCase:
    """Rows put to the engine of models whose labels are in the gradient."""

    engine: SecantEngine
    rows: Directions
    scores: Scores
    terms: Terms
    exact: dict[int, ExactRow] = field(default_factory=dict, init=False)  # none: nothing rational
    _judged: dict[int, tuple[BoolArray, BoolArray]] = field(default_factory=dict, init=False)
    _written: dict[int, LabelChanges] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        effort = self.terms.effort
        if isinstance(effort, bool) or not (effort is None or effort in EFFORTS):
            raise InputError(f"effort must be 0, 1 or 2, got {effort!r}")

    @property
    def effort(self) -> int:
        """How much to do for rows that are left undecided."""
        return 1 if self.terms.effort is None else self.terms.effort

    @cached_property
    def margins(self) -> Margins:
        """How far the score of each row may move."""
        return self.terms.decision.margins(self.scores)

    def _labels(self, budget: Budget) -> int:
        """Return how many labels a budget lets change."""
        return int(min(budget.most_labels, self.engine.moves.n_movable))

    # --- answers --------------------------------------------------------------------------

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return bounds by regions, and what attacks found."""
        labels = self._labels(budget)
        bounds, attacked = self.engine.bounds(self.rows, labels, self.margins, self.effort)
        robust, broken = judge(bounds, self.margins)
        self._judged[labels] = robust, broken
        if attacked is not None:
            self._budgets.remember(attacked, broken)
        method = np.where(broken, ATTACK, REGION).astype("<U13")
        return Answer(bounds, verdicts(broken, ~robust & ~broken), method)

    def verdicts(self, budget: Budget) -> Answer:
        """Return bounds by regions, and what attacks found: ranges cost nothing more."""
        return self.answer(budget)

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Leave the answer as it is: logarithms are no rational numbers."""

    @cached_property
    def _budgets(self) -> LeastBudgets:
        return LeastBudgets(self.engine, self.rows, self.margins, self.effort)

    @cached_property
    def least(self) -> MinimumBudgets:
        """Minimum budgets of the rows."""
        found = self._budgets.bounds()
        low, high = found.low, found.high
        # A budget by itself may get a sharper region, or a stronger attack, than a search over all.
        for labels, (robust, broken) in self._judged.items():
            if labels < self.engine.moves.n_movable:
                low = np.where(robust, np.maximum(low, labels + 1.0), low)
            high = np.where(broken, np.minimum(high, labels), high)
        return MinimumBudgets(low, high)

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return a small set of label changes within a budget that overturns a row."""
        index, amounts, moved = self._budgets.witness(row, self._labels(budget))
        return self._moved(index, amounts, float(self.scores.value[row] + moved))

    def _moved(self, index: IntArray, amounts: FloatArray, score: float) -> LabelChanges:
        """Return the training rows whose labels change, and what is added to these."""
        moves, bias, up = self.engine.moves, self.engine.bias, amounts > 0
        rows, _ = moves.members(index, amounts)
        rises = np.isin(rows, moves.members(index[up], amounts[up])[0])
        return LabelChanges(rows, np.where(rises, bias.upper[rows], bias.lower[rows]), score)

    # --- for people and files -------------------------------------------------------------

    def standard_errors(self) -> StandardErrors:
        """Return standard errors by H⁻¹ Σ H⁻¹: H with the penalty, Σ the variance of the gradient.

        Each label has the variance that the model gives it: p(1 - p) of a class, the mean of a
        count.
        """
        engine, rows = self.engine, self.rows
        problem = engine.problem
        if (problem.weight != 1.0).any() or problem.class_weight != (1.0, 1.0):
            return StandardErrors.missing(len(rows), WEIGHTED)
        if not engine.proven:
            return StandardErrors.missing(len(rows), SINGULAR)
        margins = engine.centre.margins
        curvature = engine.labels.weight * problem.link.secant(margins, np.zeros(len(margins)))
        hessian, _ = problem.hessian(curvature)
        spread = hessian - np.diag(problem.penalty)
        try:
            solved = np.linalg.solve(hessian, np.column_stack((rows.rows.T, spread)))
        except np.linalg.LinAlgError:
            return StandardErrors.missing(len(rows), SATURATED)
        moved, shares = solved[:, : len(rows)], solved[:, len(rows) :]
        if problem.n_rows - np.trace(shares) <= FEW_DEGREES * problem.n_rows:
            return StandardErrors.missing(len(rows), SATURATED)
        squares = np.sum(moved * (spread @ moved), axis=0)
        return StandardErrors(rows.scale * np.sqrt(np.maximum(squares, 0.0)), np.inf)

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers that a certificate file states: such as its region proves."""
        low, high = wider_ends(certificates, self.margins[group])
        return Stated(low, high, self._stated_budgets(certificates, group))

    def _stated_budgets(self, certificates: CertificateSet, group: IntArray) -> MinimumBudgets:
        """Return from and to how many labels overturn rows that are not robust."""
        budget = self.engine.bias.budget.sized(certificates.budget)
        labels, known = self._labels(budget), np.isfinite(self.margins.slack)
        low, high = np.full((2, len(self.rows)), np.nan)
        first = np.unique(group, return_index=True)[1]
        left = np.flatnonzero((certificates.verdict[first] != Verdict.ROBUST) & known)
        rows, margins = self.rows.take(left), self.margins[left]
        low[left] = 1.0 + safe_labels(self.engine, rows, margins, labels, self.effort)
        high[left] = np.inf
        broken = left[certificates.verdict[first[left]] == Verdict.NOT_ROBUST]
        found = self._budgets.overturning(broken, low[broken].astype(np.intp), labels)
        for row, (index, amounts) in zip(broken.tolist(), found, strict=True):
            self._written[row] = self._moved(index, amounts, np.nan)
            high[row] = len(self._written[row].rows)
        return MinimumBudgets(low, high)[group]

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return what `stated` counted: to leave out labels one by one would take minutes."""
        return self._written[row]

    # --- one label set for all rows -------------------------------------------------------

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Return how many rows each of several label changes overturns, the model trained again."""
        up, down = self.margins.up[:, None], self.margins.down[:, None]
        moved = self.rows.rows @ self._refitted(changes).T
        return np.asarray(count @ ((moved > up) | (-moved > down)))

    def _refitted(self, changes: Any) -> FloatArray:
        """Return how far the parameters move, for each set of label changes."""
        engine = self.engine
        problem, start = engine.problem, engine.centre.parameters
        rows, added = [], []
        for at in range(changes.shape[0]):
            of = slice(changes.indptr[at], changes.indptr[at + 1])
            chosen = changes.indices[of]
            rows.append(problem.group[chosen])
            added.append(changes.data[of] * problem.weight[chosen])
        labels = changed(problem, engine.labels, rows, added)
        first = np.broadcast_to(start, (len(rows), len(start)))
        return solve_all(problem, labels, first, engine.attacker.inverse) - start

    def overturned_at_least(self, labels: int, count: IntArray) -> int:
        """Return how many rows a label set overturns that first-order influence suggests.

        The minimiser of the changed labels is enclosed, so that this is proven.
        """
        engine, margins = self.engine, self.margins
        rows, best = self.rows.rows, 0
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            reachable = np.isfinite(margin) & (margin > 0)
            if not (engine.proven and reachable.any() and labels):
                continue
            weight = np.where(reachable, count / np.where(reachable, margin, 1.0), 0.0)
            many = np.array([min(labels, engine.moves.n_movable)])
            found = engine.attacker.strongest(
                (weight @ rows)[None], np.array([sign]), many, 0, np.array([np.inf])
            )
            best = max(best, self._proven(found.index[0], found.amount[0], count))
        return best

    def _proven(self, index: Any, amount: Any, count: IntArray) -> int:
        """Return how many rows given label changes are proven to overturn."""
        margins, over = self.margins, np.zeros(len(count), dtype=bool)
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            near = np.flatnonzero(np.isfinite(margin))
            if len(near):
                moved = self.engine.attacker.moved(sign * self.rows.rows[near], index, amount)
                over[near] |= narrower(moved, margins.slack[near]) > margin[near]
        return int(count[over].sum())
