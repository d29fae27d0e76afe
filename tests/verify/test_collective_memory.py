"""Crafted collective claims: they, too, stay below the memory that the docs promise."""

import hashlib

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


def together(**more):
    witness = {"up": [], "down": []}
    return {"ask": "together", "at_least": 0, "at_most": 10**9, "witness": witness} | more


def proven_by(folder, document, **arrays):
    """A document with these arrays for a proof."""
    np.savez_compressed(folder / "c.proof.npz", **arrays)
    content = (folder / "c.proof.npz").read_bytes()
    about = [{"name": name, "shape": list(each.shape)} for name, each in arrays.items()]
    digest = hashlib.sha256(content).hexdigest()
    return document | {"proof": {"file": "c.proof.npz", "sha256": digest, "arrays": about}}


def cases(rng, n_tests, width, n_leaves, n_pairs):
    """As many events as there are rows, each with a multiplier in every leaf."""
    events = np.column_stack((np.arange(n_tests), rng.choice([-1.0, 1.0], n_tests)))
    leaf, event = (each.ravel() for each in np.indices((n_leaves, n_tests)))
    pairs = rng.integers(0, 2 * n_tests, (n_pairs, 2))
    return {
        "weights": rng.normal(size=(n_tests, width + 1)), "thresholds": np.ones((n_tests, 6)),
        "events": events,
        "splits": np.array([*[(at % n_tests, 0) for at in range(n_leaves - 1)],
                            *[(-1, 0)] * n_leaves], dtype=float),
        "links": np.column_stack((leaf, event, rng.normal(size=len(leaf)))),
        "pairs": np.column_stack((pairs, np.ones((n_pairs, 3)))),
        "leaves": np.ones(n_leaves),
    }  # fmt: skip


def test_more_splits_than_are_read_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    document, arrays = made(rng, (40, 2), 100, together(tree=0))
    document = proven_by(tmp_path, document, splits=np.zeros((2**22, 2)))
    save(tmp_path, document, **arrays)
    assert "trees of cases have more than" in measured(tmp_path, "c.json", "--data", "c.npz")


@pytest.mark.parametrize("place", ["where", "overturned"])
def test_packed_row_numbers_that_unpack_to_millions_are_refused(tmp_path, place):
    rng = np.random.default_rng(0)
    claim = together()
    (claim["witness"] if place == "overturned" else claim)[place] = packed(BOMB)
    document, arrays = made(rng, (40, 2), 50, claim)
    save(tmp_path, document, **arrays)
    assert "cannot be unpacked" in measured(tmp_path, "c.json", "--data", "c.npz")


def test_more_rows_than_are_asked_about_together_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    document, arrays = made(rng, (40, 1), 2**15 + 1, together())
    save(tmp_path, document, **arrays)
    assert "is about 1 to 32,768 rows" in measured(tmp_path, "c.json", "--data", "c.npz")


@pytest.mark.parametrize(
    ("shape", "n_tests", "n_leaves", "n_pairs"),
    [((9, 2), 2**15, 8, 2**14), ((2**17, 2), 5, 4, 10), ((2**13, 2), 100, 16, 500)],
)
def test_as_many_cases_and_pairs_as_are_read_take_bounded_memory(
    tmp_path, shape, n_tests, n_leaves, n_pairs
):
    rng = np.random.default_rng(1)
    # That no row is overturned follows from nothing here, so everything is tried.
    document, arrays = made(rng, shape, n_tests, together(tree=0, at_most=0))
    proof = cases(rng, n_tests, shape[1], n_leaves, n_pairs)
    save(tmp_path, proven_by(tmp_path, document, **proof), **arrays)
    code, out, err, size = run_measured(tmp_path, "c.json", "--data", "c.npz")
    assert size < MOST
    assert code == 3, (out, err)


def test_as_many_groups_as_are_read_take_bounded_memory(tmp_path):
    rng, n_tests, n_groups = np.random.default_rng(2), 4000, 100
    group = np.arange(n_tests) % n_groups
    end = {"witness": {"up": [], "down": []}}
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
    assert code == 3, (out, err)
