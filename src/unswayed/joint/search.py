"""Search: bounds from cheap to dear and attacks between them, until they meet or time is up."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from unswayed._typing import BoolArray, FloatArray
from unswayed.joint.attack import Attack
from unswayed.joint.fragile import (
    Changes,
    Conflicts,
    Events,
    Fragile,
    Goal,
    Multipliers,
    cliques,
    lagrangian,
)
from unswayed.words import number_end

TOLERANCE = 4e-6
"""How far constraints are moved, relative to their size; HiGHS allows itself 1e-6 at most."""

_FEW_EFFECTS = 2 * 10**6  # that a solver can be given one by one

_SAFE_MOMENTS = 100.0  # larger weights would multiply the tolerance of moments beyond usefulness


class Solution(NamedTuple):
    """The best that a solver found."""

    rows: BoolArray  # Rows that are overturned
    amount: FloatArray  # How much of each column moves
    labels: FloatArray  # By how many labels


class Solved(NamedTuple):
    """What a solver found."""

    # No admissible labels reach more, tolerances included; infinite if nothing is known, minus
    # infinite if there are no such labels
    bound: float
    best: Solution | None = None


Constraint = tuple[Any, FloatArray, FloatArray]
"""Matrix, low and high: low <= matrix·x <= high."""


@dataclass(frozen=True, eq=False)
class Programme:
    """The programmes of some events of fragile rows.

    Variables are b, whether each row is overturned, f, how much of each column moves, and moments.
    """

    fragile: Fragile
    events: Events  # Those that goals are about: others have no constraint
    cliques: list[list[int]]  # Sets of events that exclude one another
    compact: bool = True  # Write effects by moments where that takes fewer numbers

    # --- the constraints ------------------------------------------------------------------

    @cached_property
    def _scale(self) -> FloatArray:
        """Size of each row's constraint."""
        effects = np.abs(self.fragile.effects).max(axis=1, initial=0.0)
        found = np.maximum(np.abs(np.where(self.fragile.known, self.fragile.margin, 0.0)), effects)
        return np.where(found > 0, found, 1.0)

    @cached_property
    def _moments(self) -> tuple[FloatArray, Any] | None:
        """Weights of the rows in moments, divided by their size, and moments of the columns."""
        fragile, columns = self.fragile, self.fragile.columns
        effects = len(fragile) * len(columns)
        if fragile.design is None or (effects <= _FEW_EFFECTS and not self.compact):
            return None
        rows = sparse.csr_array(fragile.design[columns.entry])
        rows = sparse.csr_array(rows.multiply(columns.offset[:, None]))
        width = rows.shape[1]
        if len(fragile) * width + rows.nnz > effects // 2:
            return None
        size = np.abs(rows).max(axis=0).toarray().ravel() if rows.nnz else np.zeros(width)
        size = np.where(size > 0, size, 1.0)
        weights = fragile.weights * size / self._scale[:, None]
        if np.abs(weights).sum(axis=1).max(initial=0.0) > _SAFE_MOMENTS:
            return None
        return weights, sparse.csr_array(rows.multiply(1.0 / size).T)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the ranges of the variables."""
        n, most = len(self.fragile), self.fragile.budget.most_labels
        free = np.full(0 if self._moments is None else self._moments[0].shape[1], np.inf)
        count = np.minimum(self.fragile.columns.count, most)
        low = np.concatenate((np.zeros(n + len(count)), -free))
        return low, np.concatenate((np.ones(n), count, free))

    @cached_property
    def _links(self) -> Constraint:
        """What ties each event to the labels that bring it about."""
        events, at, n = self.events, self.events.at, len(self.fragile)
        width, scale = len(self._ends[0]), self._scale[at]
        if self._moments is None:
            movement = _placed(self.fragile.effects / self._scale[:, None], n, width)
            slack = np.ones(len(at))
        else:
            movement = _placed(self._moments[0], n + len(self.fragile.columns), width)
            # The solver's tolerance counts once for every moment.
            slack = (1.0 + np.abs(self._moments[0]).sum(axis=1))[at]
        level = events.level / scale - TOLERANCE * slack
        back = events.back / scale + TOLERANCE * slack
        needed = np.maximum(level + back, 0.0)
        # Of an event that is a row being kept, the variable is 1 - b.
        tie = sparse.csr_array(
            (-needed * events.sign, (np.arange(len(at)), at)), shape=(len(at), width)
        )
        matrix = sparse.csr_array(movement[at].multiply(events.sign[:, None])) + tie
        return matrix, np.where(events.over, -back, -back + needed), np.full(len(at), np.inf)

    @cached_property
    def _cuts(self) -> Constraint:
        """Of each clique, at most one event."""
        which = np.array([event for clique in self.cliques for event in clique], dtype=np.intp)
        number = np.repeat(np.arange(len(self.cliques)), [len(each) for each in self.cliques])
        sign, shape = self.events.sign[which], (len(self.cliques), len(self._ends[0]))
        matrix = sparse.csr_array((sign, (number, self.events.at[which])), shape=shape)
        kept = np.bincount(number, weights=sign < 0, minlength=len(self.cliques))
        return matrix, np.full(len(kept), -np.inf), np.asarray(1.0 - kept, dtype=np.float64)

    @cached_property
    def _fixed(self) -> Constraint:
        """What holds for the labels themselves: the budget first, then moments."""
        n, columns, width = len(self.fragile), self.fragile.columns, len(self._ends[0])
        most = float(min(self.fragile.budget.most_labels, columns.count.sum()))
        total = _placed(np.ones((1, len(columns))), n, width)
        none = np.zeros(width - n - len(columns))
        if self._moments is None:
            return total, np.zeros(1), np.array([most])
        moments = sparse.hstack((self._moments[1], -sparse.eye_array(len(none))))
        matrix = sparse.vstack((total, _placed(moments, n, width)), format="csr")
        return matrix, np.append(0.0, none), np.append(most, none)

    # --- the linear relaxation ------------------------------------------------------------

    def multipliers(self, goal: Goal, seconds: float) -> Multipliers | None:
        """Return multipliers of the events' constraints and of the cliques, for a good bound.

        They come from the linear relaxation; whatever they are, the bound they lead to holds.
        """
        (links, low, _), (cuts, _, high) = self._links, self._cuts
        fixed, fixed_low, fixed_high = self._fixed
        cost = np.zeros(links.shape[1])
        cost[: len(self.fragile)] = -goal.slopes[0]
        equal = fixed_low == fixed_high
        found = linprog(
            cost,
            A_ub=sparse.vstack((-links, cuts, fixed[~equal])),
            b_ub=np.concatenate((-low, high, fixed_high[~equal])),
            A_eq=fixed[equal] if equal.any() else None,
            b_eq=fixed_high[equal] if equal.any() else None,
            bounds=np.stack(self._ends, axis=1),
            method="highs",
            options={"time_limit": max(seconds, 1.0)},
        )
        if found.status != 0 or found.ineqlin is None:
            return None
        dual = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        of_links, of_cuts, _ = np.split(dual, np.cumsum((len(low), len(high))))
        of_links = of_links / self._scale[self.events.at]
        return Multipliers(self.events, self.cliques, of_links, of_cuts)

    # --- the mixed-integer programme ------------------------------------------------------

    def solve(
        self, goal: Goal, seconds: float, *, whole: bool = False, above: float = -np.inf
    ) -> Solved:
        """Return a bound on the goal, and the best that was found.

        Behind the other variables come one for the least of several functions, and one per column
        for how many labels move, where labels may move by a part of their offset.
        """
        n, columns = len(self.fragile), self.fragile.columns
        parts = whole and not self.fragile.whole
        moved, least = slice(n, n + len(columns)), len(self._ends[0])
        counted = least + (not goal.single)
        width = counted + len(columns) * parts
        low, high = (np.append(each, np.zeros(width - least)) for each in self._ends)
        integral, cost = np.zeros((2, width))
        integral[:n] = 1
        # Objectives of size 1: the solver's tolerances are absolute there.
        unit = float(np.abs(goal.slopes).max(initial=0.0)) or 1.0
        tolerance = TOLERANCE * goal.size / unit
        slopes = np.zeros((len(goal.slopes), width))
        slopes[:, :n] = goal.slopes / unit
        if goal.single:
            start = float(goal.offsets[0])
            cost[:n] = -slopes[0, :n]
            floor = np.array([above / unit - tolerance - start / unit])
        else:
            start = 0.0
            slopes[:, least] = cost[least] = -1.0
            floor = -goal.offsets / unit - tolerance
            low[least], high[least] = above / unit - tolerance, np.inf
        rows = [self._links, self._cuts, self._fixed, (slopes, floor, np.full(len(floor), np.inf))]
        if parts:  # the budget is of labels, and not of what they move by
            matrix, fixed_low, fixed_high = self._fixed
            rows[2] = matrix[1:], fixed_low[1:], fixed_high[1:]
            rows += _labels(self.fragile, counted, width)
            high[counted:], integral[counted:] = high[moved], 1
        elif whole:
            integral[moved] = 1
        matrix = sparse.vstack([_placed(each, 0, width) for each, _, _ in rows], format="csc")
        ends = (np.concatenate(each) for each in list(zip(*rows, strict=True))[1:])
        found = milp(
            cost,
            constraints=LinearConstraint(matrix, *ends),
            bounds=Bounds(low, high),
            integrality=integral,
            options={"time_limit": max(seconds, 0.1), "mip_rel_gap": 0.0},
        )
        if found.status == 2:  # infeasible
            return Solved(-np.inf)
        bound = np.inf
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            bound = -found.mip_dual_bound * unit + TOLERANCE * goal.size + start
        if found.x is None:
            return Solved(bound)
        amount = np.clip(found.x[moved], 0.0, columns.count)
        labels = np.rint(found.x[counted:]) if parts else np.ceil(found.x[moved] - 1e-6)
        return Solved(bound, Solution(found.x[:n] > 0.5, amount, labels))


def _placed(matrix: Any, start: int, width: int) -> Any:
    """Return a matrix with columns of zeros before and behind it."""
    made = sparse.csr_array(matrix)
    entries = (made.data, made.indices + start, made.indptr)
    return sparse.csr_array(entries, shape=(made.shape[0], width))


def _labels(fragile: Fragile, counted: int, width: int) -> list[Constraint]:
    """Return constraints of how many labels move: as many as their shares sum up to, or more."""
    c = len(fragile.columns)
    each = sparse.eye_array(c)
    more = _placed(each, counted, width) - _placed(each, len(fragile), width)
    total = _placed(np.ones((1, c)), counted, width)
    most = np.array([float(fragile.budget.most_labels)])
    return [(more, np.zeros(c), np.full(c, np.inf)), (total, np.zeros(1), most)]


# --- the search -----------------------------------------------------------------------------


FRAGILE, LAGRANGIAN, HIGHS = "fragile rows", "Lagrangian", "HiGHS"
"""What a bound rests on: counting, selection on a sum of influence rows, or the solver's word."""

_LEAST_SECONDS = 0.05  # with less there is no point in asking a solver

_REPAIR = 0.15  # of the time that is left, for whole labels near a fractional solution

Progress = Callable[[str], None]


@dataclass(eq=False)
class Deadline:
    """Time that is left of a limit."""

    seconds: float
    # False where no time was given at all: mixed-integer programmes are left out, and what takes
    # little time takes as long as it takes
    limited: bool = True
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, seconds: float) -> "Deadline":
        """Return the deadline that a user's limit means."""
        return cls(seconds, limited=seconds > 0)

    @property
    def left(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self.started + self.seconds - time.monotonic())

    def spent(self) -> bool:
        """Return whether the time is up."""
        return self.limited and self.left <= 0

    def part(self, share: float) -> "Deadline":
        """Return a deadline after a part of what is left."""
        return Deadline(self.left * share, self.limited)


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The largest value of a goal, or one end of the range of a metric, from both sides."""

    outer: Fraction  # No admissible labels lead beyond
    inner: Fraction  # Proven to be reached
    changes: Changes  # The labels that reach it
    proven: bool  # Whether the two meet
    rests_on: str  # What the outer bound rests on
    # Bounds on what was made large, by what they rest on; the least is `outer`
    bounds: dict[str, Fraction] = field(default_factory=dict)
    at: Fraction | None = None  # Of quotients, the value whose excess was bounded

    def mirrored(self) -> "End":
        """Return the end of the negative metric."""
        return replace(self, outer=-self.outer, inner=-self.inner)


_ORDER = (FRAGILE, LAGRANGIAN, HIGHS)  # what asks for least trust first


def weakest(bounds: dict[str, Fraction]) -> str:
    """Return what the least of some bounds rests on; of equal ones, what asks for least trust."""
    return min(bounds, key=lambda name: (bounds[name], _ORDER.index(name)))


def dearest(names: Iterable[str]) -> str:
    """Return what asks for most trust, of what several bounds rest on."""
    return max(names, key=_ORDER.index)


def enough(bounds: dict[str, Fraction], outer: Fraction) -> str:
    """Return what asks for least trust among the bounds that are not above a number."""
    return next((name for name in _ORDER if bounds.get(name, outer + 1) <= outer), weakest(bounds))


@dataclass(eq=False)
class Search:
    """Questions about one set of fragile rows; what they share is computed once."""

    fragile: Fragile
    progress: Progress | None = None  # Given a line for people after every step

    def __post_init__(self) -> None:
        self._conflicts = Conflicts(self.fragile)
        self._pool: list[Changes] = []
        self._bounded: dict[Any, tuple[Fraction, Multipliers | None]] = {}

    def largest(self, goal: Goal, deadline: Deadline, *, name: str = "") -> End:
        """Return the range of the largest value of a goal."""
        found = _Run(self, goal, deadline, name).result()
        self._pool.append(found.changes)
        return found

    def warm(self, goal: Goal, deadline: Deadline) -> None:
        """Look for label sets before bounds take the time; later questions try them too."""
        attack = Attack(self.fragile, goal, deadline.spent)
        attack.reweigh()
        self._pool.append(attack.changes)

    def quick(self, goal: Goal, deadline: Deadline | None = None) -> dict[str, Fraction]:
        """Return bounds on a goal that take little time; of several functions, on each alone."""
        found = {FRAGILE: goal.ceiling}
        if len(self.fragile.columns) and len(self.fragile):  # otherwise that is exact
            seconds = 0.0 if deadline is None else deadline.left
            found[LAGRANGIAN] = min(self._bound(each, seconds) for each in goal.apart())
        return found

    def multipliers(self, goal: Goal) -> Multipliers | None:
        """Return the multipliers that a goal of one function was bounded by, if it was."""
        return self._bounded.get(goal.key, (None, None))[1]

    def programme(self, goal: Goal, *, compact: bool = True) -> Programme:
        """Return the programme of the events that a goal is about."""
        events = Events.of(self.fragile, goal.wanted, goal.feared)
        exclusive = cliques(self._conflicts.between(events))
        return Programme(self.fragile, events, exclusive, compact)

    def _bound(self, goal: Goal, seconds: float) -> Fraction:
        """Return a bound by multipliers on a goal of one function."""
        if goal.key not in self._bounded:
            found, bound = self.programme(goal).multipliers(goal, max(seconds, 60.0)), goal.ceiling
            if found is not None:
                bound = goal.snap(lagrangian(self.fragile, goal, found))
            self._bounded[goal.key] = bound, found
        return self._bounded[goal.key][0]


class _Run:
    """One question on its way from cheap bounds to dear ones."""

    def __init__(self, search: Search, goal: Goal, deadline: Deadline, name: str) -> None:
        self._search, self._goal, self._deadline, self._name = search, goal, deadline, name
        self._attack = Attack(search.fragile, goal, deadline.part(0.3).spent)
        self._bounds = {FRAGILE: goal.ceiling}

    @property
    def _outer(self) -> Fraction:
        return max(min(self._bounds.values()), self._attack.value)

    @property
    def _open(self) -> bool:
        return self._outer > self._attack.value

    def result(self) -> End:
        """Return the answer."""
        attack = self._attack
        if self._open:
            for changes in self._search._pool:
                attack.offer(changes)
            attack.reweigh()
            self._tell()
        if self._open:
            self._bounds = self._search.quick(self._goal, self._deadline)
            self._tell()
        if self._open and self._search.fragile.countable:
            attack.improve(attack.changes.amount.round())
        if self._open and self._deadline.left > _LEAST_SECONDS:
            self._branch()
        proven, rests_on = not self._open, weakest(self._bounds)
        return End(self._outer, attack.value, attack.changes, proven, rests_on, self._bounds)

    def _branch(self) -> None:
        """Ask the solver, first with fractional labels, then, if that is settled, whole ones.

        Whatever the kind of budget is, it allows no more labels than `most_labels`.
        """
        programme = self._search.programme(self._goal)
        for whole in (False, True):
            settled = self._solve(replace(programme, compact=not whole), whole=whole)
            self._tell()
            if not (self._open and settled) or self._deadline.left < _LEAST_SECONDS:
                return

    def _solve(self, programme: Programme, *, whole: bool) -> bool:
        """Bound the goal by the solver and try its solution; return whether that is settled."""
        goal, attack, fragile = self._goal, self._attack, self._search.fragile
        seconds, above = self._deadline.left * (1 - _REPAIR), goal.next_above(attack.value)
        found, best = programme.solve(goal, seconds, whole=whole, above=above)
        # Nothing that is better than the attack exceeds the bound: the larger of the two holds.
        bound = max(goal.snap(found), attack.value) if found > -1e300 else attack.value
        self._bounds[HIGHS] = min(bound, self._bounds.get(HIGHS, bound))
        if best is None or not fragile.countable:
            return False
        if whole:
            amount = best.amount.round() if fragile.whole else best.amount
            attack.offer(fragile.from_columns(best.labels.astype(int), amount))
        else:
            attack.spent = self._deadline.part(0.5).spent
            attack.round(best.amount, best.rows)
        return goal.value(best.rows) >= bound

    def _tell(self) -> None:
        if self._search.progress is None:
            return
        outer, inner = self._outer, self._attack.value
        name = f"{self._name}: " if self._name else ""
        most, least = number_end(float(outer), 1), number_end(float(inner), -1)
        gap = number_end(float(outer - inner), 1, 3)
        self._search.progress(f"{name}at most {most}, at least {least}, gap {gap}")
