"""Candidates of RidgeCV that wrong labels cannot make it choose, on COMPAS.

``python -m benchmarks.candidates --data DIR`` prints, for two grids at 0.5 % of the labels, which
alphas are ruled out by proof, how many others were seen to be chosen by some labels within the
budget, and the verdicts of the test rows. Of the grid of scikit-learn's user guide, 60 % are to be
ruled out.

``python -m benchmarks.candidates --data DIR --files`` compares ``unswayed certify`` with ``--alpha
auto`` and ``--alpha search`` on 5,000 training rows of COMPAS and Income: processor time, verdicts
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import load_compas, load_income

GRIDS = {
    "np.logspace(-6, 6, 13)": np.logspace(-6, 6, 13),
    "np.logspace(-2, 4, 25)": np.logspace(-2, 4, 25),
}
TRAINING = 0.9  # of the rows
ROUNDS = 8  # of linearising again where the last label set led
EVERY = 4  # of the candidates is compared with


def slope(square, moved):
    """How the squared error of a candidate changes with each label, after labels were moved."""
    right, across = square.right.T @ moved, square.across.T @ moved
    curved = square.right @ (square.inner @ right - across) - square.across @ right
    return square.slope + 2 * (square.own * moved + curved)


def reached(model, features, labels):
    """Candidates that RidgeCV itself chooses for some label sets within the budget.

    Label sets are found by first order, for one candidate against another, again and again.
    """
    engine = model.fitted_.engine
    squares, many = engine.contest.squares, int(engine.bias.budget.most_labels)
    change, found = engine.bias.lower + engine.bias.upper, set()
    for at, one in enumerate(squares):
        for other in squares[at % EVERY :: EVERY]:
            moved, seen = np.zeros(len(labels)), set()
            for _ in range(ROUNDS * (one is not other)):
                effect = (slope(one, moved) - slope(other, moved)) * change
                best = np.argsort(effect, kind="stable")[:many]
                moved = np.zeros(len(labels))
                moved[best] = change[best]
                if best.tobytes() in seen:
                    break
                seen.add(best.tobytes())
            found.add(float(RidgeCV(model.estimator.alphas).fit(features, labels + moved).alpha_))
    return sorted(found)


def from_files(home):
    """Compare both ways to choose alpha on the command line."""
    for load in (load_compas, load_income):
        found = load(data_home=home)
        frame = pd.DataFrame(found.data).assign(label=np.asarray(found.target))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            frame.sample(5600, random_state=0).to_csv(path, index=False)
            for alpha in ("auto", "search"):
                asked = [str(path), "--label", "label", "--budget", "1%", "--holdout", "600"]
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                done = subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "unswayed",
                        "certify",
                        *asked,
                        "--alpha",
                        alpha,
                        "--json",
                    ],
                    capture_output=True,
                    check=True,
                )
                elapsed = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                facts = json.loads(done.stdout)
                main = facts["budgets"][0]
                print(
                    f"{load.__name__} --alpha {alpha}: {elapsed:.1f} s of processor time, "
                    f"{main['robust']} of 600 robust, {main['undecided']} undecided"
                )
                print(f"  {facts['alpha_choice']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--files", action="store_true")
    given = parser.parse_args()
    if given.files:
        from_files(given.data)
        return
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
        seen = reached(model, X[train], y[train])
        print(f"  seen to be chosen, by refits: {len(seen)} of {len(out)}")
        verdicts, counts = np.unique(certs.verdict.astype(str), return_counts=True)
        print("  " + ", ".join(f"{n} {v}" for v, n in zip(verdicts, counts, strict=True)))


if __name__ == "__main__":
    main()
