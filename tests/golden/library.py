"""Cases of the library: what estimators, certificates and displays answer on small data."""

import contextlib
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from tests.golden.record import DATA, case, page_facts
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    GroupDisplay,
    LabelBias,
    LinearSmoother,
    MetricRangeDisplay,
    RangeDisplay,
    RobustnessCurveDisplay,
    RowSum,
    Sampled,
    Total,
    TradeoffDisplay,
    cross_certify,
    prediction_range,
    robustness_curve,
)
from unswayed.datasets import make_demographic, make_salary_story, make_synthetic

ENOUGH = 600.0  # seconds, for searches that end by themselves within one


# Data


def cancer(n_train=120, n_test=20):
    """Tumours, six columns: training rows and labels, rows to certify and their labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X, names = X[:, :6], np.array(["malignant", "benign"])[y]
    end = n_train + n_test
    return X[:n_train], names[:n_train], X[n_train:end], names[n_train:end]


def diabetes(n_train=120, n_test=16):
    """Patients, five columns: training rows and how ill they are, rows to certify."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X[:n_train, :5], y[:n_train], X[n_train : n_train + n_test, :5]


def story(n_train=150, n_test=24):
    """The story's applicants: training part and test part, with everything known about them."""
    made = make_salary_story(n_train + n_test)
    frame = made.data.assign(decision=made.target, salary=made.salary)
    return frame[:n_train], frame[n_train:].reset_index(drop=True)


FEATURES = ["gender", "education", "experience", "interview"]


def encoded(final, drop=None):
    """A pipeline of one-hot genders, scaled numbers and a model.

    The coefficients of two genders are each other's negative, and which is larger is a matter of
    rounding: where coefficients are sorted by size, one gender is dropped.
    """
    columns = make_column_transformer(
        (OneHotEncoder(drop=drop), ["gender"]), (StandardScaler(), FEATURES[1:])
    )
    return make_pipeline(columns, final)


def scaled(final):
    return make_pipeline(StandardScaler(), final)


# Results


def certificates(certs):
    """Everything that certificates say."""
    least = certs.minimum_budgets
    return {
        "repr": repr(certs),
        "html": certs._repr_html_(),
        "question": certs.question,
        "budget": certs.budget,
        "names": certs.names,
        "trusted": certs.trusted,
        "link": certs.link,
        "robustness_rate": certs.robustness_rate,
        "highest_rate": certs.highest_rate,
        "method_counts": certs.method_counts,
        "columns": certs.to_dict(),
        "inner_low": certs.inner_low,
        "inner_high": certs.inner_high,
        "least": {"low": least.low, "high": least.high, "proven": least.proven},
    }


def summary(certs):
    found = certs.summary()
    return {"dict": found.to_dict(), "others": found.others(), "text": str(found)}


def witness(certs, row):
    found = certs.witness(row)
    if found is None:
        return None
    return {
        "indices": found.indices,
        "labels": found.labels,
        "score": found.score,
        "text": str(found),
    }


def witnesses(certs):
    """The witnesses of the first few rows, by the number of the row."""
    return {row: witness(certs, row) for row in range(min(8, len(certs)))}


def collective(found):
    """What a certificate of many rows says."""
    return {"dict": found.to_dict(), "repr": repr(found)}


def frame(found):
    """A frame of any library, as columns with their types."""
    table = found if isinstance(found, pa.Table) else pa.Table.from_pandas(found)
    types = {name: str(kind) for name, kind in zip(table.schema.names, table.schema.types)}  # noqa: B905
    return {"columns": list(types), "types": types, "values": table.to_pydict()}


def saved(record, found, name="certificate", *, code=0):
    """Write a certificate file beside its data, and have it checked."""
    found.save(record.folder / f"{name}.json", data=record.folder / f"{name}.npz")
    record.files(f"{name}.npz")
    record.certificate(f"{name}.json", f"--data {name}.npz", code=code)


def messages(*attempts):
    """What each attempt says when it fails: the kind of error and its text."""
    found = []
    for attempt in attempts:
        try:
            attempt()
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__ if kind is not object]
            found.append({"kinds": kinds, "text": str(error)})
        else:
            raise AssertionError("it did not fail")
    return found


# Models


@case
def ridge_classes(record):
    """Ridge behind a scaler, on classes."""
    X, y, tests, truth = cancer()
    model = CertifiedClassifier(scaled(Ridge(alpha=10)), bias=LabelBias.flips(budget=3)).fit(X, y)
    certs = model.certify(tests)
    record.keep(
        "result.json",
        {
            "model": repr(model),
            "classes": model.classes_,
            "threshold": model.threshold_,
            "predict": model.predict(tests),
            "decision_function": model.decision_function(tests),
            "accuracy": model.score(tests, truth),
            "certificates": certificates(certs),
            "other budget": certificates(model.certify(tests, budget=0.05)),
            "summary": summary(certs),
            "witnesses": witnesses(certs),
        },
    )
    saved(record, certs)


@case
def least_squares_classes(record):
    """Least squares without an intercept and with one, on two kinds of iris."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :3], y[50:]
    train = np.arange(100) % 5 > 0
    for name, intercept in (("with", True), ("without", False)):
        model = CertifiedClassifier(
            LinearRegression(fit_intercept=intercept), bias=LabelBias.flips(budget=0.03)
        ).fit(X[train], y[train])
        certs = model.certify(X[~train])
        record.keep(
            f"{name}.json",
            {"certificates": certificates(certs), "summary": summary(certs),
             "witnesses": witnesses(certs)},
        )  # fmt: skip
        saved(record, certs, f"certificate-{name}")


@case
def ridge_classifier(record):
    """RidgeClassifier, whose classes are -1 and 1."""
    X, y, tests, _ = cancer()
    model = CertifiedClassifier(
        scaled(RidgeClassifier(alpha=5)), bias=LabelBias.flips(budget=2)
    ).fit(X, y)
    certs = model.certify(tests)
    record.keep(
        "result.json",
        {
            "threshold": model.threshold_,
            "predict": model.predict(tests),
            "certificates": certificates(certs),
            "coefficients": certificates(model.certify_coefficients()),
            "witnesses": witnesses(certs),
        },
    )
    saved(record, certs)


@case
def kernel_ridge(record):
    """Kernel ridge with radial basis functions, on classes and on numbers."""
    X, y, tests, _ = cancer(60, 12)
    mean, spread = X.mean(axis=0).round(3), X.std(axis=0).round(3)
    X, tests = (X - mean) / spread, (tests - mean) / spread
    model = CertifiedClassifier(
        KernelRidge(alpha=1, kernel="rbf", gamma=0.1), bias=LabelBias.flips(budget=1)
    ).fit(X, y)
    certs = model.certify(tests)
    numbers = CertifiedRegressor(
        KernelRidge(alpha=2, kernel="polynomial", degree=2),
        bias=LabelBias.shifts(3, budget=2),
        radius=1.0,
    ).fit(X, X[:, 0] * 10)
    record.keep(
        "result.json",
        {
            "classes": certificates(certs),
            "witnesses": witnesses(certs),
            "numbers": certificates(numbers.certify(tests)),
        },
    )
    saved(record, certs)


@case
def linear_smoother(record):
    """Models given by their influence: precomputed, and by a function."""
    X, y, tests = diabetes(40, 8)
    place, asked = X[:, 2], tests[:, 2]
    weight = np.exp(-(((asked[:, None] - place) / 4) ** 2))
    rows = weight / weight.sum(axis=1, keepdims=True)
    bias = LabelBias.shifts(25, budget=3)
    given = CertifiedRegressor(LinearSmoother(), bias=bias, radius=15).fit(np.eye(len(y)), y)

    def nearest(train, wanted):
        far = np.abs(wanted[:, None, 0] - train[None, :, 0])
        return (far.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") < 5) / 5

    computed = CertifiedRegressor(LinearSmoother(nearest), bias=bias, radius=10).fit(X, y)
    certs = given.certify(rows)
    record.keep(
        "result.json",
        {
            "given": certificates(certs),
            "summary": summary(certs),
            "witnesses": witnesses(certs),
            "computed": certificates(computed.certify(tests)),
        },
    )
    saved(record, certs)


@case
def logistic(record):
    """Logistic regression, whose rows may stay undecided, at every effort."""
    X, y, tests, _ = cancer(100, 16)
    model = CertifiedClassifier(
        scaled(LogisticRegression(C=0.02)), bias=LabelBias.flips(budget=3)
    ).fit(X, y)
    certs = model.certify(tests)
    record.keep(
        "result.json",
        {
            "threshold": model.threshold_,
            "predict": model.predict(tests),
            "certificates": certificates(certs),
            "probability_low": certs.probability_low,
            "probability_high": certs.probability_high,
            "effort 0": certificates(model.certify(tests, effort=0)),
            "effort 2": certificates(model.certify(tests, effort=2)),
            "coefficients": certificates(model.certify_coefficients()),
            "witnesses": witnesses(certs),
            "summary": summary(certs),
        },
    )
    saved(record, certs)


@case
def poisson(record):
    """Poisson regression within a radius of the expected count."""
    table = pd.read_csv(DATA / "visits.csv")
    X, y = table[["age", "distance"]].to_numpy(float) / [10, 5], table["visits"].to_numpy(float)
    model = CertifiedRegressor(
        PoissonRegressor(alpha=1.0), bias=LabelBias.shifts(1, budget=2, clip=(0, None)), radius=0.2
    ).fit(X[:64], y[:64])
    certs = model.certify(X[64:])
    record.keep(
        "result.json",
        {
            "predict": model.predict(X[64:]),
            "certificates": certificates(certs),
            "coefficients": certificates(model.certify_coefficients()),
            "witnesses": witnesses(certs),
        },
    )
    saved(record, certs)


@case
def regression_radius(record):
    """Ridge on numbers: predictions that stay within a radius, other biases, a summary."""
    X, y, tests = diabetes()
    model = CertifiedRegressor(
        scaled(Ridge(alpha=3)), bias=LabelBias.shifts(40, budget=4), radius=6
    ).fit(X, y)
    certs = model.certify(tests)
    by_row = LabelBias.intervals(-np.arange(len(y)) / 4.0, 30.0, budget=0.02, direction="up")
    other = CertifiedRegressor(scaled(Ridge(alpha=3)), bias=by_row, radius=4).fit(X, y)
    record.keep(
        "result.json",
        {
            "model": repr(model),
            "predict": model.predict(tests),
            "r2": model.score(X, y),
            "certificates": certificates(certs),
            "summary": summary(certs),
            "witnesses": witnesses(certs),
            "intervals": certificates(other.certify(tests)),
        },
    )
    saved(record, certs)


@case
def shifts_relative_and_clipped(record):
    """Labels that may be off by a share of their value, and never leave a range."""
    X, y, tests = diabetes(100, 12)
    biases = {
        "relative": LabelBias.shifts(0.1, budget=5, relative=True),
        "one-sided": LabelBias.shifts((0, 0.2), budget=5, relative=True),
        "clipped": LabelBias.shifts(80, budget=5, clip=(50, 300)),
        "both": LabelBias.shifts((-0.4, 0.5), budget=3, relative=True, clip=(None, 200)),
    }
    for name, bias in biases.items():
        model = CertifiedRegressor(scaled(Ridge(alpha=1)), bias=bias, radius=8)
        certs = model.fit(X, np.minimum(np.maximum(y, 50), 200)).certify(tests)
        record.keep(f"{name}.json", {"bias": repr(bias), "certificates": certificates(certs)})
        if name == "both":
            saved(record, certs)


@case
def where_and_direction(record):
    """Only some labels may be wrong, and only one way."""
    train, test = story()
    women = (train["gender"] == "female").to_numpy()
    biases = {
        "where": LabelBias.flips(budget=4, where=women),
        "callable": LabelBias.flips(budget=4, where=lambda X, y: (X["education"] > 14).to_numpy()),
        "up": LabelBias.flips(budget=4, direction="up"),
        "down": LabelBias.flips(budget=4, where=women, direction="down"),
    }
    for name, bias in biases.items():
        model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=bias)
        certs = model.fit(train[FEATURES], train["decision"]).certify(test[FEATURES])
        record.keep(
            f"{name}.json",
            {"bias": repr(bias) if name != "callable" else None,
             "certificates": certificates(certs), "witnesses": witnesses(certs)},
        )  # fmt: skip


@case
def sample_weights(record):
    """Rows that count more than others, and weights that must be vouched for."""
    X, y, tests, _ = cancer()
    weight = 1.0 + np.arange(len(y)) % 3
    model = CertifiedClassifier(scaled(Ridge(alpha=4)), bias=LabelBias.flips(budget=3))
    certs = model.fit(X, y, sample_weight=weight).certify(tests)
    by_class = np.where(y == "benign", 1.0, 3.0)
    trusting = CertifiedClassifier(
        scaled(Ridge(alpha=4)), bias=LabelBias.flips(budget=3), trust="sample_weight"
    ).fit(X, y, sample_weight=by_class)
    record.keep(
        "result.json",
        {
            "certificates": certificates(certs),
            "trusted": certificates(trusting.certify(tests)),
            "refused": messages(lambda: model.fit(X, y, sample_weight=by_class)),
        },
    )
    saved(record, certs)


@case
def thresholds(record):
    """A threshold that is a number, and one that moves with the labels."""
    X, y, tests, _ = cancer()
    for name, threshold in (("number", 0.3), ("balanced", "balanced")):
        model = CertifiedClassifier(
            scaled(Ridge(alpha=4)), bias=LabelBias.flips(budget=3), threshold=threshold
        ).fit(X, y)
        certs = model.certify(tests)
        record.keep(
            f"{name}.json",
            {"threshold": model.threshold_, "certificates": certificates(certs),
             "witnesses": witnesses(certs)},
        )  # fmt: skip
        saved(record, certs, f"certificate-{name}")


# Ways to certify


@case
def methods(record):
    """The same question by every method, and bounds that are built once."""
    X, y, tests, _ = cancer()
    model = CertifiedClassifier(scaled(Ridge(alpha=10)), bias=LabelBias.flips(budget=4)).fit(X, y)
    for name in ("exact", "auto", "sandwich", "box"):
        record.keep(f"{name}.json", certificates(model.certify(tests, method=name)))
    box, sandwich = model.parameter_box(), model.sandwich(max_anchors=6)
    record.keep(
        "built.json",
        {
            "box": {"repr": repr(box), "names": box.names, "value": box.value,
                    "low": box.low, "high": box.high},
            "by box": certificates(model.certify(tests, method=box)),
            "sandwich": {"repr": repr(sandwich), "anchors": sandwich.n_anchors},
            "by sandwich": certificates(model.certify(tests, method=sandwich)),
        },
    )  # fmt: skip


@case
def resolved_exactly(record):
    """Ties that only rational arithmetic tells."""
    X = [[1, 0]] * 4 + [[0, 1]] * 4 + [[1, 1]] * 3
    y = ["yes"] * 3 + ["no"] * 5 + ["yes"] * 3
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(X, y)
    tests = [[1, 0], [0, 1], [1, 1], [2, -1]]
    certs = model.certify(tests, resolve="exact")
    record.keep(
        "result.json",
        {
            "exact": certificates(certs),
            "witnesses": witnesses(certs),
            "least": model.minimum_budget(tests, resolve="exact"),
            "coefficients": certificates(model.certify_coefficients(resolve="exact")),
        },
    )
    saved(record, certs)


@case
def without_ranges(record):
    """Verdicts alone, by minimum budgets."""
    X, y, tests, _ = cancer()
    model = CertifiedClassifier(scaled(Ridge(alpha=10)), bias=LabelBias.flips(budget=4)).fit(X, y)
    certs = model.certify(tests, ranges=False)
    record.keep("result.json", certificates(certs))


@case
def minimum_budgets(record):
    """Least numbers of labels, the curve that they make, and rates of groups."""
    train, test = story()
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=5))
    model.fit(train[FEATURES], train["decision"])
    least = model.minimum_budgets(test[FEATURES])
    curve = robustness_curve(least.low)
    certs = model.certify(test[FEATURES])
    groups = certs.by_group(test["gender"])
    record.keep(
        "result.json",
        {
            "minimum_budget": model.minimum_budget(test[FEATURES]),
            "low": least.low,
            "high": least.high,
            "curve": {"budgets": curve.budgets, "rate": curve.rate, "at 3": curve(3)},
            "groups": groups.to_dict(),
            "gap": groups.gap,
            "gap_range": groups.gap_range(),
            "gap_interval": groups.gap_interval(),
            "intervals": groups.intervals(0.9),
            "text": str(groups),
        },
    )


@case
def given_influence(record):
    """The paper's algorithm on one influence row."""
    z, y = [-1, 2, 0.5, 0.25, -0.75], [3, 4, 1, 0, 2]
    biases = [
        LabelBias.shifts(1, budget=1),
        LabelBias.shifts(1, budget=3),
        LabelBias.shifts((0, 2), budget=2),
        LabelBias.shifts(0.25, budget=2, relative=True),
        LabelBias.intervals([-1, 0, -3, 0, 0], [0, 1, 2, 3, 4], budget=2),
        LabelBias.shifts(1, budget=4, where=[True, False, True, False, True], direction="down"),
    ]
    record.keep(
        "result.json",
        [{"bias": repr(bias), "range": prediction_range(z, y, bias)} for bias in biases],
    )


# Folds and pieces


@case
def cross_certified_classes(record):
    """Every row by a model that did not see it: classes, together, metrics."""
    train, _ = story(90)
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=2))
    certs = cross_certify(model, train[FEATURES], train["decision"], cv=3)
    record.keep(
        "result.json",
        {
            "fold": certs.fold,
            "certificates": certificates(certs),
            "summary": summary(certs),
            "witnesses": witnesses(certs),
            "groups": str(certs.by_group(train["gender"])),
            "together": collective(certs.certify_together(time_limit=0)),
            "metric": collective(
                certs.certify_metric("selection_rate", groups=train["gender"], time_limit=0)
            ),
            "refused": messages(
                lambda: cross_certify(
                    model, train[FEATURES], train["decision"], cv=StratifiedKFold(3)
                )
            ),
        },
    )


@case
def cross_certified_numbers(record):
    """Every row by a model that did not see it: numbers, groups that stay together."""
    X, y, _ = diabetes(60, 1)
    model = CertifiedRegressor(
        scaled(Ridge(alpha=1)), bias=LabelBias.shifts(40, budget=0.05), radius=10
    )
    certs = cross_certify(model, X, y, cv=4, groups=np.arange(60) // 3)
    record.keep(
        "result.json",
        {"fold": certs.fold, "certificates": certificates(certs), "frame": frame(certs.to_frame())},
    )


@case
def dask_frame(record):
    """Training rows in partitions, with categories."""
    train, test = story()
    typed = train.assign(gender=pd.Categorical(train["gender"]))
    lazy = dd.from_pandas(typed, npartitions=3)
    model = CertifiedClassifier(Ridge(alpha=1), bias=LabelBias.flips(budget=4))
    model.fit(lazy[FEATURES], lazy["decision"])
    rows = test[FEATURES].assign(gender=pd.Categorical(test["gender"]))
    certs = model.certify(rows)
    found = next(certs.witness(row) for row in range(len(certs)) if not certs.robust[row])
    record.keep(
        "result.json",
        {
            "certificates": certificates(certs),
            "coefficients": certificates(model.certify_coefficients()),
            "auto": certificates(model.certify(rows, method="auto")),
            "witness": {"text": str(found), "indices": found.indices, "places": str(found.places)},
        },
    )


# Coefficients


@case
def coefficients(record):
    """Signs of coefficients and of contrasts, standard errors and confidence intervals."""
    train, _ = story()
    women = (train["gender"] == "female").to_numpy()
    model = CertifiedRegressor(
        encoded(Ridge(alpha=1)), bias=LabelBias.shifts((0, 3000), budget=8, where=women)
    ).fit(train[FEATURES], train["salary"])
    certs = model.certify_coefficients()
    names = {name: name for name in certs.names}
    women, men = sorted(name for name in names if "gender" in name)
    contrasts = model.certify_coefficients(contrasts={"women - men": {women: 1, men: -1}})
    rows = model.certify_coefficients(contrasts=np.eye(len(names))[:2] * 2, budget=20)
    low, high = certs.confidence_interval(0.9)
    record.keep(
        "result.json",
        {
            "coefficients": certificates(certs),
            "standard_error": certs.standard_error,
            "90 %": [low, high],
            "contrasts": certificates(contrasts),
            "rows": certificates(rows),
            "frame": frame(certs.to_frame()),
        },
    )
    saved(record, certs)
    saved(record, contrasts, "certificate-contrasts")


# All rows at once


@case
def together(record):
    """How many predictions one set of wrong labels overturns: all, some, one way, weighed."""
    train, test = story()
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=5))
    model.fit(train[FEATURES], train["decision"])
    rows, women = test[FEATURES], (test["gender"] == "female").to_numpy()
    asked = {
        "all": {},
        "bounds": {"time_limit": 0},
        "women": {"where": women},
        "up": {"direction": "up", "budget": 8},
        "weighed": {"weights": 1.0 + np.arange(len(rows)) % 3},
    }
    for name, options in asked.items():
        found = model.certify_together(rows, **{"time_limit": ENOUGH} | options)
        assert found.proven or not options.get("time_limit", 1), name
        record.keep(f"{name}.json", collective(found) | {"witness": str(found.witness)})
        if name in ("all", "women"):
            saved(record, found, f"certificate-{name}")


@case
def together_numbers(record):
    """How many predicted numbers one set of wrong labels moves too far."""
    X, y, tests = diabetes()
    model = CertifiedRegressor(
        scaled(Ridge(alpha=3)), bias=LabelBias.shifts((-30, 40), budget=1), radius=2
    ).fit(X, y)
    found = model.certify_together(tests, time_limit=ENOUGH)
    mean = model.certify_metric(tests, "mean_prediction", groups=tests[:, 1])
    gap = model.certify_metric(tests, "mean_prediction_difference", groups=tests[:, 1])
    wider = CertifiedRegressor(
        scaled(Ridge(alpha=3)), bias=LabelBias.shifts((-20, 40), budget=3), radius=6
    ).fit(X, y)
    solved = wider.certify_together(tests, time_limit=ENOUGH)
    assert found.proven
    assert not solved.proven  # labels move by parts, of which cases do not count how many move
    record.keep(
        "result.json",
        {
            "together": collective(found),
            "a range": collective(solved),
            "mean": collective(mean),
            "gap": collective(gap),
            "groups": repr(mean.by_group),
        },
    )
    saved(record, found)
    saved(record, gap, "certificate-gap")
    saved(record, solved, "certificate-open")


METRICS = (
    *("selection_rate", "demographic_parity_difference", "demographic_parity_ratio"),
    *("accuracy", "accuracy_group_min", "true_positive_rate", "false_positive_rate_difference"),
    *("equal_opportunity_difference", "equalized_odds_difference"),
)


@case
def metrics(record):
    """Between which values metrics and gaps lie, also those of one's own."""
    train, test = story(150, 18)
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=3))
    model.fit(train[FEATURES], train["decision"])
    rows, truth, groups = test[FEATURES], test["decision"], test["gender"]
    asked = {"groups": groups, "y_true": truth, "time_limit": ENOUGH}
    found = {name: model.certify_metric(rows, name, **asked) for name in METRICS}
    cost = RowSum(lambda actual, said: np.where(said == actual, 0, 1.5), name="cost")
    precise = RowSum(lambda actual, said: (said == "hired") * (actual == "hired")) / RowSum(
        lambda _, said: said == "hired"
    )
    found["cost"] = model.certify_metric(rows, cost, y_true=truth, time_limit=ENOUGH)
    for name, each in found.items():
        assert each.proven, name  # by then the search has ended by itself
        record.keep(f"{name}.json", collective(each) | {"groups": repr(each.by_group)})
    # Several sets of labels lead to the ends of this one.
    found["precision"] = model.certify_metric(rows, precise, y_true=truth, time_limit=ENOUGH)
    record.keep("precision.json", {"repr": repr(found["precision"])})
    saved(record, found["demographic_parity_difference"])


@case
def review(record):
    """Labels that are worth checking, and what is left after a review."""
    train, test = story()
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=5))
    model.fit(train[FEATURES], train["decision"])
    rows = test[FEATURES]
    plan = model.review_plan(rows, labels=8, per_reviewer=3)
    dear = model.review_plan(
        rows, labels=8, costs=1.0 + np.arange(len(train)) % 4, cost_limit=12, exclude=[3, 4, 5]
    )
    expected = plan.expected_after(0.2, draws=4)
    answers = dict(zip(plan.order[:4].tolist(), ["hired", "declined"] * 2, strict=True))
    done = model.reviewed(train[FEATURES], train["decision"], answers)
    plan.to_csv(record.folder / "plan.csv")
    record.files("plan.csv")
    record.keep(
        "result.json",
        {
            "plan": plan.to_dict() | {"repr": repr(plan), "question": plan.question},
            "rates": plan.rate_after,
            "random": plan.baseline("random"),
            "witness": plan.baseline("witness"),
            "frame": frame(plan.to_frame()),
            "costs": dear.to_dict() | {"repr": repr(dear)},
            "expected": {"repr": repr(expected), "mean": expected.mean, "checks": expected.checks,
                         "spread": expected.spread, "counts": expected.counts},
            "reviewed": {"repr": repr(done), "checked": done.checked, "corrected": done.corrected,
                         "bias": repr(done.model.bias)},
            "certificates": certificates(done.model.certify(rows)),
        },
    )  # fmt: skip


# Frames, displays, pages


@case
def frames(record):
    """Certificates come back in the library that the rows came in."""
    train, test = story(80, 6)
    columns = FEATURES[1:]
    model = CertifiedClassifier(scaled(Ridge(alpha=1)), bias=LabelBias.flips(budget=2))
    for name, as_frame in (
        ("pandas", lambda table: table.set_axis(range(100, 100 + len(table)))),
        ("polars", pl.from_pandas),
        ("pyarrow", lambda table: pa.Table.from_pandas(table, preserve_index=False)),
    ):
        model.fit(as_frame(train[columns]), train["decision"].tolist())
        found = model.certify(as_frame(test[columns])).to_frame()
        kind = f"{type(found).__module__.partition('.')[0]}.{type(found).__name__}"
        table = found.to_arrow() if isinstance(found, pl.DataFrame) else found
        record.keep(f"{name}.json", {"kind": kind} | frame(table))


def drawn(ax):
    """Everything that is written on axes, and what lines and bars are made of."""
    legend = ax.get_legend()
    return {
        "title": ax.get_title(),
        "x": ax.get_xlabel(),
        "y": ax.get_ylabel(),
        "ticks": [text.get_text() for text in ax.get_yticklabels()],
        "texts": [text.get_text() for text in ax.texts],
        "legend": None if legend is None else [text.get_text() for text in legend.get_texts()],
        "lines": [[np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)]
                  for line in ax.lines],
        "segments": [list(each.get_segments())
                     for each in ax.collections if hasattr(each, "get_segments")],
    }  # fmt: skip


@case
def displays(record):
    """What is drawn: curves, groups, ranges, metrics, trade-offs."""
    train, test = story(100, 16)
    X, y, rows = train[FEATURES], train["decision"], test[FEATURES]
    model = CertifiedClassifier(encoded(Ridge(alpha=1)), bias=LabelBias.flips(budget=3)).fit(X, y)
    asked = {"groups": test["gender"], "time_limit": 0.0}
    made = {
        "curve": RobustnessCurveDisplay.from_estimator(model, rows, groups=test["gender"]),
        "groups": GroupDisplay.from_estimator(model, rows, test["gender"]),
        "ranges": RangeDisplay.from_estimator(model, rows),
        "coefficients": RangeDisplay.from_coefficients(model),
        "metric": MetricRangeDisplay.from_estimator(model, rows, "selection_rate", **asked),
        "tradeoff": TradeoffDisplay.from_estimator(
            model, X, y, X_test=rows, y_test=test["decision"],
            param_name="estimator__ridge__alpha", param_range=[1.0, 30.0], budgets=[1, 3],
        ),
    }  # fmt: skip
    record.keep("result.json", {name: drawn(display.ax_) for name, display in made.items()})
    plt.close("all")


def page_of(record, certs, name, **options):
    with page_facts() as facts, contextlib.chdir(record.folder):
        certs.report(f"{name}.html", **options)
    record.keep_page(name, facts)


@case
def library_pages(record):
    """Pages that certificates write themselves: classes, numbers, folds."""
    train, test = story(100, 16)
    model = CertifiedClassifier(
        encoded(Ridge(alpha=1), drop="first"), bias=LabelBias.flips(budget=3)
    )
    certs = model.fit(train[FEATURES], train["decision"]).certify(test[FEATURES])
    page_of(record, certs, "classes", groups=["gender"], y_true=test["decision"])
    numbers = CertifiedRegressor(
        encoded(Ridge(alpha=1), drop="first"),
        bias=LabelBias.shifts((-1500, 2000), budget=3),
        radius=400,
    ).fit(train[FEATURES], train["salary"])
    page_of(record, numbers.certify(test[FEATURES]), "numbers", table=test)
    folds = cross_certify(model, train[FEATURES][:60], train["decision"][:60], cv=3)
    page_of(record, folds, "folds", groups=["gender"])


@case
def library_pages_of_budgets(record):
    """Pages about budgets that are no plain numbers of labels: clusters, samples, a total."""
    train, test = story(60, 6)
    women, steps = (train["gender"] == "female").to_numpy(), encoded(Ridge(alpha=1), drop="first")
    some = [Sampled(checked=20, wrong=wrong, confidence=0.975) for wrong in (0, 1)]
    for name, bias in {
        "clusters": LabelBias.flips(budget=2, clusters=np.arange(60) % 12),
        "limits": LabelBias.flips(budget=some[0], where=women)
        + LabelBias.flips(budget=some[1], where=~women, direction="up"),
    }.items():
        model = CertifiedClassifier(steps, bias=bias).fit(train[FEATURES], train["decision"])
        page_of(record, model.certify(test[FEATURES]), name)
    bias = LabelBias.shifts(2000, budget=Total(4500.5))
    total = CertifiedRegressor(steps, bias=bias, radius=400).fit(train[FEATURES], train["salary"])
    page_of(record, total.certify(test[FEATURES]), "total", table=test)


# Data sets, refusals, warnings


@case
def datasets(record):
    """The first rows of the data sets that are made here."""
    made = {
        "salary story": make_salary_story(6),
        "synthetic": make_synthetic(6),
        "demographic": make_demographic(0.25, n_samples=8),
    }
    found = {}
    for name, bunch in made.items():
        found[name] = {
            key: frame(value) if isinstance(value, pd.DataFrame) else value
            for key, value in bunch.items()
        }
    record.keep("result.json", found)


@case
def refusals(record):
    """What the library says about input that it refuses."""
    X, y, tests, _ = cancer(30, 4)
    numbers = X[:, 0]
    flips, shifts = LabelBias.flips(budget=1), LabelBias.shifts(1, budget=1)
    classes = CertifiedClassifier(Ridge(), bias=flips)
    fitted = CertifiedClassifier(Ridge(), bias=flips).fit(X, y)
    certs = fitted.certify(tests)
    attempts = {
        "budgets": [
            lambda: LabelBias.flips(budget=-1),
            lambda: LabelBias.flips(budget=1.5),
            lambda: LabelBias.flips(budget=1, direction="left"),
            lambda: LabelBias.shifts(-1, budget=1),
            lambda: LabelBias.shifts((1, 2), budget=1),
            lambda: LabelBias.intervals([0, 0], [1, 1, 1], budget=1),
        ],
        "models": [
            lambda: CertifiedClassifier(SVC(), bias=flips).fit(X, y),
            lambda: CertifiedClassifier(Ridge()).fit(X, y),
            lambda: CertifiedClassifier(PoissonRegressor(), bias=flips).fit(X, y),
            lambda: CertifiedRegressor(RidgeClassifier(), bias=shifts).fit(X, numbers),
            lambda: CertifiedClassifier(Ridge(), bias=flips, threshold="half").fit(X, y),
            lambda: CertifiedClassifier(
                LogisticRegression(class_weight="balanced"), bias=flips
            ).fit(X, y),
        ],
        "labels": [
            lambda: classes.fit(X, numbers),
            lambda: classes.fit(X, np.arange(30)),
            lambda: classes.fit(X, y[:-1]),
            lambda: CertifiedRegressor(Ridge(), bias=shifts).fit(X, y),
            lambda: CertifiedRegressor(Ridge(), bias=shifts).fit(X, numbers).certify(tests),
        ],
        "questions": [
            lambda: fitted.certify(tests[:, :3]),
            lambda: fitted.certify(tests, method="magic"),
            lambda: fitted.certify(tests, method="box", ranges=False),
            lambda: fitted.certify(tests, resolve="roughly"),
            lambda: fitted.certify(tests, decision="sign"),
            lambda: fitted.certify_metric(tests, "magic"),
            lambda: fitted.certify_metric(tests, "accuracy"),
            lambda: fitted.certify_metric(tests, "demographic_parity_difference"),
            lambda: fitted.review_plan(tests, labels=-1),
            lambda: fitted.certify_coefficients(contrasts={"a": {"nobody": 1}}),
            lambda: certs.witness(99),
            lambda: certs.by_group(["a"]),
            lambda: robustness_curve([]),
            lambda: prediction_range([1, 2], [1], shifts),
            lambda: cross_certify(Ridge(), X, y),
        ],
    }
    record.keep("result.json", {name: messages(*each) for name, each in attempts.items()})


@case
def warnings_of_the_library(record):
    """What is certified, and worth a warning."""
    X, y, tests, _ = cancer()
    one = CertifiedClassifier(scaled(Ridge(alpha=1e7)), bias=LabelBias.flips(budget=1)).fit(X, y)
    found = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        one.certify(tests)
    found += [{"kind": each.category.__name__, "text": str(each.message)} for each in heard]
    record.keep("result.json", found)
