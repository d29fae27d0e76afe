"""Claims that are false by next to nothing: none of them gets past the bounds.

What is true is worked out in fractions, by code that shares nothing with the checker.
"""

import copy
import functools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from tests.verify import exact
from tests.verify.files import doubles, rows_of, truths
from tests.verify.proving import prove
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, LinearSmoother
from unswayed.verify import verify

NEXT_TO_NOTHING = Fraction(1, 10**12)  # of a range


def make_certificates(kind):
    rng = np.random.default_rng(len(kind))
    X, tests = rng.normal(size=(30, 3)), rng.normal(size=(25, 3))
    if kind == "categories":
        X = np.hstack((np.eye(3)[rng.integers(0, 3, 30)], np.eye(2)[rng.integers(0, 2, 30)], X))
        tests = np.hstack((X[:25, :5], tests))
    if kind == "wide":
        X, tests = rng.normal(size=(14, 20)), rng.normal(size=(25, 20))
    if kind == "equal rows":
        X = np.repeat(X[:6], 5, axis=0)
    number = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    side, flips = number > np.median(number), LabelBias.flips(budget=3)
    shifts = LabelBias.intervals(-rng.random(len(X)), rng.random(len(X)), budget=3)
    if kind in ("ridge", "wide", "equal rows"):
        return CertifiedClassifier(Ridge(), bias=flips).fit(X, side).certify(tests)
    if kind == "categories":
        return CertifiedClassifier(LinearRegression(), bias=flips).fit(X, side).certify(tests)
    if kind == "weighted":
        weights = rng.random(len(X)) + 0.1
        model = CertifiedClassifier(Ridge(), bias=flips)
        return model.fit(X, side, sample_weight=weights).certify(tests)
    if kind == "regression":
        model = CertifiedRegressor(Ridge(), bias=shifts, radius=0.3)
        return model.fit(X, number).certify(tests)
    if kind == "coefficients":
        model = CertifiedRegressor(Ridge(), bias=shifts, radius=1)
        return model.fit(X, number).certify_coefficients(contrasts=rng.normal(size=(25, 3)))
    if kind == "kernel":
        model = CertifiedClassifier(KernelRidge(kernel="rbf", alpha=0.1), bias=flips)
        return model.fit(X, side).certify(tests)
    model = CertifiedRegressor(LinearSmoother(), bias=shifts, radius=0.4)
    return model.fit(np.eye(30), number).certify(rng.normal(size=(25, 30)) / 5)


KINDS = ("ridge", "wide", "categories", "weighted", "equal rows", "regression", "coefficients",
         "kernel", "smoother")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the case of a kind, which is made once: its truth takes a while in fractions."""

    @functools.cache
    def make(kind):
        folder = tmp_path_factory.mktemp("case")
        path, data = folder / "c.json", folder / "c.npz"
        make_certificates(kind).save(path, data=data)
        document = json.loads(path.read_text())
        return document, truths(document, data), path, data

    return make


@pytest.fixture(params=KINDS)
def case(request, made):
    return made(request.param)


def rejected(case, document):
    _, _, path, data = case
    prove(document, data, path)
    return verify(path, data=data)


def altered(case, change):
    """The claims with something changed in each; those that it does not apply to are left out."""
    document, facts = copy.deepcopy(case[0]), case[1]
    rows = set()
    for claim, fact in zip(document["claims"], facts, strict=True):
        if change(claim, fact, document) is not False:
            rows.add(claim["row"])
    return document, rows


def lower_end_inwards(claim, fact, document):
    _, _, low, high, _ = fact
    claim["low"] = exact.above(low + (high - low) * NEXT_TO_NOTHING)


def upper_end_inwards(claim, fact, document):
    _, _, low, high, _ = fact
    claim["high"] = exact.below(high - (high - low) * NEXT_TO_NOTHING)


def one_label_more(claim, fact, document):
    claim["minimum_budget"] = 1 if math.isinf(fact[-1]) else fact[-1] + 1


def one_label_less(claim, fact, document):
    if math.isinf(fact[-1]):
        return False
    claim["minimum_budget"] = fact[-1] - 1
    return None


def never(claim, fact, document):
    if math.isinf(fact[-1]):
        return False
    claim["minimum_budget"] = "never"
    return None


def another_verdict(claim, fact, document):
    """Robust or not, the other of them; with a witness of the strongest labels if it needs one."""
    claim.pop("minimum_budget", None)
    if claim["verdict"] == "robust":
        claim["verdict"] = "not-robust"
        claim["witness"] = strongest(fact, document, document["bias"]["budget"])
    else:
        claim["verdict"] = "robust"
        del claim["witness"]


def another_decision(claim, fact, document):
    if "decision" not in claim:
        return False
    coefficients = document["question"]["task"] == "coefficients"
    claim["decision"] = -claim["decision"] if coefficients else 1 - claim["decision"]
    return None


def a_weaker_witness(claim, fact, document):
    """The last label exchanged for the strongest other one with which nothing is overturned."""
    if "witness" not in claim:
        return False
    z, score, *_ = fact
    ends = offsets(document, len(z))
    moved = [(row, 1) for row in rows_of(claim["witness"]["up"])]
    moved += [(row, 0) for row in rows_of(claim["witness"]["down"])]
    shift = sum(z[row] * ends[end][row] for row, end in moved)
    best = None
    for out in moved:
        for row in range(len(z)):
            for end in (0, 1):
                if ends[end][row] == 0 or any(row == other for other, _ in moved):
                    continue
                total = shift - z[out[0]] * ends[out[1]][out[0]] + z[row] * ends[end][row]
                if exact.overturned(document["question"], score, score + total):
                    continue
                if best is None or abs(total) > abs(best[0]):
                    best = total, [each for each in moved if each != out] + [(row, end)]
    if best is None:
        return False
    up, down = (sorted(row for row, end in best[1] if end == which) for which in (1, 0))
    claim["witness"] = {"up": up, "down": down}
    return None


def offsets(document, size):
    return {
        end: [Fraction(each) for each in doubles(document["bias"][name], size)]
        for end, name in ((0, "lower"), (1, "upper"))
    }


def strongest(fact, document, count):
    z, score, *_ = fact
    ends = offsets(document, len(z))
    down = score > Fraction(document["question"].get("threshold", 0))
    pushes = sorted(
        ((-1 if down else 1) * z[row] * ends[end][row], row, end)
        for row in range(len(z)) for end in (0, 1)
    )[-count:]  # fmt: skip
    pushes = [(row, end) for push, row, end in pushes if push > 0]
    return {
        name: sorted(row for row, end in pushes if end == which)
        for name, which in (("up", 1), ("down", 0))
    }


CHANGES = (
    lower_end_inwards, upper_end_inwards, one_label_more, one_label_less, never, another_verdict,
    another_decision, a_weaker_witness,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_claim_that_is_false_by_next_to_nothing_is_rejected(case, change):
    document, rows = altered(case, change)
    report = rejected(case, document)
    assert set(report.rejected) == rows
    assert report.not_reproven == {}


def test_there_are_more_than_a_thousand_near_misses(made):
    """So many over all kinds of models, those of moved thresholds not counted."""
    counts = [len(altered(made(kind), change)[1]) for kind in KINDS for change in CHANGES]
    assert sum(counts) > 1000


@pytest.mark.parametrize("case", ["ridge", "wide", "equal rows", "kernel"], indirect=True)
def test_a_threshold_that_is_next_to_a_reached_score_is_on_its_side(case):
    """Moved to just beyond what k labels reach, k labels do not overturn the prediction."""
    document, facts, _, _ = case
    lower, upper = (doubles(document["bias"][end], len(facts[0][0])) for end in ("lower", "upper"))
    labels = np.load(case[3])["labels"]
    for row, (z, score, *_) in enumerate(facts[:5]):
        for budget in (1, 4):
            rule = document["question"]
            _, low, high, _ = exact.truth(z, labels, lower, upper, budget, rule)
            for side in (-1, 1):
                mark = exact.below(low + side * (high - low) * NEXT_TO_NOTHING)
                trial = copy.deepcopy(document)
                trial["question"]["threshold"] = mark
                least = exact.truth(z, labels, lower, upper, budget, trial["question"])[-1]
                assert score > Fraction(mark)
                assert (least <= budget) == (side == 1)
                for said in (budget, budget + 1):
                    claim = {"row": row, "verdict": "undecided", "minimum_budget": [said, said]}
                    trial["claims"][row] = claim
                    assert (row in rejected(case, trial).rejected) == (said != least)
