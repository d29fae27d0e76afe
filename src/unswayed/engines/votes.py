"""The engine of votes over partitions: what it costs, in labels, to change each vote.

A label trains one member, so that the labels that change several votes are those of each of them,
added up. With c_t labels needed to change vote t, the fewest that overturn a majority are the sum
of the smallest c_t over as many votes as must fall. From below, c_t is 1 for any learner, more for
members that are certified themselves or were tried; from above, it is what was found to do it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from unswayed._core.rounding import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.protocol import (
    Case,
    Certifier,
    Claimed,
    Engine,
    LabelChanges,
    Stated,
    Terms,
)
from unswayed.engines.rational import ExactRow
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget, Count
from unswayed.margins.decisions import Answer, Margins, Threshold, verdicts
from unswayed.models.learner import Scores, Solution
from unswayed.models.votes import CertifiableMember, VotesLearner
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.groups import StandardErrors

VOTES = "votes"
_TRIED = 1024  # sets of labels that are tried at once: their votes are held


def fewest_labels(own: FloatArray, other: FloatArray, gap: IntArray) -> FloatArray:
    """Return the fewest labels by which a rival closes a gap of votes to the winner, by row.

    `own` and `other` are (rows, votes) arrays of the labels that it takes to change a vote for the
    winner, and one for neither: these close the gap by 2 and by 1. Infinity is no such vote.
    """
    first, second = (_prefixes(each) for each in (own, other))
    least, rows = np.full(len(gap), np.inf), np.arange(len(gap))
    for moved in range(first.shape[1]):
        rest = np.maximum(gap - 2 * moved, 0)
        enough = rest < second.shape[1]
        added = second[rows, np.where(enough, rest, 0)]
        least = np.minimum(least, np.where(enough, first[:, moved] + added, np.inf))
    return least


def _prefixes(costs: FloatArray) -> FloatArray:
    """Return the sums of the 0, 1, 2 ... smallest costs of each row: whole numbers, no rounding."""
    sums = np.cumsum(np.sort(costs, axis=1), axis=1)
    return np.concatenate((np.zeros((len(costs), 1)), sums), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class VoteRows:
    """Feature rows that are voted about."""

    features: Matrix

    sums = None

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def take(self, which: IntArray) -> "VoteRows":
        """Return some of the rows."""
        return VoteRows(self.features[which])

    def shown(self, which: IntArray) -> Matrix:
        """Return some of the rows as the members see them."""
        return self.features[which]


@dataclass(frozen=True, eq=False)
class MemberEngine:
    """A certified member: the engine of its own scores."""

    member: CertifiableMember
    engine: Engine
    solution: Solution
    targets: FloatArray

    def case(self, features: Matrix) -> Case:
        """Put rows to it."""
        rows = self.engine.rows(self.member.features(features))
        return self.engine.case(
            rows, Terms(Threshold(self.member.threshold), self.targets, self.solution)
        )


class VotesEngine:
    """Minimum budgets and witnesses of votes over partitions, under one bias."""

    can = frozenset({"pages"})
    setting = "votes"
    proven = True  # votes are counted: nothing rounds

    def __init__(
        self,
        learner: VotesLearner,
        targets: FloatArray,
        bias: ResolvedBias,
        members: Sequence[MemberEngine | None],
    ) -> None:
        self.learner, self.bias, self.members = learner, bias, members
        self.labels = targets.astype(np.intp)
        self.movable = bias.movable
        self.width = len(members)

    @property
    def fingerprint(self) -> str:
        """What tells this engine from others."""
        return f"votes {id(self)}"

    def rows(self, features: Matrix) -> VoteRows:
        """Return feature rows as they are."""
        return VoteRows(features)

    def coefficients(self, sums: Matrix | None = None) -> VoteRows:
        """Raise: votes have no coefficients."""
        raise InputError("votes have no coefficients; ask about rows instead")

    def scores(self, rows: VoteRows, solution: Solution) -> Scores:
        """Return the share of votes for the second class."""
        return self.learner.scores(rows.features, solution)

    def case(self, rows: VoteRows, terms: Terms) -> "VotesCase":
        """Put rows to the engine."""
        if not isinstance(terms.decision, Threshold):
            raise InputError(
                f"votes decide between classes, and {type(terms.decision).__name__} is about "
                "numbers; leave decision out"
            )
        return VotesCase(self, rows, terms.decision)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Raise: there are no files of votes."""
        raise InputError("there are no certificate files of votes")


class _Costs(NamedTuple):
    """How many labels change the vote of a member, by row, and which."""

    low: FloatArray
    high: FloatArray
    case: Case | None  # of a member that is certified itself
    sure: FloatArray  # what that case found to be enough, where it is sure to do it
    tried: dict[int, IntArray]  # by row, labels of the partition whose flips were seen to do it


@dataclass(frozen=True, eq=False)
class VotesCase:
    """Rows that are voted about, and what it takes to overturn them."""

    engine: VotesEngine
    rows: VoteRows
    decision: Threshold
    exact: dict[int, ExactRow] = field(default_factory=dict, init=False)  # none: nothing rounds

    def predictions(self, score: FloatArray) -> Any:
        """Return the class that the majority votes for."""
        return self.decision.predict(score)

    # --- votes and what they cost --------------------------------------------------------------

    @cached_property
    def votes(self) -> IntArray:
        """The vote of each member on each row, (members, rows)."""
        return self.engine.learner.votes(self.rows.features)

    @cached_property
    def scores(self) -> Scores:
        """The share of votes for the second class."""
        return self.engine.learner.shares(self.votes)

    @cached_property
    def margins(self) -> Margins:
        """How far that may move."""
        return self.decision.margins(self.scores)

    @cached_property
    def _costs(self) -> list[_Costs]:
        return [self._cost(at) for at in range(len(self.votes))]

    def _cost(self, at: int) -> _Costs:
        """Return how many labels change the vote of a member: of any learner, at least 1."""
        engine, vote = self.engine, self.votes[at]
        rows = engine.learner.partitions[at].rows
        labels, movable = engine.labels[rows], engine.movable[rows]
        n_rows = len(vote)
        low = np.full(n_rows, 1.0 if movable.any() else np.inf)
        high, sure = self._turned(labels, movable)[vote], np.full(n_rows, np.inf)
        costs = _Costs(low, high, None, sure, {})
        if not movable.any():
            return costs
        if engine.members[at] is not None:
            return self._certified(at, costs, labels)
        most = min(engine.learner.model.exhaustive, int(movable.sum()))
        self._try(at, costs, labels, np.flatnonzero(movable), most)
        return costs

    @staticmethod
    def _turned(labels: IntArray, movable: BoolArray) -> FloatArray:
        """Return how many labels make a partition all of the other class, by the class it votes."""
        fixed = [bool((~movable & (labels == each)).any()) for each in (0, 1)]
        counts = [float(np.sum(labels == each)) for each in (0, 1)]
        return np.array([np.inf if fixed[at] else counts[at] for at in (0, 1)])

    def _certified(self, at: int, costs: _Costs, labels: IntArray) -> _Costs:
        """Return what the own certificate of a member says: of its solution, if that votes so."""
        member = self.engine.members[at]
        assert member is not None  # noqa: S101  (tells mypy)
        case = member.case(self.rows.features)
        least, vote = case.least, self.votes[at]
        known = case.scores.value > member.member.threshold
        known = (known == (vote == 1)) & np.isfinite(case.margins.slack) & ~np.isnan(least.low)
        low = np.where(known, np.maximum(np.minimum(least.low, costs.high), 1.0), costs.low)
        # Of labels that are all alike, partitions vote that class, whatever the member would say.
        spared = min(np.sum(labels == 0), np.sum(labels == 1))
        certain = known & (member.member.constant | (least.high < spared))
        sure = np.where(certain, least.high, np.inf)
        return costs._replace(low=low, high=np.minimum(costs.high, sure), case=case, sure=sure)

    def _try(self, at: int, costs: _Costs, labels: IntArray, movable: IntArray, most: int) -> None:
        """Train a member on all sets of a few wrong labels, and see which rows they change."""
        learner, vote = self.engine.learner, self.votes[at]
        open_rows = np.ones(len(vote), dtype=bool)
        for size in range(1, most + 1):
            for sets in _batches(combinations(movable.tolist(), size)):
                after = learner.tried(at, sets, labels, self.rows.features)
                for flips, found in zip(sets, after, strict=True):
                    if found is None:  # whatever such a member would say
                        open_rows[:] = False
                        continue
                    for row in np.flatnonzero(open_rows & (found != vote)).tolist():
                        costs.tried[row], costs.high[row] = flips, size
                        open_rows[row] = False
            more = np.inf if size == len(movable) else size + 1.0
            costs.low[open_rows] = more

    @cached_property
    def _sides(self) -> list[tuple[FloatArray, FloatArray]]:
        """What changing votes for the second class costs, and for the first: at least, enough."""
        low, high = (
            np.array([getattr(each, name) for each in self._costs]).reshape(self.votes.shape).T
            for name in ("low", "high")
        )
        second = (self.votes == 1).T
        return [
            (np.where(own, low, np.inf), np.where(own, high, np.inf)) for own in (second, ~second)
        ]

    @cached_property
    def _falls(self) -> IntArray:
        """How many votes must change until the prediction does; more than there are, if none do."""
        n_votes = len(self.votes)
        positive = self.decision.positive(np.arange(n_votes + 1) / max(n_votes, 1))
        second = int(np.argmax(positive)) if positive.any() else n_votes + 1
        counts = (self.votes == 1).sum(axis=0)
        return np.asarray(np.where(counts >= second, counts - second + 1, second - counts))

    @cached_property
    def _positive(self) -> BoolArray:
        return self.decision.positive(self.scores.value)

    # --- answers -------------------------------------------------------------------------------

    @cached_property
    def least(self) -> MinimumBudgets:
        """The least number of labels that overturns each row."""
        ends = []
        for end in (0, 1):
            own = np.where(self._positive[:, None], self._sides[0][end], self._sides[1][end])
            ends.append(fewest_labels(own, np.full_like(own, np.inf), 2 * self._falls))
        return MinimumBudgets(*ends)

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return how many votes can change within a budget, and what follows."""
        labels, n_votes = budget.most_labels, max(len(self.votes), 1)
        reached = [
            [(_prefixes(side[end])[:, 1:] <= labels).sum(axis=1) / n_votes for side in self._sides]
            for end in (0, 1)
        ]
        (down, up), (inner_down, inner_up) = reached
        bounds = Bounds.outside(up, down, np.zeros(len(up)))
        bounds.inner_up[:], bounds.inner_down[:] = inner_up, inner_down
        broken, robust = self.least.high <= labels, self.least.low > labels
        return Answer(
            bounds, verdicts(broken, ~robust & ~broken), np.full(len(up), VOTES, dtype="<U13")
        )

    def verdicts(self, budget: Budget) -> Answer:
        """Return the answer: ranges cost nothing more."""
        return self.answer(budget)

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return labels whose change overturns a row, as training on them shows."""
        side = self._sides[0 if self._positive[row] else 1][1][row]
        order = np.argsort(side, kind="stable")[: self._falls[row]]
        engine, after, changed = self.engine, self.votes[:, row].copy(), []
        for at in order.tolist():
            flips, rows = self._flips(at, row), engine.learner.partitions[at].rows
            labels = engine.labels[rows]
            [found] = engine.learner.tried(at, [flips], labels, self.rows.features[[row]])
            after[at] = after[at] if found is None else found[0]
            changed.append(rows[flips])
        score = engine.learner.shares(after[:, None]).value
        if self.decision.positive(score)[0] == self._positive[row]:
            raise InputError(
                f"labels that overturn row {row} in exact arithmetic do not do so when the members "
                "are trained on them, because a solver rounds or stops early; a smaller tol, or a "
                "direct solver, closes the gap"
            )
        indices = np.sort(np.concatenate(changed))
        added = np.where(
            engine.labels[indices] == 1, engine.bias.lower[indices], engine.bias.upper[indices]
        )
        return LabelChanges(indices, added, float(score[0]))

    def _flips(self, at: int, row: int) -> IntArray:
        """Return labels of a partition whose flips change its vote on a row, by their places."""
        costs = self._costs[at]
        if row in costs.tried:
            return costs.tried[row]
        if costs.case is not None and costs.sure[row] <= costs.high[row]:
            return costs.case.changes(row, Count(int(costs.sure[row]))).rows
        labels = self.engine.labels[self.engine.learner.partitions[at].rows]
        return np.flatnonzero(labels == self.votes[at, row])

    # --- for people and files ------------------------------------------------------------------

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Leave the answer as it is: rounding left nothing open."""

    def standard_errors(self) -> StandardErrors:
        """Return that shares of votes have none."""
        return StandardErrors.missing(len(self.rows), "votes have no standard errors")

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Raise: there are no files of votes."""
        raise InputError("there are no certificate files of votes")

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return label changes that overturn a row."""
        return self.changes(row, budget)

    def overturned(self, changes: object, count: FloatArray) -> FloatArray:
        """Raise: every label set would take training all members again."""
        raise InputError("one set of labels for all rows is not possible for votes")

    def overturned_at_least(self, labels: int, count: IntArray) -> None:
        """Return that no set of labels was tried on all rows."""


def _batches(sets: Iterator[tuple[int, ...]]) -> Iterator[list[IntArray]]:
    """Yield sets of labels, many at once."""
    while batch := [np.array(each) for each in islice(sets, _TRIED)]:
        yield batch
