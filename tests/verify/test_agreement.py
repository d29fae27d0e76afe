"""Engine and checker on hard problems: whatever the engine claims, the checker proves."""

import warnings

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from tests.effort import some
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed.margins.decisions import Sign
from unswayed.verify import verify

SHAPES = ("smooth", "whole", "Hilbert", "scaled", "equal", "collinear")


def features(rng, shape, n_rows, width, n_tests):
    rows = rng.normal(size=(n_rows + n_tests, width))
    if shape == "whole":
        rows = np.round(rows)
    elif shape == "Hilbert":
        rows = 1 / (np.arange(n_rows + n_tests)[:, None] + np.arange(width) + 1.0)
    elif shape == "scaled":
        rows = rows * 10.0 ** rng.integers(-150, 150, width)
    elif shape == "equal":
        rows = rows[rng.integers(0, 3, n_rows + n_tests)]
    elif shape == "collinear":
        rows[:, -1] = 3 * rows[:, 0]
    return rows[:n_rows], rows[n_rows:]


def certificates(rng, shape, kind):
    n_rows, width = int(rng.integers(3, 12)), int(rng.integers(1, 7))
    X, tests = features(rng, shape, n_rows, width, 4)
    alpha, budget = float(rng.choice([0.0, 1e-8, 0.5, 100.0])), int(rng.integers(0, n_rows + 2))
    plain = LinearRegression() if alpha == 0 else Ridge(alpha=alpha, fit_intercept=budget % 2 == 0)
    weight = rng.choice([0.1, 1.0, 2.0], n_rows) if rng.random() < 0.3 else None
    scale = 10.0 ** rng.choice([0, 0, -150, 100])
    y = np.round(2 * rng.normal(size=n_rows)) * scale
    offsets = -rng.choice([0, 0.5, 1e-160], n_rows) * scale, rng.choice([0, 0.5, 2], n_rows) * scale
    bias = LabelBias.intervals(*offsets, budget=budget)
    resolve = rng.choice([None, "exact"])
    if kind in ("classes", "signed"):
        estimator = plain if kind == "classes" else RidgeClassifier(alpha=alpha + 0.5)
        labels = np.arange(n_rows) % 2
        model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=budget))
        model.set_params(trust="sample_weight")  # of few rows, any may be one per class
        return model.fit(X, labels, sample_weight=weight).certify(tests, resolve=resolve)
    estimator = plain
    if kind == "kernel":
        estimator, weight = KernelRidge(kernel=rng.choice(["rbf", "linear"]), alpha=alpha), None
    radius = float(rng.choice([0.0, 0.5, 1.0]) * scale)
    model = CertifiedRegressor(estimator, bias=bias, radius=radius, trust="sample_weight")
    model.fit(X, y, sample_weight=weight)
    if kind == "coefficients":
        return model.certify_coefficients(resolve=resolve)
    if kind == "contrasts":
        contrasts = rng.integers(-1, 2, (3, width)) * rng.choice([1.0, 0.1, 7.0])
        contrasts[:, 0] += 2
        return model.certify_coefficients(contrasts=contrasts, resolve=resolve)
    if kind == "intercept":
        return model.certify(np.vstack((tests, 0 * tests[:1])), resolve=resolve, decision=Sign())
    return model.certify(tests, resolve=resolve)


@pytest.mark.parametrize(
    "kind", ["classes", "signed", "numbers", "coefficients", "contrasts", "intercept", "kernel"]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_the_engine_claims_is_proven(tmp_path, shape, kind):
    pytest.importorskip("flint")
    rng = np.random.default_rng([SHAPES.index(shape), len(kind)])
    for _ in range(some(2, 12)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wrapped estimators' own troubles
            certs = certificates(rng, shape, kind)
        certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
        assert verify(tmp_path / "c.json", data=tmp_path / "c.npz").rejected == {}
