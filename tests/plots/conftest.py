import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge

from unswayed import CertifiedClassifier, LabelBias


@pytest.fixture(autouse=True)
def drawn_in_memory():
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def rows():
    """Features of 60 training and 25 test rows, labels of both, and groups of the latter."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(85, 3))
    y = np.where(X @ [1.0, -0.5, 0.2] + rng.normal(0, 0.7, 85) > 0, "yes", "no")
    groups = rng.choice(["b", "a"], 25)
    return X[:60], y[:60], X[60:], y[60:], groups


@pytest.fixture(scope="session")
def model(rows):
    X, y, *_ = rows
    return CertifiedClassifier(Ridge(alpha=5), bias=LabelBias.flips(budget=3)).fit(X, y)


@pytest.fixture(scope="session")
def certs(model, rows):
    return model.certify(rows[2])
