"""What a review can be expected to bring: against reviews that are simulated by hand."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier

from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias

CHECKS, RATE, DRAWS = [0, 5, 12], 0.4, 4


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def drawn(kind):
    """A fitted model, what it was fitted on, and rows to ask about."""
    rng = np.random.default_rng(2)
    X, rows = rng.standard_normal((90, 3)), rng.standard_normal((40, 3))
    y = X @ [1, 2, 3] + 2 * rng.standard_normal(90)
    if kind == "numbers":
        bias = LabelBias.shifts((-1, 3), budget=4)
        return CertifiedRegressor(Ridge(), bias=bias, radius=0.6).fit(X, y), X, y, rows
    y = np.where(y > 0, "yes", "no")
    estimator, threshold = Ridge(), "balanced" if kind == "balanced" else None
    if kind == "ridge classifier":
        estimator = RidgeClassifier()
    where = None if kind == "balanced" else np.arange(90) % 3 > 0
    bias = LabelBias.flips(budget=4, where=where)
    return CertifiedClassifier(estimator, bias=bias, threshold=threshold).fit(X, y), X, y, rows


@pytest.mark.parametrize("kind", ["classes", "ridge classifier", "balanced", "numbers"])
def test_it_is_what_reviews_that_are_carried_out_bring(kind):
    model, X, y, rows = drawn(kind)
    plan = model.review_plan(rows, labels=12)
    found = plan.expected_after(RATE, checks=CHECKS, draws=DRAWS, random_state=7)
    rng, counts = np.random.default_rng(7), []
    for _ in range(DRAWS):
        wrong = rng.random(len(plan)) < RATE
        if kind == "numbers":
            right = np.where(wrong, y[plan.order] - 1 + 4 * rng.random(len(plan)), y[plan.order])
        else:
            other = np.where(y[plan.order] == "yes", "no", "yes")
            right = np.where(wrong, other, y[plan.order])
        counts.append([])
        for many in CHECKS:
            answers = dict(zip(plan.order[:many].tolist(), right[:many].tolist(), strict=True))
            after = model.reviewed(X, y, answers).model if answers else model
            counts[-1].append(int(after.certify(rows).robust.sum()))
    assert found.counts.tolist() == counts
    assert found.mean == pytest.approx(np.mean(counts, axis=0))
    assert found.spread == pytest.approx(np.std(counts, axis=0))
    if kind == "numbers":  # how far a number can move does not depend on the labels
        assert (found.counts == plan.robust_after[CHECKS]).all()
    else:
        assert len(np.unique(found.counts[:, -1])) > 1


def test_labels_that_are_all_right_bring_what_the_plan_promises():
    model, _, _, rows = drawn("classes")
    plan = model.review_plan(rows, labels=12, exclude=[1, 2, 4])
    found = plan.expected_after(0.0, draws=2)
    assert found.checks.tolist() == [0, 3, 6, 9, 12]
    assert (found.counts == plan.robust_after[found.checks]).all()
    assert found.spread.tolist() == [0] * 5


def test_by_default_as_many_are_wrong_as_the_budget_says_and_the_seed_decides_which():
    model, _, _, rows = drawn("classes")
    plan = model.review_plan(rows, labels=6)
    one, other = plan.expected_after(draws=3), plan.expected_after(draws=3)
    assert one.error_rate == pytest.approx(4 / 60)  # 60 labels may be wrong
    assert (one.counts == other.counts).all()
    assert "about" in repr(one)
    assert model.review_plan(rows, labels=0).expected_after().checks.tolist() == [0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"error_rate": 1.5}, "from 0 to 1"),
        ({"error_rate": float("nan")}, "from 0 to 1"),
        ({"error_rate": "often"}, "error_rate"),
        ({"draws": 0}, "1 or more"),
        ({"draws": 2.5}, "1 or more"),
        ({"checks": [7]}, "from 0 to 6"),
        ({"checks": [1.5]}, "from 0 to 6"),
        ({"checks": []}, "from 0 to 6"),
    ],
)
def test_bad_options_are_refused_with_advice(options, said):
    model, _, _, rows = drawn("classes")
    with pytest.raises(InputError, match=said):
        model.review_plan(rows, labels=6).expected_after(**options)


def test_a_plan_that_was_pickled_has_no_model_to_refit():
    model, _, _, rows = drawn("classes")
    plan = pickle.loads(pickle.dumps(model.review_plan(rows, labels=6)))
    with pytest.raises(InputError, match="no model to refit"):
        plan.expected_after()
