"""Rows of categories, sparse or dense: the same certificates, and sparse ones stay sparse."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.commands import unswayed_here
from tests.effort import examples
from tests.soundness.checks import ill_conditioned
from unswayed import CertifiedClassifier, LabelBias, Verdict
from unswayed.cli import certify as _imported_before_memory_is_traced  # noqa: F401
from unswayed.models.ridge.verified import row_norms, with_ones


def one_hot(rng, n_rows, sizes, n_numbers):
    """Some categories and numbers, as a dense array of features."""
    parts = [np.eye(size)[rng.integers(0, size, n_rows)] for size in sizes]
    return np.hstack([*parts, rng.normal(size=(n_rows, n_numbers))])


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(2, 9), min_size=1, max_size=4),
    n_numbers=st.integers(0, 2),
    alpha=st.sampled_from([0.1, 1.0, 40.0]),
    weighted=st.booleans(),
    fit_intercept=st.booleans(),
)
def test_sparse_and_dense_rows_have_the_same_certificates_up_to_their_errors(
    seed, sizes, n_numbers, alpha, weighted, fit_intercept
):
    rng = np.random.default_rng(seed)
    X, tests = one_hot(rng, 80, sizes, n_numbers), one_hot(rng, 30, sizes, n_numbers)
    y = (X[:, 0] + rng.normal(size=80) > 0.4).astype(int)
    y[:2] = 0, 1
    weight = rng.choice([0.5, 1.0, 3.0], 80) if weighted else None
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, tol=1e-12)
    model = CertifiedClassifier(ridge, bias=LabelBias.flips(budget=3), trust="sample_weight")
    dense = model.fit(X, y, weight).certify(tests)
    found = model.fit(sparse.csr_array(X), y, weight).certify(sparse.csr_array(tests))
    both = dense.error + found.error
    assert (np.abs(dense.score - found.score) <= both).all()
    assert (np.maximum(dense.inner_low, found.inner_low) >= np.minimum(dense.low, found.low)).all()
    for one, other in ((dense, found), (found, dense)):
        assert (one.low <= other.inner_low).all()
        assert (one.high >= other.inner_high).all()
        opposite = {Verdict.ROBUST: Verdict.NOT_ROBUST, Verdict.NOT_ROBUST: Verdict.ROBUST}
        assert all(
            other.verdict[i] != opposite.get(verdict) for i, verdict in enumerate(one.verdict)
        )
        # NaN where rounding hides the prediction itself: nothing is said then.
        assert not (one.minimum_budgets.low > other.minimum_budgets.high).any()


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(0, 6), width=st.integers(1, 5))
def test_a_column_of_ones_is_added_to_sparse_rows_as_to_dense_ones(seed, n_rows, width):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) * (rng.random((n_rows, width)) < 0.5)
    found = with_ones(sparse.csr_array(rows))
    assert found.has_canonical_format
    assert np.array_equal(found.toarray(), np.hstack((rows, np.ones((n_rows, 1)))))
    assert np.allclose(row_norms(sparse.csr_array(rows)), row_norms(rows), rtol=1e-12)


N_ROWS, N_CODES = 40_000, 600


def codes(rng):
    return np.column_stack([rng.integers(0, N_CODES, N_ROWS), rng.integers(0, 9, N_ROWS)])


def peak_of(work):
    """The most memory that NumPy and Python held while something was done, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_rows_of_categories_never_become_a_dense_array(alpha):
    rng = np.random.default_rng(0)
    X, y = codes(rng), rng.integers(0, 2, N_ROWS)
    encode = make_column_transformer(
        (make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False)), [0, 1]),
        sparse_threshold=1.0,
    )
    ridge = Ridge(alpha=alpha) if alpha else LinearRegression()
    model = CertifiedClassifier(make_pipeline(encode, ridge), bias=LabelBias.flips(budget=20))

    def work():
        with ill_conditioned():  # all levels of a category beside an intercept
            certs = model.fit(X, y).certify(X[:8])
            assert len(certs.minimum_budget) == 8
            assert len(model.certify(X[:8], ranges=False)) == 8

    assert peak_of(work) < 8 * N_ROWS * N_CODES / 4


def test_a_file_of_many_codes_never_becomes_a_dense_array(tmp_path):
    rng = np.random.default_rng(1)
    X = codes(rng)
    lines = (f"{a},{b},{a % 7 + b > 8}" for a, b in X.tolist())
    (tmp_path / "codes.csv").write_text("\n".join(["job,place,label", *lines]))

    def work():
        done = unswayed_here(
            *("certify", "codes.csv", "--label", "label", "--categorical", "job,place"),
            *("--holdout", 8, "--budget", "5", "--alpha", 10),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr

    assert peak_of(work) < 8 * N_ROWS * N_CODES / 4
