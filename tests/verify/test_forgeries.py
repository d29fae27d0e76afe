"""Files whose claims and hints are forged together, hashes put right: nothing false is proven.

What is true is worked out in fractions, by code that shares nothing with the checker. Whatever the
hints are, a claim that is accepted is true, and one that is true is never called false. With good
hints it is accepted.
"""

import copy
import hashlib
import json
import math
from collections import Counter

import numpy as np
import pytest

from tests.effort import some
from tests.verify import exact
from tests.verify.files import doubles, rows_of, truths
from tests.verify.proving import proof_of, write
from tests.verify.test_files import KINDS
from tests.verify.test_mutations import claim_is_true
from unswayed.verify import CertificateError, verify

FILES = some(10, 80)  # of each kind


# --- claims ---------------------------------------------------------------------------------


def verdict(rng, claim, fact):
    claim["verdict"] = pick(rng, "robust", "not-robust", "undecided")
    if claim["verdict"] != "not-robust":
        claim.pop("witness", None)
    if claim["verdict"] == "undecided":
        claim.pop("decision", None)


def budget(rng, claim, fact):
    least = fact[-1]
    said = 5 if math.isinf(least) else least
    claim["minimum_budget"] = pick(rng, said, said + 1, max(0, said - 1), "never", [0, said],
                                   [said, "never"], [said + 1, said + 2])  # fmt: skip


def end(rng, claim, fact):
    """An end of a range, one unit in the last place or a billionth off, either way."""
    which = pick(rng, "low", "high")
    value = exact.below(fact[2]) if which == "low" else exact.above(fact[3])
    away = pick(rng, -math.inf, math.inf)
    wide = abs(value) * 1e-9 * math.copysign(1, away)
    claim[which] = pick(rng, math.nextafter(value, away), value + wide, value)


def decision(rng, claim, fact):
    if "decision" in claim:
        claim["decision"] = pick(rng, 0, 1)


def witness(rng, claim, fact):
    """One label more, less or another one."""
    if "witness" not in claim:
        return
    way = pick(rng, "up", "down")
    rows = set(rows_of(claim["witness"][way]))
    rows ^= {int(rng.integers(len(fact[0]))) for _ in range(int(rng.integers(1, 3)))}
    claim["witness"] = {**claim["witness"], way: sorted(rows)}


def fraction(rng, claim, fact):
    """A digit of a solution in fractions, or the solution of nothing."""
    if "solution" in claim:
        made = claim["solution"]
        at = int(rng.integers(len(made)))
        number = int(made[at], 16) + pick(rng, 1, -1, 2**20)
        made[at] = pick(rng, f"{number:x}", "0", "1")


# --- hints, and the question ----------------------------------------------------------------


def hint(rng, document, arrays):
    """One entry, a row or all of an array of the proof."""
    values = arrays[pick(rng, *sorted(arrays))]
    if not values.size:
        return
    here = pick(rng, slice(None), int(rng.integers(len(values))))
    if values.ndim == 2 and rng.random() < 0.5:
        here = (here, int(rng.integers(values.shape[1])))
    change = pick(rng, lambda v: np.nextafter(v, np.inf), lambda v: v * (1 + 1e-9), lambda v: -v,
                  lambda v: 0 * v, lambda v: v * 1e6, lambda v: v + 1.0, lambda v: 1e300 + 0 * v,
                  np.flip)  # fmt: skip
    values[here] = change(values[here])


def lost(rng, document, arrays):
    """An array that is not there."""
    del arrays[pick(rng, *sorted(arrays))]


def mixed_up(rng, document, arrays):
    """The hints of other rows."""
    values = arrays[pick(rng, *sorted(arrays))]
    values[:] = rng.permutation(values)


def question(rng, document, arrays):
    rule = document["question"]
    for mark in ("threshold", "radius"):
        if mark in rule:
            change = pick(rng, 1e-9, -1e-9, 0.1, -0.1)
            rule[mark] = max(0.0, rule[mark] + change) if mark == "radius" else rule[mark] + change
    document["bias"]["budget"] = max(0, document["bias"]["budget"] + pick(rng, -1, 0, 1))


CLAIMS = (verdict, budget, end, end, decision, witness, fraction)
HINTS = (hint, hint, hint, lost, mixed_up, question)


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def forged(case, rng, facts, path):
    """Write a file with one to four forgeries; return it, and whether its hints are good."""
    document = copy.deepcopy(case.document)
    good = bool(rng.random() < 0.7)
    arrays, solutions = proof_of(document, case.data, exactly=good)
    for claim in document["claims"]:
        if claim["row"] in solutions:
            claim["solution"] = list(solutions[claim["row"]])
    for _ in range(int(rng.integers(1, 4))):
        claim, forge = pick(rng, *document["claims"]), pick(rng, *CLAIMS)
        forge(rng, claim, facts[claim["row"]])
        good &= forge is not fraction
    if rng.random() < 0.7:
        pick(rng, *HINTS)(rng, document, arrays)
        good = False
    write(document, {name: np.nan_to_num(each) for name, each in arrays.items()}, path)
    return document, good


def judged(document, data):
    """Whether each claim is true, by its row."""
    size = document["data"]["train_rows"]
    lower, upper = (doubles(document["bias"][end], size) for end in ("lower", "upper"))
    facts = truths(document, data)
    return {
        claim["row"]: claim_is_true(claim, facts[claim["row"]], document, lower, upper)
        for claim in document["claims"]
    }


def outcomes(kind, case, tmp_path):
    """How many claims came out how; raise where one that is accepted is false."""
    facts, counts = truths(case.document, case.data), Counter()
    for seed in range(FILES):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        path = tmp_path / "c.json"
        document, good = forged(case, rng, facts, path)
        true = judged(document, case.data)
        try:
            report = verify(path, data=case.data)
        except CertificateError:
            counts["no certificate"] += 1
            continue
        counts["files"] += 1
        for row, holds in true.items():
            where = f"{kind}, seed {seed}, row {row}: {json.dumps(document['claims'])[:2000]}"
            if row in report.rejected:
                assert not holds, f"{where}\n{report.rejected[row]}"
                counts["rejected"] += 1
            elif row in report.not_reproven:
                assert not (holds and good), f"{where}\n{report.not_reproven[row]}"
                counts["not re-proven"] += 1
            else:
                assert holds, where
                counts["accepted"] += 1
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_no_forgery_is_accepted_unless_it_is_true_and_nothing_true_is_called_false(
    cases, tmp_path, kind
):
    counts = outcomes(kind, cases[kind], tmp_path)
    assert counts["files"] > FILES / 2
    assert counts["accepted"] > 0
    assert counts["rejected"] + counts["not re-proven"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_proof_of_other_data_is_refused(cases, tmp_path, kind):
    case = cases[kind]
    document = copy.deepcopy(case.document)
    arrays, _ = proof_of(document, case.data)
    path = tmp_path / "c.json"
    write(document, arrays, path)
    digest = document["proof"]["sha256"]
    document["proof"]["sha256"] = hashlib.sha256(digest.encode()).hexdigest()
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="hash differs"):
        verify(path, data=case.data)


if __name__ == "__main__":  # python -m tests.verify.test_forgeries
    import tempfile
    from pathlib import Path

    from tests.verify.files import make_cases

    with tempfile.TemporaryDirectory() as folder:
        total = Counter()
        for name, each in make_cases(Path(folder)).items():
            total.update(outcomes(name, each, Path(folder)))
        print(dict(total))
