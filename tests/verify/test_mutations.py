"""Every field of valid files altered in turn: whatever makes a claim false is rejected.

Whether an altered file is still true is judged here in fractions, by code of its own.
"""

import copy
import json
import math
from fractions import Fraction
from itertools import islice

import jsonschema
import numpy as np
import pytest

from tests.effort import some
from tests.verify import exact
from tests.verify.files import doubles, pack, rows_of, truths, unpack
from tests.verify.test_files import KINDS
from unswayed.verify import schema_text

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema_text()))


def leaves(value, path=()):
    yield path, value
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))


def others(value):
    """Values to put in the place of one."""
    if isinstance(value, bool):
        return [not value, int(value), None]
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 1, 10 * value + 7, value + 0.5, True, None, "never"]
    if isinstance(value, float):
        return [
            math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value, value * 2,
            value + 1, 0.0, 1e300, -1e300, None, str(value), [value],
        ]  # fmt: skip
    if isinstance(value, str):
        return [value[:-1], value[::-1], value + "A", "", "robust", "not-robust", "undecided",
                "never", 0, None, *repacked(value)]  # fmt: skip
    return [None, [], {}]


def repacked(text):
    """Packed numbers, altered before they are packed again."""
    for code in "Id":
        try:
            values = unpack(text, code)
        except Exception:  # no packed numbers at all
            return
        if code == "d" and all(value == 0 or 1e-9 < abs(value) < 1e9 for value in values):
            for at in (0, len(values) // 2):
                for new in (0.0, -values[at], 2 * values[at] + 1, math.nan):
                    yield pack([*values[:at], new, *values[at + 1 :]], "d")
            yield pack(values[:-1], "d")
        if code == "I" and max(values) < 1000:
            for new in (0, values[0] + 1, values[-1] + 500):
                yield pack([new, *values[1:]], "I")
            yield pack(values[:-1], "I")
            yield pack([*values, 1], "I")
            yield pack(values[::-1], "I")


def put(document, path, value):
    made = copy.deepcopy(document)
    target = made
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return made


def mutations(document):
    for path, value in leaves(document):
        if not path:
            continue
        for new in others(value):
            if type(new) is not type(value) or new != value:
                yield path, put(document, path, new)
        parent = copy.deepcopy(document)
        target = parent
        for key in path[:-1]:
            target = target[key]
        if isinstance(target, dict):
            yield path, put(document, (*path[:-1], "stranger"), value)
            del target[path[-1]]
            yield path[:-1], parent
        else:
            yield path[:-1], put(document, path[:-1], [*target, target[path[-1]]])
            yield (
                path[:-1],
                put(document, path[:-1], [*target[: path[-1]], *target[path[-1] + 1 :]]),
            )
            yield path[:-1], put(document, path[:-1], target[::-1])


def claim_is_true(claim, fact, document, lower, upper):
    z, score, low, high, least = fact
    rule, budget = document["question"], document["bias"]["budget"]
    decided = claim["verdict"] != "undecided" and rule["task"] != "regression"
    if decided != ("decision" in claim):
        return False
    if decided and claim["decision"] != exact.decision(rule, score):
        return False
    if Fraction(claim.get("low", low)) > low or Fraction(claim.get("high", high)) < high:
        return False
    bounds = claim.get("minimum_budget", [0, "never"])
    bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
    at_least, at_most = (math.inf if bound == "never" else bound for bound in bounds)
    if not at_least <= least <= at_most:
        return False
    if claim["verdict"] != "not-robust":
        return "witness" not in claim and (claim["verdict"] == "undecided" or least > budget)
    if "witness" not in claim:
        return False
    up, down = (rows_of(claim["witness"][key]) for key in ("up", "down"))
    rows = up + down
    if len(set(rows)) < len(rows) or any(not 0 <= row < len(z) for row in rows):
        return False
    if sorted(up) != up or sorted(down) != down or len(rows) > budget:
        return False
    if isinstance(claim.get("minimum_budget"), int) and len(rows) != least:
        return False
    if any(upper[row] <= 0 for row in up) or any(lower[row] >= 0 for row in down):
        return False
    moved = score + sum(z[row] * Fraction(upper[row]) for row in up)
    moved += sum(z[row] * Fraction(lower[row]) for row in down)
    return exact.overturned(rule, score, moved)


def asks_well(document):
    """Whether contrasts are of features that there are, each once, and one per claim."""
    about, contrasts = document["data"], document["question"].get("contrasts")
    if contrasts is None:
        coefficients = document["question"]["task"] == "coefficients"
        return not coefficients or about["test_rows"] == about["features"]
    return about["test_rows"] == len(contrasts) and all(
        each["features"] == sorted(set(each["features"]))
        and all(feature < about["features"] for feature in each["features"])
        and len(each["features"]) == len(each["weights"])
        and (document["model"]["intercept"] or not each.get("intercept"))
        for each in contrasts
    )


def is_true(document, original, data, memory):
    """Whether a document is well-formed, about these data, and true in every claim."""
    if not VALIDATOR.is_valid(document):
        return False
    about, first = ({**each["data"], "classes": None} for each in (document, original))
    rows = sorted(claim["row"] for claim in document["claims"])
    if about != first or rows != list(range(about["test_rows"])):
        return False
    if not asks_well(document):
        return False
    named = document["data"].get("classes")
    if named and not len(named["values"]) == len(named["numbers"]) == 2:
        return False
    if any(
        isinstance(leaf, bool) for path, leaf in leaves(document) if path[-1:] != ("intercept",)
    ):
        return False
    size = about["train_rows"]
    try:
        vectors = [document["bias"]["lower"], document["bias"]["upper"],
                   document["model"].get("weights", 1.0)]  # fmt: skip
        lower, upper, weights = (doubles(each, size) for each in vectors)
        claims = [rows_of(claim["witness"][key])
                  for claim in document["claims"] if "witness" in claim
                  for key in ("up", "down")]  # fmt: skip
    except Exception:  # packed numbers that cannot be unpacked
        return False
    assert isinstance(claims, list)
    everything = np.array([*lower, *upper, *weights])
    if len(everything) != 3 * size or not np.isfinite(everything).all():
        return False
    if max(lower) > 0 or min(upper) < 0 or min(weights) < 0 or not any(weights):
        return False
    key = json.dumps([document["model"], document["bias"], document["question"]])
    if key not in memory:
        memory[key] = truths(document, data)
    return all(
        claim_is_true(claim, memory[key][claim["row"]], document, lower, upper)
        for claim in document["claims"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_altered_file_is_accepted_exactly_if_it_is_still_true(cases, check, kind):
    case, memory = cases[kind], {}
    assert is_true(case.document, case.document, case.data, memory)
    accepted = set()
    for path, altered in islice(mutations(case.document), 0, None, some(20, 1)):
        expected = is_true(altered, case.document, case.data, memory)
        found = check(altered, case.data) == "accepted"
        assert found == expected, (path, json.dumps(altered)[:4000], check(altered, case.data))
        if found:
            accepted.add(tuple("*" if isinstance(key, int) else key for key in path))
    assert accepted <= TRUE_STILL, accepted - TRUE_STILL


# Where a change can leave every claim true: wider ranges and claims of less (no verdict, no
# minimum budget), other witnesses that prove the same, a question that the same claims answer,
# claims or lists of one in another order, and what claims nothing (the version; classes, which
# are for tables).
TRUE_STILL = {
    ("unswayed",), ("data",), ("data", "classes"), ("data", "classes", "values"),
    ("data", "classes", "values", "*"), ("data", "classes", "numbers"),
    ("data", "classes", "numbers", "*"), ("claims",), ("claims", "*"), ("claims", "*", "verdict"),
    ("claims", "*", "low"), ("claims", "*", "high"),
    ("claims", "*", "minimum_budget"), ("claims", "*", "witness", "down"),
    ("claims", "*", "witness", "up"), ("claims", "*", "witness", "down", "*"),
    ("claims", "*", "witness", "up", "*"), ("question", "threshold"), ("question", "radius"),
    ("model", "alpha"), ("model", "weights"), ("bias", "lower"), ("bias", "upper"),
    ("bias", "budget"), ("model",), ("model", "intercept"),
    ("question", "contrasts", "*", "weights", "*"),
    ("question", "contrasts", "*", "weights"), ("question", "contrasts", "*", "features"),
    ("question", "contrasts", "*", "intercept"), ("question", "contrasts", "*"),
}  # fmt: skip


def test_there_are_thousands_of_mutations(cases):
    counts = [sum(1 for _ in mutations(case.document)) for case in cases.values()]
    assert min(counts) > 200
    assert sum(counts) > 5000
