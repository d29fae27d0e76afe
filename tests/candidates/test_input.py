"""Searches that cannot be certified are refused, with the reason and what to pass instead."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelPeekError,
    NotLinearError,
    UnswayedError,
)

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
Y = X @ [1.0, -1.0] + RNG.normal(size=24)
LABELS = (Y > 0).astype(int)
GRID = {"alpha": [0.1, 10.0]}


class Mine(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def classifier(search, **options):
    return CertifiedClassifier(search, bias=LabelBias.flips(budget=1), **options)


def regressor(search):
    return CertifiedRegressor(search, bias=LabelBias.shifts(1, budget=1), radius=1)


REFUSED = [
    (GridSearchCV(RidgeClassifier(), GRID), LabelPeekError, "StratifiedKFold"),
    (GridSearchCV(RidgeClassifier(), GRID, cv=StratifiedKFold(3)), LabelPeekError, "pass cv=KFold"),
    (RidgeClassifierCV(cv=3), LabelPeekError, "StratifiedKFold"),
    (GridSearchCV(Ridge(), GRID, scoring="roc_auc"), LabelPeekError, "scoring='roc_auc'"),
    (GridSearchCV(Ridge(), GRID, scoring=["r2", "accuracy"]), LabelPeekError, "no mean of errors"),
    (RidgeCV(scoring=lambda *given: 0.0), LabelPeekError, "no mean of errors"),
    (GridSearchCV(Ridge(), GRID, cv=KFold(3, shuffle=True)), InputError, "random_state"),
    (GridSearchCV(Ridge(), GRID, cv=KFold(3).split(X)), InputError, "list of .train, test. pairs"),
    (GridSearchCV(Ridge(), GRID, refit=False), InputError, "refit=True"),
    (RandomizedSearchCV(Ridge(), GRID, n_iter=2), InputError, "random_state"),
    (GridSearchCV(Ridge(), {"alpha": [1.0, np.nan]}), InputError, "alpha must be a finite number"),
    (RidgeCV([1.0, np.nan]), UnswayedError, "alphas"),
    (RidgeCV([]), InputError, "there is no candidate"),
    (
        GridSearchCV(Ridge(), {"alpha": [1.0], "positive": [False, True]}),
        NotLinearError,
        "positive",
    ),
    (GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=KFold(3)), NotLinearError, "linear in"),
    (GridSearchCV(make_pipeline(SelectKBest(k=1), Ridge()), {}), LabelPeekError, "SelectKBest"),
    (GridSearchCV(make_pipeline(Mine(), Ridge()), {}), LabelPeekError, "in front of the search"),
    (
        GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge": [Ridge(), Ridge(2)]}),
        InputError,
        "is an estimator",
    ),
    (RidgeClassifierCV(class_weight="balanced"), NotLinearError, "class_weight"),
]


@pytest.mark.parametrize(("search", "error", "said"), REFUSED, ids=range(len(REFUSED)))
def test_a_search_that_cannot_be_certified_is_refused(search, error, said):
    with pytest.raises(error, match=said):
        classifier(search).fit(X, LABELS)


def test_weights_go_with_leave_one_out_only():
    weight = RNG.uniform(1, 2, len(Y))
    assert regressor(RidgeCV()).fit(X, Y, weight).certify(X[:2]).candidates.chosen >= 0
    with pytest.raises(InputError, match="sample_weight"):
        regressor(RidgeCV(cv=3)).fit(X, Y, weight)
    with pytest.raises(InputError, match="takes no sample_weight"):
        regressor(GridSearchCV(Ridge(), GRID)).fit(X, Y, weight)


def test_what_a_search_cannot_do_is_refused_with_the_reason():
    model = classifier(RidgeCV()).fit(X, LABELS)
    for ask in (
        lambda: model.certify(X, resolve="exact"),
        lambda: model.certify(X, method="box"),
        lambda: model.certify_together(X),
        lambda: model.certify(X).save("nowhere.json"),
    ):
        with pytest.raises(InputError, match="chooses them by the labels"):
            ask()
    with pytest.raises(InputError, match="no coefficients"):
        model.certify_coefficients()
    with pytest.raises(InputError, match="'balanced' moves with the labels"):
        classifier(RidgeCV(), threshold="balanced").fit(X, LABELS)


def test_a_class_that_appears_once_survives_no_flip_that_refits_refute():
    y = (np.arange(len(X)) == 0).astype(int)
    certs = classifier(RidgeCV([1, 100])).fit(X, y).certify(X)
    for row in range(1, len(X)):
        changed = y.copy()
        changed[row] = 1
        said = RidgeCV([1, 100]).fit(X, changed).predict(X) > 0.5
        assert (said == certs.prediction)[certs.robust].all()
    assert certs.robust.any()


def test_certificates_say_which_candidates_remain():
    rows = np.arange(40.0)[:, None]
    model = classifier(make_pipeline(StandardScaler(), RidgeCV([1, 1e6])))
    certs = model.fit(rows, rows[:, 0] >= 20).certify(rows)
    assert certs.candidates.parameters == ({"alpha": 1.0}, {"alpha": 1e6})
    assert "candidates: alpha=1 was chosen; 1 of 2 not ruled out: alpha=1" in repr(certs)
    assert set(certs.method.tolist()) == {"candidates"}
    assert certs.robust.any()


def test_one_label_can_turn_the_choice_and_every_prediction_with_it():
    model = classifier(make_pipeline(StandardScaler(), RidgeCV([1, 1e6]))).fit(X, LABELS)
    certs = model.certify(X)
    assert certs.candidates.possible.all()
    assert not certs.robust.any()
    plain = classifier(make_pipeline(StandardScaler(), Ridge(1))).fit(X, LABELS).certify(X)
    assert plain.robust.any()  # if alpha were given


def test_one_candidate_is_the_model_itself():
    search, plain = classifier(RidgeCV([5.0])).fit(X, LABELS), classifier(Ridge(5.0)).fit(X, LABELS)
    found, expected = search.certify(X), plain.certify(X)
    assert (found.verdict == expected.verdict).all()
    assert found.low.tolist() == expected.low.tolist()
    assert found.minimum_budget.tolist() == expected.minimum_budget.tolist()


def test_a_fitted_search_can_be_pickled():
    model = classifier(GridSearchCV(Ridge(), GRID)).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    assert (again.certify(X).verdict == model.certify(X).verdict).all()


def test_labels_wrong_at_random_are_simulated_by_refits():
    summary = classifier(RidgeCV()).fit(X, LABELS).certify(X).summary()
    assert summary.random is not None
