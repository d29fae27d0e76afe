"""Votes about three and four classes, against every label set there is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.effort import some
from tests.votes.oracle import majorities, true_minimum
from unswayed import (
    CertifiedClassifier,
    InputError,
    LabelBias,
    PartitionedClassifier,
    Verdict,
    cross_certify,
)

MEMBERS = {
    "tree": DecisionTreeClassifier(max_features=1),
    "ridge": RidgeClassifier(),
    "ridge-through-0": RidgeClassifier(fit_intercept=False),
    "scaled-ridge": make_pipeline(StandardScaler(), RidgeClassifier(alpha=2.0)),
    "nearest": KNeighborsClassifier(1),
    "logistic": LogisticRegression(C=0.1),
}


def problem(seed):
    """Few rows of three or four classes, one of which may appear once; some labels are right."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = (3, 4)[seed % 4 == 3], int(rng.integers(6, 8))
    X = rng.normal(size=(n_rows, 2))
    if seed % 2:
        X = X[rng.integers(0, n_rows, n_rows)]
    y = np.arange(n_rows) % n_classes
    if seed % 3 == 0:
        y = np.maximum(np.arange(n_rows) - n_rows + n_classes, 0)  # all but one class once
    y = np.array(list("abcd"))[rng.permutation(y)]
    where = rng.random(n_rows) < (1.0 if seed % 4 else 0.6)
    to = {"a": ["b", "c"], "b": ["a"]} if seed % 5 == 2 else None
    tests = np.vstack((rng.normal(size=(4, 2)), X[:2]))
    movable = where if to is None else where & np.isin(y, ["a", "b"])
    bias = LabelBias.flips(budget=1, where=where, to=to)
    return X, y, tests, bias, np.flatnonzero(movable), to


def compared(name, seed, *, n_partitions=3, **options):
    """What is certified of a problem and the truth, once both were checked against each other."""
    estimator, (X, y, tests, bias, movable, to) = MEMBERS[name], problem(seed)
    votes = PartitionedClassifier(estimator, n_partitions, random_state=seed % 7, **options)
    model = CertifiedClassifier(votes, bias=bias).fit(X, y)
    majority = majorities(model.fitted_.final, estimator, X, y, tests)
    truth, found = true_minimum(majority, y, movable, len(tests), to), model.minimum_budgets(tests)
    assert (model.predict(tests) == majority(y)).all()
    assert (found.low <= truth).all()
    assert (found.high >= truth).all()
    for budget in (0, 1, 2, 4):
        certs = model.certify(tests, budget=budget)
        assert not (certs.robust & (truth <= budget)).any()
        assert not ((certs.verdict == Verdict.NOT_ROBUST) & (truth > budget)).any()
        assert ((certs.low <= certs.score) & (certs.score <= certs.high)).all()
        assert (certs.low >= 0)[certs.robust].all()
        assert {*certs.method.tolist()} == {"votes"}
    check_witnesses(model, tests, y, movable, to, majority)
    return found, truth


def check_witnesses(model, tests, y, movable, to, majority):
    certs = model.certify(tests, budget=len(y))
    least, rivals = model.minimum_budgets(tests), certs.source.rivals()
    assert ((certs.verdict == Verdict.NOT_ROBUST) == np.isfinite(least.high)).all()
    for row in range(len(tests)):
        if np.isinf(least.high[row]):
            assert rivals[row] is None
            continue
        witness, changed = certs.witness(row), y.copy()
        assert len(witness) == least.high[row]
        assert {*witness.indices.tolist()} <= {*movable.tolist()}
        for at, new in zip(witness.indices, witness.labels, strict=True):
            assert new != y[at]
            assert to is None or new in to[y[at]]
        changed[witness.indices] = witness.labels
        after = majority(changed)[row]
        assert after != majority(y)[row]
        assert witness.rival == after
        assert f"{after}" in str(witness)


@pytest.mark.parametrize("seed", range(some(3, 10)))
@pytest.mark.parametrize("name", MEMBERS)
def test_no_label_set_contradicts_what_is_certified(name, seed):
    compared(name, seed, n_partitions=(3, 2)[seed % 7 == 5])


@pytest.mark.parametrize("seed", range(some(3, 10)))
def test_ridge_members_leave_little_open_and_more_than_votes_are_needed(seed):
    found, truth = compared("ridge", seed)
    assert (found.low == truth).mean() >= 0.5
    assert (found.high == truth).mean() >= 0.5


@pytest.mark.parametrize("seed", range(some(2, 6)))
@pytest.mark.parametrize("name", ["tree", "nearest"])
def test_trying_every_set_of_labels_of_every_partition_is_exact(name, seed):
    found, truth = compared(name, seed, exhaustive=10)
    np.testing.assert_array_equal(found.low, truth)
    np.testing.assert_array_equal(found.high, truth)


# --- all that can be asked ----------------------------------------------------------------------

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 3))
Y = np.array(["left", "right", "up"])[np.argmax(X + 0.7 * RNG.normal(size=(120, 3)), axis=1)]
TESTS = RNG.normal(size=(30, 3))
RIDGE = PartitionedClassifier(RidgeClassifier(alpha=3.0), 7)
TREES = PartitionedClassifier(DecisionTreeClassifier(max_depth=3), 15)


def certified(votes, budget=3, **options):
    return CertifiedClassifier(votes, bias=LabelBias.flips(budget=budget, **options)).fit(X, Y)


@pytest.mark.parametrize("votes", [RIDGE, TREES], ids=["ridge", "trees"])
def test_every_question_has_the_same_answer(votes, tmp_path):
    model = certified(votes)
    certs, least = model.certify(TESTS), model.minimum_budgets(TESTS)
    assert (certs.robust == (least.low > 3)).all()
    assert ((certs.verdict == Verdict.NOT_ROBUST) == (least.high <= 3)).all()
    assert (model.certify(TESTS, method="auto").verdict == certs.verdict).all()
    plain = clone(votes).fit(X, Y)
    assert (certs.prediction == plain.predict(TESTS)).all()
    np.testing.assert_allclose(model.decision_function(TESTS), plain.predict_proba(TESTS))
    shares = np.sort(plain.predict_proba(TESTS), axis=1)
    np.testing.assert_allclose(certs.score, shares[:, -1] - shares[:, -2], atol=1e-12)
    assert certs.by_group(np.where(TESTS[:, 0] > 0, "a", "b")).rate.shape == (2,)
    assert {*certs.to_frame()["method"]} == {"votes"}
    frame = pd.DataFrame(X, columns=["age", "size", "weight"])
    shown = clone(model).fit(frame, Y).certify(frame[:30])
    shown.report(tmp_path / "page.html", y_true=Y[:30])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Every label trains one member only, and members vote" in page
    assert "training labels may really be another class" in page


def test_members_that_are_certified_withstand_more_labels_than_votes():
    votes = PartitionedClassifier(RidgeClassifier(alpha=3.0), 3)
    least, plain = certified(votes).minimum_budget(TESTS), clone(votes).fit(X, Y)
    counts = np.sort(np.rint(3 * plain.predict_proba(TESTS)), axis=1)
    must_change = np.ceil((counts[:, -1] - counts[:, -2]) / 2)
    assert (least >= must_change).all()
    assert least.mean() > 1.5 * must_change.mean()


def test_folds_are_certified_each_by_a_model_that_did_not_see_it():
    certs = cross_certify(CertifiedClassifier(RIDGE, bias=LabelBias.flips(budget=2)), X, Y, cv=3)
    row = int(np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST)[0])
    witness, changed = certs.witness(row), Y.copy()
    changed[witness.indices] = witness.labels
    train = certs.fold != certs.fold[row]
    assert clone(RIDGE).fit(X[train], changed[train]).predict(X[[row]])[0] == witness.rival


def test_a_class_that_only_test_rows_have_is_named():
    certs = certified(RIDGE).certify(TESTS)
    with pytest.raises(InputError, match="y_true has 'down', which the model does not know"):
        certs.report("page.html", y_true=["down"] * 30)
    assert certified(RIDGE).score(TESTS, np.full(30, "down")) == 0


def test_what_votes_of_several_classes_cannot_answer_is_refused():
    model = certified(TREES)
    with pytest.raises(InputError, match="what single labels do to many rows"):
        model.certify_together(TESTS)
    with pytest.raises(InputError, match="leave it out"):
        CertifiedClassifier(TREES, bias=LabelBias.flips(budget=1), threshold=0.4).fit(X, Y)


def test_labels_within_the_budget_that_are_changed_at_random_move_no_robust_row():
    for votes in (RIDGE, TREES):
        model, rng = certified(votes), np.random.default_rng(3)
        certs = model.certify(TESTS)
        assert certs.robust.any()
        for _ in range(some(8, 60)):
            changed, wrong = Y.copy(), rng.choice(120, 3, replace=False)
            changed[wrong] = rng.choice(["left", "right", "up"], 3)
            after = clone(votes).fit(X, changed).predict(TESTS)
            assert (after == certs.prediction)[certs.robust].all()
