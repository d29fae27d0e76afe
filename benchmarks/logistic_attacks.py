"""Attacks on rows of COMPAS and Income that are called robust under logistic regression.

``python -m benchmarks.logistic_attacks --data DIR`` prints, for every penalty and budget: rows that
are robust, overturned and undecided; how many label sets were tried on the robust ones (found
greedily for each distinct row by refits, and drawn at random for all rows) and how many promises
broke; and what certificates on changed labels say. Refits are this file's own; a break is refitted
in full.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from reproduction.problems import Data
from unswayed import CertifiedClassifier, LabelBias
from unswayed._core.influence import distinct_rows
from unswayed.labels.budgets import count_budget
from unswayed.results.certificates import Verdict

CASES = {
    ("COMPAS", 100.0): (0.25, 0.5, 1.0, 2.0),
    ("COMPAS", 10.0): (0.25, 0.5, 1.0, 2.0),
    ("COMPAS", 1.0): (0.1, 0.25, 0.5),
    ("Income", 1000.0): (0.25, 1.0, 2.0),
    ("Income", 10.0): (0.1, 0.25, 0.5),
}
"""Penalties, and percents of labels that may be wrong."""

ROUNDS = 3  # of linearising again where the last label set led
STAGES = 4  # in which a budget is also spent bit by bit
BATCH = 64  # label sets that are refitted together


@dataclass(frozen=True, eq=False)
class Fold:
    """The first fold of a data set, without its constant columns."""

    X: np.ndarray
    y: np.ndarray
    tests: np.ndarray

    @classmethod
    def of(cls, data, name):
        problem = data.problem(name)
        train, test = problem.splits[0]
        kept = (problem.rows != problem.rows[0]).any(axis=0)
        rows = np.ascontiguousarray(problem.rows[:, kept])
        return cls(rows[train], problem.labels[train], rows[test])


class Refits:
    """Refits on changed labels; equal rows with equal labels are counted together."""

    def __init__(self, fold, penalty):
        merged = np.column_stack((fold.X, fold.y)).astype(float)
        first, self.group = distinct_rows(merged)
        self.count = np.bincount(self.group).astype(float)
        self.labels = merged[first, -1]
        self.A = np.column_stack((fold.X[first], np.ones(len(first))))
        self.T = np.column_stack((fold.tests, np.ones(len(fold.tests))))
        self.ridge = np.full(self.A.shape[1], penalty)
        self.ridge[-1] = 0.0
        self.theta = self.newton(np.zeros(len(first)))
        self.inverse = np.linalg.inv(self.hessian(self.theta))

    def hessian(self, theta):
        mean = 1 / (1 + np.exp(-(self.A @ theta)))
        slope = self.count * mean * (1 - mean)
        return (self.A * slope[:, None]).T @ self.A + np.diag(self.ridge)

    def totals(self, flips):
        """Sums of labels after some of each kind of label were flipped."""
        return self.count * self.labels + flips * (1 - 2 * self.labels)

    def newton(self, flips, steps=60):
        """Parameters for one label set, in full."""
        theta, totals = np.zeros(self.A.shape[1]), self.totals(flips)
        for _ in range(steps):
            mean = 1 / (1 + np.exp(-(self.A @ theta)))
            gradient = self.A.T @ (self.count * mean - totals) + self.ridge * theta
            step = np.linalg.solve(self.hessian(theta), gradient)
            theta = theta - step
            if np.abs(step).max() < 1e-12:
                break
        return theta

    def quickly(self, flips, start, steps=25):
        """Parameters for several label sets at once, nearly: one matrix serves all."""
        theta, totals = start.copy(), self.totals(flips)
        for _ in range(steps):
            mean = 1 / (1 + np.exp(-(theta @ self.A.T)))
            gradient = (self.count * mean - totals) @ self.A + self.ridge * theta
            step = gradient @ self.inverse
            theta -= step
            if np.abs(step).max() < 1e-7:
                break
        return theta

    def influence(self, rows, theta):
        """What labels do to scores at given parameters: conjugate gradients, all rows at once."""
        mean = 1 / (1 + np.exp(-(theta @ self.A.T)))
        slope = self.count * mean * (1 - mean)
        found, left = np.zeros_like(theta), self.T[rows].copy()
        ready = left @ self.inverse
        way, size = ready.copy(), (left * ready).sum(axis=1)
        enough = 1e-12 * size
        for _ in range(50):
            image = (slope * (way @ self.A.T)) @ self.A + self.ridge * way
            step = np.where(size > enough, size / (way * image).sum(axis=1), 0.0)[:, None]
            found += step * way
            left -= step * image
            ready = left @ self.inverse
            size, before = (left * ready).sum(axis=1), size
            if (size <= enough).all():
                break
            way = ready + (size / before)[:, None] * way
        return found @ self.A.T

    def best(self, rows, signs, theta, budget):
        """Flips that move scores furthest to first order at given parameters."""
        gain = signs[:, None] * self.influence(rows, theta) * (1 - 2 * self.labels)
        order = np.argsort(-gain, axis=1)
        counts = np.where(np.take_along_axis(gain, order, axis=1) > 0, self.count[order], 0.0)
        before = np.cumsum(counts, axis=1) - counts
        found = np.zeros_like(gain)
        np.put_along_axis(found, order, np.clip(budget - before, 0.0, counts), axis=1)
        return found

    def greedy(self, rows, signs, budget):
        """Label sets against rows, one list of them: linearised again, and bit by bit."""
        theta = np.repeat(self.theta[None], len(rows), axis=0)
        for _ in range(ROUNDS):
            flips = self.best(rows, signs, theta, budget)
            theta = self.quickly(flips, theta)
            yield flips, theta
        theta = np.repeat(self.theta[None], len(rows), axis=0)
        for stage in range(1, STAGES + 1):
            flips = self.best(rows, signs, theta, max(1, budget * stage // STAGES))
            theta = self.quickly(flips, theta)
        yield flips, theta

    def drawn(self, rng, budget):
        """Flips of labels drawn at random: from all, of one direction, or of one feature's rows."""
        kind = rng.integers(3)
        weight = self.count.copy()
        if kind == 1:
            weight *= self.labels == rng.integers(2)
        if kind == 2:
            column = self.A[:, rng.integers(self.A.shape[1] - 1)]
            weight *= column > np.quantile(column, rng.random() * 0.9)
        members = np.repeat(np.arange(len(weight)), np.where(weight > 0, self.count, 0).astype(int))
        chosen = rng.permutation(members)[:budget]
        return np.bincount(chosen, minlength=len(weight)).astype(float)


def attacked(refits, robust, signs, budget, rng, n_random):
    """How many label sets were tried, and rows whose promise broke."""
    tried, suspects = 0, []
    for start in range(0, len(robust), BATCH):
        rows, way = robust[start : start + BATCH], signs[start : start + BATCH]
        for flips, theta in refits.greedy(rows, way, budget):
            scores = (refits.T[rows] * theta).sum(axis=1)
            tried += len(rows)
            hit = np.flatnonzero(~(scores * way < 1e-6))
            suspects += [(int(rows[at]), flips[at]) for at in hit]
    for _ in range(0, n_random, BATCH):
        flips = np.array([refits.drawn(rng, budget) for _ in range(BATCH)])
        theta = refits.quickly(flips, np.repeat(refits.theta[None], BATCH, axis=0))
        scores = theta @ refits.T[robust].T
        tried += BATCH
        hit = np.argwhere(~(scores * signs < 1e-6))
        suspects += [(int(robust[j]), flips[i]) for i, j in hit]
    broken = set()
    for row, flips in suspects:
        score = refits.T[row] @ refits.newton(flips)
        before = refits.T[row] @ refits.theta
        if (score > 0) != (before > 0) and row not in broken:
            broken.add(row)
            print(f"BROKEN: row {row}, score {before!r} -> {score!r}, {flips.sum():g} flips")
    return tried, broken


def certified(fold, penalty, budget, y=None):
    model = CertifiedClassifier(
        LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000, solver="newton-cholesky"),
        bias=LabelBias.flips(budget=budget),
    )
    return model.fit(fold.X, fold.y if y is None else y)


def rerun(fold, penalty, budget, certs, rng):
    """Contradictions between certificates of the labels, and of others within the budget."""
    some = rng.permutation(len(fold.y))[: int(rng.integers(1, budget + 1))]
    y = fold.y.copy()
    y[some] = 1 - y[some]
    other = certified(fold, penalty, budget, y)
    now = other.certify(fold.tests)
    differs = now.prediction != certs.prediction
    # Robust then, or robust now: either way the prediction of the other labels is the same.
    return int((differs & (certs.robust | now.robust)).sum()), int(now.robust.sum())


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", help="folder of the data sets")
    asked.add_argument("--only", choices=["COMPAS", "Income"], help="one data set")
    asked.add_argument("--penalty", type=float, help="one penalty")
    asked.add_argument("--percents", type=float, nargs="*", help="some of the budgets")
    asked.add_argument("--rows", type=int, help="attack so many robust rows at most, greedily")
    asked.add_argument("--random", type=int, default=1024, help="label sets drawn at random")
    asked.add_argument("--effort", type=int, default=1, help="of the certificates")
    asked.add_argument("--reruns", type=int, default=2, help="certificates on changed labels")
    options = asked.parse_args()
    print(
        "| data, λ | budget | robust | overturned | undecided | s | label sets | broken | "
        "reruns: contradictions |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    data, total = Data(options.data), 0
    for (name, penalty), percents in CASES.items():
        if options.only not in (None, name) or options.penalty not in (None, penalty):
            continue
        fold = Fold.of(data, name)
        refits = Refits(fold, penalty)
        for percent in options.percents or percents:
            rng = np.random.default_rng(0)
            budget = count_budget(percent / 100, len(fold.y))
            start = time.perf_counter()
            certs = certified(fold, penalty, budget).certify(fold.tests, effort=options.effort)
            took = time.perf_counter() - start
            share = [100 * np.mean(certs.verdict == verdict) for verdict in Verdict]
            named = dict(zip(Verdict, share, strict=True))
            robust = np.flatnonzero(certs.robust)
            _, first = np.unique(fold.tests[robust], axis=0, return_index=True)
            robust = robust[np.sort(first)]
            if options.rows is not None:
                robust = rng.permutation(robust)[: options.rows]
            signs = np.where(refits.T[robust] @ refits.theta > 0, -1.0, 1.0)
            tried, broken = attacked(refits, robust, signs, budget, rng, options.random)
            reruns = [rerun(fold, penalty, budget, certs, rng) for _ in range(options.reruns)]
            contradictions = sum(found for found, _ in reruns)
            total += len(broken) + contradictions
            print(
                f"| {name}, {penalty:g} | {percent:g} % = {budget} | "
                f"{named[Verdict.ROBUST]:.1f} | {named[Verdict.NOT_ROBUST]:.1f} | "
                f"{named[Verdict.UNDECIDED]:.1f} | {took:.1f} | {tried} | {len(broken)} | "
                f"{len(reruns)}: {contradictions} |",
                flush=True,
            )
    print(f"\n{total} broken promises")
    raise SystemExit(int(total > 0))


if __name__ == "__main__":
    main()
