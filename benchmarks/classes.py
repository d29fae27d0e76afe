"""Several classes against as many binary problems: ``python -m benchmarks.classes``.

MNIST, ten digits, 50 principal components, 10,000 training and 2,000 test rows; and random rows as
embeddings are: 100,000 × 768, 20 classes (``--large``).
"""

import resource
import sys
import time
from functools import partial

import numpy as np
from sklearn.linear_model import RidgeClassifier

from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets.mnist17 import _part


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 50 principal components of 12,000 images, and their digits."""
    given, labels = _part("train", None)
    images, labels = given.reshape(-1, 784)[:12_000] / 255.0, labels[:12_000]
    centred = images - images.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    found = centred @ vectors[:, -50:]
    return found[:10_000], labels[:10_000], found[10_000:]


def seconds(ask) -> float:
    """Return the processor time of the faster of two calls."""
    times = []
    for _ in range(2):
        started = time.process_time()
        ask()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    """Print the ratio for digits, or time and memory of the large problem."""
    bias = LabelBias.flips(budget=0.01)
    if "--large" in sys.argv:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(20, 768))
        labels = rng.integers(20, size=102_000)
        X = 0.2 * centres[labels] + rng.normal(size=(102_000, 768))
        started = time.perf_counter()
        model = CertifiedClassifier(RidgeClassifier(alpha=10.0), bias=bias)
        certs = model.fit(X[:100_000], labels[:100_000]).certify(X[100_000:])
        rate, took = certs.robustness_rate, time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"100,000 x 768, 20 classes, 2,000 rows: {took:.0f} s, {peak:.1f} GB, {rate:.1%}")
        return
    X, labels, tests = digits()
    several = CertifiedClassifier(RidgeClassifier(), bias=bias).fit(X, labels)
    for what in ("certify", "minimum_budget"):
        binary = 0.0
        for digit in range(9):
            one = CertifiedClassifier(RidgeClassifier(), bias=bias).fit(X, labels == digit)
            binary += seconds(partial(getattr(one, what), tests))
        own = seconds(partial(getattr(several, what), tests))
        ratio = own / binary
        print(f"{what}: ten digits {own:.2f} s, nine binary problems {binary:.2f} s: {ratio:.2f}")


if __name__ == "__main__":
    main()
