"""All test rows at once: what they share, whatever is asked of them together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray
from unswayed.audit.expression import select
from unswayed.audit.kinds import need_linear
from unswayed.audit.loading import need
from unswayed.audit.request import Budget, Request
from unswayed.audit.study import Study
from unswayed.cells import is_number, plain
from unswayed.exceptions import InputError
from unswayed.words import shorten

Say = Callable[[str], None]
"""Takes a line about how far a search is."""

ENGINE, SOLVER = "the engine", "HiGHS"


def check_exact(request: Request) -> None:
    """Raise if a method was asked for that is about single rows."""
    need_linear(request.kind, "a question about all rows at once")
    given = {"--method": request.method if request.method != "exact" else None,
             "--resolve": request.resolve}  # fmt: skip
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{option} {value} is about single rows, and here one set of labels serves all of "
                f"them, which has one method; leave {option} out"
            )


def check_seconds(time_limit: float) -> float:
    """Return a time limit; raise unless it is 0 or more."""
    if not time_limit >= 0:
        raise InputError(
            f"--time-limit {time_limit:g} is not a number of seconds; pass 0 or more, where 0 "
            "leaves out mixed-integer programmes and gives bounds that take little time"
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


def budget_facts(study: Study, budget: Budget) -> dict[str, Any]:
    """Return a budget as it was written and in labels."""
    count = study.count(budget)
    return {
        "budget": budget.text,
        "labels": count,
        "labels_in_words": study.labels_in_words(count),
    }


def rests_in_words(*names: str) -> str:
    """Say what bounds rest on: the engine, or a solver's word too."""
    return SOLVER if SOLVER in names else ENGINE
