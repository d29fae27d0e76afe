"""Seeded small problems of Poisson regression: counts that may be off, and how far scores move.

Scores are logarithms of expected counts. Labels may move by parts, and a score need not be
monotone in them: the truth is all ends of intervals, and a sample of what lies between.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, ctx
from sklearn.linear_model import PoissonRegressor

from tests.logistic.glm import BITS, GLM
from tests.logistic.oracle import Truth, moves
from tests.logistic.problems import described
from unswayed import CertifiedRegressor, LabelBias
from unswayed.margins.decisions import Radius

N_PROBLEMS = 400


@dataclass(frozen=True)
class CountProblem:
    seed: int
    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    alpha: float
    budget: int
    radius: float
    on_mean: bool  # else the radius is one of the logarithm
    fit_intercept: bool
    weight: np.ndarray | None

    regular = True

    @property
    def asked(self):
        """What `certify` is told beside the rows."""
        return {} if self.on_mean else {"decision": Radius(self.radius)}

    def matrix(self, rows):
        return rows

    def fitted(self):
        """The certified model, fitted."""
        model = CertifiedRegressor(
            PoissonRegressor(
                alpha=self.alpha,
                fit_intercept=self.fit_intercept,
                solver="newton-cholesky",
                tol=1e-10,
                max_iter=1000,
            ),
            bias=LabelBias.intervals(self.lower, self.upper, budget=self.budget),
            radius=self.radius,
            trust="sample_weight",  # see Problem.fitted
        )
        given = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(self.X, self.y, **given)

    @cached_property
    def weights(self):
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @cached_property
    def glm(self):
        with ctx.workprec(BITS):
            penalty = arb(self.alpha) * sum(map(arb, self.weights.tolist()), arb(0))
        return GLM(self.X, link="log", penalty=penalty, fit_intercept=self.fit_intercept)

    @cached_property
    def sets(self):
        rng = np.random.default_rng(self.seed)
        return moves(rng, self.y, self.weights, self.lower, self.upper, max(self.budget, 2))

    @cached_property
    def truth(self):
        tests = self.glm.padded(self.tests)
        return Truth(self.glm, self.sets, tests, self.radius, mean=self.on_mean)

    @cached_property
    def coefficients(self):
        """The truth about coefficients: whether they stay on their side of 0."""
        return Truth(self.glm, self.sets, self.glm.units)

    def relabelled(self, rows, labels):
        """Labels after these rows got these labels, and their weights."""
        y = self.y.copy()
        y[rows] = labels
        return y, self.weights

    def admissible(self, rows, labels):
        """Whether the bias allows these labels of these rows."""
        offsets = labels - self.y[rows]
        return bool(((self.lower[rows] <= offsets) & (offsets <= self.upper[rows])).all())

    def __str__(self):
        return described(self)


def make(seed):
    rng = np.random.default_rng([1000, seed])
    n_rows, n_columns = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(3, n_columns))
    kind = seed % 4
    if kind == 1:  # categories, one of them rare
        group = rng.integers(0, n_columns, size=n_rows)
        group[0] = n_columns - 1
        X, tests = np.eye(n_columns)[group], np.eye(n_columns)
    if kind == 2:
        units = 10.0 ** rng.integers(-3, 4, size=n_columns)
        X, tests = X * units, tests * units
    y = rng.poisson(rng.choice([0.3, 2.0, 30.0]), size=n_rows).astype(float)
    y[rng.integers(n_rows)] += 1.0
    size = float(rng.choice([1.0, 1.0, 3.0, 0.5]))
    upper = np.full(n_rows, size) if rng.random() < 0.5 else np.round(2 * size * rng.random(n_rows))
    lower = -np.minimum(y, size) if rng.random() < 0.7 else np.zeros(n_rows)
    weight = rng.choice([0.5, 1.0, 2.0, 0.1], size=n_rows) if kind == 3 else None
    return CountProblem(
        seed=seed,
        X=X,
        y=y,
        tests=tests,
        lower=lower + 0.0,
        upper=upper,
        alpha=float(10.0 ** rng.uniform(-3, 1)),
        budget=int(rng.choice([0, 1, 1, 2, 3])),
        radius=float(10.0 ** rng.uniform(-2, 0.5)),
        on_mean=bool(rng.random() < 0.5),
        fit_intercept=bool(rng.random() < 0.7),
        weight=weight,
    )
