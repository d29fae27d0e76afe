"""Evidence about the labels of a file: audits, what people answer, and random errors."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unswayed._core.rounding import ordinary_arithmetic
from unswayed.estimators.fitted import need
from unswayed.evidence.answers import UNKNOWN
from unswayed.evidence.audit import LabelAudit
from unswayed.evidence.noise import LabelNoise, overturn_probability
from unswayed.exceptions import InputError
from unswayed.study.request import parse_share
from unswayed.study.review import read_review
from unswayed.study.study import Study

NEXT = 50
"""Numbers of further checks whose effect is estimated."""


def start_audit(study: Study, options: Any, about: dict[str, Any]) -> LabelAudit:
    """Start an audit of the test rows of a study."""
    audit: LabelAudit = study.model.label_audit(
        study.test.features,
        risk=parse_share(options.risk, "--risk"),
        together=options.together,
        seed=options.draw_seed,
        about=about,
    )
    return audit


def answers_of(study: Study, audit: LabelAudit, paths: Sequence[Path]) -> dict[int, Any]:
    """Return what people found, by training row; raise for labels that were not drawn."""
    found = read_review(study, paths, applied=False, unknown=UNKNOWN)
    if not found:
        raise InputError(
            f"{', '.join(map(str, paths))}: no label was checked; fill in the column "
            "checked_label, with the label as it should be"
        )
    drawn, known = set(audit.drawn.tolist()), audit.answers
    told = {at: UNKNOWN if math.isnan(each.label) else each.label for at, each in found.items()}
    for at, answer in found.items():
        if at not in drawn:
            raise InputError(
                f"row {answer.row:,} was not drawn by this audit, so that its answer proves "
                "nothing here; nothing was recorded. Leave it out"
            )
        if known.get(at, told[at]) != told[at]:
            before = UNKNOWN if known[at] == UNKNOWN else study.target.as_text(known[at])
            raise InputError(
                f"row {answer.row:,} has two answers, {before!r} before and {answer.text!r} now; "
                "settle which is right. Nothing that was recorded before is lost, and nothing of "
                "these files was recorded"
            )
    return told


def audit_facts(study: Study, audit: LabelAudit) -> dict[str, Any]:
    """Return how far an audit is as plain values."""
    reached, refuted, e = audit.reached, audit.refuted, audit.e_values
    numbers, shown = study.test.numbers.tolist(), study.predictions
    states = np.where(reached, "enough evidence", np.where(refuted, "overturned so far", "open"))
    states = np.where(audit.confirmed, "confirmed", states)
    expected = audit.expected(checks=[NEXT, 2 * NEXT, 4 * NEXT])
    return {
        "risk": audit.risk,
        "together": audit.together,
        "claim": audit.claim,
        "rows": len(numbers),
        "confirmed": int(audit.confirmed.sum()),
        "reached": int(reached.sum()),
        "refuted": [{"row": row} for row, so in zip(numbers, refuted, strict=True) if so],
        "drawn": len(audit.drawn),
        "counted": audit.n_counted,
        "waiting": len(audit.waiting),
        "wrong": len(audit.wrong),
        "expected": [
            {"checks": int(checks), "rows": float(mean)}
            for checks, mean in zip(expected.checks, expected.mean, strict=True)
        ],
        "listed": [
            {"row": row, "prediction": said, "state": str(state), "e_value": min(value, 1e9)}
            for row, said, state, value in zip(numbers, shown, states, e.tolist(), strict=True)
        ],
    }


# --- random errors --------------------------------------------------------------------------------

_RARE = 1e-3  # a probability that people call small
_EXPLAINED = (
    "Errors that nobody chose mostly cancel each other, while the worst case asks for the wrong "
    "labels that do most to each prediction. Errors that follow a pattern (a group, an annotator, "
    "a rule) are not random, and then the worst case is what holds."
)


@ordinary_arithmetic()
def noise_facts(study: Study, rate: float) -> dict[str, Any]:
    """Return how likely labels that are wrong at random change the predictions of test rows."""
    if not study.target.classes:
        raise InputError(
            "--noise is about classes, and the label is a number: how far a wrong number is off is "
            "not known; in Python, overturn_probability takes LabelNoise.shifts(...)"
        )
    parts = [each.question for each in study.scheme.asked(study)]
    for part in parts:
        need(part.engine, "evidence", "--noise")
    each = [overturn_probability(part, LabelNoise(rate), "chernoff") for part in parts]
    low, high, estimate = (
        np.concatenate([getattr(part, name) for part in each])
        for name in ("low", "high", "estimate")
    )
    found = replace(each[0], low=low, high=high, estimate=estimate)
    return {
        "rate": rate,
        "below": _RARE,
        "rows": int((found.high < _RARE).sum()),
        "share": found.share_below(_RARE),
        "sentence": found.sentence(_RARE),
        "explained": _EXPLAINED,
    }
