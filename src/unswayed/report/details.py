"""The rows, labels and coefficients worth a closer look."""

import math
from collections import Counter
from typing import Any

import numpy as np

from unswayed._typing import IntArray
from unswayed.audit.study import Study
from unswayed.audit.words import labels, show
from unswayed.certificates import Verdict, Witness

_ROWS = 500
_CELLS = 10  # feature columns shown beside a row
_CELL_LENGTH = 40
_LISTED = 25  # labels named of one witness
_SUSPECTS = 20
_COEFFICIENTS = 40
# A witness sorts every training label: keep the sum of that below a second or two.
_WITNESS_WORK = 6_000_000
_MOST_WITNESSES = 300


def _least(study: Study) -> IntArray:
    """Test rows that the fewest wrong labels overturn, first."""
    least = study.answers.proven_budget
    order = np.argsort(least, kind="stable")[:_ROWS]
    return np.asarray(order)


def witnesses_of(study: Study) -> dict[int, Witness]:
    """Witnesses of the least robust test rows, as many as are worth the time."""
    rows = _least(study)
    least = study.answers.proven_budget[rows]
    rows = rows[np.isfinite(least) & (least > 0)]
    many = int(np.clip(_WITNESS_WORK // study.n_train, 20, _MOST_WITNESSES))
    found = study.witnesses(rows[:many])
    return {int(row): each for row, each in zip(rows, found, strict=False) if each is not None}


def shown_columns(study: Study) -> list[str]:
    """Feature columns shown beside a row: the first few."""
    return study.feature_columns[:_CELLS]


def least_robust(study: Study, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the least robust test rows, and the labels that overturn them."""
    at, names = _least(study), shown_columns(study)
    answers = study.answers
    cells = study.test.cells(at, names, _CELL_LENGTH)
    labels = study.test.labels
    return {
        "columns": [show(name, _CELL_LENGTH) for name in names],
        "total": len(study.test),
        "rows": [
            {
                "row": int(study.test.numbers[row]),
                "prediction": study.prediction(row),
                "label": None if labels is None else study.target.show(labels[row]),
                "score": float(f"{answers.score[row]:.6g}"),
                "least": None
                if math.isinf(answers.proven_budget[row])
                else int(answers.proven_budget[row]),
                "witness": _listed(study, witnesses.get(int(row))),
                "cells": cells[position],
            }
            for position, row in enumerate(at.tolist())
        ],
    }


def _listed(study: Study, witness: Witness | None) -> list[list[Any]] | None:
    """Training rows and their new labels, the first few; None where none was looked for."""
    if witness is None:
        return None
    return [
        [int(study.train.numbers[row]), study.target.show(label)]
        for row, label in zip(
            witness.indices[:_LISTED].tolist(), witness.labels[:_LISTED].tolist(), strict=True
        )
    ]


def suspects(study: Study, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the training labels that appear in the most minimal witnesses."""
    names = shown_columns(study)
    count: Counter[int] = Counter()
    becomes: dict[int, float] = {}
    for witness in witnesses.values():
        for row, label in zip(witness.indices.tolist(), witness.labels.tolist(), strict=True):
            count[row] += 1
            becomes[row] = label
    top = sorted(count, key=lambda row: (-count[row], row))[:_SUSPECTS]
    cells = study.train.cells(np.array(top, dtype=int), names, _CELL_LENGTH)
    labels = study.train.labels
    return {
        "columns": [show(name, _CELL_LENGTH) for name in names],
        "witnesses": len(witnesses),
        "rows": [
            {
                "row": int(study.train.numbers[row]),
                "label": study.target.show(labels[row]),  # type: ignore[index]
                "becomes": study.target.show(becomes[row]),
                "count": count[row],
                "cells": cells[at],
            }
            for at, row in enumerate(top)
        ],
    }


def all_coefficients(study: Study) -> list[dict[str, Any]]:
    """Every coefficient: its range and whether its sign is proven, largest first."""
    certs = study.coefficients
    least = certs.minimum_budget
    order = np.argsort(-np.abs(certs.score), kind="stable")
    names = study.columns.feature_names()
    return [
        {
            "name": names[at],
            "value": float(certs.score[at]),
            "low": float(certs.low[at]),
            "high": float(certs.high[at]),
            "verdict": str(certs.verdict[at]),
            "keeps_sign": bool(certs.verdict[at] == Verdict.ROBUST),
            "minimum_budget": float(least[at]),
        }
        for at in order.tolist()
    ]


def coefficients(study: Study) -> dict[str, Any]:
    """Return the largest coefficients, and how many there are."""
    found = all_coefficients(study)
    return {
        "total": len(found),
        "kept": sum(each["keeps_sign"] for each in found),
        "rows": [_drawable(each) for each in found[:_COEFFICIENTS]],
    }


def _drawable(coefficient: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient as the page takes it: ends that are not known are left out."""
    ends = {end: coefficient[end] for end in ("value", "low", "high")}
    known = {end: value if math.isfinite(value) else None for end, value in ends.items()}
    return coefficient | known | {"minimum_budget": labels(coefficient["minimum_budget"])}
