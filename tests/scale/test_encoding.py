"""The encoding: features of rows cut anywhere are those of scikit-learn's encoders on the whole."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed.exceptions import InputError
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import HeldPiece, Place
from unswayed.tables.encoding import Encoding, SurveyTask


def survey(rows, edges=(), **options):
    edges = [0, *sorted(edges), len(rows)]
    pieces = [HeldPiece("part", rows[a:b], np.zeros(b - a)) for a, b in itertools.pairwise(edges)]
    return LocalPasses(pieces, threads=1).run(SurveyTask(**options))


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@st.composite
def tables(draw):
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = pd.DataFrame(
        {
            "x": rng.choice([-2.0, 0.0, 1.5, 1e6], n),
            "town": rng.choice(["Bonn", "Köln", "", "Ulm"], n),
            "steady": np.full(n, 0.1),
            "whole": rng.integers(0, draw(st.sampled_from([2, 90])), n),
            "z": rng.normal(size=n),
        }
    )
    return rows, draw(st.lists(st.integers(0, n), max_size=6)), draw(st.booleans())


@given(tables(), st.booleans(), st.booleans())
def test_features_are_those_of_one_hot_encoder_and_standard_scaler(problem, standardise, first):
    rows, edges, as_category = problem
    categorical = ["whole"] if as_category else []
    found = survey(rows, edges, categorical=categorical)
    encoding = Encoding.of(found, standardise=standardise, categories_first=first)
    categories = [name for name in rows if name in ("town", *categorical)]
    numbers = [name for name in rows if name not in categories]
    one_hot = OneHotEncoder(sparse_output=False).fit(rows[categories])
    expected = {name: one_hot.transform(rows[categories])[:, s] for name, s in zip(
        categories, _blocks(one_hot), strict=True)}  # fmt: skip
    scaled = StandardScaler().fit_transform(rows[numbers])
    for at, name in enumerate(numbers):
        expected[name] = scaled[:, [at]] if standardise else rows[[name]].to_numpy(float)
    order = [*categories, *numbers] if first else list(rows)
    matrix = np.column_stack([expected[name] for name in order])

    features = encoding.features(rows)
    assert encoding.is_sparse == sparse.issparse(features)
    assert features.dtype == np.float64
    np.testing.assert_allclose(dense(features), matrix, rtol=1e-9, atol=1e-9)
    assert len(encoding.names) == encoding.n_features == matrix.shape[1]
    for block in encoding.blocks:
        np.testing.assert_array_equal(dense(features)[:, block].sum(axis=1), 1)
    away = np.abs(dense(features) - encoding.centre)
    assert (away <= encoding.peak).all()
    is_number = np.ones(encoding.n_features, dtype=bool)
    for block in encoding.blocks:
        is_number[block] = False
    np.testing.assert_allclose(
        encoding.centre, np.where(is_number, matrix.mean(axis=0), 0), rtol=1e-9, atol=1e-9
    )


def _blocks(one_hot):
    ends = np.cumsum([0, *map(len, one_hot.categories_)])
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


@given(tables(), st.booleans())
def test_features_of_parts_are_those_of_the_whole_to_the_bit(problem, standardise):
    rows, edges, _ = problem
    encoding = Encoding.of(survey(rows, edges), standardise=standardise)
    whole = dense(encoding.features(rows))
    ends = [0, *sorted(edges), len(rows)]
    parts = [dense(encoding.features(rows[a:b])) for a, b in itertools.pairwise(ends)]
    np.testing.assert_array_equal(np.vstack(parts), whole)


@given(tables())
def test_distinct_rows_have_features_too(problem):
    rows, edges, as_category = problem
    found = survey(rows, edges, categorical=["whole"] if as_category else [])
    encoding = Encoding.of(found)
    few, all_of_it = (dense(encoding.features(each)) for each in (found.distinct.rows, rows))
    np.testing.assert_array_equal(
        np.unique(few, axis=0), np.unique(np.asarray(all_of_it) + 0.0, axis=0)
    )
    np.testing.assert_allclose(found.distinct.counts @ few, all_of_it.sum(axis=0), rtol=1e-9)


def test_standardised_numbers_are_the_scalers_to_the_bit_where_its_mean_is():
    rows = pd.DataFrame({"x": [1.0, 2.0, 4.0, 9.0], "same": [7.0] * 4})
    features = Encoding.of(survey(rows), standardise=True).features(rows)
    np.testing.assert_array_equal(features, StandardScaler().fit_transform(rows))


def test_names_and_the_order_of_categories():
    rows = pd.DataFrame({"x": [1, 2, 3], "t": ["b", "a", "Z"], "k": [10, 9, 9], "f": [True] * 3})
    encoding = Encoding.of(survey(rows, categorical=["k"]))
    assert encoding.names == ("x", "t = Z", "t = a", "t = b", "k = 9", "k = 10", "f")
    assert encoding.blocks == (slice(1, 4), slice(4, 6))
    assert Encoding.of(survey(rows), categories_first=True).names[0] == "t = Z"


def test_sparse_rows_store_every_number_zeros_too():
    rows = pd.DataFrame({"x": [0.0, 1.0, 0.0] * 20, "t": [f"t{at}" for at in range(60)]})
    features = Encoding.of(survey(rows)).features(rows)
    assert isinstance(features, sparse.csr_array)
    assert features.has_sorted_indices
    assert features.nnz == 120
    np.testing.assert_array_equal(features.data.reshape(-1, 2)[:, 0], rows["x"])


@pytest.mark.parametrize("width", [3, 60])
def test_rows_of_any_library(width):
    rows = pd.DataFrame(
        {"x": np.arange(60.0), "t": [f"t{at % width}" for at in range(60)], "k": [1, 2] * 30}
    )
    encoding = pickle.loads(pickle.dumps(Encoding.of(survey(rows, categorical=["k"]))))
    expected = dense(encoding.features(rows))
    mixed = rows[["k", "t", "x"]].assign(more=1)
    for other in (
        mixed,
        mixed.astype({"t": "category", "k": float}),
        mixed.astype({"x": "float32", "t": object}),
        pl.from_pandas(mixed),
        pl.from_pandas(mixed).with_columns(pl.col("t").cast(pl.Categorical)),
        pa.Table.from_pandas(mixed),
        pa.table({**rows, "t": pa.array(rows["t"]).cast(pa.large_string()).dictionary_encode()}),
        pa.concat_tables([pa.Table.from_pandas(part) for part in (mixed[:7], mixed[7:])]),
        pa.concat_tables(
            [pa.Table.from_pandas(p.astype({"t": "category"})) for p in (mixed[:7], mixed[7:])]
        ).unify_dictionaries(),
    ):
        np.testing.assert_array_equal(dense(encoding.features(other)), expected)


def test_arrays():
    rows = np.arange(12.0).reshape(4, 3)
    encoding = Encoding.of(survey(rows))
    np.testing.assert_array_equal(encoding.features(rows), rows)
    np.testing.assert_array_equal(encoding.features(sparse.csr_array(rows)), rows)
    with pytest.raises(InputError, match="array of shape"):
        encoding.features(rows[:, :2])


def test_no_rows():
    rows = pd.DataFrame({"x": [1.0, 2.0], "t": ["a", "b"]})
    assert Encoding.of(survey(rows)).features(rows[:0]).shape == (0, 3)
    with pytest.raises(InputError, match="no training rows"):
        Encoding.of(survey(rows[:0]))


@pytest.mark.parametrize("width", [2, 60])
def test_an_unseen_category_is_named_or_nothing(width):
    rows = pd.DataFrame({"x": np.ones(60), "t": [f"t{at % width}" for at in range(60)]})
    encoding = Encoding.of(survey(rows))
    test = pd.DataFrame({"x": [1.0, 2.0], "t": ["t1", "t99"]})
    with pytest.raises(InputError, match=r"^row 2: column 't' is 't99', a category that no"):
        encoding.features(test)
    with pytest.raises(InputError, match=r"^test\.csv, row 8: column 't' is 't99'"):
        encoding.features(test, place=lambda at: Place("test.csv", at + 7))
    features = dense(encoding.features(test, unseen="zeros"))
    np.testing.assert_array_equal(features[:, 0], [1, 2])
    assert features[1, 1:].sum() == 0
    assert features[0, 1:].sum() == 1


def test_a_category_of_the_dictionary_that_no_row_has_is_no_fault():
    rows = pd.DataFrame({"t": ["a", "b"]})
    town = pd.Categorical(["a", "b"], categories=["a", "b", "c"])
    features = Encoding.of(survey(rows)).features(pd.DataFrame({"t": town}))
    np.testing.assert_array_equal(features, np.eye(2))


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"x": [1.0], "tt": ["a"]}, "no column 't'"),
        ({"x": ["1"], "t": ["a"]}, "column 'x' held numbers in the training rows but holds texts"),
        ({"x": [1.0], "t": [1]}, "column 't' held texts in the training rows but holds numbers"),
        ({"x": [np.nan], "t": ["a"]}, "row 1: column 'x' is missing"),
        ({"x": [np.inf], "t": ["a"]}, "row 1: column 'x' is infinite"),
        ({"x": [1.0, 1.0], "t": ["a", None]}, "row 2: column 't' is missing"),
        ({"x": [1.0], "t": [None]}, "row 1: column 't' is missing"),
    ],
)
def test_test_rows_that_do_not_fit(test, words):
    encoding = Encoding.of(survey(pd.DataFrame({"x": [1.0, 2.0], "t": ["a", "b"]})))
    with pytest.raises(InputError, match=words):
        encoding.features(pd.DataFrame(test))


def test_numbers_too_large_to_be_scaled():
    rows = pd.DataFrame({"x": [1e200, -1e200]})
    found = survey(rows)
    assert Encoding.of(found).peak[0] >= 1e200
    with pytest.raises(InputError, match="column 'x' holds numbers too large"):
        Encoding.of(found, standardise=True)
