"""Seeded small problems, by family: what makes proofs about logistic regression go wrong.

``make(family, seed)`` is one problem: at most 12 training rows and 4 features as the model sees
them, a bias, test rows. Truth is asked of `oracle`, never of the package.
"""

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from flint import arb, ctx
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from tests.logistic.glm import BITS, GLM
from tests.logistic.oracle import Truth, flips
from unswayed import CertifiedClassifier, LabelBias

LIMIT = 4  # changes that are always enumerated
FEW = 8  # labels of which all sets are


def described(problem):
    """Everything it takes to see a problem again, small enough to paste."""
    lines = []
    for each in dataclasses.fields(problem):
        value = getattr(problem, each.name)
        value = value.tolist() if isinstance(value, np.ndarray) else value
        lines.append(f"  {each.name} = {value!r}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Problem:
    family: str
    seed: int
    X: np.ndarray  # as the user has it: numbers, or categories of "one-hot"
    positive: np.ndarray  # bool
    tests: np.ndarray
    C: float = 1.0
    budget: int = 1
    fit_intercept: bool = True
    weight: np.ndarray | None = None
    class_weight: tuple | None = None  # of the first and of the second class
    bias: dict = field(default_factory=dict)  # where and direction of LabelBias.flips
    classes: tuple = (0, 1)  # in sorted order
    steps: tuple = ()  # before the model
    sparse: bool = False
    solver: str = "newton-cholesky"

    asked = MappingProxyType({})  # what `certify` is told beside the rows

    @property
    def estimator(self):
        named = None
        if self.class_weight is not None:
            named = dict(zip(self.classes, self.class_weight, strict=True))
        model = LogisticRegression(
            C=self.C,
            fit_intercept=self.fit_intercept,
            class_weight=named,
            solver=self.solver,
            tol=1e-10,
            max_iter=1000,
        )
        return make_pipeline(*(clone(step) for step in self.steps), model)

    @property
    def y(self):
        return np.array(self.classes)[self.positive.astype(int)]

    def matrix(self, rows):
        return sparse.csr_array(rows) if self.sparse else rows

    def fitted(self):
        """The certified model, fitted."""
        estimator = self.estimator if self.steps else self.estimator[-1]
        model = CertifiedClassifier(
            estimator,
            bias=LabelBias.flips(budget=self.budget, **self.bias),
            # Of few rows any weights may look like one per class; here they are no label's doing.
            trust="sample_weight",
        )
        given = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(self.matrix(self.X), self.y, **given)

    @property
    def regular(self):
        """Whether units and weights are such that doubles can enclose the minimiser."""
        return self.family not in ("scales", "degenerate", "unpenalised")

    # --- what the oracle needs --------------------------------------------------------------

    @cached_property
    def features(self):
        """Training and test rows as the model sees them."""
        if not self.steps:
            return self.X, self.tests
        steps = make_pipeline(*(clone(step) for step in self.steps)).fit(self.X)
        both = (steps.transform(rows) for rows in (self.X, self.tests))
        return tuple(each.toarray() if sparse.issparse(each) else each for each in both)

    @property
    def may_flip(self):
        where = np.asarray(self.bias.get("where", np.ones(len(self.X), dtype=bool)))
        direction = self.bias.get("direction")
        allowed = {None: True, "up": ~self.positive, "down": self.positive}[direction]
        return where & allowed

    @cached_property
    def weights(self):
        """Weights of each label as the first and as the second class."""
        plain = np.ones(len(self.X)) if self.weight is None else self.weight
        return np.outer((1.0, 1.0) if self.class_weight is None else self.class_weight, plain)

    @cached_property
    def glm(self):
        with ctx.workprec(BITS):
            penalty = 0 if np.isinf(self.C) else arb(1) / arb(self.C)
        rows = self.features[0]
        return GLM(rows, link="logit", penalty=penalty, fit_intercept=self.fit_intercept)

    @cached_property
    def sets(self):
        y, may = self.positive.astype(float), self.may_flip
        whole = np.column_stack((self.features[0], y, self.weights.T, may))
        alike = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
        limit = len(y) if may.sum() <= FEW else LIMIT
        return flips(y, self.weights, may, limit, alike)

    @cached_property
    def truth(self):
        return Truth(self.glm, self.sets, self.glm.padded(self.features[1]))

    @cached_property
    def coefficients(self):
        """The truth about coefficients: whether they stay on their side of 0."""
        return Truth(self.glm, self.sets, self.glm.units)

    def relabelled(self, rows, labels):
        """Labels as 0 and 1 after these rows got these labels, and their weights."""
        y = self.positive.astype(float)
        y[rows] = labels == self.classes[1]
        return y, np.where(y > 0.5, self.weights[1], self.weights[0])

    def admissible(self, rows, labels):
        """Whether the bias allows these labels of these rows."""
        others = np.array(self.classes)[1 - self.positive[rows].astype(int)]
        return bool(self.may_flip[rows].all() and (others == labels).all())

    def __str__(self):
        return described(self)


# --- parts ---------------------------------------------------------------------------------


def _positive(rng, n_rows, odds=0.5):
    """Labels with both classes in them."""
    found = rng.random(n_rows) < odds
    found[rng.permutation(n_rows)[:2]] = [True, False]
    return found


def _sizes(rng, least=4, most=12, columns=4):
    return int(rng.integers(least, most + 1)), int(rng.integers(1, columns + 1))


def _bias(rng, n_rows):
    found = {}
    if rng.random() < 0.25:
        found["where"] = rng.random(n_rows) < rng.choice([0.3, 0.7])
    if rng.random() < 0.25:
        found["direction"] = str(rng.choice(["up", "down"]))
    return found


def _completed(rng, family, seed, X, positive, tests, **known):
    """A problem on given rows, what is not known drawn."""
    known.setdefault("C", float(10.0 ** rng.uniform(-3, 3)))
    known.setdefault("budget", int(rng.choice([0, 1, 1, 2, 2, 3, 4])))
    known.setdefault("fit_intercept", bool(rng.random() < 0.7))
    known.setdefault("bias", _bias(rng, len(X)))
    if rng.random() < 0.15 and not np.isinf(known["C"]):
        known["solver"] = "lbfgs"
    return Problem(family, seed, X, positive, tests, **known)


# --- families ------------------------------------------------------------------------------


def ordinary(rng, family, seed):
    n_rows, n_columns = _sizes(rng, 6)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests)


def strong(rng, family, seed):
    """Strong penalties and test rows far out, where a certificate has something to say."""
    n_rows, n_columns = _sizes(rng, 10, columns=2)
    X = rng.normal(size=(n_rows, n_columns))
    positive = X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0
    positive[:2] = [True, False]
    tests = rng.normal(size=(4, n_columns)) * rng.choice([1.0, 5.0])
    C = float(10.0 ** rng.uniform(-3, 0))
    return _completed(rng, family, seed, X, positive, tests, C=C)


def weighted(rng, family, seed):
    """Weights of samples and of classes: a flipped label takes the weight of its new class."""
    n_rows, n_columns = _sizes(rng, columns=3)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    positive = _positive(rng, n_rows)
    known = {}
    if rng.random() < 0.7:
        weight = rng.choice([0.0, 0.1, 0.5, 1.0, 1.0, 3.0, 1e-9, 1e4], size=n_rows)
        weight[[positive.argmax(), positive.argmin()]] = 1.0
        known["weight"] = weight
    if rng.random() < 0.7:
        pairs = [(1.0, 2.0), (0.25, 1.0), (3.0, 3.0), (100.0, 1.0), (0.1, 0.7), (1.0, 1e-6)]
        known["class_weight"] = pairs[rng.integers(len(pairs))]
    return _completed(rng, family, seed, X, positive, tests, **known)


def duplicates(rng, family, seed):
    """Rows that occur again and again, with equal and with other labels; small whole numbers."""
    n_rows, n_columns = _sizes(rng, 6)
    kinds = rng.integers(-2, 3, size=(int(rng.integers(2, 5)), n_columns)).astype(float)
    X = kinds[rng.integers(len(kinds), size=n_rows)]
    tests = np.vstack((kinds[:2], rng.integers(-2, 3, size=(2, n_columns))))
    known = {"weight": rng.choice([0.5, 1.0, 2.0], size=n_rows)} if rng.random() < 0.3 else {}
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests, **known)


def near_separable(rng, family, seed):
    """One direction tells the classes apart, all but one label or all: margins are long."""
    n_rows, n_columns = _sizes(rng, 6, columns=3)
    X = rng.normal(size=(n_rows, n_columns))
    positive = X[:, 0] > np.median(X[:, 0])
    if rng.random() < 0.5:
        positive[rng.integers(n_rows)] ^= True
    positive[[X[:, 0].argmax(), X[:, 0].argmin()]] = [True, False]
    C = float(10.0 ** rng.uniform(-1, 3))
    tests = rng.normal(size=(4, n_columns)) * rng.choice([0.1, 1.0, 10.0])
    return _completed(rng, family, seed, X, positive, tests, C=C)


def rare(rng, family, seed):
    """Categories that are seen once or twice, some of them of one class only."""
    n_rows = int(rng.integers(6, 13))
    group = np.sort(rng.integers(0, int(rng.integers(1, 3)), size=n_rows))
    group[-1], group[-3:-1] = 2, 3  # once; twice
    X = np.eye(4)[group]
    if rng.random() < 0.5:
        X[:, 0] = rng.normal(size=n_rows)
    tests = np.eye(4)
    tests[0] = X[0]
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests)


def degenerate(rng, family, seed):
    """Constant columns, equal columns, rows of zeros."""
    n_rows, n_columns = _sizes(rng, columns=3)
    X = rng.normal(size=(n_rows, n_columns + 1))
    X[:, 0] = rng.choice([0.0, 1.0, -3.0, 1e6])
    if n_columns > 1 and rng.random() < 0.5:
        X[:, 1] = X[:, -1] * rng.choice([1.0, -2.0])
    X[rng.integers(n_rows, size=2)] = 0.0
    tests = np.vstack((np.zeros((1, n_columns + 1)), X[:1], rng.normal(size=(2, n_columns + 1))))
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests)


def scales(rng, family, seed):
    """Features of huge and of tiny units, together; means far from zero."""
    n_rows, n_columns = _sizes(rng)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    X[:, -1] += rng.choice([0.0, 10.0, 1000.0])
    scale = 10.0 ** rng.integers(-8, 9, size=n_columns)
    return _completed(rng, family, seed, X * scale, _positive(rng, n_rows), tests * scale)


def classes(rng, family, seed):
    """Classes of all types, few of the first or of the second."""
    n_rows, n_columns = _sizes(rng, columns=3)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    kinds = [("no", "yes"), (False, True), (-1, 1), (-1.0, 1.0), (3, 7), ("", "a b")]
    positive = _positive(rng, n_rows, rng.choice([0.0, 0.2, 0.8, 1.0]))
    known = {"classes": kinds[rng.integers(len(kinds))]}
    if rng.random() < 0.3:
        known["class_weight"] = (1.0, 2.5)
    return _completed(rng, family, seed, X, positive, tests, **known)


def sparse_rows(rng, family, seed):
    n_rows, n_columns = _sizes(rng)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    X[rng.random(X.shape) < 0.6], tests[rng.random(tests.shape) < 0.5] = 0.0, 0.0
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests, sparse=True)


def pipelines(rng, family, seed):
    n_rows, n_columns = _sizes(rng, 6)
    if rng.random() < 0.4:
        X = np.array(list("aaaabbbcd"))[rng.integers(9, size=n_rows)][:, None]
        tests = np.array(list("abcz"))[:, None]
        steps = (OneHotEncoder(handle_unknown="ignore"),)
    else:
        units = 10.0 ** rng.integers(-3, 4, size=n_columns)
        X, tests = (rng.normal(size=(n, n_columns)) * units for n in (n_rows, 4))
        steps = (StandardScaler(),) if rng.random() < 0.6 else (MinMaxScaler(), StandardScaler())
    return _completed(rng, family, seed, X, _positive(rng, n_rows), tests, steps=steps)


def unpenalised(rng, family, seed):
    """No penalty: some label sets within the budget have no minimiser, some problems none."""
    n_rows, n_columns = _sizes(rng, 8, columns=2)
    X, tests = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(4, n_columns))
    if rng.random() < 0.5:
        X, tests = np.round(X), np.round(tests)
    if rng.random() < 0.15:
        X, tests = np.hstack((X, X[:, :1])), np.hstack((tests, tests[:, :1]))
        tests[0, 0] += 1.0  # not a sum of training rows, perhaps
    positive = _positive(rng, n_rows)
    return _completed(rng, family, seed, X, positive, tests, C=np.inf)


def near_ties(rng, family, seed):
    """Test rows on the boundary of a refitted model, or within a hair of it."""
    base = FAMILIES[str(rng.choice(["ordinary", "strong", "weighted", "duplicates"]))][0]
    problem = base(rng, family, seed)
    width = problem.X.shape[1] + problem.fit_intercept
    tests = problem.tests.copy()
    sets = problem.sets
    allowed = np.flatnonzero(
        (sets.sizes <= max(problem.budget, 1)) & ~problem.glm.undefined(sets.labels, sets.weights)
    )
    if not len(allowed):
        return problem
    for at in range(len(tests)):
        one = rng.choice(allowed)
        theta = problem.glm.minimise(sets.labels[[one]], sets.weights[[one]])[0][0]
        slope = theta[: problem.X.shape[1]]
        if not slope @ slope > 1e-12:
            continue
        constant = theta[-1] if width > len(slope) else 0.0
        tests[at] -= (tests[at] @ slope + constant) / (slope @ slope) * slope
        off = rng.choice([0.0, 1e-15, 1e-12, 1e-9, 1e-5, 1e-3])
        tests[at] += off * rng.normal(size=len(slope))
    return dataclasses.replace(problem, tests=tests)


FAMILIES = {
    "ordinary": (ordinary, 240),
    "strong": (strong, 240),
    "weighted": (weighted, 240),
    "duplicates": (duplicates, 200),
    "near-separable": (near_separable, 200),
    "rare": (rare, 200),
    "degenerate": (degenerate, 160),
    "scales": (scales, 200),
    "classes": (classes, 120),
    "sparse": (sparse_rows, 120),
    "pipelines": (pipelines, 160),
    "unpenalised": (unpenalised, 160),
    "near-ties": (near_ties, 240),
}
"""By name: how to draw one, and how many."""


def make(family, seed):
    rng = np.random.default_rng([list(FAMILIES).index(family), seed])
    return FAMILIES[family][0](rng, family, seed)
