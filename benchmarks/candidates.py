"""Candidates of RidgeCV that wrong labels cannot make it choose, on COMPAS.

``python -m benchmarks.candidates --data DIR`` prints, for two grids at 0.5 % of the labels, which
alphas are ruled out by proof, how many others were seen to be chosen by some labels within the
budget, and the verdicts of the test rows. Of the grid of scikit-learn's user guide, 60 % are to be
ruled out.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import RidgeCV

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import load_compas

GRIDS = {
    "np.logspace(-6, 6, 13)": np.logspace(-6, 6, 13),
    "np.logspace(-2, 4, 25)": np.logspace(-2, 4, 25),
}
TRAINING = 0.9  # of the rows


def reached(model, features, labels):
    """Candidates that some label sets within the budget, found by first order, make it choose."""
    engine, found = model.fitted_.engine, set()
    count = engine.bias.budget.most_labels
    for at in range(len(engine.learner.parameters)):
        rows, added = engine.contest.towards(at, count)
        changed = labels.astype(float)
        changed[rows] += added
        found.add(float(RidgeCV(model.estimator.alphas).fit(features, changed).alpha_))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    given = parser.parse_args()
    compas = load_compas(data_home=given.data)
    X, y = compas.data.to_numpy(float), compas.target
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(TRAINING * len(y)) + 1])
    for name, alphas in GRIDS.items():
        bias = LabelBias.flips(budget=0.005)
        started = time.perf_counter()
        model = CertifiedClassifier(RidgeCV(alphas), bias=bias).fit(X[train], y[train])
        certs = model.certify(X[test])
        elapsed = time.perf_counter() - started
        out = ~certs.candidates.possible
        print(f"{name}: {out.sum()} of {len(out)} ruled out ({out.mean():.0%}), {elapsed:.0f} s")
        print(f"  {certs.candidates}")
        print(f"  seen to be chosen: {len(reached(model, X[train], y[train]))}")
        print(
            f"  {dict(zip(*np.unique(certs.verdict.astype(str), return_counts=True), strict=True))}"
        )


if __name__ == "__main__":
    main()
