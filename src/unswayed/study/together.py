"""One set of wrong labels against all test rows: how many predictions it overturns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.results.collective import TogetherCertificate
from unswayed.study.facts import budget_facts, label_changes
from unswayed.study.loading import need
from unswayed.study.request import Budget
from unswayed.study.study import Study
from unswayed.tables.columns import is_number, plain
from unswayed.tables.expression import select
from unswayed.words import number_end, shorten

Say = Callable[[str], None]
"""Takes a line about how far a search is."""


def check_seconds(time_limit: float) -> float:
    """Return a time limit; raise unless it is 0 or more."""
    if not time_limit >= 0:
        raise InputError(
            f"--time-limit {time_limit:g} is not a number of seconds; pass 0 or more, where 0 "
            "gives bounds that take little time"
        )
    return time_limit


def rows_meant(study: Study, only_rows: str | None) -> BoolArray:
    """Return which test rows a question is about."""
    if only_rows is None:
        return np.ones(len(study.test), dtype=bool)
    mask = select(only_rows, study.test.table, "--only-rows")
    if not mask.any():
        raise InputError(
            f"--only-rows {shorten(only_rows)!r} holds for none of the {len(study.test):,} test "
            "rows, so that there is nothing to count; check the values it compares with, or pass "
            "more rows with --holdout or --test"
        )
    return mask


def numbers_of(study: Study, name: str, option: str, *, test: bool, least: str) -> FloatArray:
    """Return a column of numbers of the test rows, or of the training rows."""
    rows = study.test if test else study.train
    need((name,), rows.table, option)
    column = plain(rows.table.column(name))
    if not is_number(column.type):
        raise InputError(
            f"{option}: column {shorten(name)!r} holds texts; name a column of numbers"
        )
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    with np.errstate(invalid="ignore"):
        fine = np.isfinite(values) & ((values > 0) if least == "above 0" else (values >= 0))
    for at in np.flatnonzero(~fine)[:1]:
        raise InputError(
            f"{option}: column {shorten(name)!r} is {values[at]:g} in row {rows.numbers[at]:,}; it "
            f"must be a number, {least}"
        )
    return values


@dataclass(frozen=True, kw_only=True)
class Counting:
    """What is counted, and how long that may take."""

    only_rows: str | None = None  # Test rows that count, as a condition; None: all
    # Only predictions that rise too far, or fall; None: both
    turned: Literal["up", "down"] | None = None
    # Column of the test rows that says how much each counts; None: 1
    row_weights: str | None = None
    time_limit: float = 60.0  # Seconds per budget


def together_facts(study: Study, counting: Counting, say: Say) -> dict[str, Any]:
    """Prove, at every budget, how many test rows one set of wrong labels overturns."""
    if counting.turned is not None and study.target.several:
        raise InputError(
            f"--turned {counting.turned} counts predictions that rise to the second of two classes "
            f"or fall to the first, and here are {len(study.target.classes)} classes; leave it "
            "out, or name one class with --positive"
        )
    among, weights = rows_meant(study, counting.only_rows), None
    if counting.row_weights is not None:
        weights = numbers_of(
            study, counting.row_weights, "--row-weights", test=True, least="0 or more"
        )

    def asked(budget: Budget) -> dict[str, Any]:
        found = study.scheme.certify_together(
            study,
            budget,
            time_limit=counting.time_limit,
            direction=counting.turned,
            where=among,
            weights=weights,
            progress=lambda line: say(f"{budget.text}: {line}"),
        )
        again = refitted(study, found.witness.indices, found.witness.labels, counting.turned)
        return budget_facts(study, budget) | _counted(study, found, again & among, weights)

    budgets = [asked(budget) for budget in study.request.budgets]
    return {
        "rows": budgets[0]["rows"],
        "only_rows": counting.only_rows,
        "turned": counting.turned,
        "row_weights": counting.row_weights,
        "folds": study.request.folds,
        "time_limit": counting.time_limit,
        "budgets": budgets,
    }


def refitted(study: Study, changed: IntArray, labels: Any, turned: str | None = None) -> BoolArray:
    """Return which test rows a model, trained anew on changed labels, tells something else."""
    if not len(changed):
        return np.zeros(len(study.test), dtype=bool)
    before = study.answers.score
    after = study.scheme.refitted_scores(study, changed, labels, np.arange(len(study.test)))
    if study.target.classes:
        other = study.decided(after) != study.answers.said
        if study.target.several:  # a score per class, which rises and falls with the others
            return np.asarray(other)
    else:
        radius = study.request.radius
        assert radius is not None  # noqa: S101  (checked before)
        other = np.abs(after - before) > study.request.on_scale(radius)
    ways = {None: after != before, "up": after > before, "down": after < before}
    return np.asarray(other & ways[turned])


def _counted(
    study: Study, found: TogetherCertificate, again: BoolArray, weights: FloatArray | None
) -> dict[str, Any]:
    """Return what was found at a budget; numbers of rows are those of their files."""
    numbers, witness = study.test.numbers, found.witness
    return {
        "one_at_a_time": found.fragile,
        "at_most": found.at_most,
        "at_least": found.at_least,
        "proven": found.proven,
        "rows": found.n_rows,
        "at_most_text": number_end(found.at_most, 1),
        "at_least_text": number_end(found.at_least, -1),
        "one_at_a_time_text": number_end(found.fragile, 1),
        "bounds": dict(found.bounds),
        "replayed": int(again.sum()) if weights is None else float(weights[again].sum()),
        "overturned": numbers[witness.overturned].tolist(),
        "replayed_rows": numbers[again].tolist(),
        "changes": label_changes(study, study.train, witness.indices, witness.labels),
    }
