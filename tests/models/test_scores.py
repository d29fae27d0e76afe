"""Every learner says what its estimator says, and its influence is that of its labels."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, rbf_kernel
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LinearSmoother,
    SolverPrecisionWarning,
)
from unswayed.models.steps import as_matrix, transform_rows

N_ROWS, N_TESTS = 24, 9
PRECISION = 1e-9
MEANS = np.array([0, 1, -2, 5])
TIGHT = {"tol": 1e-14, "max_iter": 100_000}


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N_ROWS, 4)) + MEANS


@pytest.fixture
def X_test(rng, X):
    return rng.normal(size=(N_TESTS, 4)) + MEANS


@pytest.fixture
def y(rng):
    return rng.normal(size=N_ROWS) * 3 + 10


@pytest.fixture
def weight(rng):
    return rng.choice([0.0, 0.5, 1.0, 2.0, 3.5], size=N_ROWS)


def influence(model, X):
    """Influence rows of a fitted model as the engine computes them."""
    learner = model.fitted_.learner
    inputs = learner.represent(as_matrix(transform_rows(model.estimator_, X)))
    weights = learner.weights(inputs).values
    if learner.design is None:
        return weights
    rows = np.asarray((learner.design @ weights.T).T)
    return rows if learner.row_scale is None else rows * learner.row_scale


def assert_close(found, expected):
    found, expected = np.asarray(found), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= PRECISION * np.abs(expected).max()


def weight_argument(estimator, weight):
    if weight is None:
        return {}
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {f"{last}sample_weight": weight}


def regress(estimator, X, y, weight=None):
    bias = LabelBias.shifts(1, budget=3)
    return CertifiedRegressor(estimator, bias=bias, radius=1).fit(X, y, sample_weight=weight)


def assert_faithful(estimator, X, y, X_test, weight=None):
    """Score, range and influence against fits of the estimator itself, on two label vectors."""
    model = regress(estimator, X, y, weight)
    extra = weight_argument(estimator, weight)
    own = clone(estimator).fit(X, y, **extra).predict(X_test)
    certificates = model.certify(X_test, budget=N_ROWS)
    z = influence(model, X_test)
    assert_close(certificates.score, own)
    assert_close(model.predict(X_test), own)
    assert_close(z @ y, own)
    reach = np.abs(z).sum(axis=1)
    assert (certificates.inner_high - certificates.score <= reach * (1 + PRECISION)).all()
    assert (reach * (1 - PRECISION) <= certificates.high - certificates.score).all()
    if model.fitted_.engine.precision.proven:
        assert_close(certificates.high - certificates.score, reach)

    other = y + np.random.default_rng(5).normal(size=len(y)) * 4
    assert_close(z @ other, clone(estimator).fit(X, other, **extra).predict(X_test))
    return model


LEAST_SQUARES = {
    "least-squares": LinearRegression(),
    "least-squares-through-0": LinearRegression(fit_intercept=False),
    "ridge": Ridge(),
    "ridge-through-0": Ridge(alpha=0.3, fit_intercept=False),
    "ridge-weak": Ridge(alpha=1e-6),
    "ridge-strong": Ridge(alpha=1e6),
    "ridge-alpha-0": Ridge(alpha=0),
    "ridge-alpha-0-through-0": Ridge(alpha=0, fit_intercept=False),
    "ridge-alpha-array": Ridge(alpha=np.array([2.0])),
    "ridge-svd": Ridge(solver="svd"),
    "ridge-cholesky": Ridge(solver="cholesky"),
    "ridge-lsqr": Ridge(solver="lsqr", **TIGHT),
    "ridge-sparse-cg": Ridge(solver="sparse_cg", **TIGHT),
    "ridge-sag": Ridge(alpha=10, solver="sag", random_state=0, **TIGHT),
    "ridge-saga": Ridge(alpha=10, solver="saga", random_state=0, **TIGHT),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("estimator", LEAST_SQUARES.values(), ids=LEAST_SQUARES)
def test_least_squares_says_what_its_estimator_says(estimator, weighted, X, y, X_test, weight):
    assert_faithful(estimator, X, y, X_test, weight if weighted else None)


SINGULAR = {
    "least-squares": LinearRegression(),
    "least-squares-through-0": LinearRegression(fit_intercept=False),
    "ridge-alpha-0": Ridge(alpha=0, solver="lsqr", **TIGHT),
    "ridge-alpha-0-through-0": Ridge(alpha=0, solver="lsqr", fit_intercept=False, **TIGHT),
    "ridge": Ridge(alpha=0.1),
}


def deficient(kind, rng, X):
    if kind == "duplicate columns":
        return np.hstack((X, X[:, :2]))
    if kind == "constant and zero columns":
        return np.hstack((X, np.full((len(X), 1), 3.0), np.zeros((len(X), 1))))
    if kind == "more columns than rows":
        return rng.normal(size=(len(X), N_ROWS + 11))
    one_hot = np.eye(3)[rng.integers(3, size=len(X))]
    return np.hstack((X, one_hot))


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("estimator", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize(
    "kind",
    ["duplicate columns", "constant and zero columns", "more columns than rows", "every category"],
)
def test_a_singular_problem_has_the_solution_of_minimum_norm(
    kind, estimator, weighted, rng, X, y, weight
):
    rows = deficient(kind, rng, np.vstack((X, X[:N_TESTS] + 1)))
    train, test = rows[:N_ROWS], rows[N_ROWS:]
    # Off the span of the training rows only the minimum-norm solution gives these answers.
    assert_faithful(estimator, train, y, test + 0.5, weight if weighted else None)


def test_a_solver_that_misses_the_minimum_norm_is_reported_where_it_shows(rng, y):
    # Ridge's svd keeps singular values that are rounding error: it fits the training rows and
    # is lost off their span.
    X, X_test = rng.normal(size=(N_ROWS, 40)), rng.normal(size=(N_TESTS, 40))
    model = regress(Ridge(alpha=0, solver="svd"), X, y)
    with pytest.warns(SolverPrecisionWarning, match="singular problem alpha > 0") as seen:
        certificates = model.certify(X_test)
    assert seen[0].filename == __file__
    assert_close(certificates.score, LinearRegression().fit(X, y).predict(X_test))


@pytest.mark.parametrize("shape", [(N_ROWS, 4), (N_ROWS, N_ROWS + 5)], ids=["tall", "wide"])
def test_large_means_cost_no_precision(shape, rng, y):
    X = rng.normal(size=shape) + 1e5
    X_test = rng.normal(size=(N_TESTS, shape[1])) + 1e5
    model = regress(Ridge(solver="svd"), X, y)
    centred = regress(Ridge(solver="svd"), X - 1e5, y)
    z, exact = influence(model, X_test), influence(centred, X_test - 1e5)
    assert np.abs(z - exact).max() <= 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(
    "estimator",
    [
        RidgeClassifier(),
        RidgeClassifier(alpha=5, fit_intercept=False, solver="svd"),
        make_pipeline(StandardScaler(), RidgeClassifier()),
    ],
    ids=["bare", "through-0", "pipeline"],
)
@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True)], ids=str)
def test_ridge_classifier_says_what_it_says(estimator, labels, weighted, X, y, X_test, weight):
    positive = y > np.median(y)
    weight = weight if weighted else None
    extra = weight_argument(estimator, weight)
    model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=2))
    model.fit(X, np.array(labels)[positive.astype(int)], sample_weight=weight)
    own = clone(estimator).fit(X, np.array(labels)[positive.astype(int)], **extra)
    assert_close(model.certify(X_test).score, own.decision_function(X_test))
    assert_close(model.decision_function(X_test), own.decision_function(X_test))
    assert (model.predict(X_test) == own.predict(X_test)).all()

    flipped = positive.copy()
    flipped[[0, 3, 4]] ^= True
    again = clone(estimator).fit(X, np.array(labels)[flipped.astype(int)], **extra)
    z = influence(model, X_test)
    assert_close(z @ np.where(flipped, 1.0, -1.0), again.decision_function(X_test))


@pytest.mark.parametrize("estimator", [Ridge(), LinearRegression(), KernelRidge()], ids=repr)
def test_a_classifier_on_a_regressor_scores_labels_0_and_1(estimator, X, y, X_test):
    positive = y > np.median(y)
    model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=2)).fit(X, positive)
    own = clone(estimator).fit(X, positive.astype(float)).predict(X_test)
    assert_close(model.certify(X_test).score, own)
    assert_close(model.decision_function(X_test), own - 0.5)
    assert (model.predict(X_test) == (own > 0.5)).all()


# --- kernels ------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("kernel", sorted(PAIRWISE_KERNEL_FUNCTIONS))
# additive_chi2 is not positive: scikit-learn says so and takes the least-squares solution.
@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem:UserWarning")
def test_kernel_ridge_says_what_it_says(kernel, weighted, X, y, X_test, weight):
    # chi2 wants features that are not negative; the others do not mind.
    estimator = KernelRidge(alpha=0.7, kernel=kernel, gamma=0.5)
    scale = np.abs(X).max()
    X, X_test = np.abs(X) / scale, np.abs(X_test) / scale
    assert_faithful(estimator, X, y, X_test, weight if weighted else None)


@pytest.mark.parametrize(
    "estimator",
    [
        KernelRidge(alpha=np.array([0.5]), kernel="rbf", gamma=0.1),
        KernelRidge(alpha=[0.5], kernel="poly", degree=2, coef0=2, gamma=0.5),
        KernelRidge(kernel=lambda a, b: np.exp(-np.abs(a - b).sum())),
        KernelRidge(kernel=lambda a, b, power: (1 + a @ b) ** power, kernel_params={"power": 2}),
    ],
    ids=["rbf", "poly", "callable", "callable-with-parameters"],
)
def test_kernel_parameters_are_followed(estimator, X, y, X_test):
    assert_faithful(estimator, X, y, X_test)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_a_precomputed_kernel_takes_kernel_rows(weighted, X, y, X_test, weight):
    estimator = KernelRidge(alpha=0.5, kernel="precomputed")
    train, test = rbf_kernel(X, gamma=0.1), rbf_kernel(X_test, X, gamma=0.1)
    assert_faithful(estimator, train, y, test, weight if weighted else None)


def test_an_indefinite_kernel_is_solved_all_the_same(rng, y):
    spectrum = rng.choice([-3.0, -1.0, 2.0, 4.0], size=N_ROWS)
    vectors = np.linalg.qr(rng.normal(size=(N_ROWS, N_ROWS)))[0]
    kernel = (vectors * spectrum) @ vectors.T
    with pytest.warns(UserWarning, match="Singular matrix in solving dual problem"):
        assert_faithful(
            KernelRidge(alpha=0.5, kernel="precomputed"), kernel, y, rng.normal(size=(5, N_ROWS))
        )


def test_a_singular_kernel_has_the_solution_of_minimum_norm(rng, y):
    # Two blocks of ones: rank 2 exactly, so that no rounding hides the singularity.
    member = np.repeat([[1.0, 0.0], [0.0, 1.0]], [10, N_ROWS - 10], axis=0)
    kernel = member @ member.T
    estimator = KernelRidge(alpha=0, kernel="precomputed")
    with (
        pytest.warns(SolverPrecisionWarning, match="UNDECIDED"),
        pytest.warns(UserWarning, match="Singular matrix in solving dual problem"),
    ):
        model = assert_faithful(estimator, kernel, y, rng.normal(size=(5, N_ROWS)))
    assert_close(model.certify(kernel[[0, -1]]).score, [y[:10].mean(), y[10:].mean()])
    resolved = model.certify(kernel[[0, -1]], resolve="exact")
    assert_close(resolved.score, [y[:10].mean(), y[10:].mean()])
    assert_close(resolved.high - resolved.score, [3 / 10, 3 / (N_ROWS - 10)])


def test_kernel_ridge_takes_sparse_rows(X, y, X_test):
    estimator = KernelRidge(kernel="poly", gamma=0.1)
    assert_faithful(estimator, sparse.csr_array(X), y, sparse.csr_array(X_test))


@pytest.mark.parametrize("estimator", [Ridge, KernelRidge])
def test_several_alphas_are_refused(estimator, X, y):
    with pytest.raises(ValueError, match=r"alpha|[Nn]umber of targets"):
        regress(estimator(alpha=[1.0, 2.0]), X, y)


# --- pipelines ----------------------------------------------------------------------------

PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), Ridge()),
    "nested": make_pipeline(
        make_pipeline(StandardScaler(), PolynomialFeatures(2)), make_pipeline(PCA(3), Ridge())
    ),
    "union": make_pipeline(make_union(StandardScaler(), PCA(2)), Ridge()),
    "named-union": Pipeline(
        [("both", FeatureUnion([("pca", PCA(2)), ("gone", "drop")])), ("model", Ridge())]
    ),
    "columns": make_pipeline(
        make_column_transformer(
            (make_pipeline(StandardScaler(), PolynomialFeatures(2)), [0, 1]),
            ("passthrough", [2]),
            remainder=StandardScaler(),
        ),
        Ridge(alpha=0.5),
    ),
    "dropping": make_pipeline(
        ColumnTransformer([("kept", "passthrough", [0, 3]), ("gone", "drop", [1])]), Ridge()
    ),
    "passthrough": Pipeline([("nothing", "passthrough"), ("model", Ridge())]),
    "alone": Pipeline([("model", Ridge())]),
    "kernel": make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")),
    "function": make_pipeline(FunctionTransformer(np.tanh), Ridge()),
    "wide": make_pipeline(StandardScaler(), PolynomialFeatures(4), Ridge(alpha=3)),
}


@pytest.mark.parametrize("estimator", PIPELINES.values(), ids=PIPELINES)
def test_a_pipeline_says_what_it_says(estimator, X, y, X_test):
    assert_faithful(estimator, X, y, X_test)


@pytest.mark.parametrize("name", ["scaled", "columns", "kernel", "alone"])
def test_weights_reach_the_last_step_of_a_pipeline(name, X, y, X_test, weight):
    assert_faithful(PIPELINES[name], X, y, X_test, weight)


def test_weights_reach_the_last_step_of_a_nested_pipeline(X, y, X_test, weight):
    nested = make_pipeline(StandardScaler(), Pipeline([("last", Ridge())]))
    model = regress(nested, X, y, weight)
    own = nested.fit(X, y, pipeline__last__sample_weight=weight).predict(X_test)
    assert_close(model.certify(X_test).score, own)


def test_a_pipeline_may_pass_frames_between_its_steps(X, y, X_test):
    columns = list("abcd")
    estimator = make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge())
    estimator.set_output(transform="polars")
    assert_faithful(
        estimator, pl.DataFrame(X, schema=columns), y, pl.DataFrame(X_test, schema=columns)
    )


# --- smoothers ----------------------------------------------------------------------------


def nearest_three(train, rows):
    """Mean label of the three nearest training rows."""
    distance = ((rows[:, None, :] - train[None, :, :]) ** 2).sum(axis=2)
    near = np.argsort(distance, axis=1)[:, :3]
    found = np.zeros(distance.shape)
    np.put_along_axis(found, near, 1 / 3, axis=1)
    return found


def test_a_smoother_by_function_says_what_it_says(X, y, X_test):
    assert_faithful(LinearSmoother(nearest_three), X, y, X_test)


def test_a_smoother_by_function_may_return_a_sparse_matrix(X, y, X_test):
    estimator = LinearSmoother(lambda train, rows: sparse.csr_array(nearest_three(train, rows)))
    assert_faithful(estimator, X, y, X_test)


def test_a_smoother_behind_a_pipeline_says_what_it_says(X, y, X_test):
    assert_faithful(make_pipeline(StandardScaler(), LinearSmoother(nearest_three)), X, y, X_test)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_precomputed_smoother_takes_influence_rows(container, rng, y):
    square = container(np.eye(N_ROWS))
    rows = rng.normal(size=(N_TESTS, N_ROWS))
    model = assert_faithful(LinearSmoother(), square, y, container(rows))
    assert_close(influence(model, rows), rows)


def test_a_smoother_of_the_wrong_shape_is_refused(X, y):
    with pytest.raises(InputError, match=r"influence has shape \(24, 4\), expected \(24, 24\)"):
        regress(LinearSmoother(lambda train, rows: rows), X, y)
    with pytest.raises(InputError, match="one column per training row, got 4 columns for 24 rows"):
        regress(LinearSmoother(), X, y)
    with pytest.raises(InputError, match="'precomputed' or a callable, got 'nearest'"):
        regress(LinearSmoother("nearest"), X, y)
    with pytest.raises(InputError, match=r"takes no sample_weight: .* put it into the influence"):
        regress(LinearSmoother(nearest_three), X, y, np.ones(N_ROWS))


def test_a_smoother_that_is_not_finite_is_refused(X, y):
    with pytest.raises(ValueError, match="influence contains NaN"):
        regress(LinearSmoother(lambda train, rows: nearest_three(train, rows) * np.nan), X, y)


# --- containers and dtypes ----------------------------------------------------------------

SPARSE = [
    sparse.csr_array,
    sparse.csc_array,
    sparse.coo_array,
    sparse.csr_matrix,
    sparse.csc_matrix,
    sparse.coo_matrix,
]
SPARSE_SOLVERS = {
    "least-squares": LinearRegression(tol=1e-15),
    "least-squares-through-0": LinearRegression(fit_intercept=False, tol=1e-15),
    "ridge-auto": Ridge(**TIGHT),
    "ridge-sparse-cg": Ridge(solver="sparse_cg", **TIGHT),
    "ridge-lsqr-through-0": Ridge(solver="lsqr", fit_intercept=False, **TIGHT),
    "ridge-cholesky-through-0": Ridge(solver="cholesky", fit_intercept=False),
}


def one_hot_like(rng, shape):
    return np.where(rng.random(shape) < 0.4, rng.integers(1, 4, size=shape), 0).astype(float)


@pytest.mark.parametrize("container", SPARSE)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_sparse_rows_of_every_format_are_welcome(container, weighted, rng, y, weight):
    X, X_test = one_hot_like(rng, (N_ROWS, 5)), one_hot_like(rng, (N_TESTS, 5))
    assert_faithful(
        Ridge(**TIGHT), container(X), y, container(X_test), weight if weighted else None
    )


@pytest.mark.parametrize("n_columns", [5, N_ROWS + 7], ids=["tall", "wide"])
@pytest.mark.parametrize("estimator", SPARSE_SOLVERS.values(), ids=SPARSE_SOLVERS)
def test_iterative_solvers_with_a_tight_tol_agree(estimator, n_columns, rng, y):
    X, X_test = one_hot_like(rng, (N_ROWS, n_columns)), one_hot_like(rng, (N_TESTS, n_columns))
    assert_faithful(estimator, sparse.csr_array(X), y, sparse.csr_array(X_test))


def test_sparse_and_dense_rows_get_the_same_certificates(rng, y):
    X, X_test = one_hot_like(rng, (N_ROWS, 5)), one_hot_like(rng, (N_TESTS, 5))
    for n_columns in (5, 3):
        dense = regress(Ridge(), X[:, :n_columns], y)
        found = regress(Ridge(**TIGHT), sparse.csr_array(X[:, :n_columns]), y)
        expected = dense.certify(X_test[:, :n_columns])
        for rows in (X_test[:, :n_columns], sparse.csr_array(X_test[:, :n_columns])):
            for model in (dense, found):
                certificates = model.certify(rows)
                assert_close(certificates.low, expected.low)
                assert_close(certificates.high, expected.high)


@pytest.mark.parametrize("n_columns", [4, N_ROWS + 5], ids=["tall", "wide"])
def test_a_model_of_dense_rows_answers_for_sparse_ones(n_columns, rng, y):
    X, X_test = one_hot_like(rng, (N_ROWS, n_columns)), one_hot_like(rng, (N_TESTS, n_columns))
    model = regress(Ridge(), X, y)
    assert_close(model.certify(sparse.csr_array(X_test)).high, model.certify(X_test).high)


def test_a_sparse_design_stays_sparse_through_the_engine(rng, y):
    X = sparse.csr_array(one_hot_like(rng, (N_ROWS, 6)))
    model = regress(Ridge(**TIGHT), X, y)
    assert sparse.issparse(as_matrix(transform_rows(model.estimator_, X)))
    assert sparse.issparse(model.fitted_.learner.design)
    assert sparse.issparse(model.fitted_.engine.influence._design)


def test_one_hot_columns_of_a_pipeline_stay_sparse(rng, y):
    X = rng.integers(0, 12, size=(N_ROWS, 1)).astype(str)
    # Many more rows than categories, or the learner works in the space of the rows.
    estimator = make_pipeline(OneHotEncoder(), Ridge(**TIGHT))
    model = assert_faithful(estimator, X, y, X[:5])
    assert sparse.issparse(model.fitted_.learner.design)
    assert sparse.issparse(model.fitted_.engine.influence._design)


def test_explicit_zeros_and_duplicate_entries_change_nothing(rng, y):
    X = one_hot_like(rng, (N_ROWS, 5))
    half = sparse.coo_array(X / 2)
    doubled = sparse.coo_array(
        (np.tile(half.data, 2), (np.tile(half.row, 2), np.tile(half.col, 2))), shape=half.shape
    )
    stored = sparse.csr_array(np.ones_like(X))
    stored.data[:] = X.ravel()
    expected = regress(Ridge(**TIGHT), sparse.csr_array(X), y).certify(X)
    for rows in (doubled, stored):
        certificates = regress(Ridge(**TIGHT), rows, y).certify(rows)
        assert_close(certificates.high, expected.high)


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def columns_of(X, dtype=float):
    return {name: X[:, at].astype(dtype) for at, name in enumerate("abcd")}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    "estimator",
    [Ridge(), LinearRegression(), KernelRidge(), make_pipeline(StandardScaler(), Ridge())],
    ids=["ridge", "least-squares", "kernel", "pipeline"],
)
def test_frames_get_the_certificates_of_their_arrays(library, estimator, X, y, X_test):
    frame = FRAMES[library]
    certificates = regress(estimator, frame(columns_of(X)), y).certify(frame(columns_of(X_test)))
    expected = regress(estimator, X, y).certify(X_test)
    assert_close(certificates.score, expected.score)
    assert_close(certificates.high, expected.high)


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_a_frame_are_encoded_by_name(library, rng, y):
    frame = FRAMES[library]
    colour = rng.choice(["red", "green", "blue"], size=N_ROWS)
    size = rng.normal(size=N_ROWS)
    estimator = make_pipeline(
        make_column_transformer((OneHotEncoder(drop="first"), ["colour"]), remainder="passthrough"),
        Ridge(solver="svd"),
    )
    X = frame({"colour": colour.tolist(), "size": size})
    model = regress(estimator, X, y)
    by_hand = np.column_stack((colour == "green", colour == "red", size)).astype(float)
    assert_close(model.certify(X).score, Ridge().fit(by_hand, y).predict(by_hand))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool])
@pytest.mark.parametrize(
    "estimator",
    [Ridge(), KernelRidge(), make_pipeline(StandardScaler(), Ridge())],
    ids=["ridge", "kernel", "pipeline"],
)
def test_narrow_dtypes_are_certified_in_double_precision(estimator, dtype, X, y, X_test):
    X, X_test = np.abs(X).astype(dtype), np.abs(X_test).astype(dtype)
    model = regress(estimator, X, y)
    own = clone(estimator).fit(X.astype(float), y).predict(X_test.astype(float))
    assert_close(model.certify(X_test).score, own)
    assert_close(model.predict(X_test), own)


@pytest.mark.parametrize("library", FRAMES)
def test_single_precision_columns_are_certified_in_double_precision(library, X, y):
    frame = FRAMES[library](columns_of(X, np.float32))
    estimator = make_pipeline(StandardScaler(), Ridge())
    own = clone(estimator).fit(X.astype(np.float32).astype(float), y)
    expected = own.predict(X.astype(np.float32).astype(float))
    assert_close(regress(estimator, frame, y).certify(frame).score, expected)


def test_lists_are_as_good_as_arrays(X, y, X_test):
    expected = regress(Ridge(), X, y).certify(X_test).score
    assert_close(regress(Ridge(), X.tolist(), y.tolist()).certify(X_test.tolist()).score, expected)
    scaled = make_pipeline(StandardScaler(), Ridge())
    expected = regress(scaled, X, y).certify(X_test).score
    assert_close(regress(scaled, X.tolist(), y.tolist()).certify(X_test.tolist()).score, expected)


def test_a_solver_that_stops_early_is_reported_once(rng, y):
    X = sparse.csr_array(one_hot_like(rng, (N_ROWS, 5)))
    with pytest.warns(
        SolverPrecisionWarning, match=r"Ridge's own scores differ .* a smaller tol"
    ) as seen:
        model = regress(Ridge(tol=1e-1), X, y)
    assert [warning.filename for warning in seen] == [__file__]
    # The certificate is about the exact solution, whatever the solver did.
    assert_close(model.certify(X).score, Ridge(**TIGHT).fit(X, y).predict(X))


def test_a_solver_that_arrives_is_not_reported(rng, y):
    X = sparse.csr_array(one_hot_like(rng, (N_ROWS, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regress(Ridge(**TIGHT), X, y)


def test_rows_that_a_solver_which_stops_early_puts_into_another_class_are_named(rng):
    X = sparse.csr_array(one_hot_like(rng, (400, 40)))
    y = rng.random(400) < 0.5
    model = CertifiedClassifier(Ridge(tol=0.3), bias=LabelBias.flips(budget=2))
    with pytest.warns(SolverPrecisionWarning, match="own scores differ"):
        model.fit(X, y)
    with pytest.warns(SolverPrecisionWarning) as seen:
        certs = model.certify(X)
    exact = Ridge(**TIGHT).fit(X, y).predict(X) > 0.5
    other = np.flatnonzero(model.predict(X) != exact)
    assert len(other)
    assert (certs.prediction == exact).all()
    message = str(seen[0].message)
    assert f"for {len(other)} of 400 rows ({other[0]}, {other[1]}" in message
    assert "tol=1e-12" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CertifiedClassifier(Ridge(**TIGHT), bias=LabelBias.flips(budget=2)).fit(X, y).certify(X)
