"""The engine of votes over partitions: what it costs, in labels, to change each vote.

A label trains one member, so that the labels that change several votes are those of each of them,
added up. With c_t labels needed to change vote t, the fewest that overturn a majority of two
classes are the sum of the smallest c_t over as many votes as must fall. With several classes, a
vote that goes from the winner to a rival closes the gap between them by 2. A vote that goes from
another class to the rival, or from the winner to another class, closes it by 1. The cheapest
changes that close it are found by dynamic programming. From below, c_t is 1 for any learner, more
for members that are certified themselves or were tried; from above, what was found to do it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import numpy as np

from unswayed._core.rounding import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.classes import ClassCase
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
from unswayed.margins.decisions import Answer, Argmax, Decision, Margins, Threshold, verdicts
from unswayed.models.learner import Scores, Solution
from unswayed.models.partitioned import dealt
from unswayed.models.votes import CertifiableMember, VotesLearner
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict
from unswayed.results.groups import StandardErrors

VOTES = "votes"
_TRIED = 1024  # sets of labels that are tried at once: their votes are held
_ATTACKED = 256  # rows of several classes whose labels are tried, by training members on them


def fewest_labels(two: FloatArray, one: FloatArray, gap: IntArray) -> FloatArray:
    """Return the fewest labels by which a rival closes a gap of votes to the winner, by row.

    `two` and `one` are (rows, votes) arrays of the labels that it takes to change a vote so that
    the gap closes by 2 (from the winner to the rival), and by 1. Infinity is no such change.
    """
    rows = np.arange(len(gap))
    if np.isinf(one).all():
        sums, falls = _prefixes(two), (gap + 1) // 2
        most = sums.shape[1] - 1
        return np.where(falls <= most, sums[rows, np.minimum(falls, most)], np.inf)
    return _closed(two, one, int(gap.max(initial=0)))[-1][rows, gap]


def _closed(two: FloatArray, one: FloatArray, most: int) -> list[FloatArray]:
    """Return the fewest labels that close gaps of 0 to `most`, given the first 0, 1 … votes."""
    least = np.full((len(two), most + 1), np.inf)
    least[:, 0] = 0.0
    found, gap = [least], np.arange(most + 1)
    for vote in range(two.shape[1]):
        before = found[-1]
        by_one = before[:, np.maximum(gap - 1, 0)] + one[:, vote, None]
        by_two = before[:, np.maximum(gap - 2, 0)] + two[:, vote, None]
        # Of many rows only the last is asked for.
        found = (found if len(two) == 1 else []) + [np.minimum(before, np.minimum(by_one, by_two))]
    return found


def _cheapest(two: FloatArray, one: FloatArray, gap: int) -> list[tuple[int, bool]]:
    """Return votes whose change closes a gap with the fewest labels, and which close 2 of it."""
    tables, found, left = _closed(two[None], one[None], gap), [], gap
    for vote in range(len(two) - 1, -1, -1):
        before, now = tables[vote][0], tables[vote + 1][0, left]
        if before[left] == now:
            continue
        double = before[max(left - 2, 0)] + two[vote] == now
        found.append((vote, bool(double)))
        left = max(left - (2 if double else 1), 0)
    return found


def _prefixes(costs: FloatArray) -> FloatArray:
    """Return the sums of the 0, 1, 2 ... smallest costs of each row: whole numbers, no rounding."""
    sums = np.cumsum(np.sort(costs, axis=1), axis=1)
    return np.concatenate((np.zeros((len(costs), 1)), sums), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class VoteRows:
    """Feature rows that are voted about."""

    features: Matrix
    columns: Callable[[], FloatArray] | None = None  # votes and their costs, once they are known

    sums = None

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def take(self, which: IntArray) -> "VoteRows":
        """Return some of the rows."""
        return VoteRows(self.features[which])

    def shown(self, which: IntArray) -> Matrix:
        """Return the votes about some of the rows, and what these cost."""
        assert self.columns is not None  # noqa: S101  (asked of the rows of a case)
        return self.columns()[which]


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
        decision: Decision = Threshold(self.member.threshold)
        if self.engine.bias.classes is not None:
            decision = Argmax(np.arange(self.engine.bias.classes.n_classes))
        return self.engine.case(rows, Terms(decision, self.targets, self.solution))

    def rivals(self, case: Any) -> Iterator[tuple[IntArray, int, MinimumBudgets]]:
        """Yield rows, a class that the member could vote for instead, and what that takes."""
        if isinstance(case, ClassCase):
            yield from ((duel.rows, duel.rival, duel.case.least) for duel in case.duels)
            return
        second = case.scores.value > self.member.threshold
        for rival in (0, 1):
            rows = np.flatnonzero(second != bool(rival))
            yield rows, rival, case.least[rows]

    def relabelled(self, case: Any, row: int, rival: int, size: int) -> tuple[IntArray, IntArray]:
        """Return labels, and their new classes, that let a rival overtake the vote on a row."""
        if not isinstance(case, ClassCase):
            flipped = case.changes(row, Count(size))
            return flipped.rows, (flipped.added > 0).astype(np.intp)
        for duel in case.duels:
            if duel.rival == rival and row in duel.rows:
                at = int(np.searchsorted(duel.rows, row))
                found = duel.case.changes(at, Count(size))
                return found.rows, case.engine.changes.towards(
                    int(case.winner[row]), rival, found.rows, rising=found.added > 0
                )
        raise AssertionError


def classes_allowed(bias: ResolvedBias, labels: IntArray) -> BoolArray:
    """Return the classes that each label may really be, (labels, classes), its own included."""
    if bias.classes is not None:
        return bias.classes.allowed
    return np.asarray(bias.movable[:, None] | (labels[:, None] == np.arange(2)))


class VotesEngine:
    """Minimum budgets and witnesses of votes over partitions, under one bias."""

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
        self.allowed = classes_allowed(bias, self.labels)
        self.can = frozenset({"files", "pages"} | ({"rivals"} if learner.n_classes > 2 else set()))
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
        """Return the share of votes for the second class, or by how much the first one leads."""
        return self.learner.scores(rows.features, solution)

    def case(self, rows: VoteRows, terms: Terms) -> "VotesCase":
        """Put rows to the engine."""
        if not isinstance(terms.decision, Threshold | Argmax):
            raise InputError(
                f"votes decide between classes, and {type(terms.decision).__name__} is about "
                "numbers; leave decision out"
            )
        return VotesCase(self, rows, terms.decision)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return the partition of each training row, which a checker finds again."""
        model = self.learner.model
        return {"partition": dealt(model, self.learner.features).astype(np.float64)[:, None]}


class _Costs(NamedTuple):
    """How many labels make a member vote for each class, (rows, classes); infinite for its own."""

    low: FloatArray
    high: FloatArray  # so many are sure to do it
    maybe: FloatArray  # so many may: training on them shows it
    case: Case | None  # of a member that is certified itself
    tried: dict[tuple[int, int], IntArray]  # by row and class, labels that were seen to do it


class _Plan(NamedTuple):
    """Labels that overturn a row, as training on them showed."""

    rows: IntArray
    new: IntArray  # their classes
    rival: int  # what the majority then is
    score: float


@dataclass(frozen=True, eq=False)
class VotesCase:
    """Rows that are voted about, and what it takes to overturn them."""

    engine: VotesEngine
    rows: VoteRows
    decision: Threshold | Argmax
    exact: dict[int, ExactRow] = field(default_factory=dict, init=False)  # none: nothing rounds

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", VoteRows(self.rows.features, lambda: self._columns))

    @cached_property
    def _columns(self) -> FloatArray:
        """What a certificate file is about: votes, and class by class what these cost at least."""
        model = self.engine.learner.model
        found = np.full((len(self.winner), 1 + len(model.classes_), model.n_partitions), -1.0)
        used = [each is not None for each in model.estimators_]
        found[:, 0, used] = self.votes.T
        low = self._ends[0].transpose(1, 2, 0)
        found[:, 1:, used] = np.where(np.isinf(low), -1.0, low)
        return found.reshape(len(found), -1)

    def predictions(self, score: FloatArray) -> Any:
        """Return the class that the majority votes for."""
        return np.asarray(self.decision.classes[self.winner])

    # --- votes and what they cost --------------------------------------------------------------

    @cached_property
    def votes(self) -> IntArray:
        """The vote of each member on each row, (members, rows)."""
        return self.engine.learner.votes(self.rows.features)

    @cached_property
    def counts(self) -> IntArray:
        """How many votes each class has, (rows, classes)."""
        return self.engine.learner.tally(self.votes)

    @cached_property
    def scores(self) -> Scores:
        """The share of votes for the second class, or by how much the first of several leads."""
        return self.engine.learner.shares(self.votes)

    @cached_property
    def margins(self) -> Margins:
        """How far that may move."""
        return self.decision.margins(self.scores)

    @cached_property
    def winner(self) -> IntArray:
        """The number of the class that the majority votes for."""
        return self._won(self.counts)

    def _won(self, counts: IntArray) -> IntArray:
        if isinstance(self.decision, Argmax):
            return np.asarray(np.argmax(counts, axis=1))
        return np.asarray(self.decision.positive(counts[:, 1] / len(self.votes)), dtype=np.intp)

    @cached_property
    def _costs(self) -> list[_Costs]:
        return [self._cost(at) for at in range(len(self.votes))]

    def _cost(self, at: int) -> _Costs:
        """Return how many labels change the vote of a member: of any learner, at least 1."""
        engine, vote = self.engine, self.votes[at]
        rows = engine.learner.partitions[at].rows
        labels, allowed = engine.labels[rows], engine.allowed[rows]
        movable = allowed.sum(axis=1) > 1
        low = np.full((len(vote), allowed.shape[1]), 1.0 if movable.any() else np.inf)
        high = np.broadcast_to(_turned(labels, allowed), low.shape).copy()
        low[np.arange(len(vote)), vote] = high[np.arange(len(vote)), vote] = np.inf
        costs = _Costs(low, high, high, None, {})
        if not movable.any():
            return costs
        if engine.members[at] is not None:
            return self._certified(at, costs, labels)
        self._try(at, costs, labels, allowed)
        return costs

    def _certified(self, at: int, costs: _Costs, labels: IntArray) -> _Costs:
        """Return what the own certificate of a member says: of its solution, if that votes so."""
        member, vote = self.engine.members[at], self.votes[at]
        assert member is not None  # noqa: S101  (tells mypy)
        case, maybe = member.case(self.rows.features), costs.high.copy()
        # Of labels that are all alike, partitions vote that class, whatever the member would say.
        spared = np.inf if member.member.constant else min(np.sum(labels == 0), np.sum(labels == 1))
        for rows, rival, least in member.rivals(case):
            known = np.isfinite(case.margins.slack[rows]) & ~np.isnan(least.low)
            known &= self._voted_as(case, member, rows) == vote[rows]
            here, most = rows[known], costs.high[rows[known], rival]
            costs.low[here, rival] = np.maximum(np.minimum(least.low[known], most), 1.0)
            certain = known & (least.high < spared)
            here = rows[certain]
            maybe[here, rival] = np.fmin(maybe[here, rival], least.high[certain])
        # Of several classes, another rival may overtake both.
        sure = costs.high if isinstance(case, ClassCase) else maybe
        return costs._replace(high=sure, maybe=maybe, case=case)

    @staticmethod
    def _voted_as(case: Any, member: MemberEngine, rows: IntArray) -> IntArray:
        if isinstance(case, ClassCase):
            return np.asarray(case.winner[rows])
        return np.asarray(case.scores.value[rows] > member.member.threshold, dtype=np.intp)

    def _try(self, at: int, costs: _Costs, labels: IntArray, allowed: BoolArray) -> None:
        """Train a member on all sets of a few wrong labels, and see which rows they change."""
        learner, movable = self.engine.learner, np.flatnonzero(allowed.sum(axis=1) > 1)
        unseen = np.ones(costs.low.shape, dtype=bool)
        for size in range(1, min(learner.model.exhaustive, len(movable)) + 1):
            for sets in _batches(_relabelled(labels, allowed, movable, size)):
                after = learner.tried(at, sets, self.rows.features)
                for new, found in zip(sets, after, strict=True):
                    if found is None:  # whatever such a member would say
                        unseen[:] = False
                        continue
                    every = np.arange(len(found))
                    for row in np.flatnonzero(size < costs.high[every, found]).tolist():
                        key = row, int(found[row])
                        if key[1] != self.votes[at, row]:
                            costs.tried[key], costs.high[key] = new, size
                    unseen[every, found] = False
            costs.low[unseen] = np.inf if size == len(movable) else size + 1.0

    # --- what it costs to overturn a row -------------------------------------------------------

    @cached_property
    def _ends(self) -> list[FloatArray]:
        """All costs, at least and sure to be enough: (members, rows, classes)."""
        return [self._stacked(name) for name in ("low", "high")]

    def _stacked(self, name: str) -> FloatArray:
        shape = (*self.votes.shape, self.engine.learner.n_classes)
        return np.array([getattr(each, name) for each in self._costs]).reshape(shape)

    def _gap(self, rival: int) -> IntArray:
        """Return by how many votes a class must gain on the winner of each row to overtake it."""
        rows, counts = np.arange(len(self.winner)), self.counts
        if isinstance(self.decision, Argmax):
            # With equally many votes, the class that comes first is predicted.
            ahead = counts[rows, self.winner] - counts[:, rival]
            return np.asarray(ahead + (self.winner < rival))
        n_votes = len(self.votes)
        positive = self.decision.positive(np.arange(n_votes + 1) / max(n_votes, 1))
        second = int(np.argmax(positive)) if positive.any() else n_votes + 1
        falls = np.where(self.winner == 1, counts[:, 1] - second + 1, second - counts[:, 1])
        return np.asarray(2 * falls)

    def _closing(
        self, costs: FloatArray, rival: int, rows: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what changes of votes cost that bring a rival closer by 2, and by 1."""
        own = self.winner[rows, None] == self.votes[:, rows].T
        towards, away = costs[:, rows, rival].T, np.full(own.shape, np.inf)
        for other in {*range(self.engine.learner.n_classes)} - {rival}:
            away = np.minimum(away, costs[:, rows, other].T)
        return np.where(own, towards, np.inf), np.where(own, away, towards)

    def _fewest(self, costs: FloatArray) -> FloatArray:
        """Return the fewest labels by which each class overtakes the winner, (rows, classes)."""
        n_classes = self.engine.learner.n_classes
        found = np.full((len(self.winner), n_classes), np.inf)
        for rival in range(n_classes):
            rows = np.flatnonzero(self.winner != rival)
            two, one = self._closing(costs, rival, rows)
            found[rows, rival] = fewest_labels(two, one, self._gap(rival)[rows])
        return found

    @cached_property
    def _enough(self) -> FloatArray:
        return self._fewest(self._ends[1])

    @cached_property
    def _seen(self) -> dict[int, _Plan]:
        """Rows that fewer labels overturn than are sure to: training on them showed it."""
        found: dict[int, _Plan] = {}
        if all(each.maybe is each.high for each in self._costs):
            return found
        costs = self._stacked("maybe")
        maybe = self._fewest(costs)
        better = maybe.min(axis=1, initial=np.inf) < self._enough.min(axis=1, initial=np.inf)
        for row in np.flatnonzero(better)[:_ATTACKED].tolist():
            for rival in np.argsort(maybe[row], kind="stable").tolist():
                if maybe[row, rival] < self._enough[row].min() and row not in found:
                    plan = self._plan(row, rival, costs)
                    if plan.rival != self.winner[row]:
                        found[row] = plan
        return found

    def _plan(self, row: int, rival: int, costs: FloatArray) -> _Plan:
        """Train members on the labels that let a class overtake the winner, and count the votes."""
        engine, one, after = self.engine, np.array([row]), self.votes[:, [row]].copy()
        two, single = (each[0] for each in self._closing(costs, rival, one))
        rows, new = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for at, double in _cheapest(two, single, int(self._gap(rival)[row])):
            of_rival = double or self.votes[at, row] != self.winner[row]
            others = np.where(np.arange(costs.shape[2]) == rival, np.inf, costs[at, row])
            labels = self._labels(at, row, rival if of_rival else int(np.argmin(others)))
            [found] = engine.learner.tried(at, [labels], self.rows.features[one])
            after[at] = after[at] if found is None else found
            part = engine.learner.partitions[at].rows
            changed = labels != engine.labels[part]
            rows.append(part[changed])
            new.append(labels[changed])
        changed, counts = np.concatenate(rows), engine.learner.tally(after)
        order, winner = np.argsort(changed), int(self.winner[row])
        rest = np.delete(counts[0], winner).max()
        score = (counts[0, winner] - rest if counts.shape[1] > 2 else counts[0, 1]) / len(after)
        rival = int(self._won(counts)[0])
        return _Plan(changed[order], np.concatenate(new)[order], rival, float(score))

    def _labels(self, at: int, row: int, target: int) -> IntArray:
        """Return labels of a partition that make its member vote for a class."""
        costs, engine = self._costs[at], self.engine
        if (row, target) in costs.tried:
            return costs.tried[row, target]
        labels = engine.labels[engine.learner.partitions[at].rows].copy()
        member, size = engine.members[at], costs.maybe[row, target]
        turned = _turned(labels, engine.allowed[engine.learner.partitions[at].rows])[target]
        if member is None or size >= turned:
            labels[:] = target
            return labels
        places, new = member.relabelled(costs.case, row, target, int(size))
        labels[places] = new
        return labels

    # --- answers -------------------------------------------------------------------------------

    @cached_property
    def least(self) -> MinimumBudgets:
        """The least number of labels that overturns each row."""
        low = self._fewest(self._ends[0]).min(axis=1, initial=np.inf)
        high = self._enough.min(axis=1, initial=np.inf)
        for row, plan in self._seen.items():
            high[row] = min(high[row], len(plan.rows))
        budget = self.engine.bias.budget
        if not budget.countable:  # whether labels are within the limits of all parts is not known
            high[:] = np.inf
            low[low > budget.sized(np.inf).most_labels] = np.inf
        return MinimumBudgets(low, high)

    def answer(self, budget: Budget, certifier: Certifier | None = None) -> Answer:
        """Return how many votes can change within a budget, and what follows."""
        labels, none = budget.most_labels, np.zeros(len(self.rows))
        if isinstance(self.decision, Argmax):
            up, down = self._leads(labels)
            bounds = Bounds.outside(up, down, none)
        else:
            reached = [[self._moved(end, way, labels) for way in (0, 1)] for end in (0, 1)]
            (down, up), (inner_down, inner_up) = reached
            bounds = Bounds.outside(up, down, none)
            if budget.countable:
                bounds.inner_up[:], bounds.inner_down[:] = inner_up, inner_down
        broken, robust = self.least.high <= labels, self.least.low > labels
        return Answer(
            bounds, verdicts(broken, ~robust & ~broken), np.full(len(none), VOTES, dtype="<U13")
        )

    def _moved(self, end: int, target: int, labels: float) -> FloatArray:
        """Return the share of votes that so many labels bring to one of two classes."""
        within = _prefixes(self._ends[end][:, :, target].T)[:, 1:] <= labels
        return np.asarray(within.sum(axis=1) / max(len(self.votes), 1))

    def _leads(self, labels: float) -> tuple[FloatArray, FloatArray]:
        """Return how far leads can rise and fall."""
        counts, n_votes, every = self.counts, max(len(self.votes), 1), np.arange(len(self.rows))
        own = counts[every, self.winner]
        lead = np.rint(self.scores.value * n_votes)
        least = lead.copy()
        for rival in range(counts.shape[1]):
            rows = np.flatnonzero(self.winner != rival)
            table = _closed(*self._closing(self._ends[0], rival, rows), 2 * n_votes)[-1]
            closed = (table <= labels).sum(axis=1) - 1
            least[rows] = np.minimum(least[rows], (own - counts[:, rival])[rows] - closed)
        changed = (_prefixes(self._ends[0].min(axis=2).T)[:, 1:] <= labels).sum(axis=1)
        most = np.minimum(lead + 2 * changed, n_votes)
        return (most - lead) / n_votes, (lead - least) / n_votes

    def verdicts(self, budget: Budget) -> Answer:
        """Return the answer: ranges cost nothing more."""
        return self.answer(budget)

    @property
    def rivals(self) -> IntArray:
        """The class that the fewest labels make of each row; -1 where none are known to."""
        found = np.where(np.isfinite(self.least.high), self._enough.argmin(axis=1), -1)
        for row, plan in self._seen.items():
            found[row] = plan.rival
        return found

    def changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return labels whose change overturns a row, as training on them shows."""
        plan = self._seen.get(row)
        if plan is None:
            plan = self._plan(row, int(np.argmin(self._enough[row])), self._ends[1])
        if plan.rival == self.winner[row]:
            raise InputError(
                f"labels that overturn row {row} in exact arithmetic do not do so when the members "
                "are trained on them, because a solver rounds or stops early; a smaller tol, or a "
                "direct solver, closes the gap"
            )
        added = (plan.new - self.engine.labels[plan.rows]).astype(np.float64)
        rival = plan.rival if self.engine.learner.n_classes > 2 else None
        return LabelChanges(plan.rows, added, plan.score, rival=rival)

    # --- for people and files ------------------------------------------------------------------

    def settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Leave the answer as it is: rounding left nothing open."""

    def standard_errors(self) -> StandardErrors:
        """Return that shares of votes have none."""
        return StandardErrors.missing(len(self.rows), "votes have no standard errors")

    def stated(self, certificates: CertificateSet, group: IntArray) -> Stated:
        """Return what follows from votes: that labels overturn a row takes training to see."""
        if not isinstance(self.engine.bias.budget, Count):
            raise InputError(
                "certificate files of votes take a number of labels as the budget, and not limits "
                "of groups; to_frame() has the verdicts"
            )
        none, verdict = np.full(len(group), np.nan), certificates.verdict.copy()
        verdict[verdict == Verdict.NOT_ROBUST] = Verdict.UNDECIDED
        least = MinimumBudgets(certificates.minimum_budgets.low, np.full(len(group), np.inf))
        return Stated(none, none, least, verdict)

    def stated_changes(self, row: int, budget: Budget) -> LabelChanges:
        """Return label changes that overturn a row."""
        return self.changes(row, budget)

    def overturned(self, changes: object, count: FloatArray) -> FloatArray:
        """Raise: every label set would take training all members again."""
        raise InputError("one set of labels for all rows is not possible for votes")

    def overturned_at_least(self, labels: int, count: IntArray) -> None:
        """Return that no set of labels was tried on all rows."""


def _turned(labels: IntArray, allowed: BoolArray) -> FloatArray:
    """Return how many labels make a partition all of each class; infinite where that cannot be."""
    needed = labels[:, None] != np.arange(allowed.shape[1])
    return np.where((needed & ~allowed).any(axis=0), np.inf, needed.sum(axis=0))


def _relabelled(
    labels: IntArray, allowed: BoolArray, movable: IntArray, size: int
) -> Iterator[IntArray]:
    """Yield the labels of a partition with so many of them changed, in every way."""
    for places in combinations(movable.tolist(), size):
        others = [
            np.flatnonzero(allowed[at] & (np.arange(allowed.shape[1]) != labels[at]))
            for at in places
        ]
        for new in product(*others):
            changed = labels.copy()
            changed[list(places)] = new
            yield changed


def _batches(sets: Iterator[IntArray]) -> Iterator[list[IntArray]]:
    """Yield sets of labels, many at once."""
    while batch := list(islice(sets, _TRIED)):
        yield batch
