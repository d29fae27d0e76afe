"""Nothing that is said is false: tens of thousands of cases against exact rational truth.

A case is one test row, or one coefficient, of one problem. A failure prints the problem;
``python -m pytest tests/soundness -k "near-ties"`` runs one family, other problems are drawn with
the environment variable SEEDS_FROM=20000, and with CI=1 all of them, not one in eighty (of few
others, too few may be possible). In pieces a share of these is asked about, or with
IN_PIECES_EVERY=1 all.
"""

import os

import numpy as np
import pytest

from tests.effort import some
from tests.soundness.cases import FAMILIES, make
from tests.soundness.checks import can_be_fitted, ill_conditioned, lies
from tests.soundness.pieces import lies_in_pieces, possible
from unswayed.results.certificates import Verdict

CHUNK = 100
SHARE = some(80, 1)  # one problem in so many, of every family
FIRST_SEED = int(os.environ.get("SEEDS_FROM", "0"))
# One in so many of these in pieces, too.
IN_PIECES_EVERY = int(os.environ.get("IN_PIECES_EVERY", some(2, 4)))
SHOWN = 3  # problems of a failing chunk that are printed

# scikit-learn itself cannot add up some of the weights.
FITTED = {"all-weights": 0.6, "balanced": 0.8}

CHUNKS = [
    (family, start)
    for family, (_, n_problems) in FAMILIES.items()
    for start in range(0, max(n_problems // SHARE, 1), CHUNK)
]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Problems are tiny: to start threads for them would take longer than to answer."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def checked(family, problems, lies):
    """Number of problems, and of cases; fails if something false is said of any of them."""
    failures, n_checked, n_cases = [], 0, 0
    for problem in problems:
        complaints, cases = lies(problem)
        n_checked += 1
        n_cases += cases
        if complaints:
            failures.append("\n".join([*complaints, str(problem)]))
    assert not failures, (
        f"{len(failures)} of {n_checked} problems of {family!r} were answered falsely:\n\n"
        + "\n\n".join(failures[:SHOWN])
    )
    return n_checked, n_cases


def drawn(family, start, every=1):
    """Number of problems of a chunk, or of every so-many-th of them, and these."""
    n_problems = min(CHUNK, max(FAMILIES[family][1] // SHARE, 1) - start)
    seeds = range(FIRST_SEED + start, FIRST_SEED + start + n_problems)[::every]
    return len(seeds), (make(family, seed) for seed in seeds)


@pytest.mark.parametrize(("family", "start"), CHUNKS)
def test_nothing_that_is_said_is_false(family, start):
    n_problems, problems = drawn(family, start)
    n_checked, n_cases = checked(family, filter(can_be_fitted, problems), lies)
    assert n_checked >= FITTED.get(family, 0.9) * n_problems
    assert n_cases >= 3 * n_checked


IN_PIECES = [
    (family, start)
    for family, start in CHUNKS
    if family not in ("kernels", "smoothers", "all-weights", "balanced")
]


@pytest.mark.parametrize(("family", "start"), IN_PIECES)
def test_nothing_that_is_said_of_rows_in_pieces_is_false(family, start):
    n_problems, problems = drawn(family, start, IN_PIECES_EVERY)
    n_checked, n_cases = checked(family, filter(possible, problems), lies_in_pieces)
    assert n_checked >= 0.2 * n_problems
    assert n_cases >= 3 * n_checked


def test_there_are_five_thousand_problems():
    assert sum(n * FITTED.get(family, 0.9) for family, (_, n) in FAMILIES.items()) > 5000


def test_ordinary_cases_are_decided_without_exact_arithmetic():
    undecided, n_rows = 0, 0
    for seed in range(FAMILIES["ordinary"][1] // some(12, 1)):
        problem = make("ordinary", seed)
        with ill_conditioned():
            verdict = problem.fitted().certify(problem.matrix(problem.tests)).verdict
        undecided += int(np.sum(verdict == Verdict.UNDECIDED))
        n_rows += len(verdict)
    assert undecided <= 0.001 * n_rows
