"""How many rows one label set overturns, against every admissible label set there is."""

import numpy as np
import pytest

from tests.together.oracle import problems

CHUNK = 50


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Problems are tiny: to start threads for them would take longer than to answer."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def check(problem, found, counted):
    """Compare a certificate with the truth: `counted` is what each label set overturns."""
    truth = counted.max()
    assert found.at_least <= truth + 1e-9, problem
    assert found.at_most >= truth - 1e-9, problem
    if found.proven:
        assert found.at_most == pytest.approx(truth, abs=1e-9), problem
    return found.proven


@pytest.mark.parametrize("start", range(0, 400, CHUNK))
def test_no_label_set_overturns_more_than_is_said_and_the_witness_as_many(start):
    proven = []
    for problem in problems(10_000 * (1 + start), CHUNK):
        found = problem.fitted().certify_together(problem.tests, time_limit=60)
        proven.append(check(problem, found, problem.overturned.sum(axis=1)))
        replayed = problem.replayed(found.witness) != problem.predictions[0]
        assert set(found.witness.overturned) <= set(np.flatnonzero(replayed))
        assert found.at_least == len(found.witness.overturned)
    assert np.mean(proven) > 0.95
