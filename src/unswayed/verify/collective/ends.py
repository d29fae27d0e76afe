"""Ends of the range of a metric, from bounds on sums."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from unswayed.verify.collective.functions import Form, Function
from unswayed.verify.collective.kinds import Goal, Kinds
from unswayed.verify.collective.multipliers import (
    FRAGILE,
    LAGRANGIAN,
    TRIVIAL,
    Bound,
    bound,
    ceiling,
)

_Functions = Callable[[], Iterator[Function]]  # one at a time: there may be thousands
_Given = Sequence[dict[str, Any]]  # multipliers, for one function after the other


def outer_end(form: Form, kinds: Kinds, section: dict[str, Any], *, up: bool) -> Bound:
    """Return a number that no admissible labels lead beyond."""
    if form.divides:
        return _quotient(form, kinds, section, up=up)

    def functions() -> Iterator[Function]:
        yield from (each if up else -each for each in form.functions())

    every = form.largest == up  # or else one function is enough
    found = (_highest if every else _least)(functions, kinds, section.get("multipliers", ()))
    return found if up else Bound(-found.value, found.basis)


def _bounds(functions: _Functions, kinds: Kinds, given: _Given) -> list[Bound]:
    """Return a bound on each of some sums; the file may have no multipliers for the last."""
    return [
        bound(kinds.goal(function), kinds, given[at] if at < len(given) else {})
        for at, function in enumerate(functions())
    ]


def _highest(functions: _Functions, kinds: Kinds, given: _Given) -> Bound:
    """Return a bound on the largest of some sums."""
    found = _bounds(functions, kinds, given)
    return Bound(max(each.value for each in found), _basis(found))


def _least(functions: _Functions, kinds: Kinds, given: _Given) -> Bound:
    """Return a bound on the least of some sums: on any of them, and on their mean."""
    found = _bounds(functions, kinds, given)
    if len(found) > 1:
        found.append(Bound(ceiling(_mean(functions, kinds), kinds), FRAGILE))
    return min(found, key=lambda each: (each.value, each.basis != FRAGILE))


def _mean(functions: _Functions, kinds: Kinds) -> Goal:
    """Return the mean of some sums."""
    start, gains, unit, count = Fraction(0), [0] * len(kinds.first), Fraction(1), 0
    for goal in map(kinds.goal, functions()):
        shared = Fraction(1, math.lcm(unit.denominator, goal.unit.denominator))
        old, new = int(unit / shared), int(goal.unit / shared)
        gains = [old * a + new * b for a, b in zip(gains, goal.gains, strict=True)]
        start, unit, count = start + goal.start, shared, count + 1
    return Goal(start / count, gains, unit / count)


def _basis(found: Iterable[Bound]) -> str:
    return LAGRANGIAN if any(each.basis == LAGRANGIAN for each in found) else FRAGILE


def _quotient(form: Form, kinds: Kinds, section: dict[str, Any], *, up: bool) -> Bound:
    """Return a bound on the smallest of some quotients.

    If labels make every (up: some) difference numerator - t·denominator at most D in the direction
    that is asked about, and denominators are at least `floor` > 0, the quotient goes beyond t by
    D / floor at most. For rates of groups this is so because the smallest quotient is that of the
    smallest and the largest rate, whose difference is the least of all where t >= 0. Where a rate
    is 0 and another is not, the quotient is 0.
    """
    capped = form.kind == "ratio"  # of rates: between 0 and 1
    start = Bound(math.inf if up else -math.inf, TRIVIAL)
    if capped:
        start = Bound(Fraction(int(up)), TRIVIAL)
    if "at" not in section or section["at"][1] <= 0:
        return start
    at = Fraction(*section["at"])
    if capped and at < 0:
        return start

    def differences() -> Iterator[Function]:
        for above, below in form.pairs():
            found = above.less(below, at)
            yield found if up else -found

    excess = (_least if up else _highest)(differences, kinds, section.get("multipliers", ()))
    floor = _floor(form, kinds, section.get("floor", ()))
    if floor.value <= 0 and (excess.value > 0 or not capped):
        return start
    over = excess.value / floor.value if excess.value > 0 else Fraction(0)
    basis = _basis((excess, floor))
    value = at + over if up else at - over
    better = value < start.value if up else value > start.value
    return Bound(value, basis) if better else start


def _floor(form: Form, kinds: Kinds, given: _Given) -> Bound:
    """Return what the largest denominator of every list never falls below."""
    found, start = [], 0
    for family in form.denominators:
        least = _least(lambda: iter([-each for each in family]), kinds, given[start:])  # noqa: B023
        found.append(Bound(-least.value, least.basis))
        start += len(family)
    return Bound(min(each.value for each in found), _basis(found))
