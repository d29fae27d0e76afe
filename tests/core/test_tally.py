"""Tallies and collections of every kernel, the NumPy twin among them, against their definition."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.strategies import influence_rows
from unswayed._core import kernels
from unswayed._core.tally import SUM_ERROR, Lines, Tally, collect, tally

LARGEST = np.finfo(float).max
KINDS = ("smooth", "ties", "one value", "decimals", "wild", "spikes", "subnormal", "overflow")
# Few numbers make many ties; the odd ones are where kernels go wrong.
FEW = st.sampled_from([0.0, -0.0, 0.1, -0.1, 0.3, 1.0, -1.0, 3.0])
ODD = st.sampled_from([5e-324, -5e-324, 2.0**-1030, 1e300, -LARGEST, np.inf, -np.inf, np.nan])
INFLUENCE = st.one_of(FEW, FEW, ODD, st.floats())
OFFSET = st.one_of(st.just(1.0), st.sampled_from([0.0, 0.1, 1.0, 1e10, 5e-324]), st.floats(0, 1e3))


class Case(NamedTuple):
    """What is tallied."""

    z: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lines: Lines
    thresholds: np.ndarray

    @property
    def asked(self):
        return self.z, self.lower, self.upper, self.lines


def values(case):
    """The value of each label on each line, by the definition; NaN where a product is."""
    found = []
    for row, sign in zip(case.lines.row.tolist(), case.lines.sign.tolist(), strict=True):
        labels = np.stack((case.z[row], case.lower, case.upper), axis=1).tolist()
        products = ((sign * z * low, sign * z * high) for z, low, high in labels)
        found.append([max(p) if p[0] == p[0] and p[1] == p[1] else math.nan for p in products])
    return found


def bins(case):
    """The values of each bin of each line."""
    for line, thresholds in zip(values(case), case.thresholds.tolist(), strict=True):
        for low, high in pairwise([*thresholds, None]):
            yield [v for v in line if v > low and (high is None or v <= high)]


def exactly(number):
    return math.inf if number == math.inf else Fraction(number)


def check_sums(found, contents):
    """Counts are right, and sums within their bound; exactly right where values are alike."""
    sums = (each.ravel().tolist() for each in (found.count, found.high, found.low))
    for held, count, high, low in zip(contents, *sums, strict=True):
        assert count == len(held)
        exact = sum(map(Fraction, held)) if math.inf not in held else math.inf
        if high == math.inf:
            assert low == 0.0
            assert exact >= Fraction(LARGEST) - Fraction(math.ulp(LARGEST))
            continue
        error = abs(Fraction(high) + Fraction(low) - exact)
        assert error <= max(count - 1, 0) * Fraction(SUM_ERROR) * exact
        assert high + low == high
        assert abs(high - math.fsum(held)) <= math.ulp(high)
        if held and exact <= 2**51 * Fraction(min(held)):
            assert error == 0


def tallied(case):
    found = Tally.blank(*case.thresholds.shape)
    tally(*case.asked, case.thresholds, found)
    return found


@st.composite
def cases(draw):
    """Few labels or some more than a word of bits, a few rows, and lines in any order."""
    n_labels = draw(st.sampled_from([0, 1, 3, 7, 8, 63, 64, 65, 100, 130, 200]))
    n_rows, n_lines = draw(st.integers(1, 3)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = np.array(draw(st.lists(INFLUENCE, min_size=1, max_size=12)))
    z = rng.choice(pool, (n_rows, n_labels))
    offsets = np.array(draw(st.lists(OFFSET, min_size=1, max_size=3)))
    lower, upper = -rng.choice(offsets, n_labels), rng.choice(offsets, n_labels)
    lines = Lines(rng.integers(0, n_rows, n_lines), rng.choice([1.0, -1.0], n_lines))
    # Most thresholds are values: ties.
    with np.errstate(over="ignore", invalid="ignore"):
        edges = np.append(np.abs(np.outer(pool, offsets)).ravel(), [0.0, 0.0, np.inf])
    edges = edges[edges >= 0]
    n_bins = draw(st.sampled_from([1, 2, 3, 8, 17]))
    return Case(z, lower, upper, lines, np.sort(rng.choice(edges, (n_lines, n_bins)), axis=1))


@settings(max_examples=examples(300), deadline=None)
@given(cases())
def test_every_kernel_counts_and_sums_as_defined(case):
    contents, found = list(bins(case)), set()
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            got = tallied(case)
        check_sums(got, contents)
        if kernel != "numpy":
            found.add((got.high.tobytes(), got.low.tobytes()))
    assert len(found) <= 1  # compiled kernels add in the same order


@settings(max_examples=examples(300), deadline=None)
@given(cases(), st.data())
def test_every_kernel_collects_as_defined(case, data):
    ends = np.append(case.thresholds.ravel(), [0.0, -1.0, np.inf])
    choice = st.sampled_from(ends.tolist())
    size = len(case.lines.row)
    floor, ceiling = (
        np.array(data.draw(st.lists(choice, min_size=size, max_size=size)), dtype=float)
        for _ in range(2)
    )
    expected = [
        (at, i, v)
        for at, line in enumerate(values(case))
        for i, v in enumerate(line)
        if floor[at] < v <= ceiling[at]
    ]
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            line, index, value = collect(*case.asked, floor, ceiling)
        assert list(zip(*map(np.ndarray.tolist, (line, index, value)), strict=True)) == expected


def large_case(kind, offsets, n_labels, n_bins):
    """Several tiles of labels; the lowest threshold leaves all, or few."""
    rng = np.random.default_rng(n_labels)
    z = influence_rows(rng, kind, 4, n_labels)
    if offsets == "equal":
        lower, upper = np.full(n_labels, -0.5), np.full(n_labels, 0.5)
    elif offsets == "one-sided":
        lower = -rng.integers(0, 2, n_labels).astype(float)
        upper = 1.0 + lower
    else:
        lower, upper = -rng.random(n_labels), rng.random(n_labels)
    lines = Lines(np.array([3, 0, 0, 1, 2, 2]), np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0]))
    case = Case(z, lower, upper, lines, np.zeros((6, n_bins)))
    for at, line in enumerate(values(case)):
        known = np.array(line)[np.isfinite(line)]
        low = 0.0 if at % 2 else np.quantile(known, 0.98)
        between = rng.choice(known[known >= low], n_bins - 1)
        case.thresholds[at] = np.sort(np.append(between, low))
    return case


@pytest.mark.parametrize("offsets", ["equal", "one-sided", "any"])
@pytest.mark.parametrize("kind", KINDS)
def test_large_pieces_are_tallied_as_defined(kind, offsets):
    for n_labels, n_bins in ((1500, 128), (9001, 37)):
        case = large_case(kind, offsets, n_labels, n_bins)
        contents = list(bins(case))
        floor, ceiling = case.thresholds[:, 0].copy(), case.thresholds[:, -1].copy()
        value = np.array(values(case))
        line, index = np.nonzero((value > floor[:, None]) & (value <= ceiling[:, None]))
        for kernel in kernels.kernel_names():
            with kernels.using_kernel(kernel):
                check_sums(tallied(case), contents)
                got = collect(*case.asked, floor, ceiling)
            assert got[0].tolist() == line.tolist(), kernel
            assert got[1].tolist() == index.tolist(), kernel
            assert got[2].tolist() == value[line, index].tolist(), kernel


@settings(max_examples=examples(200), deadline=None)
@given(cases(), st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_pieces_add_up_in_any_order(case, cuts):
    ends = [0, *sorted(int(cut * len(case.lower)) for cut in cuts), len(case.lower)]
    contents = list(bins(case))
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            pieces = [
                case._replace(
                    z=np.ascontiguousarray(case.z[:, begin:end]),
                    lower=case.lower[begin:end],
                    upper=case.upper[begin:end],
                )
                for begin, end in pairwise(ends)
            ]
            a, b, c = map(tallied, pieces)
            into = Tally.blank(*case.thresholds.shape)
            for piece in pieces:
                tally(*piece.asked, case.thresholds, into)
        for found in ((a + b) + c, a + (b + c), c + b + a, into):
            check_sums(found, contents)


def test_values_far_apart_stay_within_the_bound():
    """Each of these sums is rounded in its 107th bit, time and again."""
    rng = np.random.default_rng(0)
    z = np.append(rng.random(3000) * 2.0**-60, 1.0 + rng.random(3))[None]
    ones = np.ones(z.shape[1])
    case = Case(z, -ones, ones, Lines(np.array([0]), np.array([1.0])), np.zeros((1, 1)))
    for kernel in kernels.kernel_names():
        with kernels.using_kernel(kernel):
            check_sums(tallied(case), bins(case))
            turned = case._replace(z=np.ascontiguousarray(z[:, ::-1]))
            check_sums(tallied(turned), bins(case))


@pytest.mark.parametrize("kernel", kernels.kernel_names())
def test_what_overflows_is_infinite(kernel):
    z = np.array([[LARGEST, LARGEST, 1.0, LARGEST / 2], [np.inf, np.inf, 1.0, 1.0]])
    ones = np.ones(4)
    lines = Lines(np.array([0, 1]), np.ones(2))
    thresholds = np.array([[0.0, 2.0], [0.0, 2.0]])
    with kernels.using_kernel(kernel):
        found = tallied(Case(z, -ones, ones, lines, thresholds))
        for again in (found, found + found, found + Tally.blank(2, 2)):
            assert (again.high[:, 1] == np.inf).all()
            assert (again.low == 0).all()
    assert found.count.tolist() == [[1, 3], [2, 2]]
    assert found.high[:, 0].tolist() == [1.0, 2.0]


@pytest.mark.skipif(kernels.compiled() is None, reason="no compiled kernel")
def test_arrays_that_do_not_belong_together_are_refused():
    z, ones, into = np.ones((2, 5)), np.ones(5), Tally.blank(1, 3)
    line, thresholds = Lines(np.array([1]), np.ones(1)), np.zeros((1, 3))
    missing, wider = Lines(np.array([2]), np.ones(1)), Tally.blank(1, 4)
    for arguments in (
        (z, -ones[1:], ones, line, thresholds, into),
        (z, -ones, ones, missing, thresholds, into),
        (z, -ones, ones, line, thresholds, wider),
    ):
        with pytest.raises(ValueError, match="do not belong together"):
            tally(*arguments)
    turned = Tally(
        *(np.asfortranarray(np.zeros((2, 3), dtype=each)) for each in (int, float, float))
    )
    with pytest.raises(TypeError):  # rather than add to a copy
        tally(z, -ones, ones, Lines(np.arange(2), np.ones(2)), np.zeros((2, 3)), turned)
