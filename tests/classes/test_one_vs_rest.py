"""One logistic regression per class, against refits of all label sets."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tests.classes.oracle import label_sets
from tests.effort import some
from unswayed import CertifiedClassifier, InputError, LabelBias, NotLinearError, Verdict

NAMES = np.array(["ant", "bee", "cow"])


def model_of(C):
    return OneVsRestClassifier(
        LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=500)
    )


@pytest.mark.parametrize("seed", range(some(6, 15)))
def test_no_verdict_is_contradicted_by_a_refit(seed):
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(3).repeat(3), rng.integers(3, size=2)))
    X = rng.normal(size=(3, 2))[labels] + rng.normal(size=(11, 2))
    tests, budget = 2 * rng.normal(size=(5, 2)), 1 + seed % 2
    model = CertifiedClassifier(model_of(0.2), bias=LabelBias.flips(budget=budget))
    certs = model.fit(X, NAMES[labels]).certify(tests)
    assert certs.prediction.tolist() == model_of(0.2).fit(X, NAMES[labels]).predict(tests).tolist()
    moved = np.zeros(5, dtype=bool)
    some_sets = list(label_sets(labels, np.ones((11, 3), dtype=bool), budget))
    for at in rng.permutation(len(some_sets))[:60]:
        again = model_of(0.2).fit(X, NAMES[some_sets[at]]).predict(tests)
        moved |= again != certs.prediction
    assert not (certs.robust & moved).any()
    assert not (certs.minimum_budget[moved] > budget).any()
    for row in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST):
        witness = certs.witness(int(row))
        assert len(witness) <= budget
        changed = NAMES[labels]
        changed[witness.indices] = witness.labels
        said = model_of(0.2).fit(X, changed).predict(tests[[row]])[0]
        assert said != certs.prediction[row]


def test_a_strong_penalty_leaves_little_undecided():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    X = np.eye(3)[labels] @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    model = CertifiedClassifier(model_of(0.01), bias=LabelBias.flips(budget=3))
    certs = model.fit(X, NAMES[labels]).certify(X[:40])
    assert certs.robust.sum() > 20
    assert (certs.verdict == Verdict.UNDECIDED).sum() < 10
    assert (certs.minimum_budget[certs.robust] > 3).all()


def test_what_is_not_certified_is_refused_by_name():
    X, y = np.eye(6)[:, :2], NAMES[[0, 1, 2, 0, 1, 2]]
    bias = LabelBias.flips(budget=1)
    with pytest.raises(InputError, match="3 classes, and LogisticRegression is certified for two"):
        CertifiedClassifier(LogisticRegression(), bias=bias).fit(X, y)
    with pytest.raises(InputError, match="two classes here; certify the LogisticRegression"):
        CertifiedClassifier(model_of(1.0), bias=bias).fit(X, y == "ant")
    inner = LogisticRegression(penalty="l1", solver="liblinear")
    with pytest.raises(NotLinearError, match="l1"):
        CertifiedClassifier(OneVsRestClassifier(inner), bias=bias).fit(X, y)
