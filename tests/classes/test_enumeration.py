"""Several classes against all label sets, each refitted."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from tests.classes.oracle import class_scores, least_budgets, outcome
from tests.effort import some
from unswayed import CertifiedClassifier, LabelBias

MOST = 2
NAMES = np.array(["ant", "bee", "cow", "dog"])


def problem(seed):
    """A small problem: rows that often repeat, labels of three or four classes, what may change."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = int(rng.integers(3, 5)), int(rng.integers(5, 9))
    whole = seed % 3 == 0
    draw = (lambda *size: rng.integers(-1, 2, size).astype(float)) if whole else rng.normal
    X = draw(n_rows, 2) if whole else draw(size=(n_rows, 2))
    labels = np.concatenate((np.arange(n_classes), rng.integers(n_classes, size=n_rows)))[:n_rows]
    rng.shuffle(labels)
    tests = np.vstack((X[:2], rng.normal(size=(3, 2))))
    to, table = None, np.ones((n_classes, n_classes), dtype=bool)
    if seed % 4 == 1:
        table = np.eye(n_classes, dtype=bool) | (rng.random((n_classes, n_classes)) < 0.4)
        to = {
            NAMES[a]: [NAMES[b] for b in np.flatnonzero(table[a]) if b != a]
            for a in range(n_classes)
        }
    where = rng.random(n_rows) < 0.7 if seed % 5 == 2 else None
    allowed = table[labels]
    if where is not None:
        allowed = np.where(where[:, None], allowed, labels[:, None] == np.arange(n_classes))
    weight = rng.integers(1, 4, n_rows).astype(float) if seed % 7 == 3 else None
    return n_classes, X, labels, tests, allowed, {"to": to, "where": where}, weight


MODELS = [
    (lambda alpha, one: RidgeClassifier(alpha=alpha, fit_intercept=one), (-1.0, 1.0)),
    (lambda alpha, one: Ridge(alpha=alpha, fit_intercept=one), (0.0, 1.0)),
]


@pytest.mark.filterwarnings("ignore:predict says another class")  # ties, which doubles break
@pytest.mark.parametrize("seed", range(some(40, 250)))
def test_least_budgets_verdicts_and_witnesses_are_those_of_all_label_sets(seed):
    n_classes, X, labels, tests, allowed, options, weight = problem(seed)
    make, codes = MODELS[seed % 2]
    alpha, intercept = float([0.5, 2.0, 0.125][seed % 3]), bool(seed % 11)
    model = {"alpha": alpha, "fit_intercept": intercept, "sample_weight": weight}
    model["codes"] = codes
    before, least = least_budgets(X, labels, allowed, tests, n_classes, MOST, **model)
    bias = LabelBias.flips(budget=MOST, **options)
    certified = CertifiedClassifier(make(alpha, intercept), bias=bias, trust="sample_weight")
    certified.fit(X, NAMES[labels], sample_weight=weight)
    certs = certified.certify(tests, resolve="exact")
    assert certs.prediction.tolist() == NAMES[before].tolist()
    found = np.where(certs.minimum_budget > MOST, np.inf, certs.minimum_budget)
    assert found.tolist() == least.tolist()
    assert certs.robust.tolist() == (least > MOST).tolist()
    for budget in range(MOST):
        again = certified.certify(tests, budget=budget, resolve="exact").robust
        assert again.tolist() == (least > budget).tolist()
    for row in np.flatnonzero(least <= MOST):
        witness = certs.witness(int(row))
        assert len(witness) == least[row]
        changed = labels.copy()
        changed[witness.indices] = np.searchsorted(NAMES, witness.labels)
        assert (changed != labels).sum() == len(witness)
        assert allowed[np.arange(len(labels)), changed].all()
        after = class_scores(X, changed, tests[[row]], n_classes, **model)
        said = outcome(after)[0]
        assert said != before[row] or before[row] not in changed


@pytest.mark.filterwarnings("ignore:predict says another class")
def test_ties_go_to_the_class_that_comes_first():
    X = np.eye(3).repeat(2, axis=0)
    y = ["b", "c", "a", "c", "a", "b"]
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(X, y)
    certs = model.certify(np.eye(3), resolve="exact")
    assert certs.prediction.tolist() == ["b", "a", "a"]
    # One changed label of a pair: (b, c) becomes (c, c), (a, ·), all of which win or tie before b.
    assert certs.minimum_budget.tolist() == [1.0, 1.0, 1.0]
    kept = model.certify([[0, 1, 1]], resolve="exact")  # a: 1, c: 1/2, b: 1/2
    assert kept.minimum_budget.tolist() == [1.0]


def test_a_kernel_and_two_classes_of_three_agree_with_enumeration():
    rng = np.random.default_rng(3)
    X, tests = rng.normal(size=(7, 2)), rng.normal(size=(4, 2))
    labels = np.array([0, 1, 2, 0, 1, 2, 0])
    model = CertifiedClassifier(KernelRidge(alpha=1.0), bias=LabelBias.flips(budget=2))
    certs = model.fit(X, NAMES[labels]).certify(tests, resolve="exact")
    allowed = np.ones((7, 3), dtype=bool)
    _, least = least_budgets(X, labels, allowed, tests, 3, 2, alpha=1.0, fit_intercept=False)
    assert np.where(certs.minimum_budget > 2, np.inf, certs.minimum_budget).tolist() == (
        least.tolist()
    )


@pytest.mark.filterwarnings("ignore:predict says another class")
def test_rows_whose_class_rounding_hides_are_undecided():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3)).repeat(2, axis=0)
    tie = np.array([0, 1] * 9)  # equal rows, of two classes each: their scores are equal
    tie[-2:] = 2
    model = CertifiedClassifier(LinearRegression(), bias=LabelBias.flips(budget=9))
    certs = model.fit(X, NAMES[tie]).certify(X)
    settled = model.certify(X, resolve="exact")
    hidden = certs.verdict == "undecided"
    assert (certs.verdict == settled.verdict)[~hidden].all()
    close = settled.prediction != certs.prediction
    assert hidden[close].all()
