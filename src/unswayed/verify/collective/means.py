"""Means of scores: a mean is one more influence row, whose range is exact."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from unswayed.verify.collective.asked import Asked
from unswayed.verify.collective.finding import PROVEN, REJECTED, Finding
from unswayed.verify.collective.kinds import Model, Sums
from unswayed.verify.collective.known import Ends, Measured, ends_of, nearest
from unswayed.verify.floating import UnprovenError
from unswayed.verify.judging import Moves
from unswayed.verify.words import counted, ratio

_Means = list[tuple[Measured, int]]  # sums of scores, and what each is divided by


def mean_findings(
    claim: dict[str, Any], asked: Asked, model: Model, witnesses: dict[str, tuple[Moves, str]]
) -> Iterator[Finding]:
    """Yield what comes of a claim of the range of a mean, or of a gap between means.

    Parameters
    ----------
    claim : dict
    asked : Asked
    model : Model
    witnesses : dict of str to (Moves, str)
        For "low" and "high", and what is wrong with them.

    Yields
    ------
    Finding
    """
    both = _Both(asked, model)
    yield _finding("value", claim["value"], both.answer("value", claim["value"], None))
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

    def answer(self, part: str, claimed: Any, moves: Moves | None) -> tuple[bool, Fraction]:
        """Return whether a part of a claim holds, and the truth of it."""
        found = _answer(part, claimed, self._bounded, moves) if self._bounded else None
        if found is None:
            self._exact = self._exact or self._means(self._model.exact)
            self._model.settled.update(range(self._asked.n_rows))
            found = _answer(part, claimed, self._exact, moves)
        assert found is not None  # noqa: S101  (in integers everything is known)
        return found


def _answer(
    part: str, claimed: Any, means: _Means, moves: Moves | None
) -> tuple[bool, Fraction] | None:
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
    return (holds, Fraction(low)) if holds or fails else None


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


def _finding(part: str, claimed: Any, answer: tuple[bool, Fraction], labels: str = "") -> Finding:
    number = claimed[0] if isinstance(claimed, list) else claimed
    holds, truth = answer
    if not holds:
        text = f"what is proven is {ratio(truth)}"
        return Finding(part, number, REJECTED, nearest(truth), text)
    text = "a mean of scores is one influence row, whose range is exact"
    if part == "value":
        text = "of the model as trained"
    elif labels:
        text = f"{labels} changed at once lead there"
    return Finding(part, number, PROVEN, nearest(truth), text)
