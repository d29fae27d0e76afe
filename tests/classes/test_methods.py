"""Several classes: other bounds, other budgets, larger problems, folds, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.linear_model import Ridge, RidgeClassifier

from tests.classes.oracle import class_scores, label_sets, outcome
from tests.effort import some
from unswayed import (
    BiasError,
    CertifiedClassifier,
    Cost,
    InputError,
    LabelBias,
    LinearSmoother,
    Verdict,
    cross_certify,
)

NAMES = np.array(["ant", "bee", "cow", "dog"])


def made(seed, n_rows=60, n_classes=4):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 3))
    labels = np.concatenate((np.arange(n_classes), rng.integers(n_classes, size=n_rows)))[:n_rows]
    X = centres[labels] + rng.normal(size=(n_rows, 3))
    return X, labels, centres.repeat(3, axis=0) + rng.normal(size=(3 * n_classes, 3)), rng


def certified(bias, X, labels, alpha=2.0):
    return CertifiedClassifier(RidgeClassifier(alpha=alpha), bias=bias).fit(X, NAMES[labels])


@pytest.mark.parametrize("method", ["auto", "sandwich", "box"])
def test_other_methods_never_contradict_the_exact_one(method):
    X, labels, tests, _ = made(1)
    model = certified(LabelBias.flips(budget=3), X, labels)
    exact, other = model.certify(tests), model.certify(tests, method=method)
    decided = other.verdict != Verdict.UNDECIDED
    assert (exact.verdict == other.verdict)[decided].all()
    assert decided.all() or method != "auto"
    assert (other.low <= exact.low).all()


def test_verdicts_without_ranges_are_the_same():
    X, labels, tests, _ = made(2)
    model = certified(LabelBias.flips(budget=3), X, labels)
    quick = model.certify(tests, ranges=False)
    assert quick.verdict.tolist() == model.certify(tests).verdict.tolist()


@pytest.mark.parametrize("seed", range(some(4, 12)))
def test_minimum_budgets_are_those_of_a_mixed_integer_programme(seed):
    X, labels, tests, _ = made(seed, n_rows=40)
    model = certified(LabelBias.flips(budget=3), X, labels)
    found, alpha = model.minimum_budget(tests[:4]), 2.0
    centred = X - X.mean(axis=0)
    solved = np.linalg.solve(centred.T @ centred + alpha * np.eye(3), (tests - X.mean(axis=0)).T)
    influence = (centred @ solved).T + 1 / len(X)
    scores = influence @ np.where(labels[:, None] == np.arange(4), 1.0, -1.0)
    for row in range(4):
        winner, best = int(np.argmax(scores[row])), np.inf
        for rival in set(range(4)) - {winner}:
            value = 2.0 * (np.eye(4)[rival] - np.eye(4)[winner])
            gain = influence[row][:, None] * (value - value[labels][:, None])
            lead = scores[row, rival] - scores[row, winner]
            one = np.kron(np.eye(len(X)), np.ones(4))
            solution = milp(
                np.where(labels[:, None] == np.arange(4), 0.0, 1.0).ravel(),
                constraints=[
                    LinearConstraint(gain.ravel()[None], lb=-lead + 1e-9),
                    LinearConstraint(one, ub=1),
                ],
                integrality=np.ones(gain.size),
                bounds=Bounds(0, 1),
            )
            best = min(best, solution.fun) if solution.success else best
        assert found[row] == pytest.approx(best)


def _sum(rng, labels):
    where = rng.random(len(labels)) < 0.5
    first = LabelBias.flips(budget=1, where=where)
    second = LabelBias.flips(budget=1, where=~where, to={"ant": ["bee"], "bee": ["cow"]})

    def fits(changed):
        return max(changed[where].sum(), changed[~where].sum()) <= 1

    table = np.eye(3, dtype=bool)
    table[0, 1] = table[1, 2] = True
    return first + second, fits, np.where(where[:, None], np.ones(3, dtype=bool), table[labels])


def _clusters(rng, labels):
    of = rng.integers(3, size=len(labels))
    bias = LabelBias.flips(budget=1, clusters=of)
    return bias, lambda changed: len(set(of[changed])) <= 1, np.ones((len(labels), 3), dtype=bool)


def _cost(rng, labels):
    costs = rng.integers(1, 4, len(labels)).astype(float)
    bias = LabelBias.flips(budget=Cost(3, costs))
    return bias, lambda changed: costs[changed].sum() <= 3, np.ones((len(labels), 3), dtype=bool)


@pytest.mark.parametrize("kind", [_sum, _clusters, _cost])
@pytest.mark.parametrize("seed", range(some(4, 15)))
def test_other_budgets_are_exact(kind, seed):
    X, labels, tests, rng = made(seed, n_rows=6, n_classes=3)
    bias, fits, allowed = kind(rng, labels)
    model = certified(bias, X, labels)
    certs = model.certify(tests[:5], resolve="exact")
    scores = {"alpha": 2.0, "codes": (-1.0, 1.0)}
    before = outcome(class_scores(X, labels, tests[:5], 3, **scores))
    moved = np.zeros(5, dtype=bool)
    for changed in label_sets(labels, allowed, 4):
        if fits(changed != labels):
            after = outcome(class_scores(X, changed, tests[:5], 3, **scores))
            moved |= after != before
    assert certs.robust.tolist() == (~moved).tolist()
    for row in np.flatnonzero(moved):
        witness = certs.witness(int(row))
        changed = labels.copy()
        changed[witness.indices] = np.searchsorted(NAMES, witness.labels)
        assert fits(changed != labels)
        after = class_scores(X, changed, tests[[row]], 3, **scores)
        assert outcome(after)[0] != before[row]


def test_folds_and_groups_take_several_classes():
    X, labels, _, _ = made(5)
    model = CertifiedClassifier(RidgeClassifier(alpha=2.0), bias=LabelBias.flips(budget=2))
    certs = cross_certify(model, X, NAMES[labels], cv=3)
    assert len(certs) == len(X)
    assert certs.by_group(labels).groups == (0, 1, 2, 3)


def test_a_witness_names_the_rival():
    X, labels, tests, _ = made(6)
    certs = certified(LabelBias.flips(budget=9), X, labels).certify(tests)
    row = int(np.argmin(certs.minimum_budget))
    witness = certs.witness(row)
    assert witness.rival in set(NAMES) - {certs.prediction[row]}
    assert witness.score <= 0


def test_a_smoother_with_given_influence_takes_several_classes():
    X, labels, tests, _ = made(7, n_rows=9, n_classes=3)

    def nearest(train, rows):
        distance = ((rows[:, None] - train) ** 2).sum(axis=2)
        order = np.argsort(distance, axis=1)[:, :4]
        found = np.zeros((len(rows), len(train)))
        np.put_along_axis(found, order, 0.25, axis=1)
        return found

    model = CertifiedClassifier(LinearSmoother(nearest), bias=LabelBias.flips(budget=1))
    certs = model.fit(X, NAMES[labels]).certify(tests, resolve="exact")
    influence = nearest(X, tests)
    before = np.argmax(influence @ np.eye(3)[labels], axis=1)
    moved = np.zeros(len(tests), dtype=bool)
    for changed in label_sets(labels, np.ones((9, 3), dtype=bool), 1):
        moved |= np.argmax(influence @ np.eye(3)[changed], axis=1) != before
    assert certs.robust.tolist() == (~moved).tolist()


def test_what_one_score_decides_is_refused():
    X, labels, tests, _ = made(8)
    model = certified(LabelBias.flips(budget=1), X, labels)
    with pytest.raises(InputError, match="coefficients for each of 4 classes"):
        model.certify_coefficients()
    with pytest.raises(InputError, match="coefficients for each of 4 classes"):
        model.parameter_box()
    binary = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, labels > 1)
    with pytest.raises(InputError, match="bounds that were built before are about one score"):
        model.certify(tests, method=binary.parameter_box())


@pytest.mark.parametrize("to", [{"elk": ["cow"]}, {"cow": ["elk"]}, {"cow": "elk"}])
def test_a_class_that_no_training_label_has_cannot_be_named(to):
    X, labels, _, _ = made(9, n_rows=12, n_classes=3)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1, to=to))
    with pytest.raises(BiasError, match=r"to names 'elk', which is no class .*'cow'"):
        model.fit(X, NAMES[labels])


def test_a_class_that_appears_once_can_be_forgotten():
    X, labels, _, _ = made(9, n_rows=12, n_classes=3)
    labels[labels == 2] = 0
    labels[0] = 2
    model = CertifiedClassifier(
        Ridge(alpha=0.01, fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(X, NAMES[labels])
    certs = model.certify(X)
    assert (certs.minimum_budget[certs.prediction == "cow"] == 1).all()
