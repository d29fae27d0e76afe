"""Without a compiled kernel, models such as logistic regression get the same answers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed._core.kernels import kernel_names, using_kernel


def answers(model, X, y, tests):
    certs = model.fit(X, y).certify(tests)
    return certs, model.minimum_budgets(tests)


@pytest.mark.skipif(len(kernel_names()) < 2, reason="no compiled kernel to compare with")
@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_the_twin_certifies_what_the_kernel_certifies(kind):
    rng = np.random.default_rng(0)
    X, tests = rng.normal(size=(60, 2)), rng.normal(size=(20, 2))
    if kind == "logistic":
        y = X @ [1.0, -1.0] + rng.normal(size=60) > 0
        model = CertifiedClassifier(LogisticRegression(C=0.1), bias=LabelBias.flips(budget=3))
    else:
        y = rng.poisson(2.0, size=60).astype(float)
        bias = LabelBias.shifts(1, budget=2, clip=(0, None))
        model = CertifiedRegressor(PoissonRegressor(alpha=1.0, tol=1e-10), bias=bias, radius=0.04)
    certs, least = answers(model, X, y, tests)
    with using_kernel("numpy"):
        other, other_least = answers(model, X, y, tests)
    assert not certs.robust.all()
    assert (certs.verdict == other.verdict).all()
    np.testing.assert_allclose(certs.low, other.low, rtol=1e-9)
    np.testing.assert_allclose(certs.high, other.high, rtol=1e-9)
    np.testing.assert_array_equal(least.low, other_least.low)
    np.testing.assert_array_equal(least.high, other_least.high)
