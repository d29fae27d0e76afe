"""Search: bounds from cheap to dear and attacks between them, until they meet or time is up."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from unswayed._typing import BoolArray, FloatArray
from unswayed.joint.attack import Attack
from unswayed.joint.fragile import (
    Bounded,
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


class Solved(NamedTuple):
    """What a solver found."""

    # No admissible labels reach more, tolerances included; infinite if nothing is known, minus
    # infinite if there are no such labels
    bound: float
    rows: BoolArray | None = None  # Rows that are overturned in its best solution
    amount: FloatArray | None = None  # How much of each column moves there, and by how many labels
    labels: FloatArray | None = None  # How much of each column moves there, and by how many labels


@dataclass(frozen=True, eq=False)
class Programme:
    """The programmes of some events of fragile rows."""

    fragile: Fragile
    events: Events  # Those that goals are about: others have no constraint
    cliques: list[list[int]]  # Sets of events that exclude one another
    compact: bool = True  # Write effects by moments where that takes fewer numbers

    # --- the constraints ------------------------------------------------------------------

    @property
    def _n_rows(self) -> int:
        return len(self.fragile)

    @property
    def _n_columns(self) -> int:
        return len(self.fragile.columns)

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
        few = self._n_rows * self._n_columns <= _FEW_EFFECTS
        if fragile.design is None or (few and not self.compact):
            return None
        rows = sparse.csr_array(fragile.design[columns.entry])
        rows = sparse.csr_array(rows.multiply(columns.offset[:, None]))
        width = rows.shape[1]
        if self._n_rows * width + rows.nnz > self._n_rows * self._n_columns // 2:
            return None
        size = np.abs(rows).max(axis=0).toarray().ravel() if rows.nnz else np.zeros(width)
        size = np.where(size > 0, size, 1.0)
        weights = fragile.weights * size / self._scale[:, None]
        if np.abs(weights).sum(axis=1).max(initial=0.0) > _SAFE_MOMENTS:
            return None
        return weights, sparse.csr_array(rows.multiply(1.0 / size).T)

    @cached_property
    def _width(self) -> int:
        """Number of variables before those of single goals: b, f and moments."""
        extra = 0 if self._moments is None else self._moments[0].shape[1]
        return self._n_rows + self._n_columns + extra

    @cached_property
    def _movement(self) -> Any:
        """Movement of each row, divided by its size, as a function of all variables."""
        if self._moments is None:
            right: Any = sparse.csr_array(self.fragile.effects / self._scale[:, None])
            left = sparse.csr_array((self._n_rows, self._n_rows))
        else:
            right = sparse.csr_array(self._moments[0])
            left = sparse.csr_array((self._n_rows, self._n_rows + self._n_columns))
        return sparse.csr_array(sparse.hstack((left, right)))

    @cached_property
    def _links(self) -> tuple[Any, FloatArray]:
        """Constraints matrix·x >= low that tie each event to the labels that bring it about."""
        events, at = self.events, self.events.at
        scale = self._scale[at]
        level = events.level / scale - TOLERANCE * self._slack[at]
        back = events.back / scale + TOLERANCE * self._slack[at]
        needed = np.maximum(level + back, 0.0)
        # Of an event that is a row being kept, the variable is 1 - b.
        tie = sparse.csr_array(
            (-needed * events.sign, (np.arange(len(at)), at)), shape=(len(at), self._width)
        )
        matrix = sparse.csr_array(self._movement[at].multiply(events.sign[:, None])) + tie
        low = np.where(events.over, -back, -back + needed)
        return sparse.csr_array(matrix), low

    @cached_property
    def _slack(self) -> FloatArray:
        """How often the solver's tolerance counts in each row."""
        if self._moments is None:
            return np.ones(self._n_rows)
        return np.asarray(1.0 + np.abs(self._moments[0]).sum(axis=1))

    @cached_property
    def _cuts(self) -> tuple[Any, FloatArray]:
        """Constraints matrix·x <= high: of each clique, at most one event."""
        which = np.concatenate([np.array(clique) for clique in self.cliques] or [np.zeros(0, int)])
        number = np.repeat(np.arange(len(self.cliques)), [len(each) for each in self.cliques])
        sign = self.events.sign[which.astype(int)]
        shape = (len(self.cliques), self._width)
        matrix = sparse.csr_array((sign, (number, self.events.at[which.astype(int)])), shape=shape)
        kept = np.bincount(number, weights=sign < 0, minlength=len(self.cliques))
        return matrix, np.asarray(1.0 - kept, dtype=np.float64)

    @cached_property
    def _fixed(self) -> tuple[Any, FloatArray, FloatArray]:
        """Constraints low <= matrix·x <= high of the labels themselves: budget and moments."""
        total = np.zeros(self._width)
        total[self._n_rows : self._n_rows + self._n_columns] = 1.0
        most = float(min(self.fragile.budget.most_labels, self.fragile.columns.count.sum()))
        parts, low, high = [sparse.csr_array(total[None])], [np.zeros(1)], [np.array([most])]
        if self._moments is not None:
            width = self._moments[0].shape[1]
            left = sparse.csr_array((width, self._n_rows))
            parts.append(sparse.hstack((left, self._moments[1], -sparse.eye_array(width))))
            low.append(np.zeros(width))
            high.append(np.zeros(width))
        return sparse.vstack(parts, format="csr"), np.concatenate(low), np.concatenate(high)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the ranges of the variables."""
        extra = self._width - self._n_rows - self._n_columns
        low = np.concatenate((np.zeros(self._n_rows + self._n_columns), np.full(extra, -np.inf)))
        count = np.minimum(self.fragile.columns.count, self.fragile.budget.most_labels)
        return low, np.concatenate((np.ones(self._n_rows), count, np.full(extra, np.inf)))

    # --- the linear relaxation ------------------------------------------------------------

    def multipliers(self, goal: Goal, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """Return multipliers of the events' constraints and of the cliques, for a good bound.

        They come from the linear relaxation; whatever they are, the bound they lead to holds.
        """
        links, low = self._links
        cuts, high = self._cuts
        fixed, fixed_low, fixed_high = self._fixed
        cost = np.zeros(self._width)
        cost[: self._n_rows] = -goal.slopes[0]
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
        n_links, n_cuts = len(self.events), len(self.cliques)
        return dual[:n_links] / self._scale[self.events.at], dual[n_links : n_links + n_cuts]

    # --- the mixed-integer programme ------------------------------------------------------

    def solve(
        self,
        goal: Goal,
        seconds: float,
        *,
        whole: bool = False,
        above: float = -np.inf,
    ) -> Solved:
        """Return a bound on the goal, and the best that was found."""
        model = _Model(self, goal, whole=whole, above=above)
        found = milp(
            model.cost,
            constraints=LinearConstraint(model.matrix, model.low, model.high),
            bounds=Bounds(model.least, model.most),
            integrality=model.integral,
            options={"time_limit": max(seconds, 0.1), "mip_rel_gap": 0.0},
        )
        if found.status == 2:  # infeasible
            return Solved(-np.inf)
        bound = np.inf
        if found.mip_dual_bound is not None and np.isfinite(found.mip_dual_bound):
            bound = -found.mip_dual_bound * model.unit + TOLERANCE * goal.size + model.start
        if found.x is None:
            return Solved(bound)
        n, c = self._n_rows, self._n_columns
        amount = np.clip(found.x[n : n + c], 0.0, self.fragile.columns.count)
        labels = model.labels(found.x)
        return Solved(bound, found.x[:n] > 0.5, amount, labels)


class _Model:
    """The arrays that a solver is given, for one goal.

    After b, f and moments come one variable for the least of several functions, and one per column
    for how many labels move, where labels may move by a part of their offset.
    """

    def __init__(
        self,
        programme: Programme,
        goal: Goal,
        *,
        whole: bool,
        above: float,
    ) -> None:
        n, c = programme._n_rows, programme._n_columns
        self._first, self._columns = n, slice(n, n + c)
        parts = whole and not programme.fragile.whole
        several = not goal.single
        width = programme._width
        self._at_least, width = width, width + several
        self._counted, width = width if parts else None, width + c * parts
        # Objectives of size 1: the solver's tolerances are absolute there.
        peak = float(np.abs(goal.slopes).max(initial=0.0))
        self.unit = peak if peak > 0 else 1.0
        links, low = programme._links
        cuts, high = programme._cuts
        fixed, fixed_low, fixed_high = programme._fixed
        if parts:  # the budget is of labels, and not of what they move by
            fixed, fixed_low, fixed_high = fixed[1:], fixed_low[1:], fixed_high[1:]
        rows = [(links, low, np.full(len(low), np.inf)), (cuts, np.full(len(high), -np.inf), high)]
        rows.append((fixed, fixed_low, fixed_high))
        rows += self._functions(goal, n, width, above, several=several)
        if self._counted is not None:
            rows += self._labels(programme, width)
        self.matrix = sparse.vstack([_wide(matrix, width) for matrix, _, _ in rows], format="csc")
        self.low = np.concatenate([each for _, each, _ in rows])
        self.high = np.concatenate([each for _, _, each in rows])
        self._variables(programme, goal, width, whole=whole)

    def _functions(
        self, goal: Goal, n: int, width: int, above: float, *, several: bool
    ) -> list[tuple[Any, FloatArray, FloatArray]]:
        """Constraints that make a variable of the least function, and put it above a value."""
        slopes = goal.slopes / self.unit
        matrix = np.zeros((len(slopes), width))
        matrix[:, :n] = slopes
        self.cost = np.zeros(width)
        tolerance = TOLERANCE * goal.size / self.unit
        self._floor = above / self.unit - tolerance
        if several:
            self.start = 0.0
            matrix[:, self._at_least] = -1.0
            self.cost[self._at_least] = -1.0
            low = -goal.offsets / self.unit - tolerance
        else:
            self.start = float(goal.offsets[0])
            self.cost[:n] = -slopes[0]
            low = np.array([self._floor - self.start / self.unit])
        return [(sparse.csr_array(matrix), low, np.full(len(low), np.inf))]

    def _labels(self, programme: Programme, width: int) -> list[tuple[Any, FloatArray, FloatArray]]:
        """Constraints of how many labels move: as many as their shares sum up to, or more."""
        c = programme._n_columns
        assert self._counted is not None  # noqa: S101  (tells mypy)
        at = np.arange(c)
        moved = sparse.csr_array((np.ones(c), (at, self._first + at)), shape=(c, width))
        count = sparse.csr_array((np.ones(c), (at, self._counted + at)), shape=(c, width))
        total = sparse.csr_array((np.ones(c), (np.zeros(c, int), self._counted + at)), (1, width))
        most = float(programme.fragile.budget.most_labels)
        none = np.zeros(c)
        return [
            (count - moved, none, np.full(c, np.inf)),
            (total, np.zeros(1), np.array([most])),
        ]

    def _variables(self, programme: Programme, goal: Goal, width: int, *, whole: bool) -> None:
        low, high = programme._ends
        extra = width - len(low)
        self.least = np.concatenate((low, np.zeros(extra)))
        self.most = np.concatenate((high, np.zeros(extra)))
        if not goal.single:
            self.least[self._at_least], self.most[self._at_least] = self._floor, np.inf
        self.integral = np.zeros(width)
        self.integral[: self._first] = 1
        if self._counted is not None:
            counted = slice(self._counted, width)
            self.most[counted] = self.most[self._columns]
            self.integral[counted] = 1
        elif whole:
            self.integral[self._columns] = 1

    def labels(self, x: FloatArray) -> FloatArray:
        """Return how many labels of each column move in a solution."""
        if self._counted is not None:
            return np.rint(x[self._counted :])
        return np.ceil(x[self._columns] - 1e-6)


def _wide(matrix: Any, width: int) -> Any:
    """Return a matrix with columns of zeros behind it."""
    missing = width - matrix.shape[1]
    if not missing:
        return matrix
    return sparse.hstack((matrix, sparse.csr_array((matrix.shape[0], missing))))


# --- Search: bounds from cheap to dear and attacks between them, until they meet or time is up


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

    def part(self, share: float) -> "Deadline":
        """Return a deadline after a part of what is left."""
        return Deadline(self.left * share, self.limited)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The range of the largest value of a goal."""

    outer: Fraction  # No admissible labels reach more
    inner: Fraction  # Proven to be reached
    changes: Changes  # The labels that reach it
    # Bounds that were computed, by what they rest on; the least is `outer`
    bounds: dict[str, Fraction]

    @property
    def proven(self) -> bool:
        """Whether the two ends meet."""
        return self.outer == self.inner

    @property
    def rests_on(self) -> str:
        """What the outer bound rests on."""
        return weakest(self.bounds)


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


def _key(goal: Goal) -> tuple[Any, ...]:
    return goal.start, goal.unit, goal.gains.tobytes()


@dataclass(eq=False)
class Search:
    """Questions about one set of fragile rows; what they share is computed once."""

    fragile: Fragile
    progress: Progress | None = None  # Given a line for people after every step

    def __post_init__(self) -> None:
        self._conflicts = Conflicts(self.fragile)
        self._pool: list[Changes] = []
        self._bounded: dict[tuple[Any, ...], Bounded] = {}

    def largest(self, goal: Goal, deadline: Deadline, *, name: str = "") -> Found:
        """Return the range of the largest value of a goal."""
        return _Run(self, goal, deadline, name).result()

    def warm(self, goal: Goal, deadline: Deadline) -> None:
        """Look for label sets before bounds take the time; later questions try them too."""
        attack = Attack(self.fragile, goal, lambda: deadline.limited and deadline.left <= 0)
        attack.reweigh()
        self._pool.append(attack.changes)

    def quick(self, goal: Goal) -> dict[str, Fraction]:
        """Return bounds on a goal that take little time."""
        run = _Run(self, goal, Deadline.of(0.0), "")
        run.bound()
        return run.bounds

    def multipliers(self, goal: Goal) -> Multipliers | None:
        """Return the multipliers that a goal of one function was bounded by, if it was."""
        found = self._bounded.get(_key(goal))
        return None if found is None else found.multipliers


class _Run:
    """One question on its way from cheap bounds to dear ones."""

    def __init__(self, search: Search, goal: Goal, deadline: Deadline, name: str) -> None:
        self._search, self._goal, self._deadline, self._name = search, goal, deadline, name
        self._fragile = search.fragile
        effort = deadline.part(0.3)
        self._attack = Attack(self._fragile, goal, lambda: effort.limited and effort.left <= 0)
        self.bounds = {FRAGILE: goal.ceiling}

    @property
    def _outer(self) -> Fraction:
        return max(min(self.bounds.values()), self._attack.value)

    @property
    def _open(self) -> bool:
        return self._outer > self._attack.value

    def result(self) -> Found:
        """Return the answer."""
        if self._open:
            for changes in self._search._pool:
                self._attack.offer(changes)
            self._attack.reweigh()
            self._tell()
        if self._open:
            self.bound()
            self._tell()
        if self._open and self._fragile.countable:
            self._attack.improve(self._attack.changes.amount.round())
        if self._open and self._deadline.left > _LEAST_SECONDS:
            self._branch()
        attack = self._attack
        self._search._pool.append(attack.changes)
        return Found(self._outer, attack.value, attack.changes, self.bounds)

    def bound(self) -> None:
        """Bound the goal by multipliers; of several functions, by those of each alone."""
        if not len(self._fragile.columns) or not len(self._fragile):
            return  # nothing moves: the bound by fragile rows is exact
        found = [self._lagrangian(each) for each in self._goal.apart()]
        self.bounds[LAGRANGIAN] = min(found)

    def _events(self, goal: Goal) -> tuple[Events, list[list[int]]]:
        events = Events.of(self._fragile, goal.wanted, goal.feared)
        return events, cliques(self._search._conflicts.between(events))

    def _lagrangian(self, goal: Goal) -> Fraction:
        known, key = self._search._bounded, _key(goal)
        if key not in known:
            known[key] = self._by_multipliers(goal)
        return known[key].bound

    def _by_multipliers(self, goal: Goal) -> Bounded:
        events, exclusive = self._events(goal)
        found = Programme(self._fragile, events, exclusive).multipliers(
            goal, max(self._deadline.left, 60.0)
        )
        if found is None:
            return Bounded(goal.ceiling)
        multipliers = Multipliers(events, exclusive, *found)
        return Bounded(goal.snap(lagrangian(self._fragile, goal, multipliers)), multipliers)

    # --- programmes in whole numbers ------------------------------------------------------

    def _branch(self) -> None:
        """Ask the solver, first with fractional labels, then, if that is settled, whole ones.

        Whatever the kind of budget is, it allows no more labels than `most_labels`.
        """
        events, exclusive = self._events(self._goal)
        for whole in (False, True):
            programme = Programme(self._fragile, events, exclusive, compact=not whole)
            settled = self._solve(programme, self._deadline.left * (1 - _REPAIR), whole=whole)
            self._tell()
            going_on = self._open and settled and self._fragile.countable
            if not going_on or self._deadline.left < _LEAST_SECONDS:
                return

    def _solve(self, programme: Programme, seconds: float, *, whole: bool) -> bool:
        goal, attack = self._goal, self._attack
        above = goal.next_above(attack.value)
        found = programme.solve(goal, seconds, whole=whole, above=above)
        # Nothing that is better than the attack exceeds the bound: the larger of the two holds.
        bound = max(goal.snap(found.bound), attack.value) if found.bound > -1e300 else attack.value
        self.bounds[HIGHS] = min(bound, self.bounds.get(HIGHS, bound))
        if found.amount is None or found.labels is None or not self._fragile.countable:
            return False
        self._take(found, whole=whole)
        return goal.value(self._rows(found)) >= bound

    def _take(self, found: Solved, *, whole: bool) -> None:
        """Make label sets of a solution."""
        assert found.amount is not None and found.labels is not None  # noqa: S101, PT018
        attack, fragile = self._attack, self._fragile
        if whole:
            amount = found.amount.round() if fragile.whole else found.amount
            attack.offer(fragile.from_columns(found.labels.astype(int), amount))
            return
        limit = self._deadline.part(0.5)
        attack.spent = lambda: limit.left <= 0
        attack.round(found.amount, self._rows(found))

    @staticmethod
    def _rows(found: Solved) -> BoolArray:
        assert found.rows is not None  # noqa: S101  (tells mypy)
        return found.rows

    def _tell(self) -> None:
        if self._search.progress is None:
            return
        outer, inner = self._outer, self._attack.value
        name = f"{self._name}: " if self._name else ""
        most, least = number_end(float(outer), 1), number_end(float(inner), -1)
        gap = number_end(float(outer - inner), 1, 3)
        self._search.progress(f"{name}at most {most}, at least {least}, gap {gap}")
