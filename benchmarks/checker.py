"""The checker: how long it takes to prove a file again, and how large files are."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.problems import (
    Problem,
    categories_and_numbers,
    data_folder,
    gaussian,
    income,
)
from benchmarks.timing import Line, at_most, note
from reproduction.problems import Data
from unswayed import CertifiedClassifier, LabelBias
from unswayed.verify import verify


def compas() -> Problem:
    """Fold 0 of COMPAS by the paper's conventions; rows of its shape where it is not at hand."""
    folder = data_folder()
    if folder is not None:
        problem = Data(folder).problem("COMPAS")
        train, test = problem.splits[0]
        rows, labels = problem.rows, problem.labels
        return Problem("COMPAS", rows[train], labels[train], rows[test], alpha=480.0)
    rng = np.random.default_rng(0)
    X = (rng.random((5554, 22)) < 0.2).astype(float)
    y = X @ rng.normal(size=22) + rng.normal(size=5554) > 0
    return Problem("COMPAS stand-in", X[:4936], y[:4936], X[4936:], alpha=480.0)


def measured(problem: Problem, n_tests: int | None = None) -> tuple[float, float, str]:
    """Seconds to verify, bytes per row, and what was verified."""
    model = CertifiedClassifier(Ridge(alpha=problem.alpha), bias=LabelBias.flips(budget=0.01))
    certs = model.fit(problem.X, problem.y).certify(problem.tests[:n_tests])
    with tempfile.TemporaryDirectory() as folder:
        path, data = Path(folder) / "c.json", Path(folder) / "c.npz"
        certs.save(path, data=data)
        started = time.perf_counter()
        report = verify(path, data=data)
        seconds = time.perf_counter() - started
        if report.rejected or report.proven + report.undecided != len(certs):
            raise AssertionError(f"claims were rejected: {report}")
        if report.by_exact_arithmetic:
            raise AssertionError(f"bounds left {report.by_exact_arithmetic} claims open")
        n_rows, n_columns = problem.X.shape
        what = f"{problem.name}, {n_rows:,} × {n_columns}, {len(certs):,} claims"
        return seconds, path.stat().st_size / len(certs), what


def lines() -> Iterator[Line]:
    seconds, size, what = measured(compas())
    yield at_most(f"verify: {what}", seconds, 1, "s")
    yield at_most(f"certificate file: {what}, per claim", size, 1000, "bytes")
    seconds, _, what = measured(income(), 100)
    yield note(f"verify: {what}", seconds, "s")
    seconds, _, what = measured(categories_and_numbers())
    yield at_most(f"verify: {what}", seconds, 60, "s")
    for n_rows, n_columns in ((1000, 10), (5000, 10), (1000, 30)):
        seconds, _, what = measured(gaussian(n_rows, n_columns, 100))
        yield note(f"verify: {what}", seconds, "s")
    seconds, _, what = measured(gaussian(1000, 60, 100))
    yield at_most(f"verify: {what}", seconds, 5, "s")


if __name__ == "__main__":
    for each in lines():
        print(each, flush=True)
