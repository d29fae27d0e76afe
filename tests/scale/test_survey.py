"""The survey: rows cut anywhere tell what the whole would."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unswayed.exceptions import InputError
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import Batch, HeldPiece
from unswayed.tables.columns import group
from unswayed.tables.encoding import MOST_CATEGORIES, SurveyTask

FORMS = ("pandas", "category", "pyarrow", "polars")


def as_form(rows, form):
    if form == "category":
        return rows.astype({"town": "category"})
    if form == "pyarrow":
        return pa.Table.from_pandas(rows, preserve_index=False)
    return pl.from_pandas(rows) if form == "polars" else rows


def cut(rows, labels, edges, form="pandas"):
    """Pieces of rows, between some edges."""
    edges = [0, *sorted(edges), len(rows)]
    return [
        HeldPiece(f"part {at}", as_form(rows.iloc[a:b], form), labels.iloc[a:b])
        for at, (a, b) in enumerate(itertools.pairwise(edges))
    ]


def survey(pieces, threads=1, **options):
    return LocalPasses(pieces, threads=threads).run(SurveyTask(**options))


def numbers_of(found, what):
    """One of the moments of every column of numbers."""
    return [getattr(each.moments, what) for each in found.columns if not each.is_category]


def categories_of(found):
    return tuple(each.categories for each in found.columns if each.is_category)


@st.composite
def tables(draw, max_rows=40):
    n = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = pd.DataFrame(
        {
            "x": rng.choice([-2.0, -0.0, 0.0, 1.5, 1e6], n),
            "town": rng.choice(["Bonn", "Köln", "", "Ulm"], n),
            "whole": rng.integers(0, 3, n),
            "flag": rng.random(n) < 0.5,
        }
    )
    labels = pd.Series(rng.choice(draw(st.sampled_from([["no", "yes"], [0, 1], [0.5, 2.0]])), n))
    edges = draw(st.lists(st.integers(0, n), max_size=6))
    return rows, labels, edges


@given(tables(), st.sampled_from(FORMS), st.integers(1, 3))
def test_rows_cut_anywhere_tell_what_pandas_says_of_the_whole(problem, form, threads):
    rows, labels, edges = problem
    pieces = cut(rows, labels, edges, form)
    found = survey(pieces, threads, categorical=["whole"])
    assert found.n_rows == len(rows)
    assert [found.rows.get(at, 0) for at in range(len(pieces))] == [len(p.rows) for p in pieces]
    assert [(c.name, c.kind, c.is_category) for c in found.columns] == [
        ("x", "numbers", False),
        ("town", "texts", True),
        ("whole", "numbers", True),
        ("flag", "truth values", False),
    ]
    numbers = rows[["x", "flag"]].astype(float)
    np.testing.assert_array_equal(numbers_of(found, "low"), numbers.min())
    np.testing.assert_array_equal(numbers_of(found, "high"), numbers.max())
    np.testing.assert_allclose(numbers_of(found, "mean"), numbers.mean(), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        numbers_of(found, "variance"), numbers.var(ddof=0), rtol=1e-12, atol=1e-9
    )
    assert categories_of(found) == (frozenset(rows["town"]), frozenset(rows["whole"]))
    assert found.labels.counts == labels.value_counts().to_dict()


@given(tables(), st.sampled_from(FORMS))
def test_distinct_rows_are_those_of_a_groupby(problem, form):
    rows, labels, edges = problem
    found = survey(cut(rows, labels, edges, form)).distinct
    keys = rows.assign(label=labels)
    keys["x"] += 0.0  # pandas tells -0.0 from 0.0 in a MultiIndex
    expected = keys.groupby(list(keys.columns)).size().to_dict()
    table = found.rows.append_column("label", found.labels).to_pylist()
    assert {tuple(row.values()): n for row, n in zip(table, found.counts, strict=True)} == expected
    assert len(found) == len(expected)
    once = keys.drop_duplicates()
    assert [row["town"] for row in table] == once["town"].tolist()  # in order of appearance


@given(tables(), st.integers(0, 40), st.sampled_from([1, 2]))
def test_a_table_of_distinct_rows_is_complete_or_not_there(problem, most, threads):
    rows, labels, edges = problem
    different = len(rows.assign(x=rows["x"] + 0.0, label=labels).drop_duplicates())
    found = survey(cut(rows, labels, edges), threads, most_distinct=most)
    assert (found.distinct is None) == (different > most)


def test_after_too_many_distinct_rows_nobody_groups_any_more():
    rows = pd.DataFrame({"x": np.arange(100.0)})
    task = SurveyTask(most_distinct=30)
    batches = [Batch(rows[a : a + 20], np.zeros(20), np.arange(20)) for a in range(0, 100, 20)]
    piece = HeldPiece("part", rows, np.zeros(100))
    first, second = (task.batch(0, piece, batch) for batch in batches[:2])
    assert first.distinct is not None
    assert (first + second).distinct is None
    assert task.batch(0, piece, batches[2]).distinct is None
    assert pickle.dumps(task) == pickle.dumps(SurveyTask(most_distinct=30))


def test_arrays_have_columns_by_number():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (50, 3)).astype(float)
    labels = rng.integers(0, 2, 50)
    pieces = [HeldPiece("a", rows[:20], labels[:20]), HeldPiece("b", rows[20:], labels[20:])]
    found = survey(pieces)
    assert [column.name for column in found.columns] == ["x0", "x1", "x2"]
    np.testing.assert_allclose(numbers_of(found, "mean"), rows.mean(axis=0))
    assert len(found.distinct) == len(np.unique(np.column_stack([rows, labels]), axis=0))


def test_equal_rows_of_wide_arrays_are_not_looked_for():
    assert survey([HeldPiece("a", np.zeros((5, 65)), np.zeros(5))]).distinct is None


def test_it_is_small_and_travels():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=5000), "town": rng.choice(["a", "b"], 5000)})
    found = survey([HeldPiece("a", rows, pd.Series(rng.normal(size=5000)))], most_distinct=10)
    packed = pickle.dumps(found)
    assert len(packed) < 2000
    again = pickle.loads(packed) + found
    assert again.n_rows == 10_000
    assert again.distinct is None


def test_many_labels_are_not_counted_but_have_a_range():
    labels = pd.Series(np.linspace(-3, 5, 100))
    found = survey(cut(pd.DataFrame({"x": np.zeros(100)}), labels, [30])).labels
    assert found.counts is None
    assert (found.moments.low, found.moments.high) == (-3, 5)


def test_a_piece_with_one_class_only():
    rows, labels = pd.DataFrame({"x": np.arange(6.0)}), pd.Series(list("nnnyyn"))
    assert survey(cut(rows, labels, [3])).labels.counts == {"n": 4, "y": 2}


def test_a_category_that_only_the_last_piece_has():
    rows = pd.DataFrame({"town": ["a"] * 5 + ["z"]})
    found = survey(cut(rows, pd.Series([0, 1] * 3), [2, 5], "category"))
    assert categories_of(found) == (frozenset("az"),)


def test_categories_that_no_row_has_do_not_count():
    town = pd.Categorical(["a", "b"], categories=["a", "b", "c"])
    found = survey([HeldPiece("a", pd.DataFrame({"town": town}), pd.Series([0, 1]))])
    assert categories_of(found) == (frozenset("ab"),)


def test_a_dictionary_with_equal_values_has_one_category():
    twice = pa.DictionaryArray.from_arrays([0, 1, 2], ["a", "a", "b"])
    found = survey([HeldPiece("a", pa.table({"t": twice}), np.zeros(3))])
    assert categories_of(found) == (frozenset("ab"),)
    assert found.distinct.counts.tolist() == [2, 1]


def test_numbers_that_are_categories_of_pandas():
    kind = pd.Categorical([3, 1, 3])
    found = survey([HeldPiece("a", pd.DataFrame({"k": kind}), pd.Series(kind))])
    assert categories_of(found) == (frozenset({1, 3}),)
    assert found.labels.counts == {1: 1, 3: 2}


def test_whole_numbers_here_and_decimals_there_are_the_same_categories():
    pieces = [
        HeldPiece("a", pd.DataFrame({"k": [1, 2]}), [0, 1]),
        HeldPiece("b", pd.DataFrame({"k": [1.0, 2.5]}), [0.0, 1.0]),
    ]
    found = survey(pieces, categorical=["k"])
    assert categories_of(found) == (frozenset({1, 2, 2.5}),)
    assert found.distinct.counts.tolist() == [2, 1, 1]
    assert found.labels.counts == {0: 2, 1: 2}


def refusal(pieces, **options):
    with pytest.raises(InputError) as caught:
        survey(pieces, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("split", [False, True])
def test_an_identifier_is_refused(split):
    n = MOST_CATEGORIES + 1
    rows = pd.DataFrame({"who": [f"id{at}" for at in range(n)]})
    message = refusal(cut(rows, pd.Series(np.zeros(n)), [n // 2] if split else []))
    assert "'who'" in message
    assert "identifier" in message


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("x", np.nan, "column 'x' is missing"),
        ("x", np.inf, "column 'x' is infinite"),
        ("town", None, "column 'town' is missing"),
        ("label", np.nan, "the label is missing"),
        ("label", -np.inf, "the label is infinite"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_bad_cell_is_named(form, column, value, words):
    rows = pd.DataFrame({"x": np.arange(9.0), "town": list("abcabcabc"), "label": np.zeros(9)})
    rows.loc[5, column] = value
    message = refusal(cut(rows[["x", "town"]], rows["label"], [4], form))
    assert message.startswith(f"part 1, row 2: {words};")


def test_a_bad_cell_of_an_array_is_named():
    rows = np.zeros((5, 3))
    rows[3, 1] = np.nan
    assert refusal([HeldPiece("part", rows, np.zeros(5))]).startswith("part, row 4: column 'x1'")


def test_numbers_whose_sum_overflows_are_no_fault():
    rows = pd.DataFrame({"x": [1e308, 1e308, -1e308]})
    assert numbers_of(survey([HeldPiece("a", rows, [0, 1, 1])]), "high") == [1e308]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (pd.DataFrame({"x": ["a"], "z": [1]}), "b: column 'x' holds categories that are texts but"),
        (pd.DataFrame({"x": [1]}), "b: column 'z' is not there"),
        (pd.DataFrame({"x": [1], "z": [1], "w": [1]}), "b: column 'w' is there"),
        (pd.DataFrame({"z": [1], "x": [1]}), "b: its columns are in another order"),
        (pd.DataFrame({"x": [True], "z": [1]}), "b: column 'x' holds truth values but numbers"),
        (pd.DataFrame({"x": pd.to_datetime(["2020-01-01"]), "z": [1]}), "b: column 'x' holds time"),
        (pd.DataFrame({"x": ["a", 2], "z": [1, 1]}), "b: the rows cannot be turned into"),
    ],
)
def test_parts_that_do_not_go_together(other, words):
    first = HeldPiece("a", pd.DataFrame({"x": [1], "z": [1]}), [0])
    assert refusal([first, HeldPiece("b", other, [0] * len(other))]).startswith(words)


def test_labels_of_another_kind():
    rows = pd.DataFrame({"x": [1, 2]})
    pieces = [HeldPiece("a", rows, [0, 1]), HeldPiece("b", rows, ["no", "yes"])]
    assert refusal(pieces).startswith("b: the labels are texts but numbers in a")
    mixed = HeldPiece("b", rows, [0, "yes"])
    assert refusal([pieces[0], mixed]).startswith("b: the labels are not all of one kind")


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 2**32))
def test_groups_are_right_even_if_all_hashes_are_equal(n, d, seed):
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, 3, n).astype(np.uint64) for _ in range(d)]
    first, groups = group(words, mix=lambda rows: np.zeros(len(rows[0]), np.uint64))
    again = group(words)
    np.testing.assert_array_equal(first, again[0])
    np.testing.assert_array_equal(groups, again[1])
    table = np.column_stack(words)
    np.testing.assert_array_equal(table[first][groups], table)
    assert len(first) == len(np.unique(table, axis=0))
