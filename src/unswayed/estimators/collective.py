"""One set of labels for many rows: what is put together of them, for one model or for folds."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.label_code import LabelCode
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.joint.fragile import Changes, Fragile
from unswayed.joint.means import Sums
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision
from unswayed.results.collective import CollectiveSource, CollectiveWitness

_MOST_NUMBERS = 2**28  # of the influence rows that are held at once: 2 GB


class JointRows(Protocol):
    """Rows put to one model, or each to the model of its fold, for one set of labels."""

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

    def collective(self, budget: Budget, ways: tuple[float, ...] = (1, -1)) -> "Collective":
        """Find the rows that can be overturned, and what labels do to them."""
        ...

    def sums(self, budget: Budget, factors: FloatArray) -> Sums:
        """Return weighted sums of the scores, given how much each row counts in each."""
        ...

    def exact_scores(self) -> list[Fraction]:
        """Return the scores of the distinct rows in rational arithmetic."""
        ...

    def claimed(
        self,
        budget: Budget,
        section: Callable[[], dict[str, Any]],
        closer: Callable[[], list[float]] | None = None,
    ) -> CollectiveSource:
        """Return what a certificate file about all rows would be written from."""
        ...


@dataclass(frozen=True, eq=False)
class Collective:
    """Rows put to a model together."""

    question: JointRows
    budget: Budget
    fragile: Fragile  # Of the distinct rows

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


def as_seconds(time_limit: Any) -> float:
    """Return a time limit; raise unless it is a number of seconds, 0 or more."""
    given = as_doubles(time_limit, "time_limit")
    if given.ndim or not given >= 0:
        raise InputError(
            f"time_limit must be a number of seconds, 0 or more, got {time_limit!r}; 0 leaves out "
            "mixed-integer programmes and returns the bounds that take little time"
        )
    return min(float(given), 1e9)
