"""Searches against all label sets: the user's own estimator is fitted to every one of them."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.effort import some
from tests.naive import corners
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias

FAR = [0.01, 3.0, 300.0]
SHUFFLED = KFold(3, shuffle=True, random_state=1)

SEARCHES = {
    "RidgeCV": lambda rng: RidgeCV(FAR, fit_intercept=bool(rng.integers(2))),
    "RidgeCV, by r2": lambda rng: RidgeCV(FAR, scoring="r2"),
    "RidgeCV, in folds": lambda rng: RidgeCV(FAR, cv=3, scoring="neg_mean_squared_error"),
    "RidgeCV, in folds, by r2": lambda rng: RidgeCV(FAR, cv=3),
    "RidgeClassifierCV": lambda rng: RidgeClassifierCV(FAR),
    "RidgeClassifierCV, in folds": lambda rng: RidgeClassifierCV(FAR, cv=KFold(3)),
    "grid": lambda rng: GridSearchCV(
        Ridge(), {"alpha": FAR}, cv=SHUFFLED, scoring="neg_mean_squared_error"
    ),
    "grid behind a step": lambda rng: GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": [0.01, 300.0], "ridge__fit_intercept": [True, False]},
        cv=3,
        scoring="neg_mean_squared_error",
    ),
    "grid of kernels": lambda rng: GridSearchCV(
        KernelRidge(kernel="rbf"),
        {"alpha": [0.01, 3.0], "gamma": [0.01, 1.0]},
        cv=3,
        scoring="neg_mean_squared_error",
    ),
    "grid of classifiers": lambda rng: GridSearchCV(RidgeClassifier(), {"alpha": FAR}, cv=SHUFFLED),
    "drawn": lambda rng: RandomizedSearchCV(
        Ridge(),
        {"alpha": [0.01, 0.3, 3.0, 300.0]},
        n_iter=3,
        random_state=0,
        cv=ShuffleSplit(2, random_state=0),
        scoring="neg_mean_squared_error",
    ),
    "absolute errors": lambda rng: GridSearchCV(
        Ridge(), {"alpha": FAR}, cv=3, scoring="neg_mean_absolute_error"
    ),
}


class Problem:
    """A small problem with classes or numbers, and every label set that its bias allows."""

    def __init__(self, kind, seed):
        rng = np.random.default_rng([seed, len(kind)])
        search = SEARCHES[kind](rng)
        n = int(rng.integers(6, 9))
        self.budget = int(rng.choice([1, 1, 2]))
        self.X = rng.integers(-2, 3, size=(n, int(rng.integers(1, 3)))).astype(float)
        self.X += 0.25 * (rng.random() < 0.5) * rng.normal(size=self.X.shape)
        self.tests = np.vstack((self.X[:3], rng.normal(scale=2, size=(5, self.X.shape[1]))))
        noise = rng.normal(scale=rng.choice([0.3, 2]), size=n)
        signal = self.X @ rng.normal(size=self.X.shape[1]) + noise
        self.classifies = "lassi" in kind or bool(rng.integers(2))
        self.search, self.radius = search, float(rng.choice([0.05, 0.2, 0.8]))
        self.step = float(rng.choice([0.1, 1.0]))
        if self.classifies:
            self.y = (signal > np.median(signal)).astype(int)
            self.y[:2] = (0, 1)
            bias = LabelBias.flips(budget=self.budget)
            self.model = CertifiedClassifier(search, bias=bias)
            sign = np.where(self.y == 1, -1.0, 1.0)
            self.lower, self.upper = np.minimum(sign, 0), np.maximum(sign, 0)
        else:
            self.y = signal
            bias = LabelBias.shifts(self.step, budget=self.budget)
            self.model = CertifiedRegressor(search, bias=bias, radius=self.radius)
            self.lower, self.upper = np.full((2, n), self.step) * [[-1], [1]]

    def label_sets(self):
        """Label sets, and how many labels of each are other ones; classifiers need two classes."""
        for labels in corners(self.y, self.lower, self.upper, self.budget):
            if len(np.unique(labels)) > 1:
                many = int(np.sum(labels != self.y))
                yield labels.astype(int) if self.classifies else labels, many
        if not self.classifies:  # searches are not linear: points between the ends count too
            rng = np.random.default_rng(0)
            for _ in range(20):
                rows = rng.choice(len(self.y), self.budget, replace=False)
                labels = self.y.copy()
                labels[rows] += self.step * rng.uniform(-1, 1, len(rows))
                yield labels, len(rows)

    def fitted(self, labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(self.search).fit(self.X, labels)

    def scores(self, model):
        if hasattr(model, "decision_function") and self.classifies and "Class" in str(model):
            return model.decision_function(self.tests)
        return model.predict(self.tests)

    def chosen(self, model):
        if hasattr(model, "best_index_"):
            return model.best_index_
        return FAR.index(model.alpha_)

    def overturned(self, first, other):
        if not self.classifies:
            return np.abs(other - first) > self.radius
        middle = 0.0 if "Class" in str(self.search) else 0.5
        return (first > middle) != (other > middle)


def check(kind, seed):
    """Return whether labels change the choice, candidates ruled out, rows undecided, and rows."""
    problem = Problem(kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = problem.model.fit(problem.X, problem.y)
        certs = model.certify(problem.tests)
    first = problem.fitted(problem.y)
    start = problem.scores(first)
    assert certs.score == pytest.approx(start, rel=1e-9, abs=1e-9)
    needed, seen = np.full(len(start), np.inf), {problem.chosen(first)}
    for labels, many in problem.label_sets():
        other = problem.fitted(labels)
        seen.add(problem.chosen(other))
        reached = problem.scores(other)
        assert (reached >= certs.low - 1e-9).all()
        assert (reached <= certs.high + 1e-9).all()
        over = problem.overturned(start, reached)
        needed[over] = np.minimum(needed[over], many)
    assert certs.candidates.chosen == problem.chosen(first)
    assert certs.candidates.possible[sorted(seen)].all()
    assert not (certs.robust & np.isfinite(needed)).any()
    least = certs.minimum_budgets
    assert not (least.low > needed).any()
    for row in np.flatnonzero(certs.verdict == "not-robust").tolist():
        witness = certs.witness(row)
        assert 0 < len(witness) <= problem.budget
        labels = problem.y.astype(float)
        labels[witness.indices] = witness.labels
        labels = labels.astype(int) if problem.classifies else labels
        reached = problem.scores(problem.fitted(labels))
        assert problem.overturned(start, reached)[row]
        assert reached[row] == pytest.approx(witness.score, rel=1e-9, abs=1e-9)
        assert least.low[row] <= len(witness)
    ruled_out = int(np.sum(~certs.candidates.possible))
    return len(seen) > 1, ruled_out, int(np.sum(certs.verdict == "undecided")), len(start)


@pytest.mark.parametrize("part", range(some(1, 2)))
@pytest.mark.parametrize("kind", SEARCHES)
def test_nothing_is_said_that_some_label_set_refutes(kind, part):
    count = some(2, 5)
    found = [check(kind, seed) for seed in range(part * count, (part + 1) * count)]
    turned, ruled_out, undecided, rows = (sum(each) for each in zip(*found, strict=True))
    print(f"{turned} of {count} turn, {ruled_out} ruled out, {undecided} of {rows} undecided")
    assert turned > 0
    assert undecided < rows / 2
