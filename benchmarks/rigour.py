"""What proofs cost: the same certificates with every error bound taken out."""

import contextlib
from collections.abc import Iterator
from unittest import mock

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from benchmarks.approximation import compas
from benchmarks.problems import Problem, gaussian, income
from benchmarks.timing import Line, at_most, interleaved
from unswayed import CertifiedClassifier, LabelBias, Verdict
from unswayed.engines.protocol import Precision
from unswayed.models.ridge.verified import VerifiedInverse, _invert

_MOST = 1.25


@contextlib.contextmanager
def without_rigour() -> Iterator[None]:
    """No refinement, no residuals, no norms, no errors: plain products and selection."""

    def invert(self, matrix, error):
        self.inverse, self.proven, self._matrix = _invert(matrix), True, None
        self.norm = self.bound = self.residual = self._left = 0.0

    def solve(self, right, sizes):
        return right @ self.inverse, np.zeros(len(right))

    def errors(self, off, size, budget):
        return np.zeros(1)

    def nothing(self, *rows):
        return np.zeros(1)

    def no_norms(rows):
        return np.zeros(rows.shape[0])

    with (
        mock.patch.object(VerifiedInverse, "__init__", invert),
        mock.patch.object(VerifiedInverse, "solve", solve),
        mock.patch.object(VerifiedInverse, "solution_norms", nothing),
        mock.patch.object(Precision, "errors", errors),
        mock.patch("unswayed.models.ridge.learners.row_norms", no_norms),
        mock.patch("unswayed.models.ridge.learners.padded", lambda sizes: sizes),
        mock.patch("unswayed.models.kernel.row_norms", no_norms),
        mock.patch("unswayed.models.kernel.padded", lambda sizes: sizes),
    ):
        yield


def _plainly(work):
    def run():
        with without_rigour():
            work()

    return run


def _compared(
    name: str, model: CertifiedClassifier, X: np.ndarray, tests: np.ndarray
) -> Iterator[Line]:
    labels = np.where(model.fitted_.targets > 0, *model.classes_[::-1])
    asked = {
        "certify": lambda: model.certify(tests, method="exact"),
        "minimum_budget": lambda: model.minimum_budget(tests),
        "fit and certify": lambda: clone(model).fit(X, labels).certify(tests, method="exact"),
    }
    for what, work in asked.items():
        rounds = 30 if "fit" in what else 15  # longer runs meet more noise
        best = interleaved({"proven": work, "plain": _plainly(work)}, rounds=rounds)
        yield at_most(
            f"{name}: {what} with proofs / without", best["proven"] / best["plain"], _MOST
        )


def _kernel() -> tuple[CertifiedClassifier, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 20))
    y = X[:, 0] + rng.normal(size=1500) > 0
    model = CertifiedClassifier(KernelRidge(kernel="rbf"), bias=LabelBias.flips(budget=0.01))
    return model.fit(X, y), X, rng.normal(size=(500, 20))


def _undecided(problem: Problem) -> Iterator[Line]:
    """Shares of rows that rounding leaves open, the worst of four budgets."""
    shares, after = [], 0
    for budget in (0.0025, 0.01, 0.02, 0.05):
        model = problem.fit(budget)
        shares.append(100 * np.mean(model.certify(problem.tests).verdict == Verdict.UNDECIDED))
        shares.append(100 * np.mean(~model.minimum_budgets(problem.tests).proven))
        resolved = model.certify(problem.tests, resolve="exact").verdict
        after += int(np.sum(resolved == Verdict.UNDECIDED))
    yield at_most(f"{problem.name}: undecided, or budgets not proven", max(shares), 0.1, "%")
    yield at_most(f"{problem.name}: undecided after resolve", after, 0, "rows")


def lines() -> Iterator[Line]:
    problems: tuple[Problem, ...] = (income(), gaussian())
    for problem in problems:
        yield from _compared(problem.name, problem.fit(), problem.X, problem.tests)
    yield from _compared("Kernel ridge, n = 1,500", *_kernel())
    for real in (problems[0], compas()):
        if real is not None:
            yield from _undecided(real)
