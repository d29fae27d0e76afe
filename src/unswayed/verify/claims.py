"""Prove or reject the claims of a certificate: by bounds if they tell, else exactly."""

import math
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.verify import linear
from unswayed.verify.budget import read_cases
from unswayed.verify.classes import PREFERRED, Classes
from unswayed.verify.collective import Asked as AskedTogether
from unswayed.verify.collective import Finding, findings
from unswayed.verify.data import Bias, Data, Given, load
from unswayed.verify.document import CertificateError, read, read_proof, sized, solution_of
from unswayed.verify.doubles import FloatArray, UnprovenError
from unswayed.verify.facts import (
    COLUMNS,
    UNKNOWN,
    Asked,
    Facts,
    Judge,
    Rule,
    Track,
    claimed_budgets,
    read_witness,
)
from unswayed.verify.gradient import KINDS, Settled, check_document, settle
from unswayed.verify.linear import Model, linear_model
from unswayed.verify.question import in_words
from unswayed.verify.rational import RationalRows
from unswayed.verify.votes import Votes, settle_votes

_BLOCK = 2**19  # influences at a time

File = str | Path | None
Claim = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """Result of checking the claims of a certificate.

    An undecided claim gives no verdict; what else it says has been checked as well.
    """

    question: str  # What was asked, in full: several lines
    proven: int  # Claims with a verdict that hold, `robust` and `not_robust` together
    undecided: int  # Claims without a verdict that hold
    by_bounds: int  # Claims that hold, of either kind, proven in floating point with error bounds
    by_exact_arithmetic: int  # The others that hold, proven in exact arithmetic
    exact_rows: tuple[int, ...]  # Rows whose claims, rejected or not, took exact arithmetic
    rejected: dict[int, str]  # For each claim that is false or not proven, by its row, the reason
    robust: int = 0  # Claims with that verdict that hold
    not_robust: int = 0  # Claims with that verdict that hold
    collective: tuple[Finding, ...] = ()
    # Of a model that is not linear in its labels, claims that are neither proven nor found to be
    # false, by their row, with the reason; they are in none of the numbers above
    not_reproven: dict[int, str] = field(default_factory=dict)
    # Of such a model, by what verdicts were proven: "region", "remainder", "split" or "witness"
    stages: dict[str, int] = field(default_factory=dict)


def verify(
    certificate: str | Path, *, train: File = None, test: File = None, data: File = None,
    label: str | None = None, track: Track = lambda steps, what, total: steps,
    floating_point: bool = True,
) -> Report:  # fmt: skip
    """Prove or reject every claim of a certificate file."""
    paths = [Path(each) if each else None for each in (train, test, data)]
    for path in (Path(certificate), *paths):
        if path is not None and path.exists() and not path.is_file():
            raise CertificateError(f"{path} is not a file")  # a pipe or a device need not end
    document = read(Path(certificate))
    check_document(document)
    found = load(document, label, *paths)
    bias = Bias.of(document, len(found.labels))
    several = document["question"]["task"] == "classes"
    classes = Classes.of(document, found.labels, bias) if several else None
    asked = AskedTogether.read(document)
    question = in_words(document, found, bias, asked)
    proof = read_proof(document, Path(certificate))
    if document["model"]["kind"] == "votes":
        counted = settle_votes(Votes(document, found, bias, proof, classes), document["claims"])
        return _report(question, document, counted, [each["row"] for each in document["claims"]])
    if asked is not None:
        parts, exact = findings(
            document, found, bias, asked, proof, track, floating_point=floating_point
        )
        return _collective_report(question, parts, exact)
    if document["model"]["kind"] in KINDS:
        return _report(question, document, settle(document, found, bias, proof, track), [])
    claims = _Linear(document, found, bias, proof)
    if classes is not None:
        claims.settle_duels(classes, track, floating_point=floating_point)
    else:
        claims.settle(track, floating_point=floating_point)
    return _report(question, document, claims.settled, claims.exact)


def _report(
    question: str, document: dict[str, Any], settled: Settled, exact_rows: list[int]
) -> Report:
    """Return what came of claims about single rows."""
    failed = settled.rejected.keys() | settled.unproven.keys()
    verdicts = Counter(
        claim["verdict"] for claim in document["claims"] if claim["row"] not in failed
    )
    n_exact = sum(row not in failed for row in exact_rows)
    return Report(
        question,
        proven=verdicts["robust"] + verdicts["not-robust"],
        robust=verdicts["robust"],
        not_robust=verdicts["not-robust"],
        undecided=verdicts["undecided"],
        by_bounds=verdicts.total() - n_exact,
        by_exact_arithmetic=n_exact,
        exact_rows=tuple(sorted(exact_rows)),
        rejected=dict(sorted(settled.rejected.items())),
        not_reproven=dict(sorted(settled.unproven.items())),
        stages=dict(settled.stages),
    )


def _collective_report(question: str, parts: list[Finding], exact: set[int]) -> Report:
    """Return what came of a claim about all rows together."""
    status = Counter(part.status for part in parts)
    rejected = {at: part for at, part in enumerate(parts) if part.status == "rejected"}
    return Report(
        question,
        proven=status["proven"],
        undecided=status["not re-proven"],
        by_bounds=0 if exact else status["proven"],
        by_exact_arithmetic=status["proven"] if exact else 0,
        exact_rows=tuple(sorted(exact)),
        rejected={at: f"{part.heading}: {part.text}" for at, part in rejected.items()},
        collective=tuple(parts),
    )


# --- claims about models that are linear in their labels ------------------------------------


class _Linear:
    """Claims of one file, with what it says to prove them."""

    def __init__(
        self, document: dict[str, Any], data: Data, bias: Bias, proof: dict[str, FloatArray]
    ) -> None:
        self._bias, self._proof = bias, proof
        self._judge = Judge(bias, Rule.of(document["question"]))
        self._given = Given.of(document, data, bias)
        self._groups, self._subject = _alike(document["claims"], self._given)
        n_subjects = 1 + max(self._subject, default=-1)
        self._hints = sized(proof, ("weights", "dual"), (n_subjects, None))
        n_prices = len(COLUMNS) * (1 + len(bias.budget.most))
        n_prices *= len(document["question"].get("to", "1"))  # one for each rival
        self._thresholds = sized(proof, ("thresholds",), (n_subjects, n_prices))
        self._cases = read_cases(proof, len(bias.lower)) if bias.budget.kind == "cost" else {}
        self._model: Model | None = None
        self.settled, self.exact = Settled({}, {}), list[int]()  # rows that doubles left open

    def settle(self, track: Track, *, floating_point: bool) -> None:
        """Prove or reject every claim: in doubles, and what these leave open in fractions."""
        nothing, inverse = Facts(UNKNOWN, dict.fromkeys(COLUMNS, UNKNOWN)), math.inf
        first = [claims[0] for claims in self._groups]
        left = [at for at, claim in enumerate(first) if not self._judge.judge(claim, nothing).holds]
        model = self._model
        if floating_point and model is None:
            model = linear_model(self._given, self._proof, self._hints)
        if model is not None:
            steps = track(self._bounded(model, left), "proving", len(left))
            left = [at for at, facts in steps if self._missing(at, facts)]
            inverse = getattr(model, "inverse", math.inf)
        exactly: RationalRows | None = None
        for at in track(left, "proving in exact arithmetic", len(left)) if left else ():
            self.exact += [claim["row"] for claim in self._groups[at]]
            try:
                exactly = exactly or RationalRows(self._given, inverse)
                missing = self._missing(at, self._exactly(exactly, at))
                reason = "what the file says does not prove " + ", nor ".join(missing)
            except UnprovenError as error:
                missing, reason = self._missing(at, nothing), f"not proven: {error}"
            if missing:
                self._note(at, self.settled.unproven, reason)

    def settle_duels(self, classes: Classes, track: Track, *, floating_point: bool) -> None:
        """Prove or reject claims about several classes: one claim for every rival."""
        rejected, winners = (
            self.settled.rejected,
            {each[0].get("decision") for each in self._groups},
        )
        pairs = [pair for pair in classes.pairs() if winners.intersection(pair)]
        for at, group in enumerate(self._groups):
            if objections := "; ".join(classes.objections(group[0])):
                self._note(at, rejected, objections)
        if floating_point:
            self._model = linear_model(self._given, self._proof, self._hints)
        exact = set[int]()
        for pair in track(pairs, "proving", len(pairs)):
            duel = self._duel(classes, pair)
            duel.settle(lambda steps, what, total: steps, floating_point=self._model is not None)
            exact.update(duel.exact)
            which = "of classes {} (0) and {} (1): ".format(*pair)
            for name in ("rejected", "unproven"):
                into, found = getattr(self.settled, name), getattr(duel.settled, name)
                for row, text in found.items():
                    into[row] = f"{into[row]}; {which}{text}" if row in into else which + text
        for row in rejected.keys() & self.settled.unproven.keys():
            del self.settled.unproven[row]
        self.exact = sorted(exact)

    def _duel(self, classes: Classes, pair: tuple[int, int]) -> "_Linear":
        """Return what the claims say of two classes."""
        made, (labels, bias) = copy(self), classes.lead(pair)
        lower, upper = np.frombuffer(bias.lower), np.frombuffer(bias.upper)
        made._given = replace(self._given, labels=labels, lower=lower, upper=upper)
        made._bias, made._judge = bias, Judge(bias, PREFERRED)
        made._groups, made._subject, places, rivals = [], [], list[int](), list[int]()
        for group, subject in zip(self._groups, self._subject, strict=True):
            winner, rejected = group[0].get("decision"), group[0]["row"] in self.settled.rejected
            if winner in pair and not rejected:
                made._groups.append([classes.about(each, pair) for each in group])
                made._subject.append(len(places))
                places.append(subject)
                rivals.append(sum(pair) - winner)
        made._hints = self._hints[places]
        by_rival = self._thresholds.reshape(len(self._thresholds), -1, len(COLUMNS))
        made._thresholds = by_rival[places, rivals]
        if self._model is not None:
            made._model = copy(self._model)
            with np.errstate(all="ignore"):
                made._model.learn(made._given)
        made.settled, made.exact = Settled({}, {}), []
        return made

    def _missing(self, at: int, facts: Facts) -> tuple[str, ...]:
        """Return what facts leave open of the claims of a group; note what they object to."""
        found = self._judge.judge(self._groups[at][0], facts)
        if found.objections:
            self._note(at, self.settled.rejected, "; ".join(found.objections))
            return ()
        return found.missing

    def _note(self, at: int, where: dict[int, str], text: str) -> None:
        where.update((claim["row"], text) for claim in self._groups[at])

    def _asked(self, groups: list[int]) -> Asked:
        """Return what the claims of some groups are about."""
        claims = [self._groups[at][0] for at in groups]
        amounts = [self._bias.budget.amounts(*claimed_budgets(claim)) for claim in claims]
        numbers = [self._subject[at] for at in groups]
        return Asked(
            np.array([list(map(self._bias.budget.rounded, row)) for row in amounts]),
            self._thresholds[numbers],
            [read_witness(claim, len(self._bias.lower)) for claim in claims],
            amounts,
            [{at: self._cases[n, at] for at in range(len(COLUMNS)) if (n, at) in self._cases}
             for n in numbers],
        )  # fmt: skip

    def _subjects(self, groups: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return what the claims of some groups are about, and the solutions of the file."""
        rows = np.array([self._groups[at][0]["row"] for at in groups], dtype=np.int64)
        return self._given.subjects(rows), self._hints[[self._subject[at] for at in groups]]

    def _bounded(self, model: Model, groups: list[int]) -> Iterator[tuple[int, Facts]]:
        """Yield groups of claims with what doubles say of them, some at a time."""
        step = max(1, _BLOCK // len(self._bias.lower))
        for start in range(0, len(groups), step):
            here = groups[start : start + step]
            with np.errstate(all="ignore"):
                found = model.influence(*self._subjects(here))
                found = found.centred(self._given) if self._given.balanced else found
                known = linear.facts(self._given, found, self._asked(here))
            yield from zip(here, known, strict=True)

    def _exactly(self, exactly: RationalRows, at: int) -> Facts:
        (subject,), (hint,) = self._subjects([at])
        asked, solution = self._asked([at]), self._groups[at][0].get("solution")
        found = exactly.influence(subject, solution_of(hint, solution, self._proof.get("shift")))
        return exactly.facts(found, asked.amounts[0], asked.moves[0], asked.cases[0])


def _alike(claims: list[Claim], given: Given) -> tuple[list[list[Claim]], list[int]]:
    """Return claims that say the same of equal rows together, and the number of each such row.

    Rows are numbered in the order of their claims, and so are those of the proof.
    """
    groups: dict[Any, list[Claim]] = {}
    numbers: dict[bytes, int] = {}
    rows = given.subjects(np.array([claim["row"] for claim in claims], dtype=np.int64)) + 0.0
    subject: list[int] = []
    for claim, row in zip(claims, rows, strict=True):
        number = numbers.setdefault(row.tobytes(), len(numbers))
        said = repr(sorted((name, part) for name, part in claim.items() if name != "row"))
        if (number, said) not in groups:
            groups[number, said] = []
            subject.append(number)
        groups[number, said].append(claim)
    return list(groups.values()), subject
