"""Questions about many rows together, from a fitted model to a certificate in the user's terms."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from unswayed._core.dyadic import enclose
from unswayed._core.rounding import wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.collective_file import (
    CollectiveSource,
    first_rows,
    multipliers_section,
    together_section,
    witness_section,
)
from unswayed.estimators.label_code import LabelCode
from unswayed.estimators.question import Question
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, refuse_masked
from unswayed.joint.fragile import Changes, Fragile
from unswayed.joint.goal import count_goal, whole_numbers
from unswayed.joint.search import Deadline, Progress, Search
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision
from unswayed.results.collective import CollectiveSource as Source
from unswayed.results.collective import CollectiveWitness, TogetherCertificate

_MOST_NUMBERS = 2**28  # of the influence rows that are held at once: 2 GB


class Asked(Protocol):
    """Rows put to one model, or each to the model of its fold."""

    @property
    def group(self) -> IntArray:
        """The distinct row of each row."""
        ...

    @property
    def targets(self) -> FloatArray:
        """All training labels, as numbers."""
        ...

    @property
    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """How far each of them may fall and rise."""
        ...

    @property
    def code(self) -> LabelCode:
        """How labels are coded as numbers."""
        ...

    @property
    def decision(self) -> Decision:
        """What must stay the same."""
        ...

    @property
    def positive(self) -> BoolArray:
        """Which rows are predicted to be of the second class."""
        ...

    @property
    def trusted(self) -> tuple[str, ...]:
        """What the caller vouched for."""
        ...


@dataclass(frozen=True, eq=False)
class Collective:
    """Rows put to a model together."""

    question: Asked
    budget: Budget
    fragile: Fragile  # Of the distinct rows

    @classmethod
    def of(
        cls, question: Question, budget: Budget, ways: tuple[float, ...] = (1, -1)
    ) -> "Collective":
        """Find the rows that can be overturned."""
        case = question.selection
        bounds, margins = case.answer(budget).bounds, case.margins
        found: list[tuple[IntArray, float, FloatArray]] = []
        unknown = ~np.isfinite(margins.slack)
        for way, outer, margin in (
            (1.0, bounds.outer_up, margins.up),
            (-1.0, bounds.outer_down, margins.down),
        ):
            if way in ways:
                within = wider(outer, np.where(unknown, 0.0, margins.slack)) <= margin
                rows = np.flatnonzero(np.isfinite(margin) & (unknown | ~within))
                found.append((rows, way, margin[rows]))
        row = np.concatenate([rows for rows, _, _ in found])
        sign = np.concatenate([np.full(len(rows), way) for rows, way, _ in found])
        engine = case.engine
        check_size(len(row), len(engine.influence.entries))
        weights = case.rows.take(row)
        effects = engine.effects(weights, budget)
        forward = sign > 0
        values = weights.block(0, len(row)).values if len(row) else np.zeros((0, 0))
        fragile = Fragile(
            row=row,
            way=sign,
            influence=effects.influence * sign[:, None],
            margin=np.concatenate([margin for _, _, margin in found]),
            error=wider(effects.error, margins.slack[row]),
            ahead=np.where(forward, effects.up, effects.down),
            back=np.where(forward, effects.down, effects.up),
            weights=values * sign[:, None],
            design=engine.influence.entry_rows,
            entries=engine.influence.entries,
            n_labels=len(engine.bias.lower),
            budget=budget,
            whole=engine.bias.whole,
        )
        return cls(question, budget, fragile)

    def witness(self, changes: Changes, among: BoolArray | None = None) -> CollectiveWitness:
        """Return label changes in the user's terms."""
        overturned, _ = self.fragile.outcome(changes)
        hit = np.isin(self.question.group, self.fragile.row[overturned])
        hit &= True if among is None else among
        return self.labels(changes, np.flatnonzero(hit))

    def labels(self, changes: Changes, overturned: IntArray | None = None) -> CollectiveWitness:
        """Return label changes in the user's terms."""
        question = self.question
        lower, upper = question.offsets
        offset = np.where(changes.sign > 0, upper[changes.rows], lower[changes.rows])
        labels = question.targets[changes.rows] + offset * changes.share
        hit = np.zeros(0, dtype=np.intp) if overturned is None else overturned
        return CollectiveWitness(changes.rows, question.code.decode(labels), hit)


def check_size(n_fragile: int, n_entries: int) -> None:
    """Raise if the influence rows of all rows that can be overturned would fill the memory."""
    if n_fragile * n_entries > _MOST_NUMBERS:
        raise InputError(
            f"{n_fragile} of these rows can be overturned by themselves, and what {n_entries} "
            f"different training rows do to each would take over {8 * _MOST_NUMBERS >> 30} GB; ask "
            "about fewer rows, or a smaller budget"
        )


def ways_of(direction: str | None) -> tuple[float, ...]:
    """Return the ways in which rows may be overturned; raise unless `direction` is one."""
    ways: dict[Any, tuple[float, ...]] = {None: (1.0, -1.0), "up": (1.0,), "down": (-1.0,)}
    if direction not in ways:
        raise InputError(
            f"direction must be 'up', 'down' or None, got {direction!r}; 'up' counts rows whose "
            "score rises too far, which is towards the second class"
        )
    return ways[direction]


def together(
    asked: Collective,
    *,
    time_limit: float,
    direction: str | None,
    where: Any,
    weights: Any,
    progress: Progress | None,
    source: Source | None = None,
) -> TogetherCertificate:
    """Return how many of the rows one admissible set of labels can overturn."""
    seconds = as_seconds(time_limit)
    question, budget = asked.question, asked.budget
    among = _mask(where, len(question.group))
    weight = _weights(weights, len(question.group))
    steps, unit, blur = whole_numbers(weight)
    steps = np.where(among, steps, 0)
    per_row = np.bincount(question.group, minlength=int(question.group.max(initial=-1)) + 1) * 0
    np.add.at(per_row, question.group, steps)
    fragile = asked.fragile
    goal = count_goal(per_row[fragile.row], unit, fragile.row)
    search = Search(fragile, progress)
    found = search.largest(goal, Deadline.of(seconds))
    whole = weights is None

    def shown(value: Fraction, end: int) -> float:
        value += blur if end else -blur
        return int(value) if whole else enclose(max(value, Fraction(0)))[end]

    made = TogetherCertificate(
        at_most=shown(found.outer, 1),
        at_least=shown(found.inner, 0),
        proven=found.proven,
        witness=asked.witness(found.changes, among),
        fragile=shown(goal.ceiling, 1),
        n_rows=int(among.sum()),
        bounds={name: shown(bound, 1) for name, bound in found.bounds.items()},
        budget=budget.amount,
        question=f"{question.decision} if {budget}",
        trusted=question.trusted,
    )
    if source is not None or not isinstance(question, Question):
        return replace(made, source=source)
    claim = {
        "at_least": made.at_least,
        "at_most": made.at_most,
        "rests_on": made.rests_on,
        "witness": witness_section(found.changes, made.witness.overturned),
        "multipliers": multipliers_section(
            fragile, search.multipliers(goal), first_rows(question.group)
        ),
    }
    section = together_section(
        claim, direction=direction, among=among, weights=None if whole else weight
    )
    return replace(made, source=CollectiveSource(question, budget, section))


def as_seconds(time_limit: Any) -> float:
    """Return a time limit; raise unless it is a number of seconds, 0 or more."""
    given = as_doubles(time_limit, "time_limit")
    if given.ndim or not given >= 0:
        raise InputError(
            f"time_limit must be a number of seconds, 0 or more, got {time_limit!r}; 0 leaves out "
            "mixed-integer programmes and returns the bounds that take little time"
        )
    return min(float(given), 1e9)


def _mask(where: Any, n_rows: int) -> BoolArray:
    if where is None:
        return np.ones(n_rows, dtype=bool)
    refuse_masked(where, "where")
    mask = np.asarray(where)
    if mask.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in mask.flat):
        mask = mask.astype(bool)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        raise InputError(
            f"where must be one flag per row in question, {n_rows} in all; got shape {mask.shape} "
            f"of {mask.dtype}. For a group pass a comparison, such as where=race == 'Black'"
        )
    if not mask.any():
        raise InputError("where holds for none of the rows, so that there is nothing to count")
    return mask


def _weights(weights: Any, n_rows: int) -> FloatArray:
    if weights is None:
        return np.ones(n_rows)
    found = as_doubles(weights, "weights")
    if found.shape != (n_rows,) or not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(
            f"weights must be one finite number per row in question, 0 or more, {n_rows} in all; "
            "a row counts that much if it is overturned"
        )
    return found
