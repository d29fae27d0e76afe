"""Sums that are said to be exact are exact, in any order and with any of their terms."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from unswayed._core.rounding import exact_dots, exact_products, granules
from unswayed.models.neighbours import shares

SHORT = st.builds(
    lambda whole, power: whole * 2.0**power, st.integers(-40, 40), st.integers(-60, 9)
)
VALUES = SHORT | st.floats(-1e3, 1e3) | st.sampled_from([0.0, 0.1, 1 / 3, 5e-324, 1e300])


def is_exact(terms):
    """Whether no product rounds and no sum of the first few terms, forwards or backwards."""
    for order in (terms, terms[::-1]):
        total, true = 0.0, Fraction(0)
        for a, b in order:
            total += a * b
            true += Fraction(a) * Fraction(b)
            if Fraction(total) != true:
                return False
    return True


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(VALUES, SHORT), min_size=1, max_size=6), st.randoms())
def test_rows_that_are_called_exact_are_summed_without_rounding(terms, random):
    rows, others = (np.array([each]) for each in zip(*terms, strict=True))
    found = exact_products(rows, others)[0]
    assert exact_dots(rows, others[0])[0] in (found, True)
    if found or exact_dots(rows, others[0])[0]:
        random.shuffle(terms)
        assert is_exact(terms)


@settings(max_examples=examples(300))
@given(st.lists(VALUES, min_size=1, max_size=6))
def test_a_granule_divides_its_value_and_twice_as_much_does_not(values):
    for value, granule in zip(values, granules(np.array(values)).tolist(), strict=True):
        if value == 0:
            assert granule == np.inf
        else:
            assert Fraction(value) % Fraction(granule) == 0
            assert Fraction(value) % (2 * Fraction(granule)) != 0


@settings(max_examples=examples(300))
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9))
def test_shares_of_short_weights_are_one_factor_times_the_weights(weights):
    found = [Fraction(each) for each in shares(np.array(weights, float), np.array([len(weights)]))]
    factors = {share / weight for share, weight in zip(found, weights, strict=True)}
    assert len(factors) == 1
    assert abs(sum(found) - 1) < Fraction(1, 10**9)
    signs = np.where(np.arange(len(weights)) % 2, 1.0, -1.0)[None]
    assert exact_products(np.array([[float(each) for each in found]]), signs)[0]
