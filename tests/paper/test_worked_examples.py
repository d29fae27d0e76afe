"""The paper's worked examples and theorem 2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from tests import naive
from unswayed import CertifiedRegressor, LabelBias, LinearSmoother, prediction_range


def test_section_3_the_bias_set_of_two_labels():
    """y = (3, 4), Δ = [-1, 1]², k = 1: corners (2, 4), (4, 4), (3, 3), (3, 5) and y itself."""
    resolved = LabelBias.intervals([-1, -1], [1, 1], budget=1).resolve([3, 4])
    members = {
        tuple(m)
        for m in naive.corners([3, 4], resolved.lower, resolved.upper, resolved.budget.amount)
    }
    assert members == {(3, 4), (2, 4), (4, 4), (3, 3), (3, 5)}


def test_section_4_v_is_3_to_7():
    assert prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=1)) == (3.0, 7.0)


def test_section_4_the_example_is_robust_for_a_radius_of_3_and_touching_counts_as_inside():
    bias = LabelBias.shifts(1, budget=1)
    for radius, robust in ((3, True), (2, True), (1.9, False)):
        model = CertifiedRegressor(LinearSmoother(), bias=bias, radius=radius)
        model.fit(np.zeros((2, 2)), [3, 4])
        assert model.certify([[-1.0, 2.0]]).robust[0] == robust


def test_algorithm_4_uses_the_upper_end_for_negative_influence():
    """The appendix prints the lower end there; with asymmetric intervals only this is right."""
    bias = LabelBias.shifts((-1, 10), budget=1)
    assert prediction_range([-1.0], [0.0], bias) == (-10.0, 1.0)


def test_appendix_a_the_set_of_parameters():
    """y = (1, -1, 2), Δ = [-1, 1]³, k = 2: each coordinate of Θ over all its members.

    The appendix calls (3, 6, 3) and (4, 5, 2) members; by its own C they are C·(0, 0, 3) and
    C·(1, 0, 3), and both are within the ranges.
    """
    C = np.array([[1.0, 2, 1], [-1, 0, 2], [2, 1, 0]])
    y, bias = [1.0, -1, 2], LabelBias.shifts(1, budget=2)
    resolved = bias.resolve(y)
    theta = np.array([C @ m for m in naive.corners(y, resolved.lower, resolved.upper, 2)])
    for row, coordinate in zip(C, theta.T, strict=True):
        assert prediction_range(row, y, bias) == (coordinate.min(), coordinate.max())
    for member in ((0, 0, 3), (1, 0, 3)):
        for row in C:
            low, high = prediction_range(row, y, bias)
            assert low <= row @ member <= high


@given(st.integers(0, 10**6), st.integers(-3, 3), st.floats(0.01, 2.0))
def test_theorem_2_only_the_ratio_of_shift_and_radius_decides(seed, power, radius):
    """Scaling both by c leaves every verdict; powers of two make the scaling exact."""
    rng = np.random.default_rng(seed)
    X, y, tests = rng.normal(size=(12, 2)), rng.normal(size=12), rng.normal(size=(5, 2))
    scale = 2.0**power
    verdicts = [
        CertifiedRegressor(Ridge(), bias=LabelBias.shifts(c * 1.5, budget=3), radius=c * radius)
        .fit(X, y)
        .certify(tests)
        .verdict.tolist()
        for c in (1.0, scale)
    ]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("scale", [0.1, 3.0, 1000.0])
def test_theorem_2_holds_for_minimum_budgets_too(scale):
    rng = np.random.default_rng(5)
    X, y, tests = rng.normal(size=(40, 3)), rng.normal(size=40), rng.normal(size=(20, 3))
    budgets = [
        CertifiedRegressor(Ridge(), bias=LabelBias.shifts(c * 2, budget=1), radius=c * 0.5)
        .fit(X, y)
        .minimum_budget(tests)
        .tolist()
        for c in (1.0, scale)
    ]
    assert budgets[0] == budgets[1]
