"""What bounds are made of, each by itself: conflicts, multipliers, programmes."""

from fractions import Fraction

import numpy as np
import pytest

from tests.effort import some
from tests.together.oracle import problems
from unswayed.joint.fragile import (
    Conflicts,
    Events,
    Goal,
    Multipliers,
    cliques,
    lagrangian,
    whole_numbers,
)
from unswayed.joint.search import Programme
from unswayed.labels.budgets import Count


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def fragile_rows(problem):
    """Fragile rows, and for every label set whether it overturns each of them."""
    question = problem.fitted().certify(problem.tests).source
    fragile = question.fragile(Count(problem.budget))
    first = [int(np.flatnonzero(question.group == row)[0]) for row in fragile.row]
    return fragile, problem.overturned[:, first]


def signed_goal(problem, fragile):
    """A goal to which some rows add and from which others take."""
    gains = np.random.default_rng(problem.seed).integers(-3, 4, len(fragile))
    return Goal((Fraction(1, 3),), gains[None], (Fraction(1, 7),), fragile.row)


def test_rows_that_are_said_to_exclude_each_other_are_never_overturned_together():
    found = 0
    for problem in problems(11_000_000, 60):
        fragile, overturned = fragile_rows(problem)
        every = np.ones(len(fragile), dtype=bool)
        events = Events.of(fragile, every, every)
        conflict = Conflicts(fragile).between(events)
        happens = np.where(events.over, overturned[:, events.at], ~overturned[:, events.at])
        together = (happens[:, :, None] & happens[:, None, :]).any(axis=0)
        assert not (conflict & together).any(), problem
        for members in cliques(conflict):
            assert happens[:, members].sum(axis=1).max() <= 1
        found += int(conflict.sum())
    assert found > 300


def test_a_bound_holds_whatever_the_multipliers_are():
    rng = np.random.default_rng(0)
    for problem in problems(12_000_000, 60):
        fragile, overturned = fragile_rows(problem)
        goal = signed_goal(problem, fragile)
        truth = max(float(goal.value(each)) for each in overturned)
        events = Events.of(fragile, goal.wanted, goal.feared)
        exclusive = cliques(Conflicts(fragile).between(events))
        for size in (0.0, 0.1, 1.0, 10.0):
            links = size * rng.random(len(events))
            cuts = size * rng.random(len(exclusive))
            bound = lagrangian(fragile, goal, Multipliers(events, exclusive, links, cuts))
            assert bound >= truth - 1e-12, problem


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("compact", [False, True])
def test_the_solvers_bound_holds_and_is_tight_for_whole_labels(whole, compact):
    for problem in problems(13_000_000, some(8, 25)):
        fragile, overturned = fragile_rows(problem)
        if not len(fragile.columns) or not len(fragile):
            continue
        goal = signed_goal(problem, fragile)
        truth = max(goal.value(each) for each in overturned)
        events = Events.of(fragile, goal.wanted, goal.feared)
        exclusive = cliques(Conflicts(fragile).between(events))
        programme = Programme(fragile, events, exclusive, compact=compact)
        bound = programme.solve(goal, 60, whole=whole).bound
        assert bound >= truth
        if whole:
            assert goal.snap(bound) == truth


def test_values_between_those_that_exist_are_rounded_down_to_one():
    goal = Goal(
        (Fraction(1, 2), Fraction(0)),
        np.array([[2, -4], [1, 3]]),
        (Fraction(1, 10), Fraction(1, 7)),
        np.arange(2),
    )
    assert goal.snap(0.55) == goal.ceiling == Fraction(61, 140)  # of the mean of the two
    assert goal.snap(0.31) == Fraction(3, 10)
    assert goal.snap(0.29) == Fraction(2, 7)
    assert goal.next_above(Fraction(1, 2)) <= 4 / 7
    assert goal.value(np.array([True, False])) == Fraction(1, 7)
    # Unknown rows count against it.
    neither = np.zeros(2, dtype=bool)
    assert goal.value(neither, neither) == Fraction(0)
    assert goal.value(neither, np.array([True, False])) == Fraction(0)


def test_numbers_without_a_common_unit_are_rounded_and_the_rounding_is_known():
    rng = np.random.default_rng(1)
    values = np.concatenate((rng.random(50) / 3, [1e-9, 12345.678]))
    steps, unit, blur = whole_numbers(values)
    exact = sum(Fraction(repr(v)) for v in values.tolist())
    assert abs(unit * int(steps.sum()) - exact) <= blur
    assert blur < Fraction(1, 10**6)
