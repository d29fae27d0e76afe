"""Prove or reject the claims of a certificate: by bounds if they tell, else exactly."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unswayed.verify.collective import Asked, Finding, findings
from unswayed.verify.data import Data, load
from unswayed.verify.document import read, vector
from unswayed.verify.exact import ExactModel
from unswayed.verify.floating import FloatingModel, UnprovenError
from unswayed.verify.gradient import KINDS, Settled, check_document, settle
from unswayed.verify.integers import Track
from unswayed.verify.judging import Facts, Judge, Judgement, claimed_budgets
from unswayed.verify.limits import CertificateError
from unswayed.verify.question import Bias, in_words

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
    asked = Asked.read(document)
    question = in_words(document, found, bias, asked)
    if asked is not None:
        parts, exact = findings(document, found, bias, asked, track, floating_point=floating_point)
        return _collective_report(question, parts, exact)
    if document["model"]["kind"] in KINDS:
        return _report(question, document, settle(document, found, bias, track), [])
    rejected, exact_rows = _settle(document, found, bias, track, floating_point)
    return _report(question, document, Settled(rejected), exact_rows)


def _report(
    question: str, document: dict[str, Any], settled: Settled, exact_rows: list[int]
) -> Report:
    """Return what came of claims about single rows."""
    failed = settled.rejected.keys() | settled.unproven.keys()
    verdicts = Counter(
        claim["verdict"] for claim in document["claims"] if claim["row"] not in failed
    )
    n_exact = sum(row not in settled.rejected for row in exact_rows)
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


def _settle(
    document: dict[str, Any], data: Data, bias: Bias, track: Track, floating_point: bool
) -> tuple[dict[int, str], list[int]]:
    """Return the reasons of claims that are rejected, and the rows that bounds did not settle."""
    judge, subjects = Judge(bias), _subjects(document, data)
    rejected: dict[int, str] = {}
    left = subjects
    if floating_point:
        left = []
        for claims, facts in _bounded(document, data, bias, subjects, track):
            open_claims = [claim for claim in claims if not _settled(judge, claim, facts, rejected)]
            if open_claims:
                left.append(open_claims)
    if left:
        exact = ExactModel(document, data, bias, track)
        for claims in track(left, "proving in exact arithmetic", len(left)):
            exact_facts = exact.facts(claims[0]["row"])
            for claim in claims:
                _settled(judge, claim, exact_facts, rejected)
    return rejected, [claim["row"] for claims in left for claim in claims]


def _subjects(document: dict[str, Any], data: Data) -> list[list[Claim]]:
    """Return the claims about equal test rows, or about one coefficient or contrast, together."""
    alike: dict[Any, list[Claim]] = defaultdict(list)
    for claim in document["claims"]:
        row = claim["row"]
        alike[row if data.tests is None else data.tests[row].tobytes()].append(claim)
    return list(alike.values())


def _settled(judge: Judge, claim: Claim, facts: Facts | None, rejected: dict[int, str]) -> bool:
    """Return whether facts settle a claim, and note why if they make it false."""
    if facts is None:
        return False
    found: Judgement = judge.judge(claim, facts)
    if found.objections:
        rejected[claim["row"]] = "; ".join(found.objections)
        return True
    return not found.is_open


def _bounded(
    document: dict[str, Any], data: Data, bias: Bias, subjects: list[list[Claim]], track: Track
) -> Iterator[tuple[list[Claim], Facts | None]]:
    """Yield claims with what bounds say of their row; None where they say nothing."""
    try:
        model = FloatingModel(document, data, bias)
    except UnprovenError:
        yield from ((claims, None) for claims in subjects)
        return
    needed = [max(_labels_needed(claims, bias)) for claims in subjects]
    order = sorted(range(len(subjects)), key=needed.__getitem__)  # alike ones in one block
    facts = model.facts([subjects[at][0]["row"] for at in order], [needed[at] for at in order])
    pairs = zip((subjects[at] for at in order), facts, strict=True)
    yield from track(pairs, "proving", len(subjects))


def _labels_needed(claims: Iterable[Claim], bias: Bias) -> Iterator[int]:
    """Yield of how many labels, at most, claims say something; "never" is about all of them."""
    yield min(bias.budget, len(bias.lower))
    for claim in claims:
        for end in claimed_budgets(claim):
            if end <= len(bias.lower):
                yield int(end)
