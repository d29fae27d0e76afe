"""Claims about logistic and Poisson regression, whose labels are in the gradient.

The file has what was searched for: parameters that nearly solve the equations, boxes that margins
of training rows do not leave, and for every claim what bounds its score inside them, or the
parameters that its witness leads to. Here it is evaluated, in doubles with bounds on their error.
Nothing is shared with the engine that made it; not even an exponential of a library is trusted.
Wrong numbers in the file leave a claim unproven, and never make a false one hold. Read it in this
order:

`functions`  exponentials, means and secants from additions and products alone
`equations`  the equations: distinct rows, weights, labels; inverses and solutions, enclosed
`region`     boxes, selections, remainders, inclusions and cases
and here     what follows for claims
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from unswayed.verify import facts
from unswayed.verify.data import Bias, Data, Given
from unswayed.verify.document import CertificateError
from unswayed.verify.doubles import TINY, FloatArray, UnprovenError, is_ordinary
from unswayed.verify.facts import (
    DOWN,
    UNKNOWN,
    UP,
    Ends,
    Facts,
    Judge,
    Judgement,
    Rule,
    Track,
    ends_of,
)
from unswayed.verify.gradient.equations import Inverse, Problem
from unswayed.verify.gradient.functions import EXPONENTIAL, LINKS, exponential
from unswayed.verify.gradient.region import Bound, Region, covered, sized, whole

KINDS = tuple(LINKS)  # models that this folder is about
STAGES = ("region", "remainder", "split")  # what proves that rows are robust, simple ones first
Claim = dict[str, Any]


@dataclass
class Settled:
    """What came of claims."""

    rejected: dict[int, str] = field(default_factory=dict)  # What is false, by the row of a claim
    unproven: dict[int, str] = field(default_factory=dict)  # What is not proven
    stages: "Counter[str]" = field(default_factory=Counter)  # Of verdicts: what proved them


def check_document(document: dict[str, Any]) -> None:
    """Raise unless the parts of a file belong together, for all kinds of models."""
    kind, rule = document["model"]["kind"], document["question"]
    counts = rule["task"] == "counts"
    if kind not in KINDS:
        if counts:
            raise CertificateError(f"its question is not one about a {kind} model")
        return
    if "collective" in document:
        raise CertificateError(f"there are no collective claims about a {kind} model")
    numbers = counts or rule["task"] == "regression"
    numbers |= rule["task"] == "classes"
    wrong = numbers if kind == "logistic" else rule["task"] in ("classification", "classes")
    if wrong or rule.get("threshold") == "balanced":
        raise CertificateError(f"its question is not one about a {kind} model")


def settle(
    document: dict[str, Any], data: Data, bias: Bias, proof: dict[str, FloatArray], track: Track
) -> Settled:
    """Prove or reject claims, or leave them open."""
    kind = document["model"]["kind"]
    for label, low, high in zip(data.labels, bias.lower, bias.upper, strict=True):
        one = label in (0.0, 1.0) and low in (0.0, -label) and high in (0.0, 1.0 - label)
        if kind == "logistic" and not one:
            raise CertificateError(
                "labels of a logistic model must be 0 and 1, and wrong labels be the other one"
            )
    try:
        ordinary = is_ordinary()
        with np.errstate(all="ignore"):
            found = _Claims(document, data, bias, proof, track).settled(track)
        if not (ordinary and is_ordinary()):
            raise UnprovenError("this thread does not round to nearest, or flushes small numbers")
    except UnprovenError as error:
        return Settled(unproven={claim["row"]: str(error) for claim in document["claims"]})
    return found


class _Claims:
    """Claims of one file, and what is known of their subjects: test rows, or coefficients."""

    def __init__(
        self, document: dict[str, Any], data: Data, bias: Bias, proof: dict[str, FloatArray],
        track: Track,
    ) -> None:  # fmt: skip
        model, self._claims, self._bias = document["model"], document["claims"], bias
        self._given = given = Given.of(document, data, bias)
        offsets = sized(proof, "offsets", (given.train.shape[1],)) if "offsets" in proof else None
        weights = tuple(map(float, model.get("class_weights", (1.0, 1.0))))
        self._problem = problem = Problem(given, LINKS[model["kind"]], weights, offsets)
        rows = given.subjects(np.array([claim["row"] for claim in self._claims], dtype=np.int64))
        first: dict[bytes, int] = {}  # equal rows are one subject, numbered as they appear
        keys = [row.tobytes() for row in rows + 0.0]
        self._subject = [first.setdefault(key, len(first)) for key in keys]
        kept = np.unique(self._subject, return_index=True)[1]  # where each is first
        self._directions = problem.directions(rows[kept])
        self._proof, width = proof, len(problem.power)
        parameters = problem.scaled(sized(proof, "parameters", (width,)))
        centre = problem.at(parameters, problem.labels(given.labels))
        given_inverse = sized(proof, "inverse", (width, width))
        self._here = Inverse(problem, problem.curvature(centre), given_inverse)
        low, high = self._here.solution(centre).scores(self._directions)
        self._scores: list[tuple[float, float]] = list(
            zip(low.tolist(), high.tolist(), strict=True)
        )
        movable = (given.lower * given.weights < 0) | (given.upper * given.weights > 0)
        self._movable = int(np.count_nonzero(movable))
        labels = min(bias.labels, self._movable)
        self._region = Region(problem, centre, self._here, proof, self._directions, labels)
        self._bounds: dict[tuple[int, int], list[Bound]] = defaultdict(list)
        found = track(self._region.bounds(), "proving bounds", self._region.n_bounds)
        for subject, sign, bound in found:
            self._bounds[subject, sign].append(bound)
        self._witnesses = self._read_witnesses()
        task, rule = document["question"]["task"], Rule.of(document["question"])
        self._counts = task == "counts"
        self._judge = Judge(bias, Rule("regression", rule.mark) if self._counts else rule)

    def settled(self, track: Track) -> Settled:
        """Judge every claim, by as little as proves it."""
        found = Settled()
        pairs = list(zip(self._claims, self._subject, strict=True))
        for claim, subject in track(pairs, "proving", len(pairs)):
            shift, row, verdict = self._shift(claim, subject), claim["row"], claim["verdict"]
            for stage in range(len(STAGES)):
                judged = self._judged(claim, subject, stage, shift)
                if judged.objections or judged.holds:
                    break
            if judged.objections:
                found.rejected[row] = "; ".join(judged.objections)
            elif judged.missing:
                why = f" ({self._region.why})" if self._region.why else ""
                missing = ", nor ".join(judged.missing)
                found.unproven[row] = f"what the file says does not prove {missing}{why}"
            elif verdict != "undecided":
                found.stages[STAGES[stage] if verdict == "robust" else "witness"] += 1
        return found

    def _judged(self, claim: Claim, subject: int, stage: int, shift: Ends) -> Judgement:
        """Compare a claim with what follows from the bounds of a stage."""
        low, high = self._scores[subject]
        (least, most), labels = facts.claimed_budgets(claim), self._region.labels
        fewer = min(least - 1, self._movable)
        enough = most if most <= labels else inf
        far = {
            (way, which): self._far(subject, way, count, stage)
            for way in (UP, DOWN)
            for which, count in enumerate((labels, fewer, enough))  # BUDGET, FEWER, ENOUGH
        }
        if not self._counts:
            return self._judge.judge(claim, _facts((low, high), far, shift))
        ends = {name: claim[name] for name in ("row", "low", "high") if name in claim}
        first = self._judge.judge({"verdict": "undecided"} | ends, _facts((low, high), far, shift))
        rest = {name: part for name, part in claim.items() if name not in ("low", "high")}
        counted = {key: _exponentials(each, each)[key[0] > 0] for key, each in far.items()}
        second = self._judge.judge(rest, _facts(_exponentials(low, high), counted, shift))
        return Judgement(first.objections + second.objections, first.missing + second.missing)

    def _far(self, subject: int, way: int, labels: float, stage: int) -> float:
        """Return a score that so many labels do not lead beyond."""
        if labels <= 0:
            return self._scores[subject][way > 0]
        last = min(self._region.labels, self._region.n_inside)
        bounds = [
            each
            for each in self._bounds[subject, way]
            if each.labels >= labels
            and (stage > 0 or not each.close)
            and (stage > 1 or (each.least == 0 and each.most >= last))
        ]
        return covered(bounds, way, last) if bounds else way * inf

    # --- witnesses ----------------------------------------------------------------------------

    def _read_witnesses(self) -> dict[int, tuple[FloatArray, FloatArray | None]]:
        """Return parameters that witnesses lead to, by subject, and inverses of their own."""
        problem, width = self._problem, len(self._problem.power)
        pairs = zip(self._subject, self._claims, strict=True)
        subjects = dict.fromkeys(subject for subject, claim in pairs if "witness" in claim)
        rows = problem.scaled(sized(self._proof, "witnesses", (len(subjects), width)))
        weak = whole(sized(self._proof, "weak", (None,)), 0, len(subjects) - 1).tolist()
        matrices = sized(self._proof, "weak_inverses", (len(weak) * width, width))
        own = {at: matrices[place * width :][:width] for place, at in enumerate(weak)}
        return {subject: (rows[at], own.get(at)) for at, subject in enumerate(subjects)}

    def _shift(self, claim: Claim, subject: int) -> Ends:
        """Return how far the labels of a witness move the score, or the count, of its subject."""
        given, targets, rounded = self._given, np.array(self._given.labels), False
        moves = facts.read_witness(claim, len(targets)) if "witness" in claim else None
        if moves is None:
            return UNKNOWN
        for rows, end, _ in moves.parts():
            places = np.array(rows, dtype=np.int64)
            added = (given.upper if end else given.lower)[places]
            rounded |= any((each != np.rint(each)).any() for each in (targets[places], added))
            targets[places] += added
        parameters, matrix = self._witnesses[subject]
        point = self._problem.at(parameters, self._problem.labels(targets, rounded=rounded))
        try:
            inverse = self._here
            if matrix is not None:
                inverse = Inverse(self._problem, self._problem.curvature(point), matrix)
            ends = inverse.solution(point).scores(self._directions[[subject]])
        except UnprovenError:
            return UNKNOWN
        after, before = (float(ends[0][0]), float(ends[1][0])), self._scores[subject]
        if self._counts:
            after, before = _exponentials(*after), _exponentials(*before)
        (low, high), (least, most) = ends_of(*after), ends_of(*before)
        return low - most, high - least


def _facts(score: tuple[float, float], far: dict[tuple[int, int], float], shift: Ends) -> Facts:
    """Return what is known of a subject, given which scores labels do not lead beyond."""
    low, high = ends_of(*score)
    reach: dict[tuple[int, int], Ends] = {}
    for (way, which), each in far.items():
        least, most = ends_of(each, each)
        reach[way, which] = (0, max(most - low if way == UP else high - least, 0))
    return Facts((low, high), reach, shift)


def _exponentials(low: float, high: float) -> tuple[float, float]:
    """Return exponentials, rounded away from one another."""
    first, second = exponential(np.array((low, high))).tolist()
    return first * (1.0 - 2 * EXPONENTIAL), second * (1.0 + 2 * EXPONENTIAL) + TINY
