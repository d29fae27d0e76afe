"""Seeded problems, by family: what makes proofs in floating point go wrong, and ordinary ones.

``make(family, seed)`` is one problem: training data, a bias, test rows and a question. Families
that need to know the truth to come within an ulp of it ask `truth`, never the package.
"""

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from tests.soundness import truth
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, LinearSmoother


@dataclass(frozen=True)
class Problem:
    family: str
    seed: int
    X: np.ndarray  # training features, the kernel matrix of "precomputed", or unused (smoother)
    targets: np.ndarray  # training labels as numbers
    tests: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    budget: int
    kind: str = "ridge"  # "ridge", "kernel-ridge" or "smoother"
    alpha: float = 0.0
    fit_intercept: bool = True
    weight: np.ndarray | None = None
    radius: float | None = None  # None: a classifier
    signed: bool = False  # classes are -1 and 1 (RidgeClassifier)
    flips: dict | None = None  # arguments of LabelBias.flips that lead to lower and upper
    kernel: dict = field(default_factory=dict)
    sparse: bool = False
    balanced: bool = False  # a classifier that decides at the mean of its labels

    @property
    def question(self):
        if self.radius is not None:
            return ("radius", self.radius)
        if self.balanced:
            return ("threshold", 0.0)  # of scores less the mean
        return ("threshold", 0.0 if self.signed else 0.5)

    @property
    def estimator(self):
        if self.kind == "smoother":
            return LinearSmoother()
        if self.kind == "kernel-ridge":
            return KernelRidge(alpha=self.alpha, **self.kernel)
        if self.signed:
            return RidgeClassifier(alpha=self.alpha, fit_intercept=self.fit_intercept)
        if self.alpha == 0:
            return LinearRegression(fit_intercept=self.fit_intercept)
        return Ridge(alpha=self.alpha, fit_intercept=self.fit_intercept)

    @property
    def bias(self):
        if self.flips is not None:
            return LabelBias.flips(budget=self.budget, **self.flips)
        if len({*self.lower}) == len({*self.upper}) == 1:
            return LabelBias.shifts((self.lower[0], self.upper[0]), budget=self.budget)
        return LabelBias.intervals(self.lower, self.upper, budget=self.budget)

    def matrix(self, rows):
        return sparse.csr_array(rows) if self.sparse else rows

    def fitted(self):
        """The certified model, fitted."""
        if self.radius is None:
            threshold = "balanced" if self.balanced else None
            model = CertifiedClassifier(self.estimator, bias=self.bias, threshold=threshold)
        else:
            model = CertifiedRegressor(self.estimator, bias=self.bias, radius=self.radius)
        # Of few rows any weights may be one per class; here they are no label's doing.
        model.set_params(trust="sample_weight")
        given = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(self.matrix(self.X), self.targets, **given)

    @cached_property
    def weights(self):
        return truth.fractions(np.ones(len(self.targets)) if self.weight is None else self.weight)

    @cached_property
    def ridge_map(self):
        return truth.ridge_map(self.X, self.alpha, self.fit_intercept, self.weights)

    def influence(self, inputs, kernel_matrix=None):
        """Exact influence of every label on the score of rows, as the model sees the rows."""
        found = self.plain_influence(inputs, kernel_matrix)
        if not self.balanced:
            return found
        total = sum(self.weights)
        return [[z - w / total for z, w in zip(row, self.weights, strict=True)] for row in found]

    def plain_influence(self, inputs, kernel_matrix=None):
        rows = truth.table(inputs)
        if self.kind == "smoother":
            return rows
        if self.kind == "kernel-ridge":
            kernel_matrix = self.X if kernel_matrix is None else kernel_matrix
            return truth.product(rows, truth.kernel_map(kernel_matrix, self.alpha, self.weights))
        constant = truth.Fraction(int(self.fit_intercept))
        return truth.product([[constant, *row] for row in rows], self.ridge_map)

    def true_rows(self, influence, question=None):
        parts = [truth.fractions(each) for each in (self.targets, self.lower, self.upper)]
        question = question or self.question
        return [truth.TrueRow(z, *parts, question) for z in influence]

    @cached_property
    def true_coefficients(self):
        return self.true_rows(self.ridge_map[1:], ("sign", None))

    def __str__(self):
        """Everything it takes to see the problem again, small enough to paste."""
        lines = [f"make({self.family!r}, {self.seed}) is the problem"]
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            value = value.tolist() if isinstance(value, np.ndarray) else value
            lines.append(f"  {each.name} = {value!r}")
        return "\n".join(lines)


# --- parts ---------------------------------------------------------------------------------


def _labels(rng, n_rows, *, signed=False):
    """Binary labels with both classes in them."""
    y = (rng.random(n_rows) < 0.5).astype(float)
    y[:2] = rng.permutation([0.0, 1.0])
    return 2 * y - 1 if signed else y


def _flips(rng, y, *, signed):
    """Offsets of flips, at times with a mask or a direction."""
    step = 2.0 if signed else 1.0
    lower, upper = np.where(y > 0, -step, 0.0), np.where(y > 0, 0.0, step)
    arguments = {}
    if rng.random() < 0.25:
        arguments["where"] = rng.random(len(y)) < 0.7
        lower, upper = lower * arguments["where"], upper * arguments["where"]
    if rng.random() < 0.25:
        arguments["direction"] = rng.choice(["up", "down"])
        (lower if arguments["direction"] == "up" else upper)[:] = 0.0
    return {"lower": lower + 0.0, "upper": upper + 0.0, "flips": arguments}


def _offsets(rng, n_rows, size=1.0):
    """Offsets of all kinds: the same for all, one-sided, one interval each, some labels safe."""
    kind = rng.integers(4)
    if kind == 0:
        lower, upper = np.full(n_rows, -size), np.full(n_rows, size)
    elif kind == 1:
        lower, upper = np.zeros(n_rows), np.full(n_rows, size)
    else:
        lower, upper = -size * rng.random(n_rows), size * rng.random(n_rows)
    if kind == 3:
        safe = rng.random(n_rows) < 0.4
        lower[safe], upper[safe] = 0.0, 0.0
    return {"lower": lower + 0.0, "upper": upper + 0.0}


def _weight(rng, n_rows, share=0.3):
    if rng.random() > share:
        return None
    weight = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0, 0.1], size=n_rows)
    weight[rng.integers(n_rows)] = 1.0
    return weight


def _budget(rng, n_rows):
    return int(rng.integers(0, n_rows + 2)) if rng.random() < 0.2 else int(rng.integers(1, 4))


def _alpha(rng):
    return 0.0 if rng.random() < 0.35 else float(10.0 ** rng.uniform(-8, 4))


def _with_question(rng, family, seed, X, tests, **known):
    """A problem on given features: a classifier or a regressor, bias and model drawn."""
    n_rows = len(X)
    classifier = n_rows > 1 and rng.random() < 0.5 and "targets" not in known
    known.setdefault("alpha", _alpha(rng))
    known.setdefault("fit_intercept", bool(rng.random() < 0.6))
    known.setdefault("weight", _weight(rng, n_rows))
    known.setdefault("budget", _budget(rng, n_rows))
    if classifier:
        signed = known.get("kind", "ridge") == "ridge" and rng.random() < 0.4
        y = _labels(rng, n_rows, signed=signed)
        offsets = _flips(rng, y, signed=signed) if rng.random() < 0.7 else _offsets(rng, n_rows)
        return Problem(family, seed, X, y, tests, **{"signed": signed, **offsets, **known})
    y = known.pop("targets", None)
    y = rng.normal(size=n_rows) * 3 if y is None else y
    size = float(rng.choice([1.0, 0.25, 2.0, 0.1]))
    made = {"radius": float(rng.exponential()), **_offsets(rng, n_rows, size), **known}
    return Problem(family, seed, X, y, tests, **made)


def _at_a_tie(rng, problem):
    """The same problem with the question moved to within a few ulps of its answer."""
    if problem.radius is None:
        return _rows_at_the_edge(rng, problem, 0)
    row = problem.true_rows(problem.influence(problem.tests[:1]))[0]
    reach = row.reach(problem.budget)[rng.integers(2)]
    try:
        radius = float(reach)
    except OverflowError:
        return problem
    for _ in range(int(rng.integers(0, 4))):
        radius = np.nextafter(radius, rng.choice([0.0, np.inf]))
    return dataclasses.replace(problem, radius=float(min(radius, np.finfo(float).max)))


def _rows_at_the_edge(rng, problem, first):
    """Test rows between two others, where the range just touches the threshold or radius."""
    influence = np.array([[float(a) for a in row] for row in problem.ridge_map])
    constant = float(problem.fit_intercept)
    side = rng.choice([-1.0, 1.0])
    kind, value = problem.question

    def excess(row):
        z = np.concatenate(([constant], row)) @ influence
        gains = np.sort(np.maximum(side * z * problem.lower, side * z * problem.upper))[::-1]
        moved = gains[: problem.budget].sum() - (value if kind == "radius" else 0.0)
        return moved if kind == "radius" else z @ problem.targets + side * moved - value

    tests = problem.tests.copy()
    for at in range(first, len(tests)):
        for _ in range(5):
            start, stop = tests[at], tests[at] + rng.normal(size=tests.shape[1]) * 10
            if excess(start) * excess(stop) < 0:
                break
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if excess(start + middle * (stop - start)) * excess(start) > 0:
                low = middle
            else:
                high = middle
        tests[at] = start + high * (stop - start)
    return dataclasses.replace(problem, tests=tests)


# --- families ------------------------------------------------------------------------------


def ordinary(rng, family, seed):
    n_rows, n_columns = int(rng.integers(8, 31)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_rows, n_columns)) * rng.choice([1.0, 5.0, 0.3], size=n_columns)
    return _with_question(rng, family, seed, X, rng.normal(size=(4, n_columns)))


def many_rows(rng, family, seed):
    """Rows enough for anchors to bound other rows, some of them at the edge."""
    n_rows, n_columns = int(rng.integers(6, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_rows, n_columns))
    tests = rng.normal(size=(24, n_columns)) * rng.choice([0.1, 1.0, 3.0])
    tests[12:] = tests[:12] + 0.1 * rng.normal(size=(12, n_columns))  # near an anchor
    problem = _with_question(rng, family, seed, X, tests)
    return _rows_at_the_edge(rng, problem, 18) if rng.random() < 0.5 else problem


def long(rng, family, seed):
    """Enough training rows for sums to lose something."""
    n_rows, n_columns = int(rng.integers(500, 1500)), int(rng.integers(1, 3))
    X = np.round(rng.normal(size=(n_rows, n_columns)) * 1e3) / 1e3
    tests, budget = rng.normal(size=(2, n_columns)), int(rng.integers(1, n_rows))
    problem = _with_question(rng, family, seed, X, tests, budget=budget)
    return _at_a_tie(rng, problem)


def near_ties(rng, family, seed):
    n_rows, n_columns = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    X = rng.normal(size=(n_rows, n_columns))
    if rng.random() < 0.3:
        X = np.round(X * 4) / 4
    problem = _with_question(rng, family, seed, X, rng.normal(size=(3, n_columns)))
    return _rows_at_the_edge(rng, _at_a_tie(rng, problem), 1)


def integers(rng, family, seed):
    """Whole numbers: exact ties with thresholds, radii, zero coefficients and one another."""
    n_rows, n_columns = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    if rng.random() < 0.5:  # one-hot groups: scores are means of labels
        group = rng.integers(0, n_columns, size=n_rows)
        X = np.eye(n_columns)[group]
        tests = np.eye(n_columns)
    else:
        X = rng.integers(-2, 3, size=(n_rows, n_columns)).astype(float)
        tests = rng.integers(-2, 3, size=(4, n_columns)).astype(float)
    known = {"alpha": float(rng.choice([0.0, 0.0, 1.0, 2.0]))}
    known["weight"] = rng.choice([0.0, 1.0, 2.0], size=n_rows) if rng.random() < 0.2 else None
    if known["weight"] is not None:
        known["weight"][0] = 1.0
    if rng.random() < 0.5:
        known["targets"] = rng.integers(-3, 4, size=n_rows).astype(float)
        known |= {"lower": -rng.integers(0, 3, size=n_rows) * 1.0 + 0.0}
        known |= {"upper": rng.integers(0, 3, size=n_rows) * 1.0}
        known["radius"] = float(rng.choice([0.0, 0.25, 0.5, 1.0, 2.0]))
        problem = _with_question(rng, family, seed, X, tests, **known)
        return _at_a_tie(rng, problem) if rng.random() < 0.5 else problem
    return _with_question(rng, family, seed, X, tests, **known)


def decimals(rng, family, seed):
    """Scores that doubles hold exactly, moved by tenths and hundredths that they do not."""
    n_rows = int(rng.integers(1, 9))
    y = rng.integers(-4000, 4000, size=n_rows) / rng.choice([1.0, 4.0])
    places = float(rng.choice([10, 100, 1000]))
    lower, upper = (
        -rng.integers(0, 50, size=n_rows) / places,
        rng.integers(0, 50, size=n_rows) / places,
    )
    known = {"targets": y, "lower": lower + 0.0, "upper": upper, "alpha": 0.0, "weight": None}
    known["radius"] = float(rng.integers(0, 100) / places)
    if rng.random() < 0.5:
        X, tests = np.zeros((n_rows, n_rows)), rng.integers(-3, 4, size=(4, n_rows)) / 2
        known["kind"] = "smoother"
    else:  # every row its own group, or two groups: scores are labels or means of them
        group = np.arange(n_rows) if rng.random() < 0.5 else np.arange(n_rows) % 2
        X = np.eye(int(group.max()) + 1)[group]
        tests = rng.integers(-1, 3, size=(4, X.shape[1])) * 1.0
        known["fit_intercept"] = False
    problem = _with_question(rng, family, seed, X, tests, **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.5 else problem


def collinear(rng, family, seed):
    """Columns that are nearly dependent, condition numbers up to 1e15 and more."""
    n_columns = int(rng.integers(2, 6))
    n_rows = int(rng.integers(n_columns + 1, 13))
    X = rng.normal(size=(n_rows, n_columns))
    X[:, -1] = X[:, 0] + 10.0 ** -rng.uniform(3, 15) * rng.normal(size=n_rows)
    tests = np.vstack((rng.normal(size=(2, n_columns)), X[:1]))
    known = {} if rng.random() < 0.5 else {"alpha": float(10.0 ** -rng.uniform(4, 14))}
    problem = _with_question(rng, family, seed, X, tests, **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.3 else problem


def hilbert(rng, family, seed):
    n_columns = int(rng.integers(3, 10))
    n_rows = n_columns + int(rng.integers(0, 4))
    first = int(rng.integers(1, 4))
    X = 1.0 / (first + np.arange(n_rows)[:, None] + np.arange(n_columns)[None, :])
    tests = np.vstack((X[:1], rng.normal(size=(1, n_columns)), X[1:2] * 1.5))
    known = {"alpha": 0.0 if rng.random() < 0.6 else float(10.0 ** -rng.uniform(2, 16))}
    return _with_question(rng, family, seed, X, tests, **known)


def rank_deficient(rng, family, seed):
    n_rows, n_columns = int(rng.integers(2, 11)), int(rng.integers(2, 5))
    kind = rng.integers(5)
    if kind == 0:  # one-hot with an intercept
        X = np.eye(n_columns)[rng.integers(0, n_columns, size=n_rows)]
        tests = np.vstack((np.eye(n_columns)[:2], rng.normal(size=(1, n_columns))))
        intercept = True
    elif kind == 1:  # duplicated, zero and constant columns
        X = rng.normal(size=(n_rows, n_columns))
        X[:, -1] = X[:, 0] * rng.choice([1.0, -2.0, 3.0])
        X = np.column_stack((X, np.zeros(n_rows), np.full(n_rows, 0.1)))
        tests, intercept = rng.normal(size=(3, n_columns + 2)), bool(rng.random() < 0.5)
    elif kind == 2:  # one-hot, through a scaler
        X = np.eye(n_columns)[rng.integers(0, n_columns, size=n_rows)]
        mean, scale = rng.normal(size=n_columns), 10.0 ** rng.uniform(-6, 6, size=n_columns)
        mean = mean * (rng.random() < 0.5)
        X, tests = (X - mean) / scale, rng.normal(size=(3, n_columns)) / scale
        tests[0] = X[0]
        intercept = bool(rng.random() < 0.7)
    elif kind == 3:  # more columns than rows
        n_columns = n_rows + int(rng.integers(1, 4))
        X = rng.normal(size=(n_rows, n_columns))
        tests, intercept = rng.normal(size=(3, n_columns)), bool(rng.random() < 0.5)
    else:  # few distinct rows, whole numbers
        X = rng.integers(-1, 2, size=(2, n_columns))[rng.integers(0, 2, size=n_rows)] * 1.0
        tests, intercept = rng.normal(size=(3, n_columns)), bool(rng.random() < 0.5)
    known = {} if rng.random() < 0.4 else {"alpha": 0.0}
    if rng.random() < 0.2:
        known = {"alpha": float(10.0 ** -rng.uniform(4, 14))}
    problem = _with_question(rng, family, seed, X, tests, fit_intercept=intercept, **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.2 else problem


def scales(rng, family, seed):
    """Features, labels, offsets, weights and alpha from 1e-150 to 1e150."""
    n_rows, n_columns = int(rng.integers(2, 8)), int(rng.integers(1, 4))

    def scale(size=None):
        return 10.0 ** rng.uniform(-150, 150, size=size)

    columns = scale(n_columns) if rng.random() < 0.5 else np.full(n_columns, scale())
    if rng.random() < 0.2:
        columns = columns * 10.0 ** rng.uniform(-3, 3, size=(n_rows, n_columns))
    X = rng.normal(size=(n_rows, n_columns)) * columns
    tests = rng.normal(size=(3, n_columns)) * (columns if columns.ndim == 1 else columns[0])
    if rng.random() < 0.3:
        alpha = float(rng.choice([0.0, 1.0, float(columns.flat[0]) ** 2]))
        return _with_question(rng, family, seed, X, tests, alpha=alpha)
    label = scale()
    known = {"targets": rng.normal(size=n_rows) * label}
    known |= _offsets(rng, n_rows, label * float(10.0 ** rng.uniform(-3, 3)))
    known["alpha"] = float(rng.choice([0.0, 1.0, scale(), float(columns.flat[0]) ** 2]))
    known["radius"] = label
    if rng.random() < 0.3:
        spread = 10.0 ** rng.uniform(-12, 12, size=n_rows) if rng.random() < 0.3 else 1.0
        known["weight"] = scale() * rng.random(n_rows) * spread + 1e-300
    problem = _with_question(rng, family, seed, X, tests, **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.5 else problem


def subnormal(rng, family, seed):
    """Offsets and radii at the bottom of the doubles."""
    n_rows, n_columns = int(rng.integers(2, 9)), int(rng.integers(1, 3))
    X = rng.normal(size=(n_rows, n_columns))
    size = 5e-324 * float(rng.integers(1, 2**20))
    lower = -size * np.floor(rng.integers(0, 3, size=n_rows))
    known = {"targets": rng.normal(size=n_rows) * rng.choice([1.0, 1e-310])}
    known |= {"lower": lower + 0.0, "upper": np.full(n_rows, size), "radius": size}
    problem = _with_question(rng, family, seed, X, rng.normal(size=(3, n_columns)), **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.6 else problem


def tiny(rng, family, seed):
    """One row, no budget, or more budget than rows."""
    n_rows, n_columns = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 3))
    X = rng.choice([-1.0, 0.0, 0.1, 1.0, 7.0], size=(n_rows, n_columns))
    tests = np.vstack((X[:1], rng.normal(size=(2, n_columns))))
    budget = int(rng.choice([0, 1, n_rows, n_rows + 3]))
    problem = _with_question(rng, family, seed, X, tests, budget=budget)
    return _at_a_tie(rng, problem) if rng.random() < 0.4 else problem


def duplicates(rng, family, seed):
    n_rows, n_columns = int(rng.integers(20, 60)), int(rng.integers(1, 3))
    X = rng.normal(size=(4, n_columns))[rng.integers(0, 4, size=n_rows)]
    budget = int(rng.integers(1, n_rows))
    tests = np.vstack((X[:2], rng.normal(size=(1, n_columns))))
    problem = _with_question(rng, family, seed, X, tests, budget=budget)
    return _at_a_tie(rng, problem) if rng.random() < 0.4 else problem


def sparse_input(rng, family, seed):
    n_rows, n_columns = int(rng.integers(4, 14)), int(rng.integers(2, 6))
    X = rng.normal(size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)
    tests = rng.normal(size=(3, n_columns)) * (rng.random((3, n_columns)) < 0.6)
    known = {"alpha": float(10.0 ** rng.uniform(-8, 4))} if rng.random() < 0.8 else {"alpha": 0.0}
    return _with_question(rng, family, seed, X + 0.0, tests + 0.0, sparse=True, **known)


def large_means(rng, family, seed):
    """Timestamps and the like: means that dwarf what varies."""
    n_rows, n_columns = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    mean = 10.0 ** rng.uniform(6, 12, size=n_columns)
    X, tests = (np.round(mean + 1e3 * rng.normal(size=(n, n_columns))) for n in (n_rows, 3))
    problem = _with_question(rng, family, seed, X, tests)
    return _at_a_tie(rng, problem) if rng.random() < 0.3 else problem


def kernels(rng, family, seed):
    n_rows, n_columns = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X, tests = (rng.normal(size=(n, n_columns)) for n in (n_rows, 3))
    known = {"kind": "kernel-ridge", "fit_intercept": False}
    known["alpha"] = float(10.0 ** rng.uniform(-8, 3))
    kernel = str(rng.choice(["linear", "rbf", "precomputed"]))
    known["kernel"] = {"kernel": kernel, "gamma": 0.5} if kernel == "rbf" else {"kernel": kernel}
    if kernel == "precomputed":
        if rng.random() < 0.5:  # whole numbers and no alpha: singular more often than not
            X, tests = np.round(X), np.round(tests)
            known["alpha"] = float(rng.choice([0.0, 1.0]))
        X, tests = X @ X.T, tests @ X.T
    problem = _with_question(rng, family, seed, X, tests, **known)
    tie = kernel == "precomputed" and problem.radius is not None
    return _at_a_tie(rng, problem) if tie else problem


def smoothers(rng, family, seed):
    n_rows = int(rng.integers(1, 25))
    kind = rng.integers(3)
    tests = rng.normal(size=(4, n_rows))
    if kind == 0:
        tests = rng.integers(-9, 10, size=(4, n_rows)) / 10
    elif kind == 1:
        tests = tests * 10.0 ** rng.uniform(-140, 140, size=(4, n_rows))
    known = {"kind": "smoother", "weight": None, "alpha": 0.0}
    problem = _with_question(rng, family, seed, np.zeros((n_rows, n_rows)), tests, **known)
    if problem.radius is not None and rng.random() < 0.6:
        return _at_a_tie(rng, problem)
    return problem


def _any_size(rng, size):
    """Positive numbers from all over the doubles, subnormal ones included."""
    kind = rng.integers(4)
    if kind == 0:
        found = 10.0 ** rng.uniform(-323, 306, size=size)
    elif kind == 1:
        found = rng.choice(10.0 ** rng.uniform(-323, 306, size=2), size=size)
    elif kind == 2:
        found = rng.choice([5e-324, 2.2e-308, 1e-200, 1.0, 1e200, 1e306], size=size)
    else:
        found = np.full(size, 10.0 ** rng.uniform(-323, 306))
    return np.maximum(found, 5e-324)


def _extreme(rng, size):
    """Numbers of any sign and size; at times all but one of them are 0."""
    found = _any_size(rng, size) * rng.choice([-1.0, 1.0], size=size)
    if rng.random() < 0.3:
        found[rng.permutation(size)[1:]] = 0.0
    return found + 0.0


def _extreme_rows(rng, shape):
    """Feature rows: mostly moderate, so that weights, labels and offsets have a say."""
    kind = rng.integers(5)
    if kind == 0:
        return np.eye(*shape) * 10.0 ** rng.uniform(-150, 150, size=(rng.choice([1, shape[0]]), 1))
    if kind == 1:
        return rng.integers(-2, 3, size=shape) * 1.0
    if kind == 2:
        return rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, size=(shape[0], 1))
    if kind == 3:
        return rng.normal(size=shape) * 10.0 ** rng.uniform(-140, 140)
    return rng.normal(size=shape) * (rng.random(shape) < 0.7) + 0.0


def _extreme_weights(rng, n_rows):
    """Weights of any size, some of them 0; at times most rows are heavy, and few are light."""
    weight = _any_size(rng, n_rows)
    if rng.random() < 0.5:
        heavy = rng.random(n_rows) < 0.8
        weight[heavy] = max(weight.max(), rng.choice([1e-300, 1.0, 1e300]))
        weight[heavy] *= rng.choice([1.0, 0.5, 0.7], size=heavy.sum())
    weight[rng.random(n_rows) < 0.1] = 0.0
    if not weight.any():
        weight[0] = 1.0
    return weight


def _extreme_kernel(rng, X):
    with np.errstate(all="ignore"):
        found = np.eye(len(X)) if rng.random() < 0.4 else X @ X.T
    found = np.tril(found) + np.tril(found, -1).T
    return found if np.isfinite(found).all() else np.eye(len(X))


def all_weights(rng, family, seed):
    """Weights, and with them labels, offsets and alpha, over the whole range of doubles."""
    kinds, share = ["tall", "wide", "sparse", "kernel", "smoother"], [0.4, 0.2, 0.15, 0.15, 0.1]
    kind = str(rng.choice(kinds, p=share))
    n_columns = int(rng.integers(1, 4))
    n_rows = int(rng.integers(n_columns, 8))
    if kind == "wide":
        n_columns = n_rows + int(rng.integers(1, 3))
    known = {"sparse": kind == "sparse", "weight": _extreme_weights(rng, n_rows)}
    X, tests = _extreme_rows(rng, (n_rows, n_columns)), _extreme_rows(rng, (3, n_columns))
    if rng.random() < 0.5:
        tests[:2] = X[rng.integers(n_rows, size=2)]
    if kind == "kernel":
        known |= {"kind": "kernel-ridge", "kernel": {"kernel": "precomputed"}}
        X = _extreme_kernel(rng, X)
        tests = X[rng.integers(n_rows, size=3)] * rng.choice([1.0, 0.5, 1e-30], size=(3, 1))
    elif kind == "smoother":
        known |= {"kind": "smoother", "weight": None}
        X, tests = np.zeros((n_rows, n_rows)), np.array([_extreme(rng, n_rows) for _ in range(3)])
    known["alpha"] = _alpha(rng) if rng.random() < 0.6 else float(_any_size(rng, 1)[0])
    if rng.random() < 0.3:
        return _with_question(rng, family, seed, X, tests, **known)
    known["targets"] = _extreme(rng, n_rows) if rng.random() < 0.5 else rng.normal(size=n_rows)
    known["radius"] = float(_any_size(rng, 1)[0])
    known |= {"lower": -_any_size(rng, n_rows), "upper": _any_size(rng, n_rows)}
    if rng.random() < 0.7:
        known |= _offsets(rng, n_rows, float(_any_size(rng, 1)[0]) * (rng.random() < 0.8))
    if (
        rng.random() < 0.5 and kind != "smoother"
    ):  # what weighs next to nothing has the largest label
        light = known["weight"] < known["weight"].max() * 1e-9
        known["targets"] = np.where(light, rng.choice([-1e308, 1e308], size=n_rows), 0.0)
        known |= _offsets(rng, n_rows, 1e-200)
    problem = _with_question(rng, family, seed, X, tests, **known)
    return _at_a_tie(rng, problem) if rng.random() < 0.3 else problem


def balanced(rng, family, seed):
    """Classifiers of all other families, deciding at the mean of their labels."""
    while True:
        other = str(rng.choice([name for name in FAMILIES if name not in ("balanced", "long")]))
        problem = make(other, int(rng.integers(10**6)))
        if problem.radius is None:
            return dataclasses.replace(problem, family=family, seed=seed, balanced=True)


FAMILIES = {
    "ordinary": (ordinary, 700),
    "many-rows": (many_rows, 100),
    "long": (long, 20),
    "near-ties": (near_ties, 800),
    "integers": (integers, 600),
    "decimals": (decimals, 300),
    "collinear": (collinear, 400),
    "hilbert": (hilbert, 250),
    "rank-deficient": (rank_deficient, 450),
    "scales": (scales, 400),
    "subnormal": (subnormal, 200),
    "tiny": (tiny, 250),
    "duplicates": (duplicates, 200),
    "sparse": (sparse_input, 250),
    "large-means": (large_means, 250),
    "kernels": (kernels, 300),
    "smoothers": (smoothers, 250),
    "all-weights": (all_weights, 300),
    "balanced": (balanced, 400),
}


def make(family, seed):
    """Problem number `seed` of a family, always the same."""
    build, _ = FAMILIES[family]
    return build(np.random.default_rng([*family.encode(), seed]), family, seed)
