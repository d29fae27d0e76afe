"""The checker of models whose labels are in the gradient: functions, agreement, soundness."""

import copy
from decimal import Context, Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import some
from tests.logistic.test_splitting import rare_category
from tests.verify.gradient import (
    checked,
    logistic,
    make_cases,
    poisson,
    problem,
    proof_of,
    reached,
    saved,
    with_proof,
)
from unswayed.verify import verify
from unswayed.verify.gradient.functions import EXPONENTIAL, LINKS, MEAN, SECANT, exponential
from unswayed.verify.gradient.region import Bound, Box, Limits, covered

SOME = some(4, 40)
EXACT = Context(prec=600, Emax=10**6, Emin=-(10**6))
KINDS = [
    "logistic", "weighted", "class-weights", "some", "nobody", "open", "years", "counts",
    "logarithms", "coefficients",
]  # fmt: skip


@pytest.fixture(scope="module")
def gradient_cases(tmp_path_factory):
    return make_cases(tmp_path_factory.mktemp("gradient"))


# --- functions ------------------------------------------------------------------------------


def mean(kind, margin):
    """In 600 digits: some of these are 1 up to 260 of them."""
    if kind == "poisson":
        return EXACT.exp(margin)
    return EXACT.divide(1, EXACT.add(1, EXACT.exp(EXACT.minus(margin))))


def secant(kind, margin, moved):
    margin, moved = Decimal(margin), Decimal(moved)
    if moved == 0:
        value = mean(kind, margin)
        return value if kind == "poisson" else EXACT.multiply(value, EXACT.subtract(1, value))
    apart = EXACT.subtract(mean(kind, EXACT.add(margin, moved)), mean(kind, margin))
    return EXACT.divide(apart, moved)


MARGINS = st.floats(-600, 600) | st.floats(-4, 4) | st.floats(-1e-6, 1e-6)
MOVES = MARGINS.filter(lambda moved: moved == 0 or 1e-80 < abs(moved) < 300)


@given(value=MARGINS)
def test_an_exponential_is_wrong_by_less_than_it_says(value):
    found, truth = Decimal(float(exponential(np.array(value)))), EXACT.exp(Decimal(value))
    assert abs(found / truth - 1) <= Decimal(EXPONENTIAL)


@pytest.mark.parametrize("kind", LINKS)
@given(margin=MARGINS)
def test_a_mean_is_wrong_by_less_than_it_says(kind, margin):
    found, truth = LINKS[kind].mean(np.array(margin)), mean(kind, Decimal(margin))
    assert abs(Decimal(float(found)) / truth - 1) <= Decimal(MEAN)


@pytest.mark.parametrize("kind", LINKS)
@given(margin=st.floats(-300, 300) | st.floats(-3, 3), moved=MOVES)
def test_a_secant_is_wrong_by_less_than_it_says(kind, margin, moved):
    found = LINKS[kind].secant(np.array(margin), np.array(moved))
    truth = secant(kind, margin, moved)
    assert abs(Decimal(float(found)) / truth - 1) <= Decimal(SECANT)


@pytest.mark.parametrize("kind", LINKS)
@given(
    margin=st.floats(-40, 40) | st.floats(-2, 2),
    ends=st.tuples(st.floats(-60, 60), st.floats(-60, 60)).map(sorted),
    share=st.floats(0, 1),
)
def test_no_secant_inside_an_interval_is_beyond_its_bounds(kind, margin, ends, share):
    one = np.array([margin])
    low, high = LINKS[kind].slopes(one, np.array(ends[:1]), np.array(ends[1:]), np.zeros(1))
    for part in (share, 0.0, 1.0, 0.5):
        moved = min(max(ends[0] + part * (ends[1] - ends[0]), ends[0]), ends[1])
        moved = moved if abs(moved) > 1e-80 else 0.0
        truth = secant(kind, margin, moved)
        assert Decimal(float(low[0])) <= truth <= Decimal(float(high[0]))


@given(margin=st.floats(-30, 30), width=st.floats(0.01, 30))
def test_bounds_on_secants_are_reached_somewhere(margin, width):
    one, end = np.array([margin]), np.array([width])
    _, high = LINKS["logistic"].slopes(one, -end, end, np.zeros(1))
    grid = np.linspace(-width, width, 4001)
    peak = LINKS["logistic"].secant(np.full_like(grid, margin), grid).max()
    assert high[0] <= peak * 1.0001 + 1e-12


def test_margins_far_out_are_not_known_or_safe():
    far = np.array([-5000.0, -900.0, 900.0, 5000.0])
    low, high = LINKS["logistic"].slopes(far, np.zeros(4), np.zeros(4), np.zeros(4))
    assert np.isnan(low[[0, 3]]).all()
    assert (low[1:3] == 0).all()
    assert (high[1:3] > 0).all()
    assert np.isnan(exponential(np.array([701.0, np.nan]))).all()


ENTRIES = st.lists(
    st.tuples(st.floats(-5, 5), st.integers(1, 3), st.booleans()), min_size=1, max_size=7
)


@given(
    ENTRIES, st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.floats(0, 5), st.floats(0, 5)),
)  # fmt: skip
def test_no_thresholds_underestimate_the_largest_effects_within_limits(entries, rooms, marks):
    values, counts, inside = (np.array(each) for each in zip(*entries, strict=True))
    labels, most_inside, most_outside = rooms
    box = SimpleNamespace(
        limits=Limits(labels, np.flatnonzero(inside), most_inside, most_outside),
        problem=SimpleNamespace(pushes=SimpleNamespace(counts=counts.astype(float))),
    )
    best = Decimal(0)
    for m in range(min(labels, most_inside) + 1):
        parts = [(inside, m), (~inside, min(most_outside, labels - m))]
        total = Decimal(0)
        for part, room in parts:
            every = sorted(np.repeat(np.maximum(values[part], 0), counts[part]), reverse=True)
            total += sum(map(Decimal, every[:room]))
        best = max(best, total)
    found = Box.largest(box, values[None].astype(float), labels, np.array([marks]))
    assert best <= Decimal(float(found[0]))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(-3, 3)), max_size=6),
       st.integers(0, 6), st.sampled_from([1, -1]))  # fmt: skip
def test_cases_hold_together_only_if_they_leave_out_no_number(cases, last, sign):
    bounds = [Bound(1, least, most, far, False) for least, most, far in cases]
    every = [
        min((sign * b.far for b in bounds if b.least <= c <= b.most), default=np.inf)
        for c in range(last + 1)
    ]
    assert covered(bounds, sign, last) == sign * max(every)


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_engine_writes_is_proven_in_every_part(gradient_cases, kind, tmp_path):
    case = gradient_cases[kind]
    report = checked(case.document, case.data, tmp_path)
    assert not report.rejected
    assert not report.not_reproven
    verdicts = [claim["verdict"] for claim in case.document["claims"]]
    assert report.robust == verdicts.count("robust")
    assert report.not_robust == verdicts.count("not-robust")
    assert sum(report.stages.values()) == report.proven == report.by_bounds - report.undecided


def test_the_cases_have_verdicts_of_all_kinds(gradient_cases):
    found = {c["verdict"] for case in gradient_cases.values() for c in case.document["claims"]}
    assert found == {"robust", "not-robust", "undecided"}
    assert "boxes" not in proof_of(gradient_cases["open"])


@pytest.mark.parametrize("seed", range(SOME))
def test_random_problems_are_proven_whatever_the_effort(seed, tmp_path):
    X, y, T, rng = problem(100 + seed, int(rng_size(seed)))
    effort = seed % 3
    if seed % 4 == 3:
        certs = poisson(X, rng.poisson(2, len(X)).astype(float), 2).certify(T, effort=effort)
    else:
        strength = float(10.0 ** rng.uniform(-2, 0.5))
        certs = logistic(X, y, T, 1 + seed % 3, C=strength, effort=effort)
    case = saved(certs, tmp_path, "random")
    report = verify(tmp_path / "random.json", data=case.data)
    assert not report.rejected
    assert not report.not_reproven


def rng_size(seed):
    return np.random.default_rng(seed).integers(10, 50)


# --- soundness ------------------------------------------------------------------------------


def forged(case, low, high, factor, rng, folder):
    """The file with boxes of another size, rows called robust, and ranges of any width."""
    document, proof = copy.deepcopy(case.document), proof_of(case)
    proof["boxes"][:2] *= factor
    for at, claim in enumerate(document["claims"]):
        middle, half = (low[at] + high[at]) / 2, (high[at] - low[at]) / 2
        # One is so wide that the file proves it, whatever is drawn for the others.
        share = 3.0 if at == 1 else rng.choice([0.9, 0.999, 1.1, 1.3, 2.0])
        ends = {"low": float(middle - share * half), "high": float(middle + share * half)}
        verdict = {"verdict": "undecided"} if at % 2 else {"verdict": "robust", "decision": 1}
        document["claims"][at] = {"row": claim["row"], **verdict, **ends}
    proof.pop("witnesses", None)
    return with_proof(document, proof, folder)


@pytest.mark.parametrize("seed", range(some(3, 40)))
def test_whatever_is_accepted_is_true_of_all_label_sets(seed, tmp_path):
    X, y, T, rng = problem(seed, 9, 1 + seed % 2)
    budget = 1 + (seed % 2 and seed % 3 < 2)
    if min(y.sum(), len(y) - y.sum()) <= budget:  # else labels of one class have no solution
        y[:6] = 0, 1, 0, 1, 0, 1
    extra = {"class_weight": {0: 0.6, 1: 1.9}} if seed % 3 == 2 else {}
    weight = rng.choice([0.5, 1.0, 2.0], 9) if seed % 3 == 1 else None
    case = saved(logistic(X, y, T[:6], budget, C=0.01, weight=weight, **extra), tmp_path, "small")
    low, high = reached(case.document, case.data, budget)
    accepted = 0
    for factor in (0.5, 0.95, 1.0, 1.5):
        document = forged(case, low, high, factor, rng, tmp_path)
        report = checked(document, case.data, tmp_path)
        for claim in document["claims"]:
            at = claim["row"]
            if at in report.rejected or at in report.not_reproven:
                continue
            accepted += 1
            assert claim["verdict"] == "undecided" or low[at] > 0
            assert claim["low"] <= low[at] + 1e-9
            assert claim["high"] >= high[at] - 1e-9
    assert accepted


@pytest.mark.parametrize("seed", range(SOME))
def test_nothing_is_accepted_if_labels_can_become_one_class(seed, tmp_path):
    X, y, T, _ = problem(seed, 9, 1 + seed % 2)
    y[:] = seed % 2
    y[seed % 9] = 1 - seed % 2
    case = saved(logistic(X, y, T[:6], 1, C=0.01), tmp_path, "small")
    proof = proof_of(case)
    assert "boxes" not in proof
    size, width, far = len(np.unique(X, axis=0)), len(proof["parameters"]), 10.0 ** (seed % 3)
    asked = size + len(np.unique(T[:6], axis=0))  # equal test rows are one
    rows, signs = np.tile(np.arange(asked), 2), np.repeat([1.0, -1.0], asked)
    lines = np.zeros((len(rows), 8))
    lines[:, 1], lines[:, 2], lines[:, 3], lines[:, 6:] = rows, signs, 1.0, far
    proof |= {
        "boxes": np.vstack((np.full((2, size), far), np.zeros((1, size)), np.ones((1, size)))),
        "inverses": np.vstack((proof["inverse"], proof["inverse"])),
        "cases": np.array([[0.0, 1.0]]),
        "bounds": lines,
    }
    proof.pop("witnesses", None)
    assert width == len(proof["inverse"])
    document = with_proof(copy.deepcopy(case.document), proof, tmp_path)
    for at, claim in enumerate(document["claims"]):
        ends = {"low": -50.0, "high": 50.0} if at % 2 else {}
        verdict = (
            {"verdict": "undecided"} if at % 2 else {"verdict": "robust", "decision": seed % 2}
        )
        document["claims"][at] = {"row": claim["row"], **verdict, **ends}
    report = checked(document, case.data, tmp_path)
    assert len(report.rejected) + len(report.not_reproven) == len(document["claims"])


def test_rows_that_need_a_split_budget_are_proven_case_by_case(tmp_path):
    model, tests = rare_category(2, C=20.0)
    robust = [model.certify(tests, effort=effort).robust for effort in (1, 2)]
    only = tests[robust[1] & ~robust[0]]
    case = saved(model.certify(only, effort=2), tmp_path, "split")
    assert {claim["verdict"] for claim in case.document["claims"]} == {"robust"}
    report = checked(case.document, case.data, tmp_path)
    assert report.robust == len(only) > 0
    assert report.stages["split"] > 0
    proof = proof_of(case)
    assert len(proof["cases"]) > 1


def test_a_case_that_is_left_out_leaves_rows_unproven(tmp_path):
    model, tests = rare_category(2, C=20.0)
    case = saved(model.certify(tests, effort=2), tmp_path, "split")
    whole = checked(case.document, case.data, tmp_path)
    for number in range(1, len(proof_of(case)["cases"])):
        proof = proof_of(case)
        proof["bounds"] = proof["bounds"][proof["bounds"][:, 0] != number]
        report = checked(with_proof(case.document, proof, tmp_path), case.data, tmp_path)
        assert not report.rejected
        assert report.stages.get("split", 0) < whole.stages["split"]
