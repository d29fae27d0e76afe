"""Random errors: Chernoff bounds against `minimum_budget`, and COMPAS against simulation."""

import time
from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from benchmarks.problems import data_folder, income
from benchmarks.timing import Line, at_most, interleaved, note
from unswayed import CertifiedClassifier, LabelBias, LabelNoise
from unswayed.datasets import load_compas

DRAWS, CONFIDENCE = 10_000, 1 - 1e-6  # of hundreds of rows, none is beyond its interval by chance


def _speed() -> Iterator[Line]:
    problem = income()
    model = problem.fit()
    noise = LabelNoise(0.05)
    took = interleaved(
        {
            "minimum_budget": lambda: model.minimum_budget(problem.tests),
            "chernoff": lambda: model.overturn_probability(problem.tests, noise),
        },
        9,
        time.process_time,
    )
    name = f"{problem.name}, {len(problem.tests):,} rows"
    yield note(f"{name}: minimum_budget, processor time", took["minimum_budget"], "s")
    ratio = took["chernoff"] / took["minimum_budget"]
    yield at_most(f"{name}: Chernoff bounds against it", ratio, 10)


def _changed(X: np.ndarray, y: np.ndarray, tests: np.ndarray, rate: float) -> np.ndarray:
    """How often each prediction changes when labels are flipped at random."""
    influence = tests @ np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T)
    before, rng, step = influence @ y > 0.5, np.random.default_rng(0), 500
    changed = np.zeros(len(tests), dtype=int)
    for _ in range(0, DRAWS, step):
        wrong = rng.random((step, len(y))) < rate
        after = influence @ np.where(wrong, 1.0 - y, y).T > 0.5
        changed += (after != before[:, None]).sum(axis=1)
    return changed


def _compas() -> Iterator[Line]:
    bunch = load_compas(data_home=data_folder())
    X = np.column_stack((np.asarray(bunch.data, dtype=float), np.ones(len(bunch.target))))
    y = np.asarray(bunch.target, dtype=float)
    train, test = next(KFold(10, shuffle=True, random_state=42).split(X))
    model = CertifiedClassifier(
        Ridge(alpha=1.0, fit_intercept=False), bias=LabelBias.flips(budget=0.01)
    ).fit(X[train], y[train])
    for rate in (0.01, 0.05, 0.1):
        quick, sharp = (
            model.overturn_probability(X[test], LabelNoise(rate), method=method)
            for method in ("chernoff", "convolution")
        )
        counts = _changed(X[train], y[train], X[test], rate).tolist()
        ends = [binomtest(count, DRAWS).proportion_ci(CONFIDENCE) for count in counts]
        low, high = np.array([(end.low, end.high) for end in ends]).T
        name = f"COMPAS, {len(test)} rows, {rate:.0%} wrong"
        for found in (quick, sharp):
            missed = int(((found.low > high) | (low > found.high)).sum())
            yield at_most(f"{name}, {found.method}: rows that simulation misses", missed, 0, "rows")
        likely = sharp.high > 1e-6
        with np.errstate(divide="ignore"):
            ratio = (sharp.high / sharp.low)[likely].max()
        yield at_most(f"{name}, convolution: high/low above 1e-6", float(ratio), 10)
        for found in (quick, sharp):
            share = 100 * found.share_below(1e-3)
            yield note(f"{name}, {found.method}: changes below one in a thousand", share, "%")


def lines() -> Iterator[Line]:
    yield from _speed()
    if data_folder() is not None:
        yield from _compas()


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
