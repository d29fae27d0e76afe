"""What save writes: valid by the schema and by the checker, compact, and the same as computed."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from tests.verify.files import truths
from unswayed import CertifiedClassifier, InputError, LabelBias
from unswayed.verify import schema_text, verify

KINDS = (
    "classification", "signed", "regression", "weighted", "coefficients", "contrasts",
    "intercept", "kernel", "smoother", "rank-deficient", "wide", "long",
)  # fmt: skip


def test_there_is_a_case_of_every_kind(cases):
    assert tuple(cases) == KINDS
    verdicts = {claim["verdict"] for case in cases.values() for claim in case.document["claims"]}
    assert verdicts == {"robust", "not-robust"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_file_is_valid_and_every_claim_is_proven(cases, check, kind):
    case = cases[kind]
    jsonschema.Draft202012Validator(json.loads(schema_text())).validate(case.document)
    assert check(case.document, case.data) == "accepted"


@pytest.mark.parametrize("kind", KINDS)
def test_the_claims_are_what_fractions_say(cases, kind):
    document = cases[kind].document
    for claim, (*_, least) in zip(document["claims"], truths(document, cases[kind].data),
                                  strict=True):  # fmt: skip
        assert claim["minimum_budget"] == (least if np.isfinite(least) else "never")


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_a_claim_with_a_witness_of_fifty_labels_is_below_a_kilobyte(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 3)), rng.random(20_000) < 0.49
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=5000)).fit(X, y).certify(X[:9])
    certs.save(tmp_path / "c.json")
    lines = (tmp_path / "c.json").read_text().splitlines()[1:-1]
    claims = [json.loads(line.rstrip(",")) for line in lines]
    for line, claim in zip(lines, claims, strict=True):
        labels = claim["minimum_budget"]
        assert len(line) < (1000 if labels <= 50 else 300 + 3 * labels)
    sizes = sorted(claim["minimum_budget"] for claim in claims)
    assert sizes[0] <= 50 < sizes[-1]


def test_undecided_rows_claim_no_verdict_but_their_range_is_checked(cases, check):
    case = cases["classification"]
    document = json.loads(json.dumps(case.document))
    for claim in document["claims"]:
        claim["verdict"] = "undecided"
        for key in ("witness", "decision", "minimum_budget"):
            claim.pop(key, None)
    assert check(document, case.data) == "accepted"
    document["claims"][0]["low"] += 1e-9
    assert check(document, case.data) == "rejected"


def test_sparse_and_dense_rows_have_one_hash(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.integers(-1, 2, (40, 6)) * 1.0, rng.integers(0, 2, 40)
    hashes = []
    for rows in (X, np.where(X == 0, -0.0, X), sparse.csr_array(X)):
        model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(rows, y)
        model.certify(rows[:5]).save(tmp_path / "c.json", data=tmp_path / "c.npz")
        hashes.append(json.loads((tmp_path / "c.json").read_text())["data"]["sha256"])
        assert verify(tmp_path / "c.json", data=tmp_path / "c.npz").proven == 5
    assert hashes[0] == hashes[1] == hashes[2]


def test_what_the_caller_vouched_for_is_written_only_if_there_is_something(tmp_path):
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 0, 1, 1]
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y).certify(X)
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    certs.save(path, data=data)
    assert "trusted" not in json.loads(path.read_text())
    replace(certs, source=replace(certs.source, trusted=("sample_weight",))).save(path, data=data)
    assert json.loads(path.read_text())["trusted"] == ["sample_weight"]
    assert "whoever wrote the file: 'sample_weight'" in verify(path, data=data).question


def test_certificates_without_a_model_cannot_be_saved(tmp_path):
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit([[0], [1]], [0, 1])
    with pytest.raises(InputError, match="carry no model"):
        replace(model.certify([[0]]), source=None).save(tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_certificates_and_data_do_not_overwrite_each_other(tmp_path):
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 0, 1, 1]
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y).certify(X)
    with pytest.raises(InputError, match="cannot hold both"):
        certs.save(tmp_path / "c.json", data=tmp_path / "c.json")
    assert not list(tmp_path.iterdir())
