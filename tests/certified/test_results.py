"""What certification returns: groups, frames, witnesses, budgets and coefficients agree."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from unswayed import (
    CertificateSet,
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LinearSmoother,
    Verdict,
    Witness,
    robustness_curve,
)

RNG = np.random.default_rng(2)
N, T = 30, 12
X = RNG.normal(size=(N, 3))
X_TEST = RNG.normal(size=(T, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
LABELS = np.where(Y > 0, "hired", "rejected")
NAMES = ["age", "pay", "<b>size</b>"]


def columns(rows):
    return {name: rows[:, at] for at, name in enumerate(NAMES)}


def classifier(estimator=None, **bias):
    bias = LabelBias.flips(**({"budget": 2} | bias))
    return CertifiedClassifier(Ridge() if estimator is None else estimator, bias=bias)


def regressor(estimator=None, radius=0.3, budget=2):
    estimator = Ridge() if estimator is None else estimator
    return CertifiedRegressor(estimator, bias=LabelBias.shifts(1, budget=budget), radius=radius)


@pytest.fixture
def certificates():
    found = classifier().fit(X, LABELS).certify(X_TEST)
    assert 0 < found.robust.sum() < T  # both verdicts, or the tests below say little
    return found


def made(robust, **more):
    """Certificates with these verdicts and no model behind them."""
    size = len(robust)
    verdict = np.array([Verdict.ROBUST if flag else Verdict.NOT_ROBUST for flag in robust], object)
    return CertificateSet(
        prediction=np.zeros(size),
        score=np.zeros(size),
        low=np.zeros(size),
        high=np.zeros(size),
        inner_low=np.zeros(size),
        inner_high=np.zeros(size),
        error=np.zeros(size),
        verdict=verdict,
        budget=1,
        question="same class",
        method=np.full(size, "exact"),
        **more,
    )


# --- groups -------------------------------------------------------------------------------


def test_groups_have_rates_counts_and_a_gap():
    rates = made([True, True, False, False, False]).by_group(["b", "a", "b", "b", "b"])
    assert rates.groups == ("a", "b")
    assert rates.rate.tolist() == [1.0, 0.25]
    assert rates.count.tolist() == [1, 4]
    assert rates.gap == 0.75
    assert (rates["a"], rates["b"]) == (1.0, 0.25)


def test_the_groups_make_up_the_whole(certificates):
    rates = certificates.by_group(X_TEST[:, 0] > 0)
    assert rates.count.sum() == T
    assert rates.rate @ rates.count / T == pytest.approx(certificates.robustness_rate)


def test_one_group_has_no_gap():
    rates = made([True, False]).by_group([7, 7])
    assert (rates.groups, rates.gap) == ((7,), 0.0)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", None, "a", float("nan")],
        np.array(["a", None, "a", np.nan], dtype=object),
        pd.Series(["a", None, "a", np.nan]),
        pd.Series(["a", pd.NA, "a", pd.NA], dtype=object),
        pd.Series(["a", pd.NA, "a", pd.NA], dtype="category"),
        pl.Series(["a", None, "a", None]),
        pa.array(["a", None, "a", None]),
    ],
    ids=["list", "object", "pandas", "NA", "category", "polars", "pyarrow"],
)
def test_missing_groups_form_one_of_their_own(groups):
    rates = made([True, True, False, False]).by_group(groups)
    assert rates.groups == ("a", "missing")
    assert rates.count.tolist() == [2, 2]
    assert rates.rate.tolist() == [0.5, 0.5]


def test_missing_numbers_form_a_group_of_their_own():
    rates = made([True, False, True]).by_group([1.0, np.nan, np.nan])
    assert rates.groups == (1.0, "missing")
    assert rates.count.tolist() == [1, 2]


@pytest.mark.parametrize("as_given", [list, lambda v: np.array(v, dtype=object), pd.Series])
def test_groups_of_mixed_types_are_kept_apart(as_given):
    rates = made([True, False, False]).by_group(as_given(["1", 1, "x"]))
    assert set(rates.groups) == {"1", 1, "x"}
    assert rates.count.tolist() == [1, 1, 1]
    assert (rates["1"], rates[1]) == (1.0, 0.0)


@pytest.mark.parametrize("groups", [[1, 2], [1] * 4, [[1], [2], [3]], 5, None], ids=str)
def test_groups_of_another_length_are_refused(groups):
    with pytest.raises(InputError, match=r"groups has shape .* but there are 3 certificates; pass"):
        made([True, True, False]).by_group(groups)


def test_rates_print_as_a_table_and_go_into_json():
    rates = made([True, True, False]).by_group(["women", "men", "women"])
    assert str(rates).splitlines() == [
        "men     100.0 %  (1 rows; 20.7 to 100.0)",
        "women   50.0 %  (2 rows; 9.5 to 90.5)",
        "gap     50.0 points  (0.0 to 90.5: within chance)",
    ]
    assert json.loads(json.dumps(rates.to_dict())) == {
        "group": ["men", "women"],
        "rate": [1.0, 0.5],
        "count": [1, 2],
        "low": pytest.approx([0.2065, 0.0945], abs=1e-4),
        "high": pytest.approx([1.0, 0.9055], abs=1e-4),
    }


# --- frames -------------------------------------------------------------------------------

COLUMNS = [
    *("prediction", "score", "low", "high", "error", "verdict"),
    *("minimum_budget", "minimum_budget_proven", "method"),
]


def test_pandas_rows_get_a_pandas_frame_with_their_index():
    model = classifier().fit(pd.DataFrame(columns(X)), LABELS)
    index = pd.Index([f"person {i}" for i in range(T)], name="who")
    certificates = model.certify(pd.DataFrame(columns(X_TEST), index=index))
    frame = certificates.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.equals(index)
    assert frame.columns.tolist() == COLUMNS
    np.testing.assert_array_equal(frame["low"], certificates.low)
    assert frame["verdict"].tolist() == certificates.verdict.tolist()
    assert frame.loc["person 3", "minimum_budget"] == certificates.minimum_budget[3]


@pytest.mark.parametrize(
    ("make", "names"),
    [(pl.DataFrame, lambda f: f.columns), (pa.table, lambda f: f.column_names)],
    ids=["polars", "pyarrow"],
)
@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_polars_and_pyarrow_rows_get_a_frame_of_theirs(make, names, estimator):
    model = classifier(estimator).fit(make(columns(X)), LABELS)
    rows = make(columns(X_TEST))
    certificates = model.certify(rows)
    frame = certificates.to_frame()
    assert type(frame) is type(rows)
    assert list(names(frame)) == COLUMNS
    np.testing.assert_array_equal(np.asarray(frame["high"]), certificates.high)
    np.testing.assert_array_equal(np.asarray(frame["minimum_budget"]), certificates.minimum_budget)


def test_arrays_get_a_pandas_frame(certificates):
    frame = certificates.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == list(range(T))
    np.testing.assert_array_equal(frame["score"], certificates.score)
    assert set(frame["method"]) == {"exact"}


def test_certificates_without_a_model_say_so():
    with pytest.raises(InputError, match=r"carry no model to ask; make them with certify\(\)"):
        made([True]).to_frame()
    with pytest.raises(InputError, match="carry no model to ask"):
        made([False]).witness(0)


# --- prints -------------------------------------------------------------------------------


def test_certificates_print_counts_of_single_rows_and_the_other_two_numbers(certificates):
    robust = int(certificates.robust.sum())
    first, alone, together, random = repr(certificates).splitlines()
    assert first == f"<CertificateSet: {T} rows, same class if up to 2 labels are wrong:"
    assert alone == f"  one at a time: {robust} robust, {T - robust} not-robust"
    assert together.startswith("  together: ")
    assert random.endswith("on average (simulated)>")


def test_the_question_is_echoed():
    within = regressor(radius=0.25).fit(X, Y).certify(X_TEST, budget=1)
    assert within.question == "within 0.25 if up to 1 label is wrong"
    signs = regressor().fit(X, Y).certify_coefficients()
    assert signs.question == "same sign if up to 2 labels are wrong"
    assert repr(signs).startswith("<CertificateSet: 3 coefficients, same sign if")


def test_the_html_escapes_names():
    page = regressor().fit(pd.DataFrame(columns(X)), Y).certify_coefficients()._repr_html_()
    assert "<b>size</b>" not in page
    assert "&lt;b&gt;size&lt;/b&gt;" in page


def test_verdicts_are_strings():
    assert [str(verdict) for verdict in Verdict] == ["robust", "not-robust", "undecided"]
    assert Verdict("robust") is Verdict.ROBUST
    assert Verdict.NOT_ROBUST == "not-robust"
    assert f"{Verdict.UNDECIDED}" == "undecided"


def test_an_undecided_verdict_is_neither_robust_nor_witnessed():
    found = made([True, False])
    found.verdict[0] = Verdict.UNDECIDED
    assert found.robust.tolist() == [False, False]
    assert found.robustness_rate == 0.0
    assert found.witness(0) is None
    assert "1 not-robust, 1 undecided" in repr(found)


# --- witnesses ----------------------------------------------------------------------------


@pytest.mark.parametrize("row", [T, T + 5, -T - 1])
def test_a_row_out_of_range_has_no_witness(certificates, row):
    with pytest.raises(InputError, match=f"row {row} is out of range: there are {T} certificates"):
        certificates.witness(row)


@pytest.mark.parametrize("row", [1.5, "first", None])
def test_a_row_is_a_whole_number(certificates, row):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        certificates.witness(row)


def test_negative_rows_count_from_the_end(certificates):
    for row in range(T):
        found, same = certificates.witness(row), certificates.witness(np.int64(row - T))
        assert (found is None) == (same is None) == certificates.robust[row]
        if found is not None:
            assert found.indices.tolist() == same.indices.tolist()


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (Ridge(), LABELS),
        (RidgeClassifier(), LABELS),
        (RidgeClassifier(alpha=3), np.where(Y > 0, 1, -1)),
        (make_pipeline(StandardScaler(), RidgeClassifier()), Y > 0),
        (KernelRidge(kernel="rbf"), LABELS),
    ],
    ids=["ridge", "signed", "signs", "pipeline", "kernel"],
)
def test_a_witness_replayed_overturns_the_class(estimator, labels):
    model = classifier(estimator, budget=4).fit(X, labels)
    found = model.certify(X_TEST)
    before = model.predict(X_TEST)
    assert not found.robust.all()
    for row in np.flatnonzero(~found.robust):
        witness = found.witness(row)
        changed = labels.copy()
        changed[witness.indices] = witness.labels
        assert (changed != labels).sum() == len(witness) == found.minimum_budget[row]
        again = classifier(estimator).fit(X, changed)
        assert again.predict(X_TEST)[row] != before[row]
        assert again.certify(X_TEST).score[row] == pytest.approx(witness.score, rel=1e-9, abs=1e-12)


def test_a_witness_prints_in_one_line():
    witness = Witness(np.array([3]), np.array(["yes"]), 0.25)
    assert str(witness) == "1 label change moves the score to 0.25"
    witness = Witness(np.array([1, 2]), np.array([0.5, 7]), 1 / 3)
    assert str(witness) == "2 label changes move the score to 0.333333"
    assert len(witness) == 2


# --- budgets ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (classifier(), LABELS),
        (classifier(RidgeClassifier()), LABELS),
        (classifier(where=Y > 0, direction="down"), np.where(Y > 0, 1, 0)),
        (regressor(radius=0.4), Y),
        (regressor(KernelRidge(kernel="rbf"), radius=1.0), Y),
    ],
    ids=["classifier", "signed", "targeted", "regressor", "kernel"],
)
def test_the_minimum_budget_agrees_with_certify_at_every_budget(model, labels):
    model.fit(X, labels)
    least = model.minimum_budget(X_TEST)
    curve = robustness_curve(least)
    for budget in range(N + 1):
        found = model.certify(X_TEST, budget=budget)
        np.testing.assert_array_equal(found.robust, least > budget)
        np.testing.assert_array_equal(found.minimum_budget, least)
        assert found.robustness_rate == np.mean(least > budget) == pytest.approx(curve(budget))
    assert (least > 0).all()


def test_what_may_not_move_never_breaks():
    model = classifier(where=np.zeros(N, dtype=bool)).fit(X, LABELS)
    assert np.isinf(model.minimum_budget(X_TEST)).all()
    found = model.certify(X_TEST, budget=N)
    assert found.robustness_rate == 1.0
    assert (found.high - found.low <= 3 * found.error).all()
    assert found.error.max() < 1e-11


# --- masks and directions -----------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, lambda rows: pd.DataFrame(columns(rows))])
def test_a_function_chooses_rows_by_features_and_labels_as_given(make):
    seen = {}

    def young_rejected(X, y):
        seen.update(X=X, y=y)
        age = X["age"].to_numpy() if isinstance(X, pd.DataFrame) else X[:, 0]
        return (age < 0) & (np.asarray(y) == "rejected")

    rows = make(X)
    by_function = classifier(where=young_rejected).fit(rows, LABELS).certify(make(X_TEST))
    assert type(seen["X"]) is type(rows)
    np.testing.assert_array_equal(seen["X"], rows)
    np.testing.assert_array_equal(seen["y"], LABELS)
    mask = (X[:, 0] < 0) & (LABELS == "rejected")
    by_mask = classifier(where=mask).fit(rows, LABELS).certify(make(X_TEST))
    np.testing.assert_array_equal(by_function.low, by_mask.low)
    assert by_mask.low.min() < by_mask.score.min()


@pytest.mark.parametrize("estimator", [Ridge(), RidgeClassifier()], ids=["0-1", "signed"])
@pytest.mark.parametrize(("direction", "onto"), [("up", "rejected"), ("down", "hired")])
def test_a_direction_moves_labels_one_way_only(estimator, direction, onto):
    # In sorted order "rejected" is second: upwards is towards it.
    found = classifier(estimator, direction=direction, budget=N).fit(X, LABELS).certify(X_TEST)
    assert not found.robust.all()
    for row in np.flatnonzero(~found.robust):
        witness = found.witness(row)
        assert set(witness.labels) == {onto}
        assert onto not in LABELS[witness.indices]


def test_ridge_classifier_flips_move_a_label_by_two():
    model = classifier(RidgeClassifier(), budget=1).fit(X, LABELS)
    weights = np.abs(
        [
            Ridge().fit(X, np.eye(N)[row]).predict(X_TEST)  # the influence of one label
            for row in range(N)
        ]
    )
    found = model.certify(X_TEST)
    reach = np.maximum(found.high - found.score, found.score - found.low)
    np.testing.assert_allclose(reach, 2 * weights.max(axis=0), rtol=1e-9)


# --- coefficients -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), Ridge(), Ridge(fit_intercept=False), make_pipeline(PCA(2), Ridge())],
    ids=["least-squares", "ridge", "through-0", "pipeline"],
)
def test_coefficients_are_the_estimators_own(estimator):
    model = regressor(estimator).fit(X, Y)
    final = model.estimator_[-1] if hasattr(model.estimator_, "steps") else model.estimator_
    found = model.certify_coefficients()
    np.testing.assert_allclose(found.score, final.coef_.ravel(), rtol=1e-9)
    assert (found.low <= found.score).all()
    assert (found.score <= found.high).all()


def test_coefficients_of_a_ridge_classifier_are_its_own():
    model = classifier(RidgeClassifier()).fit(X, LABELS)
    np.testing.assert_allclose(
        model.certify_coefficients().score, model.estimator_.coef_.ravel(), rtol=1e-9
    )


def test_coefficients_with_more_features_than_rows_are_the_estimators_own():
    wide = RNG.normal(size=(N, N + 8))
    model = regressor(Ridge(alpha=2)).fit(wide, Y)
    found = model.certify_coefficients(budget=1)
    np.testing.assert_allclose(found.score, model.estimator_.coef_, rtol=1e-8)
    moved = [Ridge(alpha=2).fit(wide, Y + shift).coef_ for shift in (*np.eye(N), *-np.eye(N))]
    np.testing.assert_allclose(found.high, np.max(moved, axis=0), atol=1e-8)
    np.testing.assert_allclose(found.low, np.min(moved, axis=0), atol=1e-8)


def test_a_witness_of_a_coefficient_flips_its_sign():
    found = regressor(budget=N).fit(X, Y).certify_coefficients()
    assert not found.robust.all()
    for at in np.flatnonzero(~found.robust):
        witness = found.witness(at)
        changed = Y.copy()
        changed[witness.indices] = witness.labels
        moved = Ridge().fit(X, changed).coef_[at]
        assert np.sign(moved) != np.sign(found.score[at])
        assert moved == pytest.approx(witness.score, rel=1e-9)
        assert len(witness) == found.minimum_budget[at]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_coefficients_are_named_after_the_columns(make):
    found = regressor().fit(make(columns(X)), Y).certify_coefficients()
    assert found.names == tuple(NAMES)
    assert np.asarray(found.to_frame()["name"]).tolist() == NAMES


def test_coefficients_of_arrays_get_numbered_names():
    assert regressor().fit(X, Y).certify_coefficients().names == ("x0", "x1", "x2")


def test_a_pipeline_names_what_it_makes():
    colour = np.array(["red", "blue", "green"])[RNG.integers(3, size=N)]
    frame = pd.DataFrame({"colour": colour, "age": X[:, 0]})
    estimator = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["colour"]), (StandardScaler(), ["age"])
        ),
        Ridge(),
    )
    found = regressor(estimator).fit(frame, Y).certify_coefficients()
    assert found.names == (
        "onehotencoder__colour_blue",
        "onehotencoder__colour_green",
        "onehotencoder__colour_red",
        "standardscaler__age",
    )


def test_a_transformer_without_names_gets_numbered_ones():
    estimator = make_pipeline(FunctionTransformer(np.tanh), Ridge())
    found = regressor(estimator).fit(X, Y).certify_coefficients()
    assert found.names == ("x0", "x1", "x2")


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (KernelRidge(), "KernelRidge"),
        (make_pipeline(StandardScaler(), KernelRidge()), "KernelRidge"),
        (LinearSmoother(lambda train, rows: rows @ train.T), "LinearSmoother"),
    ],
    ids=["kernel", "pipeline", "smoother"],
)
def test_what_has_no_coefficients_says_so(estimator, name):
    with pytest.raises(InputError, match=f"{name} has no coefficients; certify its predictions"):
        regressor(estimator).fit(X, Y).certify_coefficients()
