"""Estimators on rows in pieces: the same certificates as on the same rows in memory."""

import pickle
import re
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from tests.effort import examples
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, cross_certify
from unswayed.estimators import fit_in_pieces
from unswayed.exceptions import BiasError, InputError, UnprovenWarning

NUMBERS = ["age", "hours"]
FEATURES = [*NUMBERS, "job"]


def people(n_rows=600, seed=0):
    """A frame of numbers, a category and labels of two kinds."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, size=n_rows).astype(float),
            "hours": rng.normal(40, 8, size=n_rows).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "driver", "nurse"], size=n_rows)),
        }
    )
    score = (frame["age"] - 45) / 20 + (frame["job"] == "nurse") + rng.normal(size=n_rows)
    frame["hired"] = np.where(score > 0, "yes", "no")
    frame["wage"] = (20 + 3 * score).round(2)
    return frame


@pytest.fixture(params=["streamed", "merged"])
def engine(request, monkeypatch):
    """With few different rows they are held in memory; here a few are many already."""
    if request.param == "streamed":
        monkeypatch.setattr(fit_in_pieces, "MOST_DISTINCT", 5)
    return request.param


def equal(found, known):
    """Certificates say the same, up to their errors."""
    assert found.verdict.tolist() == known.verdict.tolist()
    if known.prediction.dtype.kind == "f":
        assert found.prediction == pytest.approx(known.prediction, rel=1e-12)
    else:
        assert found.prediction.tolist() == known.prediction.tolist()
    error = found.error + known.error
    for name in ("score", "low", "high", "inner_low", "inner_high"):
        # An end is widened by the error once more.
        gap = np.abs(getattr(found, name) - getattr(known, name))
        assert (gap <= 2 * error + 1e-15).all(), name


def encoded(estimator):
    """What makes of a frame in memory what pieces make of it: categories in their place."""
    encode = make_column_transformer(
        ("passthrough", NUMBERS), (OneHotEncoder(sparse_output=False), ["job"])
    )
    return make_pipeline(encode, clone(estimator))


@pytest.mark.parametrize(
    "estimator", [Ridge(alpha=3.0), RidgeClassifier(alpha=2.0), LinearRegression()], ids=str
)
@pytest.mark.parametrize("partitions", [1, 7])
def test_a_classifier_says_the_same_of_a_dask_frame(engine, estimator, partitions):
    frame, bias = people(), LabelBias.flips(budget=0.02)
    lazy = dd.from_pandas(frame, npartitions=partitions)
    model = CertifiedClassifier(estimator, bias=bias).fit(lazy[FEATURES], lazy["hired"])
    known = CertifiedClassifier(encoded(estimator), bias=bias).fit(frame[FEATURES], frame["hired"])
    tests = people(40, seed=1)[FEATURES]
    assert type(model.fitted_.engine).__name__.lower() == f"{engine}engine"
    assert model.predict(tests).tolist() == known.predict(tests).tolist()
    assert model.classes_.tolist() == ["no", "yes"]
    certs, in_memory = model.certify(tests), known.certify(tests)
    equal(certs, in_memory)
    assert certs.minimum_budget.tolist() == in_memory.minimum_budget.tolist()
    for method in ("auto", "sandwich", "box"):
        other = model.certify(tests, method=method).verdict
        agree = (other == certs.verdict) | (other == "undecided")
        assert agree.all()
        assert method != "auto" or (other == certs.verdict).all()
    alone = model.certify(tests, ranges=False)
    assert alone.verdict.tolist() == certs.verdict.tolist()


def test_a_regressor_says_the_same(engine):
    frame, bias = people(), LabelBias.shifts((-2, 3), budget=9, clip=(0, None))
    lazy = dd.from_pandas(frame, npartitions=5)
    estimator = Ridge(alpha=0.5)
    model = CertifiedRegressor(estimator, bias=bias, radius=0.4).fit(lazy[NUMBERS], lazy["wage"])
    known = CertifiedRegressor(estimator, bias=bias, radius=0.4).fit(frame[NUMBERS], frame["wage"])
    tests = people(30, seed=1)[NUMBERS]
    equal(model.certify(tests), known.certify(tests))
    assert np.allclose(model.predict(tests), known.predict(tests), rtol=1e-12)
    equal(model.certify_coefficients(), known.certify_coefficients())


@pytest.mark.parametrize("standardise", [False, True])
def test_arrays_say_the_same(engine, standardise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) * [1, 10, 0.1, 1000] + 5
    y = (X[:, 0] + rng.normal(size=500) > 5).astype(int)
    estimator = make_pipeline(StandardScaler(), Ridge()) if standardise else Ridge()
    bias = LabelBias.flips(budget=6, direction="up")
    lazy = da.from_array(X, chunks=(120, 2)), da.from_array(y, chunks=120)
    model = CertifiedClassifier(estimator, bias=bias).fit(*lazy)
    known = CertifiedClassifier(estimator, bias=bias).fit(X, y)
    equal(model.certify(X[:50]), known.certify(X[:50]))
    assert model.n_features_in_ == 4
    assert np.allclose(model.estimator_.predict(X[:9]), known.estimator_.predict(X[:9]))


def test_a_witness_names_its_rows_and_refitting_shows_the_change(engine):
    frame, bias = people(), LabelBias.flips(budget=0.05)
    lazy = dd.from_pandas(frame, npartitions=4)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(lazy[NUMBERS], lazy["hired"])
    known = CertifiedClassifier(Ridge(), bias=bias).fit(frame[NUMBERS], frame["hired"])
    tests = people(25, seed=2)[NUMBERS]
    certs, in_memory = model.certify(tests), known.certify(tests)
    broken = np.flatnonzero(certs.verdict == "not-robust")
    assert len(broken) > 3
    sizes = lazy.map_partitions(len).compute().tolist()
    for row in broken.tolist():
        found, same = certs.witness(row), in_memory.witness(row)
        assert found.indices.tolist() == same.indices.tolist()
        assert found.labels.tolist() == same.labels.tolist()
        assert found.score == pytest.approx(same.score, abs=1e-9)
        starts = np.cumsum([0, *sizes])
        for index, place in zip(found.indices, found.places, strict=True):
            partition = int(place.file.removeprefix("partition "))
            assert starts[partition] + place.row - 1 == index
        changed = frame["hired"].to_numpy().copy()
        changed[found.indices] = found.labels
        refitted = Ridge().fit(frame[NUMBERS], changed == "yes")
        assert (refitted.predict(tests)[row] > 0.5) != (certs.prediction[row] == "yes")


def test_where_is_asked_about_every_batch(engine):
    frame, bias = people(), LabelBias.flips(budget=9, where=lambda X, y: X["age"] > 50)
    lazy = dd.from_pandas(frame, npartitions=6)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(lazy[NUMBERS], lazy["hired"])
    known = CertifiedClassifier(Ridge(), bias=bias).fit(frame[NUMBERS], frame["hired"])
    equal(model.certify(frame[NUMBERS][:50]), known.certify(frame[NUMBERS][:50]))


def test_where_must_look_at_each_row_by_itself(engine):
    lazy = dd.from_pandas(people(), npartitions=2)
    bias = LabelBias.flips(budget=9, where=lambda X, y: X["age"] > X["age"].mean())
    model = CertifiedClassifier(Ridge(), bias=bias)
    with pytest.raises(BiasError, match="look at each row by itself"):
        model.fit(lazy[NUMBERS], lazy["hired"])


@given(st.data())
@settings(max_examples=examples(25), deadline=None)
def test_any_cut_and_any_budget_say_the_same(data):
    n_rows = data.draw(st.integers(2, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    X = rng.integers(0, 4, size=(n_rows, 2)).astype(float)
    y = np.resize([0, 1], n_rows)
    rng.shuffle(y)
    sizes = np.diff(
        [0, *np.sort(rng.integers(0, n_rows + 1, size=data.draw(st.integers(0, 4)))), n_rows]
    )
    chunks = tuple(int(size) for size in sizes if size)
    lazy = da.from_array(X, chunks=(chunks, 2)), da.from_array(y, chunks=(chunks,))
    bias = LabelBias.flips(budget=data.draw(st.integers(0, n_rows)))
    most = data.draw(st.sampled_from([0, 2**18]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_in_pieces, "MOST_DISTINCT", most)
        model = CertifiedClassifier(Ridge(alpha=0.7), bias=bias).fit(*lazy)
        certs, least = model.certify(X[:8]), model.minimum_budgets(X[:8])
    known = CertifiedClassifier(Ridge(alpha=0.7), bias=bias).fit(X, y)
    in_memory, budgets = known.certify(X[:8]), known.minimum_budgets(X[:8])
    undecided = (certs.verdict == "undecided") | (in_memory.verdict == "undecided")
    assert ((certs.verdict == in_memory.verdict) | undecided).all()
    unknown = np.isnan(least.low) | np.isnan(budgets.low)
    assert (((least.low <= budgets.high) & (budgets.low <= least.high)) | unknown).all()


def test_the_example_of_the_documents_runs(tmp_path, monkeypatch):
    document = Path(__file__).parents[2] / "docs" / "scale.md"
    (block,) = re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.S)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(block, names)
    assert len(names["certs"]) == 100


# --- what cannot be had in pieces, and bad input ----------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CertifiedClassifier(KernelRidge(), bias=LabelBias.flips(budget=1)), "KernelRidge"),
        (
            CertifiedClassifier(
                make_pipeline(MinMaxScaler(), Ridge()), bias=LabelBias.flips(budget=1)
            ),
            "MinMaxScaler",
        ),
        (
            CertifiedClassifier(
                Ridge(), bias=LabelBias.flips(budget=1, where=np.ones(600, dtype=bool))
            ),
            "a mask",
        ),
        (
            CertifiedClassifier(
                Ridge(), bias=LabelBias.intervals(np.zeros(600), np.ones(600), budget=1)
            ),
            "intervals",
        ),
        (
            CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1), threshold="balanced"),
            "balanced",
        ),
    ],
    ids=["kernel", "step", "mask", "intervals", "balanced"],
)
def test_what_needs_all_rows_is_refused_by_name(model, message):
    lazy = dd.from_pandas(people(), npartitions=2)
    with pytest.raises((InputError, BiasError), match=message):
        model.fit(lazy[NUMBERS], lazy["hired"])


@pytest.mark.parametrize("estimator", [Ridge(), RidgeClassifier()])
def test_three_or_more_classes_are_refused_when_they_are_fitted(engine, estimator):
    frame = people().assign(hired=np.arange(600) % 3)
    lazy = dd.from_pandas(frame, npartitions=2)
    model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=1))
    with pytest.raises(InputError, match=r"3 classes.*rows that are in memory"):
        model.fit(lazy[NUMBERS], lazy["hired"])
    model.fit(lazy[NUMBERS], lazy["hired"] == 1)


def test_questions_that_need_all_rows_are_refused(tmp_path):
    lazy = dd.from_pandas(people(), npartitions=2)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1))
    with pytest.raises(InputError, match="sample_weight"):
        model.fit(lazy[NUMBERS], lazy["hired"], sample_weight=np.ones(600))
    model.fit(lazy[NUMBERS], lazy["hired"])
    tests = people(5)[NUMBERS]
    with pytest.raises(InputError, match="rational arithmetic"):
        model.certify(tests, resolve="exact")
    certs = model.certify(tests)
    with pytest.raises(InputError, match="in pieces"):
        certs.save(tmp_path / "claims.json")
    for ask in (model.certify_together, lambda rows: model.certify_metric(rows, "accuracy")):
        with pytest.raises(InputError, match="in pieces"):
            ask(tests)
    with pytest.raises(InputError, match="in pieces"):
        certs.report(tmp_path / "page.html")


def test_lazy_test_rows_and_lazy_folds_are_refused_and_say_what_to_pass():
    lazy = dd.from_pandas(people(), npartitions=2)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1))
    with pytest.raises(InputError, match="cross_certify takes rows that are in memory"):
        cross_certify(model, lazy[NUMBERS], lazy["hired"], cv=3)
    model.fit(lazy[NUMBERS], lazy["hired"])
    with pytest.raises(InputError, match=r"X.compute\(\)"):
        model.certify(lazy[NUMBERS])


def test_columns_that_depend_on_one_another_are_certified_where_that_is_certain(engine):
    frame = people()
    frame["same"] = 7.0
    lazy, bias = dd.from_pandas(frame, npartitions=3), LabelBias.flips(budget=4)
    names = [*FEATURES, "same"]
    model = CertifiedClassifier(LinearRegression(), bias=bias).fit(lazy[names], lazy["hired"])
    certs = model.certify(frame[names][:40])
    assert not (certs.verdict == "undecided").any()
    known = CertifiedClassifier(encoded(LinearRegression()), bias=bias)
    equal(certs, known.fit(frame[FEATURES], frame["hired"]).certify(frame[FEATURES][:40]))
    twice = lazy.assign(twice=lazy["age"] * 2)
    with pytest.warns(UnprovenWarning, match=r"UNDECIDED; alpha > 0"):
        model.fit(twice[["age", "twice"]], twice["hired"]).certify(frame[["age"]].assign(twice=1.0))


def test_rows_that_change_between_passes_are_noticed(monkeypatch):
    monkeypatch.setattr(fit_in_pieces, "MOST_DISTINCT", 5)
    frame, draws = people(), iter(range(1000))

    def shuffled(part):
        return part.assign(hired=part["hired"].sample(frac=1, random_state=next(draws)).to_numpy())

    lazy = dd.from_pandas(frame, npartitions=2).map_partitions(shuffled, meta=frame)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3))
    model.fit(lazy[NUMBERS], lazy["hired"])
    with pytest.raises(InputError, match="changed since the first pass"):
        model.certify(frame[NUMBERS][:5])


@pytest.mark.parametrize("broken", ["label", "feature"])
def test_a_missing_value_is_named_by_partition_and_row(broken):
    frame = people()
    frame.loc[437, "hired" if broken == "label" else "age"] = None
    lazy = dd.from_pandas(frame, npartitions=4, sort=False)
    sizes = lazy.map_partitions(len).compute().tolist()
    at = int(np.searchsorted(np.cumsum(sizes), 437, side="right"))
    row = 437 - sum(sizes[:at]) + 1
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1))
    with pytest.raises(InputError, match=f"partition {at}, row {row}\\b"):
        model.fit(lazy[NUMBERS], lazy["hired"])


def test_one_class_in_a_partition_is_fine_but_not_in_all():
    frame = people().sort_values("hired", ignore_index=True)
    lazy = dd.from_pandas(frame, npartitions=5)
    bias = LabelBias.flips(budget=3)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(lazy[NUMBERS], lazy["hired"])
    known = CertifiedClassifier(Ridge(), bias=bias).fit(frame[NUMBERS], frame["hired"])
    equal(model.certify(frame[NUMBERS][:20]), known.certify(frame[NUMBERS][:20]))
    with pytest.raises(InputError, match="one class"):
        model.fit(lazy[NUMBERS], lazy["hired"].str.slice(0, 0))


def test_a_category_of_the_last_partition_counts_and_an_unseen_one_is_named(engine):
    frame = people()
    frame["job"] = frame["job"].astype(str)
    frame.loc[599, "job"] = "pilot"
    lazy = dd.from_pandas(frame, npartitions=6, sort=False)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3))
    model.fit(lazy[FEATURES], lazy["hired"])
    assert "job = pilot" in model.fitted_.names
    tests = frame[FEATURES][-3:].copy()
    assert len(model.certify(tests)) == 3
    tests["job"] = "astronaut"
    with pytest.raises(InputError, match="astronaut"):
        model.certify(tests)


def test_a_fit_in_pieces_can_be_copied_but_for_what_dask_holds():
    frame = people(50)
    lazy = dd.from_pandas(frame, npartitions=2)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1))
    model.fit(lazy[NUMBERS], lazy["hired"])
    copy = pickle.loads(pickle.dumps(model))
    tests = frame[NUMBERS][:5]
    equal(copy.certify(tests), model.certify(tests))
