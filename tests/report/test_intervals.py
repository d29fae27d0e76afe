"""Intervals of shares and gaps: published examples, scipy, and how often they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from unswayed.results.groups import gap_interval, newcombe, paired_interval, wilson

# R. G. Newcombe, Statistics in Medicine 17 (1998): 857-872, table I (method 3).
SHARES = {
    (81, 263): (0.2553, 0.3662),
    (15, 148): (0.0624, 0.1605),
    (0, 20): (0.0, 0.1611),
    (1, 29): (0.0061, 0.1718),
}
# 873-890, table II (method 10).
DIFFERENCES = {
    ((56, 70), (48, 80)): (0.0524, 0.3339),
    ((9, 10), (3, 10)): (0.1705, 0.8090),
    ((6, 7), (2, 7)): (0.0582, 0.8062),
    ((5, 56), (0, 29)): (-0.0381, 0.1926),
    ((0, 10), (0, 20)): (-0.1611, 0.2775),
    ((0, 10), (0, 10)): (-0.2775, 0.2775),
    ((10, 10), (0, 20)): (0.6791, 1.0),
    ((10, 10), (0, 10)): (0.6075, 1.0),
}


@pytest.mark.parametrize(("counts", "ends"), SHARES.items())
def test_published_intervals_of_shares(counts, ends):
    np.testing.assert_allclose(wilson(*counts), ends, atol=5e-5)


@pytest.mark.parametrize(("counts", "ends"), DIFFERENCES.items())
def test_published_intervals_of_differences(counts, ends):
    np.testing.assert_allclose(newcombe(*counts), ends, atol=5e-5)


def test_the_published_interval_of_a_change_of_the_same_rows():
    """R. G. Newcombe, Statistics in Medicine 17 (1998): 2635-2650, method 10."""
    assert paired_interval(36, 2, 12, 0) == pytest.approx((0.0569, 0.3404), abs=5e-5)


@given(*[st.integers(0, 60)] * 4)
def test_a_change_lies_in_its_interval_and_turns_with_its_direction(both, first, second, neither):
    rows = both + first + second + neither
    if not rows:
        return
    low, high = paired_interval(both, first, second, neither)
    assert -1 <= low <= (second - first) / rows <= high <= 1
    assert paired_interval(both, second, first, neither) == pytest.approx((-high, -low))
    few = binomtest(first, first + second).pvalue > 0.05 if first + second else True
    assert not few or low <= 0 <= high  # McNemar's exact test


@pytest.mark.parametrize("rows", [30, 300])
@pytest.mark.parametrize("shares", [(0.8, 0.05, 0.05, 0.1), (0.9, 0.01, 0.07, 0.02)])
def test_intervals_of_changes_hold_as_often_as_they_say(shares, rows):
    rng, change = np.random.default_rng(1), shares[2] - shares[1]
    found = [paired_interval(*map(int, rng.multinomial(rows, shares))) for _ in range(400)]
    assert np.mean([low <= change <= high for low, high in found]) >= 0.94


@given(st.integers(1, 3000), st.data(), st.floats(0.5, 0.9999))
def test_intervals_of_shares_are_those_of_scipy(rows, data, confidence):
    kept = data.draw(st.integers(0, rows))
    theirs = binomtest(kept, rows).proportion_ci(confidence, method="wilson")
    low, high = wilson(kept, rows, confidence=confidence)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= low <= kept / rows <= high <= 1


@given(st.lists(st.tuples(st.integers(1, 200), st.floats(0, 1)), min_size=2, max_size=6))
def test_a_gap_lies_in_its_interval_whatever_the_order_of_the_groups(groups):
    rows = np.array([size for size, _ in groups])
    kept = np.array([round(size * share) for size, share in groups])
    low, high = gap_interval(kept, rows)
    assert 0 <= low <= np.ptp(kept / rows) <= high <= 1
    assert gap_interval(kept[::-1], rows[::-1]) == pytest.approx((low, high))


def test_one_group_has_no_gap():
    assert gap_interval([3], [7]) == (0.0, 0.0)


def test_among_many_equal_groups_a_gap_is_rarely_taken_for_more_than_chance():
    rng, rows = np.random.default_rng(0), np.full(12, 40)
    found = [gap_interval(rng.binomial(rows, 0.7), rows)[0] > 0 for _ in range(400)]
    naive = []
    for _ in range(400):
        kept = np.sort(rng.binomial(rows, 0.7))
        naive.append(newcombe((kept[-1], 40), (kept[0], 40))[0] > 0)
    assert np.mean(found) <= 0.05
    assert np.mean(naive) > 0.3  # what comparing the extreme pair alone would say


@pytest.mark.parametrize("share", [0.7, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("rows", [[80, 33, 5, 2], [500, 2, 2, 2, 2], [300, 300, 3, 3, 3], [999, 1]])
def test_nor_between_groups_of_very_few_rows(rows, share):
    rng = np.random.default_rng(2)
    found = [gap_interval(rng.binomial(rows, share), rows)[0] > 0 for _ in range(400)]
    assert np.mean(found) <= 0.05


def test_the_true_gap_lies_in_its_interval_as_often_as_promised():
    rng, rows = np.random.default_rng(1), np.array([20, 60, 300, 35])
    shares = np.array([0.5, 0.75, 0.7, 0.9])
    held = 0
    for _ in range(400):
        low, high = gap_interval(rng.binomial(rows, shares), rows)
        held += low <= np.ptp(shares) <= high
    assert held >= 380
