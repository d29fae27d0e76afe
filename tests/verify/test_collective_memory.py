"""Crafted collective claims: they, too, stay below the memory that the docs promise."""

import numpy as np
import pytest

from tests.verify.measured import MOST, measured, run_measured
from tests.verify.test_memory import make_document, packed, save

BOMB = np.ones(2**22, "<u4")  # steps of row numbers


def made(rng, shape, n_tests, claim, **changes):
    X, T = rng.normal(size=shape), rng.normal(size=(n_tests, shape[1]))
    y = (rng.random(shape[0]) < 0.5).astype(float)
    question = {"task": "classification", "threshold": 0.5}
    bias = {"lower": -1.0, "upper": 1.0, "budget": shape[0] // 3}
    document = make_document(y, X, T, question=question, bias=bias)
    document |= {"claims": [], "collective": claim} | changes
    return document, {"labels": y, "train": X, "test": T}


def together(multipliers, **more):
    return {
        "ask": "together", "at_least": 0, "at_most": 10**9, "rests_on": "HiGHS",
        "witness": {"up": [], "down": []}, "multipliers": multipliers,
    } | more  # fmt: skip


def multipliers(rng, n_tests, cliques):
    """As many events as there can be, and more cliques of all of them than are read, if wanted."""
    every = packed(np.ones(n_tests, "<u4"))
    names = ("rise", "fall", "no_rise", "no_fall")
    events = packed(np.ones(2 * n_tests, "<u4"))
    return dict.fromkeys(names, every) | {
        "links": packed(rng.random(4 * n_tests)),
        "cliques": [{"weight": 0.5, "events": events}] * cliques,
    }


def test_more_members_of_cliques_than_are_read_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    document, arrays = made(rng, (40, 2), 1000, together(multipliers(rng, 1000, 1000)))
    save(tmp_path, document, **arrays)
    assert "events in all" in measured(tmp_path, "c.json", "--data", "c.npz")


@pytest.mark.parametrize("place", ["where", "rise", "cliques", "overturned"])
def test_packed_row_numbers_that_unpack_to_millions_are_refused(tmp_path, place):
    rng = np.random.default_rng(0)
    claim = together(multipliers(rng, 50, 1))
    if place == "where":
        claim["where"] = packed(BOMB)
    elif place == "overturned":
        claim["witness"]["overturned"] = packed(BOMB)
    elif place == "rise":
        claim["multipliers"]["rise"] = packed(BOMB)
    else:
        claim["multipliers"]["cliques"] = [{"weight": 1.0, "events": packed(BOMB)}]
    document, arrays = made(rng, (40, 2), 50, claim)
    save(tmp_path, document, **arrays)
    assert "cannot be unpacked" in measured(tmp_path, "c.json", "--data", "c.npz")


def test_more_rows_than_are_asked_about_together_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    document, arrays = made(rng, (40, 1), 2**15 + 1, together({}))
    save(tmp_path, document, **arrays)
    assert "is about 1 to 32,768 rows" in measured(tmp_path, "c.json", "--data", "c.npz")


@pytest.mark.parametrize(("shape", "n_tests"), [((9, 2), 2**15), ((2**17, 2), 600)])
def test_as_many_events_and_pairs_as_are_read_take_bounded_memory(tmp_path, shape, n_tests):
    rng = np.random.default_rng(1)
    cliques = 2**19 // n_tests // 4
    # That no row is overturned follows from nothing here, so everything is tried.
    claim = together(multipliers(rng, n_tests, cliques), at_most=0)
    document, arrays = made(rng, shape, n_tests, claim)
    save(tmp_path, document, **arrays)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


def test_as_many_groups_as_are_read_take_bounded_memory(tmp_path):
    rng, n_tests, n_groups = np.random.default_rng(2), 4000, 100
    group = np.arange(n_tests) % n_groups
    end = {"rests_on": "HiGHS", "witness": {"up": [], "down": []}}
    claim = {
        "ask": "metric", "metric": "selection_rate_difference", "value": 0.5,
        "groups": [
            {"name": str(at), "rows": np.flatnonzero(group == at).tolist()}
            for at in range(n_groups)
        ],
        "low": {"outer": 0.0, "inner": 1.0} | end, "high": {"outer": 1.0, "inner": 0.0} | end,
    }  # fmt: skip
    document, arrays = made(rng, (60, 2), n_tests, claim)
    save(tmp_path, document, **arrays)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 1, (out, err)  # of the value, which is another one
