"""Neighbours that vote for one of several classes."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

from tests.classes.oracle import label_sets
from tests.effort import some
from unswayed import CertifiedClassifier, LabelBias

NAMES = np.array(["ant", "bee", "cow"])


@pytest.mark.filterwarnings("ignore:predict says another class")
@pytest.mark.parametrize("seed", range(some(12, 50)))
def test_votes_of_neighbours_are_those_of_all_label_sets(seed):
    rng = np.random.default_rng(seed)
    X, tests = rng.integers(0, 3, (8, 2)).astype(float), rng.integers(0, 3, (4, 2)) + 0.5
    labels = np.concatenate((np.arange(3), rng.integers(3, size=5)))
    weights = ["uniform", "distance"][seed % 2]
    kind = KNeighborsClassifier(3, weights=weights)
    if seed % 3 == 0:
        kind = RadiusNeighborsClassifier(3.0, weights=weights)
    model = CertifiedClassifier(kind, bias=LabelBias.flips(budget=2)).fit(X, NAMES[labels])
    certs = model.certify(tests, resolve="exact")
    kind.fit(X, NAMES[labels])
    near = kind.radius_neighbors(tests) if seed % 3 == 0 else kind.kneighbors(tests)
    before, moved = [], np.zeros(4, dtype=bool)
    for changed in label_sets(labels, np.ones((8, 3), dtype=bool), 2):
        said = []
        for distance, rows in zip(*near, strict=True):
            weight = np.ones(len(rows)) if weights == "uniform" else 1 / distance
            votes = [weight[changed[rows] == each].sum() for each in range(3)]
            said.append(int(np.argmax(np.asarray(votes) >= max(votes) - 1e-9)))
        before = before or said
        moved |= np.array(said) != before
        moved |= ~np.isin(before, changed)
    assert certs.prediction.tolist() == NAMES[before].tolist()
    assert certs.robust.tolist() == (~moved).tolist()
