"""A study to a dict of plain values: everything the terminal and the page show."""

import datetime
import importlib.metadata
import os
import platform
from typing import Any

import numpy as np

from unswayed import __version__
from unswayed._core.selection import kernel_name
from unswayed._typing import BoolArray, FloatArray
from unswayed.audit.files import sha256
from unswayed.audit.study import Study
from unswayed.audit.tradeoff import Point
from unswayed.audit.words import shorten
from unswayed.certificates import Verdict
from unswayed.report.details import coefficients, least_robust, suspects, witnesses_of

SMALL_GROUP = 30
"""Fewer rows than this, and a rate says little: one row moves it by over three points."""
_CURVE_POINTS = 121
_CURVE_GROUPS = 8


def headline(study: Study) -> dict[str, Any]:
    """What was asked and the rates at every budget: the answer in short."""
    request, target = study.request, study.target
    verdict, choice = study.answers.verdict, study.alpha_choice
    return {
        "task": target.task,
        "label": shorten(target.label),
        "classes": list(target.class_names),
        "bias": study.bias_in_words(),
        "keeps": study.keeps(),
        "radius": request.radius,
        "alpha": study.alpha,
        "method": request.method,
        "train_rows": study.n_train,
        "test_rows": len(study.test),
        "alpha_choice": None if choice is None else choice.in_words(),
        "validation_rows": 0 if choice is None else choice.n_rows,
        "held_out": request.test is None,
        "movable_labels": int(study.movable.sum()),
        "quality": study.quality(),
        "undecided": int(np.sum(verdict == Verdict.UNDECIDED)),
        "budgets": [_rate(study, budget) for budget in request.budgets],
        "groups": [_groups(study, name) for name in request.groups],
        "notes": list(study.notes),
    }


def _rate(study: Study, budget: Any) -> dict[str, Any]:
    robust, count = study.robust(budget), study.count(budget)
    return {
        "budget": budget.text,
        "labels": count,
        "share": count / study.n_train,
        "robust": int(robust.sum()),
        "rate": float(robust.mean()),
    }


def _order(names: set[str]) -> list[str]:
    """Numbers by size, texts by letter."""
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _codes(values: list[str]) -> tuple[list[str], Any]:
    names = _order(set(values))
    position = {name: at for at, name in enumerate(names)}
    return names, np.array([position[value] for value in values])


def _groups(study: Study, column: str) -> dict[str, Any]:
    names, codes = _codes(study.groups(column))
    found = [_kept_by_group(study.robust(budget), names, codes) for budget in study.request.budgets]
    return {
        "column": shorten(column),
        "groups": [
            {
                "group": name,
                "rows": found[0][at]["rows"],
                "small": found[0][at]["small"],
                "rates": [groups[at]["kept"] / groups[at]["rows"] for groups in found],
            }
            for at, name in enumerate(names)
        ],
        "gaps": [_gap(groups) for groups in found],
    }


def summarise(study: Study, *, command: str, tradeoff: list[Point] | None = None) -> dict[str, Any]:
    """Everything the page shows, as plain values."""
    least = study.answers.proven_budget
    top, main = _top(study, least), study.count(study.request.budget)
    facts, witnesses = headline(study), witnesses_of(study)
    grouped = [_codes(study.groups(name)) for name in study.request.groups]
    exact = [_kept_by_group(least > main, names, codes) for names, codes in grouped]
    return facts | {
        "top": top,
        "main": main,
        "kept": int((least > main).sum()),
        "unknown": int(np.sum(~study.answers.minimum_budget_proven)),
        "exact_groups": exact,
        "exact_gaps": [_gap(each) for each in exact],
        "small_group": SMALL_GROUP,
        # One number per test row gives every rate at every budget; -1 stands for never.
        "minimum_budget": np.where(np.isfinite(least), least, -1).astype(int).tolist(),
        "group_codes": [codes.tolist() for _, codes in grouped],
        "curves": _curves(least, top, grouped),
        "rows": least_robust(study, witnesses),
        "suspects": suspects(study, witnesses),
        "coefficients": coefficients(study),
        "tradeoff": None if tradeoff is None else _tradeoff(tradeoff, facts),
        "provenance": provenance(study, command),
    }


def _kept_by_group(kept: BoolArray, names: list[str], codes: Any) -> list[dict[str, Any]]:
    """Count the rows of each group that keep their prediction, by exact minimum budgets."""
    rows = np.bincount(codes, minlength=len(names)).tolist()
    count = np.bincount(codes, kept, len(names)).astype(int).tolist()
    return [
        {"group": name, "rows": n, "kept": k, "small": n < SMALL_GROUP}
        for name, n, k in zip(names, rows, count, strict=True)
    ]


def _gap(groups: list[dict[str, Any]]) -> float:
    rates: list[float] = [each["kept"] / each["rows"] for each in groups]
    return max(rates) - min(rates)


def _top(study: Study, least: FloatArray) -> int:
    """Where the slider ends: where nearly every row that can be overturned is."""
    asked = max(study.count(budget) for budget in study.request.budgets)
    finite = least[np.isfinite(least)]
    reach = float(np.quantile(finite, 0.995)) if finite.size else 0.0
    return int(min(study.n_train, max(np.ceil(1.05 * reach), 2 * asked, 10)))


def _curves(
    least: FloatArray, top: int, grouped: list[tuple[list[str], Any]]
) -> list[dict[str, Any]]:
    """Rates over a grid of budgets: of all rows, then of the largest groups of each column."""
    grid = np.unique(np.linspace(0, top, _CURVE_POINTS).round())

    def rate(values: FloatArray) -> list[float]:
        kept = 1 - np.searchsorted(np.sort(values), grid, side="right") / len(values)
        return [round(float(each), 5) for each in kept]

    curves = []
    for names, codes in grouped or [([], np.empty(0, int))]:
        count = np.bincount(codes, minlength=len(names))
        largest = np.argsort(-count, kind="stable")[:_CURVE_GROUPS]
        telling = largest[count[largest] >= SMALL_GROUP]
        shown = sorted((telling if len(telling) else largest).tolist())
        curves.append(
            {
                "budget": grid.astype(int).tolist(),
                "all": rate(least),
                "groups": [{"group": names[at], "rate": rate(least[codes == at])} for at in shown],
                "left_out": len(names) - len(shown),
            }
        )
    return curves


def _tradeoff(points: list[Point], facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "budgets": [each["budget"] for each in facts["budgets"]],
        "points": [
            {"alpha": point.alpha, "quality": point.quality, "rates": list(point.rates)}
            for point in points
        ],
    }


def provenance(study: Study, command: str) -> dict[str, Any]:
    """Return what someone needs to make the same report again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = (
        datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        if epoch.isdigit()
        else datetime.datetime.now(datetime.UTC)
    )
    parts = ("numpy", "scipy", "scikit-learn", "pyarrow")
    return {
        "command": command,
        "files": [{"name": path.name, "sha256": sha256(path)} for path in study.request.inputs],
        "seed": study.request.seed,
        "versions": {
            "unswayed": __version__,
            "kernel": kernel_name(),
            "Python": platform.python_version(),
            **{part: importlib.metadata.version(part) for part in parts},
        },
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
    }
