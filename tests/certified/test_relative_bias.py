"""Shifts that are shares of each label, and labels that cannot leave a range."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from tests import naive
from unswayed import CertifiedRegressor, LabelBias
from unswayed.exceptions import BiasError
from unswayed.study.request import log_below, parse_shift

numbers = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(st.lists(numbers, min_size=1, max_size=5), st.floats(0, 3), st.floats(0, 3))
def test_relative_offsets_hold_the_whole_share_and_hardly_more(labels, down, up):
    found = LabelBias.shifts((-down, up), budget=1, relative=True).resolve(labels)
    for label, low, high in zip(labels, found.lower, found.upper, strict=True):
        for share, end in ((down, -low), (up, high)):
            exact = Fraction(share) * abs(Fraction(label))
            assert exact <= Fraction(float(end))
            assert end <= float(exact) * (1 + 1e-15) + 1e-300


@given(st.lists(numbers, min_size=1, max_size=5), st.floats(0, 1e12), numbers, numbers)
def test_clipped_offsets_reach_every_label_of_the_range_and_end_there(labels, amount, one, other):
    low, high = sorted([one, other])
    labels = np.clip(labels, low, high)
    found = LabelBias.shifts(amount, budget=1, clip=(low, high)).resolve(labels)
    for label, lower, upper in zip(labels, found.lower, found.upper, strict=True):
        exact = Fraction(float(label))
        least = max(exact - Fraction(amount), Fraction(low))
        most = min(exact + Fraction(amount), Fraction(high))
        assert exact + Fraction(float(lower)) <= least
        assert exact + Fraction(float(upper)) >= most
        slack = 1e-15 * max(abs(low), abs(high), 1e-280)
        assert label + lower >= float(least) - 4 * slack
        assert label + upper <= float(most) + 4 * slack


@given(st.floats(1e-9, 1e12), st.integers(1, 400), st.floats(-1, 1))
def test_a_label_off_by_the_factor_has_a_logarithm_within_the_offsets(label, percent, part):
    shift = parse_shift(f"{percent}%")
    factor = (1 + Fraction(percent, 100)) if abs(part) > 0.9 else 1 + Fraction(abs(part))
    assume(factor <= 1 + Fraction(percent, 100))
    exact = Fraction(label) * factor if part > 0 else Fraction(label) / factor
    other = float(exact)
    within = Fraction(label) / (1 + Fraction(percent, 100))
    assume(within <= Fraction(other) <= Fraction(label) * (1 + Fraction(percent, 100)))
    lower, upper = shift.of_logarithms(np.log([label]))
    moved = np.log(other) - np.log(label)
    assert lower[0] <= moved <= upper[0]
    assert upper[0] <= np.log1p(percent / 100) * (1 + 1e-12) + 1e-13


def test_a_radius_of_logarithms_is_rounded_down():
    for percent in range(1, 200):
        radius = log_below(1 + Fraction(percent, 100))
        assert radius == pytest.approx(np.log1p(percent / 100), rel=1e-15)
        assert np.exp(radius) <= (1 + percent / 100) * (1 + 3e-16)


def test_certificates_of_relative_clipped_shifts_are_those_of_enumeration():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(7, 2)), rng.uniform(1, 7, 7)
    bias = LabelBias.shifts(0.5, budget=2, relative=True, clip=(1e-9, 12))
    y[2] = 11.0  # 12 is nearer than half of it
    model = CertifiedRegressor(Ridge(alpha=1.0), bias=bias, radius=0.8).fit(X, y)
    certs = model.certify(X)
    upper = np.where(y == 11, 1, y / 2)
    low, high = naive.ranges(X, y, X, -y / 2, upper, 2, alpha=1.0)
    np.testing.assert_allclose(certs.low, low, atol=1e-9)
    np.testing.assert_allclose(certs.high, high, atol=1e-9)


@pytest.mark.parametrize("clip", [(1, 0), 3, ("a", 1), (float("nan"), 1), (1, 2, 3)])
def test_a_range_that_is_none_is_refused_at_once(clip):
    with pytest.raises(BiasError, match=r"clip must be a pair"):
        LabelBias.shifts(1, budget=1, clip=clip)


def test_a_label_outside_the_range_is_refused_with_its_row():
    with pytest.raises(BiasError, match=r"label -2 at row 1 is outside clip=\(0, inf\)"):
        LabelBias.shifts(1, budget=1, clip=(0, None)).resolve([3, -2])


def test_a_bias_shows_its_share_and_its_range():
    bias = LabelBias.shifts((0, 0.05), budget=3, relative=True, clip=(0, 9))
    assert repr(bias) == "LabelBias.shifts((0, 0.05), budget=3, relative=True, clip=(0, 9))"
