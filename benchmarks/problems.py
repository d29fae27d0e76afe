"""What is measured: Income fold 0 by the paper's conventions, and Gaussian rows without ties."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, train_test_split

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import load_income

PROJECT = Path(__file__).resolve().parent.parent


def data_folder() -> Path | None:
    """The real data, where it is at hand: UNSWAYED_DATA, or `shared/data` beside the project."""
    for folder in (os.environ.get("UNSWAYED_DATA"), PROJECT.parent / "shared" / "data"):
        if folder and (Path(folder) / "acs2018").is_dir():
            return Path(folder)
    return None


@dataclass(frozen=True)
class Problem:
    name: str
    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray
    alpha: float

    def fit(self, budget: float = 0.01) -> CertifiedClassifier:
        estimator = Ridge(alpha=self.alpha, fit_intercept=False)
        return CertifiedClassifier(estimator, bias=LabelBias.flips(budget=budget)).fit(
            self.X, self.y
        )


def _fold_0(X: np.ndarray, y: np.ndarray, n_tests: int) -> tuple[np.ndarray, ...]:
    train, test = next(KFold(10, shuffle=True, random_state=42).split(X))
    train, _ = train_test_split(train, test_size=1 / 9, random_state=42)
    # The fold holds 3,269 test rows; the rest of the 10,000 come from the whole set.
    rest = np.random.default_rng(0).permutation(len(X))
    tests = np.concatenate((X[test], X[rest]))[:n_tests]
    return X[train], y[train], tests


def _stand_in(n_rows: int = 32_690) -> tuple[np.ndarray, np.ndarray]:
    """Income's shape: 42 binary columns that are one-hot blocks, few distinct rows."""
    rng = np.random.default_rng(0)
    blocks = []
    for size in (1, 1, 3, 4, 3, 3, 10, 6, 6, 5):
        share = 1.0 / np.arange(1, size + 2) ** 2
        choice = rng.choice(size + 1, size=n_rows, p=share / share.sum())
        blocks.append((choice[:, None] == np.arange(1, size + 1)).astype(float))
    X = np.hstack(blocks)
    return X, X @ rng.normal(size=X.shape[1]) + rng.normal(size=n_rows) > 0.5


def income(n_tests: int = 10_000) -> Problem:
    """Income, Wisconsin, fold 0, alpha 20; a synthetic stand-in where the data is absent."""
    folder = data_folder()
    if folder is None:
        (X, y), name = _stand_in(), "Income stand-in (the real data is not at hand)"
    else:
        bunch = load_income("WI", data_home=folder)
        X, y, name = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target), "Income"
    X = np.hstack((X, np.ones((len(X), 1))))
    X, y, tests = _fold_0(X, y.astype(float), n_tests)
    return Problem(name, X, y, tests, alpha=20.0)


def gaussian(n_rows: int = 26_153, n_columns: int = 43, n_tests: int = 2_000) -> Problem:
    """Rows that are all different: nothing to merge."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (0.2 * X @ rng.normal(size=n_columns) + rng.normal(size=n_rows) > 0).astype(float)
    return Problem("Gaussian", X, y, rng.normal(size=(n_tests, n_columns)), alpha=20.0)


def categories_and_numbers(n_rows: int = 32_000, n_tests: int = 3_000) -> Problem:
    """UCI Adult's shape: 102 columns of eight categories and six standardised numbers."""
    rng = np.random.default_rng(1)
    n, blocks = n_rows + n_tests, []
    for size in (9, 16, 7, 15, 6, 5, 2, 42):
        share = 1.0 / np.arange(1, size + 1)
        choice = rng.choice(size, size=n, p=share / share.sum())
        blocks.append((choice[:, None] == np.arange(size)).astype(float))
    numbers = np.round(rng.gamma(2.0, 20.0, size=(n, 6)))
    blocks.append((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))
    X = np.hstack(blocks)
    y = (0.4 * X @ rng.normal(size=X.shape[1]) + rng.normal(size=n) > 0.5).astype(float)
    return Problem("categories and numbers", X[:n_rows], y[:n_rows], X[n_rows:], alpha=1.0)
