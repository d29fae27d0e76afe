"""Which labels to check: what 60 checks bring, against random ones and those used in witnesses.

``python -m benchmarks.review --data DIR`` prints the table of docs/together.md: means over ten
folds of COMPAS and ten draws of two sets with continuous features, in points of the proven rate.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import Ridge

from reproduction.problems import ALPHAS, Data, fitted
from unswayed import CertifiedClassifier, LabelBias

LABELS = 60
TESTS = 400  # rows of the drawn sets that are asked about


def compas(home, fold):
    problem = Data(home).problem("COMPAS")
    train, test = problem.splits[fold]
    return fitted(problem, train, ALPHAS["COMPAS"][0]), problem.rows[test]


def gaussian(n_rows, n_features, seed):
    """Rows without ties, and labels that a line decides up to noise of its own size."""
    rng = np.random.default_rng(seed)
    slope = rng.standard_normal(n_features)
    X = rng.standard_normal((n_rows + TESTS, n_features))
    noise = np.linalg.norm(slope) * rng.standard_normal(len(X))
    y = (X @ slope + noise > 0).astype(int)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1))
    return model.fit(X[:n_rows], y[:n_rows]), X[n_rows:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the folder of the data sets")
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args()
    print("| data | robust before | 60 checks | random | most used in witnesses | s |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, make, share in (
        ("COMPAS, 1 %", lambda draw: compas(asked.data, draw), 0.01),
        ("Gaussian, 3,000 × 10, 1 %", lambda draw: gaussian(3000, 10, draw), 0.01),
        ("Gaussian, 800 × 6, 2 %", lambda draw: gaussian(800, 6, draw), 0.02),
    ):
        found = []
        for draw in range(asked.draws):
            model, rows = make(draw)
            start = time.perf_counter()
            plan = model.review_plan(rows, LABELS, budget=share)
            took = time.perf_counter() - start
            before, points = plan.robust_after[0], 100 / plan.n_rows
            ends = plan.robust_after, plan.baseline("random"), plan.baseline("witness")
            gains = [(end[-1] - before) * points for end in ends]
            found.append([before * points, *gains, took])
        before, gained, drawn, used, took = np.mean(found, axis=0)
        points = f"+{gained:.2f} | +{drawn:.2f} | +{used:.2f}"
        print(f"| {name} | {before:.1f} % | {points} | {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
