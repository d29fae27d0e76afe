"""Search: bounds from cheap to dear and attacks between them, until they meet or time is up."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from unswayed._typing import BoolArray
from unswayed.joint.attack import Attack
from unswayed.joint.fragile import Changes, Conflicts, Events, Fragile, cliques
from unswayed.joint.goal import Bounded, Goal, Multipliers, lagrangian
from unswayed.joint.programme import Programme, Solved
from unswayed.words import number_end

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
