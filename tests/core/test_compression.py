import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.effort import examples
from unswayed._core import influence as compression
from unswayed._core.influence import distinct_rows, merge_rows


def small_matrix(seed, rows, columns):
    rng = np.random.default_rng(seed)
    return rng.integers(-1, 2, size=(rows, columns)).astype(float)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 4), st.booleans())
def test_groups_are_exactly_the_equal_rows(seed, rows, columns, as_sparse):
    matrix = small_matrix(seed, rows, columns)
    first, group = distinct_rows(sparse.csr_array(matrix) if as_sparse else matrix)
    assert (np.diff(first) > 0).all()
    for i in range(rows):
        assert (matrix[first[group[i]]] == matrix[i]).all()
        assert first[group[i]] == min(j for j in range(rows) if (matrix[j] == matrix[i]).all())


def test_zero_and_minus_zero_are_equal():
    _, group = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0]]))
    assert group.tolist() == [0, 0]


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_hash_collision_costs_time_and_never_an_answer(monkeypatch, as_sparse):
    monkeypatch.setattr(compression, "_hash_rows", lambda m: np.zeros(m.shape[0], dtype=np.uint64))
    matrix = small_matrix(3, 40, 2)
    first, group = distinct_rows(sparse.csr_array(matrix) if as_sparse else matrix)
    assert (matrix[first][group] == matrix).all()
    assert len(first) == len(np.unique(matrix, axis=0))


@settings(max_examples=examples(100))
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_every_movable_label_is_in_exactly_one_entry_a_side(seed, rows):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, size=(rows, 2)).astype(float)
    lower = -rng.integers(0, 3, size=rows).astype(float)
    upper = rng.integers(0, 3, size=rows).astype(float)
    first, group = distinct_rows(matrix)
    entries = merge_rows(lower, upper, group, first)
    for sign, offsets, ends in ((-1, lower, entries.lower), (1, upper, entries.upper)):
        seen = []
        for e in range(len(entries)):
            members = entries.members(e, sign)
            assert (np.diff(members) > 0).all()
            assert (offsets[members] == ends[e]).all()
            assert (matrix[members] == matrix[entries.rows[e]]).all()
            seen += members.tolist()
        assert sorted(seen) == np.flatnonzero(offsets).tolist()
    assert entries.n_lower.sum() == np.count_nonzero(lower)
    assert entries.n_upper.sum() == np.count_nonzero(upper)


def test_flips_of_both_labels_with_equal_features_share_an_entry():
    lower, upper = np.array([-1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])
    entries = merge_rows(lower, upper, np.zeros(3, dtype=int), np.zeros(1, dtype=int))
    assert len(entries) == 1
    assert (entries.n_lower[0], entries.n_upper[0]) == (1, 2)
