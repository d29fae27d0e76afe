"""Prove or reject the claims of a certificate: by bounds if they tell, else exactly."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.verify.collective import Asked as AskedTogether
from unswayed.verify.collective import Finding, findings
from unswayed.verify.data import Data, load
from unswayed.verify.document import read, vector
from unswayed.verify.doubles import FloatArray, UnprovenError
from unswayed.verify.facts import (
    UNKNOWN,
    Facts,
    Judge,
    Judgement,
    Rule,
    Track,
    claimed_budgets,
    read_witness,
)
from unswayed.verify.given import Given
from unswayed.verify.gradient import KINDS, Settled, check_document, settle
from unswayed.verify.limits import CertificateError
from unswayed.verify.linear import Model, blocks, fitting_model
from unswayed.verify.proof import read_proof, sized
from unswayed.verify.question import Bias, in_words
from unswayed.verify.rational import RationalRows, solution_of
from unswayed.verify.selection import COLUMNS, Asked, Labels

File = str | Path | None
Claim = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """Result of checking the claims of a certificate.

    An undecided claim gives no verdict; what else it says has been checked as well.
    """

    question: str  # What was asked, in full: several lines
    proven: int  # Claims with a verdict that hold, `robust` and `not_robust` together
    robust: int  # Claims with that verdict that hold
    not_robust: int  # Claims with that verdict that hold
    undecided: int  # Claims without a verdict that hold
    # Claims that hold, `proven` and `undecided` together, by how that was proven: in floating point
    # with error bounds, or in exact arithmetic
    by_bounds: int
    # Claims that hold, `proven` and `undecided` together, by how that was proven: in floating point
    # with error bounds, or in exact arithmetic
    by_exact_arithmetic: int
    # Rows whose claims, rejected ones included, were settled in exact arithmetic; all others were
    # by bounds
    exact_rows: tuple[int, ...]
    rejected: dict[int, str]  # For each claim that is false or not proven, by its row, the reason
    collective: tuple[Finding, ...] = ()
    # Of a model that is not linear in its labels, claims that are neither proven nor found to be
    # false, by their row, with the reason; they are in none of the numbers above
    not_reproven: dict[int, str] = field(default_factory=dict)
    # Of such a model, by what verdicts were proven: "region", "remainder" or "witness"
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
    bias = _read_bias(document, len(found.labels))
    asked = AskedTogether.read(document)
    question = in_words(document, found, bias, asked)
    if asked is not None:
        proof = read_proof(document, Path(certificate))
        parts, exact = findings(
            document, found, bias, asked, proof, track, floating_point=floating_point
        )
        return _collective_report(question, parts, exact)
    if document["model"]["kind"] in KINDS:
        return _report(question, document, settle(document, found, bias, track), [])
    linear = _Linear(document, found, bias, read_proof(document, Path(certificate)))
    linear.settle(track, floating_point=floating_point)
    return _report(question, document, Settled(linear.rejected, linear.unproven), linear.exact)


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
    proven = status["proven"]
    return Report(
        question,
        proven=proven,
        robust=0,
        not_robust=0,
        undecided=status["not re-proven"],
        by_bounds=0 if exact else proven,
        by_exact_arithmetic=proven if exact else 0,
        exact_rows=tuple(sorted(exact)),
        rejected={
            at: f"{part.heading}: {part.text}"
            for at, part in enumerate(parts)
            if part.status == "rejected"
        },
        collective=tuple(parts),
    )


def _read_bias(document: dict[str, Any], n_rows: int) -> Bias:
    """Return the bias and the weights of a certificate, unpacked; raise unless they make sense."""
    given, model = document["bias"], document["model"]
    bias = Bias(
        lower=vector(given["lower"], n_rows, "bias.lower"),
        upper=vector(given["upper"], n_rows, "bias.upper"),
        weights=vector(model.get("weights", 1), n_rows, "model.weights"),
        budget=given["budget"],
    )
    if max(bias.lower) > 0 or min(bias.upper) < 0:
        raise CertificateError("lower <= 0 <= upper must hold for every label")
    if min(bias.weights) < 0 or not any(bias.weights):
        raise CertificateError("weights >= 0, not all of them 0, must hold")
    return bias


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
        self._thresholds = sized(proof, ("thresholds",), (n_subjects, len(COLUMNS)))
        self._shift = proof.get("shift")
        self.rejected: dict[int, str] = {}
        self.unproven: dict[int, str] = {}
        self.exact: list[int] = []  # rows that doubles did not settle

    def settle(self, track: Track, *, floating_point: bool) -> None:
        """Prove or reject every claim: in doubles, and what these leave open in fractions."""
        model = fitting_model(self._given, self._proof, self._hints) if floating_point else None
        inverse = math.inf
        nothing = Facts(UNKNOWN, dict.fromkeys(COLUMNS, UNKNOWN))
        left = [at for at in range(len(self._groups)) if not self._judged(at, nothing).holds]
        if model is not None:
            steps = track(self._bounded(model, left), "proving", len(left))
            left = [at for at, facts in steps if not self._judged(at, facts).holds]
            # Once more: bounds from below take time, and show what is false.
            steps = self._bounded(model, left, closely=True)
            left = [at for at, facts in steps if self._missing(at, facts)]
            inverse = getattr(model, "inverse", math.inf)
        if not left:
            return
        exactly: RationalRows | None = None
        for at in track(left, "proving in exact arithmetic", len(left)):
            self.exact += [claim["row"] for claim in self._groups[at]]
            try:
                exactly = exactly or RationalRows(self._given, inverse)
                missing = self._missing(at, self._exactly(exactly, at))
                reason = "what the file says does not prove " + ", nor ".join(missing)
            except UnprovenError as error:
                missing, reason = self._missing(at, nothing), f"not proven: {error}"
            if missing:
                self._note(at, self.unproven, reason)

    def _judged(self, at: int, facts: Facts) -> Judgement:
        return self._judge.judge(self._groups[at][0], facts)

    def _missing(self, at: int, facts: Facts) -> tuple[str, ...]:
        """Return what facts leave open of the claims of a group; note what they object to."""
        found = self._judged(at, facts)
        if found.objections:
            self._note(at, self.rejected, "; ".join(found.objections))
            return ()
        return found.missing

    def _note(self, at: int, where: dict[int, str], text: str) -> None:
        where.update((claim["row"], text) for claim in self._groups[at])

    def _asked(self, groups: list[int]) -> Asked:
        """Return what the claims of some groups are about."""
        claims = [self._groups[at][0] for at in groups]
        n_rows = len(self._bias.lower)
        labels = np.empty((len(groups), 3))
        for row, claim in zip(labels, claims, strict=True):
            least, most = claimed_budgets(claim)
            row[:] = [self._bias.budget, least - 1, most]
        np.clip(labels, 0, n_rows, out=labels)
        return Asked(
            labels,
            self._thresholds[[self._subject[at] for at in groups]],
            [read_witness(claim, n_rows) if "witness" in claim else None for claim in claims],
        )

    def _bounded(
        self, model: Model, groups: list[int], *, closely: bool = False
    ) -> Iterator[tuple[int, Facts]]:
        """Yield groups of claims with what doubles say of them."""
        numbers = np.array([self._groups[at][0]["row"] for at in groups], dtype=np.int64)
        labels = Labels(self._given)
        hints = self._hints[[self._subject[at] for at in groups]]
        with np.errstate(all="ignore"):
            for part, found in blocks(model, self._given, numbers, hints):
                asked = replace(self._asked(groups[part]), closely=closely)
                yield from zip(groups[part], labels.facts(found, asked), strict=True)

    def _exactly(self, exactly: RationalRows, at: int) -> Facts:
        claim, asked = self._groups[at][0], self._asked([at])
        subject = self._given.subjects(np.array([claim["row"]]))[0]
        hint = self._hints[self._subject[at]]
        found = exactly.influence(subject, solution_of(hint, claim.get("solution"), self._shift))
        wanted = {
            (way, which): (float(asked.labels[0, which]), float(asked.thresholds[0, place]))
            for place, (way, which) in enumerate(COLUMNS)
        }
        return exactly.facts(found, wanted, asked.moves[0])


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
