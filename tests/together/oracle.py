"""Slow and plainly right: every admissible label set, one refit each, and what follows.

Nothing here uses what it is compared with: influence comes from `tests.naive`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from tests.naive import refit_scores
from unswayed import CertifiedClassifier, LabelBias

CLOSE = 1e-9
"""Scores nearer to the threshold than this are nobody's business: problems with one are skipped."""


@dataclass(frozen=True)
class Problem:
    """A classifier on few rows, of which some labels may be flipped."""

    seed: int
    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray
    y_true: np.ndarray
    groups: np.ndarray
    budget: int
    alpha: float
    where: np.ndarray
    direction: str | None
    fit_intercept: bool = True

    @property
    def bias(self):
        return LabelBias.flips(budget=self.budget, where=self.where, direction=self.direction)

    def fitted(self):
        estimator = Ridge(alpha=self.alpha) if self.alpha else LinearRegression()
        estimator.set_params(fit_intercept=self.fit_intercept)
        return CertifiedClassifier(estimator, bias=self.bias).fit(self.X, self.y)

    @property
    def model(self):
        return {"alpha": self.alpha, "fit_intercept": self.fit_intercept}

    @cached_property
    def label_sets(self):
        """Every admissible label vector, the given one first."""
        movable = self.where.copy()
        if self.direction == "up":
            movable &= self.y == 0
        if self.direction == "down":
            movable &= self.y == 1
        rows = np.flatnonzero(movable)
        found = []
        for count in range(min(self.budget, len(rows)) + 1):
            for chosen in combinations(rows, count):
                labels = self.y.astype(float)
                labels[list(chosen)] = 1 - labels[list(chosen)]
                found.append(labels)
        return np.array(found)

    @cached_property
    def scores(self):
        # The model is linear in its labels: n + 1 refits tell all.
        n = len(self.y)
        base = refit_scores(self.X, np.vstack((np.zeros(n), np.eye(n))), self.tests, **self.model)
        return self.label_sets @ (base[1:] - base[0]) + base[0]

    @property
    def doubtful(self):
        return bool((np.abs(self.scores - 0.5) < CLOSE).any())

    @cached_property
    def predictions(self):
        """(label sets, tests): whether each prediction is positive."""
        return self.scores > 0.5

    @cached_property
    def overturned(self):
        return self.predictions != self.predictions[0]

    def replayed(self, witness):
        """Predictions of a refit with a witness's labels."""
        labels = self.y.astype(float)
        labels[witness.indices] = witness.labels
        changed = np.flatnonzero(labels != self.y)
        assert len(witness.indices) == len(changed) <= self.budget
        assert self.where[witness.indices].all()
        assert not (self.direction == "up" and (labels < self.y).any())
        assert not (self.direction == "down" and (labels > self.y).any())
        return refit_scores(self.X, labels, self.tests, **self.model)[0] > 0.5


def draw(seed):
    """Return a random problem; features are often equal, labels often decided by them."""
    rng = np.random.default_rng(seed)
    n, n_tests, d = int(rng.integers(4, 11)), int(rng.integers(1, 9)), int(rng.integers(1, 4))
    grid = rng.random() < 0.4
    X, tests = (
        rng.integers(0, 3, (size, d)).astype(float) if grid else rng.standard_normal((size, d))
        for size in (n, n_tests)
    )
    if rng.random() < 0.3:
        tests[rng.integers(n_tests)] = tests[0]
    y = (X[:, 0] + rng.standard_normal(n) > X[:, 0].mean()).astype(int)
    y[:2] = 0, 1
    where = rng.random(n) < rng.choice([0.6, 1.0])
    return Problem(
        seed=seed,
        X=X,
        y=y,
        tests=tests,
        y_true=rng.integers(0, 2, n_tests),
        groups=rng.choice(np.array(["a", "b", "c"][: int(rng.integers(1, 4))]), n_tests),
        budget=int(rng.integers(0, 5)),
        alpha=float(rng.choice([0.01, 0.3, 2.0])),
        where=where,
        direction=rng.choice(np.array([None, "up", "down"], dtype=object), p=[0.7, 0.15, 0.15]),
    )


def draw_odd(seed):
    """Return a random problem of which some part is empty, zero, equal or alone."""
    problem, rng = draw(seed), np.random.default_rng([seed, 1])
    X, tests, where = problem.X.copy(), problem.tests.copy(), problem.where.copy()
    odd = {
        "zero rows move": lambda: X.__setitem__(where, 0.0),
        "zero rows": lambda: X.__setitem__(rng.random(len(X)) < 0.5, 0.0),
        "zero column": lambda: X.__setitem__((slice(None), 0), 0.0),
        "one row moves": lambda: where.__setitem__(
            np.arange(len(X)) != rng.integers(len(X)), False
        ),
        "no row moves": lambda: where.__setitem__(slice(None), False),
        "equal rows": lambda: X.__setitem__(slice(None), X[0]),
        "equal tests": lambda: tests.__setitem__(slice(None), tests[0]),
        "zero tests": lambda: tests.__setitem__(slice(None), 0.0),
        "far tests": lambda: tests.__imul__(1e3),
    }
    for each in rng.permutation(list(odd))[: int(rng.integers(1, 4))]:
        odd[each]()
    return replace(
        problem,
        X=X,
        tests=tests,
        where=where,
        budget=int(rng.choice([0, 1, problem.budget, len(X)])),
        fit_intercept=bool(rng.random() < 0.4),
    )


def problems(first, count, draw=draw):
    """Yield problems without a score next to the threshold."""
    seed = first
    while count:
        problem = draw(seed)
        seed += 1
        if not problem.doubtful:
            count -= 1
            yield problem
