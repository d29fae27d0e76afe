"""Box, sandwich and auto: how many rows they decide, and how their cost grows with n.

`python -m benchmarks.approximation` also writes docs/approximation.md and its pictures.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, train_test_split

from benchmarks.approximation_page import write_page
from benchmarks.problems import PROJECT, Problem, data_folder, income
from benchmarks.timing import Line, at_least, at_most, note
from unswayed import CertifiedClassifier, LabelBias, Verdict
from unswayed.datasets import load_compas

BUDGETS = (0.0025, 0.005, 0.01, 0.02, 0.03)
ALPHAS = {"Income": (20.0, 6000.0), "COMPAS": (480.0, 2000.0)}
BARS = {"Income": 0.90, "COMPAS": 0.95}
SIZES = (10**4, 10**5, 10**6, 10**7)


@dataclass(frozen=True)
class Precision:
    """Shares of test rows decided at one budget; exact decides all."""

    data: str
    alpha: float
    budget: float
    robust: float
    box: float
    sandwich: float
    differences: int
    evaluations: int


@dataclass(frozen=True)
class Growth:
    """Microseconds per test row at one number of training rows."""

    n_rows: int
    exact: float
    box: float
    auto_cold: float
    auto_warm: float
    auto_fresh: float
    exact_rows_warm: int
    exact_rows_fresh: int


def compas() -> Problem | None:
    """COMPAS, fold 0, by the paper's conventions."""
    folder = data_folder()
    if folder is None:
        return None
    bunch = load_compas(data_home=folder)
    X = np.hstack((np.asarray(bunch.data, dtype=float), np.ones((len(bunch.data), 1))))
    y = np.asarray(bunch.target, dtype=float)
    train, test = next(KFold(10, shuffle=True, random_state=42).split(X))
    train, _ = train_test_split(train, test_size=1 / 9, random_state=42)
    return Problem("COMPAS", X[train], y[train], X[test], alpha=480.0)


def _decided(certs) -> np.ndarray:
    return certs.verdict != Verdict.UNDECIDED


def measure_precision(problem: Problem, alpha: float, n_tests: int | None) -> Iterator[Precision]:
    estimator = Ridge(alpha=alpha, fit_intercept=False)
    model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=1)).fit(problem.X, problem.y)
    tests = problem.tests[:n_tests]
    for budget in BUDGETS:
        exact = model.certify(tests, budget=budget, method="exact")
        sandwich = model.sandwich(budget=budget)
        bounded = model.certify(tests, budget=budget, method=sandwich)
        decided = _decided(bounded)
        auto = model.certify(tests, budget=budget, method="auto")
        yield Precision(
            problem.name,
            alpha,
            budget,
            robust=exact.robustness_rate,
            box=float(_decided(model.certify(tests, budget=budget, method="box")).mean()),
            sandwich=float(decided.mean()),
            differences=int(
                (bounded.verdict[decided] != exact.verdict[decided]).sum()
                + (auto.verdict != exact.verdict).sum()
            ),
            evaluations=sandwich.evaluations,
        )


def _gaussian_rows(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in chunks: 10⁷ of them are 3 GB, and no second copy is wanted."""
    rng = np.random.default_rng(0)
    X, y = np.empty((n_rows, n_columns)), np.empty(n_rows, dtype=bool)
    slope = 0.2 * rng.normal(size=n_columns)
    for start in range(0, n_rows, 10**5):
        here = slice(start, min(start + 10**5, n_rows))
        X[here] = rng.normal(size=X[here].shape)
        y[here] = X[here] @ slope + rng.normal(size=len(X[here])) > 0
    return X, y


def _per_row(model: CertifiedClassifier, tests: np.ndarray, method: str):
    started = time.perf_counter()
    certs = model.certify(tests, method=method)
    return 1e6 * (time.perf_counter() - started) / len(tests), certs


def measure_growth(n_rows: int, n_columns: int = 40, n_tests: int = 2000) -> Growth:
    """2,000 test rows around 200 centres; auto cold, warm (the same rows again) and on others."""
    X, y = _gaussian_rows(n_rows, n_columns)
    # copy_X: the training rows are ours to lend, and a copy would be 3 GB.
    model = CertifiedClassifier(
        Ridge(fit_intercept=False, copy_X=False), bias=LabelBias.flips(budget=0.01)
    ).fit(X, y)
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(200, n_columns))

    def around_centres() -> np.ndarray:
        spread = 0.02 * rng.normal(size=(n_tests, n_columns))
        return centres[rng.integers(200, size=n_tests)] + spread

    tests, fresh = around_centres(), around_centres()
    some = tests[: min(n_tests, max(32, 2 * 10**7 // n_rows))]
    exact, certs = _per_row(model, some, "exact")
    box, _ = _per_row(model, tests, "box")
    cold, first = _per_row(model, tests, "auto")
    assert (first.verdict[: len(some)] == certs.verdict).all()
    warm, second = min((_per_row(model, tests, "auto") for _ in range(3)), key=lambda r: r[0])
    other, third = _per_row(model, fresh, "auto")
    return Growth(
        n_rows,
        exact,
        box,
        cold,
        warm,
        other,
        second.method_counts.get("exact", 0),
        third.method_counts.get("exact", 0),
    )


def precision() -> list[Precision]:
    found = []
    for problem, n_tests in ((income(), 3269), (compas(), None)):
        if problem is not None:
            for alpha in ALPHAS.get(problem.name, ALPHAS["Income"]):
                found += measure_precision(problem, alpha, n_tests)
    return found


def lines(
    precisions: list[Precision] | None = None, growths: list[Growth] | None = None
) -> Iterator[Line]:
    precisions = precision() if precisions is None else precisions
    for data, alpha in dict.fromkeys((p.data, p.alpha) for p in precisions):
        here = [p for p in precisions if (p.data, p.alpha) == (data, alpha)]
        what = f"{data} α={alpha:g}"
        share = float(np.mean([p.sandwich for p in here]))
        yield at_least(
            f"{what}: decided by the sandwich", 100 * share, 100 * BARS.get(data, 0), "%"
        )
        yield note(f"{what}: decided by the box", 100 * float(np.mean([p.box for p in here])), "%")
        differing = sum(p.differences for p in here)
        yield at_most(f"{what}: verdicts that differ from exact's", differing, 0, "rows")
        most = max(p.evaluations for p in here)
        yield at_most(f"{what}: exact evaluations to build a sandwich", most, 600, "")
    growths = [measure_growth(n) for n in SIZES[:3]] if growths is None else growths
    by_size = {g.n_rows: g for g in growths}
    million = by_size[10**6]
    yield at_least(
        "n = 10⁶: auto, times faster than exact (warm)", million.exact / million.auto_warm, 20
    )
    yield note(
        "n = 10⁶: the same on other rows around the centres",
        million.exact / million.auto_fresh,
        "×",
    )
    if 10**7 in by_size:
        ratio = by_size[10**7].auto_warm / by_size[10**5].auto_warm
        yield at_most("auto warm: time per row at n = 10⁷ / at n = 10⁵", ratio, 1.5)


def main() -> int:
    """Measure everything, keep it as JSON, and write the page from it."""
    precisions = precision()
    growths = []
    for n_rows in SIZES:
        growths.append(measure_growth(n_rows))
        print(growths[-1], flush=True)
    found = list(lines(precisions, growths))
    print(*found, sep="\n")
    figures = {
        "precision": [asdict(p) for p in precisions],
        "growth": [asdict(g) for g in growths],
    }
    target = PROJECT / "docs" / "approximation.json"
    target.write_text(json.dumps(figures, indent=1) + "\n")
    write_page(figures)
    return int(any(not line.ok for line in found))


if __name__ == "__main__":
    sys.exit(main())
