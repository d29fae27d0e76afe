"""Two studies side by side, on the same test rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.report.summarise import headline
from unswayed.results.certificates import Verdict
from unswayed.results.groups import CONFIDENCE, SMALL_GROUP, group_rates, paired_interval, wilson
from unswayed.study.findings import findings_of
from unswayed.study.movement import need_radius
from unswayed.study.study import Study
from unswayed.words import natural, shorten

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
                "one of the two is of logarithms, so that their distances have different units; "
                "pass --log for both or for none"
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
            rows = range(len(one.test))
            return np.array([one.prediction(at) != other.prediction(at) for at in rows], dtype=bool)
        radius = self.first.request.radius
        assert radius is not None  # noqa: S101  (it was checked at birth)
        apart = np.abs(one.answers.score - other.answers.score)
        return np.asarray(apart > one.request.on_scale(radius))

    def _least(self) -> list[FloatArray]:
        """Return minimum budgets: 0 where unknown, more than all labels where nothing overturns."""
        every = 1 + max(self.first.n_train, self.second.n_train)
        return [
            np.minimum(np.nan_to_num(study.answers.minimum_budget, nan=0.0, posinf=every), every)
            for study in (self.first, self.second)
        ]

    def order(self) -> IntArray:
        """Return positions of the test rows that changed, most of all first."""
        one, other = self._least()
        moved = np.abs(np.log((1 + other) / (1 + one)))
        before, after = self._robust()[0]
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
                f"prediction_{which}": [study.prediction(at) for at in range(len(study.test))],
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
        """Return what the terminal and the page show."""
        sides = [headline(findings_of(study)) for study in (self.first, self.second)]
        found = [caveat for side in sides for caveat in side["caveats"]]
        return {
            "names": list(self.names),
            "matched": self.matched,
            "test_rows": len(self.first.test),
            "changed": int(self.changed.sum()),
            "confidence": CONFIDENCE,
            "accuracy": self._accuracy(),
            "budgets": self._budgets(),
            "groups": [self._groups(name) for name in self.first.request.groups],
            "columns": self._shown(),
            "rows_changed": len(self.order()),
            "rows": self._rows(),
            "first": sides[0],
            "second": sides[1],
            "caveats": [each for at, each in enumerate(found) if each not in found[:at]],
        }

    def _robust(self) -> list[tuple[BoolArray, BoolArray]]:
        """Return which rows are robust, first and second, at each budget."""
        pairs = zip(self.first.request.budgets, self.second.request.budgets, strict=True)
        return [(self.first.robust(one), self.second.robust(other)) for one, other in pairs]

    def _standing(self) -> list[tuple[BoolArray, BoolArray]]:
        """Return which rows nothing was found to overturn, first and second, at each budget."""
        pairs = zip(self.first.request.budgets, self.second.request.budgets, strict=True)
        asked = ((self.first.verdicts(one), self.second.verdicts(other)) for one, other in pairs)
        return [(one != Verdict.NOT_ROBUST, other != Verdict.NOT_ROBUST) for one, other in asked]

    def _budgets(self) -> list[dict[str, Any]]:
        pairs = zip(self.first.request.budgets, self.second.request.budgets, strict=True)
        return [
            {
                "budgets": [one.text, other.text],
                "labels": [self.first.count(one), self.second.count(other)],
                **_paired(before, after, most),
            }
            for (one, other), (before, after), most in zip(
                pairs, self._robust(), self._standing(), strict=True
            )
        ]

    def _accuracy(self) -> dict[str, Any] | None:
        """Return how often each is right; None for numbers, and where labels are not known."""
        labels, classes = self.first.test.labels, self.first.target.classes
        if labels is None or self.second.test.labels is None or not classes:
            return None
        before, after = (
            np.asarray(study.request.rule.predict(study.answers.score) == study.test.labels)
            for study in (self.first, self.second)
        )
        return _paired(before, after)

    def _groups(self, name: str) -> dict[str, Any]:
        values = np.array(self.first.groups(name), dtype=object)
        robust, most = self._robust(), self._standing()
        rates = [
            [group_rates(each, values, top & ~each) for each, top in zip(*both, strict=True)]
            for both in zip(robust, most, strict=True)
        ]
        return {
            "column": shorten(name),
            "groups": [
                self._group(group, np.asarray(values == group), robust, most)
                for group in sorted(set(values.tolist()), key=natural)
            ],
            "gaps": [[each.gap for each in pair] for pair in rates],
            "gap_intervals": [[list(each.gap_interval()) for each in pair] for pair in rates],
        }

    def _group(
        self,
        name: str,
        own: BoolArray,
        robust: list[tuple[BoolArray, BoolArray]],
        most: list[tuple[BoolArray, BoolArray]],
    ) -> dict[str, Any]:
        """Return how the rows of a group changed, at each budget."""
        found = [
            _paired(before[own], after[own], (one[own], other[own]))
            for (before, after), (one, other) in zip(robust, most, strict=True)
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

    def _rows(self) -> list[dict[str, Any]]:
        at, table = self.order()[:_CHANGES], self.table()
        cells = self.first.test.cells(at, self._shown(), 40)
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
                "cells": cells[place],
            }
            for place, row in enumerate(at.tolist())
        ]


def _changed(before: BoolArray, after: BoolArray) -> tuple[float, float]:
    """Return an interval of the change between two shares of the same rows."""
    each = (before & after, before & ~after, ~before & after, ~before & ~after)
    return paired_interval(*(int(rows.sum()) for rows in each))


def _paired(
    before: BoolArray, after: BoolArray, most: tuple[BoolArray, BoolArray] | None = None
) -> dict[str, Any]:
    """Return two shares of the same rows, their change, and how sure they are.

    Where rows are undecided, `most` are those that were not overturned, and intervals cover what
    is left open.
    """
    top = (before, after) if most is None else most
    both, neither = int((before & after).sum()), int((~before & ~after).sum())
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
        "both": both,
        "gained": gained,
        "lost": lost,
        "neither": neither,
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
