"""Labels that overturn a search are labels that change: none is named that stays as it is."""

import numpy as np
from sklearn.linear_model import RidgeCV

from unswayed import CertifiedClassifier, LabelBias


def test_witnesses_name_no_label_that_stays():
    replayed = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, rows = rng.normal(size=(13, 2)), rng.normal(size=(6, 2))
        y = (X[:, 0] + rng.normal(size=13) > 0).astype(int)
        if len(set(y)) < 2:
            continue
        search = RidgeCV([1.0, 2.0, 3.0])
        bias = LabelBias.flips(budget=3, direction="up")
        certs = CertifiedClassifier(search, bias=bias).fit(X, y).certify(rows)
        for row in np.flatnonzero([str(each) == "not-robust" for each in certs.verdict]):
            witness, labels = certs.witness(row), y.copy()
            assert (witness.labels != y[witness.indices]).all()
            labels[witness.indices] = witness.labels
            after = RidgeCV([1.0, 2.0, 3.0]).fit(X, labels.astype(float)).predict(rows)[row]
            np.testing.assert_allclose(after, witness.score, rtol=1e-9)
            replayed += 1
    assert replayed
