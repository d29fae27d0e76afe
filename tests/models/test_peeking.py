"""Labels that come in by a side door: containers, fitted steps, training rows, weights.

Every test here refits the user's own estimator on changed labels somewhere: what is certified must
survive that, and what cannot must be refused.
"""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, PCA, FastICA, KernelPCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.class_weight import compute_sample_weight

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelPeekError,
    NotLinearError,
)

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.7 * RNG.normal(size=60) > 0).astype(int)
TESTS = RNG.normal(size=(25, 3))
FLIPS = LabelBias.flips(budget=3)


def certified(estimator, **more):
    return CertifiedClassifier(estimator, bias=FLIPS, **more)


# --- containers ---------------------------------------------------------------------------


class PeekingPipeline(Pipeline):
    """Its parts are blind; the whole is not."""

    def fit_transform(self, X, y=None, **params):
        made = super().fit_transform(X, y, **params)
        self.by_ = 1.0 if y is None else 1.0 + float(np.mean(y))
        return made * self.by_

    def transform(self, X):
        return super().transform(X) * self.by_


class PeekingUnion(FeatureUnion):
    def fit_transform(self, X, y=None, **params):
        made = super().fit_transform(X, y, **params)
        self.by_ = 1.0 if y is None else 1.0 + float(np.mean(y))
        return made * self.by_

    def transform(self, X, **params):
        return super().transform(X, **params) * self.by_


class PeekingColumns(ColumnTransformer):
    def fit_transform(self, X, y=None, **params):
        made = super().fit_transform(X, y, **params)
        self.by_ = 1.0 if y is None else 1.0 + float(np.mean(y))
        return made * self.by_

    def transform(self, X, **params):
        return super().transform(X, **params) * self.by_


CONTAINERS = {
    "pipeline": PeekingPipeline([("scale", StandardScaler())]),
    "union": PeekingUnion([("scale", StandardScaler())]),
    "columns": PeekingColumns([("scale", StandardScaler(), [0, 1, 2])]),
}
PLACES = {
    "step": lambda step: make_pipeline(step, Ridge()),
    "inner": lambda step: make_pipeline(make_pipeline(StandardScaler(), step), Ridge()),
    "union": lambda step: make_pipeline(make_union(step, StandardScaler()), Ridge()),
    "columns": lambda step: make_pipeline(ColumnTransformer([("c", step, [0, 1, 2])]), Ridge()),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_container_that_looks_at_the_labels_is_refused_wherever_it_stands(container, place):
    with pytest.raises(LabelPeekError, match=type(container).__name__):
        certified(place(clone(container))).fit(X, Y)


class ResamplingPipeline(Pipeline):
    """Drops rows by their labels before the last step is trained."""

    def fit(self, X, y=None, **params):
        kept = np.arange(len(y)) >= np.sum(y) // 4
        return super().fit(X[kept], y[kept], **params)


def test_a_pipeline_of_another_class_is_refused_as_a_whole():
    with pytest.raises(NotLinearError, match="ResamplingPipeline"):
        certified(ResamplingPipeline([("scale", StandardScaler()), ("m", Ridge())])).fit(X, Y)
    nested = make_pipeline(StandardScaler(), ResamplingPipeline([("m", Ridge())]))
    with pytest.raises(NotLinearError, match="ResamplingPipeline"):
        certified(nested).fit(X, Y)


class BlindUnion(FeatureUnion):
    """Another class, and nothing wrong with it."""


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_container_of_another_class_that_ignores_the_labels_passes(place):
    estimator = place(BlindUnion([("scale", StandardScaler())]))
    model = certified(estimator).fit(X, Y)
    own = clone(estimator).fit(X, Y).predict(TESTS)
    np.testing.assert_allclose(model.certify(TESTS).score, own, rtol=1e-9)


class PeeksAtTheMean(TransformerMixin, BaseEstimator):
    """Reacts to how many labels are positive, not to which, and to no labels as to few."""

    def fit(self, X, y=None):
        self.by_ = 2.0 if y is not None and np.mean(y) > 0.6 else 1.0
        return self

    def transform(self, X):
        return np.asarray(X) * self.by_


class PeeksForOtherRows(TransformerMixin, BaseEstimator):
    """Blind on the training rows as they stand, not on any others."""

    def fit(self, X, y=None):
        self.rows_, self.labels_ = np.array(X), y
        return self

    def transform(self, X):
        if self.labels_ is None or np.array_equal(X, self.rows_):
            return X
        return X + np.mean(self.labels_)


@pytest.mark.parametrize("step", [PeeksAtTheMean(), PeeksForOtherRows()], ids=str)
def test_a_shy_transformer_is_found_out(step):
    with pytest.raises(LabelPeekError, match=type(step).__name__):
        certified(make_pipeline(step, Ridge())).fit(X, Y)


def test_a_peeking_transformer_is_found_where_the_labels_read_the_same_backwards():
    class Weighs(PeeksAtTheMean):
        def fit(self, X, y=None):
            self.by_ = 1.0 if y is None else np.abs(np.asarray(y, float) @ np.abs(X)).sum()
            return self

    both_ways = np.concatenate((Y[:30], Y[:30][::-1]))
    with pytest.raises(LabelPeekError, match="Weighs"):
        certified(make_pipeline(Weighs(), Ridge())).fit(X, both_ways)


# --- training features --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_known_step_whose_training_features_are_not_its_later_ones_is_refused():
    step = NMF(2, max_iter=3, init="random", random_state=0)
    with pytest.raises(NotLinearError, match=r"NMF.* other features .* fit_transform"):
        certified(make_pipeline(step, Ridge())).fit(np.abs(X), Y)
    both = make_union(StandardScaler(), step)
    with pytest.raises(NotLinearError, match=r"NMF.* other features .* fit_transform"):
        certified(make_pipeline(both, Ridge())).fit(np.abs(X), Y)


@pytest.mark.parametrize(
    "step",
    [PCA(2), FastICA(2, random_state=0), KernelPCA(2, kernel="rbf"), TruncatedSVD(2)],
    ids=lambda step: type(step).__name__,
)
def test_a_step_whose_training_features_differ_by_rounding_is_certified_on_those(step):
    estimator = make_pipeline(step, Ridge(alpha=1e-3))
    if hasattr(step, "random_state"):
        estimator.set_params(**{f"{estimator.steps[0][0]}__random_state": 0})
    model = certified(estimator).fit(X, Y)
    seen = clone(estimator[:-1]).fit_transform(X, Y)
    np.testing.assert_array_equal(model.fitted_.learner.specification.matrix, seen)
    own = clone(estimator).fit(X, Y).predict(TESTS)
    np.testing.assert_allclose(model.certify(TESTS).score, own, rtol=1e-9)


# --- fitted elsewhere -----------------------------------------------------------------------


def frozen_selector():
    return FrozenEstimator(SelectKBest(k=1).fit(X, Y))


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_step_that_was_fitted_elsewhere_needs_trust(place):
    with pytest.raises(LabelPeekError, match=r"FrozenEstimator.*trust="):
        certified(place(frozen_selector())).fit(X, Y)


def test_trust_is_by_name_and_the_certificate_says_so():
    estimator = Pipeline([("chosen", frozen_selector()), ("m", Ridge())])
    certs = certified(estimator, trust="chosen").fit(X, Y).certify(TESTS)
    assert certs.trusted == ("chosen",)
    assert "chosen" in repr(certs)
    deep = Pipeline([("outer", Pipeline([("chosen", frozen_selector())])), ("m", Ridge())])
    certs = certified(deep, trust=["outer__chosen"]).fit(X, Y).certify(TESTS)
    assert certs.trusted == ("outer__chosen",)


@pytest.mark.parametrize("trust", ["chosne", ("chosen", "other"), "m", 3, ("chosen", None)])
def test_trust_in_something_that_needs_none_is_refused(trust):
    estimator = Pipeline([("chosen", frozen_selector()), ("m", Ridge())])
    with pytest.raises(InputError, match="trust"):
        certified(estimator, trust=trust).fit(X, Y)


def test_trust_does_not_cover_a_step_that_looks_at_the_labels_here():
    estimator = Pipeline([("best", SelectKBest(k=1)), ("m", Ridge())])
    with pytest.raises(LabelPeekError, match="SelectKBest"):
        certified(estimator, trust="best").fit(X, Y)


def test_a_frozen_step_needs_trust_whatever_is_inside():
    """Fitted on the positive rows alone, a transformer that never sees labels knows them."""
    frozen = FrozenEstimator(make_pipeline(StandardScaler(), PCA(2)).fit(X[Y == 1]))
    with pytest.raises(LabelPeekError, match=r"FrozenEstimator.*trust="):
        certified(make_pipeline(frozen, Ridge())).fit(X, Y)
    certs = certified(make_pipeline(frozen, Ridge()), trust="frozenestimator").fit(X, Y)
    assert certs.certify(TESTS).trusted == ("frozenestimator",)


class Parts(TransformerMixin, BaseEstimator):
    """Holds estimators where `get_params` does not look."""

    def __init__(self, parts):
        self.parts = parts

    def fit(self, X, y=None):
        self.n_ = X.shape[1]
        return self

    def transform(self, X):
        return np.hstack([part.transform(X) for _, part in self.parts])


def test_a_frozen_estimator_in_a_list_needs_trust_too():
    step = Parts([("a", FrozenEstimator(SelectKBest(k=1).fit(X, Y)))])
    with pytest.raises(LabelPeekError, match=r"FrozenEstimator.*trust="):
        certified(make_pipeline(step, Ridge())).fit(X, Y)


class DropsByCorrelation(TransformerMixin, BaseEstimator):
    """Reacts to labels that are nearly the given ones, and to no labels not at all."""

    def fit(self, X, y=None):
        self.kept_ = np.ones(X.shape[1], bool)
        if y is not None:
            r = np.abs([np.corrcoef(column, y)[0, 1] for column in X.T])
            self.kept_ = r <= np.median(r) + 1e-9
        return self

    def transform(self, X):
        return X * self.kept_


def test_a_transformer_that_reacts_to_correlations_is_refused():
    with pytest.raises(LabelPeekError, match="DropsByCorrelation"):
        certified(make_pipeline(DropsByCorrelation(), Ridge())).fit(X, Y)


RANDOM = {
    "features": RBFSampler(n_components=8),
    "projection": GaussianRandomProjection(2),
    "subsample": QuantileTransformer(n_quantiles=5, subsample=10),
    "function": FunctionTransformer(lambda rows: rows + RNG.normal(size=np.shape(rows))),
}


@pytest.mark.parametrize("step", RANDOM.values(), ids=RANDOM)
def test_a_known_step_that_is_random_is_refused_with_a_hint_at_its_seed(step):
    with pytest.raises(NotLinearError, match="set its random_state"):
        certified(make_pipeline(step, Ridge())).fit(X, Y)


def test_a_known_step_with_a_seed_is_welcome():
    step = RBFSampler(n_components=8, random_state=0)
    assert certified(make_pipeline(step, Ridge())).fit(X, Y)


class Keeps(TransformerMixin, BaseEstimator):
    """Copies keep what it was fitted on, as FrozenEstimator's do."""

    def __init__(self, by=1.0):
        self.by = by

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X * self.by

    def __sklearn_is_fitted__(self):
        return True


def test_whatever_a_copy_of_which_stays_fitted_needs_trust():
    with pytest.raises(LabelPeekError, match=r"Keeps.*trust="):
        certified(make_pipeline(Keeps(Y.mean()), Ridge())).fit(X, Y)
    inside = make_pipeline(TargetEncoderBehind(Keeps(Y.mean())), Ridge())
    with pytest.raises(LabelPeekError, match=r"Keeps.*trust="):
        certified(inside).fit(X, Y)


class TargetEncoderBehind(TransformerMixin, BaseEstimator):
    """Passes the work on to an estimator it was given."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y=None):
        self.inner_ = clone(self.inner).fit(X, y)
        return self

    def transform(self, X):
        return self.inner_.transform(X)


def test_an_encoder_of_targets_behind_another_class_is_refused():
    codes = RNG.integers(0, 3, size=(60, 1))
    with pytest.raises(LabelPeekError, match="TargetEncoder"):
        certified(make_pipeline(TargetEncoderBehind(TargetEncoder()), Ridge())).fit(codes, Y)


class StandardScalerOfMyOwn(StandardScaler):
    pass


StandardScalerOfMyOwn.__name__ = "StandardScaler"
StandardScalerOfMyOwn.__module__ = "sklearn.preprocessing._data"


def test_a_class_is_known_by_what_it_is_not_by_its_name():
    class Fake(StandardScalerOfMyOwn):
        def fit(self, X, y=None):
            super().fit(X)
            self.scale_ = self.scale_ if y is None else self.scale_ * (1 + np.mean(y))
            return self

    Fake.__name__, Fake.__module__ = "StandardScaler", "sklearn.preprocessing._data"
    with pytest.raises(LabelPeekError, match="StandardScaler"):
        certified(make_pipeline(Fake(), Ridge())).fit(X, Y)


# --- weights ------------------------------------------------------------------------------

NAMES = np.where(Y == 1, "yes", "no")
BALANCED = compute_sample_weight("balanced", Y)
WEIGHTED = {
    "ridge": Ridge(),
    "ridge-classifier": RidgeClassifier(),
    "kernel": KernelRidge(kernel="rbf"),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
}


@pytest.mark.parametrize("estimator", WEIGHTED.values(), ids=WEIGHTED)
@pytest.mark.parametrize("labels", [Y, NAMES, Y == 1], ids=["numbers", "texts", "flags"])
def test_weights_of_one_value_per_class_are_refused(estimator, labels):
    with pytest.raises(LabelPeekError, match=r"sample_weight .*one value per class.*trust="):
        certified(estimator).fit(X, labels, sample_weight=BALANCED)


def test_weights_of_one_value_per_class_are_seen_through_rounding():
    with pytest.raises(LabelPeekError, match="one value per class"):
        certified(Ridge()).fit(X, Y, sample_weight=BALANCED * (1 + 1e-12 * RNG.random(60)))


def test_weights_that_make_a_group_and_the_labels_independent_are_refused():
    group = RNG.random(60) < 0.4
    joint = {(g, y): np.mean((group == g) & (y == Y)) for g in (0, 1) for y in (0, 1)}
    weight = [
        np.mean(group == g) * np.mean(y == Y) / joint[g, y] for g, y in zip(group, Y, strict=True)
    ]
    with pytest.raises(LabelPeekError, match="sample_weight tells the class"):
        certified(Ridge()).fit(X, Y, sample_weight=weight)


def test_weights_that_are_larger_for_one_class_are_refused():
    with pytest.raises(LabelPeekError, match="larger for all rows of one class"):
        certified(Ridge()).fit(X, Y, sample_weight=Y + 0.9 * RNG.random(60))
    with pytest.raises(LabelPeekError, match="leaves out all rows of one class"):
        certified(Ridge()).fit(X, Y, sample_weight=np.where(Y, RNG.random(60) + 0.1, 0.0))


def test_weights_per_class_of_some_of_the_rows_are_refused():
    with pytest.raises(LabelPeekError, match="one value per class"):
        certified(Ridge()).fit(X, Y, sample_weight=BALANCED * (np.arange(60) % 4 > 0))


@pytest.mark.parametrize("weigh", [lambda y: 1 / y, lambda y: y**-2, lambda y: y, np.sqrt])
def test_weights_in_the_order_of_the_labels_are_refused(weigh):
    labels = np.abs(X @ [1.0, 2.0, 3.0]) + 0.1
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(0.1, budget=1), radius=0.1)
    with pytest.raises(LabelPeekError, match="rises or falls with the label"):
        model.fit(X, labels, sample_weight=weigh(labels))


def test_weights_of_a_survey_are_welcome():
    strata = RNG.integers(0, 4, size=60)
    assert certified(Ridge()).fit(X, Y, sample_weight=np.array([1.0, 2.5, 0.0, 7.0])[strata])


def test_weights_that_a_regression_label_decides_are_refused():
    counts = RNG.integers(0, 5, size=60)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=0.5)
    with pytest.raises(LabelPeekError, match="sample_weight"):
        model.fit(X, counts, sample_weight=1.0 / (1 + counts))
    # With all labels different, every weight would be one per label.
    assert model.fit(X, RNG.normal(size=60), sample_weight=RNG.random(60))


@pytest.mark.parametrize("weight", [np.ones(60), np.full(60, 3.0), RNG.random(60) + 0.5, 2.0])
def test_other_weights_are_welcome_and_the_certificate_is_silent(weight):
    certs = certified(Ridge()).fit(X, Y, sample_weight=weight).certify(TESTS)
    assert certs.trusted == ()


def test_weights_fixed_beforehand_are_taken_on_trust_and_the_certificate_says_so():
    model = certified(Ridge(), trust="sample_weight").fit(X, Y, sample_weight=BALANCED)
    certs = model.certify(TESTS)
    assert certs.trusted == ("sample_weight",)
    assert "sample_weight" in repr(certs)
    assert "sample_weight" in certs._repr_html_()
    assert model.certify_coefficients().trusted == ("sample_weight",)
    # Trust that was not needed is not claimed.
    assert model.fit(X, Y).certify(TESTS).trusted == ()


@pytest.mark.parametrize("weight", ["balanced", {0: 1.0, 1: 3.0}], ids=["balanced", "dict"])
def test_the_refusal_of_class_weights_does_not_send_people_to_a_false_certificate(weight):
    with pytest.raises(NotLinearError) as refused:
        certified(RidgeClassifier(class_weight=weight)).fit(X, Y)
    message = str(refused.value)
    assert "pass class_weight=None" in message
    assert "or sample_weight to fit" not in message
    assert "before the labels were seen" in message


def test_categories_behind_containers_of_scikit_learn_are_still_certified():
    rows = np.column_stack((X, RNG.integers(0, 3, size=60)))
    features = ColumnTransformer(
        [("c", OneHotEncoder(), [3]), ("n", make_pipeline(StandardScaler(), PCA(2)), [0, 1, 2])]
    )
    model = certified(make_pipeline(features, Ridge())).fit(rows, Y)
    certs = model.certify(rows[:10])
    own = make_pipeline(features, Ridge()).fit(rows, Y).predict(rows[:10])
    np.testing.assert_allclose(certs.score, own, rtol=1e-9)
