"""PartitionedClassifier: who is in which partition, who votes for what, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from unswayed import CertifiedClassifier, InputError, LabelBias, PartitionedClassifier

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")
PARTITION = [2, 1, 1, 3, 1, 3, 0, 3, 0, 0]  # of ten rows: never to change


def votes_of(model, rows):
    """Votes, counted one by one."""
    found = np.zeros((len(rows), len(model.classes_)))
    for member in model.estimators_:
        if member is not None:
            for at, said in enumerate(member.predict(rows)):
                found[at, list(model.classes_).index(said)] += 1
    return found


@parametrize_with_checks(
    [
        PartitionedClassifier(DecisionTreeClassifier(), 3),
        PartitionedClassifier(RidgeClassifier(), 3),
        PartitionedClassifier(make_pipeline(Normalizer(), LogisticRegression()), 2),
        CertifiedClassifier(
            PartitionedClassifier(RidgeClassifier(), 3), bias=LabelBias.flips(budget=1)
        ),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_own_checks_pass(estimator, check):
    check(estimator)


# --- who is in which partition ------------------------------------------------------------------


def test_the_partition_of_a_row_is_the_same_on_every_machine():
    rows = np.arange(20.0).reshape(10, 2)
    model = PartitionedClassifier(DecisionTreeClassifier(), 4).fit(rows, np.arange(10) % 2)
    assert model.partition_.tolist() == PARTITION
    other = clone(model).set_params(random_state=1).fit(rows, np.arange(10) % 2)
    assert other.partition_.tolist() != PARTITION


def test_equal_rows_may_be_dealt_apart_and_labels_have_no_part_in_that_either():
    rows = np.repeat(X[:3], 40, axis=0)
    model = PartitionedClassifier(DecisionTreeClassifier(), 5, equal_rows="apart")
    found = model.fit(rows, np.arange(120) % 2).partition_
    assert all(len({*found[start : start + 40].tolist()}) == 5 for start in (0, 40, 80))
    assert (clone(model).fit(rows, np.arange(120) % 3 % 2).partition_ == found).all()


def test_labels_order_and_other_rows_have_no_part_in_it():
    model = PartitionedClassifier(DecisionTreeClassifier(), 5).fit(X, Y)
    order = RNG.permutation(60)[:40]
    mixed = clone(model).fit(X[order], np.sort(Y)[order])
    assert (mixed.partition_ == model.partition_[order]).all()


def test_zero_has_no_sign_and_all_nan_are_one():
    rows = np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, 2.0], [3.0, 4.0]] * 3)
    rows.view(np.uint64)[1, 1] ^= 7  # another NaN
    assert np.isnan(rows[1, 1])
    rows = np.vstack((rows, RNG.normal(size=(40, 2))))
    model = PartitionedClassifier(DecisionTreeClassifier(), 7)
    found = model.fit(rows, np.arange(52) % 2).partition_
    assert len({*found[[0, 1, 4, 5, 8, 9]].tolist()}) == 1


def test_arrays_of_any_kind_and_frames_of_any_library_are_dealt_alike():
    rows = RNG.integers(0, 3, size=(30, 3))
    labels = np.arange(30) % 2
    kinds = [
        rows,
        rows.astype(np.float32),
        np.asfortranarray(rows.astype(float)),
        sparse.csr_array(rows.astype(float)),
        pd.DataFrame(rows, columns=list("abc")),
        pl.DataFrame(rows.tolist(), schema=list("abc"), orient="row"),
    ]
    model = PartitionedClassifier(DecisionTreeClassifier(), 4)
    dealt = [clone(model).fit(each, labels).partition_.tolist() for each in kinds]
    assert all(each == dealt[0] for each in dealt)


def test_frames_may_hold_texts_if_the_estimator_takes_them():
    names = np.where(RNG.random(60) < 0.5, "left", "right")
    frame = pd.DataFrame({"side": names, "size": X[:, 0].round(1)})
    encoder = make_column_transformer((OneHotEncoder(), ["side"]), remainder="passthrough")
    inner = make_pipeline(encoder, DecisionTreeClassifier())
    model = PartitionedClassifier(inner, 3).fit(frame, Y)
    again = PartitionedClassifier(inner, 3).fit(pl.from_pandas(frame).to_pandas(), Y)
    assert (again.partition_ == model.partition_).all()
    equal = frame.groupby(["side", "size"]).indices.values()
    assert all(len({*model.partition_[rows].tolist()}) == 1 for rows in equal)
    assert model.score(frame, Y) > 0.8
    frame.loc[3, "side"] = None
    assert len(clone(model).set_params(n_partitions=2)._rows(frame, reset=True)) == 60


# --- who votes for what -------------------------------------------------------------------------


def test_a_prediction_is_the_majority_and_shares_are_shares_of_votes():
    labels = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
    for y in (Y, labels):
        model = PartitionedClassifier(DecisionTreeClassifier(), 7).fit(X, y)
        counts = votes_of(model, X)
        np.testing.assert_allclose(model.predict_proba(X), counts / counts.sum(1, keepdims=True))
        # numpy's argmax takes the first of equals: ties go to the first class.
        assert (model.predict(X) == model.classes_[counts.argmax(axis=1)]).all()


def test_ties_go_to_the_first_class_and_two_partitions_have_many():
    model = PartitionedClassifier(DecisionTreeClassifier(), 2).fit(X, RNG.permutation(Y))
    tied = model.predict_proba(X)[:, 1] == 0.5
    assert tied.any()
    assert (model.predict(X)[tied] == "no").all()
    assert (model.decision_function(X)[tied] == 0).all()


def test_a_partition_with_one_class_votes_for_it_and_an_empty_one_never_votes():
    rows, labels = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0), np.array(["no"] * 8 + ["yes"] * 4)
    model = PartitionedClassifier(RidgeClassifier(), 9).fit(rows, labels)
    votes = model.votes([[5.0]])[0]
    for at in range(9):
        inside = np.unique(labels[model.partition_ == at])
        assert (votes[at] == -1) == (model.estimators_[at] is None) == (len(inside) == 0)
        if len(inside) == 1:
            assert model.classes_[votes[at]] == inside[0]
    assert (votes == -1).sum() >= 6
    assert model.predict_proba([[5.0]]).sum() == 1.0


def test_every_random_state_is_set_nested_ones_too_and_differs_between_members():
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(3))
    model = PartitionedClassifier(forest, 4).fit(X, Y)
    states = [
        each.get_params()["randomforestclassifier__random_state"] for each in model.estimators_
    ]
    assert len({*states}) == 4
    again = clone(model).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_rows_of_weight_0_are_left_out_and_equal_rows_may_be_one_row_of_more_weight():
    weight = np.where(np.arange(60) < 20, 0.0, 2.0)
    model = PartitionedClassifier(RidgeClassifier(), 3).fit(X, Y, sample_weight=weight)
    twice = PartitionedClassifier(RidgeClassifier(), 3)
    twice.fit(np.repeat(X[20:], 2, axis=0), np.repeat(Y[20:], 2))
    assert (model.partition_[:20] == -1).all()
    assert (model.votes(X) == twice.votes(X)).all()


def test_progress_is_printed_on_demand(capsys):
    PartitionedClassifier(DecisionTreeClassifier(), 3, verbose=11).fit(X, Y)
    assert "Done   3 out of   3" in "".join(capsys.readouterr())


# --- what is refused ----------------------------------------------------------------------------


class WithoutPredict(BaseEstimator):
    def fit(self, X, y):
        return self


class Chance(ClassifierMixin, BaseEstimator):
    """Nobody can fit it twice."""

    def fit(self, X, y):
        self.classes_, self.cut_ = np.unique(y), np.random.default_rng().normal()
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > self.cut_).astype(int)]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PartitionedClassifier(DecisionTreeClassifier, 3), "is the class DecisionTreeClassifier"),
        (PartitionedClassifier(WithoutPredict(), 3), "WithoutPredict has no method predict"),
        (PartitionedClassifier("tree", 3), "str has no method fit"),
        (PartitionedClassifier(Ridge(), 3), "Ridge is no classifier.*RidgeClassifier"),
        (PartitionedClassifier(SVC(kernel="precomputed"), 3), "all pairs of rows"),
        (PartitionedClassifier(DecisionTreeClassifier(), 61), "more than there are training rows"),
        (PartitionedClassifier(DecisionTreeClassifier(), 0), "n_partitions must be a whole number"),
        (PartitionedClassifier(DecisionTreeClassifier(), 2.5), "n_partitions must be a whole"),
        (PartitionedClassifier(DecisionTreeClassifier(), random_state=None), "every fit the same"),
        (PartitionedClassifier(DecisionTreeClassifier(), equal_rows=1), "'together' or 'apart'"),
        (PartitionedClassifier(DecisionTreeClassifier(), exhaustive=-1), "exhaustive must be"),
    ],
)
def test_what_cannot_be_used_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, Y)
    with pytest.raises(InputError, match=message):
        CertifiedClassifier(model, bias=LabelBias.flips(budget=1)).fit(X, Y)


def test_weights_that_the_estimator_does_not_take_are_refused():
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample_weight"):
        PartitionedClassifier(KNeighborsClassifier(1), 3).fit(X, Y, sample_weight=np.ones(60))


def test_a_partition_that_cannot_be_learned_from_is_named():
    class Demanding(KNeighborsClassifier):
        def fit(self, X, y):
            raise ValueError("too few rows")

    with pytest.raises(InputError, match=r"partition 0, with \d+ rows.*too few rows"):
        PartitionedClassifier(Demanding(), 3).fit(X, Y)


def test_a_learner_that_cannot_be_repeated_votes_but_is_not_certified():
    votes = PartitionedClassifier(Chance(), 3).fit(X, Y)
    assert {*votes.predict(X)} <= {"no", "yes"}
    with pytest.raises(InputError, match="Chance learns something else from the same rows"):
        CertifiedClassifier(votes, bias=LabelBias.flips(budget=1)).fit(X, Y)


def test_xgboost_votes_where_it_is_installed():
    xgboost = pytest.importorskip("xgboost")
    votes = PartitionedClassifier(xgboost.XGBClassifier(n_estimators=5), 3)
    model = CertifiedClassifier(votes, bias=LabelBias.flips(budget=1)).fit(X, Y == "yes")
    assert model.minimum_budget(X).min() >= 1
