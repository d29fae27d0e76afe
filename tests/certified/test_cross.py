"""cross_certify: every row by the model that did not see it, in the order of the rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.extending.per_group import PerGroup
from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    CrossCertificates,
    InputError,
    LabelBias,
    LabelPeekError,
    Verdict,
    cross_certify,
)

RNG = np.random.default_rng(5)
N = 67  # no multiple of the number of folds
X = RNG.normal(size=(N, 3)).round(2)
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=N)
LABELS = np.where(Y > 0, "hired", "rejected")
WOMEN = RNG.random(N) < 0.5
ARRAYS = ("score", "low", "high", "inner_low", "inner_high", "error", "minimum_budget")
CV = KFold(5, shuffle=True, random_state=3)


def classifier(estimator=None, **bias):
    bias = LabelBias.flips(**({"budget": 3} | bias))
    return CertifiedClassifier(Ridge() if estimator is None else estimator, bias=bias)


def by_hand(make, X, y, cv=CV, weight=None, **options):
    """Certificates of every fold, by nothing but fit and certify."""
    for train, test in cv.split(np.empty(N)):
        given = None if weight is None else weight[train]
        model = make(train).fit(X[train], y[train], given)
        yield train, test, model.certify(X[test], **options)


def same(found, parts):
    for train, test, part in parts:
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found, name)[test], getattr(part, name))
        np.testing.assert_array_equal(found.verdict[test], part.verdict)
        np.testing.assert_array_equal(found.prediction[test], part.prediction)
        for within, row in enumerate(test):
            mine, theirs = found.witness(row), part.witness(within)
            assert (mine is None) == (theirs is None)
            if theirs is not None:
                np.testing.assert_array_equal(mine.indices, train[theirs.indices])
                np.testing.assert_array_equal(mine.labels, theirs.labels)


@pytest.mark.parametrize("method", ["exact", "auto", "sandwich", "box"])
def test_every_row_has_the_certificate_of_the_model_that_did_not_see_it(method):
    found = cross_certify(classifier(), X, LABELS, cv=CV, method=method)
    same(found, by_hand(lambda _: classifier(), X, LABELS, method=method))
    assert isinstance(found, CrossCertificates)
    assert len(found) == N
    assert method == "box" or {Verdict.ROBUST, Verdict.NOT_ROBUST} <= set(found.verdict)


def test_numbers_are_certified_too():
    def model(_=None):
        return CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=0.3)

    same(cross_certify(model(), X, Y, cv=CV), by_hand(model, X, Y))


def test_refitting_on_the_labels_of_a_witness_overturns_the_row():
    found = cross_certify(classifier(), X, LABELS, cv=4)
    rows = np.flatnonzero(found.verdict == Verdict.NOT_ROBUST)
    for row in rows[:20]:
        train = found.fold != found.fold[row]
        witness, labels = found.witness(row), (LABELS == "rejected").astype(float)
        assert train[witness.indices].all()
        labels[witness.indices] = 1 - labels[witness.indices]
        before, after = (
            Ridge().fit(X[train], y[train]).predict(X[[row]])[0] > 0.5
            for y in ((LABELS == "rejected").astype(float), labels)
        )
        assert before != after
        assert len(witness) == found.minimum_budget[row] <= 3


def test_a_share_is_one_of_each_folds_training_rows():
    found = cross_certify(classifier(budget=0.056), X, LABELS, cv=CV)
    counts = [int(0.056 * len(train)) for train, _ in CV.split(X)]
    assert sorted(set(counts)) == [2, 3]
    same(found, by_hand(lambda _: classifier(budget=0.056), X, LABELS))
    assert found.budget == 2
    assert "up to 2 labels" in found.question
    assert "up to 3 where" in found.question
    asked = cross_certify(classifier(), X, LABELS, cv=CV, budget=0.056)
    np.testing.assert_array_equal(asked.verdict, found.verdict)


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series, pl.Series])
def test_masks_of_the_bias_are_cut_to_the_training_rows(kind):
    found = cross_certify(classifier(where=kind(WOMEN)), X, LABELS, cv=CV)
    same(found, by_hand(lambda train: classifier(where=WOMEN[train]), X, LABELS))


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(BiasError, match=r"where has shape \(60,\) but there are 67 rows"):
        cross_certify(classifier(where=WOMEN[:60]), X, LABELS)


def test_a_callable_mask_sees_the_rows_of_its_fold():
    found = cross_certify(classifier(where=lambda rows, _: rows[:, 0] > 0), X, LABELS, cv=CV)
    same(found, by_hand(lambda train: classifier(where=X[train, 0] > 0), X, LABELS))


def test_intervals_are_cut_to_the_training_rows():
    upper = RNG.random(N)

    def model(rows):
        bias = LabelBias.intervals(-1, upper[rows], budget=2)
        return CertifiedRegressor(Ridge(), bias=bias, radius=0.3)

    same(cross_certify(model(slice(None)), X, Y, cv=CV), by_hand(model, X, Y))


def test_a_budget_that_holds_numbers_per_row_is_refused():
    budget = PerGroup(1, tuple(WOMEN.astype(int)))
    with pytest.raises(BiasError, match="PerGroup does not say what it is for some"):
        cross_certify(classifier(budget=budget), X, LABELS)


def test_weights_are_cut_to_the_training_rows():
    weight = 1 + RNG.random(N)
    found = cross_certify(classifier(), X, LABELS, cv=CV, sample_weight=weight)
    same(found, by_hand(lambda _: classifier(), X, LABELS, weight=weight))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_are_split(kind):
    found = cross_certify(classifier(), kind(X), LABELS, cv=CV)
    same(found, by_hand(lambda _: classifier(), sparse.csr_array(X), LABELS))


def test_lists_are_split():
    found = cross_certify(classifier(), X.tolist(), LABELS.tolist(), cv=CV)
    same(found, by_hand(lambda _: classifier(), X, LABELS))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_library_are_split_and_given_back(library):
    data = {"age": X[:, 0], "city": np.where(WOMEN, "Bergen", "Oslo")}
    encoded = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["city"]))
    model = classifier(make_pipeline(encoded, Ridge()))
    found = cross_certify(model, library(data), LABELS, cv=CV)
    frame = found.to_frame()
    assert type(frame).__module__.split(".")[0] == library.__module__.split(".")[0]
    np.testing.assert_array_equal(np.asarray(frame["fold"]), found.fold)
    expected = cross_certify(model, pd.DataFrame(data), LABELS, cv=CV)
    np.testing.assert_array_equal(found.score, expected.score)


def test_a_pandas_mask_and_index_stay_together():
    index = RNG.permutation(N)
    frame = pd.DataFrame(X, index=index, columns=list("abc"))
    found = cross_certify(classifier(where=frame["a"] > 0), frame, LABELS, cv=CV)
    same(found, by_hand(lambda train: classifier(where=X[train, 0] > 0), X, LABELS))
    assert found.to_frame().index.tolist() == index.tolist()


def test_a_kernel_of_all_pairs_of_rows_is_cut_both_ways():
    K = rbf_kernel(X)
    given = cross_certify(classifier(KernelRidge(kernel="precomputed")), K, LABELS, cv=CV)
    computed = cross_certify(classifier(KernelRidge(kernel="rbf", gamma=1 / 3)), X, LABELS, cv=CV)
    np.testing.assert_allclose(given.score, computed.score, atol=1e-9)
    np.testing.assert_array_equal(given.minimum_budget, computed.minimum_budget)


def test_scaling_is_fitted_on_the_training_rows_of_each_fold():
    model = classifier(make_pipeline(StandardScaler(), RidgeClassifier()))
    same(cross_certify(model, X, LABELS, cv=CV), by_hand(lambda _: model, X, LABELS))


# --- folds --------------------------------------------------------------------------------


def test_other_labels_mean_no_other_folds():
    one = cross_certify(classifier(), X, LABELS)
    other = cross_certify(classifier(), X, np.where(X[:, 2] > 0, "hired", "rejected"))
    np.testing.assert_array_equal(one.fold, other.fold)
    assert np.bincount(one.fold).tolist() == [7] * 7 + [6] * 3
    assert one.trusted == ()


@pytest.mark.parametrize(
    ("cv", "groups"),
    [
        (StratifiedKFold(5), None),
        (StratifiedKFold(5, shuffle=True, random_state=0), None),
        (StratifiedGroupKFold(5), np.arange(N) // 3),
        (RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0), None),
        (StratifiedShuffleSplit(5), None),
    ],
)
def test_folds_that_labels_choose_are_refused_unless_someone_vouches_for_them(cv, groups):
    with pytest.raises(LabelPeekError, match=r"looks at the labels.*GroupKFold.*trust="):
        cross_certify(classifier(), X, LABELS, cv=cv, groups=groups)
    if isinstance(cv, StratifiedShuffleSplit):
        return  # its test parts overlap
    found = cross_certify(classifier(), X, LABELS, cv=cv, groups=groups, trust="cv")
    assert found.trusted == ("cv",)
    assert "taking 'cv' on trust" in repr(found)
    assert found.certify_together(time_limit=0).trusted == ("cv",)


class Wanting:
    """A splitter of one's own that wants labels, and does with them as it is told."""

    def __init__(self, order):
        self.order = order

    def split(self, X, y=None, groups=None):
        order = self.order(len(y.tolist()), y)
        for fold in range(4):
            test = order[fold::4]
            yield np.setdiff1d(np.arange(len(y)), test), test

    def get_n_splits(self, X=None, y=None, groups=None):
        return 4


def test_a_splitter_of_ones_own_may_want_labels_but_not_heed_them():
    found = cross_certify(classifier(), X, LABELS, cv=Wanting(lambda n, _: np.arange(n)))
    assert found.trusted == ()
    one_label = Wanting(lambda n, y: np.roll(np.arange(n), y.tolist().count("hired") % 4))
    for heeding in (Wanting(lambda _, y: np.argsort(y, kind="stable")), one_label):
        with pytest.raises(LabelPeekError, match="looks at the labels"):
            cross_certify(classifier(), X, LABELS, cv=heeding)
        assert cross_certify(classifier(), X, LABELS, cv=heeding, trust="cv").trusted == ("cv",)


def test_what_needs_no_trust_is_not_taken_on_trust():
    for cv in (CV, 5):
        with pytest.raises(InputError, match="trust names 'cv', which needs none"):
            cross_certify(classifier(), X, LABELS, cv=cv, trust="cv")
    with pytest.raises(InputError, match="trust names 'folds'"):
        cross_certify(classifier(), X, LABELS, cv=StratifiedKFold(5), trust="folds")
    given = list(CV.split(X))
    assert cross_certify(classifier(), X, LABELS, cv=given, trust="cv").trusted == ("cv",)


def test_rows_of_one_group_stay_in_one_fold():
    groups = np.arange(N) // 4
    for cv in (5, GroupKFold(5)):
        found = cross_certify(classifier(), X, LABELS, cv=cv, groups=groups)
        assert all(len(set(found.fold[groups == each])) == 1 for each in set(groups))


def test_splits_may_be_given_as_rows_or_masks():
    splits = list(CV.split(X))
    masks = [tuple(np.isin(np.arange(N), rows) for rows in pair) for pair in splits]
    backwards = [(train[::-1], test[::-1]) for train, test in splits]
    expected = cross_certify(classifier(), X, LABELS, cv=CV)
    for cv in (splits, masks, backwards, iter(splits)):
        found = cross_certify(classifier(), X, LABELS, cv=cv)
        np.testing.assert_array_equal(found.score, expected.score)


def test_leave_one_out_works():
    assert len(cross_certify(classifier(), X[:12], LABELS[:12], cv=LeaveOneOut())) == 12


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "pass 2 folds or more"),
        (68, "cannot split these 67 rows"),
        (True, "neither a number of folds"),
        ("ten", "neither a number of folds"),
        (2.5, "neither a number of folds"),
        (ShuffleSplit(3), "every row is certified once"),
        (RepeatedKFold(), "puts row 0 into 10 test parts"),
        (TimeSeriesSplit(), "puts row 0 into 0 test parts"),
        ([], "puts row 0 into 0 test parts"),
        ([(np.arange(N), np.arange(N))], "did not see it"),
        ([([], np.arange(N))], "cannot split"),
        ([([0], [N])], "cannot split"),
        ([([0.5], [1])], "cannot split"),
    ],
)
def test_folds_that_certify_no_row_or_a_row_twice_are_refused(cv, message):
    with pytest.raises(InputError, match=message):
        cross_certify(classifier(), X, LABELS, cv=cv)


def test_a_fold_without_one_of_the_classes_is_named():
    labels = np.where(np.arange(N) < 6, "a", "b")
    with pytest.raises(InputError, match=r"in fold 0 \(from 0\) of 5: y has one class"):
        cross_certify(classifier(), X, labels, cv=[*KFold(5).split(X)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": Ridge()}, "takes a CertifiedClassifier or CertifiedRegressor"),
        ({"model": CertifiedClassifier(Ridge())}, "bias must be a LabelBias"),
        ({"y": LABELS[:9]}, "y has 9 labels for 67 rows"),
        ({"sample_weight": [1, 2]}, "sample_weight has shape"),
        ({"method": object()}, "method must be a name"),
        ({"method": "magic"}, "method must be one of"),
    ],
)
def test_what_cannot_be_certified_is_refused(given, message):
    given = {"model": classifier(), "X": X, "y": LABELS} | given
    with pytest.raises(InputError, match=message):
        cross_certify(given.pop("model"), given.pop("X"), given.pop("y"), **given)


# --- results ------------------------------------------------------------------------------


def test_the_model_that_is_passed_is_left_as_it_was():
    model = classifier()
    cross_certify(model, X, LABELS)
    assert not hasattr(model, "fitted_")


def test_pickled_certificates_keep_everything_but_their_models():
    found = cross_certify(classifier(), X, LABELS, cv=CV)
    again = pickle.loads(pickle.dumps(found))
    for name in (*ARRAYS, "fold", "verdict"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert repr(again).splitlines()[0].startswith(repr(found).splitlines()[0])
    with pytest.raises(InputError, match="carry no model"):
        again.witness(int(np.flatnonzero(found.verdict == Verdict.NOT_ROBUST)[0]))


def test_a_certificate_file_is_refused_and_one_per_fold_is_not(tmp_path):
    found = cross_certify(classifier(), X, LABELS, cv=CV)
    with pytest.raises(InputError, match="these 5 folds have one each"):
        found.save(tmp_path / "c.json")
    found.source.folds[0].certificates.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    assert (tmp_path / "c.json").exists()


def test_groups_and_curves_are_of_all_rows():
    found = cross_certify(classifier(), X, LABELS, cv=CV)
    assert found.by_group(WOMEN).count.sum() == N
    assert repr(found).startswith("<CrossCertificates: 67 rows, same class if up to 3 labels")


def test_progress_is_told_of_every_fold():
    seen = []

    def track(steps, what, total):
        seen.append((what, total))
        yield from steps

    cross_certify(classifier(), X, LABELS, cv=CV, track=track)
    assert seen == [("certifying folds", 5)]


def test_certificates_of_all_rows_make_a_page(tmp_path):
    frame = pd.DataFrame(X, columns=["age", "pay", "size"])
    found = cross_certify(classifier(), frame, LABELS, cv=CV)
    team = frame.assign(team=np.where(WOMEN, "red", "blue"))
    found.report(tmp_path / "r.html", table=team, groups=["team"])
    page = (tmp_path / "r.html").read_text()
    assert f'data-live="kept">{int(found.robust.sum())}</strong> of 67 test rows' in page
    found.report(tmp_path / "s.html")
    with pytest.raises(InputError, match=r"must end in \.html"):
        found.report(tmp_path / "r.pdf")
