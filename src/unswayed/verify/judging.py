"""Compare claims with what is true of their row, as far as that is known."""

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from unswayed.verify.document import row_numbers
from unswayed.verify.question import Bias

Answer = bool | None  # None: not known


@dataclass(frozen=True, slots=True)
class Moves:
    """Training rows whose labels move to the upper, or to the lower, end of their interval.

    With `shares`, they go that share of the way: those that move up first.
    """

    up: "array[int]"
    down: "array[int]"
    shares: "array[float] | None" = None

    def parts(self) -> Iterator[tuple["array[int]", int, "array[float] | None"]]:
        """Yield the rows that move up, then those that move down."""
        first = len(self.up)
        for rows, end, which in ((self.up, 1, slice(first)), (self.down, 0, slice(first, None))):
            yield rows, end, None if self.shares is None else self.shares[which]


class Facts(Protocol):
    """What is true of one test row, coefficient or contrast.

    In exact arithmetic everything is known; bounds leave some of it open.
    """

    def decision(self) -> int | None:
        """Return the class, or the sign of a coefficient."""
        ...

    def holds_below(self, low: float) -> Answer:
        """Return whether no score below a number is reached within the budget."""
        ...

    def holds_above(self, high: float) -> Answer:
        """Return whether no score above a number is reached within the budget."""
        ...

    def overturned(self, labels: float) -> Answer:
        """Return whether so many labels can overturn the answer."""
        ...

    def overturned_by(self, moves: Moves) -> Answer:
        """Return whether these labels, moved so, overturn the answer."""
        ...

    def fewest(self) -> tuple[float, float]:
        """Return bounds on how many labels overturn the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """What comes of a claim."""

    objections: tuple[str, ...]  # What is proven to be false in it, or wrong with its witness
    is_open: bool  # Whether some part is neither proven nor false


class Judge:
    """Compares claims with facts."""

    def __init__(self, bias: Bias) -> None:
        self._bias = bias

    def judge(self, claim: dict[str, Any], facts: Facts) -> Judgement:
        """Return what is false in a claim, and whether anything is left open."""
        parts = [*self._about_scores(claim, facts), self._about_budgets(claim, facts)]
        if (claim["verdict"] == "not-robust") != ("witness" in claim):
            parts.append((False, "a witness must be given if it is not robust, and only then"))
        elif "witness" in claim:
            parts.extend(self._about_witness(claim, facts))
        objections = tuple(text for holds, text in parts if holds is False)
        return Judgement(objections, any(holds is None for holds, _ in parts))

    def _about_scores(self, claim: dict[str, Any], facts: Facts) -> Iterator[tuple[Answer, str]]:
        if "decision" in claim:
            found = facts.decision()
            holds = None if found is None else claim["decision"] == found
            yield holds, f"the decision is {found}"
        for end, check in (("low", facts.holds_below), ("high", facts.holds_above)):
            if end in claim:
                yield check(claim[end]), f"scores beyond {end} {claim[end]!r} are reached"

    def _about_budgets(self, claim: dict[str, Any], facts: Facts) -> tuple[Answer, str]:
        least, most = claimed_budgets(claim)
        answers: list[Answer] = []
        if least > 0:
            answers.append(_not(facts.overturned(least - 1)))
        if most < math.inf:
            answers.append(facts.overturned(most))
        if claim["verdict"] != "undecided":
            found = facts.overturned(self._bias.budget)
            answers.append(found if claim["verdict"] == "not-robust" else _not(found))
        if False in answers:
            return False, self._truth_of_budgets(facts)
        return (None if None in answers else True), ""

    def _truth_of_budgets(self, facts: Facts) -> str:
        """Return the verdict and the minimum budget in words."""
        found, (least, most) = facts.overturned(self._bias.budget), facts.fewest()
        verdict = {True: "it is not-robust: ", False: "it is robust: ", None: ""}[found]
        if least == math.inf:
            return f"{verdict}nothing overturns it"
        if least == most:
            return f"{verdict}{least:.0f} labels overturn it"
        if most == math.inf:
            return f"{verdict}no fewer than {least:.0f} labels overturn it"
        return f"{verdict}no fewer than {least:.0f} labels overturn it, and {most:.0f} do"

    def _about_witness(self, claim: dict[str, Any], facts: Facts) -> Iterator[tuple[Answer, str]]:
        """Yield whether a witness is as small as it must be, allowed, and overturns the answer."""
        size, said = len(self._bias.lower), claim.get("minimum_budget")
        where = f"the witness of row {claim['row']}"
        up, down = (row_numbers(claim["witness"][way], size, size, where) for way in ("up", "down"))
        moves = Moves(up, down)
        count = len(moves.up) + len(moves.down)
        small = count <= self._bias.budget and (type(said) is not int or count == said)
        yield small, f"its witness has {count} labels"
        text = "its witness moves a label twice, or one that the bias does not let move so"
        yield allows(self._bias, moves), text
        yield facts.overturned_by(moves), "its witness does not overturn it"


def allows(bias: Bias, moves: Moves) -> bool:
    """Return whether no label moves twice, nor one that cannot move so."""
    moved = bytearray(len(bias.lower))
    for rows, end, _ in moves.parts():
        ends = bias.upper if end else bias.lower
        for at in rows:
            if moved[at] or not ends[at]:
                return False
            moved[at] = 1
    return moves.shares is None or all(0 < share <= 1 for share in moves.shares)


def claimed_budgets(claim: dict[str, Any]) -> tuple[float, float]:
    """Return the bounds on the minimum budget that a claim names."""
    bounds = claim.get("minimum_budget", [0, "never"])
    bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
    least, most = (math.inf if bound == "never" else bound for bound in bounds)
    return least, most


def _not(answer: Answer) -> Answer:
    return None if answer is None else not answer
