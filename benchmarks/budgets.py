"""Budgets beyond a number of labels, against a number of labels, on Income.

``python -m benchmarks.budgets`` prints processor time as ratios, taken in turns within one run.
"""

import time
from functools import partial

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.problems import income
from benchmarks.timing import at_most, interleaved, note
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, Total

ROUNDS = 5
BARS = {"sum of three, by chance": 2.0, "sum of three groups": 2.0, "total": 1.5}


def main():
    problem = income(3_000)
    X, y, tests = problem.X, problem.y, problem.tests
    ridge = Ridge(alpha=problem.alpha, fit_intercept=False)
    third = np.arange(len(X)) % 3
    parts = [LabelBias.flips(budget=0.0033, where=third == at) for at in range(3)]
    groups = [  # groups that the features tell: fewer entries
        LabelBias.flips(budget=0.0033, where=mask)
        for mask in (X[:, 1] == 1, (X[:, 1] == 0) & (X[:, 2] == 1), (X[:, 1] + X[:, 2]) == 0)
    ]
    models = {
        "count": CertifiedClassifier(ridge, bias=LabelBias.flips(budget=0.01)),
        "sum of three, by chance": CertifiedClassifier(ridge, bias=sum(parts)),
        "sum of three groups": CertifiedClassifier(ridge, bias=sum(groups)),
        "the same, capped": CertifiedClassifier(ridge, bias=sum(groups).capped(0.005)),
        "clusters": CertifiedClassifier(
            ridge, bias=LabelBias.flips(budget=3, clusters=np.arange(len(X)) % 97)
        ),
    }
    shifted = {
        "count": LabelBias.shifts(0.5, budget=261),
        "total": LabelBias.shifts(0.5, budget=Total(130.3)),
    }
    numbers = {
        name: CertifiedRegressor(ridge, bias=bias, radius=0.1) for name, bias in shifted.items()
    }
    for title, group in (("flips", models), ("shifts", numbers)):
        for model in group.values():
            model.fit(X, y)
        for ask in ("certify", "minimum_budget"):
            works = {name: partial(getattr(model, ask), tests) for name, model in group.items()}
            found = interleaved(works, ROUNDS, time.process_time)
            for name, seconds in found.items():
                if name == "count":
                    print(note(f"{title}, {ask}: count", 1e6 * seconds / len(tests), "µs"))
                    continue
                line, ratio = f"{title}, {ask}: {name}", seconds / found["count"]
                bar = BARS.get(name) if ask == "certify" or name == "total" else None
                print(note(line, ratio, "×") if bar is None else at_most(line, ratio, bar))


if __name__ == "__main__":
    main()
