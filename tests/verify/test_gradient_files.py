"""Altered, false and malformed files of models whose labels are in the gradient."""

import copy
import json

import numpy as np
import pytest

from tests.effort import some
from tests.verify.files import doubles, rows_of
from tests.verify.gradient import checked, fitted, make_cases, proof_of, with_proof
from tests.verify.gradient_forgeries import forgeries
from tests.verify.test_gradient import KINDS
from tests.verify.test_mutations import VALIDATOR
from unswayed.cli import main
from unswayed.verify import CertificateError, verify


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return make_cases(tmp_path_factory.mktemp("gradient"))


def outcome(document, data, folder):
    """What somebody who checks a file sees: the question, and what came of the claims."""
    try:
        report = checked(document, data, folder)
    except CertificateError as error:
        return str(error)
    failed = bool(report.rejected), bool(report.not_reproven)
    return report.question, failed, report.robust, report.not_robust, report.undecided


def altered_regions(case):
    """Alterations that leave a region which labels lead out of, or around the wrong parameters."""
    found = proof_of(case)
    for end, name in enumerate(("down", "up")):
        for what, factor in (("cut to a half", 0.5), ("of nothing", 0.0)):
            boxes = found["boxes"].copy()
            boxes[end] *= factor
            yield f"{name} {what}", {"boxes": boxes}
        boxes = found["boxes"].copy()
        boxes[end] += 300.0
        yield f"{name} too large for anything", {"boxes": boxes}
        boxes = found["boxes"].copy()
        boxes[end, boxes[end].argmax()] *= 0.5
        yield f"{name} cut in one place", {"boxes": boxes}
    for end, factor in ((2, 1.001), (3, 0.999)):
        boxes = found["boxes"].copy()
        boxes[end] *= factor
        yield "curvatures narrower than they are", {"boxes": boxes}
    for place in range(len(found["parameters"])):
        moved = found["parameters"].copy()
        moved[place] += 0.5
        yield f"parameter {place} moved", {"parameters": moved}


@pytest.mark.parametrize("kind", ["logistic", "weighted", "class-weights", "years", "counts"])
def test_a_region_that_labels_lead_out_of_proves_nothing(cases, kind, tmp_path):
    case, count = cases[kind], 0
    for what, change in altered_regions(case):
        document = with_proof(case.document, proof_of(case) | change, tmp_path)
        report = checked(document, case.data, tmp_path)
        robust = {c["row"] for c in document["claims"] if c["verdict"] == "robust"}
        assert report.not_reproven.keys() >= robust, what
        assert not report.robust, what
        count += 1
    assert count > 10


def test_ends_of_a_region_cannot_be_swapped_where_they_differ(cases, tmp_path):
    case = cases["some"]  # labels only rise, so that the two ends differ much
    proof = proof_of(case)
    proof["boxes"][:2] = proof["boxes"][1::-1].copy()
    assert not checked(with_proof(case.document, proof, tmp_path), case.data, tmp_path).robust


def near_the_fixed_point(case, folder):
    """The region cut down until it just holds, and the factor at which it does."""
    low, high = 0.5, 1.0
    for _ in range(20):
        middle, proof = (low + high) / 2, proof_of(case)
        proof["boxes"][:2] *= middle
        if checked(with_proof(case.document, proof, folder), case.data, folder).robust:
            high = middle
        else:
            low = middle
    return low, high


def test_a_region_just_too_small_is_rejected_and_one_just_large_enough_is_not(cases, tmp_path):
    case = cases["logistic"]
    low, high = near_the_fixed_point(case, tmp_path)
    assert 0.9999 < low < high <= 1.0  # the file's own has a hundred-thousandth to spare


def model_changes(document):
    yield {"penalty": document["model"]["penalty"] * 1.01}
    yield {"penalty": document["model"]["penalty"] / 2}
    yield {"intercept": not document["model"]["intercept"]}
    yield {"weights": 1.5}
    if document["model"]["kind"] == "logistic":
        yield {"class_weights": [1.0, 1.2]}


@pytest.mark.parametrize("kind", ["logistic", "weighted", "class-weights", "counts", "some"])
def test_another_model_or_budget_is_another_question_and_is_told(cases, kind, tmp_path):
    case = cases[kind]
    before = outcome(case.document, case.data, tmp_path)
    for change in model_changes(case.document):
        document = copy.deepcopy(case.document)
        document["model"] |= change
        after = outcome(document, case.data, tmp_path)
        assert after != before, change
        if "penalty" in change:  # the parameters of the file no longer solve its equations
            assert not isinstance(after, tuple) or any(after[1]), change
    document = copy.deepcopy(case.document)
    document["bias"]["budget"] += 2
    after = outcome(document, case.data, tmp_path)
    assert after[0] != before[0]
    assert any(after[1])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "open"])
def test_other_verdicts_decisions_and_ranges_are_not_accepted(cases, kind, tmp_path):
    case = cases[kind]
    changes = [list(false_claims(claim)) for claim in case.document["claims"]]
    for number in range(max(map(len, changes))):
        document = copy.deepcopy(case.document)
        altered = [at for at, each in enumerate(changes) if number < len(each)]
        for at in altered:
            document["claims"][at] |= changes[at][number]
        document = with_proof(document, fitted(case, document), tmp_path)
        report = checked(document, case.data, tmp_path)
        for at in altered:
            told = at in report.rejected or at in report.not_reproven
            assert told, (case.document["claims"][at], changes[at][number])


def false_claims(claim):
    middle = (claim["low"] + claim["high"]) / 2
    yield {"low": middle + 0.01 * (claim["high"] - claim["low"]) + 1e-6}
    yield {"high": middle - 0.01 * (claim["high"] - claim["low"]) - 1e-6}
    if claim["verdict"] == "robust":
        yield {"verdict": "not-robust"} | ({"decision": 1} if "decision" in claim else {})
        yield {"verdict": "not-robust", "witness": {"up": [], "down": []}}
        yield {"minimum_budget": 1}
    if claim["verdict"] == "not-robust":
        yield {"verdict": "robust"}
        yield {"minimum_budget": [len(rows_of(claim["witness"]["up"])) + 99, "never"]}
    if "decision" in claim:
        yield {"decision": 1 if claim["decision"] != 1 else 0}


@pytest.mark.parametrize("kind", ["logistic", "class-weights", "counts", "some"])
def test_a_row_that_labels_overturn_is_never_accepted_as_robust(cases, kind, tmp_path):
    case, found = cases[kind], 0
    document = copy.deepcopy(case.document)
    for claim in document["claims"]:
        if claim["verdict"] == "not-robust":
            claim["verdict"] = "robust"
            del claim["witness"]
            claim.pop("minimum_budget", None)
            found += 1
    document = with_proof(document, fitted(case, document), tmp_path)
    report = checked(document, case.data, tmp_path)
    assert found
    assert len(report.not_reproven) == found  # nobody looks for labels that show it to be false


def witness_changes(claim, bias, size):
    up, down = (list(rows_of(claim["witness"][way])) for way in ("up", "down"))
    lower, upper = (doubles(bias[end], size) for end in ("lower", "upper"))
    yield "one label less", (up[1:], down if up else down[1:])
    yield "labels of nobody", ([], [])
    if up:
        yield "one twice", (up, sorted({*down, *up}))
    wrong = [row for row in range(size) if not upper[row]][:1]
    yield "one that cannot rise", (wrong, [])
    yield "too many", ([row for row in range(size) if upper[row]], [])
    yield "one that cannot fall", ([], [row for row in range(size) if not lower[row]][:1])


@pytest.mark.parametrize("kind", ["logistic", "weighted", "class-weights", "counts", "some"])
def test_another_witness_proves_nothing(cases, kind, tmp_path):
    case = cases[kind]
    size, bias = case.document["data"]["train_rows"], case.document["bias"]
    claims = [c for c in case.document["claims"] if "witness" in c]
    changes = [dict(witness_changes(claim, bias, size)) for claim in claims]
    for what in {name for each in changes for name in each}:
        document = copy.deepcopy(case.document)
        altered = {c["row"]: each[what] for c, each in zip(claims, changes, strict=True)
                   if what in each}  # fmt: skip
        for row, (up, down) in altered.items():
            document["claims"][row]["witness"] = {"up": up, "down": down}
        report = checked(document, case.data, tmp_path)
        if what != "one label less":  # the attack that found it need not be the smallest
            assert altered
            failed = report.rejected.keys() | report.not_reproven.keys()
            assert altered.keys() <= failed, what
    assert claims


# --- malformed ------------------------------------------------------------------------------


def test_files_fit_the_published_schema(cases):
    for case in cases.values():
        VALIDATOR.validate(case.document)


def put(document, **parts):
    made = copy.deepcopy(document)
    for name, change in parts.items():
        made[name] = made.get(name, {}) | change
    return made


def malformed(case, folder):
    document = case.document

    def proven(**arrays):
        return with_proof(document, proof_of(case) | arrays, folder, "bad.proof.npz")

    yield put(document, model={"kind": "ridge", "alpha": 1.0}), "not a certificate file"
    yield put(document, question={"threshold": "balanced"}), "not one about a logistic model"
    yield document | {"region": {}}, "must not have a field 'region'"
    yield put(document, bias={"upper": 0.5}), "labels of a logistic model must be 0 and 1"
    collective = {"ask": "together", "at_least": 0, "at_most": 1,
                  "witness": {"up": [], "down": []}}  # fmt: skip
    made = put(document, collective=collective)
    made["claims"] = []
    yield made, "no collective claims"
    found = proof_of(case)
    boxes, table, cases = (found[name].copy() for name in ("boxes", "bounds", "cases"))
    yield proven(boxes=boxes - 0.1), "of 0 or more"
    yield proven(boxes=boxes[:-1]), "of the proof is|of 0 or more"
    yield proven(boxes=boxes[:, 1:]), "'boxes' of the proof is"
    yield proven(boxes=np.where(boxes > 0, np.nan, boxes)), "NaN or infinity"
    yield proven(parameters=np.ones(9)), "'parameters' of the proof is"
    yield proven(inverse=np.ones((2, 2))), "'inverse' of the proof is"
    yield proven(inverses=found["inverses"][1:]), "'inverses' of the proof is"
    yield proven(witnesses=found["witnesses"][1:]), "'witnesses' of the proof is"
    yield proven(weak=np.array([99.0])), "must be whole"
    yield proven(cases=cases + 0.5), "must be whole"
    yield proven(cases=cases + 1e6), "must be whole"
    yield proven(bounds=table[:, 1:]), "'bounds' of the proof is"
    for column, value in ((0, 7.0), (1, -1.0), (1, 1e9), (2, 2.0), (3, 1e9), (4, 3.0), (4, 0.5)):
        wrong = table.copy()
        wrong[0, column] = value
        yield proven(bounds=wrong), "must be whole"


def test_malformed_files_are_refused_in_one_line(cases, tmp_path):
    case = cases["logistic"]
    for document, reason in malformed(case, tmp_path):
        with pytest.raises(CertificateError, match=reason):
            checked(document, case.data, tmp_path)


def test_without_its_proof_a_file_proves_nothing(cases, tmp_path):
    case = cases["logistic"]
    document = copy.deepcopy(case.document)
    del document["proof"]
    report = checked(document, case.data, tmp_path)
    assert len(report.not_reproven) == len(document["claims"])


def test_a_count_is_nothing_for_a_linear_model(tmp_path, cases):
    document = put(cases["counts"].document)
    document["model"] = {"kind": "ridge", "alpha": 1.0, "intercept": True}
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="not one about a ridge model"):
        verify(path, data=cases["counts"].data)


# --- the command ----------------------------------------------------------------------------


def run(document, data, folder, capsys):
    path = folder / "c.json"
    checked(document, data, folder)
    (folder / "altered.json").rename(path)
    code = main(["verify", str(path), "--data", str(data)])
    return code, capsys.readouterr().out


def test_the_command_says_what_proved_how_many(cases, tmp_path, capsys):
    case = cases["logistic"]
    code, out = run(case.document, case.data, tmp_path, capsys)
    assert code == 0
    assert "model: logistic regression, penalty 10.0, with an intercept (C is about 0.1)" in out
    assert "verdicts by what proves them: " in out
    assert "robust by the region: " in out
    assert "not robust by a witness: " in out


def narrowed(document, share):
    """The file with one end of a range cut, of a row that is robust."""
    made = copy.deepcopy(document)
    claim = next(c for c in made["claims"] if c["verdict"] == "robust")
    claim["low"] += share * (claim["high"] - claim["low"])
    return made, claim["row"]


def just_open(case, folder):
    """A file with a range so narrow that it is not proven, and not so narrow that it is false."""
    proven, false = 0.0, 0.9
    for _ in range(30):
        share = (proven + false) / 2
        document, row = narrowed(case.document, share)
        report = checked(document, case.data, folder)
        if row in report.not_reproven:
            return document, row
        proven, false = (proven, share) if row in report.rejected else (share, false)
    raise AssertionError("nothing is open")


def test_a_claim_that_is_neither_proven_nor_false_is_exit_code_3(cases, tmp_path, capsys):
    document, row = just_open(cases["class-weights"], tmp_path)
    code, out = run(document, cases["class-weights"].data, tmp_path, capsys)
    assert code == 3
    assert ", 1 not re-proven" in out
    assert f"claim {row} not re-proven: what the file says does not prove its low end" in out


def test_a_false_claim_is_exit_code_1(cases, tmp_path, capsys):
    case = cases["logistic"]
    document = copy.deepcopy(case.document)
    claim = next(c for c in document["claims"] if c["verdict"] == "robust")
    claim["decision"] = 1 - claim["decision"]
    code, out = run(document, case.data, tmp_path, capsys)
    assert code == 1
    assert "the decision is" in out


def test_a_file_without_a_region_can_still_prove_that_rows_are_not_robust(cases, tmp_path):
    case = cases["open"]
    report = checked(case.document, case.data, tmp_path)
    assert not report.robust
    assert report.not_robust == report.proven > 0
    document = copy.deepcopy(case.document)
    claim = next(c for c in document["claims"] if c["verdict"] == "not-robust")
    claim["verdict"] = "robust"
    del claim["witness"]
    claim.pop("minimum_budget", None)
    document = with_proof(document, fitted(case, document), tmp_path)
    report = checked(document, case.data, tmp_path)
    assert "the file has no region" in report.not_reproven[claim["row"]]


def test_offsets_that_do_not_belong_to_the_parameters_prove_nothing(cases, tmp_path):
    case = cases["years"]
    about = proof_of(case)["offsets"]
    for offsets in ([about[0] + 1.0, 0.0], [0.0, 0.0], [about[0] + 1e-3, 0.1], [1e300, 0.0]):
        proof = proof_of(case) | {"offsets": np.array(offsets)}
        document = with_proof(case.document, proof, tmp_path)
        report = checked(document, case.data, tmp_path)
        assert not report.robust, offsets


def test_offsets_need_an_intercept(cases, tmp_path):
    case = cases["weighted"]
    proof = proof_of(case) | {"offsets": np.array([0.5, 0.0])}
    document = with_proof(case.document, proof, tmp_path)
    report = checked(document, case.data, tmp_path)
    assert not report.robust
    assert not report.not_robust


def test_nothing_false_is_accepted_of_forged_files(tmp_path):
    tally, accepted = forgeries(range(5), some(2, 6), tmp_path)
    assert not accepted
    assert tally["claims not re-proven"] > some(5, 20)
    assert tally["claims accepted"] > some(5, 20)
