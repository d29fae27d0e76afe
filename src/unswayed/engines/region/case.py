"""Rows of models such as logistic regression, and their margins: bounds by regions, attacks."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from unswayed._core.rounding import narrower
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import (
    FEW_DEGREES,
    SATURATED,
    SINGULAR,
    WEIGHTED,
    Certifier,
    LabelChanges,
    Stated,
    Terms,
    predicted,
)
from unswayed.engines.rational import ExactRow
from unswayed.engines.region.attack import Found
from unswayed.engines.region.engine import EFFORTS, Attacked, Directions, SecantEngine
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Answer, Margins, judge, verdicts
from unswayed.models.gradient.family import changed, solve_all
from unswayed.models.learner import Scores
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict
from unswayed.results.groups import StandardErrors

_NEAR = 1 / 8  # between the largest region that closed and the smallest that did not
_DROPS = 40  # labels of a witness up to which each is tried to be left out

_Changes: TypeAlias = tuple[IntArray, FloatArray, FloatArray]
"""Entries, amounts, and the parameters that these lead to."""


class LeastBudgets:
    """Bounds on the least number of labels that overturns each of several rows."""

    def __init__(
        self, engine: SecantEngine, directions: Directions, margins: Margins, effort: int
    ) -> None:
        self.engine, self.directions = engine, directions
        self.margins, self.effort = margins, effort
        with np.errstate(invalid="ignore"):
            self._sign = np.where(margins.up <= margins.down, 1.0, -1.0)
            enough = np.minimum(margins.up, margins.down) + margins.slack
            self._enough = np.nextafter(enough, np.inf) / directions.scale
        self._found: dict[int, _Changes] = {}
        self._known: dict[int, _Changes] = {}

    def remember(self, attacked: Attacked, overturned: BoolArray) -> None:
        """Keep what attacks of somebody else found, for witnesses."""
        rows, found = attacked
        for at in np.flatnonzero(overturned[rows]).tolist():
            row = int(rows[at])
            changes = found.index[at], found.amount[at], found.parameters[at]
            before = self._known.get(row)
            if before is None or self._size(changes) < self._size(before):
                self._known[row] = changes

    def _size(self, changes: _Changes) -> int:
        """Return how many labels change."""
        index, amount, _ = changes
        return int(np.rint(amount / self.engine.moves.unit(index, amount)).sum())

    def bounds(self) -> MinimumBudgets:
        """Return the bounds."""
        safe = self._safe()
        known = np.isfinite(self.margins.slack)
        most = self.engine.moves.n_movable
        low = np.where(safe >= most, np.inf, safe + 1.0)
        high = np.full(len(low), np.inf)
        rows = np.flatnonzero(known & np.isfinite(low))
        if len(rows):
            high[rows] = self._least_found(rows, low[rows].astype(np.intp))
        low[~known] = high[~known] = np.nan
        return MinimumBudgets(low, high)

    def _safe(self) -> IntArray:
        """Return the largest number of labels that is proven not to overturn each row."""
        engine, most = self.engine, self.engine.moves.n_movable
        safe = np.zeros(len(self.directions), dtype=np.intp)
        going = np.flatnonzero(np.isfinite(self.margins.slack))
        labels, closed, failed = 1, 0, most + 1
        while len(going) and closed < labels < failed:
            if engine.region(labels, self.effort) is None:
                failed = labels
            else:
                closed = labels
                within = self._stays(going, labels)
                safe[going[within]] = labels
                out = going[~within]
                safe[out] = safe_labels(
                    engine,
                    self.directions.take(out),
                    self.margins[out],
                    labels,
                    self.effort,
                    safe[out],
                )
                going = going[within]
            if failed > most:
                labels = min(2 * labels, most)
            elif failed - closed > closed * _NEAR:
                labels = (closed + failed) // 2  # fewer than did not close may close
        return safe

    def _stays(self, rows: IntArray, labels: int) -> BoolArray:
        """Return which rows so many labels are proven not to overturn."""
        asked, margins = self.directions.take(rows), self.margins[rows]
        bounds, _ = self.engine.bounds(asked, labels, margins, self.effort, attack=False)
        return self.engine.within(bounds, margins)

    def _least_found(self, rows: IntArray, low: IntArray) -> FloatArray:
        """Return the smallest number of labels that were found to overturn rows; inf if none."""
        most = self.engine.moves.n_movable
        high, tried = np.full(len(rows), np.inf), np.minimum(low, most)
        below = low - 1
        going = np.arange(len(rows))
        while len(going):  # upwards, until something is found
            hit = self._overturned(rows[going], tried[going])
            high[going[hit]] = tried[going[hit]]
            below[going[~hit]] = tried[going[~hit]]
            going = going[~hit]
            going = going[tried[going] < most]
            tried[going] = np.minimum(2 * tried[going], most)
        while (going := np.flatnonzero(np.isfinite(high) & (high - below > 1))).size:
            middle = ((below + high)[going] // 2).astype(np.intp)
            hit = self._overturned(rows[going], middle)
            high[going[hit]] = middle[hit]
            below[going[~hit]] = middle[~hit]
        return high

    def _overturned(self, rows: IntArray, many: IntArray) -> np.ndarray:
        """Attack rows with so many labels each, and remember what overturns them."""
        found = self._attack(rows, many)
        hit = found.moved > self._enough[rows]
        for at in np.flatnonzero(hit).tolist():
            self._found[int(rows[at])] = found.index[at], found.amount[at], found.parameters[at]
        return np.asarray(hit)

    def _attack(self, rows: IntArray, many: IntArray) -> Found:
        return self.engine.attacker.strongest(
            self.directions.rows[rows], self._sign[rows], many, 1 + self.effort,
            self._enough[rows],
        )  # fmt: skip

    def witness(self, row: int, labels: int) -> tuple[IntArray, FloatArray, float]:
        """Return a small set of label changes that overturns a row."""
        one = np.array([row])
        self.overturning(one, one * 0 + 1, labels)
        return self._reduced(row, *self._found[row])

    def overturning(self, rows: IntArray, least: IntArray, labels: int) -> list[_Changes]:
        """Return label changes that overturn rows: as few as the attacks that are tried need."""
        low, high = least - 1, np.full(len(rows), labels)
        hit = self._overturned(rows, high)
        for row in rows[~hit].tolist():
            # Another batch of rows may lead to other last digits, and so to other label changes.
            known = self._known.get(row)
            if known is None or self._size(known) > labels:
                raise InputError(
                    f"of row {row} no {labels} labels were found again that are proven to "
                    "overturn it; more effort may find some (effort=2)"
                )
            self._found[row] = known
        while (going := np.flatnonzero(high - low > 1)).size:
            middle = (low + high)[going] // 2
            hit = self._overturned(rows[going], middle)
            high[going[hit]], low[going[~hit]] = middle[hit], middle[~hit]
        return [self._found[row] for row in rows.tolist()]

    def _reduced(
        self, row: int, index: IntArray, amount: FloatArray, parameters: FloatArray
    ) -> tuple[IntArray, FloatArray, float]:
        """Drop labels while the rest still overturns the row."""
        signed = (self.directions.rows[row] * self._sign[row])[None]
        engine = self.engine
        while True:
            choices = self._without_one(index, amount)
            if not choices:
                break
            found = engine.attacker.evaluated(
                np.repeat(signed, len(choices), axis=0),
                [each for each, _ in choices],
                [each for _, each in choices],
            )
            best = int(np.argmax(found.moved))
            if not found.moved[best] > self._enough[row]:
                break
            index, amount = found.index[best], found.amount[best]
            parameters = found.parameters[best]
        moved = (parameters - engine.centre.parameters) @ self.directions.rows[row]
        return index, amount, float(moved * self.directions.scale[row])

    def _without_one(
        self, index: IntArray, amount: FloatArray
    ) -> list[tuple[IntArray, FloatArray]]:
        """Return the changes with one label less, for each entry that has any."""
        if len(index) > _DROPS:
            return []
        unit = self.engine.moves.unit(index, amount)
        found = []
        for at in range(len(index)):
            left = amount.copy()
            left[at] -= unit[at]
            kept = np.abs(left) > 0.5 * np.abs(unit)
            if kept.any():
                found.append((index[kept], left[kept]))
        return found


# --- What certificate files state of models whose labels are in the gradient ----------------


_WIDER = 1.001  # than what the engine proved
_HAIR = 1e-9  # log-odds added to ranges of scores, relative to scores beyond 1


def wider_ends(certificates: CertificateSet, margins: Margins) -> tuple[FloatArray, FloatArray]:
    """Return ranges of scores that are wider by a thousandth, but as safe as they were."""
    robust = certificates.verdict == Verdict.ROBUST
    ends = []
    for end, sign, margin in (
        (certificates.low, -1.0, margins.down),
        (certificates.high, 1.0, margins.up),
    ):
        with np.errstate(invalid="ignore"):
            reach = np.abs(end - certificates.score)
            extra = (_WIDER - 1.0) * reach + _HAIR * (1.0 + np.abs(certificates.score))
            left = np.where(robust & np.isfinite(margin), (margin - reach) / 2, np.inf)
            extra = np.minimum(extra, np.maximum(left, 0.0))
            ends.append(np.nextafter(end + sign * extra, sign * np.inf))
    return ends[0], ends[1]


def safe_labels(
    engine: SecantEngine,
    directions: Directions,
    margins: Margins,
    labels: int,
    effort: int,
    known: IntArray,
    room: float = 1.0,
) -> IntArray:
    """Return how many labels, below a number, the region of that number proves to be harmless.

    So many are `known` to be; bounds are taken `room` times as wide.
    """
    low, high = known.copy(), np.full(len(directions), labels)
    if engine.region(labels, effort) is None:
        return low
    while (going := np.flatnonzero(high - low > 1)).size:
        middle = (low + high)[going] // 2
        for many in np.unique(middle).tolist():
            here = going[middle == many]
            bounds = engine.outer_bounds(directions.take(here), many, effort, within=labels)
            np.multiply(bounds.outer_up, room, out=bounds.outer_up)
            np.multiply(bounds.outer_down, room, out=bounds.outer_down)
            within = engine.within(bounds, margins[here])
            low[here[within]], high[here[~within]] = many, many
    return low


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
    # By row: where the labels that are written lead, and where an attack did that was tried
    refits: dict[int, FloatArray] = field(default_factory=dict, init=False)
    tried: dict[int, FloatArray] = field(default_factory=dict, init=False)

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

    def predictions(self, score: FloatArray) -> Any:
        """Return the prediction of each row, given its score."""
        return predicted(self.terms.decision, score, self.exact)

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return bounds by regions, and what attacks found."""
        labels = self._labels(budget)
        bounds, attacked = self.engine.bounds(self.rows, labels, self.margins, self.effort)
        robust, broken = judge(bounds, self.margins)
        self._judged[labels] = robust, broken
        if attacked is not None:
            self._budgets.remember(attacked, broken)
            if self.effort > 1:
                self.tried.update(
                    zip(attacked.rows.tolist(), attacked.found.parameters, strict=True)
                )
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
        none = np.zeros(len(left), dtype=np.intp)
        safe = safe_labels(self.engine, rows, margins, labels, self.effort, none, _WIDER)
        low[left] = 1.0 + safe
        high[left] = np.inf
        broken = left[certificates.verdict[first[left]] == Verdict.NOT_ROBUST]
        found = self._budgets.overturning(broken, low[broken].astype(np.intp), labels)
        for row, (index, amounts, parameters) in zip(broken.tolist(), found, strict=True):
            self._written[row] = self._moved(index, amounts, np.nan)
            self.refits[row] = parameters
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
