"""How far predicted numbers can move, and the share that stays within a radius."""

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from unswayed._core.rounding import above, below
from unswayed._typing import BoolArray, FloatArray
from unswayed.exceptions import InputError
from unswayed.margins.decisions import Radius
from unswayed.results.certificates import Verdict
from unswayed.results.groups import SMALL_GROUP
from unswayed.study.request import Budget
from unswayed.study.study import Study
from unswayed.words import as_text, natural, points, shorten

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
_OF_OTHERS = (0.5, 0.9, 1.0)  # quantiles at budgets other than the main one
_ENOUGH = 5  # radii of a grid that say something
_DIGITS = (2, 3, 4)  # of a radius; more where movements are all alike


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """How far the prediction of each test row can move at one budget, on the model's scale."""

    study: Study
    budget: Budget
    most: FloatArray  # rounded up: proven not to be exceeded
    least: FloatArray  # rounded down: proven to be reached

    @classmethod
    def of(cls, study: Study, budget: Budget, ranges: Any) -> "Movement":
        """Return the movements that ranges of scores allow."""
        score, none = ranges.score, np.zeros(len(ranges.score))
        most = np.maximum(above(ranges.high, -score, none), above(score, -ranges.low, none))
        least = np.maximum(
            below(ranges.inner_high, -score, none), below(score, -ranges.inner_low, none)
        )
        moved = cls(study, budget, most, np.maximum(least, 0.0))
        # Rows that are proven not to move do not, whatever rounding adds.
        return replace(moved, most=np.where(moved.within(0.0)[0], 0.0, most))

    def within(self, radius: float) -> tuple[BoolArray, int]:
        """Return which test rows are proven to stay within a radius, and how many are open."""
        limit = self.study.request.on_scale(radius)
        robust = np.asarray(self.most <= limit)
        hidden = np.flatnonzero(~robust & (self.least <= limit))
        if not len(hidden):
            return robust, 0
        certs = self.study.scheme.certify(self.study, hidden, self.budget, Radius(limit))
        robust[hidden] = certs.robust
        return robust, int(np.sum(certs.verdict == Verdict.UNDECIDED))

    def quantiles(self, own: BoolArray | slice = slice(None)) -> dict[str, float]:
        """Return distances that shares of some rows are proven to stay within."""
        shares = {"median": 0.5, "p90": 0.9, "largest": 1.0}
        found = np.quantile(self.most[own], [*shares.values()], method="higher").tolist()
        return {
            name: _as_written(self.study, each) for name, each in zip(shares, found, strict=True)
        }

    def by_group(self, name: str) -> dict[str, Any]:
        """Return how far predictions of each group can move."""
        values = np.array(self.study.groups(name), dtype=object)
        rows = []
        for group in sorted(set(values.tolist()), key=natural):
            own = np.asarray(values == group)
            count = int(own.sum())
            known = {"group": group, "rows": count, "small": count < SMALL_GROUP}
            rows.append(known | self.quantiles(own))
        return {"column": shorten(name), "groups": rows}


def movements(study: Study) -> list[Movement]:
    """Return how far predictions can move."""
    request = study.request
    if study.target.task != "regression" or request.method != "exact":
        return []
    others = request.budgets[1:] if request.radius is None else ()
    return [
        Movement.of(study, request.budget, study.answers),
        *(Movement.of(study, each, study.ranges(each)) for each in others),
    ]


def movement_facts(study: Study) -> dict[str, Any]:
    """Return how far predictions can move, and the robust share over a grid of radii."""
    found = movements(study)
    if not found:
        return {"movement": None, "radius_grid": []}
    each = [
        {"budget": moved.budget.text, "labels": study.count(moved.budget)} | moved.quantiles()
        for moved in found
    ]
    return {
        "movement": {
            "relative": study.request.log,
            **each[0],
            "budgets": each,
            "groups": [found[0].by_group(name) for name in study.request.groups],
        },
        "radius_grid": [_at(study, found, radius) for radius in grid(study, found)],
    }


def shown_ends(study: Study) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the ends of predicted numbers and how far they move, where nobody gave a radius."""
    if not study.ranges_only:
        return None
    answers, in_units = study.answers, study.target.natural
    moved = Movement.of(study, study.request.budget, answers)
    return (
        in_units(answers.low, -math.inf),
        in_units(answers.high, math.inf),
        np.array([_as_written(study, each) for each in moved.most.tolist()]),
    )


def _at(study: Study, found: list[Movement], radius: float) -> dict[str, Any]:
    answers = [moved.within(radius) for moved in found]
    robust, undecided = answers[0]
    return {
        "radius": radius,
        "text": radius_text(study, radius),
        "robust": int(robust.sum()),
        "rate": float(robust.mean()),
        "undecided": undecided,
        "rates": [float(each.mean()) for each, _ in answers],
    }


def _as_written(study: Study, moved: float) -> float:
    """Return a distance in the user's terms: of logarithms as a share, rounded up."""
    if not study.request.log or not math.isfinite(moved):
        return moved
    return math.nextafter(math.expm1(moved), math.inf) if moved else 0.0


def radius_text(study: Study, radius: float) -> str:
    """Return a radius as a user writes it."""
    return f"{as_text(round(100 * radius, 10))}%" if study.request.log else as_text(radius)


def grid(study: Study, found: list[Movement]) -> list[float]:
    """Return round radii from where hardly any row stays to where all do."""
    factor = 100 if study.request.log else 1  # shares are round as percentages
    known = [moved.most[np.isfinite(moved.most)] for moved in found]
    if not known[0].size:
        return []
    if not any((moved.least > 0).any() for moved in found):
        return [0.0]
    ends = [float(known[0].min()), *np.quantile(known[0], _QUANTILES, method="higher").tolist()]
    for other in known[1:]:
        if other.size:
            ends += np.quantile(other, _OF_OTHERS, method="higher").tolist()
    ends = [_as_written(study, end) for end in ends]
    radii: list[float] = []
    for digits in _DIGITS:
        rounded = {_round(factor * ends[0], digits, ROUND_FLOOR)}
        rounded |= {_round(factor * end, digits, ROUND_CEILING) for end in ends[1:]}
        radii = sorted(float(each / factor) for each in rounded)
        if len(radii) >= _ENOUGH:
            break
    return radii


def _round(number: float, digits: int, way: str) -> Decimal:
    exact = Decimal(number)
    if not exact:
        return exact
    return exact.quantize(Decimal((0, (1,), exact.adjusted() + 1 - digits)), way)


def need_radius(study: Study, option: str) -> None:
    """Raise if a number is predicted and no radius was given; suggest one."""
    if not study.ranges_only:
        return
    asked = f"{option} needs to know how far a predicted number may move: pass --radius"
    found = movements(study)
    radii = grid(study, found[:1])
    if not radii:
        raise InputError(f"{asked}, for example --radius {'10%' if study.request.log else '2000'}")
    count = len(study.test)
    for radius in radii:
        robust, _ = found[0].within(radius)
        if 2 * robust.sum() >= count:
            break
    raise InputError(
        f"{asked}, by what matters to you; for example, {int(robust.sum()):,} of {count:,} test "
        f"rows ({points(robust.mean())} %) stay within --radius {radius_text(study, radius)} at "
        f"the budget {study.request.budget.text}; plain certify shows other radii"
    )
