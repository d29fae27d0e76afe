"""Label audits against their bars: false confirmations, checks on COMPAS, time on Income.

``python -m benchmarks.audit`` prints what docs/guide/audit.md tells; ``--audits 200`` takes less.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.problems import data_folder, income
from tests.evidence.audits import PROBLEMS, simulated
from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import load_compas

RISK = 0.05


def false_confirmations(audits):
    print(f"| {audits:,} audits, labels overturn a row | together | confirmed falsely | bar |")
    print("|---|---|---:|---:|")
    for name, problems in PROBLEMS.items():
        for kind, rows, together in problems:
            found = np.mean(simulated(kind, rows, together, audits))
            bar = RISK + 3 * np.sqrt(RISK * (1 - RISK) / audits)
            print(f"| {name} | {together} | {100 * found:.2f} % | {100 * bar:.2f} % |", flush=True)


def compas(seed=0):
    """A fold of 5,555 labels, and all other rows."""
    bunch = load_compas(data_home=data_folder())
    X, y = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:5555], order[5555:]
    model = CertifiedClassifier(Ridge(alpha=1), bias=LabelBias.flips(budget=1))
    return model.fit(X[train], y[train]), X[test], X[train], y[train]


def needed(audit, labels, share, among=None, batch=10, most=1500):
    """How many labels it takes until a share of some of the rows has enough evidence."""
    among = np.ones(len(audit.e_values), dtype=bool) if among is None else among
    while audit.reached[among].mean() < share:
        drawn = audit.draw(batch, aim=1.0)
        if not len(drawn) or audit.n_counted > most:
            return np.inf
        for row in drawn.tolist():
            audit.record([row], [labels[row]])
            if audit.reached[among].mean() >= share:
                break
    return audit.n_counted


def lists(model, rows, labels):
    """The rows that are confirmed soonest each by itself: half and three quarters of all."""
    alone = [
        needed(model.label_audit(row[None], seed=at), labels, 1.0) for at, row in enumerate(rows)
    ]
    order = np.argsort(alone, kind="stable")
    return alone, {"half": order[: len(rows) // 2], "three quarters": order[: 3 * len(rows) // 4]}


def checks(errors):
    model, rows, X, labels = compas()
    alone, chosen = lists(model, rows, labels)
    print(f"COMPAS, {len(labels):,} labels, none wrong: one row, median {np.median(alone):g} (40)")
    for (name, which), bar, bar_wrong in zip(chosen.items(), (220, 460), (320, 600), strict=True):
        audit = model.label_audit(rows[which], together="all")
        print(f"  {name} at once: {needed(audit, labels, 1.0)} ({bar})", flush=True)
        found, false = [], 0
        for seed in range(errors):
            rng = np.random.default_rng(seed)
            true = np.where(rng.random(len(labels)) < 0.01, 1 - labels, labels)
            refit = CertifiedClassifier(Ridge(alpha=1), bias=LabelBias.flips(budget=1)).fit(X, true)
            right = refit.predict(rows[which]) == model.predict(rows[which])
            audit = model.label_audit(rows[which], seed=seed)
            found.append(needed(audit, true, 0.95, right))
            false += int((audit.confirmed & ~right).sum())
        print(
            f"  {name}, 1 % wrong, 95 % of the confirmable rows: median {np.median(found):g}, most "
            f"{max(found):g} in {errors} draws ({bar_wrong}); confirmed falsely: {false}",
            flush=True,
        )
    audit, at = model.label_audit(rows), {}
    while audit.n_counted < 1000:
        drawn = audit.draw(25)
        audit.record(drawn, labels[drawn])
        at[audit.n_counted] = float(audit.confirmed.mean())
    shares = [f"{100 * at[n]:.0f} % after {n}" for n in (100, 200, 300, 500, 1000)]
    print("  all rows, no aim:", ", ".join(shares))


def speed():
    problem = income()
    model = problem.fit()
    audit = None
    for _ in range(2):  # the second: nothing is compiled or loaded any more
        start = time.perf_counter()
        audit = model.label_audit(problem.tests[:3000])
        audit.draw(100)
        took = time.perf_counter() - start
    start = time.perf_counter()
    audit.draw(100)
    again = time.perf_counter() - start
    print(f"Income, {len(problem.X):,} labels, 3,000 rows: 100 draws {took:.2f} s (2)")
    print(f"  100 more: {again:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--errors", type=int, default=10)
    asked = parser.parse_args()
    speed()
    checks(asked.errors)
    false_confirmations(asked.audits)


if __name__ == "__main__":
    main()
