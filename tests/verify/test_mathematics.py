"""The checker's mathematics against trying everything, in fractions."""

import hashlib
import math
import struct
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import examples
from tests.strategies import problems
from tests.verify import exact
from tests.verify.files import pack
from tests.verify.proving import prove
from unswayed.estimators.certificate_file import SCHEMA
from unswayed.verify import verify


def sha256(matrix):
    return hashlib.sha256(struct.pack("<QQ", *matrix.shape) + (matrix + 0.0).tobytes()).hexdigest()


def make_document(problem, rule, weights):
    """A document whose every claim is what enumeration says, as tight as doubles allow."""
    coefficients = rule["task"] == "coefficients"
    influence = exact.ridge_influence(
        problem.X, None if coefficients else problem.tests, problem.alpha, problem.fit_intercept,
        weights,
    )  # fmt: skip
    if "contrasts" in rule:
        (intercept,) = exact.ridge_influence(
            problem.X, np.zeros((1, problem.X.shape[1])), problem.alpha, problem.fit_intercept,
            weights,
        )  # fmt: skip
        influence = exact.contrasted(influence, rule["contrasts"], intercept)
    claims = []
    for row, z in enumerate(influence):
        bias = (problem.y, problem.lower, problem.upper, problem.budget)
        score, low, high, least = exact.enumerated(z, *bias, rule)
        verdict = "robust" if least > problem.budget else "undecided"
        claim = {"row": row, "verdict": verdict, "low": exact.below(low), "high": exact.above(high)}
        claim["minimum_budget"] = "never" if math.isinf(least) else least
        if verdict == "robust" and rule["task"] != "regression":
            claim["decision"] = exact.decision(rule, score)
        claims.append(claim)
    hashes = {"train": sha256(problem.X), "labels": sha256(problem.y[:, None])}
    hashes |= {} if coefficients else {"test": sha256(problem.tests)}
    sizes = {"train_rows": len(problem.X), "features": problem.X.shape[1], "test_rows": len(claims)}
    model = {"kind": "ridge", "alpha": problem.alpha, "intercept": problem.fit_intercept}
    if problem.sample_weight is not None:
        model["weights"] = pack_doubles(problem.sample_weight)
    return {
        "schema": SCHEMA, "unswayed": "", "question": rule, "model": model, "claims": claims,
        "bias": {
            "lower": pack_doubles(problem.lower), "upper": pack_doubles(problem.upper),
            "budget": problem.budget,
        },
        "data": {**sizes, "sha256": hashes},
    }  # fmt: skip


def pack_doubles(values):
    return pack(values.tolist(), "d")


RULES = st.sampled_from(
    [
        {"task": "classification", "threshold": 0.5},
        {"task": "classification", "threshold": 0.0},
        {"task": "regression", "radius": 0.5},
        {"task": "regression", "radius": 0.0},
        {"task": "coefficients"},
        {"task": "coefficients", "contrasts": [{"features": [0], "weights": [-0.1]}]},
    ]
)


@settings(max_examples=examples(100), deadline=None)
@given(problems(max_rows=4, alphas=(0.0, 0.5, 7.0)), st.data())
def test_claims_about_contrasts_are_proven_and_tighter_ones_rejected(problem, data):
    width = problem.X.shape[1]
    weight = st.sampled_from([-1.0, -1.0, 0.0, 0.1, 1, 3])
    contrasts = st.lists(st.lists(weight, min_size=width, max_size=width), min_size=1, max_size=3)
    flags = st.booleans() if problem.fit_intercept else st.just(False)
    rows = [
        {"features": list(range(width)), "weights": row, "intercept": data.draw(flags)}
        for row in data.draw(contrasts)
    ]
    if problem.fit_intercept:
        rows.append({"features": [], "weights": [], "intercept": True})
    check_claims(problem, {"task": "coefficients", "contrasts": rows})


@settings(max_examples=examples(150), deadline=None)
@given(problems(max_rows=5, alphas=(0.0, 0.0, 0.5, 1.0, 7.0)), RULES)
def test_claims_that_enumeration_makes_are_proven_and_tighter_ones_rejected(problem, rule):
    check_claims(problem, rule)


def check_claims(problem, rule):
    weights = np.ones(len(problem.X)) if problem.sample_weight is None else problem.sample_weight
    document = make_document(problem, rule, weights)
    with tempfile.TemporaryDirectory() as folder:
        path, data = Path(folder) / "c.json", Path(folder) / "c.npz"
        tests = {} if rule["task"] == "coefficients" else {"test": problem.tests}
        np.savez(data, train=problem.X, labels=problem.y, **tests)
        prove(document, data, path)
        report = verify(path, data=data)
        assert (report.rejected, report.not_reproven) == ({}, {})
        for claim in document["claims"]:
            claim["low"] = math.nextafter(claim["low"], math.inf)
            claim["high"] = math.nextafter(claim["high"], -math.inf)
            least = claim["minimum_budget"]
            claim["minimum_budget"] = 1 if least == "never" else least + 1
        prove(document, data, path)
        assert len(verify(path, data=data).rejected) == len(document["claims"])
