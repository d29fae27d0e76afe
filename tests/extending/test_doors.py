"""Five capabilities through one door each: one module outside the package, `src` not touched."""

import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from tests.extending.candidates import candidate_margins
from tests.extending.chosen import MeanEngine, MeanOfAll
from tests.extending.highest import Highest
from tests.extending.neighbours import Nearest
from tests.extending.several_classes import class_margins, ridge_influence
from tests.extending.sparse_neighbours import SparseNearest
from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias, Verdict
from unswayed.engines.choice import Combined
from unswayed.labels import Count
from unswayed.margins import Margin


def relabelled(labels, others, most):
    """Every label vector with up to `most` labels changed, each to one of the others."""
    for size in range(most + 1):
        for rows in combinations(range(len(labels)), size):
            for new in product(*(others(labels[row]) for row in rows)):
                changed = labels.copy()
                changed[list(rows)] = new
                yield changed


def fewest_changes(labels, others, most, outcome):
    """The fewest changes that give each row another outcome, by trying all; inf if none does."""
    before = outcome(labels)
    least = np.full(len(before), np.inf)
    for changed in relabelled(labels, others, most):
        size = np.count_nonzero(changed != labels)
        least = np.where(outcome(changed) != before, np.minimum(least, size), least)
    return before, least


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_several_classes_are_several_margins(seed, n_classes):
    rng = np.random.default_rng(seed)
    X, tests = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    labels = np.concatenate((np.arange(n_classes), rng.integers(0, n_classes, 6 - n_classes)))
    influence = ridge_influence(X, tests, 0.7)

    def outcome(given):
        codes = np.where(given[:, None] == np.arange(n_classes), 1.0, -1.0)
        return np.argmax(influence @ codes, axis=1)

    def others(label):
        return [each for each in range(n_classes) if each != label]

    truth, least = fewest_changes(labels, others, 3, outcome)
    if n_classes > 2:
        model = RidgeClassifier(0.7, fit_intercept=False).fit(X, labels)
        assert (model.predict(tests) == truth).all()
    winner, margins = class_margins(influence, labels, n_classes)
    found = Combined(margins, len(tests), Count(2))
    assert (winner == truth).all()
    few = least <= 3
    assert (found.least.high[few] == least[few]).all()
    assert (found.least.low[~few] > 3).all()
    for budget in (1, 2, 3):
        robust = found.verdict(Count(budget)) == Verdict.ROBUST
        assert (robust == (least > budget)).all()
    for row in np.flatnonzero(least <= 2):
        changes = found.changes(int(row))
        assert len(changes.rows) == least[row]


@pytest.mark.parametrize("seed", range(8))
def test_candidate_models_are_a_union_of_margins(seed):
    rng = np.random.default_rng(seed)
    X, tests, alphas = rng.normal(size=(7, 2)), rng.normal(size=(6, 2)), (0.1, 1.0, 10.0)
    y = rng.choice([-1.0, 1.0], 7)
    lower, upper = np.where(y > 0, -2.0, 0.0), np.where(y > 0, 0.0, 2.0)
    decided, margins = candidate_margins(X, y, tests, alphas, lower, upper)
    found = Combined(margins, len(tests), Count(2))
    truth = np.full(len(tests), np.inf)
    for changed in relabelled(y, lambda label: [-label], 3):
        size = np.count_nonzero(changed != y)
        for alpha in alphas:
            other = (ridge_influence(X, tests, alpha) @ changed > 0) != decided
            truth = np.where(other, np.minimum(truth, size), truth)
    few = truth <= 3
    assert (found.least.high[few] == truth[few]).all()
    assert (found.least.low[~few] > 3).all()
    assert ((found.verdict() == Verdict.ROBUST) == (truth > 2)).all()


@pytest.mark.parametrize("touching", [False, True])
def test_a_functional_that_is_not_linear_brings_its_engine(touching):
    rng = np.random.default_rng(0)
    targets, upper = rng.integers(0, 5, 12).astype(float), rng.integers(0, 4, 12).astype(float)
    near = np.array([rng.permutation(12)[:3] for _ in range(20)])
    margin = Margin(Highest(near, targets, upper), np.full(20, 2.0), touching)
    found = Combined([margin], 20, Count(2))
    risen = np.array([(targets + upper)[each].max() - targets[each].max() for each in near])
    overturned = risen >= 2.0 if touching else risen > 2.0
    assert 0 < overturned.sum() < 20
    assert ((found.verdict() == Verdict.NOT_ROBUST) == overturned).all()
    row = int(np.flatnonzero(overturned)[0])
    changed = targets.copy()
    changed[found.changes(row).rows] += found.changes(row).added
    assert changed[near[row]].max() == targets[near[row]].max() + risen[row]


def test_a_model_gets_the_engine_that_its_functional_registers():
    y = np.arange(8.0)
    model = CertifiedRegressor(MeanOfAll(), bias=LabelBias.shifts(4, budget=2), radius=0.9)
    certs = model.fit(np.zeros((8, 1)), y).certify([[0.0], [1.0]])
    assert type(model.fitted_.engine) is MeanEngine
    assert (certs.low.tolist(), certs.high.tolist()) == ([2.5, 2.5], [4.5, 4.5])
    assert certs.minimum_budget.tolist() == [2.0, 2.0]
    assert len(certs.witness(0)) == 2
    assert (certs.verdict == Verdict.NOT_ROBUST).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.certify([[0.0]], resolve="exact"),
        lambda model: model.certify_together([[0.0]]),
        lambda model: model.certify([[0.0]]).save("c.json"),
        lambda model: model.certify([[0.0]], method="box"),
    ],
)
def test_what_an_engine_does_not_offer_is_refused(ask):
    model = CertifiedRegressor(MeanOfAll(), bias=LabelBias.shifts(4, budget=2), radius=0.9)
    with pytest.raises(InputError, match="not possible for"):
        ask(model.fit(np.zeros((8, 1)), np.arange(8.0)))


def test_margins_that_name_rows_which_are_not_there_are_refused():
    margin = Margin(
        Highest(np.array([[0]]), np.ones(1), np.ones(1)), np.ones(1), rows=np.array([3])
    )
    with pytest.raises(InputError, match="name one of the 2 rows"):
        Combined([margin], 2, Count(1))


# --- influence that is CSR ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_neighbors", [3, 4])
def test_csr_influence_gives_the_answers_of_dense_influence(seed, n_neighbors):
    rng = np.random.default_rng(seed)
    X, tests = rng.normal(size=(30, 2)), rng.normal(size=(25, 2))
    y = np.where(rng.random(30) < 0.5, "no", "yes")
    models = [
        CertifiedClassifier(kind(n_neighbors), bias=LabelBias.flips(budget=2)).fit(X, y)
        for kind in (Nearest, SparseNearest)
    ]
    for resolve in (None, "exact"):
        dense, sparse = (model.certify(tests, resolve=resolve) for model in models)
        assert (dense.verdict == sparse.verdict).all()
        assert (dense.prediction == sparse.prediction).all()
        np.testing.assert_allclose(dense.low, sparse.low, atol=1e-12)
        np.testing.assert_allclose(dense.high, sparse.high, atol=1e-12)
        assert (dense.minimum_budget == sparse.minimum_budget).all()
    for row in np.flatnonzero(sparse.verdict == Verdict.NOT_ROBUST).tolist():
        one, other = dense.witness(row), sparse.witness(row)
        assert one.indices.tolist() == other.indices.tolist()
    together = [model.certify_together(tests, time_limit=0) for model in models]
    assert together[0].at_most == together[1].at_most


def test_csr_influence_with_shifts_and_a_radius_is_that_of_dense_influence():
    rng = np.random.default_rng(3)
    X, tests, y = rng.normal(size=(40, 2)), rng.normal(size=(20, 2)), rng.normal(size=40)
    bias = LabelBias.shifts((-0.5, 1.0), budget=3, where=rng.random(40) < 0.7)
    dense, sparse = (
        CertifiedRegressor(kind(5), bias=bias, radius=0.3).fit(X, y).certify(tests)
        for kind in (Nearest, SparseNearest)
    )
    assert (dense.verdict == sparse.verdict).all()
    np.testing.assert_allclose(dense.low, sparse.low, atol=1e-12)
    np.testing.assert_allclose(dense.high, sparse.high, atol=1e-12)


def test_no_dense_matrix_is_made_of_csr_influence():
    rng = np.random.default_rng(0)
    X, tests = rng.normal(size=(20_000, 3)), rng.normal(size=(2_000, 3))
    model = CertifiedClassifier(SparseNearest(9), bias=LabelBias.flips(budget=3))
    model.fit(X, X[:, 0] > 0)
    tracemalloc.start()
    model.certify(tests)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(X) * len(tests) / 10
