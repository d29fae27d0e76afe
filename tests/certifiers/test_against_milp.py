"""Mid-sized problems against an integer programme that knows nothing of influence rows."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.linear_model import Ridge

from unswayed import CertifiedRegressor, LabelBias


def highest_score(X, y, test, lower, upper, budget, alpha):
    """Maximise the prediction over slopes, label changes and the choice of changed labels.

    Variables: slope (m), change (n), chosen (n, binary). The slope is tied to the labels by the
    normal equations, so that no inverse is formed.
    """
    n, m = X.shape
    zeros = np.zeros
    normal = np.hstack((X.T @ X + alpha * np.eye(m), -X.T, zeros((m, n))))
    above = np.hstack((zeros((n, m)), -np.eye(n), np.diag(lower)))  # lower*chosen <= change
    below = np.hstack((zeros((n, m)), np.eye(n), -np.diag(upper)))  # change <= upper*chosen
    count = np.concatenate((zeros(m + n), np.ones(n)))[None, :]
    solution = milp(
        -np.concatenate((test, zeros(2 * n))),
        constraints=[
            LinearConstraint(normal, X.T @ y, X.T @ y),
            LinearConstraint(above, -np.inf, 0),
            LinearConstraint(below, -np.inf, 0),
            LinearConstraint(count, 0, budget),
        ],
        integrality=np.concatenate((zeros(m + n), np.ones(n))),
        bounds=Bounds(
            np.concatenate((np.full(m + n, -np.inf), zeros(n))),
            np.concatenate((np.full(m + n, np.inf), np.ones(n))),
        ),
    )
    assert solution.success, solution.message
    return -solution.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [1, 5, 20])
def test_ranges_equal_the_integer_programmes(seed, budget):
    rng = np.random.default_rng(seed)
    n, m, alpha = 60, 4, 0.7
    X = rng.normal(size=(n, m)).round(1)
    y = X @ rng.normal(size=m) + rng.normal(size=n)
    lower = -rng.random(n) * (rng.random(n) < 0.8)
    upper = rng.random(n) * (rng.random(n) < 0.8)
    test = rng.normal(size=m)
    model = CertifiedRegressor(
        Ridge(alpha=alpha, fit_intercept=False),
        bias=LabelBias.intervals(lower, upper, budget=budget),
        radius=1,
    ).fit(X, y)
    certs = model.certify(test[None, :])
    high = highest_score(X, y, test, lower, upper, budget, alpha)
    low = -highest_score(X, -y, test, -upper, -lower, budget, alpha)
    assert certs.high[0] == pytest.approx(high, rel=1e-6, abs=1e-6)
    assert certs.low[0] == pytest.approx(low, rel=1e-6, abs=1e-6)
