"""Every field of a collective claim altered in turn: nothing is called proven that is not true.

What is true is found by trying every label set in fractions, by code of its own.
"""

import json
from itertools import islice

import jsonschema
import pytest

from tests.effort import some
from tests.verify.collective import truth_of, untrue
from tests.verify.test_collective import KINDS
from tests.verify.test_mutations import mutations
from unswayed.verify import CertificateError, schema_text

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema_text()))

SOME = some(6, 40)  # alterations of each kind; another test tries all


def alterations(document):
    """Documents with one thing changed in their collective claim."""
    for path, made in mutations({"collective": document["collective"]}):
        if "collective" in made:
            yield path, document | made


def outcome(document, data, truth):
    """Why a document is refused or rejected, or "proven", or "open"; never something untrue."""
    try:
        false, report = untrue(document, data, truth)
    except CertificateError as error:
        return str(error)
    assert not false, (false, json.dumps(document["collective"])[:3000])
    assert VALIDATOR.is_valid(document)
    if report.rejected:
        return "rejected"
    return "open" if report.undecided else "proven"


def check_all(case, altered):
    truth = truth_of(case.document, case.data)
    return [outcome(document, case.data, truth) for _, document in altered]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_untrue_is_called_proven_in_an_altered_file(collective, kind):
    case = collective[kind]
    every = list(alterations(case.document))
    found = check_all(case, islice(every, 0, None, max(1, len(every) // SOME)))
    assert found.count("proven") < len(found)
    assert len(found) >= SOME


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_untrue_is_called_proven_in_any_altered_file(collective, kind):
    case = collective[kind]
    found = check_all(case, alterations(case.document))
    assert "rejected" in found


def test_a_larger_budget_is_another_question(collective):
    for kind in ("together", "difference", "gap"):
        case = collective[kind]
        document = json.loads(json.dumps(case.document))
        document["bias"]["budget"] += 1
        result = outcome(document, case.data, truth_of(document, case.data))
        assert result in ("rejected", "open")


BAD = {
    "claims beside it": (
        lambda d: d.update(claims=[{"row": 0, "verdict": "undecided"}]), "no others",
    ),
    "another question": (lambda d: d["question"].update(task="regression"), "not a certificate"),
    "a tree before the first": (lambda d: d["collective"].update(tree=-1), "out of range"),
    "a solution of no row": (
        lambda d: d["collective"].update(solutions=[{"row": 99, "solution": ["1"]}]), "solutions",
    ),
    "rows out of order": (lambda d: d["collective"].update(where=[3, 1]), "ascending"),
    "no rows": (lambda d: d["collective"].update(where=[]), "must name a row"),
    "negative weights": (lambda d: d["collective"].update(weights=-1), "must not be negative"),
    "a witness of a row that is not there": (
        lambda d: d["collective"]["witness"].update(up=[99]), "a witness",
    ),
    "an unknown question": (lambda d: d["collective"].update(ask="all"), "must be one of"),
    "a share for each of other labels": (
        lambda d: d["collective"]["witness"].update(shares="eJxjYGBgAAAABAAB"), "shares",
    ),
}  # fmt: skip

BAD_METRICS = {
    "no such metric": (lambda c: c.update(metric="precision_difference"), "there is no metric"),
    "groups too few": (lambda c: c.update(groups=c["groups"][:1]), "two of them"),
    "a row in two groups": (
        lambda c: c["groups"][0].update(rows=c["groups"][1]["rows"]), "one group",
    ),
    "two groups of a name": (
        lambda c: c["groups"][0].update(name=c["groups"][1]["name"]), "same name",
    ),
    "truth that nobody needs": (lambda c: c.update(truth=[0]), "or must not"),
    "no groups": (lambda c: c.pop("groups"), "must have groups"),
    "a rate of no rows": (
        lambda c: c.update(metric="true_positive_rate_difference", truth=[]), "a share of no rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_malformed_claim_is_refused(collective, what):
    change, why = BAD[what]
    refused(collective["together"], change, why)


@pytest.mark.parametrize("what", BAD_METRICS)
def test_a_malformed_metric_is_refused(collective, what):
    change, why = BAD_METRICS[what]
    refused(collective["difference"], lambda d: change(d["collective"]), why)


def refused(case, change, why):
    document = json.loads(json.dumps(case.document))
    change(document)
    assert why in outcome(document, case.data, truth_of(case.document, case.data))
