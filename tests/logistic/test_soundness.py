"""Nothing that is said of logistic and Poisson regression is false: small problems, all label sets.

A failure prints the problem; ``python -m pytest tests/logistic -k "near-ties"`` runs one family.
One problem in 160 is drawn, and one of every family at least, with CI=1 one in four, with
LOGISTIC_EVERY=1 all of them; SEEDS_FROM=20000 draws others, and LOGISTIC_EFFORTS=012 asks with
every effort.
"""

import os
from collections import Counter

import pytest

from tests.effort import some
from tests.logistic import counts, problems
from tests.logistic.checks import lies

CHUNK = 20
SHARE = int(os.environ.get("LOGISTIC_EVERY", some(160, 4)))
FIRST_SEED = int(os.environ.get("SEEDS_FROM", "0"))
EFFORTS = [int(effort) for effort in os.environ.get("LOGISTIC_EFFORTS", "")]
SHOWN = 3  # problems of a failing chunk that are printed


def chunks(n_problems):
    """First and last problem of each chunk."""
    n_problems = max(n_problems // SHARE, 1)
    return [(start, min(start + CHUNK, n_problems)) for start in range(0, n_problems, CHUNK)]


CHUNKS = [
    (family, start, stop)
    for family, (_, n_problems) in problems.FAMILIES.items()
    for start, stop in chunks(n_problems)
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Problems are tiny: to start threads for them would take longer than to answer."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def checked(drawn):
    """How often each verdict was given; fails if something false was said."""
    failures, tally, n_checked = [], Counter(), 0
    for problem in drawn:
        complaints, found = lies(problem, EFFORTS)
        tally += found
        n_checked += 1
        if complaints:
            failures.append("\n".join([*complaints, str(problem)]))
    assert not failures, (
        f"{len(failures)} of {n_checked} problems were answered falsely:\n\n"
        + "\n\n".join(failures[:SHOWN])
    )
    return tally


def share(tally, truth):
    """Of rows that are truly this, how many are said to be."""
    total = sum(many for name, many in tally.items() if name.startswith(f"{truth}: "))
    assert total >= 15
    return tally[f"{truth}: {truth}"] / total


@pytest.mark.parametrize(("family", "start", "stop"), CHUNKS)
def test_nothing_that_is_said_is_false(family, start, stop):
    drawn = (problems.make(family, FIRST_SEED + seed) for seed in range(start, stop))
    assert sum(checked(drawn).values()) >= stop - start


@pytest.mark.parametrize(("start", "stop"), chunks(counts.N_PROBLEMS))
def test_nothing_that_is_said_of_counts_is_false(start, stop):
    drawn = (counts.make(FIRST_SEED + seed) for seed in range(start, stop))
    assert sum(checked(drawn).values()) >= stop - start


def test_there_are_two_thousand_problems():
    assert sum(n_problems for _, n_problems in problems.FAMILIES.values()) > 2000


@pytest.mark.parametrize(("family", "least"), [("ordinary", 0.5), ("strong", 0.75)])
def test_most_rows_are_decided(family, least):
    tally = checked(problems.make(family, seed) for seed in range(1000, 1012))
    assert share(tally, "robust") >= least
    assert share(tally, "not-robust") >= 0.85


def test_most_counts_are_decided():
    tally = checked(counts.make(seed) for seed in range(1000, 1025))
    assert share(tally, "robust") >= 0.7
    assert share(tally, "not-robust") >= 0.7
