"""Products that skip zeros, on every kernel, against the dense product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.effort import examples
from unswayed._core import kernels
from unswayed._core.influence import InfluenceMap, SparseDesign

COMPILED = [name for name in kernels.kernel_names() if name != "numpy"]


def mostly_zeros(rng, n_rows, width, *, ones):
    """Rows with about an eighth of their features not 0."""
    values = np.ones((n_rows, width)) if ones else rng.normal(size=(n_rows, width))
    return values * (rng.random((n_rows, width)) < 0.125)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(1, 70),
    width=st.integers(12, 60),
    n_tests=st.integers(1, 70),
    ones=st.booleans(),
    csr=st.booleans(),
)
def test_skipping_zeros_changes_a_product_by_rounding_only(seed, n_rows, width, n_tests, ones, csr):
    rng = np.random.default_rng(seed)
    rows, weights = mostly_zeros(rng, n_rows, width, ones=ones), rng.normal(size=(n_tests, width))
    design = SparseDesign.if_worthwhile(sparse.csr_matrix(rows) if csr else rows)
    if design is None:
        return
    dense = weights @ rows.T
    most = 2.0**-52 * width * (np.abs(weights) @ np.abs(rows.T))
    found = set()
    for kernel in COMPILED:
        out = np.full((n_tests, n_rows), np.nan)
        with kernels.using_kernel(kernel):
            assert design.times(weights, out)
        assert (np.abs(out - dense) <= most).all()
        found.add(out.tobytes())
    assert len(found) <= 1  # every kernel adds in the same order


@pytest.mark.skipif(not COMPILED, reason="no compiled kernel")
def test_a_row_alone_has_the_bits_that_it_has_among_others():
    rng = np.random.default_rng(0)
    design = SparseDesign.if_worthwhile(mostly_zeros(rng, 100, 40, ones=False))
    weights = rng.normal(size=(50, 40))
    together = np.empty((50, 100))
    design.times(weights, together)
    for row in range(50):
        alone = np.empty((1, 100))
        design.times(weights[row : row + 1], alone)
        assert alone.tobytes() == together[row].tobytes()


def test_zeros_are_skipped_only_where_there_are_many():
    rng = np.random.default_rng(0)
    assert SparseDesign.if_worthwhile(rng.normal(size=(50, 40))) is None
    assert SparseDesign.if_worthwhile(np.eye(50)) is not None
    assert SparseDesign.if_worthwhile(np.eye(5)) is None  # turning sums would take longer


def test_training_rows_without_any_feature_have_no_influence():
    rng = np.random.default_rng(0)
    rows = mostly_zeros(rng, 60, 40, ones=True)
    rows[::3] = 0.0
    for design in (rows, sparse.csr_matrix(rows)):
        influence = InfluenceMap(design, -np.ones(60), np.ones(60))
        empty = ~rows[influence.entries.rows].any(axis=1)
        assert empty.sum() == 1
        assert (influence(rng.normal(size=(3, 40)))[:, empty] == 0).all()
