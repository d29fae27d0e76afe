"""All rows at once, on COMPAS and Income: what one label set overturns, and gaps between groups.

``python -m benchmarks.together --data DIR`` prints the tables of docs/together.md. Every witness
is replayed by a refit; a range that is not closed shows what is proven and what is reached.
"""

import argparse
import time

import numpy as np

from reproduction.problems import ALPHAS, Data, fitted, ridge
from unswayed.datasets import load_income
from unswayed.labels.budgets import count_budget

COUNTS = (("COMPAS", 0.25, 30), ("COMPAS", 1.0, 170), ("Income", 0.25, 280))  # seconds
PERCENTS = {"COMPAS": (0.1, 0.25, 0.5, 1.0, 2.0), "Income": (0.01, 0.025, 0.05, 0.1, 0.25)}
SMALL = 100  # rows: smaller groups are left out of gaps


def part(data, name):
    """The first fold: problem, training rows, test rows, fitted model."""
    problem = data.problem(name)
    train, test = problem.splits[0]
    return problem, train, test, fitted(problem, train, ALPHAS[name][0])


def predictions(name, problem, train, test, witness):
    labels = problem.labels[train].copy()
    labels[witness.indices] = witness.labels
    return ridge(ALPHAS[name][0]).fit(problem.rows[train], labels).predict(problem.rows[test]) > 0.5


def counts(data, wanted):
    print(
        "| data | labels | fragile one at a time | Lagrangian | at most | at least | replayed | s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, percent, seconds in COUNTS:
        if name not in wanted:
            continue
        problem, train, test, model = part(data, name)
        budget = count_budget(percent / 100, len(train))
        start = time.perf_counter()
        found = model.certify_together(problem.rows[test], budget=budget, time_limit=seconds)
        took = time.perf_counter() - start
        none = type(found.witness)(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
        before, after = (
            predictions(name, problem, train, test, each) for each in (none, found.witness)
        )
        print(
            f"| {name}, {percent:g} % | {budget} | {found.fragile} | "
            f"{found.bounds.get('Lagrangian', '–')} | {found.at_most} | {found.at_least} | "
            f"{int((before != after).sum())} | {took:.0f} |",
            flush=True,
        )


def gaps(data, wanted, seconds):
    print("\n| data, groups | labels | gap | low | high | reached | s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, percents in PERCENTS.items():
        if name not in wanted:
            continue
        problem, train, test, model = part(data, name)
        groups = problem.race if name == "COMPAS" else load_income("WI", data_home=data.home).sex
        groups = groups[test]
        names, sizes = np.unique(groups, return_counts=True)
        kept = np.isin(groups, names[sizes >= SMALL])
        for percent in percents:
            budget = count_budget(percent / 100, len(train))
            start = time.perf_counter()
            found = model.certify_metric(
                problem.rows[test][kept],
                "demographic_parity_difference",
                groups=groups[kept],
                budget=budget,
                time_limit=seconds,
            )
            took = time.perf_counter() - start
            reached = f"{100 * found.inner_low:.1f} to {100 * found.inner_high:.1f}"
            print(
                f"| {name}, {percent:g} % | {budget} | {100 * found.value:.1f} | "
                f"{100 * found.low:.1f} | {100 * found.high:.1f} | "
                f"{'both' if found.proven else reached} | {took:.0f} |",
                flush=True,
            )


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", help="folder of the data sets")
    asked.add_argument("--only", choices=["COMPAS", "Income"], help="one data set")
    asked.add_argument("--seconds", type=float, default=120.0, help="limit for each gap")
    options = asked.parse_args()
    wanted = [options.only] if options.only else ["COMPAS", "Income"]
    data = Data(options.data)
    counts(data, wanted)
    gaps(data, wanted, options.seconds)


if __name__ == "__main__":
    main()
