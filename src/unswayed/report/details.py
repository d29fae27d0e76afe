"""The rows, labels and coefficients worth a closer look."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from unswayed._typing import IntArray
from unswayed.report.facts import NOT_IDENTIFIED, Effects, Findings
from unswayed.results.certificates import Witness
from unswayed.words import as_text, distance, labels_between, number_end, range_text

_ROWS = 500
_CELLS = 10  # columns shown beside a row
_CELL_LENGTH = 40
_LISTED = 25  # labels named of one witness
_SUSPECTS = 20
_CHOSEN = 20  # rows with a section of their own
_SECTION_COLUMNS = 60  # columns named in such a section
_SECTION_LABELS = 15  # training rows listed there
_COEFFICIENTS = 40
# A witness sorts every training label: keep the sum of that below a second or two.
_WITNESS_WORK = 6_000_000
_MOST_WITNESSES = 300


def _least(findings: Findings) -> IntArray:
    """Return positions of the least robust test rows: fewest wrong labels first."""
    known = findings.enough, findings.proven_budget
    return np.asarray(np.lexsort(known)[:_ROWS])


def witnesses_of(findings: Findings) -> dict[int, Witness]:
    """Find witnesses of the least robust test rows.

    A witness sorts every training label, so at most 20 to 300 rows are tried, fewer the more
    training rows there are.
    """
    if findings.witnesses is None:
        return {}
    rows = _least(findings)
    least = findings.proven_budget[rows]
    rows = rows[np.isfinite(least) & (least > 0)]
    many = int(np.clip(_WITNESS_WORK // findings.n_train, 20, _MOST_WITNESSES))
    if findings.kind != "ridge":  # each of them takes refits
        rows, many = rows[np.isfinite(findings.enough[rows])], _CHOSEN
    found = findings.witnesses(rows[:many])
    return {int(row): each for row, each in zip(rows, found, strict=False) if each is not None}


def _test_columns(findings: Findings) -> list[str]:
    """Return the columns to show beside test rows: groups first."""
    return [*dict.fromkeys([*findings.groups, *findings.columns])]


def least_robust(findings: Findings, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the least robust test rows, and the labels that overturn them."""
    least = findings.proven_budget

    def particulars(row: int) -> dict[str, Any]:
        return {
            "score": float(f"{findings.score[row]:.6g}"),
            **_probability(findings, row),
            "least": None if math.isinf(least[row]) else int(least[row]),
            "enough": int(findings.enough[row]) if math.isfinite(findings.enough[row]) else None,
            "needs": labels_between(findings.minimum_budget[row], findings.enough[row]),
            "witness": _listed(findings, witnesses.get(row)),
            "changed": len(witnesses[row]) if row in witnesses else 0,
        }

    return _table(findings, _least(findings), particulars)


def _probability(findings: Findings, row: int) -> dict[str, Any]:
    """Return the probability of a row and its range as texts; nothing where scores are none."""
    if findings.probability is None:
        return {}
    value, low, high = (float(each[row]) for each in findings.probability)
    return {
        "probability": number_end(value, digits=4),
        "probability_range": range_text(low, high, digits=4),
    }


def _table(
    findings: Findings, at: IntArray, particulars: Callable[[int], dict[str, Any]]
) -> dict[str, Any]:
    """Return some test rows with what is said of each, and their own cells."""
    names = _test_columns(findings)[:_CELLS]
    cells = findings.test.cells(at, names, _CELL_LENGTH)
    return {
        "columns": [as_text(name, _CELL_LENGTH) for name in names],
        "total": findings.n_test,
        "rows": [
            {
                "row": int(findings.test.numbers[row]),
                "prediction": findings.prediction[row],
                "label": None if findings.truth is None else findings.truth[row],
                **particulars(row),
                "cells": cells[position],
            }
            for position, row in enumerate(at.tolist())
        ],
    }


def furthest(findings: Findings) -> dict[str, Any]:
    """Return the test rows whose predicted number can move furthest at the main budget."""
    assert findings.moved is not None  # noqa: S101  (numbers without a radius have it)
    at = np.argsort(-findings.moved, kind="stable")[:_ROWS]
    return _table(findings, at, lambda row: _range(findings, row))


def _range(findings: Findings, row: int) -> dict[str, Any]:
    """Return between which ends a predicted number stays, and how far it can move."""
    assert findings.low is not None and findings.high is not None  # noqa: S101, PT018
    assert findings.moved is not None  # noqa: S101
    moved = float(findings.moved[row])
    low, high = float(findings.low[row]), float(findings.high[row])
    return {
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "low_text": number_end(low, -1),
        "high_text": number_end(high, 1),
        "moved": moved if math.isfinite(moved) else None,
        "moves": distance(moved, findings.log),
    }


def chosen_rows(findings: Findings, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return chosen rows and the least robust ones in full, with the labels that overturn them."""
    asked = [*dict.fromkeys(findings.chosen)]
    if not findings.decided:
        return _chosen_ranges(findings, asked)
    others = [row for row in _least(findings).tolist() if row in witnesses and row not in asked]
    at = np.array([*asked, *others[: max(_CHOSEN - len(asked), 0)]], dtype=int)
    missing = np.array([row for row in asked if row not in witnesses], dtype=int)
    if findings.witnesses is not None:
        pairs = zip(missing.tolist(), findings.witnesses(missing), strict=True)
        witnesses = witnesses | {row: found for row, found in pairs if found is not None}
    every = _test_columns(findings)
    names = every[:_SECTION_COLUMNS]
    shared = [name for name in findings.columns if name in names]
    cells = findings.test.cells(at, names, _CELL_LENGTH)
    rows = []
    for row, own in zip(at.tolist(), cells, strict=True):
        witness = witnesses.get(row)
        beside = dict(zip(names, own, strict=True))
        rows.append(
            {
                "row": int(findings.test.numbers[row]),
                "prediction": findings.prediction[row],
                "label": None if findings.truth is None else findings.truth[row],
                "score": float(f"{findings.score[row]:.6g}"),
                **_probability(findings, row),
                "least": None if witness is None else len(witness),
                "needs": labels_between(findings.minimum_budget[row], findings.enough[row]),
                "never": bool(np.isposinf(findings.minimum_budget[row])),
                "proven": bool(findings.minimum_budget_proven[row]),
                "cells": own,
                "changes": [] if witness is None else _changes(findings, witness, shared, beside),
            }
        )
    return {
        "columns": [as_text(name, _CELL_LENGTH) for name in names],
        "left_out": len(every) - len(names),
        "asked": len(asked),
        "compared": any(change["cells"] for row in rows for change in row["changes"]),
        "rows": rows,
    }


def _chosen_ranges(findings: Findings, asked: list[int]) -> dict[str, Any]:
    """Return chosen rows in full, with the range of their prediction."""
    every = _test_columns(findings)
    names = every[:_SECTION_COLUMNS]
    cells = findings.test.cells(np.array(asked, dtype=int), names, _CELL_LENGTH)
    return {
        "columns": [as_text(name, _CELL_LENGTH) for name in names],
        "left_out": len(every) - len(names),
        "asked": len(asked),
        "compared": False,
        "rows": [
            {
                "row": int(findings.test.numbers[row]),
                "prediction": findings.prediction[row],
                "label": None if findings.truth is None else findings.truth[row],
                **_range(findings, row),
                "cells": own,
                "changes": [],
            }
            for row, own in zip(asked, cells, strict=True)
        ],
    }


def _changes(
    findings: Findings, witness: Witness, names: list[str], own: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the first training rows of a witness: label, new label, and cells that differ."""
    some = witness.indices[:_SECTION_LABELS]
    cells = findings.train.cells(some, names, _CELL_LENGTH)
    return [
        {
            "row": int(findings.train.numbers[row]),
            "label": findings.train_label(row),
            "becomes": findings.new_label(label),
            "cells": bool(there),
            "differs": [
                [as_text(name, _CELL_LENGTH), cell]
                for name, cell in zip(names, there, strict=False)
                if own[name] != cell
            ],
        }
        for row, label, there in zip(
            some.tolist(), witness.labels[: len(some)].tolist(), cells, strict=True
        )
    ]


def _listed(findings: Findings, witness: Witness | None) -> list[list[Any]] | None:
    """Return the first training rows of a witness and their new labels.

    None if the row has no witness.
    """
    if witness is None:
        return None
    return [
        [int(findings.train.numbers[row]), findings.new_label(label)]
        for row, label in zip(
            witness.indices[:_LISTED].tolist(), witness.labels[:_LISTED].tolist(), strict=True
        )
    ]


def suspects(findings: Findings, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the training labels that appear in the most witnesses."""
    names = [name for name in _test_columns(findings) if name in findings.columns][:_CELLS]
    count: Counter[int] = Counter()
    becomes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for witness in witnesses.values():
        for row, label in zip(witness.indices.tolist(), witness.labels.tolist(), strict=True):
            count[row] += 1
            becomes[row][findings.new_label(label)] += 1
    top = sorted(count, key=lambda row: (-count[row], row))[:_SUSPECTS]
    cells = findings.train.cells(np.array(top, dtype=int), names, _CELL_LENGTH)
    shown = names if cells and cells[0] else []
    return {
        "columns": [as_text(name, _CELL_LENGTH) for name in shown],
        "witnesses": len(witnesses),
        "rows": [
            {
                "row": int(findings.train.numbers[row]),
                "label": findings.train_label(row),
                "becomes": [list(each) for each in becomes[row].most_common()],
                "count": count[row],
                "cells": cells[at],
            }
            for at, row in enumerate(top)
        ],
    }


def coefficients(findings: Findings) -> dict[str, Any]:
    """Return the largest coefficients, and how many there are."""
    found = findings.coefficients() or Effects(rows=[])
    known = [each for each in found.rows if each["verdict"] != NOT_IDENTIFIED]
    return {
        "total": len(found.rows),
        "kept": found.kept,
        "undecided": found.undecided,
        "not_identified": found.unidentified,
        "meaning": found.meaning,
        "scope": found.scope,
        "labels": findings.budgets[0].labels if found.labels is None else found.labels,
        "budgets": found.budgets,
        "sampling": found.sampling,
        "bases": found.bases,
        "intercept": None if found.intercept is None else _drawable(found.intercept),
        "caveats": found.caveats,
        "rows": [_comparable(each) for each in known[:_COEFFICIENTS]],
    }


def _comparable(coefficient: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient for the page: standardised, with its base level in its name."""
    row = _drawable(coefficient)
    if coefficient.get("standard") is not None:
        original = {end: row[end] for end in ("value", "low", "high")}
        row |= _known(coefficient["standard"]) | {"original": original}
        row["budgets"] = [
            each | _known(each["standard"]) for each in coefficient.get("budgets", ())
        ]
    if coefficient.get("base") is not None:
        row["short"] = coefficient["name"]  # for the chart: base levels stand above it
        row["name"] = f"{coefficient['name']}, not {coefficient['base']}"
    return row


def _drawable(coefficient: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient for the page: infinite ends become None, the budget a text."""
    budget = labels_between(coefficient["minimum_budget"], coefficient["enough"])
    return coefficient | _known(coefficient) | {"minimum_budget": budget}


def _known(ends: dict[str, Any]) -> dict[str, Any]:
    """Return value, ends, standard error and interval, None where they are not finite."""
    names = ("value", "low", "high", "standard_error", "confidence_low", "confidence_high")
    return {end: ends[end] if math.isfinite(ends[end]) else None for end in names if end in ends}
