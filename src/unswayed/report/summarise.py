"""Findings to a dict of plain values: everything the terminal and the page show."""

import datetime
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unswayed import __version__
from unswayed._core.kernels import kernel_name
from unswayed._typing import BoolArray, FloatArray
from unswayed.report import classes as three_numbers
from unswayed.report.classes import class_facts, contents, result_caveats, selected, without_rows
from unswayed.report.details import (
    chosen_rows,
    coefficients,
    furthest,
    least_robust,
    suspects,
    witnesses_of,
)
from unswayed.report.facts import BudgetRate, Findings, Size, caveat_dicts
from unswayed.results.curves import robustness_curve
from unswayed.results.groups import CONFIDENCE, SMALL_GROUP, group_rates
from unswayed.words import labels_of, natural, shorten

_PER_ROW = ("minimum_budget", "enough", "predicted_codes", "group_codes")  # for the page's script
_CURVE_POINTS = 121
_CURVE_GROUPS = 8
_NEARLY_ALL = 0.995
_MARGIN = 1.1  # the main budget is not at the very edge of a chart


def headline(findings: Findings, *, slider: bool = False, three: bool = True) -> dict[str, Any]:
    """Return what was asked and the rates at every budget."""
    classes = class_facts(findings)
    end = slider_end(findings) if slider else None
    summaries = three_numbers.of(findings, end) if three else {}
    # First what the numbers themselves do not mean, then what they rest on.
    caveats = [*result_caveats(findings, classes), *findings.caveats]
    return classes | {
        "task": findings.task,
        "label": shorten(findings.label),
        "classes": list(findings.classes),
        "positive": findings.classes[1] if findings.classes else None,
        "versus_rest": list(findings.versus),
        "bias": findings.bias,
        "keeps": findings.keeps,
        "model": findings.model,
        "rows_in_words": findings.rows_in_words,
        "numbering": findings.numbering,
        "radius": findings.radius,
        "log": findings.log,
        "movement": findings.movement,
        "radius_grid": list(findings.radius_grid),
        "kind": findings.kind,
        "alpha": findings.alpha,
        "C": findings.C,
        "method": findings.method,
        "train_rows": findings.n_train,
        "test_rows": findings.n_test,
        "alpha_choice": findings.alpha_choice,
        "validation_rows": findings.n_validation,
        "held_out": findings.held_out,
        "folds": findings.folds,
        "fold_by": findings.fold_by,
        "movable_labels": findings.n_movable,
        "quality": findings.quality,
        "undecided": int(findings.budgets[0].undecided.sum()) if findings.decided else None,
        "confidence": CONFIDENCE,
        "budgets": [
            _rate(findings, each)
            | {"three": summaries[each.labels].to_dict() if summaries else None}
            for each in findings.budgets
        ],
        "three": three_numbers.dial(summaries, findings.budgets[0].labels)
        if slider and summaries
        else None,
        "groups": [_groups(findings, name, values) for name, values in findings.groups.items()],
        "data": findings.data,
        "columns": list(findings.column_facts),
        "assumptions": [list(each) for each in findings.assumptions],
        "notes": list(findings.notes),
        "caveats": caveat_dicts(caveats),
    }


def _rate(findings: Findings, budget: BudgetRate) -> dict[str, Any]:
    return {
        "budget": budget.text,
        "labels": budget.labels,
        "labels_in_words": labels_of(budget.labels, findings.n_movable, findings.n_train),
        "share": budget.labels / findings.n_train,
        "share_of_movable": min(1.0, budget.labels / max(1, findings.n_movable)),
        "robust": int(budget.robust.sum()) if findings.decided else None,
        "overturned": int((~budget.robust & ~budget.undecided).sum()) if findings.decided else None,
        "undecided": int(budget.undecided.sum()) if findings.decided else None,
        "rate": float(budget.robust.mean()) if findings.decided else None,
        "highest_rate": float(budget.standing.mean()) if findings.decided else None,
        "interval": budget.interval() if findings.decided else None,
    }


def _codes(values: Sequence[str], names: Sequence[str] = ()) -> tuple[list[str], Any]:
    """Return the names of groups, in order unless given, and the position of each row's group."""
    found = list(names) or sorted(set(values), key=natural)
    position = {name: at for at, name in enumerate(found)}
    return found, np.array([position[value] for value in values])


def _groups(findings: Findings, column: str, values: list[str]) -> dict[str, Any]:
    rates = [group_rates(each.robust, values, each.undecided) for each in findings.budgets]
    left = [dict(zip(each.groups, each.n_undecided.tolist(), strict=True)) for each in rates]
    counts = dict(zip(rates[0].groups, rates[0].count.tolist(), strict=True))
    ends = [dict(zip(each.groups, each.intervals().tolist(), strict=True)) for each in rates]
    highest = [dict(zip(each.groups, each.highest.tolist(), strict=True)) for each in rates]
    gaps = [each.gap_interval() for each in rates]
    large = [name for name, rows in counts.items() if rows >= SMALL_GROUP]
    chosen = selected(findings)
    selection = None if chosen is None else group_rates(chosen, values)
    return {
        "column": shorten(column),
        "groups": [
            {
                "group": name,
                "rows": counts[name],
                "small": counts[name] < SMALL_GROUP,
                **findings.within_budget(_size(findings, column, name)),
                "selection_rate": None if selection is None else selection[name],
                "rates": [each[name] if findings.decided else None for each in rates],
                "highest_rates": [each[name] if findings.decided else None for each in highest],
                "intervals": [each[name] if findings.decided else None for each in ends],
                "undecided": [each[name] if findings.decided else None for each in left],
            }
            for name in sorted(set(values), key=natural)
        ],
        "gaps": [each.gap if findings.decided else None for each in rates],
        "gap_ranges": [list(each.gap_range()) if findings.decided else None for each in rates],
        "large_gaps": [
            _spread([each[name] for name in large]) if findings.decided else None for each in rates
        ],
        "gap_intervals": [list(gap) if findings.decided else None for gap in gaps],
        "within_chance": [low == 0 if findings.decided else None for low, _ in gaps],
        "selection_gap": None if selection is None else selection.gap,
    }


def _size(findings: Findings, column: str, group: str) -> Size | None:
    """Return the size of a group among the training rows; None where none are known."""
    known = findings.group_sizes.get(column)
    return known.get(group, Size(0, 0)) if known else None


def _spread(rates: list[float]) -> float | None:
    """Return the largest rate minus the smallest; None where there are fewer than two."""
    return max(rates) - min(rates) if len(rates) > 1 else None


def summarise(findings: Findings, facts: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return everything the page shows."""
    facts = headline(findings, slider=True) if facts is None else facts
    named = findings.witnesses is not None
    witnesses = witnesses_of(findings) if findings.decided else {}
    made = facts | {
        "in_python": findings.in_python,
        "no_rows": findings.no_rows,
        "decided": findings.decided,
        "named": named,
        "small_group": SMALL_GROUP,
        "main": findings.budgets[0].labels,
        **(_over_budgets(findings, facts) if findings.decided else {}),
        "rows": least_robust(findings, witnesses) if findings.decided else furthest(findings),
        "chosen": chosen_rows(findings, witnesses),
        "suspects": suspects(findings, witnesses) if findings.decided and named else None,
        "coefficients": coefficients(findings),
        "tradeoff": None if findings.tradeoff is None else _tradeoff(findings),
        "provenance": provenance(findings.command, findings.files, findings.seed),
    }
    if findings.no_rows:
        made = without_rows(made) | dict.fromkeys(_PER_ROW, ())
    return made | {"contents": contents(made, findings.sources)}


def _over_budgets(findings: Findings, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows at every number of wrong labels."""
    least, main = findings.proven_budget, findings.budgets[0].labels
    enough = np.nan_to_num(findings.enough, nan=np.inf, posinf=np.inf)
    top = slider_end(findings)
    grouped = [_codes(values) for values in findings.groups.values()]
    predicted = [_codes(findings.prediction, findings.classes)] if findings.classes else []
    named = ["prediction"] * len(predicted) + [each["column"] for each in facts["groups"]]
    kept = least > main
    left = ~kept & (enough > main)
    exact = [_kept(kept, left, each) for each in grouped]
    return {
        "top": top,
        "kept": int(kept.sum()),
        "left": int(left.sum()),
        "overturned": int((enough <= main).sum()),
        "unknown": int(np.sum(~findings.minimum_budget_proven)),
        "exact_predicted": [_kept(kept, left, each) for each in predicted],
        "exact_groups": exact,
        "exact_gaps": [_gap(each) for each in exact],
        # One number per test row gives every rate at every budget; -1 stands for never.
        "minimum_budget": np.where(np.isfinite(least), least, -1).astype(int).tolist(),
        "enough": np.where(np.isfinite(enough), enough, -1).astype(int).tolist(),
        "predicted_codes": [codes.tolist() for _, codes in predicted],
        "group_codes": [codes.tolist() for _, codes in grouped],
        "curves": _curves(least, enough, top, named, [*predicted, *grouped]),
    }


def _kept(kept: BoolArray, left: BoolArray, grouped: tuple[list[str], Any]) -> list[dict[str, Any]]:
    """Return how many rows of each group keep their prediction, and how many are undecided."""
    names, codes = grouped
    rows = np.bincount(codes, minlength=len(names)).tolist()
    robust, still = (
        np.bincount(codes[each], minlength=len(names)).tolist() for each in (kept, left)
    )
    return [
        {
            "group": name,
            "rows": rows[at],
            "kept": robust[at],
            "left": still[at],
            "small": rows[at] < SMALL_GROUP,
        }
        for at, name in enumerate(names)
    ]


def _gap(groups: list[dict[str, Any]]) -> float:
    rates: list[float] = [each["kept"] / each["rows"] for each in groups]
    return max(rates) - min(rates)


def slider_end(findings: Findings) -> int:
    """Return the largest budget of the slider, at most the number of training rows.

    Nearly every row that can be overturned is overturned there, so that the curves end where the
    axis does, and every budget asked about is within.
    """
    asked = max(budget.labels for budget in findings.budgets)
    least = findings.proven_budget
    finite = least[np.isfinite(least)]
    found = findings.enough[np.isfinite(findings.enough)]
    finite = found if found.size else finite
    reach = float(np.quantile(finite, _NEARLY_ALL, method="higher")) if finite.size else 0.0
    return int(min(findings.n_train, max(reach, np.ceil(_MARGIN * asked), 10)))


def _curves(
    least: FloatArray,
    enough: FloatArray,
    top: int,
    columns: list[str],
    grouped: list[tuple[list[str], Any]],
) -> list[dict[str, Any]]:
    """Return rates over a grid of budgets: of all rows, and of the groups of each column.

    The largest groups are named, the others drawn faintly. There is one entry per column; without
    groups, one for all rows. "all" is what is proven to keep its prediction, "standing" what was
    not overturned by any labels that were found: the truth is in between.
    """
    grid = np.unique(np.linspace(0, top, _CURVE_POINTS).round())

    def rate(values: FloatArray) -> list[float]:
        curve = robustness_curve(values)
        return [curve(budget) for budget in grid.tolist()]

    curves: list[dict[str, Any]] = []
    for column, (names, codes) in zip(columns, grouped, strict=True):
        count = np.bincount(codes, minlength=len(names))
        largest = np.argsort(-count, kind="stable")[:_CURVE_GROUPS].tolist()
        groups = [
            {
                "group": name,
                "rows": int(count[at]),
                "small": bool(count[at] < SMALL_GROUP),
                "named": at in largest,
                "rate": rate(least[codes == at]),
            }
            for at, name in enumerate(names)
            if count[at]
        ]
        curves.append({"column": column, "groups": groups})
    same = {"budget": grid.astype(int).tolist(), "all": rate(least), "standing": rate(enough)}
    return [same | curve for curve in curves or [{"column": None, "groups": []}]]


def _tradeoff(findings: Findings) -> dict[str, Any]:
    return {
        "budgets": [each.text for each in findings.budgets],
        "points": list(findings.tradeoff or ()),
    }


def provenance(
    command: str | None, files: Iterable[tuple[str, str]], seed: int | None
) -> dict[str, Any]:
    """Return what someone needs to make the same page again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = (
        datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        if epoch.isdigit()
        else datetime.datetime.now(datetime.UTC)
    )
    parts = ("numpy", "scipy", "scikit-learn", "pyarrow")
    installed = {each for each in parts if importlib.util.find_spec(_MODULES.get(each, each))}
    return {
        "command": command,
        "files": [{"name": name, "sha256": digest} for name, digest in files],
        "seed": seed,
        "versions": {
            "unswayed": __version__,
            "kernel": kernel_name(),
            "Python": platform.python_version(),
            **{part: importlib.metadata.version(part) for part in parts if part in installed},
        },
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
    }


_MODULES = {"scikit-learn": "sklearn"}  # packages that are imported by another name
