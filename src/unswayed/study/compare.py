"""Models side by side on the same test rows: two studies, or one study over its penalty."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, SolverPrecisionWarning
from unswayed.report.facts import quality
from unswayed.results.certificates import Verdict
from unswayed.results.groups import CONFIDENCE, SMALL_GROUP, group_rates, paired_interval, wilson
from unswayed.study.answers import by_budgets
from unswayed.study.choosing import says_one_class
from unswayed.study.facts import row_facts
from unswayed.study.movement import need_radius
from unswayed.study.opening import open_study
from unswayed.study.request import Budget, Request
from unswayed.study.study import Progress, Study
from unswayed.words import natural, shorten

Pair = tuple[BoolArray, BoolArray]
"""Which test rows, of the first and of the second."""

_ALIKE = 0.9  # of the rows: columns that agree in so many are of the same rows
_CELLS = 6  # columns shown beside a row
_CHANGES = 30  # rows named as changed most


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two studies whose test rows are the same, in the same order."""

    first: Study
    second: Study
    names: tuple[str, str]
    matched: str  # why their test rows are the same

    @classmethod
    def of(cls, first: Study, second: Study, names: tuple[str, str]) -> "Comparison":
        """Put two studies side by side."""
        targets = [study.target for study in (first, second)]
        if targets[0].task != targets[1].task or targets[0].class_names != targets[1].class_names:
            what = [
                f"the classes {' and '.join(map(repr, each.class_names))}"
                if each.classes
                else "a number"
                for each in targets
            ]
            raise InputError(
                f"{names[0]} predicts {what[0]} but {names[1]} predicts {what[1]}, so their "
                "predictions cannot be compared; give both the same kind of label"
            )
        if targets[0].log != targets[1].log:
            raise InputError(
                "one of the two predicts logarithms, so that their distances have different units; "
                "pass --log for both or for none"
            )
        if first.unit != second.unit:
            raise InputError(
                f"budgets of one are in {first.unit} and of the other in {second.unit}, so that "
                "their rates cannot be compared; give both the same kind of budget"
            )
        if len(first.request.budgets) != len(second.request.budgets):
            raise InputError(
                "the two have different numbers of budgets, but rates are compared one by one; "
                "give both as many --budget options"
            )
        for study in (first, second):
            need_radius(study, "compare")
        return cls(first, second, names, _matched(first, second))

    # --- row by row ----------------------------------------------------------------------

    @cached_property
    def changed(self) -> BoolArray:
        """Which test rows have another prediction; of numbers, one further off than the radius."""
        one, other = self.first, self.second
        if one.target.classes:
            return np.asarray(np.array(one.predictions) != np.array(other.predictions))
        radius = self.first.request.radius
        assert radius is not None  # noqa: S101  (it was checked at birth)
        apart = np.abs(one.answers.score - other.answers.score)
        return np.asarray(apart > one.request.on_scale(radius))

    def _least(self) -> list[FloatArray]:
        """Return minimum budgets: 0 where unknown, more than all labels where nothing overturns."""
        every = 1 + max(self.first.everything, self.second.everything)
        return [
            np.minimum(np.nan_to_num(study.answers.minimum_budget, nan=0.0, posinf=every), every)
            for study in (self.first, self.second)
        ]

    def order(self) -> IntArray:
        """Return positions of the test rows that changed, most of all first."""
        one, other = self._least()
        moved = np.abs(np.log((1 + other) / (1 + one)))
        before, after = self._robust[0][2]
        changed, turned = self.changed, before != after
        order = np.lexsort((-moved, ~turned, ~changed))
        return np.asarray(order[(changed | turned | (moved > 0))[order]])

    def table(self) -> dict[str, Any]:
        """Return the columns of ``--out``, with one entry per test row."""
        columns: dict[str, Any] = {"row": self.first.test.numbers}
        if self.first.test.labels is not None:
            target = self.first.target
            columns["label"] = [target.as_text(each) for each in self.first.test.labels.tolist()]
        for which, study in (("first", self.first), ("second", self.second)):
            answers = study.answers
            columns |= {
                f"prediction_{which}": study.predictions,
                f"score_{which}": study.target.natural(answers.score),
                f"low_{which}": study.target.natural(answers.low, -np.inf),
                f"high_{which}": study.target.natural(answers.high, np.inf),
                f"verdict_{which}": [str(verdict) for verdict in answers.verdict],
                f"minimum_budget_{which}": answers.minimum_budget,
            }
        columns["prediction_changed"] = self.changed
        groups = self.first.request.groups
        return columns | {f"group_{name}": self.first.groups(name) for name in groups}

    # --- in sum --------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the facts of both, and how the second differs from the first."""
        sides = [row_facts(study) for study in (self.first, self.second)]
        found = [caveat for side in sides for caveat in side["caveats"]]
        order = self.order()
        return {
            "names": list(self.names),
            "matched": self.matched,
            "test_rows": len(self.first.test),
            "changed": int(self.changed.sum()),
            "confidence": CONFIDENCE,
            "accuracy": self._accuracy(),
            "budgets": [
                {
                    "budgets": [one.text, other.text],
                    "labels": [self.first.count(one), self.second.count(other)],
                    **_paired(*robust, most),
                }
                for one, other, robust, most in self._robust
            ],
            "groups": [self._groups(name) for name in self.first.request.groups],
            "columns": self._shown(),
            "rows_changed": len(order),
            "rows": self._rows(order[:_CHANGES]),
            "first": sides[0],
            "second": sides[1],
            "caveats": [each for at, each in enumerate(found) if each not in found[:at]],
        }

    @cached_property
    def _robust(self) -> list[tuple[Budget, Budget, Pair, Pair]]:
        """At each budget of both: rows that are robust, and rows that nothing overturns."""
        found = []
        pairs = zip(self.first.request.budgets, self.second.request.budgets, strict=True)
        for one, other in pairs:
            before, after = self.first.verdicts(one), self.second.verdicts(other)
            robust = np.asarray(before == Verdict.ROBUST), np.asarray(after == Verdict.ROBUST)
            most = np.asarray(before != Verdict.NOT_ROBUST), np.asarray(after != Verdict.NOT_ROBUST)
            found.append((one, other, robust, most))
        return found

    def _accuracy(self) -> dict[str, Any] | None:
        """Return how often each is right; None for numbers, and where labels are not known."""
        labels, classes = self.first.test.labels, self.first.target.classes
        if labels is None or self.second.test.labels is None or not classes:
            return None
        before, after = (
            np.asarray(study.answers.said == study.test.labels)
            for study in (self.first, self.second)
        )
        return _paired(before, after)

    def _groups(self, name: str) -> dict[str, Any]:
        values = np.array(self.first.groups(name), dtype=object)
        rates = [
            [group_rates(each, values, top & ~each) for each, top in zip(robust, most, strict=True)]
            for _, _, robust, most in self._robust
        ]
        return {
            "column": shorten(name),
            "groups": [
                self._group(group, np.asarray(values == group))
                for group in sorted(set(values.tolist()), key=natural)
            ],
            "gaps": [[each.gap for each in pair] for pair in rates],
            "gap_intervals": [[list(each.gap_interval()) for each in pair] for pair in rates],
        }

    def _group(self, name: str, own: BoolArray) -> dict[str, Any]:
        """Return how the rows of a group changed, at each budget."""
        found = [
            _paired(before[own], after[own], (one[own], other[own]))
            for _, _, (before, after), (one, other) in self._robust
        ]
        keys = ("rates", "highest_rates", "intervals", "change", "change_interval", "within_chance")
        many = {"change": "changes", "change_interval": "change_intervals"}
        return {
            "group": name,
            "rows": int(own.sum()),
            "small": int(own.sum()) < SMALL_GROUP,
            "changed": int(self.changed[own].sum()),
            **{many.get(key, key): [each[key] for each in found] for key in keys},
        }

    def _shown(self) -> list[str]:
        """Return columns to show beside rows: groups first, then features of both."""
        others = self.first.feature_columns
        return list(dict.fromkeys([*self.first.request.groups, *others]))[:_CELLS]

    def _rows(self, at: IntArray) -> list[dict[str, Any]]:
        table, cells = self.table(), self.first.test.cells(at, self._shown(), 40)
        kept = ("prediction", "score", "verdict", "minimum_budget")
        return [
            {
                "row": int(table["row"][row]),
                "label": table["label"][row] if "label" in table else None,
                "prediction_changed": bool(table["prediction_changed"][row]),
                **{
                    name: [_plain(table[f"{name}_{side}"][row]) for side in ("first", "second")]
                    for name in kept
                },
                "cells": own,
            }
            for row, own in zip(at.tolist(), cells, strict=True)
        ]


def _changed(before: BoolArray, after: BoolArray) -> tuple[float, float]:
    """Return an interval of the change between two shares of the same rows."""
    each = (before & after, before & ~after, ~before & after, ~before & ~after)
    return paired_interval(*(int(rows.sum()) for rows in each))


def _paired(before: BoolArray, after: BoolArray, most: Pair | None = None) -> dict[str, Any]:
    """Return two shares of the same rows, their change, and how sure they are.

    Where rows are undecided, `most` are those that were not overturned, and intervals cover what
    is left open.
    """
    top = (before, after) if most is None else most
    gained, lost = int((~before & after).sum()), int((before & ~after).sum())
    low, high = _changed(top[0], after)[0], _changed(before, top[1])[1]
    return {
        "rates": [float(before.mean()), float(after.mean())],
        "highest_rates": [float(each.mean()) for each in top],
        "intervals": [
            wilson(each.sum(), len(each), most=highest.sum()).tolist()
            for each, highest in zip((before, after), top, strict=True)
        ],
        "change": (gained - lost) / len(before),
        "change_interval": [low, high],
        "within_chance": low <= 0 <= high,
        "both": int((before & after).sum()),
        "gained": gained,
        "lost": lost,
        "neither": int((~before & ~after).sum()),
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _matched(first: Study, second: Study) -> str:
    """Say why the test rows of two studies are the same ones, or raise if they are not."""
    one, other = first.request, second.request
    same = np.array_equal(first.test.numbers, second.test.numbers)
    if one.test is not None and one.test == other.test:
        if same:
            return f"both certify the rows of {one.test.name}"
        raise InputError(
            f"the two leave out different rows of {one.test} that miss values; pass --missing "
            "impute, or a file whose rows are complete"
        )
    if one.test is not None or other.test is not None:
        raise InputError(
            "the two certify rows of different files, which cannot be compared one by one; pass "
            "one --test file for both"
        )
    if one.train.resolve() == other.train.resolve():
        if same:
            return "both hold out the same rows of the file"
        raise InputError(
            "the second holds out other rows than the first (--seed, --holdout or --missing "
            "differ), so nothing can be compared row by row; give both the same, or rows with "
            "--test"
        )
    files = f"{one.train} and {other.train}"
    if not same:
        raise InputError(
            f"{files} have different numbers of rows, so their held-out rows are not the same; "
            "pass rows to certify with --test"
        )
    return _alike(first, second, files)


def _alike(first: Study, second: Study, files: str) -> str:
    """Say how far held-out rows of two files agree, or raise if they are other rows."""
    tables = first.test.table, second.test.table
    shared = [name for name in tables[0].column_names if name in tables[1].column_names]
    equal = {name: _equal(tables[0].column(name), tables[1].column(name)) for name in shared}
    alike = [name for name, rows in equal.items() if rows.mean() >= _ALIKE]
    if 2 * len(alike) < max(1, len(shared)):
        raise InputError(
            f"{files} have as many rows, but in most of the columns that they share the held-out "
            f"rows differ ({len(alike)} of {len(shared)} columns agree), so they are not the same "
            "rows in the same order; pass rows to certify with --test"
        )
    whole = int(np.logical_and.reduce(list(equal.values())).sum())
    differ = [name for name, rows in equal.items() if not rows.all()]
    named = ", ".join(repr(shorten(name, 30)) for name in differ[:5])
    return (
        f"row N of {first.request.train.name} is taken to be row N of {second.request.train.name}: "
        f"{whole:,} of {len(first.test):,} held-out rows are equal in every shared column"
        + (f", others differ in {named}{', …' if len(differ) > 5 else ''}" if differ else "")
    )


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> BoolArray:
    pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
    return np.array([left == right for left, right in pairs], dtype=bool)


# --- accuracy against robustness over the penalty (the paper's first figure) ------------------


def tradeoff(
    request: Request, progress: Progress, alphas: tuple[float, ...] | None = None
) -> tuple[Study, list[dict[str, Any]]]:
    """Fit and certify once per penalty; return the study of the first, and a point of each."""
    kind = request.kind
    wanted = sorted(set(alphas or kind.alphas))
    study = open_study(replace(request, alpha=wanted[0], ranges=False, least="exact" in kind.can))
    need_radius(study, "the trade-off")
    # Features do not depend on the penalty, so that they are made once.
    train, test = study.train.features, study.test.features
    points = []
    for alpha in progress.track(wanted, f"over {kind.option}", len(wanted)):
        if alpha == wanted[0]:
            found = [study.verdicts(budget) for budget in study.request.budgets]
            said = study.model.predict(study.test.features)
        else:
            model = _refitted(study, train, alpha)
            found = _verdicts(study, model, test)
            said = model.predict(test)
        points.append(_point(study, alpha, found, np.asarray(said, dtype=np.float64)))
    return study, points


def _verdicts(study: Study, model: Any, rows: Matrix) -> list[NDArray[np.object_]]:
    """Return verdicts of rows, one array per budget."""
    request = study.request
    counts = [study.count(budget) for budget in request.budgets]
    if "exact" not in request.kind.can:
        certified = [model.certify(rows, budget=each, effort=request.effort) for each in counts]
        return [each.verdict for each in certified]
    # One number per row gives the verdict at every budget; its range is not needed here.
    least = model.minimum_budgets(rows, resolve=request.resolve)
    return [by_budgets(least.low, least.high, each) for each in counts]


def _refitted(study: Study, features: Matrix, alpha: float) -> Any:
    """Return the model of another penalty, fitted on the same features."""
    from sklearn.base import clone

    model = clone(study.model).set_params(estimator=study.request.kind.estimator(alpha))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features, study.train.labels, study.train.weights)
    for each in caught:
        note = f"{study.request.kind.penalty(alpha)}: {each.message}"
        if issubclass(each.category, SolverPrecisionWarning):
            study.notes.append(note)
    return model


def _point(
    study: Study, alpha: float, found: list[NDArray[np.object_]], said: FloatArray
) -> dict[str, Any]:
    """Return accuracy and robustness at one penalty."""
    labels, classes = study.test.labels, bool(study.target.classes)
    return {
        "alpha": alpha,
        "penalty": study.request.kind.written(alpha),
        "quality": None if labels is None else quality(said, labels, classes=classes),
        "rates": [float(np.mean(verdicts == Verdict.ROBUST)) for verdicts in found],
        "undecided": [float(np.mean(verdicts == Verdict.UNDECIDED)) for verdicts in found],
        # The class that (almost) everyone is told, if there is one
        "always": study.target.as_text(float(np.median(said)))
        if classes and says_one_class(said)
        else None,
    }
