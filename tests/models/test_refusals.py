"""What cannot be certified is refused by name and with the reason, before or after a look."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
)
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, StandardScaler, TargetEncoder
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelPeekError,
    NotLinearError,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=30)
LABELS = (Y > 0).astype(int)

THE_LINEAR_ONES = "LinearRegression, Ridge, RidgeClassifier, KernelRidge"


def regressor(estimator):
    return CertifiedRegressor(estimator, bias=LabelBias.shifts(1, budget=1), radius=1)


def classifier(estimator):
    return CertifiedClassifier(estimator, bias=LabelBias.flips(budget=1))


NOT_LINEAR = [
    SGDClassifier(),
    Lasso(),
    ElasticNet(),
    HuberRegressor(),
    QuantileRegressor(),
    SGDRegressor(),
    SVR(),
    LinearSVC(),
    RandomForestRegressor(),
    RandomForestClassifier(),
    GradientBoostingRegressor(),
    DecisionTreeRegressor(),
    MLPRegressor(),
    MLPClassifier(),
    DummyRegressor(),
    StackingRegressor([("ridge", Ridge())]),
]


@pytest.mark.parametrize("estimator", NOT_LINEAR, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("wrap", [regressor, classifier])
@pytest.mark.parametrize("behind", [False, True], ids=["bare", "pipeline"])
def test_an_estimator_that_is_not_linear_is_refused_by_name(estimator, wrap, behind):
    model = wrap(make_pipeline(StandardScaler(), estimator) if behind else estimator)
    with pytest.raises(NotLinearError) as refused:
        model.fit(X, LABELS)
    message = str(refused.value)
    assert message.startswith(f"{type(estimator).__name__} is not known to be linear in its labels")
    assert THE_LINEAR_ONES in message
    assert "LinearSmoother" in message
    assert not hasattr(model, "estimator_")


class FriendlyRidge(Ridge):
    """A subclass may do anything in fit."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, np.sign(y), sample_weight)


def test_a_subclass_with_its_own_fit_is_refused():
    with pytest.raises(NotLinearError, match="FriendlyRidge is not known to be linear"):
        regressor(FriendlyRidge()).fit(X, Y)


def test_a_class_is_refused_with_a_hint_at_its_instance():
    with pytest.raises(InputError, match=r"estimator is the class Ridge; pass an instance of it, "):
        regressor(Ridge).fit(X, Y)


@pytest.mark.parametrize("nothing", [None, "ridge", 3, X], ids=["None", "str", "int", "array"])
def test_what_is_no_estimator_is_refused(nothing):
    with pytest.raises(
        NotLinearError, match=f"{type(nothing).__name__} is not known .* use one of"
    ):
        regressor(nothing).fit(X, Y)


def test_a_pipeline_that_ends_in_nothing_is_refused():
    with pytest.raises(NotLinearError, match="is not known to be linear"):
        regressor(Pipeline([("scale", StandardScaler()), ("end", "passthrough")])).fit(X, Y)


@pytest.mark.parametrize("estimator", [LinearRegression(positive=True), Ridge(positive=True)])
@pytest.mark.parametrize("behind", [False, True], ids=["bare", "pipeline"])
def test_positive_coefficients_are_refused(estimator, behind):
    model = regressor(make_pipeline(StandardScaler(), estimator) if behind else estimator)
    with pytest.raises(NotLinearError) as refused:
        model.fit(X, Y)
    assert f"{type(estimator).__name__}(positive=True) is not linear" in str(refused.value)
    assert "pass positive=False" in str(refused.value)


@pytest.mark.parametrize("weight", ["balanced", {0: 1.0, 1: 3.0}], ids=["balanced", "dict"])
def test_class_weights_are_refused(weight):
    with pytest.raises(NotLinearError) as refused:
        classifier(RidgeClassifier(class_weight=weight)).fit(X, LABELS)
    message = str(refused.value)
    assert message.startswith(f"RidgeClassifier(class_weight={weight!r}) weighs each row by its")
    assert "pass class_weight=None" in message


SEARCHES = {
    LassoCV(): "chooses its parameters by the labels",
    HalvingGridSearchCV(Ridge(), {"alpha": [1, 2]}): "chooses its parameters by the labels",
    RFECV(Ridge()): "chooses its parameters by the labels",
    CalibratedClassifierCV(RidgeClassifier()): "calibrates its scores on the labels",
    TunedThresholdClassifierCV(RidgeClassifier()): "chooses its threshold by the labels",
    PLSRegression(): "chooses its directions by the labels",
    PLSCanonical(): "chooses its directions by the labels",
    CCA(): "chooses its directions by the labels",
}


@pytest.mark.parametrize(
    ("estimator", "reason"), SEARCHES.items(), ids=[type(e).__name__ for e in SEARCHES]
)
@pytest.mark.parametrize("behind", [False, True], ids=["bare", "pipeline"])
def test_a_search_over_the_labels_is_refused_with_its_reason(estimator, reason, behind):
    model = regressor(make_pipeline(StandardScaler(), estimator) if behind else estimator)
    with pytest.raises(LabelPeekError) as refused:
        model.fit(X, Y)
    message = str(refused.value)
    assert message.startswith(f"{type(estimator).__name__} {reason}")
    assert "choose on data outside the training set" in message
    assert THE_LINEAR_ONES in message


PEEKING_STEPS = [
    SelectKBest(k=1),
    SelectPercentile(),
    SelectFdr(),
    SelectFromModel(Ridge()),
    SequentialFeatureSelector(Ridge()),
    RFE(Ridge()),
    RFECV(Ridge()),
    TargetEncoder(),
    PLSRegression(),
    LinearDiscriminantAnalysis(),
    NeighborhoodComponentsAnalysis(),
    RandomForestClassifier(),
    GridSearchCV(PolynomialFeatures(), {"degree": [1, 2]}),
]


@pytest.mark.parametrize("step", PEEKING_STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize(
    "place",
    [
        lambda step: Pipeline([("looks", step), ("last", Ridge())]),
        lambda step: make_pipeline(Pipeline([("looks", step)]), Ridge()),
        lambda step: make_pipeline(StandardScaler(), Pipeline([("looks", step), ("m", Ridge())])),
        lambda step: make_pipeline(make_column_transformer((step, [0, 1])), Ridge()),
        lambda step: make_pipeline(ColumnTransformer([], remainder=step), Ridge()),
        lambda step: make_pipeline(make_union(StandardScaler(), step), Ridge()),
    ],
    ids=["step", "inner-pipeline", "nested-tail", "columns", "remainder", "union"],
)
def test_a_step_that_looks_at_the_labels_is_refused_wherever_it_stands(step, place):
    if isinstance(step, (RandomForestClassifier, GridSearchCV)):
        step.transform = lambda rows: rows  # scikit-learn lets no step in that cannot transform
    with pytest.raises(LabelPeekError) as refused:
        regressor(place(step)).fit(X, LABELS)
    message = str(refused.value)
    assert f"({type(step).__name__}) looks at the labels" in message
    assert "drop the step, or fit it on data outside the training set" in message


def test_the_refusal_names_the_step_as_the_user_named_it():
    with pytest.raises(LabelPeekError, match=r"step 'best two' \(SelectKBest\) looks at the lab"):
        regressor(Pipeline([("best two", SelectKBest(k=2)), ("model", Ridge())])).fit(X, Y)


# --- transformers of the user's own ---------------------------------------------------------


class Squares(TransformerMixin, BaseEstimator):
    """Ignores the labels."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        return self

    def transform(self, X):
        return (np.asarray(X) - self.mean_) ** 2


class ScaledByLabels(Squares):
    """Looks at the labels when it gets them."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0) if y is None else np.full(X.shape[1], np.mean(y))
        return self


class NeedsLabels(Squares):
    """Cannot do without the labels."""

    def fit(self, X, y):
        self.mean_ = np.full(X.shape[1], np.mean(y))
        return self


class TripsWithoutLabels(Squares):
    """Fails in its own way without labels."""

    def fit(self, X, y=None):
        self.mean_ = np.full(X.shape[1], y.mean())
        return self


class Noise(Squares):
    """Random unless told otherwise."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.mean_ = np.random.default_rng(self.random_state).normal(size=X.shape[1])
        return self


class OtherWidth(Squares):
    """Makes another number of features when it gets labels."""

    def fit(self, X, y=None):
        super().fit(X)
        self.columns_ = slice(None) if y is None else slice(1)
        return self

    def transform(self, X):
        return super().transform(X)[:, self.columns_]


PLACES = {
    "step": lambda step: make_pipeline(step, Ridge()),
    "inner-pipeline": lambda step: make_pipeline(make_pipeline(StandardScaler(), step), Ridge()),
    "columns": lambda step: make_pipeline(
        make_column_transformer((step, [0, 1]), remainder="passthrough"), Ridge()
    ),
    "union": lambda step: make_pipeline(make_union(StandardScaler(), step), Ridge()),
    "after-another": lambda step: make_pipeline(StandardScaler(), "passthrough", step, Ridge()),
}
everywhere = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


@everywhere
@pytest.mark.parametrize("step", [Squares(), Noise(random_state=3)], ids=["blind", "seeded"])
def test_a_transformer_that_ignores_the_labels_passes(place, step):
    estimator = place(step)
    model = regressor(estimator).fit(X, Y)
    own = estimator.fit(X, Y).predict(X)
    np.testing.assert_allclose(model.certify(X).score, own, rtol=1e-9)


@everywhere
@pytest.mark.parametrize("step", [ScaledByLabels(), OtherWidth()], ids=lambda s: type(s).__name__)
def test_a_transformer_that_uses_the_labels_is_refused(place, step):
    with pytest.raises(LabelPeekError) as refused:
        regressor(place(step)).fit(X, Y)
    message = str(refused.value)
    assert f"({type(step).__name__}) gives other features when fitted without labels" in message


@everywhere
@pytest.mark.parametrize(
    "step", [NeedsLabels(), TripsWithoutLabels()], ids=lambda s: type(s).__name__
)
def test_a_transformer_that_needs_the_labels_is_refused(place, step):
    with pytest.raises(LabelPeekError) as refused:
        regressor(place(step)).fit(X, Y)
    assert f"({type(step).__name__}) cannot be fitted without labels" in str(refused.value)


@everywhere
def test_a_random_transformer_is_refused_with_a_hint_at_its_seed(place):
    with pytest.raises(LabelPeekError, match=r"Noise.*is random: then set its random_state"):
        regressor(place(Noise())).fit(X, Y)


def test_clusters_are_welcome_when_seeded():
    seeded = make_pipeline(KMeans(3, n_init=1, random_state=0), Ridge())
    model = regressor(seeded).fit(X, Y)
    np.testing.assert_allclose(model.certify(X).score, seeded.fit(X, Y).predict(X), rtol=1e-9)


def test_a_custom_transformer_may_make_sparse_features():
    class Sparse(Squares):
        def transform(self, X):
            from scipy import sparse  # noqa: PLC0415

            return sparse.csr_array(super().transform(X))

    class SparseByLabels(Sparse, ScaledByLabels):
        pass

    ridge = Ridge(fit_intercept=False)
    model = regressor(make_pipeline(Sparse(), ridge)).fit(X, Y)
    np.testing.assert_allclose(model.certify(X).score, model.predict(X), rtol=1e-9)
    with pytest.raises(LabelPeekError, match="SparseByLabels"):
        regressor(make_pipeline(SparseByLabels(), ridge)).fit(X, Y)
