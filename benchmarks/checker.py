"""The checker: how long it takes to prove a file again, with how much memory, and sizes of files.

Seconds are of the processor, which the first line names: on a busy machine they stay what they are.
"""

import platform
import subprocess
import sys
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


MEMORY = """
import resource, sys
from unswayed.verify import verify
verify(sys.argv[1], data=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def processor() -> str:
    """The name of the processor, as well as the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    return text.partition("model name")[2].partition(":")[2].partition("\n")[0].strip()


def measured(problem: Problem, n_tests: int | None = None) -> tuple[float, float, float, str]:
    """Seconds to verify, GB of memory for that, bytes per row, and what was verified."""
    model = CertifiedClassifier(Ridge(alpha=problem.alpha), bias=LabelBias.flips(budget=0.01))
    certs = model.fit(problem.X, problem.y).certify(problem.tests[:n_tests])
    with tempfile.TemporaryDirectory() as folder:
        path, data = Path(folder) / "c.json", Path(folder) / "c.npz"
        certs.save(path, data=data)
        started = time.process_time()
        report = verify(path, data=data)
        seconds = time.process_time() - started
        if report.rejected or report.proven + report.undecided != len(certs):
            raise AssertionError(f"claims were rejected: {report}")
        if report.by_exact_arithmetic:
            raise AssertionError(f"bounds left {report.by_exact_arithmetic} claims open")
        alone = [sys.executable, "-c", MEMORY, str(path), str(data)]
        peak = subprocess.run(alone, capture_output=True, text=True, check=True).stdout
        n_rows, n_columns = problem.X.shape
        what = f"{problem.name}, {n_rows:,} × {n_columns}, {len(certs):,} claims"
        return seconds, int(peak) / 1e6, path.stat().st_size / len(certs), what


def lines() -> Iterator[Line]:
    seconds, _, size, what = measured(compas())
    yield at_most(f"verify: {what}", seconds, 0.3, "s")
    yield at_most(f"certificate file: {what}, per claim", size, 1000, "bytes")
    seconds, _, _, what = measured(income(), 100)
    yield note(f"verify: {what}", seconds, "s")
    seconds, memory, _, what = measured(categories_and_numbers())
    yield at_most(f"verify: {what}", seconds, 15, "s")
    yield at_most(f"verify: {what}", memory, 0.9, "GB")
    for n_rows, n_columns in ((1000, 10), (5000, 10), (1000, 30)):
        seconds, _, _, what = measured(gaussian(n_rows, n_columns, 100))
        yield note(f"verify: {what}", seconds, "s")
    seconds, _, _, what = measured(gaussian(1000, 60, 100))
    yield at_most(f"verify: {what}", seconds, 5, "s")


if __name__ == "__main__":
    print(processor())
    for each in lines():
        print(each, flush=True)
