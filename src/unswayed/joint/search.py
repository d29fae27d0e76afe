"""Search: bounds from cheap to dear and attacks between them, until they meet or time is up."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from unswayed.joint.attack import Attack
from unswayed.joint.cases import Leaf, Programme, Solution, Tree, clique_matrix, grow
from unswayed.joint.fragile import Changes, Conflicts, Fragile, Goal, cliques
from unswayed.words import number_end

FRAGILE, LAGRANGIAN, CASES = "fragile rows", "Lagrangian", "cases"
"""Bounds: by counting rows, by multipliers for all labels, and by multipliers case by case."""

_LEAST_SECONDS = 0.05  # with less there is no point in asking a solver

_CASES = 0.7  # of the time that is left, for splitting cases; the rest for whole labels

_REPAIR = 0.15  # of the time that is left, for whole labels near the first fractional solution

_ROOM = 1e-9  # of a goal's size: others who round otherwise come to the same bound

Progress = Callable[[str], None]


@dataclass(eq=False)
class Deadline:
    """Time that is left of a limit."""

    seconds: float
    # False where no time was given at all: cases are not split, and what takes
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
    # Bounds on what was made large, by how they were found; the least is `outer`
    bounds: dict[str, Fraction] = field(default_factory=dict)
    at: Fraction | None = None  # Of quotients, the value whose excess was bounded

    def mirrored(self) -> "End":
        """Return the end of the negative metric."""
        return replace(self, outer=-self.outer, inner=-self.inner)


@dataclass(eq=False)
class Search:
    """Questions about one set of fragile rows; what they share is computed once."""

    fragile: Fragile
    progress: Progress | None = None  # Given a line for people after every step

    def __post_init__(self) -> None:
        self.conflicts = Conflicts(self.fragile)
        self._pool: list[Changes] = []
        self._roots: dict[Any, tuple[Leaf, Solution | None]] = {}
        self._trees: dict[Any, Tree] = {}

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
        """Return bounds on a goal that take little time."""
        found = {FRAGILE: goal.ceiling}
        if len(self.fragile.columns) and len(self.fragile):  # otherwise that is exact
            seconds = 0.0 if deadline is None else deadline.left
            leaf, _ = self.root(goal, seconds)
            found[LAGRANGIAN] = goal.snap(leaf.bound)
        return found

    def tree(self, goal: Goal) -> Tree:
        """Return the cases that a goal was bounded by."""
        if goal.key in self._trees:
            return self._trees[goal.key]
        programme = self.programme(goal)
        leaf = self._roots[goal.key][0] if goal.key in self._roots else programme.trivial()
        return Tree([(-1, 0)], [leaf], programme.cliques)

    def branch(self, goal: Goal, *steps: Any) -> Tree:
        """Split cases; see `grow`."""
        found = grow(self.programme(goal), self.root(goal, 0.0), *steps)
        self._trees[goal.key] = found
        return found

    def programme(self, goal: Goal) -> Programme:
        """Return the linear programme of a goal."""
        events, exclusive = self.conflicts.between(goal.wanted, goal.feared & self.fragile.opposed)
        matrix = clique_matrix(cliques(exclusive), events, len(self.fragile))
        return Programme(self.fragile, goal, matrix)

    def root(self, goal: Goal, seconds: float) -> tuple[Leaf, Solution | None]:
        """Return multipliers for all labels at once."""
        if goal.key not in self._roots:
            programme = self.programme(goal)
            self._roots[goal.key] = programme.relaxed(programme.trivial(), max(seconds, 60.0))
        return self._roots[goal.key]


class _Run:
    """One question on its way from cheap bounds to dear ones."""

    def __init__(self, search: Search, goal: Goal, deadline: Deadline, name: str) -> None:
        self._search, self._goal, self._deadline, self._name = search, goal, deadline, name
        self._attack = Attack(search.fragile, goal, deadline.part(0.3).spent)
        self._bounds = {FRAGILE: goal.ceiling}
        self._offers = 0

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
        # Without labels that move nothing is to be split: rows may still be open as they are.
        if self._open and LAGRANGIAN in self._bounds and self._deadline.left > _LEAST_SECONDS:
            self._branch()
        return End(self._outer, attack.value, attack.changes, not self._open, self._bounds)

    def _branch(self) -> None:
        """Split cases, then ask a solver for labels that reach what is left to reach.

        Whatever the kind of budget is, it allows no more labels than `most_labels`.
        """
        goal, fragile, cases = self._goal, self._search.fragile, self._deadline.part(_CASES)
        tree = self._search.branch(goal, self._closed, lambda: cases.left, self._offer)
        self._bounds[CASES] = min(goal.snap(tree.bound), self._bounds[LAGRANGIAN])
        self._tell()
        if not self._open or not fragile.countable or self._deadline.left < _LEAST_SECONDS:
            return
        programme = replace(self._search.programme(goal), compact=False)
        found = programme.whole(self._deadline.left, goal.next_above(self._attack.value))
        if found is not None:
            self._attack.offer(fragile.from_columns(found.labels.astype(int), found.amount))
        self._tell()

    def _closed(self, bound: float) -> bool:
        """Return whether nothing within a bound is better than what is reached."""
        goal = self._goal
        return bound + _ROOM * goal.size < goal.next_above(self._attack.value)

    def _offer(self, found: Solution) -> None:
        """Try whole labels near a fractional solution: for long at first, then only briefly."""
        fragile, attack = self._search.fragile, self._attack
        if not fragile.countable:
            return
        if self._offers == 0:
            attack.spent = self._deadline.part(_REPAIR).spent
            attack.round(found.amount, found.rows > 0.5)
        else:
            amount = found.amount.round() if fragile.whole else found.amount
            attack.offer(fragile.from_columns(found.labels.astype(int), amount))
        self._offers += 1

    def _tell(self) -> None:
        if self._search.progress is None:
            return
        outer, inner = self._outer, self._attack.value
        name = f"{self._name}: " if self._name else ""
        most, least = number_end(float(outer), 1), number_end(float(inner), -1)
        gap = number_end(float(outer - inner), 1, 3)
        self._search.progress(f"{name}at most {most}, at least {least}, gap {gap}")
