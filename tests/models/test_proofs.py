"""What learners promise about their own errors, held against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler

from tests.effort import examples
from unswayed import CertifiedRegressor, LabelBias
from unswayed.engines.protocol import RepresentedRows
from unswayed.exceptions import InputError
from unswayed.models.ridge.verified import VerifiedInverse, null_vectors

quick = settings(max_examples=examples(60), deadline=None)


def spd(rng, size, spread):
    vectors = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return (vectors * np.geomspace(1.0, spread, size)) @ vectors.T


def exact_norm(values):
    return float(sum(value * value for value in values)) ** 0.5


@quick
@given(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from([1.0, 1e-3, 1e-7, 1e-10]))
def test_residuals_and_the_norm_of_the_inverse_are_bounded(seed, size, spread):
    rng = np.random.default_rng(seed)
    matrix = spd(rng, size, spread)
    matrix = (matrix + matrix.T) / 2
    found = VerifiedInverse(matrix, 0.0)
    assert found.proven
    assert found.bound >= np.linalg.norm(np.linalg.inv(matrix), 2) * (1 - 1e-3)
    right = rng.normal(size=(3, size))
    solutions, left = found.solve(right, np.linalg.norm(right, axis=1) * (1 + 1e-9))
    for b, x, bound in zip(right, solutions, left, strict=True):
        rest = [
            Fraction(b[i]) - sum(Fraction(matrix[j, i]) * Fraction(x[j]) for j in range(size))
            for i in range(size)
        ]
        assert exact_norm(rest) <= bound


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_a_singular_matrix_proves_nothing(error):
    found = VerifiedInverse(np.ones((3, 3)), error)
    assert not found.proven
    assert np.isinf(found.bound)


def test_an_error_as_large_as_the_smallest_eigenvalue_proves_nothing():
    assert VerifiedInverse(np.diag([1.0, 1e-3]), 1e-4).proven
    assert not VerifiedInverse(np.diag([1.0, 1e-3]), 1e-3).proven


ONE_HOT = np.eye(3)[[0, 1, 2, 0, 1, 2, 2]]


def dependencies(columns, *, constant):
    columns = np.asarray(columns, dtype=float)
    scaled = np.hstack((columns, np.ones((len(columns), 1)))) if constant else columns
    return null_vectors(
        columns, scaled.T @ scaled, np.ones(columns.shape[1]), up_to_constant=constant
    )


def test_one_hot_columns_add_up_to_a_constant():
    assert dependencies(ONE_HOT, constant=True).shape == (3, 1)
    assert dependencies(ONE_HOT, constant=False).shape == (3, 0)


@pytest.mark.parametrize("constant", [True, False])
def test_one_hot_columns_depend_on_one_another_in_any_units(constant):
    units = np.array([3.0, 1 / 3, -0.7])
    columns = np.hstack((ONE_HOT * units, ONE_HOT[:, :2] * 0.1, ONE_HOT[:, 2:] * 7.0))
    found = dependencies(columns, constant=constant)
    assert found.shape == (6, 3 + constant)
    sums = columns @ found
    assert np.allclose(sums, sums[0] if constant else 0.0)


def test_one_hot_columns_that_a_scaler_centred_depend_only_up_to_a_constant():
    columns = StandardScaler().fit_transform(ONE_HOT)
    assert dependencies(columns, constant=True).shape == (3, 1)
    assert dependencies(np.hstack((columns, ONE_HOT)) + 1.0, constant=False).shape == (6, 0)


def test_two_blocks_a_duplicate_and_a_zero_column_are_four_dependencies():
    other = np.eye(2)[[0, 0, 0, 1, 1, 1, 0]]
    copy = np.array([0.1, 0.7, -1.3, 0.2, 0.9, 1e-3, 3.3])[:, None]
    columns = np.hstack((ONE_HOT, other, copy, copy, np.zeros((7, 1))))
    assert dependencies(columns, constant=True).shape == (8, 4)


def test_a_dependency_that_misses_by_one_bit_is_none():
    copy = np.array([0.1, 0.7, -1.3, 0.2, 0.9, 1e-3, 3.3])
    near = copy.copy()
    near[4] = np.nextafter(near[4], 2.0)
    assert dependencies(np.column_stack((copy, copy)), constant=False).shape == (2, 1)
    assert dependencies(np.column_stack((copy, near)), constant=False).shape == (2, 0)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_one_hot_least_squares_is_proven_in_doubles(as_sparse, scaled):
    rng = np.random.default_rng(0)
    X = np.hstack((ONE_HOT, rng.integers(0, 5, size=(7, 1))))
    X = StandardScaler(with_mean=not as_sparse).fit_transform(X) if scaled else X
    X = sparse.csr_array(X) if as_sparse else X
    bias = LabelBias.shifts(1, budget=2)
    model = CertifiedRegressor(LinearRegression(), bias=bias, radius=0.3).fit(X, rng.normal(size=7))
    assert model.certify(X).error.max() < 1e-11


def test_a_total_of_many_values_and_two_is_proven_in_doubles():
    base, bonus = np.array([30.0, 41, 17, 25, 30, 44, 12]), 2_000_000 * ONE_HOT[:, 0]
    X = np.column_stack((base, bonus, base + bonus))
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(1, budget=2), radius=0.3)
    assert model.fit(X, base % 3).certify(X).error.max() < 1e-3


def test_an_input_row_is_the_same_whichever_rows_are_asked_for_beside_it(monkeypatch):
    monkeypatch.setattr("unswayed.engines.protocol._BLOCK", 300)
    rng = np.random.default_rng(0)
    X, tests = rng.normal(size=(50, 7)), rng.normal(size=(41, 7))
    bias = LabelBias.shifts(1, budget=2)
    model = CertifiedRegressor(KernelRidge(kernel="rbf"), bias=bias, radius=1).fit(X, X[:, 0])
    rows = RepresentedRows(model.fitted_.learner, tests)
    everything = np.vstack(list(rows.blocks()))
    for which in (np.arange(41), np.array([40, 3, 3, 17]), np.arange(5, 9), np.array([7])):
        np.testing.assert_array_equal(rows.take(which), everything[which])


def test_features_changed_in_place_after_the_fit_are_noticed():
    rng = np.random.default_rng(0)
    X, tests = rng.normal(size=(20, 2)), rng.normal(size=(3, 2))
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=1.0)
    model.fit(X, X[:, 0])
    before = model.certify(tests)
    X[4, 1] += 1.0
    np.testing.assert_array_equal(model.certify(tests).high, before.high)
    # A tie, which wants the features again.
    model.radius = float(before.inner_high[0] + before.error[0] - before.score[0])
    with pytest.raises(InputError, match="changed in place"):
        model.certify(tests, resolve="exact")
