"""Several classes, one logistic regression each: a class is kept if no rival's score can pass.

The scores of two classes are bounded by themselves, each under all labels within the budget. Labels
that are worst for one need not be worst for the other, so that this is sound, and rows may stay
undecided. What overturns a row is a set of labels whose models were solved and enclosed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from unswayed._core.rounding import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.classes import Leading
from unswayed.engines.protocol import Certifier, Claimed, LabelChanges, Stated, Terms
from unswayed.engines.region.engine import Directions, SecantEngine
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Answer, verdicts
from unswayed.models.classes import leads
from unswayed.models.gradient.one_vs_rest import OneVsRest
from unswayed.models.learner import Scores, Solution
from unswayed.results.certificates import CertificateSet, MinimumBudgets

_ATTACKED = 64  # rows whose labels are tried, each by fits of its own
REGION, ATTACK = "region", "attack"


class RivalEngine:
    """One engine per class, each with its own labels of 0 and 1."""

    can = frozenset({"pages", "rivals"})
    setting = "rivals"

    def __init__(self, learner: OneVsRest, labels: FloatArray, bias: ResolvedBias) -> None:
        assert bias.classes is not None  # noqa: S101  (labels are classes)
        self.learner, self.bias, self.changes = learner, bias, bias.classes
        self.engines = []
        for number, each in enumerate(learner.learners):
            own = self.changes.own == number
            enters = ~own & self.changes.allowed[:, number]
            leaves = own & (self.changes.allowed.sum(axis=1) > 1)
            column = own.astype(np.float64)
            moves = ResolvedBias(-1.0 * leaves + 0.0, 1.0 * enters, bias.budget, whole=True)
            self.engines.append(SecantEngine(each, column, each.centre(column), moves))

    @property
    def proven(self) -> bool:
        """Whether the solutions are enclosed."""
        return all(each.proven for each in self.engines)

    @property
    def width(self) -> int:
        """Number of parameters of a model."""
        return self.engines[0].width

    @property
    def fingerprint(self) -> str:
        """What tells this engine from others."""
        return f"rivals {id(self)}"

    def rows(self, features: Matrix) -> Directions:
        """Return feature rows as directions in parameter space."""
        return self.engines[0].rows(features)

    def coefficients(self, sums: Matrix | None = None) -> Directions:
        """Raise: every class has coefficients of its own."""
        self.learner.with_coefficients()
        raise AssertionError

    def _class_scores(self, rows: Directions) -> list[Scores]:
        return [each.scores(rows) for each in self.engines]

    def scores(self, rows: Directions, solution: Solution) -> Scores:
        """Return the leads of rows, with bounds on their errors."""
        return leads(self._class_scores(rows))[0]

    def case(self, rows: Directions, terms: Terms) -> "RivalCase":
        """Put rows to the engine."""
        found = self._class_scores(rows)
        scores, winner = leads(found)
        return RivalCase(rows, scores, winner, terms, self, found)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return nothing: there are no files about several classes."""
        return {}

    def enclosed(self, labels: IntArray, rows: Directions) -> list[Scores] | None:
        """Return scores of models that are trained on other labels; None if one is not enclosed."""
        found = []
        for number, each in enumerate(self.learner.learners):
            column = (labels == number).astype(np.float64)
            still = ResolvedBias(0.0 * column, 0.0 * column, self.bias.budget, whole=True)
            engine = SecantEngine(each, column, each.centre(column), still)
            if not engine.proven:
                return None
            found.append(engine.scores(rows))
        return found


class _Reach(NamedTuple):
    """How far the scores of all classes can rise and fall, one column per class."""

    up: FloatArray
    down: FloatArray


@dataclass(frozen=True, eq=False)
class RivalCase(Leading[Directions]):
    """Rows put to one model per class."""

    engine: RivalEngine
    by_class: list[Scores]
    _found: dict[int, LabelChanges] = field(default_factory=dict)  # overturning, by row
    _ranges: dict[float, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    # --- answers --------------------------------------------------------------------------

    def _labels(self, budget: Budget) -> int:
        return int(min(budget.most_labels, int(np.sum(self.engine.changes.allowed.sum(1) > 1))))

    def _reach(self, labels: int) -> _Reach:
        bounds = [each.outer_bounds(self.rows, labels, 1) for each in self.engine.engines]
        return _Reach(
            np.stack([each.outer_up for each in bounds], axis=1),
            np.stack([each.outer_down for each in bounds], axis=1),
        )

    def _lows(self, labels: int) -> tuple[FloatArray, FloatArray]:
        """Return how low and how high the lead of each row can be."""
        value = np.stack([each.value for each in self.by_class], axis=1)
        error = np.stack([each.error for each in self.by_class], axis=1)
        reach, at = self._reach(labels), np.arange(len(value))
        with np.errstate(invalid="ignore"):
            low, high = value - reach.down - error, value + reach.up + error
            rivals, others = high.copy(), low.copy()
            rivals[at, self.winner] = others[at, self.winner] = -np.inf
            least = low[at, self.winner] - rivals.max(axis=1)
            most = high[at, self.winner] - others.max(axis=1)
            # Four sums and differences, each rounded once.
            room = 2.0**-49 * (np.abs(low).max(axis=1) + np.abs(high).max(axis=1))
            least, most = least - room, most + room
        return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return which rows are proven to keep their class, and which labels overturn others."""
        labels = self._labels(budget)
        low, high = self._lows(labels)
        robust = low > 0.0
        for row in np.flatnonzero(~robust)[:_ATTACKED].tolist():
            self._attack(row, labels)
        broken = self._overturned(budget) & ~robust & np.isfinite(self.margins.slack)
        self._ranges[budget.amount] = low, high
        method = np.where(broken, ATTACK, REGION).astype("<U13")
        none = np.zeros((3, len(self.rows)))
        return Answer(Bounds.outside(*none), verdicts(broken, ~robust & ~broken), method)

    def verdicts(self, budget: Budget) -> Answer:
        """Return the same: ranges cost nothing more."""
        return self.answer(budget)

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Write the ranges of leads."""
        low, high = self._ranges[budget.amount]
        columns["low"][:], columns["high"][:] = low, high
        reached = [changes.score for changes in self._found.values()]
        columns["inner_low"][list(self._found)] = reached

    def _overturned(self, budget: Budget) -> BoolArray:
        found = np.zeros(len(self.rows), dtype=bool)
        for row, changes in self._found.items():
            found[row] = len(changes.rows) <= budget.most_labels
        return found

    def _attack(self, row: int, labels: int) -> None:
        """Try the labels that, to first order, do most for the strongest rival; keep what works."""
        if row in self._found and len(self._found[row].rows) <= labels:
            return
        winner, changes = int(self.winner[row]), self.engine.changes
        value = np.array([each.value[row] for each in self.by_class])
        value[winner] = -np.inf
        rival, one = int(np.argmax(value)), self.rows.take(np.array([row]))
        gain = np.zeros(len(changes.own))
        for sign, number in ((1.0, rival), (-1.0, winner)):
            gain += sign * self._first_order(number, one)
        rising = gain > 0
        new = changes.towards(winner, rival, np.arange(len(gain)), rising=rising)
        step = (
            (new == rival).astype(float)
            - (new == winner)
            - ((changes.own == rival).astype(float) - (changes.own == winner))
        )
        effect = step * np.abs(gain) * np.where(rising, 1.0, -1.0)
        order = np.argsort(-effect, kind="stable")
        for count in dict.fromkeys([labels // 4, labels // 2, labels]):
            chosen = np.sort(order[:count][effect[order[:count]] > 0])
            if len(chosen) and self._works(row, one, chosen, new[chosen], rival):
                return

    def _first_order(self, number: int, one: Directions) -> FloatArray:
        """Return about what each label adds to the score of a class."""
        engine = self.engine.engines[number]
        inverse, problem = engine.attacker.inverse, engine.problem
        along = (one.rows[0] @ inverse) * float(one.scale[0])
        found = np.asarray(problem.rows(along[None])[0])[problem.group]
        return np.asarray(found * problem.weight)

    def _works(
        self, row: int, one: Directions, chosen: IntArray, new: IntArray, rival: int
    ) -> bool:
        labels = self.engine.changes.own.copy()
        labels[chosen] = new
        after = self.engine.enclosed(labels, one)
        if after is None:
            return False
        winner = int(self.winner[row])
        ahead = [
            each.value[0] - each.error[0] - after[winner].value[0] - after[winner].error[0]
            for number, each in enumerate(after)
            if number != winner
        ]
        if not max(ahead) > 2.0**-40:
            return False
        added = (new - self.engine.changes.own[chosen]).astype(np.float64)
        self._found[row] = LabelChanges(chosen, added, -float(max(ahead)), rival=rival)
        return True

    @cached_property
    def least(self) -> MinimumBudgets:
        """From how many labels on nothing is proven, and how many are known to overturn a row."""
        most = self._labels(self.engine.bias.budget.sized(np.inf))
        low = np.ones(len(self.rows))
        tried, safe = 1, np.ones(len(self.rows), dtype=bool)
        while safe.any() and tried < 2 * most:
            safe &= self._lows(min(tried, most))[0] > 0.0
            low[safe] = tried + 1.0
            tried *= 2
        low[safe] = np.inf
        for labels, (least, _) in self._ranges.items():
            low = np.where(least > 0.0, np.maximum(low, labels + 1.0), low)
        high = np.full(len(self.rows), np.inf)
        for row, changes in self._found.items():
            high[row] = len(changes.rows)
        return MinimumBudgets(low, high)

    @property
    def rivals(self) -> IntArray:
        """The class that labels were found to raise above that of each row; -1 where none were."""
        found = np.full(len(self.rows), -1, dtype=np.intp)
        for row, changes in self._found.items():
            found[row] = -1 if changes.rival is None else changes.rival
        return found

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return label changes within a budget that are proven to overturn a row."""
        self._attack(row, self._labels(budget))
        found = self._found.get(row)
        if found is None or len(found.rows) > budget.most_labels:
            raise InputError(f"no label changes within the budget were found to overturn row {row}")
        return found

    # --- for people and files -------------------------------------------------------------

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return the numbers of the certificates."""
        return Stated(certificates.low, certificates.high, certificates.minimum_budgets)

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return the label changes of a row."""
        return self.changes(row, budget)

    def overturned(self, changes: Any, count: FloatArray) -> FloatArray:
        """Raise: random labels are not offered."""
        raise NotImplementedError
