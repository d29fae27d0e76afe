"""Counting: how many predictions of test rows one set of wrong labels overturns."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.audit.all_rows import Say, budget_facts, numbers_of, rests_in_words, rows_meant
from unswayed.audit.folded import FoldedStudy
from unswayed.audit.refit import refitted_scores
from unswayed.audit.request import Budget
from unswayed.audit.study import Study
from unswayed.collective import TogetherCertificate
from unswayed.words import number_end


@dataclass(frozen=True, kw_only=True)
class Counting:
    """What is counted, and how long that may take."""

    only_rows: str | None = None  # Test rows that count, as a condition; None: all
    # Only predictions that rise too far, or fall; None: both
    turned: Literal["up", "down"] | None = None
    # Column of the test rows that says how much each counts; None: 1
    row_weights: str | None = None
    time_limit: float = 60.0  # Seconds per budget


@dataclass(frozen=True, eq=False)
class Counted:
    """What was found at one budget."""

    facts: dict[str, Any]  # For people and programs
    found: TogetherCertificate


def count_together(study: Study, counting: Counting, say: Say) -> list[Counted]:
    """Prove, at every budget, how many test rows one set of wrong labels overturns."""
    among = rows_meant(study, counting.only_rows)
    weights = None
    if counting.row_weights is not None:
        weights = numbers_of(
            study, counting.row_weights, "--row-weights", test=True, least="0 or more"
        )

    def asked(budget: Budget) -> Counted:
        ask: Any
        if isinstance(study, FoldedStudy):
            ask = study.certify_rows(np.arange(len(study.test)), budget).certify_together
        else:
            ask = partial(study.model.certify_together, study.test.features)
        found = ask(
            budget=study.count(budget),
            time_limit=counting.time_limit,
            direction=counting.turned,
            where=among,
            weights=weights,
            progress=lambda line: say(f"{budget.text}: {line}"),
        )
        again = refitted(study, found.witness.indices, found.witness.labels, counting.turned)
        return Counted(_facts(study, budget, found, again & among, weights), found)

    return [asked(budget) for budget in study.request.budgets]


def refitted(study: Study, changed: IntArray, labels: Any, turned: str | None = None) -> BoolArray:
    """Return which test rows a model, trained anew on changed labels, tells something else."""
    every = np.arange(len(study.test))
    before = study.answers.score
    after = refitted_scores(study, changed, labels, every) if len(changed) else before
    if study.target.classes:
        rule = study.request.rule
        other = rule.predict(after) != rule.predict(before)
    else:
        radius = study.request.radius
        assert radius is not None  # noqa: S101  (checked before)
        other = np.abs(after - before) > study.request.on_scale(radius)
    ways = {None: after != before, "up": after > before, "down": after < before}
    return np.asarray(other & ways[turned])


def _facts(
    study: Study,
    budget: Budget,
    found: TogetherCertificate,
    again: BoolArray,
    weights: FloatArray | None,
) -> dict[str, Any]:
    """Return what was found as plain values; numbers of rows are those of their files."""
    counts = {"one_at_a_time": found.fragile, "at_most": found.at_most, "at_least": found.at_least}
    replayed = int(again.sum()) if weights is None else float(weights[again].sum())
    numbers = study.test.numbers
    return {
        **budget_facts(study, budget),
        **counts,
        "proven": found.proven,
        "rows": found.n_rows,
        "at_most_text": number_end(found.at_most, 1),
        "at_least_text": number_end(found.at_least, -1),
        "one_at_a_time_text": number_end(found.fragile, 1),
        "bounds": dict(found.bounds),
        "rests_on": rests_in_words(found.rests_on),
        "replayed": replayed,
        "overturned": numbers[found.witness.overturned].tolist(),
        "replayed_rows": numbers[again].tolist(),
    }
