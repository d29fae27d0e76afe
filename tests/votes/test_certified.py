"""Certified votes: everything that can be asked, what is refused, and attacks on the promise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.effort import some
from unswayed import (
    BiasError,
    CertifiedClassifier,
    Cost,
    InputError,
    LabelBias,
    LabelPeekError,
    PartitionedClassifier,
    Sampled,
    TradeoffDisplay,
    Verdict,
    cross_certify,
    robustness_curve,
)

RNG = np.random.default_rng(8)
X = RNG.normal(size=(150, 3))
Y = np.where(X @ [1.0, -1.0, 0.5] + RNG.normal(size=150) > 0, "yes", "no")
TESTS = RNG.normal(size=(40, 3))
TREES = PartitionedClassifier(DecisionTreeClassifier(max_depth=3), 15)
RIDGE = PartitionedClassifier(make_pipeline(StandardScaler(), RidgeClassifier(alpha=5.0)), 7)
MODELS = {"trees": TREES, "ridge": RIDGE}


def certified(votes, budget=3, **options):
    return CertifiedClassifier(votes, bias=LabelBias.flips(budget=budget, **options)).fit(X, Y)


@pytest.mark.parametrize("name", MODELS)
def test_every_question_has_the_same_answer(name, tmp_path):
    model = certified(MODELS[name])
    certs = model.certify(TESTS)
    least = model.minimum_budgets(TESTS)
    assert (certs.robust == (least.low > 3)).all()
    assert ((certs.verdict == Verdict.NOT_ROBUST) == (least.high <= 3)).all()
    assert (model.certify(TESTS, method="auto").verdict == certs.verdict).all()
    assert (model.certify(TESTS, ranges=False).verdict == certs.verdict).all()
    assert (certs.prediction == clone(MODELS[name]).fit(X, Y).predict(TESTS)).all()
    assert ((certs.low <= certs.score) & (certs.score <= certs.high)).all()
    assert ((certs.inner_low >= certs.low) & (certs.inner_high <= certs.high)).all()
    # A range that stays on one side of a half, and a robust row, are the same.
    stays = np.where(certs.prediction == "yes", certs.low > 0.5, certs.high <= 0.5 + 1e-9)
    assert (stays == certs.robust).all()
    rates = certs.by_group(np.where(TESTS[:, 0] > 0, "a", "b"))
    assert rates.rate.shape == (2,)
    curve = robustness_curve(least.low)
    assert curve(3) == certs.robustness_rate
    frame = certs.to_frame()
    assert {*frame["method"]} == {"votes"}
    assert "same class if up to 3 labels are wrong" in repr(certs)
    again = pickle.loads(pickle.dumps(model))
    assert (again.certify(TESTS).verdict == certs.verdict).all()


def test_folds_are_certified_each_by_a_model_that_did_not_see_it():
    model = CertifiedClassifier(RIDGE, bias=LabelBias.flips(budget=2))
    certs = cross_certify(model, X, Y, cv=3)
    assert len(certs) == 150
    row = int(np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST)[0])
    witness, changed = certs.witness(row), Y.copy()
    changed[witness.indices] = witness.labels
    train = certs.fold != certs.fold[row]
    refitted = clone(RIDGE).fit(X[train], changed[train])
    assert refitted.predict(X[[row]])[0] != certs.prediction[row]


@pytest.mark.parametrize("name", MODELS)
def test_a_page_is_written_that_names_the_method(name, tmp_path):
    frame = pd.DataFrame(X, columns=["age", "size", "weight"])
    model = CertifiedClassifier(MODELS[name], bias=LabelBias.flips(budget=3)).fit(frame, Y)
    certs = model.certify(frame[:40])
    certs.report(tmp_path / "page.html", y_true=Y[:40])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "PartitionedClassifier" in page
    assert "Every label trains one member only, and members vote" in page
    assert "training labels may really be the other class" in page
    assert "effort=2" not in page


def test_a_sample_of_checked_labels_is_a_budget_too():
    bias = LabelBias.flips(budget=Sampled(checked=100, wrong=1, confidence=0.9))
    certs = CertifiedClassifier(RIDGE, bias=bias).fit(X, Y).certify(TESTS)
    assert "labels checked at random" in certs.question


def test_a_threshold_of_ones_own_asks_for_more_votes():
    bias = LabelBias.flips(budget=2)
    model = CertifiedClassifier(TREES, bias=bias, threshold=0.7).fit(X, Y)
    shares = clone(TREES).fit(X, Y).predict_proba(TESTS)[:, 1]
    assert (model.predict(TESTS) == np.where(shares > 0.7, "yes", "no")).all()
    votes = np.rint(15 * shares)
    needed = np.where(votes > 10, votes - 10, 11 - votes)  # more than 10.5 of 15 votes
    assert (model.minimum_budget(TESTS) == needed).all()
    for threshold in (-0.1, 1.0):
        never = CertifiedClassifier(TREES, bias=bias, threshold=threshold).fit(X, Y)
        assert np.isinf(never.minimum_budget(TESTS)).all()


def test_labels_that_cannot_be_wrong_change_no_vote():
    votes = clone(TREES).fit(X, Y)
    where = votes.partition_ < 3
    model = certified(TREES, budget=50, where=where)
    counts = votes.votes(TESTS)
    won = np.where(votes.predict(TESTS) == "yes", 1, 0)
    ahead = (counts == won[:, None]).sum(axis=1)
    must_fall = ahead - 7  # of 15, 8 votes win
    movable = (counts[:, :3] == won[:, None]).sum(axis=1)
    assert (np.isinf(model.minimum_budget(TESTS)) == (must_fall > movable)).all()
    nothing = certified(TREES, budget=5, where=np.zeros(150, dtype=bool))
    assert nothing.certify(TESTS).robust.all()


def test_members_that_are_certified_withstand_more_than_the_count_of_votes():
    model, plain = certified(RIDGE), clone(RIDGE).fit(X, Y)
    shares = plain.predict_proba(TESTS).max(axis=1)
    must_fall = np.rint(7 * shares) - 3
    least = model.minimum_budget(TESTS)
    assert (least >= must_fall).all()
    assert least.mean() > 1.5 * must_fall.mean()


def test_partitions_and_accuracy_are_a_tradeoff():
    pytest.importorskip("matplotlib").use("agg")
    display = TradeoffDisplay.from_estimator(
        CertifiedClassifier(TREES, bias=LabelBias.flips(budget=3)),
        X,
        Y,
        X_test=TESTS,
        y_test=np.where(TESTS @ [1.0, -1.0, 0.5] > 0, "yes", "no"),
        param_name="estimator__n_partitions",
        param_range=[5, 15, 31],
        budgets=[3],
    )
    rates = display.rates["3 labels"]
    assert rates[0] == 0
    assert rates[-1] > 0


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.certify(TESTS, method="box"), "votes are counted; certify"),
        (lambda model: model.certify(TESTS, resolve="exact"), "votes are counted; leave it out"),
        (lambda model: model.certify(TESTS, effort=2), "exhaustive=1"),
        (lambda model: model.certify_together(TESTS), "what single labels do to many rows"),
        (lambda model: model.certify_coefficients(), "has no coefficients"),
        (lambda model: model.review_plan(TESTS, labels=3), "what single labels do to many rows"),
    ],
)
def test_what_votes_cannot_answer_is_refused_with_the_reason(ask, message):
    with pytest.raises(InputError, match=message):
        ask(certified(TREES))


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (LabelBias.shifts(0.3, budget=2), "use LabelBias.flips"),
        (LabelBias.flips(budget=Cost(2, np.ones(150))), "is a CostBudget"),
        (LabelBias.flips(budget=2, clusters=np.arange(150) % 9), "is a Clusters"),
    ],
)
def test_biases_that_are_no_number_of_flips_are_refused(bias, message):
    with pytest.raises(BiasError, match=message):
        CertifiedClassifier(TREES, bias=bias).fit(X, Y)


@pytest.mark.parametrize("cap", [None, 3])
def test_limits_of_groups_are_bounded_by_their_sum(cap):
    parts = LabelBias.flips(budget=2, where=Y == "yes") + LabelBias.flips(budget=3, where=Y == "no")
    model = CertifiedClassifier(RIDGE, bias=parts if cap is None else parts.capped(cap)).fit(X, Y)
    certs, least = model.certify(TESTS), model.minimum_budgets(TESTS)
    plain = certified(RIDGE).minimum_budgets(TESTS)
    assert (certs.robust == (plain.low > (cap or 5))).all()
    assert not (certs.verdict == Verdict.NOT_ROBUST).any()
    assert (least.low == np.where(plain.low > 5, np.inf, plain.low)).all()
    assert np.isinf(least.high).all()


@pytest.mark.parametrize("seed", range(some(3, 10)))
def test_no_labels_within_the_limits_of_groups_move_a_robust_row(seed):
    rng = np.random.default_rng(seed)
    parts = LabelBias.flips(budget=1, where=Y == "yes") + LabelBias.flips(budget=1, where=Y == "no")
    certs = CertifiedClassifier(RIDGE, bias=parts).fit(X, Y).certify(TESTS)
    assert certs.robust.any()
    changed = Y.copy()
    for label, other in (("yes", "no"), ("no", "yes")):
        changed[rng.choice(np.flatnonzero(label == Y))] = other
    assert (clone(RIDGE).fit(X, changed).predict(TESTS) == certs.prediction)[certs.robust].all()


def test_a_member_that_was_fitted_elsewhere_is_refused():
    fitted = FrozenEstimator(DecisionTreeClassifier().fit(X, Y))
    for inner in (fitted, make_pipeline(StandardScaler(), fitted)):
        model = CertifiedClassifier(PartitionedClassifier(inner, 3), bias=LabelBias.flips(budget=1))
        with pytest.raises(LabelPeekError, match="fitted elsewhere"):
            model.fit(X, Y)


def test_a_balanced_threshold_is_refused():
    with pytest.raises(InputError, match="shares of votes"):
        CertifiedClassifier(TREES, bias=LabelBias.flips(budget=1), threshold="balanced").fit(X, Y)


# --- attacks on the promise ---------------------------------------------------------------------

LEARNERS = {
    "trees": DecisionTreeClassifier(max_features=2),
    "boosting": GradientBoostingClassifier(n_estimators=3),
    "ridge": RidgeClassifier(),
    "logistic": LogisticRegression(tol=1e-10),
}


@pytest.mark.parametrize("equal_rows", ["together", "apart"])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_wrong_labels_within_the_budget_move_a_robust_row(name, equal_rows):
    """Labels are changed at random, near a row, and where votes are cheap; all is fitted again."""
    rows = X.round(1) if equal_rows == "together" else X.round(0)
    votes = PartitionedClassifier(LEARNERS[name], 9, equal_rows=equal_rows)
    model = CertifiedClassifier(votes, bias=LabelBias.flips(budget=3)).fit(rows, Y)
    certs = model.certify(TESTS)
    assert certs.robust.any()
    partition = clone(votes).fit(rows, Y).partition_
    rng = np.random.default_rng(1)
    for attack in range(some(12, 30)):
        if attack % 3 == 0:
            wrong = rng.choice(150, 3, replace=False)
        else:
            near = TESTS[rng.choice(np.flatnonzero(certs.robust))]
            order = np.argsort(((rows - near) ** 2).sum(axis=1))
            if attack % 3 == 2:  # one in each of three partitions
                order = order[np.sort(np.unique(partition[order], return_index=True)[1])]
            wrong = order[:3]
        changed = Y.copy()
        changed[wrong] = np.where(Y[wrong] == "yes", "no", "yes")
        after = clone(votes).fit(rows, changed).predict(TESTS)
        assert (after == certs.prediction)[certs.robust].all()


@pytest.mark.parametrize("name", ["trees", "ridge"])
def test_a_witness_overturns_when_everything_is_fitted_again(name):
    votes = PartitionedClassifier(LEARNERS[name], 5, exhaustive=int(name == "trees"))
    model = CertifiedClassifier(votes, bias=LabelBias.flips(budget=4)).fit(X, Y)
    certs = model.certify(TESTS)
    broken = np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST)
    assert len(broken) > 5
    for row in broken[: some(5, 10)].tolist():
        witness, changed = certs.witness(row), Y.copy()
        changed[witness.indices] = witness.labels
        again = clone(votes).fit(X, changed)
        assert again.predict(TESTS[[row]])[0] != certs.prediction[row]
        assert again.predict_proba(TESTS[[row]])[0, 1] == witness.score
        assert len(witness) == certs.minimum_budgets.high[row] <= 4
