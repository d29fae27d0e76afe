"""Every kernel of this machine, the NumPy twin among them, gives the answers as defined."""

import os
import subprocess
import sys
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests import naive
from tests.effort import examples
from tests.strategies import Selection, selections
from unswayed._core import kernels, selection, selection_literal
from unswayed._core.influence import merge_rows


@pytest.fixture(params=kernels.kernel_names())
def each_kernel(request):
    """Each kernel in turn."""
    with kernels.using_kernel(request.param):
        yield request.param


KERNEL_NAME = "from unswayed._core.kernels import kernel_name; print(kernel_name())"


def run_python(code, **environment):
    """Run a program of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


# The sum of these effects is infinite, each of them is not.
OVERFLOW = Selection(np.full((4, 3), 1.7e308), np.zeros(3), np.ones(3))

TIMES = st.sampled_from([1, 3, "a few rows most"])


def duplicated(case, times):
    """The same with training rows standing several times: influence, entries, number of labels."""
    if times == "a few rows most":
        times = np.minimum(np.random.default_rng(0).zipf(1.5, size=len(case.lower)), 500)
    group = np.repeat(np.arange(len(case.lower)), times)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    entries = merge_rows(case.lower[group], case.upper[group], group, first)
    return np.ascontiguousarray(case.z[:, group[entries.rows]]), entries, len(group)


def defined_reach(z, entries, budget, sign):
    """The correctly rounded sum of the `budget` largest values of each row."""
    ranked = (selection_literal.ranked_labels(row, entries, sign) for row in z)
    return np.array([selection_literal.rounded_sum(labels[:budget]) for labels in ranked])


def defined_crossing(row, entries, margin, sign):
    """The least count whose reach exceeds the margin, the reach of one less, and its own."""
    if margin < 0:
        return 0.0, 0.0, 0.0
    if margin == np.inf:
        return np.inf, 0.0, 0.0
    return selection_literal.crossing(selection_literal.ranked_labels(row, entries, sign), margin)


def share_of(reach, share):
    """So much of a reach, which may be infinite: none of it is 0, more of it is infinite."""
    with np.errstate(over="ignore"):
        return share * reach if share else np.zeros_like(reach)


def defined_choice(row, entries, budget, sign):
    """The entries that hold the strongest labels, ties to the first, and what is added to them."""
    signed = sign * row
    value = np.maximum(signed * entries.lower, signed * entries.upper)
    count = np.where(signed >= 0, entries.n_upper, entries.n_lower)
    order = np.argsort(-value, kind="stable")
    ranked = np.where(value[order] > 0, count[order], 0.0)
    taken = np.empty(len(order))
    taken[order] = np.clip(budget - (np.cumsum(ranked) - ranked), 0.0, ranked)
    chosen = np.flatnonzero(taken)
    offset = np.where(signed >= 0, entries.upper, entries.lower)
    return chosen, taken[chosen] * offset[chosen]


@settings(max_examples=examples(150), deadline=None)
@given(selections(), TIMES, st.floats(0, 1.1))
def test_every_kernel_returns_the_defined_reach(case, times, share):
    z, entries, n_labels = duplicated(case, times)
    budget = int(share * n_labels)
    expected = [defined_reach(z, entries, budget, sign).tobytes() for sign in (1.0, -1.0)]
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            found = selection.reach(z, entries, budget)
        assert [each.tobytes() for each in found] == expected, kernel


@settings(max_examples=examples(100), deadline=None)
@given(selections(), TIMES, st.floats(0, 1.1), st.sampled_from([1.0, -1.0]))
def test_every_kernel_chooses_the_defined_labels(case, times, share, sign):
    z, entries, n_labels = duplicated(case, times)
    budget = int(share * n_labels)
    reach = defined_reach(z, entries, budget, sign).tobytes()
    choices = [defined_choice(row, entries, budget, sign) for row in z]
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            found = selection.extremes(z, entries, budget, sign)
        assert found.reach.tobytes() == reach, kernel
        for row, expected in enumerate(choices):
            assert [each.tolist() for each in found.changes(row)] == [
                each.tolist() for each in expected
            ], kernel


def test_candidates_that_hold_exactly_the_budget_are_not_mistaken_for_all(each_kernel):
    """Among this many budgets, some are met exactly by the entries that a sample suggests."""
    rng = np.random.default_rng(0)
    entries = merge_rows(-np.ones(1500), np.ones(1500))
    z = rng.normal(size=(8, 1500))
    for budget in range(1, 200):
        assert (selection.extremes(z, entries, budget, 1.0).length == budget).all()


@settings(max_examples=examples(150), deadline=None)
@given(selections(), TIMES, st.floats(0, 1.2), st.booleans(), st.sampled_from([-1.0, 0.0, np.inf]))
@example(OVERFLOW, 1, 0.0, False, 0.0)
@example(OVERFLOW, 1, 1.2, False, 0.0)
def test_every_kernel_returns_the_defined_minimum_budget(case, times, share, on_the_edge, other):
    z, entries, n_labels = duplicated(case, times)
    # On the edge are margins that a prefix hits exactly, to the last bit.
    budget, factor = (int(share * n_labels), 1.0) if on_the_edge else (n_labels, share)
    margins = [share_of(defined_reach(z, entries, budget, sign), factor) for sign in (1.0, -1.0)]
    margins[0][:1] = margins[1][1:2] = other
    expected = np.array(
        [
            [
                defined_crossing(row, entries, margin[at], sign)
                for margin, sign in zip(margins, (1.0, -1.0), strict=True)
            ]
            for at, row in enumerate(z)
        ]
    )
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            found = selection.minimum_budget(z, entries, *margins)
        for at, each in enumerate((found.count, found.before, found.after)):
            assert each.tobytes() == expected[:, :, at].tobytes(), kernel


@settings(max_examples=examples(200), deadline=None)
@given(selections(max_size=800), st.integers(0, 60))
def test_reach_is_the_sum_of_the_largest(case, budget):
    entries = merge_rows(case.lower, case.upper)
    z = np.ascontiguousarray(case.z[:, entries.rows])
    up, down = selection.reach(z, entries, budget)
    for row in range(len(z)):
        with np.errstate(over="ignore"):
            expected = naive.reach(case.z[row], case.lower, case.upper, budget)
        assert (up[row], down[row]) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.floats(0.01, 0.99))
def test_minimum_budget_is_the_papers_loop(seed, size, share):
    rng = np.random.default_rng(seed)
    z, lower, upper = rng.normal(size=size), -rng.random(size), rng.random(size)
    entries = merge_rows(lower, upper)
    up, down = (share * total for total in naive.reach(z, lower, upper, size))
    ours = selection.minimum_budget(
        z[None, entries.rows].copy(), entries, np.array([up]), np.array([down])
    )
    assert ours.least[0] == naive.flip_one_by_one(z, lower, upper, up, down)


@settings(max_examples=examples(60), deadline=None)
@given(selections(), st.floats(0, 1))
def test_minimum_budget_is_the_least_budget_whose_reach_exceeds_the_margin(case, share):
    entries = merge_rows(case.lower, case.upper)
    z = np.ascontiguousarray(case.z[:, entries.rows])
    everything = selection.reach(z, entries, len(case.lower))
    margin_up, margin_down = (share * total for total in everything)
    least = selection.minimum_budget(z, entries, margin_up, margin_down).least
    for row in range(len(z)):
        here = z[row : row + 1]

        def broken(budget, here=here, row=row):
            up, down = selection.reach(here, entries, budget)
            return up[0] > margin_up[row] or down[0] > margin_down[row]

        if np.isinf(least[row]):
            assert not broken(len(case.lower))
        else:
            assert broken(int(least[row]))
            assert not broken(int(least[row]) - 1)


@settings(max_examples=examples(60), deadline=None)
@given(selections(max_size=900), st.integers(0, 400))
def test_merging_equal_rows_changes_nothing(case, budget):
    """Three copies of each label, merged into counts or left apart: the same bits."""
    apart = merge_rows(np.repeat(case.lower, 3), np.repeat(case.upper, 3))
    z, merged, _ = duplicated(case, 3)
    left = selection.reach(np.repeat(case.z, 3, axis=1)[:, apart.rows].copy(), apart, budget)
    right = selection.reach(z, merged, budget)
    for one, other in zip(left, right, strict=True):
        assert one.tobytes() == other.tobytes()


def test_tenths_are_summed_exactly_and_not_in_some_order(each_kernel):
    """Ten times 0.1 is the double nearest to 10 * fl(0.1), which is 1 exactly."""
    entries = merge_rows(np.zeros(10), np.ones(10))
    up, _ = selection.reach(np.full((1, 10), 0.1), entries, 10)
    assert up[0] == 1.0
    assert reduce(add, [0.1] * 10) != 1.0  # what a plain loop would have said


def test_counts_above_the_exact_range_of_the_fast_sum_are_still_exact(each_kernel):
    big = 2.0**27 + 1
    entries = merge_rows(np.zeros(2), np.ones(2))
    counted = type(entries)(
        **{
            name: getattr(entries, name)
            for name in entries.__slots__
            if name not in ("n_upper", "n_lower")
        },
        n_lower=np.zeros(2),
        n_upper=np.array([big, 1.0]),
    )
    if each_kernel != "numpy":  # which would repeat the value as often
        up, _ = selection.reach(np.array([[0.1, 0.3]]), counted, big + 1)
        assert up[0] == float(Fraction(0.1) * int(big) + Fraction(0.3))


@pytest.mark.parametrize("margin", [-1.0, 0.0, np.inf])
def test_edge_margins(margin, each_kernel):
    """Below 0 nothing need move; at 0 one label does it; at infinity none ever will."""
    entries = merge_rows(np.zeros(5), np.ones(5))
    got = selection.minimum_budget(np.ones((1, 5)), entries, np.array([margin]), np.array([np.inf]))
    assert got.least[0] == {-1.0: 0.0, 0.0: 1.0, np.inf: np.inf}[margin]


def test_no_movable_label_means_nothing_moves(each_kernel):
    entries = merge_rows(np.zeros(3), np.zeros(3))
    assert len(entries) == 0
    z = np.empty((2, 0))
    up, down = selection.reach(z, entries, 3)
    assert up.tolist() == down.tolist() == [0.0, 0.0]
    never = selection.minimum_budget(z, entries, np.zeros(2), np.zeros(2))
    assert np.isinf(never.least).all()


def test_a_kernel_is_chosen_by_an_environment_variable():
    for name in kernels.kernel_names():
        said = run_python(KERNEL_NAME, UNSWAYED_KERNEL=name)
        assert said.stdout.split() == [name]


def test_a_kernel_that_the_machine_does_not_have_is_refused_by_name():
    said = run_python(KERNEL_NAME, UNSWAYED_KERNEL="avx1024")
    assert said.returncode != 0
    assert (
        "UNSWAYED_KERNEL is 'avx1024', which this machine or installation does not" in said.stderr
    )
    assert "it has: " + ", ".join(kernels.kernel_names()) in said.stderr
