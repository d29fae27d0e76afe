"""Claims about a model whose labels are in its gradient: proven, rejected, or not re-proven.

What is robust follows from the region of the file. A claim that does not follow, although the
region holds, may still be true: the engine has more means than this checker. It is rejected if
labels are found that make it false, else it is *not re-proven*.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unswayed.verify.data import Bias, Data
from unswayed.verify.document import CertificateError
from unswayed.verify.facts import claimed_budgets
from unswayed.verify.floating.rounding import FloatArray, UnprovenError, is_ordinary
from unswayed.verify.gradient.functions import LINKS
from unswayed.verify.gradient.judged import Bounds, Judge
from unswayed.verify.gradient.known import Claim, Known
from unswayed.verify.gradient.question import Range, Rule
from unswayed.verify.integers import Track

KINDS = tuple(LINKS)
"""Models that this folder is about."""

REGION, REMAINDER, WITNESS = "region", "remainder", "witness"


@dataclass
class Settled:
    """What came of claims."""

    # Reasons, by the row of a claim: what is false in it, or not re-proven
    rejected: dict[int, str] = field(default_factory=dict)
    # Reasons, by the row of a claim: what is false in it, or not re-proven
    unproven: dict[int, str] = field(default_factory=dict)
    # Of verdicts that hold, by what they were proven
    stages: "Counter[str]" = field(default_factory=Counter)


def check_document(document: dict[str, Any]) -> None:
    """Raise unless the parts of a file belong together, for all kinds of models."""
    kind, rule = document["model"]["kind"], document["question"]
    counts = rule["task"] == "counts"
    if (kind in KINDS) != ("region" in document):
        raise CertificateError("it must have a region if its model is not linear, and only then")
    if kind not in KINDS:
        if counts:
            raise CertificateError(f"its question is not one about a {kind} model")
        return
    if "collective" in document:
        raise CertificateError(f"there are no collective claims about a {kind} model")
    numbers = counts or rule["task"] == "regression"
    classes = rule["task"] == "classification"
    wrong = numbers if kind == "logistic" else classes
    if wrong or rule.get("threshold") == "balanced":
        raise CertificateError(f"its question is not one about a {kind} model")
    if ("down" in document["region"]) != ("up" in document["region"]):
        raise CertificateError("its region must have both ends, or none")


def settle(document: dict[str, Any], data: Data, bias: Bias, track: Track) -> Settled:
    """Prove or reject claims, or leave them open."""
    if document["model"]["kind"] == "logistic":
        _check_classes(data, bias)
    try:
        _check_arithmetic()
        with np.errstate(all="ignore"):
            found = _settled(document, data, bias, track)
        _check_arithmetic()
    except UnprovenError as error:
        return Settled(unproven={claim["row"]: str(error) for claim in document["claims"]})
    return found


def _check_arithmetic() -> None:
    if not is_ordinary():
        raise UnprovenError("this thread does not round to nearest, or flushes small numbers")


def _check_classes(data: Data, bias: Bias) -> None:
    """Raise unless labels are 0 and 1 and the bias makes the one the other."""
    for label, low, high in zip(data.labels, bias.lower, bias.upper, strict=True):
        if label not in (0.0, 1.0) or low not in (0.0, -label) or high not in (0.0, 1.0 - label):
            raise CertificateError(
                "labels of a logistic model must be 0 and 1, and wrong labels be the other one"
            )


def _settled(document: dict[str, Any], data: Data, bias: Bias, track: Track) -> Settled:
    known, rule = Known(document, data, bias, track), Rule.of(document["question"])
    judge, found = Judge(known, bias, rule), Settled()
    everyone = np.arange(len(known.subjects))
    reached = np.array(known.ranges(everyone, bias.budget)).reshape(-1, 2)
    sharpened = _sharpen(known, rule, reached, bias.budget)
    fewer = _fewer(known, bias.budget)
    pairs = zip(everyone.tolist(), known.scores, reached.tolist(), known.subjects, strict=True)
    for at, base, (low, high), claims in track(pairs, "proving", len(everyone)):
        bounds = Bounds(at, base, (low, high), fewer[at])
        for claim in claims:
            row, verdict = claim["row"], claim["verdict"]
            objections, doubts = judge.judge(claim, bounds)
            if objections:
                found.rejected[row] = "; ".join(objections)
            elif doubts:
                found.unproven[row] = "; ".join(doubts)
            elif verdict == "robust":
                found.stages[REMAINDER if at in sharpened else REGION] += 1
            elif verdict == "not-robust":
                found.stages[WITNESS] += 1
    return found


def _sharpen(known: Known, rule: Rule, reached: FloatArray, budget: int) -> set[int]:
    """Put sharper bounds where claims need them; return whose verdicts needed them."""
    if not known.has_box:
        return set()
    needed: set[int] = set()
    for end, sign in enumerate((-1.0, 1.0)):
        for sharper in (known.remainders, known.own_remainders):
            lacking = []
            for at, claims in enumerate(known.subjects):
                bound = float(reached[at, end])
                verdict, number = _lacks(rule, claims, known.scores[at], bound, end)
                needed |= {at} if verdict else set()
                lacking += [at] if verdict or number else []
            rows = np.array(lacking, dtype=np.int64)
            reached[rows, end] = sharper(rows, reached[rows, end], sign, budget)
    return needed


def _lacks(
    rule: Rule, claims: list[Claim], base: Range, bound: float, end: int
) -> tuple[bool, bool]:
    """Return whether a verdict, or a number, needs a sharper bound at one end than there is."""
    name = ("low", "high")[end]
    stays = rule.stays_below(base, bound) if end else rule.stays_above(base, bound)
    verdict = not stays and any(claim["verdict"] == "robust" for claim in claims)
    said = [claim[name] for claim in claims if name in claim]
    return verdict, any(each < bound if end else each > bound for each in said)


def _fewer(known: Known, budget: int) -> dict[int, dict[int, Range]]:
    """Return what fewer labels than the budget lead to, where claims are about that."""
    asked: dict[int, list[int]] = defaultdict(list)
    for at, claims in enumerate(known.subjects):
        named = (claimed_budgets(claim)[0] - 1 for claim in claims)
        for labels in {int(each) for each in named if 0 < each < budget}:
            asked[labels].append(at)
    found: dict[int, dict[int, Range]] = defaultdict(dict)
    for labels, places in sorted(asked.items()):
        for at, pair in zip(places, known.ranges(np.array(places), labels), strict=True):
            found[at][labels] = pair
    return found
