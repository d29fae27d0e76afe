"""Claims about all rows together, as certificate files write them.

`unswayed.verify.collective` checks them. docs/certificates.md describes the format.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.certificate_file import (
    pack_doubles,
    pack_rows,
    write_collective,
    write_data,
)
from unswayed.estimators.question import Question
from unswayed.exceptions import InputError
from unswayed.joint.fragile import Changes, Fragile
from unswayed.joint.goal import Multipliers
from unswayed.joint.metrics import Form, Function, Largest, Named, Quotient, Sample, Smallest
from unswayed.joint.ranges import End, Ranges
from unswayed.joint.search import FRAGILE
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Radius, Threshold

_LONGEST_NAME = 200  # characters of a metric or group
_LONGEST_NUMBER = 30  # digits that the checker reads
_MOST_ROWS, _MOST_GROUPS = 2**15, 100  # that it reads


@dataclass(frozen=True, eq=False)
class CollectiveClaim:
    """What a collective certificate was made from, so that a file can be written of it."""

    question: Question
    budget: Budget
    section: dict[str, Any]  # The claim as the file holds it
    # Returns two numbers that the value is between by rational arithmetic, where those of doubles
    # are too far apart
    closer: Callable[[], list[float]] | None = None

    def save(
        self,
        path: Path,
        data: Path | None,
        *,
        recipe: dict[str, Any] | None = None,
        classes: list[Any] | None = None,
    ) -> None:
        """Write a certificate file, and beside it, if wanted, the data that it is about."""
        if not isinstance(self.question.decision, Threshold | Radius):
            raise InputError(
                "certificate files of many rows are about classes and numbers, and not about "
                f"{type(self.question.decision).__name__}; ask without decision="
            )
        n_rows, n_groups = len(self.question.group), len(self.section.get("groups", ()))
        if n_rows > _MOST_ROWS or n_groups > _MOST_GROUPS:
            raise InputError(
                f"a certificate file of many rows is about {_MOST_ROWS:,} of them and "
                f"{_MOST_GROUPS} groups at most, and here are {n_rows:,} rows and {n_groups} "
                "groups; ask about fewer at a time"
            )
        self._refuse_other_classes()
        section = self.section
        if self.closer is not None:
            section = section | {"value": self.closer()}
        if data is not None:
            write_data(self.question, data)
        try:
            write_collective(
                self.question, self.budget, section, path, recipe=recipe, classes=classes
            )
        except ValueError as error:
            if "JSON" not in str(error):
                raise
            raise InputError(
                "the range is infinite, because doubles prove nothing about these rows: there is "
                "no claim to write"
            ) from None

    def _refuse_other_classes(self) -> None:
        """Raise if rounding put a row on the other side of the threshold than its exact score."""
        decision, scores = self.question.decision, self.question.scores
        if not isinstance(decision, Threshold):
            return
        doubtful = ~(np.abs(scores.value - decision.value) > scores.error)
        for at, row in self.question.selection.exactly(np.flatnonzero(doubtful)):
            if (row.score > Fraction(decision.value)) != (scores.value[at] > decision.value):
                number = int(np.flatnonzero(self.question.group == at)[0])
                raise InputError(
                    f"the score of row {number} is on the threshold, and rounding puts it on the "
                    "other side: what was counted is not true of the exact solution. Leave such "
                    "rows out, or move the threshold by a little"
                )


def first_rows(group: IntArray) -> IntArray:
    """Return the first row of each kind of equal rows."""
    return np.unique(group, return_index=True)[1]


def witness_section(changes: Changes, overturned: IntArray | None = None) -> dict[str, Any]:
    """Return label changes for a certificate file."""
    up, down = changes.sign > 0, changes.sign < 0
    made: dict[str, Any] = {
        "up": pack_rows(changes.rows[up]),
        "down": pack_rows(changes.rows[down]),
    }
    shares = np.concatenate((changes.share[up], changes.share[down]))
    if (shares != 1.0).any():
        made["shares"] = pack_doubles(shares)
    if overturned is not None:
        made["overturned"] = pack_rows(overturned)
    return made


def multipliers_section(
    fragile: Fragile, multipliers: Multipliers | None, first: IntArray
) -> dict[str, Any]:
    """Return multipliers for a certificate file; nothing if there are none."""
    if multipliers is None:
        return {}
    events, cuts = multipliers.events, multipliers.cuts.tolist()
    cliques = [(m, cut) for m, cut in zip(multipliers.cliques, cuts, strict=True) if cut > 0]
    used = multipliers.links > 0
    for members, _ in cliques:
        used[members] = True
    row, way = first[fragile.row[events.at]], fragile.way[events.at]
    kinds = {
        "rise": events.over & (way > 0),
        "fall": events.over & (way < 0),
        "no_rise": ~events.over & (way > 0),
        "no_fall": ~events.over & (way < 0),
    }
    made: dict[str, Any] = {}
    order: list[int] = []
    for name, which in kinds.items():
        here = np.flatnonzero(which & used)
        here = here[np.argsort(row[here], kind="stable")]
        made[name] = pack_rows(row[here])
        order += here.tolist()
    if not order:
        return {}
    number = np.zeros(len(events), dtype=np.intp)
    number[order] = np.arange(len(order))
    made["links"] = pack_doubles(multipliers.links[order])
    made["cliques"] = [
        {"weight": cut, "events": pack_rows(np.sort(number[members]))} for members, cut in cliques
    ]
    return made


def together_section(
    claim: dict[str, Any],
    *,
    direction: str | None,
    among: BoolArray,
    weights: FloatArray | None,
) -> dict[str, Any]:
    """Return a claim of how many rows labels overturn, with what was asked."""
    asked: dict[str, Any] = {"ask": "together"}
    if direction is not None:
        asked["direction"] = direction
    if not among.all():
        asked["where"] = pack_rows(np.flatnonzero(among))
    if weights is not None:
        asked["weights"] = pack_doubles(weights)
    return asked | claim


# --- metrics --------------------------------------------------------------------------------


def named_section(name: str, sample: Sample) -> dict[str, Any]:
    """Return what a metric by its name is about."""
    asked: dict[str, Any] = {"ask": "metric", "metric": name}
    named = Named.read(name)
    if named.kind is not None:
        asked["groups"] = groups_section(sample.groups)
    if sample.actual is not None and named.needs_truth:
        asked["truth"] = pack_rows(np.flatnonzero(sample.actual))
    return asked


def groups_section(groups: tuple[tuple[Any, BoolArray], ...]) -> list[dict[str, Any]]:
    """Return groups of rows."""
    names = [str(name)[:_LONGEST_NAME] for name, _ in groups]
    if len(set(names)) < len(names):  # 1 and "1", or texts with the same beginning
        names = [f"{at}: {name}"[:_LONGEST_NAME] for at, name in enumerate(names)]
    return [
        {"name": name, "rows": pack_rows(np.flatnonzero(rows))}
        for name, (_, rows) in zip(names, groups, strict=True)
    ]


def own_section(name: str, parts: list[FloatArray]) -> dict[str, Any]:
    """Return what a metric of one's own is about."""
    terms = [{"negative": pack_doubles(low), "positive": pack_doubles(high)} for low, high in parts]
    return {"ask": "metric", "metric": name[:_LONGEST_NAME], "terms": terms}


def end_section(
    ranges: Ranges, form: Form, end: End, ends: tuple[float, float], first: IntArray, *, up: bool
) -> dict[str, Any]:
    """Return one end of the range of a metric."""
    fragile = ranges.search.fragile

    def section(function: Function) -> dict[str, Any]:
        return multipliers_section(
            fragile, ranges.search.multipliers(ranges.goal([function])), first
        )

    made: dict[str, Any] = {
        "outer": ends[0],
        "inner": ends[1],
        "rests_on": end.rests_on,
        "witness": witness_section(end.changes),
    }
    if isinstance(form, Quotient):
        assert end.at is not None  # noqa: S101  (quotients have it)
        if max(len(str(each)) for each in end.at.as_integer_ratio()) > _LONGEST_NUMBER:
            return made | {"rests_on": "engine"}  # which nobody else can compute again
        made["at"] = list(end.at.as_integer_ratio())
    if end.rests_on == FRAGILE:
        return made
    made["multipliers"] = [section(each) for each in _bounded_functions(form, end, up=up)]
    if isinstance(form, Quotient):
        made["floor"] = [section(-each) for family in form.families for each in family]
    return made


def _bounded_functions(form: Form, end: End, *, up: bool) -> list[Function]:
    """Return the functions that an outer end follows from upper bounds of."""
    if isinstance(form, Largest | Smallest):
        return [each if up else -each for each in form.functions]
    assert end.at is not None  # noqa: S101  (quotients have it)
    differences = [above.less(below, end.at) for above, below in form.pairs]
    return [each if up else -each for each in differences]
