"""Bad input gets a clear error and costs nothing; every way of writing labels is welcome."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    UnswayedError,
    VacuousWarning,
)

RNG = np.random.default_rng(11)
N = 20
X = RNG.normal(size=(N, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
POSITIVE = Y > 0
LABELS = POSITIVE.astype(int)
FLIPS = LabelBias.flips(budget=2)
SHIFTS = LabelBias.shifts(1, budget=2)

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
every_library = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
ESTIMATORS = {"bare": Ridge(), "pipeline": make_pipeline(StandardScaler(), Ridge())}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def classifier(estimator=None, bias=FLIPS):
    return CertifiedClassifier(Ridge() if estimator is None else estimator, bias=bias)


def regressor(estimator=None, bias=SHIFTS, radius=0.5):
    estimator = Ridge() if estimator is None else estimator
    return CertifiedRegressor(estimator, bias=bias, radius=radius)


def columns(rows=X):
    return {name: rows[:, at] for at, name in enumerate("abc")}


def spoilt(value, at=(4, 1)):
    rows = X.copy()
    rows[at] = value
    return rows


# --- features -----------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize(
    ("value", "said"), [(np.nan, "contains NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_features_that_are_not_finite_are_refused(estimator, value, said):
    with pytest.raises(ValueError, match=said):
        regressor(estimator).fit(spoilt(value), Y)
    model = regressor(estimator).fit(X, Y)
    for ask in (model.certify, model.minimum_budget, model.predict):
        with pytest.raises(ValueError, match=said):
            ask(spoilt(value))


@every_library
def test_missing_values_in_frames_are_refused(frame):
    with pytest.raises(ValueError, match="NaN"):
        regressor().fit(frame(columns(spoilt(np.nan))), Y)


def test_missing_values_are_an_imputers_business():
    imputed = make_pipeline(SimpleImputer(), Ridge())
    model = regressor(imputed).fit(spoilt(np.nan), Y)
    np.testing.assert_allclose(
        model.certify(spoilt(np.nan)).score, imputed.fit(spoilt(np.nan), Y).predict(spoilt(np.nan))
    )


def test_sparse_rows_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        regressor().fit(sparse.csr_array(spoilt(np.nan)), Y)


@every_estimator
def test_no_rows_are_refused(estimator):
    nothing = np.empty((0, 3))
    with pytest.raises(ValueError, match=r"0 sample|no rows"):
        regressor(estimator).fit(nothing, [])
    with pytest.raises(ValueError, match=r"0 sample|no rows"):
        regressor(estimator).fit(X, Y).certify(nothing)


@every_library
@every_estimator
def test_no_rows_in_a_frame_are_refused(frame, estimator):
    nothing = frame({"a": np.empty(0), "b": np.empty(0), "c": np.empty(0)})
    with pytest.raises(ValueError, match=r"0 sample|no rows"):
        regressor(estimator).fit(nothing, [])


@every_estimator
def test_a_lazy_frame_is_refused_with_a_hint(estimator):
    lazy = pl.DataFrame(columns()).lazy()
    with pytest.raises(InputError, match=r"X is a lazy frame.*pass X.collect\(\)"):
        regressor(estimator).fit(lazy, Y)
    with pytest.raises(InputError, match=r"pass X.collect\(\)"):
        regressor(estimator).fit(X, Y).certify(lazy)


def test_a_column_name_used_twice_is_refused():
    with pytest.raises(ValueError, match=r"unique column names, got:\n- 'a' 2 times"):
        regressor().fit(pd.DataFrame(X, columns=["a", "a", "b"]), Y)


def test_no_columns_are_refused():
    with pytest.raises(ValueError, match=r"0 feature"):
        regressor().fit(np.empty((N, 0)), Y)


def test_one_row_alone_is_not_a_matrix():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        regressor().fit(X, Y).certify(X[0])


@every_library
def test_text_for_a_bare_estimator_is_refused_by_column(frame):
    rows = frame(columns() | {"colour": ["red", "blue"] * (N // 2)})
    with pytest.raises(InputError, match=r"column 'colour' holds text values; a bare .* Pipeline"):
        regressor().fit(rows, Y)


@every_library
def test_dates_for_a_bare_estimator_are_refused_by_column(frame):
    rows = frame(columns() | {"day": [datetime.datetime(2020, 1, 1)] * N})
    with pytest.raises(InputError, match=r"column 'day' holds Datetime.* values"):
        regressor().fit(rows, Y)


# --- test rows unlike the training rows -----------------------------------------------------


@every_estimator
@pytest.mark.parametrize("width", [2, 4])
def test_arrays_of_another_width_are_refused(estimator, width):
    model = regressor(estimator).fit(X, Y)
    for ask in (model.certify, model.minimum_budget, model.predict):
        with pytest.raises(ValueError, match=rf"X has {width} features, but .* is expecting 3"):
            ask(np.zeros((4, width)))


@every_library
@every_estimator
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: {"b": c["b"], "a": c["a"], "c": c["c"]}, "must be in the same order"),
        (lambda c: {"a": c["a"], "b": c["b"]}, r"seen at fit time, yet now missing:\n- c"),
        (lambda c: c | {"d": c["a"]}, r"unseen at fit time:\n- d"),
        (lambda c: {"a": c["a"], "b": c["b"], "z": c["c"]}, r"unseen at fit time:\n- z"),
        (lambda c: c | {"b": ["high"] * N}, "column 'b' holds text values but the model was fit"),
        (
            lambda c: c | {"b": [datetime.datetime(2020, 1, 1)] * N},
            "column 'b' holds Datetime.* values but the model was fitted on numeric ones; convert",
        ),
    ],
    ids=["order", "missing", "more", "renamed", "text", "dates"],
)
def test_frames_of_other_columns_are_refused(frame, estimator, change, said):
    model = regressor(estimator).fit(frame(columns()), Y)
    other = frame(change(columns()))
    for ask in (model.certify, model.minimum_budget, model.predict):
        with pytest.raises(ValueError, match=said):
            ask(other)


@every_library
def test_numbers_where_text_was_are_refused(frame):
    encoded = make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), Ridge())
    model = regressor(encoded).fit(frame({"colour": ["red", "blue"] * (N // 2)}), Y)
    with pytest.raises(InputError, match=r"column 'colour' holds numeric values but .* text ones"):
        model.certify(frame({"colour": [1.0, 2.0]}))


@every_library
def test_other_numbers_are_the_same_kind(frame):
    model = regressor().fit(frame(columns()), Y)
    whole = np.round(X).astype(np.int32)
    np.testing.assert_allclose(
        model.certify(frame(columns(whole))).score, Ridge().fit(X, Y).predict(whole)
    )


def test_frames_of_one_library_answer_for_another():
    model = regressor().fit(pd.DataFrame(columns()), Y)
    expected = model.certify(pd.DataFrame(columns())).high
    np.testing.assert_array_equal(model.certify(pl.DataFrame(columns())).high, expected)
    np.testing.assert_array_equal(model.certify(pa.table(columns())).high, expected)


# --- labels -------------------------------------------------------------------------------


def written(negative, positive):
    return [positive if flag else negative for flag in POSITIVE]


WAYS = {
    "ints": np.array(written(0, 1)),
    "floats": np.array(written(0.0, 1.0)),
    "signs": written(-1, 1),
    "other-ints": written(3, 8),
    "bools": POSITIVE,
    "list-of-bools": POSITIVE.tolist(),
    "text": written("no", "yes"),
    "object-text": np.array(written("no", "yes"), dtype=object),
    "object-ints": np.array(written(0, 1), dtype=object),
    "object-bools": np.array(written(False, True), dtype=object),
    "pandas-text": pd.Series(written("no", "yes"), index=range(100, 100 + N)),
    "pandas-category": pd.Series(written("no", "yes"), dtype="category"),
    "pandas-nullable": pd.Series(written(0, 1), dtype="Int64"),
    "pandas-nullable-bools": pd.Series(written(False, True), dtype="boolean"),
    "polars-text": pl.Series(written("no", "yes")),
    "polars-category": pl.Series(written("no", "yes"), dtype=pl.Categorical),
    "polars-bools": pl.Series(written(False, True)),
    "pyarrow-text": pa.array(written("no", "yes")),
    "pyarrow-chunks": pa.chunked_array([written(0, 1)]),
    "pyarrow-dictionary": pa.array(written("no", "yes")).dictionary_encode(),
}


@pytest.mark.parametrize("labels", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("estimator", [Ridge(), RidgeClassifier()], ids=["0-1", "signed"])
def test_labels_may_be_written_in_any_way(labels, estimator):
    model = classifier(estimator).fit(X, labels)
    certificates = model.certify(X)
    expected = classifier(estimator).fit(X, LABELS).certify(X)
    np.testing.assert_array_equal(certificates.low, expected.low)
    np.testing.assert_array_equal(certificates.high, expected.high)
    assert (model.predict(X) == model.classes_[(certificates.score > model.threshold_) * 1]).all()
    row = int(np.flatnonzero(~certificates.robust)[0])
    assert set(certificates.witness(row).labels.tolist()) <= set(model.classes_.tolist())


def test_the_second_label_in_sorted_order_is_the_positive_one():
    model = classifier().fit(X, written("yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(
        model.certify(X).score, 1 - classifier().fit(X, LABELS).certify(X).score
    )


@pytest.mark.parametrize(
    "labels",
    [
        [np.nan, *written(0.0, 1.0)[1:]],
        [np.inf, *written(0.0, 1.0)[1:]],
        [None, *written("no", "yes")[1:]],
        [None, *written(0, 1)[1:]],
        [np.nan, *written("no", "yes")[1:]],
        [np.nan, *["yes"] * (N - 1)],
        pd.Series([pd.NA, *written(0, 1)[1:]], dtype="Int64"),
        pd.Series([pd.NA, *written("no", "yes")[1:]], dtype=object),
        pd.Series([None, *written("no", "yes")[1:]]),
        pl.Series([None, *written("no", "yes")[1:]]),
        pl.Series([None, *written(0, 1)[1:]]),
        pa.array([None, *written("no", "yes")[1:]]),
    ],
    ids=str,
)
def test_missing_labels_are_refused_by_row(labels):
    with pytest.raises(InputError, match=r"y contains NaN or infinity \(first at row 0\); drop"):
        classifier().fit(X, labels)


@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_missing_numbers_are_refused_by_row(value):
    labels = [*Y[:7], value, *Y[8:]]
    with pytest.raises(InputError, match=r"y contains NaN or infinity \(first at row 7\)"):
        regressor().fit(X, labels)


def test_one_class_is_refused():
    with pytest.raises(InputError, match=r"y has one class.*at least two values"):
        classifier().fit(X, np.ones(N))


@pytest.mark.parametrize("labels", [np.arange(N) % 3, ["a", "b", "c", "d"] * (N // 4)], ids=str)
def test_more_than_two_classes_are_refused_for_models_that_have_two(labels):
    bias = LabelBias.flips(budget=1)
    with pytest.raises(InputError, match=r"y has [34] classes.*is certified for two.*RidgeClass"):
        CertifiedClassifier(LogisticRegression(), bias=bias).fit(X, labels)
    with pytest.raises(InputError, match=r"threshold=0.5 tells two classes apart.*leave it out"):
        CertifiedClassifier(Ridge(), bias=bias, threshold=0.5).fit(X, labels)
    with pytest.raises(BiasError, match=r"direction='up' is for numbers and for two classes"):
        CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1, direction="up")).fit(X, labels)
    with pytest.raises(BiasError, match=r"to names 'z', which is no class"):
        CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1, to={"z": ["a"]})).fit(X, labels)
    with pytest.raises(BiasError, match=r"to must say which classes.*pass a dict"):
        CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1, to=["a"])).fit(X, labels)


def test_to_says_which_of_two_classes_may_be_wrong():
    labels = ["a", "b"] * (N // 2)
    given = LabelBias.flips(budget=3, to={"b": "a"})
    same = LabelBias.flips(budget=3, direction="down")
    found, other = (
        CertifiedClassifier(Ridge(), bias=each).fit(X, labels) for each in (given, same)
    )
    assert found.minimum_budget(X).tolist() == other.minimum_budget(X).tolist()
    with pytest.raises(BiasError, match=r"to is for labels that are classes"):
        CertifiedRegressor(Ridge(), bias=given, radius=1.0).fit(X, np.arange(N) % 2)


def test_real_valued_labels_are_no_classes():
    with pytest.raises(InputError, match=r"continuous.*use CertifiedRegressor"):
        classifier().fit(X, Y)


@pytest.mark.parametrize("mixed", [list, lambda y: np.array(y, dtype=object)])
def test_text_mixed_with_numbers_is_refused(mixed):
    with pytest.raises(InputError, match=r"y mixes text with other values \(10 of 20 labels"):
        classifier().fit(X, mixed(["a", 1] * (N // 2)))


@pytest.mark.parametrize(
    "labels",
    [
        written("no", "yes"),
        ["1", "2"] * (N // 2),
        pd.Series(["1", "2"] * (N // 2)),
        [datetime.date(2020, 1, 1)] * N,
        np.array(["2020-01-01"] * N, dtype="datetime64[D]"),
    ],
    ids=["words", "digits", "pandas", "dates", "datetime64"],
)
def test_a_regressor_needs_numbers(labels):
    with pytest.raises(InputError, match=r"a regressor needs numbers; for classes use CertifiedC"):
        regressor().fit(X, labels)


@pytest.mark.parametrize(
    "labels",
    [
        Y.tolist(),
        pd.Series(Y, index=range(50, 50 + N)),
        pl.Series(Y),
        pa.array(Y),
        Y.astype(object),
        [decimal.Decimal(repr(float(value))) for value in Y],
    ],
    ids=["list", "pandas", "polars", "pyarrow", "object", "decimals"],
)
def test_numbers_may_be_written_in_any_way(labels):
    np.testing.assert_array_equal(
        regressor().fit(X, labels).certify(X).high, regressor().fit(X, Y).certify(X).high
    )


def test_a_column_of_labels_is_taken_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = regressor().fit(X, Y[:, None])
    np.testing.assert_array_equal(model.certify(X).high, regressor().fit(X, Y).certify(X).high)


def test_several_labels_per_row_are_refused():
    with pytest.raises(InputError, match=r"one label per row, got an array of shape \(20, 2\)"):
        regressor().fit(X, np.stack((Y, Y), axis=1))


def test_a_single_label_is_refused():
    with pytest.raises(InputError, match=r"one label per row, got an array of shape \(\)"):
        regressor().fit(X, 3.0)


@pytest.mark.parametrize("n_labels", [0, N - 1, N + 1])
@every_estimator
def test_labels_of_another_count_are_refused(estimator, n_labels):
    with pytest.raises(InputError, match=f"y has {n_labels} labels for {N} rows of X"):
        regressor(estimator).fit(X, np.zeros(n_labels))


def test_no_labels_are_refused():
    with pytest.raises(InputError, match="y is None"):
        regressor().fit(X, None)


# --- bias ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, "flips", 3, LabelBias])
def test_what_is_no_bias_is_refused(bias):
    with pytest.raises(InputError, match=r"bias must be a LabelBias, got .*bias=LabelBias.flips\("):
        classifier(bias=bias).fit(X, LABELS)


BAD_BUDGETS = {
    "negative": (-1, "budget is negative"),
    "negative-share": (-0.5, "budget is negative"),
    "above-1": (1.5, "1.5 is a float of 1 or more, which is neither a count nor a share"),
    "1.0": (1.0, "1.0 is a float of 1 or more"),
    "nan": (float("nan"), "budget is NaN"),
    "inf": (float("inf"), "inf is a float of 1 or more"),
    "bool": (True, "budget must be a number, got True"),
    "numpy-bool": (np.True_, "budget must be a number"),
    "text": ("5", "budget must be a number, got '5'"),
    "none": (None, "budget must be a number, got None"),
    "list": ([5], r"budget must be a number, got \[5\]"),
}


@pytest.mark.parametrize(("budget", "said"), BAD_BUDGETS.values(), ids=BAD_BUDGETS)
def test_a_bad_budget_is_refused_at_birth(budget, said):
    advice = "pass an int for a count of labels, or a float in (0, 1) for a share of them"
    for make in (
        lambda: LabelBias.flips(budget=budget),
        lambda: LabelBias.shifts(1, budget=budget),
        lambda: LabelBias.intervals([-1], [1], budget=budget),
    ):
        with pytest.raises(BiasError, match=said) as refused:
            make()
        assert advice in str(refused.value)


@pytest.mark.parametrize(
    ("budget", "said"),
    [pair for name, pair in BAD_BUDGETS.items() if name != "none"],
    ids=[name for name in BAD_BUDGETS if name != "none"],
)
def test_a_bad_budget_to_certify_is_refused(budget, said):
    model = classifier().fit(X, LABELS)
    with pytest.raises(BiasError, match=said):
        model.certify(X, budget=budget)
    with pytest.raises(BiasError, match=said):
        model.certify_coefficients(budget=budget)


@pytest.mark.parametrize("budget", [N, N + 1, 10**12, np.int64(10**15)])
def test_a_budget_above_n_means_all(budget):
    everything = classifier(bias=LabelBias.flips(budget=N)).fit(X, LABELS).certify(X)
    by_bias = classifier(bias=LabelBias.flips(budget=budget)).fit(X, LABELS).certify(X)
    by_call = classifier().fit(X, LABELS).certify(X, budget=budget)
    for certificates in (by_bias, by_call):
        np.testing.assert_array_equal(certificates.low, everything.low)
        np.testing.assert_array_equal(certificates.high, everything.high)


def test_a_share_is_rounded_down():
    model = classifier(bias=LabelBias.flips(budget=0.19)).fit(X, LABELS)
    assert model.certify(X).budget == 3
    assert model.certify(X, budget=0.2).budget == 4
    with pytest.warns(VacuousWarning, match="0.049 of 20 training rows"):
        assert model.certify(X, budget=np.float64(0.049)).budget == 0


@pytest.mark.parametrize("length", [0, N - 1, N + 1])
@pytest.mark.parametrize("by_function", [False, True], ids=["mask", "function"])
def test_a_mask_of_another_length_is_refused(length, by_function):
    mask = np.ones(length, dtype=bool)
    bias = LabelBias.flips(budget=1, where=(lambda X, y: mask) if by_function else mask)
    with pytest.raises(BiasError, match=rf"where has shape \({length},\) but there are 20 train"):
        classifier(bias=bias).fit(X, LABELS)


@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        (LABELS, "int"),
        (np.ones(N), "float"),
        (["True"] * N, "<U4"),
        ([True, None] * (N // 2), "object"),
        ([0, 3, 5], "int"),
        ("all", "<U3"),
        (lambda X, y: None, "object"),
    ],
    ids=["ints", "floats", "text", "gaps", "row-numbers", "word", "function-of-none"],
)
def test_a_mask_of_another_dtype_is_refused(mask, dtype):
    bias = LabelBias.flips(budget=1, where=mask)
    said = f"where must be a boolean mask.*got dtype {dtype}.*np.isin"
    with pytest.raises(BiasError, match=said):
        classifier(bias=bias).fit(X, LABELS)


def test_a_mask_in_two_dimensions_is_refused():
    bias = LabelBias.flips(budget=1, where=np.ones((N, 2), dtype=bool))
    with pytest.raises(BiasError, match=r"where has shape \(20, 2\)"):
        classifier(bias=bias).fit(X, LABELS)


@pytest.mark.parametrize(
    "mask",
    [
        POSITIVE.tolist(),
        pd.Series(POSITIVE, index=range(7, 7 + N)),
        pd.Series(POSITIVE, dtype="boolean"),
        POSITIVE.astype(object),
        pl.Series(POSITIVE),
        pa.array(POSITIVE),
        lambda X, y: np.asarray(y) == 1,
    ],
    ids=["list", "pandas", "nullable", "object", "polars", "pyarrow", "function"],
)
def test_a_mask_may_be_written_in_any_way(mask):
    model = classifier(bias=LabelBias.flips(budget=2, where=mask)).fit(X, LABELS)
    expected = classifier(bias=LabelBias.flips(budget=2, where=POSITIVE)).fit(X, LABELS)
    np.testing.assert_array_equal(model.certify(X).low, expected.certify(X).low)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LabelBias.shifts((1, 2), budget=1), r"\[1, 2\] at row 0 does not contain 0"),
        (lambda: LabelBias.shifts((-2, -1), budget=1), r"\[-2, -1\] at row 0 does not contain 0"),
        (lambda: LabelBias.shifts((2, -1), budget=1), r"lower is above upper at row 0 \(2 > -1\)"),
        (lambda: LabelBias.shifts(-1, budget=1), r"shifts\(-1\): the amount must not be negative"),
        (lambda: LabelBias.shifts(np.nan, budget=1), "NaN or infinite"),
        (lambda: LabelBias.shifts(np.inf, budget=1), "NaN or infinite"),
        (lambda: LabelBias.shifts("much", budget=1), "takes a number or a pair .* got 'much'"),
        (lambda: LabelBias.shifts((1, 2, 3), budget=1), "takes a number or a pair"),
        (lambda: LabelBias.shifts(None, budget=1), "takes a number or a pair"),
        (
            lambda: LabelBias.intervals([-1, 1], [1, 2], budget=1),
            r"\[1, 2\] at row 1 does not contain 0, so the given label itself would be ruled out",
        ),
        (
            lambda: LabelBias.intervals([0, 0, 0], [1, 1, -1], budget=1),
            r"lower is above upper at row 2 \(0 > -1\); offsets are relative to the label",
        ),
        (lambda: LabelBias.intervals([0, np.nan], [1, 1], budget=1), "NaN or infinite"),
        (lambda: LabelBias.intervals([0, 0], [1, 1, 1], budget=1), "lower has 2 entries but upper"),
        (lambda: LabelBias.intervals([[0]], [1], budget=1), "must be one-dimensional"),
        (lambda: LabelBias.intervals(["a"], [1], budget=1), "interval ends must be numbers"),
        (
            lambda: LabelBias.flips(budget=1, direction="sideways"),
            "direction must be 'up', 'down' or None, got 'sideways'",
        ),
    ],
)
def test_an_interval_that_makes_no_sense_is_refused_at_birth(make, said):
    with pytest.raises(BiasError, match=said):
        make()


def test_intervals_of_another_count_are_refused():
    bias = LabelBias.intervals(-np.ones(5), np.ones(5), budget=1)
    with pytest.raises(BiasError, match="lower has 5 entries for 20 training rows"):
        regressor(bias=bias).fit(X, Y)


def test_flips_of_real_valued_labels_are_refused():
    with pytest.raises(BiasError, match=r"flips needs binary labels, got 20 .* LabelBias.shifts"):
        regressor(bias=FLIPS).fit(X, Y)


# --- radius, method, weights, order of calls --------------------------------------------------


@pytest.mark.parametrize("radius", [-1, -1e-300, np.nan, np.inf, "1", True, [1], 1j], ids=repr)
def test_a_radius_that_is_no_distance_is_refused(radius):
    said = "radius must be a finite number and not negative, got .* how far a prediction may move"
    with pytest.raises(InputError, match=said):
        regressor(radius=radius).fit(X, Y)
    model = regressor().fit(X, Y).set_params(radius=radius)
    for ask in (model.certify, model.minimum_budget):
        with pytest.raises(InputError, match=said):
            ask(X)


def test_a_missing_radius_is_asked_for_where_it_is_needed():
    model = regressor(radius=None).fit(X, Y)
    for ask in (model.certify, model.minimum_budget):
        with pytest.raises(InputError, match=r"radius is not set.*radius=2000"):
            ask(X)
    assert len(model.predict(X)) == N
    assert len(model.certify_coefficients()) == 3


@pytest.mark.parametrize("radius", [0, 2, np.float32(0.5), np.int8(1)], ids=repr)
def test_a_radius_may_be_any_real_number(radius):
    assert len(regressor(radius=radius).fit(X, Y).certify(X)) == N


@pytest.mark.parametrize("method", ["exactly", "", None, 1], ids=repr)
def test_an_unknown_method_is_refused(method):
    with pytest.raises(InputError, match=r"method must be one of auto, exact.*, got "):
        regressor().fit(X, Y).certify(X, method=method)


@pytest.mark.parametrize("model", [classifier(), regressor()], ids=["classifier", "regressor"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict(X),
        lambda model: model.certify(X),
        lambda model: model.minimum_budget(X),
        lambda model: model.certify_coefficients(),
        lambda model: model.score(X, LABELS),
    ],
    ids=["predict", "certify", "minimum_budget", "certify_coefficients", "score"],
)
def test_a_model_that_is_not_fitted_says_so(model, ask):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        ask(model)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (np.ones(N - 1), r"sample_weight has shape \(19,\), expected \(20,\)"),
        (np.ones((N, 1)), r"sample_weight has shape \(20, 1\), expected \(20,\)"),
        (-np.ones(N), "must be finite and not negative"),
        (np.full(N, np.nan), "must be finite and not negative"),
        (np.full(N, np.inf), "must be finite and not negative"),
        (np.zeros(N), "zero for every row: nothing is left to fit"),
        (["heavy"] * N, "sample_weight must be numbers"),
    ],
    ids=["short", "2-d", "negative", "nan", "inf", "zero", "text"],
)
def test_weights_that_make_no_sense_are_refused(weight, said):
    with pytest.raises(InputError, match=said):
        regressor().fit(X, Y, sample_weight=weight)


def test_one_weight_for_all_is_allowed():
    np.testing.assert_allclose(
        regressor(Ridge(alpha=1)).fit(X, Y, sample_weight=2).certify(X).score,
        Ridge(alpha=0.5).fit(X, Y).predict(X),
    )


def test_errors_are_value_errors_of_one_family():
    for error in (BiasError, InputError):
        assert issubclass(error, UnswayedError)
        assert issubclass(error, ValueError)


# --- nothing is lost --------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize(
    "stumble",
    [
        lambda model: model.certify(spoilt(np.nan)),
        lambda model: model.certify(X[:, :2]),
        lambda model: model.certify(X, budget=-1),
        lambda model: model.certify(X, method="magic"),
        lambda model: model.certify(X).witness(1000),
        lambda model: model.certify(X).by_group([1, 2]),
        lambda model: model.fit(X, np.full(N, np.nan)),
        lambda model: model.fit(X[:, :2], -Y, sample_weight=-np.ones(N)),
        lambda model: model.fit(pd.DataFrame(columns()), -Y[1:]),
        lambda model: model.set_params(bias=LabelBias.shifts(9, budget=1, where=[True])).fit(X, -Y),
    ],
    ids=[
        "certify-nan",
        "certify-width",
        "certify-budget",
        "certify-method",
        "witness",
        "by-group",
        "fit-nan",
        "fit-weights",
        "fit-labels",
        "fit-mask",
    ],
)
def test_a_fitted_model_answers_as_before_after_an_error(estimator, stumble):
    model = regressor(estimator).fit(X, Y)
    before = model.certify(X)
    with pytest.raises(ValueError, match=r"\w"):
        stumble(model)
    after = model.certify(X)
    for name in ("score", "low", "high", "minimum_budget"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert model.n_features_in_ == 3


def test_inputs_are_left_as_they_were():
    rows, labels, mask = X.copy(), Y.copy(), POSITIVE.copy()
    bias = LabelBias.shifts((-1, 2), budget=3, where=mask, direction="up")
    regressor(LinearRegression(), bias=bias).fit(rows, labels).certify(rows).to_frame()
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(mask, POSITIVE)
