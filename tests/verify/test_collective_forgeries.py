"""Two thousand forged claims about all rows together, each judged by trying every label set.

Forged are values and ends, names and terms, weights, the question, witnesses and the numbers of
trees, up to three at once, by whoever knows the format: most of them are well-formed. Half of them
have forged proofs: trees, multipliers, thresholds, solutions.
"""

import copy
import json
import math
from collections import Counter

import numpy as np
import pytest

from tests.verify.collective import forged_proof, untrue
from tests.verify.files import pack, rows_of, unpack
from tests.verify.test_collective import KINDS
from unswayed.joint.metrics import names
from unswayed.verify import CertificateError

CHUNK, CHUNKS = 50, 20
N_TRAIN, N_TESTS = 14, 14


def numbers(given, size):
    return unpack(given, "d") if isinstance(given, str) else [given] * size


def moved(rng, number):
    """A number somewhat off, by a digit or by one unit in the last place."""
    ways = (
        math.nextafter(number, -math.inf), math.nextafter(number, math.inf), number + 1e-9,
        number - 1e-9, number + 1 / N_TESTS, number - 1 / N_TESTS, -number, 2 * number, 0.0, 1.0,
        number * (1 + 1e-4 * rng.normal()), number + rng.normal(),
    )  # fmt: skip
    return float(ways[rng.integers(len(ways))])


def some_rows(rng, size, most):
    return sorted(rng.permutation(size)[: rng.integers(0, most + 1)].tolist())


# --- what is forged: each changes a document in place, or leaves it as it is ---------


def values(rng, document):
    claim = document["collective"]
    if "value" not in claim:
        claim["at_least"] += int(rng.integers(1, 3))
    elif isinstance(claim["value"], list):
        low, high = claim["value"]
        pairs = (
            [0.0, 1e300], [-1e300, 1e300], [high, low], [low, math.nan], [math.nan, high],
            [low, low], [moved(rng, low), high], [low, moved(rng, high)], [low - 1e-4, high + 1e-4],
            [low, high + 1e-4 * abs(high)], [low, 1e308], [-0.0, 0.0],
        )  # fmt: skip
        claim["value"] = pairs[rng.integers(len(pairs))]
    else:
        claim["value"] = moved(rng, claim["value"])


def ends(rng, document):
    claim = document["collective"]
    if "low" not in claim:
        claim["at_most"] = max(0, claim["at_most"] - int(rng.integers(1, 3)))
        return
    name, part = rng.choice(["low", "high"]), rng.choice(["outer", "inner"])
    if rng.random() < 0.2:
        claim["low"], claim["high"] = claim["high"], claim["low"]
    elif rng.random() < 0.3:
        claim[name]["outer"] = claim["value"][0] if "mean" in claim["ask"] else claim["value"]
    else:
        claim[name][part] = moved(rng, claim[name][part])


def metric_names(rng, document):
    claim = document["collective"]
    if "metric" in claim:
        means = ["mean_prediction", "mean_prediction_difference"]
        claim["metric"] = str(rng.choice(means if claim["ask"] == "mean" else [*names(), *means]))
    else:
        claim["direction"] = str(rng.choice(["up", "down"]))


def terms(rng, document):
    claim = document["collective"]
    for each in claim.get("terms", ()):
        side = str(rng.choice(["negative", "positive"]))
        made = numbers(each[side], N_TESTS)
        made[rng.integers(N_TESTS)] += float(rng.choice([-1.0, 0.25, 1e9]))
        each[side] = pack(made, "d")


def weights(rng, document):
    claim = document["collective"]
    if claim["ask"] == "together":
        made = numbers(claim.get("weights", 1.0), N_TESTS)
        made[rng.integers(len(made))] = float(rng.choice([0.0, 0.3, 5.0]))
        claim["weights"] = pack(made, "d")


def questions(rng, document):
    bias, question, model = document["bias"], document["question"], document["model"]
    way = rng.integers(5)
    if way == 0:
        bias["budget"] = int(rng.integers(0, 4))
    elif way == 1:
        bias[str(rng.choice(["upper", "lower"]))] = 0.0
    elif way == 2 and question.get("threshold") != "balanced":
        name = "threshold" if "threshold" in question else "radius"
        question[name] = abs(question[name] + float(rng.normal()) / 4)
    elif way == 3:
        model["alpha"] = float(rng.choice([0.1, 0.3, 3.0]))
    else:
        model["intercept"] = not model["intercept"]


def subjects(rng, document):
    claim = document["collective"]
    if "truth" in claim:
        claim["truth"] = some_rows(rng, N_TESTS, N_TESTS)
    if "groups" in claim:
        which = rng.integers(0, len(claim["groups"]), N_TESTS)
        for at, group in enumerate(claim["groups"]):
            group["rows"] = np.flatnonzero(which == at).tolist()
    if claim["ask"] == "together":
        claim["where"] = some_rows(rng, N_TESTS, N_TESTS)


def witnesses(rng, document):
    claim = document["collective"]
    witness = (claim if "witness" in claim else claim[str(rng.choice(["low", "high"]))])["witness"]
    way = rng.integers(4)
    if way == 0:
        witness["up"], witness["down"] = witness["down"], witness["up"]
    elif way == 1:
        name = str(rng.choice(["up", "down"]))
        witness[name] = some_rows(rng, N_TRAIN, 3)
    elif way == 2:
        count = len(rows_of(witness["up"])) + len(rows_of(witness["down"]))
        witness["shares"] = pack(rng.random(count).tolist(), "d") if count else 0.5
    elif "overturned" in witness:
        witness["overturned"] = some_rows(rng, N_TESTS, N_TESTS)


def trees(rng, document):
    claim = document["collective"]
    parts = [claim] if claim["ask"] == "together" else [claim["low"], claim["high"]]
    for each in parts:
        for name in ("tree", "floor"):
            if name in each and rng.random() < 0.7:
                each[name] = int(rng.integers(0, 6))


FORGERS = (
    values, values, ends, ends, metric_names, terms, weights, questions, subjects, witnesses,
    trees,
)  # fmt: skip


# --- forged proofs: whatever a file carries, nothing false follows from it -----------


def rows_of_an_array(rng, given):
    """Some rows missing, twice, or in another order."""
    way, size = rng.integers(3), len(given)
    if way == 0:
        return given[np.sort(rng.permutation(size)[: rng.integers(0, size + 1)])]
    return given[rng.integers(0, size, size)] if way == 1 else given[rng.permutation(size)]


def numbers_of_an_array(rng, given):
    """Some numbers others: of another sign, another place, much larger, or none."""
    made = given.copy()
    flat = made.reshape(-1)
    for at in rng.integers(0, len(flat), rng.integers(1, 4)):
        ways = (
            -flat[at], flat[at] + 1, flat[at] - 1, 0.0, 1e6 * flat[at], flat[at] * rng.random(),
            float(rng.integers(0, 8)), math.nextafter(flat[at], math.inf), 1e300, -1.0, 0.5,
        )  # fmt: skip
        flat[at] = float(ways[rng.integers(len(ways))])
    return made


def forge_arrays(rng, arrays):
    for name in rng.permutation(sorted(arrays))[: rng.integers(1, 4)]:
        given = arrays[str(name)]
        if given.size:
            ways = (rows_of_an_array, numbers_of_an_array, numbers_of_an_array)
            arrays[str(name)] = ways[rng.integers(len(ways))](rng, given)


def lower(rng, document):
    """An end that the proof might now be taken to show."""
    claim = document["collective"]
    if "at_most" in claim:
        claim["at_most"] = max(0, claim["at_most"] - int(rng.integers(0, 3)))
    else:
        name = str(rng.choice(["low", "high"]))
        inwards = 1 if name == "low" else -1
        claim[name]["outer"] += inwards * float(rng.choice([0.0, 0.01, 0.1, 0.3, 1.0]))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_of_a_thousand_forged_proofs_none_proves_anything_false(collective, chunk):
    found = Counter()
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        kind = KINDS[number % len(KINDS)]
        case, rng = collective[kind], np.random.default_rng([20_27, number])
        document = forged_proof(case.document, case.data, lambda each: forge_arrays(rng, each))  # noqa: B023
        lower(rng, document)
        found[judged(case, document)] += 1
    print(dict(found))  # pytest -s shows it
    assert found.total() == CHUNK
    assert found["open"] > CHUNK / 10  # hints that are wrong leave claims open
    assert found["still true"] > 0


def forged(case, number):
    """Return a forged document: another for each number."""
    rng = np.random.default_rng([20_26, number])
    while True:
        document = copy.deepcopy(case.document)
        for at in rng.permutation(len(FORGERS))[: rng.integers(1, 4)]:
            FORGERS[at](rng, document)
        if document != case.document:
            return document


def judged(case, document):
    """Return what comes of a forged file; raise if anything is called proven that is untrue."""
    try:
        false, report = untrue(document, case.data)
    except CertificateError:
        return "refused"
    assert not false, (false, json.dumps(document["collective"])[:3000])
    if report.rejected:
        return "rejected"
    return "open" if report.undecided else "still true"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_of_a_thousand_forged_claims_none_that_is_false_is_accepted(collective, chunk):
    found = Counter()
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        kind = KINDS[number % len(KINDS)]
        found[judged(collective[kind], forged(collective[kind], number))] += 1
    print(dict(found))  # pytest -s shows it
    assert found.total() == CHUNK
    assert found["rejected"] + found["refused"] + found["open"] > CHUNK / 2
    assert found["rejected"] > CHUNK / 8


@pytest.mark.parametrize("kind", ["mean", "gap"])
def test_every_forged_pair_of_values_is_refused(collective, kind):
    case = collective[kind]
    low, high = case.document["collective"]["value"]
    pairs = ([0.0, 1e300], [high, low], [low, math.nan], [low, high + 1e-4], [-1e308, 1e308])
    for pair in pairs:
        document = copy.deepcopy(case.document)
        document["collective"]["value"] = pair
        assert judged(case, document) in ("rejected", "refused"), pair
