"""All test rows, equal ones once, with what is known of them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from unswayed.verify.collective.bounded import BoolArray, BoundedRows, Levels
from unswayed.verify.collective.exactly import ExactRows
from unswayed.verify.collective.functions import Function
from unswayed.verify.collective.known import Known, Measured, Rule
from unswayed.verify.data import Bias, Data
from unswayed.verify.facts import Moves
from unswayed.verify.floating import UnprovenError
from unswayed.verify.floating.rounding import IntArray
from unswayed.verify.integers import Track


class Sums(Protocol):
    """Test rows and sums of them: `BoundedRows` or `ExactRows`."""

    def each(self, numbers: Sequence[int]) -> Iterator[Measured | None]:
        """Yield what is known of test rows."""
        ...

    def combined(self, numbers: Sequence[int], factors: Sequence[Fraction]) -> Measured:
        """Return what is known of a sum of scores, each times a factor."""
        ...

    def exclusive(self, events: Levels, pairs: IntArray) -> BoolArray:
        """Return which pairs of events exclude each other."""
        ...


class Model:
    """Floating point where it tells something, and integers where it does not."""

    def __init__(
        self,
        document: dict[str, Any],
        data: Data,
        bias: Bias,
        track: Track,
        *,
        floating_point: bool,
    ) -> None:
        self._given, self._track = (document, data, bias), track
        self._bounded: BoundedRows | None = None
        self._exact: ExactRows | None = None
        if floating_point:
            with suppress(UnprovenError):
                self._bounded = BoundedRows(*self._given)
        self.settled: set[int] = set()  # test rows that took exact arithmetic

    @property
    def sums(self) -> Sums:
        """What sums of rows are made with."""
        return self.exact if self._bounded is None else self._bounded

    @property
    def bounded(self) -> BoundedRows | None:
        """Rows in floating point; None where that proves nothing."""
        return self._bounded

    @property
    def largest_label(self) -> Fraction:
        """The largest training label, whatever its sign."""
        _, data, _ = self._given
        return max(abs(Fraction(label)) for label in data.labels)

    @property
    def exact(self) -> ExactRows:
        """Rows in integers, which may take long."""
        if self._exact is None:
            self._exact = ExactRows(*self._given, self._track)
        return self._exact

    def known(
        self, numbers: Sequence[int], rule: Rule, witnesses: Sequence[Moves], needed: set[int]
    ) -> list[Known]:
        """Return what is known of test rows."""
        found: list[Known | None] = [None] * len(numbers)
        if self._bounded is not None:
            steps: Iterable[Measured | None] = self._bounded.each(numbers)
            for at, facts in enumerate(self._track(steps, "proving", len(numbers))):
                found[at] = None if facts is None else Known.of(facts, rule, witnesses)
        open_rows = [
            at
            for at, (number, known) in enumerate(zip(numbers, found, strict=True))
            if known is None or (number in needed and None in known.after)
        ]
        for at in self._track(open_rows, "proving in exact arithmetic", len(open_rows)):
            (facts,) = self.exact.each([numbers[at]])
            assert facts is not None  # noqa: S101  (in integers everything is known)
            found[at] = Known.of(facts, rule, witnesses)
            self.settled.add(numbers[at])
        return [known for known in found if known is not None]


@dataclass(frozen=True)
class Kinds:
    """Test rows, equal ones once."""

    model: Model
    first: list[int]  # A test row of each kind
    kind: list[int]  # The kind of each test row
    known: list[Known]  # Of each kind

    @cached_property
    def now(self) -> bytearray:
        """1 for rows that are predicted positive as things are, else 0."""
        return bytearray(bool(self.known[kind].positive) for kind in self.kind)

    def after(self, witness: int) -> bytearray:
        """Return which rows are predicted positive after the labels of a witness have changed."""
        flags = [bool(known.positive) ^ bool(known.after[witness]) for known in self.known]
        return bytearray(flags[kind] for kind in self.kind)

    def goal(self, function: Function) -> "Goal":
        """Return what overturning rows does to a sum over rows predicted positive."""
        gains = [0] * len(self.first)
        for kind, step in zip(self.kind, function.steps, strict=True):
            gains[kind] += -step if self.known[kind].positive else step
        return Goal(function.value(self.now), gains, function.unit)


@dataclass(frozen=True, slots=True)
class Goal:
    """A sum that labels are to make large."""

    start: Fraction  # Its value as things are
    gains: list[int]  # What each kind of row adds if it is overturned
    unit: Fraction  # Of the gains
    way: int | None = None  # Only rows that are overturned in this way add something


def kinds_of(data: Data) -> tuple[list[int], list[int]]:
    """Return a test row of each kind, and the kind of each test row."""
    assert data.tests is not None  # noqa: S101  (there are, but for coefficients)
    places: dict[bytes, int] = {}
    first: list[int] = []
    kind: list[int] = []
    for number, row in enumerate(data.tests):
        key = (np.array(row) + 0.0).tobytes()  # -0 is 0
        if key not in places:
            places[key] = len(first)
            first.append(number)
        kind.append(places[key])
    return first, kind
