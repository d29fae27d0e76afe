"""What an audit is about, and answers: what is true of a label, and what that adds to its number.

Of three or more classes, what a change adds to the rival's lead differs from duel to duel; a class
is known to be there once an answer names it: if none of its labels were right, no model knew it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unswayed._core.rounding import UNIT, narrower, subtraction_error, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.linear import Duel
from unswayed.evidence.effects import Claims, LabelEffects
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.classes import ClassChanges
from unswayed.labels.samples import class_named

UNKNOWN = "?"
"""The answer for a label that nobody can tell: it counts as what would do most harm."""


class Answered(NamedTuple):
    """An answer as it is kept, and what it adds to the label's number: at least, at most."""

    known: Any
    wrong: bool
    low: float | FloatArray  # of several classes, in each duel
    high: float | FloatArray


@dataclass(frozen=True, eq=False)
class SeveralClasses:
    """Three or more classes: which of them labels may be, and who is against whom."""

    changes: ClassChanges
    values: FloatArray  # (duels, classes): what a label of each class counts in the rival's lead
    winner: IntArray  # of each duel
    rival: IntArray

    @classmethod
    def of(cls, duels: Sequence[Duel], changes: ClassChanges | None) -> "SeveralClasses | None":
        """Return the classes of duels; None where there are none."""
        if changes is None:
            return None
        values = np.stack([each.values for each in duels if each.values is not None])
        return cls(changes, values, np.argmin(values, axis=1), np.argmax(values, axis=1))

    def added(self, row: int, new: int) -> FloatArray:
        """Return what a label that is really of a class adds in each duel."""
        return np.asarray(self.values[:, new] - self.values[:, self.changes.own[row]])

    def doubtful(self, claims: Claims) -> IntArray:
        """Return the class whose labels may all be wrong, of each claim that rests on it; or -1."""
        every = range(self.changes.n_classes)
        lost = np.array([len(self.changes.losable(number)) > 0 for number in every])
        winner = self.winner[claims.duel]
        return np.where(lost[winner], winner, -1)


@dataclass(frozen=True, eq=False)
class Audited:
    """What an audit is about: numbers, the margins that they may not cross, and the labels."""

    effects: LabelEffects
    claims: Claims
    targets: FloatArray  # labels as numbers
    group: IntArray  # the number of each row
    classes: NDArray[Any] | None  # that answers name; None where these are numbers
    positive: float  # what the second class is as a number
    names: tuple[str, ...] | None  # of coefficients and sums
    question: str  # what stays the same, in words
    several: SeveralClasses | None = None

    @property
    def doubtful(self) -> IntArray:
        """The class that each claim rests on as long as none of its labels is known, or -1."""
        if self.several is None:
            return np.full(len(self.claims), -1)
        return self.several.doubtful(self.claims)

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        if self.several is None or self.classes is None:
            return {}
        return {name: number for number, name in enumerate(self.classes.tolist())}

    def number(self, known: Any) -> int:
        """Return the number of the class that an answer names, of three or more; or -1."""
        return self._numbers.get(known, -1)

    def read(self, row: int, answer: Any) -> Answered:
        """Return what an answer says; raise if it says nothing."""
        if isinstance(answer, str) and answer.strip() == UNKNOWN:
            return Answered(UNKNOWN, True, *self.effects.moves.between(row))
        if self.classes is None:
            return self._number_read(row, answer)
        name = class_named(answer, self.classes, row)
        known = getattr(name, "item", lambda: name)()
        if self.several is not None:
            return self._class_read(row, known, self.several)
        right = bool(name == self.classes[1]) == (float(self.targets[row]) == self.positive)
        moves = self.effects.moves
        other = 0.0 if right else float(moves.lower[row] or moves.upper[row])  # the only one
        return Answered(known, not right, other, other)

    def _class_read(self, row: int, known: Any, several: SeveralClasses) -> Answered:
        new, changes = self.number(known), several.changes
        assert self.classes is not None  # noqa: S101  (tells mypy)
        if not changes.allowed[row, new]:
            may = " or ".join(map(repr, self.classes[changes.allowed[row]].tolist()))
            raise InputError(
                f"the answer for row {row} is {known!r}, and the bias lets this label be {may} "
                "only: the audit rests on true labels that it allows. If the answer is right, fit "
                "with a bias whose to= allows it, and start a new audit"
            )
        added = several.added(row, new)
        return Answered(known, new != changes.own[row], added, added)

    def _number_read(self, row: int, answer: Any) -> Answered:
        moves, given = self.effects.moves, float(self.targets[row])
        lower, upper = float(moves.lower[row]), float(moves.upper[row])
        number = as_doubles(answer, f"the answer for row {row}")
        true = float(number) if number.ndim == 0 else math.nan
        if not math.isfinite(true):
            raise InputError(f"the answer for row {row} must be a finite number, got {answer!r}")
        added, off = np.array([true - given]), subtraction_error(np.array([true]), given)
        off += 4 * UNIT * max(abs(true), abs(given))  # ends of intervals were rounded, too
        low, high = float(narrower(added, off)[0]), float(wider(added, off)[0])
        if high < lower or low > upper:
            raise InputError(
                f"the answer for row {row} is {true:g}, and the bias lets this label lie between "
                f"{given + lower:g} and {given + upper:g} only: the audit rests on true labels "
                "within these intervals. If the answer is right, fit with a wider bias, and start "
                "a new audit"
            )
        return Answered(true, true != given, max(low, lower), min(high, upper))

    # --- simulated audits -----------------------------------------------------------------

    def simulated(self, share: float, rng: np.random.Generator) -> FloatArray:
        """Return what is added to labels of which a share is wrong, or to numbers of classes."""
        lower, upper = self.effects.moves.lower, self.effects.moves.upper
        bad = rng.random(len(lower)) < share
        added = lower + rng.random(len(lower)) * (upper - lower)
        if self.several is not None:
            changes = self.several.changes
            bad &= (lower < 0) | (upper > 0)
            added = changes.drawn(np.arange(len(lower)), rng) - self.targets
        elif self.classes is not None:
            added = np.where(upper > 0, upper, lower)
        return np.where(bad, added, 0.0)

    def simulated_answer(self, row: int, added: float) -> Answered:
        """Return the answer for a label that `added` makes a true one."""
        if self.several is None or self.classes is None:
            return Answered(0.0, bool(added), added, added)
        return self.read(row, self.classes[int(self.targets[row] + added)])
