"""Some rows of pieces, and what a store of passes over files keeps."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.rows import CollectRows, CountRows, SelectedRows
from unswayed.pieces.store import StoredPasses, pack, unpack
from unswayed.study.source import open_store
from unswayed.tables.many_files import open_files


@pytest.fixture(scope="module")
def piece(tmp_path_factory):
    """A file of rows, some of which miss a value."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame = pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30) % 2})
    frame.loc[[0, 7, 29], "x"] = np.nan
    frame.to_parquet(path)
    (found,) = open_files(path, label="y", missing="drop")
    return found


def collected(piece):
    return LocalPasses([piece], threads=1).run(CollectRows("y"))


@given(positions=st.sets(st.integers(0, 29)))
def test_rows_and_all_others_are_all_rows(piece, positions):
    at = np.array(sorted(positions), dtype=np.int64)
    inside, outside = (SelectedRows(piece.name, piece, at, way) for way in (True, False))
    complete = set(range(30)) - {0, 7, 29}
    assert set(collected(inside).number.tolist()) == positions & complete
    assert set(collected(outside).number.tolist()) == complete - positions
    for way in (inside, outside):
        counts = LocalPasses([way], threads=1).run(CountRows()).rows
        assert counts.get(0, 0) == len(collected(way).number) + 3  # rows that miss a value
        table = collected(way).table
        if table is not None:
            assert table.column("x").to_pylist() == collected(way).number.tolist()
        assert way.place(4) == piece.place(4)
    assert inside.identity != outside.identity


def test_rows_read_in_another_way_have_another_identity(tmp_path):
    pd.DataFrame({"a": [1.0], "b": [2.0], "y": [0]}).to_parquet(tmp_path / "f.parquet")
    ways = ({}, {"ignore": ["a"]}, {"missing": "drop"})
    found = [open_files(tmp_path, label="y", **way)[0].identity for way in ways]
    assert len(set(found)) == len(ways)


def test_what_passes_find_is_stored_and_comes_back(piece, tmp_path):
    def passes():
        store = open_store(tmp_path / "kept", [piece.stamp])
        return StoredPasses(LocalPasses([piece], threads=1), store)

    first, again = passes(), passes()
    assert first.run(CollectRows("y")).table == again.run(CollectRows("y")).table
    assert (first.restored, again.restored) == (0, 1)


@pytest.mark.parametrize("value", [frozenset({"a", 1.5}), {True: 1, 0.5: 2, "x": 3}, (1, [2.5])])
def test_plain_values_are_packed(value):
    assert unpack(pack(value)) == value


def test_sparse_matrices_are_packed():
    matrix = sparse.csr_array(np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    found = unpack(pack(matrix))
    assert isinstance(found, sparse.csr_array)
    assert (found.toarray() == matrix.toarray()).all()
