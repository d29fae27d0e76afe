"""A row gets the same verdict alone, in any batch, in any order and on any number of threads."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.effort import some
from tests.soundness.cases import make
from tests.soundness.checks import can_be_fitted, ill_conditioned
from unswayed import CertifiedClassifier, LabelBias
from unswayed.exceptions import InputError

FAMILIES = ["near-ties", "integers", "scales", "sparse"]


def verdicts(model, rows, **options):
    with ill_conditioned():
        if options.get("method") == "without ranges":
            return model.certify(rows, ranges=False).verdict
        return model.certify(rows, **options).verdict


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["exact", "auto", "without ranges"])
def test_a_row_alone_and_in_any_batch_has_the_same_verdict(family, method):
    rng = np.random.default_rng(0)
    for seed in range(some(3, 12)):
        problem = make(family, seed)
        if not can_be_fitted(problem):
            continue
        with ill_conditioned():
            model = problem.fitted()
        rows = problem.matrix(problem.tests)
        batch = verdicts(model, rows, method=method)
        order = rng.permutation(rows.shape[0])
        assert (verdicts(model, rows[order], method=method) == batch[order]).all()
        alone = [verdicts(model, rows[[row]], method=method)[0] for row in range(rows.shape[0])]
        assert (np.array(alone) == batch).all(), (family, seed)


@pytest.fixture(scope="module")
def on_the_edge():
    """A model, and rows moved along the first axis to where the verdict changes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 37))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    bias = LabelBias.flips(budget=5)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(X, y)
    rows = rng.normal(size=(some(12, 60), 37))
    edge = []  # ties closer than rounding
    for row in rows:
        robust = model.certify(row[None]).robust[0]
        near, far = row.copy(), row.copy()
        far[0] += 20.0
        if model.certify(far[None]).robust[0] == robust:
            continue
        while ((middle := (near + far) / 2) != near).any() and (middle != far).any():
            if model.certify(middle[None]).robust[0] == robust:
                near = middle
            else:
                far = middle
        edge += [near, far]
    assert len(edge) >= len(rows) / 3
    return model, np.array(edge)


@pytest.mark.parametrize("method", ["exact", "auto", "without ranges"])
def test_rows_on_the_edge_have_the_same_verdict_in_a_batch_of_a_thousand(
    method, on_the_edge, monkeypatch
):
    (model, edge), rng = on_the_edge, np.random.default_rng(6)
    alone = np.array([verdicts(model, row[None], method=method)[0] for row in edge])
    for size in (7, 64, 1000):
        for threads in ("1", "2"):
            monkeypatch.setenv("OMP_NUM_THREADS", threads)
            rows = rng.normal(size=(size, 37))
            place = rng.choice(size, min(size, len(edge)), replace=False)
            which = rng.choice(len(edge), len(place), replace=False)
            rows[place] = edge[which]
            found = verdicts(model, rows, method=method)[place]
            assert (found == alone[which]).all()


def test_ranges_can_be_left_out_of_exact_certificates_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + rng.normal(size=60) > 0
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3)).fit(X, y)
    certs, bare = model.certify(X), model.certify(X, ranges=False)
    assert bare.verdict.tolist() == certs.verdict.tolist()
    assert bare.minimum_budget.tolist() == certs.minimum_budget.tolist()
    assert (bare.low <= certs.low).all()
    assert (bare.high >= certs.high).all()
    assert np.isinf(bare.high).any()
    with pytest.raises(InputError, match="ranges=False goes with method='exact'"):
        model.certify(X, method="box", ranges=False)
