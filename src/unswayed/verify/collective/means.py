"""Means of scores: a mean is one more influence row, whose range is exact."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from unswayed.verify.collective.asked import Asked
from unswayed.verify.collective.finding import PROVEN, REJECTED, Finding, above, below, between
from unswayed.verify.collective.kinds import Model, Sums
from unswayed.verify.collective.known import Ends, Measured, Number, ends_of
from unswayed.verify.facts import Moves
from unswayed.verify.floating import UnprovenError
from unswayed.verify.floating.rounding import UNIT
from unswayed.verify.words import counted

_Means = list[tuple[Measured, int]]  # sums of scores, and what each is divided by
_Answer = tuple[bool, Fraction, Fraction]  # whether it holds, and two numbers the truth is between

# How many times the checker's own error bound the two ends of a value may be apart. That bound is
# of arithmetic with 80 binary digits, and taken to be no less than one rounding of a double. An
# engine that computes with 53 digits needs more, but no more than leaves people about six of them:
# 2^33 roundings of 2^-52 are two millionths of the value's size.
_ROOM = 2**33


def mean_findings(
    claim: dict[str, Any], asked: Asked, model: Model, witnesses: dict[str, tuple[Moves, str]]
) -> Iterator[Finding]:
    """Yield what comes of a claim of the range of a mean, or of a gap between means."""
    both = _Both(asked, model)
    yield _value_finding(claim["value"], both)
    for name, (moves, objection) in witnesses.items():
        part, inner = f"{name} reached", claim[name]["inner"]
        if objection:
            yield Finding(part, inner, REJECTED, None, objection)
        else:
            labels = counted(len(moves.up) + len(moves.down), "label")
            yield _finding(part, inner, both.answer(part, inner, moves), labels)
        outer = claim[name]["outer"]
        yield _finding(name, outer, both.answer(name, outer, None))


class _Both:
    """Means in floating point and, where that does not tell, in integers."""

    def __init__(self, asked: Asked, model: Model) -> None:
        self._asked, self._model = asked, model
        self._exact: _Means = []
        try:
            self._bounded = [] if model.bounded is None else self._means(model.bounded)
        except UnprovenError:
            self._bounded = []

    def _means(self, rows: Sums) -> _Means:
        return [
            (rows.combined(list(factors), list(map(Fraction, factors.values()))), divisor)
            for factors, divisor in self._asked.means()
        ]

    def answer(self, part: str, claimed: Any, moves: Moves | None) -> _Answer:
        """Return whether a part of a claim holds, and the truth of it."""
        found = _answer(part, claimed, self._bounded, moves) if self._bounded else None
        if found is None:
            found = _answer(part, claimed, self._in_integers(), moves)
        assert found is not None  # noqa: S101  (in integers everything is known)
        return found

    def _in_integers(self) -> _Means:
        self._exact = self._exact or self._means(self._model.exact)
        self._model.settled.update(range(self._asked.n_rows))
        return self._exact

    def error(self) -> Number:
        """Return the error bound of the value: no less than a double's own rounding."""
        means, label = self._bounded or self._in_integers(), self._model.largest_label
        return max(_error(facts, divisor, label) for facts, divisor in means)


def _error(facts: Measured, divisor: int, label: Fraction) -> Number:
    """Return the error bound of one mean; its size is that of its value and of the labels."""
    low, high = (end / divisor for end in ends_of(facts.score_range()))
    return max(high - low, Fraction(UNIT) * (max(-low, high) + label))


def _answer(part: str, claimed: Any, means: _Means, moves: Moves | None) -> _Answer | None:
    """Return whether a part of a claim about the largest of some means holds, and the truth of it.

    None if that is not known.
    """
    every = [_ends(part, facts, divisor, moves) for facts, divisor in means]
    low, high = max(each[0] for each in every), max(each[1] for each in every)
    if part == "low" and len(means) > 1:  # a gap is never below 0
        low, high = max(low, Fraction(0)), max(high, Fraction(0))
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    if part == "value":
        holds, fails = claimed[0] <= low and high <= claimed[1], high < claimed[0]
        fails = fails or low > claimed[1]
    elif part in ("low", "high reached"):
        holds, fails = low >= claimed, high < claimed
    else:
        holds, fails = high <= claimed, low > claimed
    return (holds, Fraction(low), Fraction(high)) if holds or fails else None


def _ends(part: str, facts: Measured, divisor: int, moves: Moves | None) -> Ends:
    """Return bounds on what a part of a claim says of one mean."""
    low, high = ends_of(facts.score_range())
    if moves is not None:
        less, more = ends_of(facts.shift(moves))
    elif part == "value":
        less, more = Fraction(0), Fraction(0)
    else:
        less, more = ends_of(facts.reach(1 if part == "high" else -1))
        less, more = (less, more) if part == "high" else (-more, -less)
    return (low + less) / divisor, (high + more) / divisor


def _value_finding(claimed: list[float], both: _Both) -> Finding:
    """Return whether the value is between two numbers that rounding alone keeps apart."""
    low, high = claimed
    holds, least, most = both.answer("value", claimed, None)
    ends, known = (low, high), (below(least), above(most))
    if not holds:
        return Finding("value", ends, REJECTED, known, f"it is {between(*known)}")
    if Fraction(high) - Fraction(low) > _ROOM * both.error():
        text = f"its ends are further apart than rounding explains; it is {between(*known)}"
        return Finding("value", ends, REJECTED, known, text)
    return Finding("value", ends, PROVEN, known, "of the model as trained")


def _finding(part: str, claimed: float, answer: _Answer, labels: str = "") -> Finding:
    holds, low, high = answer
    if not holds:
        known = below(low), above(high)
        return Finding(part, claimed, REJECTED, known, f"what is proven is {between(*known)}")
    text = "a mean of scores is one influence row, whose range is exact"
    if labels:
        text = f"{labels} changed at once lead there"
    # The truth is between the two numbers: the cautious one of them is proven.
    best = below(low) if part in ("low", "high reached") else above(high)
    return Finding(part, claimed, PROVEN, best, text)
