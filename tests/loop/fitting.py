"""``fit`` and everything before it, repeated on changed labels: pipelines, weights, kernels."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.class_weight import compute_sample_weight

from tests.loop.command import HAIR, Tally
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, NotLinearError

CLASSES = [(0, 1), ("a", "b"), (-1, 1), (False, True)]
STEPS = [
    StandardScaler,
    lambda: PolynomialFeatures(2),
    lambda: PCA(2, random_state=0),
    lambda: SplineTransformer(n_knots=4),
    lambda: QuantileTransformer(n_quantiles=10, random_state=0),
    lambda: KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    lambda: Nystroem(n_components=8, random_state=0),
    lambda: RBFSampler(n_components=8, random_state=0),
    lambda: FeatureUnion([("scaled", StandardScaler()), ("bins", PCA(2, random_state=0))]),
]


def by_features(X, labels):
    return 1 / (1 + np.abs(X[:, 0]))


def by_stratum(X, labels):
    return np.where(X[:, 0] > 0, 2.5, 1.0)


def balanced(X, labels):
    """As many people weigh their classes: made of labels, and to be refused."""
    return compute_sample_weight("balanced", labels)


def independent(X, labels):
    """Weights that make a group and the labels independent: made of labels too."""
    group = X[:, 0] > 0
    return np.array(
        [
            np.mean(group == g) * np.mean(labels == y) / np.mean((group == g) & (labels == y))
            for g, y in zip(group, labels, strict=True)
        ]
    )


WEIGHTS = [by_features, by_stratum, balanced, independent]


class Fitting:
    """One model, its labels and its bias, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng([seed, 2])
        self.seed = seed
        n_rows, n_columns = int(rng.integers(8, 80)), int(rng.integers(2, 6))
        self.X = rng.normal(size=(n_rows, n_columns)) * rng.choice([1, 1, 100], n_columns)
        self.T = rng.normal(size=(12, n_columns))
        merit = self.X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
        self.regression = rng.random() < 0.4
        self.classes = CLASSES[rng.integers(len(CLASSES))]
        above = merit > np.median(merit)
        self.y = merit if self.regression else np.array(self.classes)[above.astype(int)]
        draw = np.random.default_rng([seed, 3])
        self.weighing = WEIGHTS[draw.integers(len(WEIGHTS))] if draw.random() < 0.5 else None
        self.estimator = self._estimator()
        self.bias = self._bias(n_rows)
        self.radius = float(rng.uniform(0.02, 0.5))

    def _estimator(self):
        rng = self.rng
        alpha = float(rng.choice([0.01, 1, 30]))
        finals = [Ridge(alpha), Ridge(alpha, fit_intercept=False), LinearRegression()]
        finals += [KernelRidge(alpha=alpha, kernel="rbf", gamma=0.1)]
        finals += [KernelRidge(alpha=alpha, kernel="linear")]
        finals += [] if self.regression else [RidgeClassifier(alpha)]
        final = finals[rng.integers(len(finals))]
        many = int(rng.integers(0, 3))
        if not many:
            return final
        return make_pipeline(*(STEPS[at]() for at in rng.integers(0, len(STEPS), many)), final)

    def _bias(self, n_rows):
        """A bias, and in `low` and `high` how far it lets each label move (classes: 0 or 1)."""
        rng = self.rng
        where = np.ones(n_rows, bool) if rng.random() < 0.6 else rng.random(n_rows) < 0.5
        direction = None if rng.random() < 0.6 else str(rng.choice(["up", "down"]))
        budget = [int(rng.integers(0, 6)), float(rng.uniform(0.01, 0.2))][rng.integers(2)]
        asked = {"budget": budget, "where": where, "direction": direction}
        size = float(rng.uniform(0.05, 2)) if self.regression else 1.0
        self.low = np.where(where & (direction != "up"), -size, 0.0)
        self.high = np.where(where & (direction != "down"), size, 0.0)
        if self.regression:
            return LabelBias.shifts(size, **asked)
        positive = self.y == np.array(self.classes)[1]
        self.low, self.high = self.low * positive, self.high * ~positive
        return LabelBias.flips(**asked)

    def __str__(self):
        how = None if self.weighing is None else self.weighing.__name__
        return f"seed {self.seed}: {self.estimator}, {self.bias}, weighted: {how}"

    def fit(self, labels):
        """Everything again: a fresh model, and weights of the labels as they are now."""
        model = (
            CertifiedRegressor(clone(self.estimator), bias=self.bias, radius=self.radius)
            if self.regression
            else CertifiedClassifier(clone(self.estimator), bias=self.bias)
        )
        weight = None if self.weighing is None else self.weighing(self.X, labels)
        return model.fit(self.X, labels, sample_weight=weight)

    def changed(self, moves):
        labels = self.y.copy()
        for row, label in moves.items():
            labels[row] = label
        return labels

    def moves(self, model, certs):
        """Changes within the bias: at random, and all but one label of a witness."""
        free = np.flatnonzero((self.low < 0) | (self.high > 0))
        if not len(free):
            return
        for _ in range(2):
            many = min(len(free), int(self.rng.integers(1, max(certs.budget, 3) + 1)))
            rows = self.rng.choice(free, many, replace=False).tolist()
            yield {row: self._moved(row) for row in rows}
        least = np.where(np.isfinite(certs.minimum_budget), certs.minimum_budget, 0)
        for at in np.flatnonzero(least >= 2)[:2].tolist():
            found = model.certify(self.T[at : at + 1], budget=len(self.y)).witness(0)
            if found is None:  # rounding hides whether there is one
                continue
            left_out = self.rng.integers(len(found.indices))
            kept = np.delete(np.arange(len(found.indices)), left_out)
            yield dict(
                zip(found.indices[kept].tolist(), np.asarray(found.labels)[kept], strict=True)
            )

    def _moved(self, row):
        low, high = self.low[row], self.high[row]
        if self.regression:
            return self.y[row] + self.rng.choice([low, high, self.rng.uniform(low, high)])
        return self.classes[int(self.y[row] == self.classes[0])]


def attack(seed: int) -> Tally:
    """Fit, certify, change labels within the bias, fit again, and compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _attack(Fitting(seed))


def _attack(fitting: Fitting) -> Tally:
    tally = Tally(questions=1)
    try:
        model = fitting.fit(fitting.y)
    except NotLinearError:
        tally.refused = 1
        return tally
    certs = model.certify(fitting.T)
    before = model.predict(fitting.T)
    for moves in fitting.moves(model, certs):
        labels = fitting.changed(moves)
        tally.runs += 1
        if not fitting.regression and len(set(labels.tolist())) < 2:
            tally.runs_refused += 1
            continue
        try:
            again = fitting.fit(labels)
        except NotLinearError:
            tally.runs_refused += 1
            continue
        kept = (certs.minimum_budget > len(moves)) | (certs.robust & (len(moves) <= certs.budget))
        after, score = again.predict(fitting.T), again.certify(fitting.T).score
        if fitting.regression:
            size = 1 + np.abs(before) + np.abs(after)
            moved = np.abs(after - before) > fitting.radius + HAIR * size
        else:
            moved = (after != before) & (np.abs(score - again.threshold_) > HAIR)
        tally.promises += int(kept.sum())
        tally.broken += [
            f"{fitting}\nrow {row}: {before[row]} became {after[row]} with {moves}"
            for row in np.flatnonzero(kept & moved)
        ]
    return tally
