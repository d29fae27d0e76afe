"""Reviewing: labels of a file to check, what reviewers answer, and the corrected file."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unswayed._typing import IntArray
from unswayed.atomic import atomic_write
from unswayed.exceptions import InputError
from unswayed.results.reviews import ANSWER, ReviewPlan, as_row, read_answers, read_lines
from unswayed.study.facts import beside, budget_facts
from unswayed.study.opening import Opening
from unswayed.study.request import Loaded, parse_share
from unswayed.study.study import Study
from unswayed.study.target import label_of, same
from unswayed.study.together import Say, numbers_of
from unswayed.tables.delimited import open_bytes
from unswayed.tables.files import file_at, is_csv, is_parquet, read_table

_OWN = ("order", "batch", "row", "label", "cost", "of_rows", ANSWER)
_STEPS = 6  # between the points of a curve that are told in words
_DRAWS = 20  # reviews that are simulated
_MARK = "\ufeff"  # what some programs begin UTF-8 with


@dataclass(frozen=True)
class Answer:
    """What a reviewer says of a label."""

    row: int  # Number of the row in the training file
    text: str  # As it was written
    label: float  # As the model is trained on it


# --- the plan -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much can be checked."""

    labels: int = 60
    per_reviewer: int | None = None
    costs: str | None = None  # Column of the training file
    cost_limit: float | None = None
    # How many of the checked labels are wrong, for an estimate: a share, as it was written
    error_rate: str | None = None

    def __post_init__(self) -> None:
        """Raise if it is less than nothing."""
        for option, value, least in (
            ("--labels", self.labels, 0),
            ("--per-reviewer", self.per_reviewer, 1),
            ("--cost-limit", self.cost_limit, 0),
        ):
            if value is not None and not value >= least:
                raise InputError(f"{option} {value:g} is too little; pass {least} or more")
        if self.error_rate is not None:
            parse_share(self.error_rate, "--error-rate")


def plan_review(study: Study, effort: Effort, checked: IntArray, say: Say) -> ReviewPlan:
    """Find the labels whose verification makes most test rows robust."""
    costs = None
    if effort.costs is not None:
        costs = numbers_of(study, effort.costs, "--costs", test=False, least="above 0")
    plan: ReviewPlan = study.model.review_plan(
        study.test.features,
        effort.labels,
        budget=study.count(study.request.budget),
        costs=costs,
        cost_limit=effort.cost_limit,
        exclude=checked,
        per_reviewer=effort.per_reviewer,
        progress=say,
    )
    return plan


def plan_columns(study: Study, plan: ReviewPlan, *, costs: bool) -> dict[str, Any]:
    """Return a plan as a table for reviewers, with all that the file says of its rows."""
    cost = {"cost": plan.cost.tolist()} if costs else {}
    return list_columns(study, plan.order, cost, batch=plan.batch)


def list_columns(
    study: Study, rows: IntArray, beside_label: dict[str, Any], *, batch: IntArray | None = None
) -> dict[str, Any]:
    """Return labels to check as a table for people, with all that the file says of their rows."""
    texts = [study.train_label(at) for at in rows.tolist()]
    some = study.train.table.take(pa.array(rows)), study.train.numbers[rows]
    return label_list(some, study.target.label, texts, beside_label, batch=batch)


def label_list(
    some: Loaded,
    label: str,
    texts: list[str],
    beside_label: dict[str, Any],
    *,
    batch: IntArray | None = None,
) -> dict[str, Any]:
    """Return rows of a file and the texts of their labels as a table for people who check them."""
    cells = {
        beside(name, _OWN): column
        for name, column in zip(some[0].column_names, some[0].columns, strict=True)
        if name != label
    }
    return {
        "order": np.arange(1, len(texts) + 1).tolist(),
        **({} if batch is None else {"batch": batch.tolist()}),
        "row": some[1].tolist(),
        "label": texts,
        **beside_label,
        **cells,
        ANSWER: pa.nulls(len(texts), pa.string()),
    }


def plan_facts(study: Study, plan: ReviewPlan, effort: Effort, checked: IntArray) -> dict[str, Any]:
    """Return a plan as plain values."""
    names, numbers = study.feature_columns, study.train.numbers[plan.order].tolist()
    cells = study.train.cells(plan.order, names)
    points = sorted({round(len(plan) * at / _STEPS) for at in range(_STEPS + 1)})
    return {
        **budget_facts(study, study.request.budget),
        "keeps": study.keeps(),
        "rows": plan.n_rows,
        "asked": effort.labels,
        "checked_before": len(checked),
        "batches": int(plan.batch.max(initial=0)),
        "costs": effort.costs,
        "cost": float(plan.cost.sum()),
        "robust_after": plan.robust_after.tolist(),
        "random": plan.baseline("random").tolist(),
        "witness": plan.baseline("witness").tolist(),
        "points": points,
        "expected": _expected(plan, effort, points),
        "columns": names,
        "n_labels": len(numbers),
        "labels": [
            {"row": row, "batch": batch, "label": study.train_label(at), "cells": cell}
            for row, batch, at, cell in zip(
                numbers, plan.batch.tolist(), plan.order.tolist(), cells, strict=True
            )
        ],
    }


def _expected(plan: ReviewPlan, effort: Effort, points: list[int]) -> dict[str, Any] | None:
    """Return what reviews that are simulated bring, if an error rate is given."""
    if effort.error_rate is None:
        return None
    rate = parse_share(effort.error_rate, "--error-rate")
    found = plan.expected_after(rate, checks=points, draws=_DRAWS)
    return {
        "error_rate": rate,
        "error_rate_text": effort.error_rate.strip(),
        "draws": _DRAWS,
        "mean": found.mean.tolist(),
        "spread": found.spread.tolist(),
    }


# --- what reviewers answer ------------------------------------------------------------------


def read_review(
    study: Study, paths: Sequence[Path], *, applied: bool, unknown: str | None = None
) -> dict[int, Answer]:
    """Read what reviewers found; the label of an answer that is `unknown` is NaN."""
    found: dict[int, Answer] = {}
    for path in paths:
        if not path.is_file():
            raise InputError(f"there is no file {path}; check the name and the folder")
        try:
            answers = read_answers(path, study.n_file_rows, first=1)
            planned = {} if applied else _planned(study, path)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        for row, text in answers.items():
            at = _position(study, row, path, needed=not applied)
            if at is None:
                continue
            bare = text.strip()
            label = (
                math.nan
                if bare == unknown
                else label_of(study.request, study.target, row, bare, path)
            )
            answer = Answer(row, bare, label)
            if at in found and found[at].label != label and found[at].text != bare:
                raise InputError(
                    f"{path}: row {row:,} is {text!r} here and {found[at].text!r} in another of "
                    "these files; settle which is right"
                )
            found[at] = answer
            if applied:
                _check_applied(study, at, answer, path)
            elif row in planned:
                _check_planned(study, at, row, planned[row], path)
    return found


def _planned(study: Study, path: Path) -> dict[int, str]:
    """Return the labels that rows had when the plan was made, if the file says so."""
    names, lines = read_lines(path)
    if "label" not in names:
        return {}
    return {as_row(line["row"], study.n_file_rows, 1): line["label"] for line in lines}


def _position(study: Study, row: int, path: Path, *, needed: bool) -> int | None:
    at = int(np.searchsorted(study.train.numbers, row))
    if at < len(study.train) and study.train.numbers[at] == row:
        return at
    if not needed:
        return None
    if row in study.test.numbers and study.request.test is None:
        why = "is held out as a test row"
    else:
        why = "misses a value and is left out, or is set aside to choose alpha"
    raise InputError(
        f"{path}: row {row:,} of {study.request.train.name} {why}, so that the model does not "
        "learn its label; pass the same options as to review plan, --seed and --holdout too"
    )


def _check_planned(study: Study, at: int, row: int, planned: str, path: Path) -> None:
    """Raise if a row had another label when the plan was made: it would be another row."""
    now = study.train_label(at)
    if planned.strip() in (now, f"'{now}") or same(planned, now):
        return
    raise InputError(
        f"{path}: the label of row {row:,} was {planned!r} when the plan was made, and is {now!r} "
        f"in {study.request.train.name}; pass the file that the plan was made of, or, if that has "
        "the answers already, name the review with --exclude"
    )


def _check_applied(study: Study, at: int, answer: Answer, path: Path) -> None:
    """Raise if the training file has another label than was found: it would be taken as right."""
    if float(np.asarray(study.train.labels)[at]) != answer.label:
        raise InputError(
            f"--exclude {path}: row {answer.row:,} was found to be {answer.text!r}, and is "
            f"{study.train_label(at)!r} in {study.request.train.name}; correct the file first, "
            "with unswayed review apply … --out corrected.csv, and pass that"
        )


# --- after that -----------------------------------------------------------------------------


def verified(study: Study, answers: dict[int, Answer]) -> Study:
    """Return the study with corrected labels, whose model is fitted on them.

    Labels that were checked can no longer be wrong. Nothing else changes: the test rows are the
    same, and so is alpha, which the training labels had no part in.
    """
    labels, movable = np.array(study.train.labels), study.movable.copy()
    for at, answer in answers.items():
        labels[at] = answer.label
        movable[at] = False
    training = replace(study.train, labels=labels)
    opening = Opening(study.request, study.progress)
    assert study.alpha is not None  # noqa: S101  (no folds here)
    model = opening.fit(study.target, training, movable, study.alpha)
    return replace(
        study,
        train=training,
        movable=movable,
        model=model,
        notes=opening.notes,
        caveats=opening.caveats,
    )


def after_facts(before: Study, after: Study, answers: dict[int, Answer]) -> dict[str, Any]:
    """Return what a review changed, on the same test rows."""
    old = np.asarray(before.train.labels)
    wrong = [at for at in sorted(answers) if old[at] != answers[at].label]
    return {
        "checked": len(answers),
        "corrected": [
            {
                "row": answers[at].row,
                "label": before.train_label(at),
                "new label": after.train_label(at),
            }
            for at in wrong
        ],
        "rows": len(before.test),
        "keeps": before.keeps(),
        "other_predictions": int(
            np.sum(np.array(before.predictions) != np.array(after.predictions))
        ),
        "quality": [before.quality(), after.quality()],
        "budgets": [
            budget_facts(before, budget)
            | {"robust": [int(each.robust(budget).sum()) for each in (before, after)]}
            for budget in before.request.budgets
        ],
    }


# --- the training file with some of its labels corrected, and everything else as it was -------


def endings(path: Path) -> tuple[str, ...]:
    """Return what the name of a corrected file may end in: CSV for CSV, Parquet for all others."""
    return (".csv",) if not path.is_file() or is_csv(path) else (".parquet", ".pq")


def write_corrected(study: Study, answers: Iterable[Answer], path: Path) -> None:
    """Write the training file of a study with corrected labels: all rows, all columns."""
    labels = dict(zip(study.train.numbers.tolist(), study.train.labels, strict=True))  # type: ignore[arg-type]
    given = [answer for answer in answers if labels[answer.row] != answer.label]
    for answer in given:
        if study.target.rest and not answer.label and _class_of(study, answer) is None:
            raise InputError(
                f"--out {path}: row {answer.row:,} is {answer.text!r} by the review, which does "
                "not say which class to write; answer one of "
                + ", ".join(map(repr, study.target.versus))
            )
    with atomic_write(path) as beside:
        if is_csv(study.request.train):
            _write_csv(study, given, beside)
            _check(study, given, beside, path)
        else:
            pq.write_table(_table(study, given), beside)


def _class_of(study: Study, answer: Answer) -> Any:
    """Return the class that an answer names; None if that is any but the positive one."""
    target = study.target
    if not target.rest or answer.label:
        return target.classes[int(answer.label)]
    named = dict(zip(target.versus, target.rest, strict=True))
    return next((value for name, value in named.items() if same(answer.text, name)), None)


def _table(study: Study, answers: list[Answer]) -> pa.Table:
    path = study.request.train
    table = pq.read_table(path) if is_parquet(path) else read_table(path, (), study.request.dialect)
    place = table.column_names.index(study.target.label)
    column = table.column(place)
    values = column.to_pylist()
    for answer in answers:
        if study.target.classes:
            values[answer.row - 1] = _class_of(study, answer)
        else:
            values[answer.row - 1] = float(answer.text.replace(study.request.dialect.decimal, "."))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        made = pa.array(values, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a fraction among whole numbers
        made = pa.array([None if value is None else float(value) for value in values])
    return table.set_column(place, study.target.label, made)


def _write_csv(study: Study, answers: list[Answer], path: Path) -> None:
    """Copy a CSV file, sign by sign, but for the labels."""
    with open_bytes(file_at(study.request.train)) as file:
        text = file.read().decode()
    cells = _label_cells(study, text)
    parts, done = [], 0
    for answer in sorted(answers, key=lambda each: each.row):
        start, end = cells[answer.row - 1]
        parts += [text[done:start], _spelled(study, answer, text, cells)]
        done = end
    path.write_bytes("".join([*parts, text[done:]]).encode())


def _label_cells(study: Study, text: str) -> list[tuple[int, int]]:
    """Return where the label of every row begins and ends; empty lines are no rows."""
    dialect = study.request.dialect
    sign = re.escape(dialect.delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"[^{sign}\r\n]*|[^{sign}\r\n]*)({sign}|\r\n|\n|\r|\Z)')
    place = study.train.table.column_names.index(study.target.label)
    found: list[tuple[int, int]] = []
    record: list[tuple[int, int]] = []
    for match in cell.finditer(text.removeprefix(_MARK)):
        record.append(match.span(1))
        if match[2] != dialect.delimiter:
            if len(record) > place:
                found.append(record[place])
            record = []
    shift = len(text) - len(text.removeprefix(_MARK))
    rows = found[1:] if dialect.header else found
    return [(start + shift, end + shift) for start, end in rows]


def _spelled(study: Study, answer: Answer, text: str, cells: list[tuple[int, int]]) -> str:
    """Return a label as the file writes it: a class as in another row, a number as answered."""
    if study.target.classes:
        labels = study.train.table.column(study.target.label).to_pylist()
        start, end = cells[int(study.train.numbers[labels.index(_class_of(study, answer))]) - 1]
        return text[start:end]
    start, _ = cells[answer.row - 1]
    return f'"{answer.text}"' if text[start : start + 1] == '"' else answer.text


def _check(study: Study, answers: list[Answer], written: Path, path: Path) -> None:
    """Raise unless the file that was written is the old one but for the labels."""
    dialect, label = study.request.dialect, study.target.label
    before = read_table(study.request.train, (), dialect)
    after = read_table(written, (), dialect)
    texts = [name for name in before.column_names if name != label]
    same = after.column_names == before.column_names and after.num_rows == before.num_rows
    if same and after.select(texts).equals(before.select(texts)):
        old, new = (_labels(each.column(label)) for each in (before, after))
        rows = {answer.row - 1 for answer in answers}
        if all(old[at] == new[at] or at in rows for at in range(len(old))):
            return
    raise InputError(
        f"--out {path}: {study.request.train} could not be copied without a change to other cells; "
        "correct the labels in it by hand"
    )


def _labels(column: Any) -> list[Any]:
    values = column.to_pylist()
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]
