"""Nearest neighbours with CSR influence: 10,000 rows certified against scikit-learn's `predict`.

A dense matrix of influence would take 16 GB.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.timing import Line, at_most, interleaved, note, peak_megabytes
from unswayed import CertifiedClassifier, LabelBias

ROWS, FEATURES, TESTS, NEIGHBOURS = 200_000, 10, 10_000, 9


def lines() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    X, tests = rng.normal(size=(ROWS, FEATURES)), rng.normal(size=(TESTS, FEATURES))
    y = X[:, 0] + rng.normal(size=ROWS) > 0
    bias = LabelBias.flips(budget=2)
    model = CertifiedClassifier(KNeighborsClassifier(NEIGHBOURS), bias=bias).fit(X, y)
    plain = KNeighborsClassifier(NEIGHBOURS).fit(X, y)
    name = f"{TESTS:,} rows of {NEIGHBOURS} nearest of {ROWS:,} × {FEATURES}"
    # Before anything else is certified: what an earlier run gave back would hide what this takes.
    peak = peak_megabytes(lambda: model.certify(tests))
    yield at_most(f"{name}: memory beyond the data", peak, 256, "MB")
    took = interleaved(
        {"certify": lambda: model.certify(tests), "predict": lambda: plain.predict(tests)}, rounds=5
    )
    yield note(f"{name}: scikit-learn's predict", took["predict"], "s")
    yield at_most(f"{name}: certify against predict", took["certify"] / took["predict"], 2)


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
