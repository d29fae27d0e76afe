"""What bounds are made of, each by itself: conflicts, multipliers, programmes."""

from fractions import Fraction

import numpy as np
import pytest

from tests.effort import some
from tests.together.oracle import problems
from unswayed.joint.cases import KEPT, OVER, Leaf, Programme, bound, clique_matrix, grow
from unswayed.joint.fragile import Conflicts, Goal, cliques, whole_numbers
from unswayed.joint.search import Search
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


def signed_goal(problem, fragile, n_functions=1):
    """A goal to which some rows add and from which others take."""
    rng = np.random.default_rng(problem.seed)
    gains = rng.integers(-3, 4, (n_functions, len(fragile)))
    starts = tuple(Fraction(int(each), 3) for each in rng.integers(0, 4, n_functions))
    return Goal(starts, gains, (Fraction(1, 7),) * n_functions, fragile.row)


def happening(overturned):
    """For every label set, which events happen: a row is overturned, or it is not."""
    return np.hstack((overturned, ~overturned))


def moved(problem, fragile):
    """For every label set, how many labels of each column it moves."""
    up, down = fragile.columns_of_labels
    rises, falls = problem.label_sets > problem.y, problem.label_sets < problem.y
    found = np.zeros((len(rises), len(fragile.columns)))
    for flags, column in ((rises, up), (falls, down)):
        for at in np.flatnonzero(column >= 0):
            found[:, column[at]] += flags[:, at]
    return found


def allowed(leaf, overturned, counts=None):
    """Label sets of a case."""
    inside = ((leaf.fixed == -1) | (overturned == (leaf.fixed == OVER))).all(axis=1)
    for column, (low, high) in leaf.moving.items():
        inside &= (counts[:, column] >= low) & (counts[:, column] <= high)
    return inside


def test_rows_that_are_said_to_exclude_each_other_are_never_overturned_together():
    found = 0
    for problem in problems(11_000_000, 60):
        fragile, overturned = fragile_rows(problem)
        every = np.ones(len(fragile), dtype=bool)
        events, conflict = Conflicts(fragile).between(every, every)
        happens = happening(overturned)[:, events]
        together = (happens[:, :, None] & happens[:, None, :]).any(axis=0)
        assert not (conflict & together).any(), problem
        for members in cliques(conflict):
            assert happens[:, members].sum(axis=1).max() <= 1
        found += int(conflict.sum())
    assert found > 300


@pytest.mark.parametrize("n_functions", [1, 3])
def test_the_bound_of_a_case_holds_whatever_the_multipliers_are(n_functions):
    rng = np.random.default_rng(0)
    for problem in problems(12_000_000, 60):
        fragile, overturned = fragile_rows(problem)
        n, goal = len(fragile), signed_goal(problem, fragile, n_functions)
        events, conflict = Conflicts(fragile).between(goal.wanted, goal.feared)
        exclusive = clique_matrix(cliques(conflict), events, n)
        values = np.array([float(goal.value(each)) for each in overturned])
        counts = moved(problem, fragile)
        for size in (0.0, 0.1, 1.0, 10.0):
            some = rng.permutation(len(fragile.columns))[:3].tolist()
            leaf = Leaf(
                rng.choice([-1, -1, KEPT, OVER], n).astype(np.int8),
                size * rng.normal(size=n),
                size * rng.random(exclusive.shape[0]),
                rng.random(n_functions),
                moving={at: tuple(sorted(rng.integers(0, 4, 2).tolist())) for at in some},
                prices={at: size * rng.normal() for at in some},
            )
            inside = allowed(leaf, overturned, counts)
            truth = values[inside].max(initial=-np.inf)
            assert bound(fragile, goal, exclusive, leaf) >= truth - 1e-12, problem


@pytest.mark.parametrize("n_functions", [1, 3])
@pytest.mark.parametrize("compact", [False, True])
def test_the_leaves_of_a_tree_hold_every_label_set_and_none_exceeds_its_leaf(n_functions, compact):
    split = 0
    for problem in problems(13_000_000, some(40, 150)):
        fragile, overturned = fragile_rows(problem)
        if not len(fragile.columns) or not len(fragile):
            continue
        goal = signed_goal(problem, fragile, n_functions)
        values = np.array([float(goal.value(each)) for each in overturned])
        found = Search(fragile).programme(goal)
        programme = Programme(fragile, goal, found.cliques, compact)
        tree = grow(
            programme,
            programme.relaxed(programme.trivial(), 60),
            lambda most, truth=values: most < truth.max() + 1e-9,
            lambda: 60.0,
            lambda solution: None,
        )
        counts = moved(problem, fragile)
        inside = np.array([allowed(leaf, overturned, counts) for leaf in tree.leaves])
        assert (inside.sum(axis=0) == 1).all()
        for leaf, those in zip(tree.leaves, inside, strict=True):
            assert leaf.bound >= values[those].max(initial=-np.inf) - 1e-12, problem
        assert goal.snap(tree.bound) == goal.value(overturned[values.argmax()]), problem
        split += len(tree.leaves) > 1
    assert split > 5


def test_whole_labels_of_a_solver_reach_the_best_there_is():
    for problem in problems(13_000_000, some(8, 25)):
        fragile, overturned = fragile_rows(problem)
        if not len(fragile.columns) or not len(fragile):
            continue
        goal = signed_goal(problem, fragile)
        truth = max(goal.value(each) for each in overturned)
        found = Search(fragile).programme(goal).whole(60, float(truth) - 1e-6)
        changes = fragile.from_columns(found.labels.astype(int), found.amount)
        assert goal.value(*fragile.outcome(changes)) == truth


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
