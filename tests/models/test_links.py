"""Secants of links, against ball arithmetic."""

import numpy as np
import pytest
from flint import arb, ctx

from unswayed.models.gradient.problem import LIBRARY, Exponential, Logistic

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _digits():
    before, ctx.prec = ctx.prec, 200
    yield
    ctx.prec = before


def mean(link, margin):
    if isinstance(link, Exponential):
        return margin.exp()
    return 1 / (1 + (-margin).exp())


def secant(link, margin, moved):
    m, t = arb(float(margin)), arb(float(moved))
    if moved == 0:
        value = mean(link, m)
        return value if isinstance(link, Exponential) else value * (1 - value)
    return (mean(link, m + t) - mean(link, m)) / t


def drawn(count):
    """Return margins of all sizes, and intervals around 0 or beside it."""
    margins = RNG.normal(size=count) * 10.0 ** RNG.uniform(-6, 1.3, count)
    width = 10.0 ** RNG.uniform(-8, 1.5, (2, count))
    least, most = -width[0], width[1]
    beside = RNG.random(count) < 0.3
    least = np.where(beside, most * RNG.random(count), least)
    some = RNG.random(count) < 0.1
    return margins, np.where(some, 0.0, least), np.where(some, 0.0, most)


@pytest.mark.parametrize("link", [Logistic(), Exponential()], ids=lambda link: link.name)
def test_secants_within_an_interval_are_within_their_bounds(link):
    margins, least, most = drawn(300)
    error = np.zeros(len(margins))
    low, high = link.slopes(margins, least, most, error)
    assert np.isfinite(high).all()
    for at in range(len(margins)):
        for share in (0.0, 1.0, *RNG.random(6)):
            moved = least[at] + share * (most[at] - least[at])
            true = secant(link, margins[at], min(max(moved, least[at]), most[at]))
            assert arb(float(low[at])) <= true.upper()
            assert true.lower() <= arb(float(high[at]))


def test_the_steepest_secant_is_bounded_to_half_a_percent():
    link = Logistic()
    margins = -(10.0 ** RNG.uniform(-3, 1.2, 200))
    least, most = np.zeros(len(margins)), 3.0 * np.abs(margins)
    _, high = link.slopes(margins, least, most, np.zeros(len(margins)))
    steps = np.linspace(0, 1, 4001)[:, None]
    best = link.secant(margins, steps * most).max(axis=0)
    assert (high >= best).all()
    assert (high <= 1.005 * best).all()


def test_the_steepest_secant_is_between_once_and_one_and_a_half_times_the_margin():
    for margin in 10.0 ** RNG.uniform(-2, 1.3, 60):
        for moved in (*(1.5 + RNG.uniform(0, 4, 4)), 1.5):
            # It falls there: the derivative at its end is smaller than the secant.
            t, m = arb(float(moved * margin)), arb(float(-margin))
            value = mean(Logistic(), m + t)
            assert value * (1 - value) < (value - mean(Logistic(), m)) / t


@pytest.mark.parametrize("link", [Logistic(), Exponential()], ids=lambda link: link.name)
def test_means_are_as_precise_as_is_said(link):
    margins = np.concatenate((RNG.normal(size=500) * 20, [0.0, -700.0, 700.0, -1e-300]))
    for margin, value in zip(margins, link.mean(margins), strict=True):
        true = mean(link, arb(float(margin)))
        assert abs(arb(float(value)) - true) <= arb(LIBRARY) * true


def test_far_margins_say_nothing():
    far = np.array([1e6, -1e6, 0.0])
    moved = np.array([1.0, 1.0, 1e6])
    low, high = Logistic().slopes(far, -moved, moved, np.zeros(3))
    assert (low == 0).all()
    assert np.isinf(high).all()
