"""What is known of one score, and what a claim about it follows from.

Every number comes as two that the truth is between: of doubles with bounds on their error, of
rational arithmetic often twice the same. Beyond that the two are alike, so that claims are compared
with both in one place.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from unswayed.verify.budget import Case, Moves, read_moves
from unswayed.verify.data import Bias
from unswayed.verify.doubles import FloatArray

Number = Fraction | float  # floats are infinite: whatever is finite is a fraction
Ends = tuple[Number, Number]
Answer = bool | None  # None: not known
Parts = Iterator[tuple[Answer, str, str]]  # of a claim: what to say if it is false, or not known

UP, DOWN = 1, -1
BUDGET, FEWER, ENOUGH = range(3)  # numbers of labels that a claim says something of
UNKNOWN: Ends = (-math.inf, math.inf)
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]  # steps, what they do, how many
COLUMNS = [(way, which) for which in range(ENOUGH + 1) for way in (UP, DOWN)]
"""What the thresholds of a row are about, in their order in the file."""


def ends_of(low: Number, high: Number) -> Ends:
    """Return bounds as fractions, infinite where they are not known."""
    return (
        Fraction(low) if math.isfinite(low) else -math.inf,
        Fraction(high) if math.isfinite(high) else math.inf,
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What the claims about some scores say something of, one row for each."""

    labels: FloatArray  # amounts: within the budget, less than overturns it, enough; rounded up
    thresholds: FloatArray  # as `COLUMNS`, of each as many as the budget has prices
    moves: list[Moves | None]  # of witnesses
    amounts: list[list[Any]] = field(default_factory=list)  # the same as `labels`, exactly
    cases: list[dict[int, list[Case]]] = field(
        default_factory=list
    )  # by column, where there are any


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the score of one row, or of one coefficient or contrast."""

    score: Ends
    # How far labels move the score up or down: as many as the budget allows, fewer than overturn
    # the answer, and enough to overturn it
    reach: dict[tuple[int, int], Ends]
    shift: Ends = UNKNOWN  # how far the labels of the witness move it

    def within(self, which: int) -> dict[int, Ends]:
        """Return how far so many labels move the score, by way."""
        return {way: self.reach[way, which] for way in (UP, DOWN)}


@dataclass(frozen=True, slots=True)
class Rule:
    """What must stay: a class, a number or a sign."""

    task: str
    mark: Fraction  # the threshold, or the radius

    @classmethod
    def of(cls, question: dict[str, Any]) -> "Rule":
        """Read the rule of a question; scores are measured from a balanced threshold."""
        mark = question.get("threshold", question.get("radius", 0))
        return cls(question["task"], Fraction(0 if mark == "balanced" else mark))

    def decision(self, score: Ends) -> int | None:
        """Return the class, or the sign of a coefficient; None if it is not known."""
        mark = self.mark if self.task == "classification" else 0
        if score[0] > mark:
            return 1
        if self.task == "classification":
            return 0 if score[1] <= mark else None
        if score[1] < mark:
            return -1
        return 0 if score == (mark, mark) else None

    def margins(self, score: Ends) -> dict[int, tuple[Number, Number, bool]] | None:
        """Return, by way, how far a score must move to overturn the answer; None if not known.

        These are two numbers that the margin is between, and whether reaching it is enough.
        """
        if self.task == "regression":
            return {UP: (self.mark, self.mark, False), DOWN: (self.mark, self.mark, False)}
        decision, (low, high) = self.decision(score), score
        mark = self.mark if self.task == "classification" else 0
        if decision == 1:
            return {DOWN: (low - mark, high - mark, True)}
        if decision is None:
            return None
        if self.task == "coefficients" and decision == 0:
            return {UP: (0, 0, False), DOWN: (0, 0, False)}
        return {UP: (mark - high, mark - low, self.task == "coefficients")}

    def crossed(self, margin: tuple[Number, Number, bool], moved: Ends) -> Answer:
        """Return whether a move between two numbers crosses a margin."""
        least, most, closed = margin
        if moved[0] > most or (closed and moved[0] == most):
            return True
        if moved[1] < least or (not closed and moved[1] == least):
            return False
        return None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What comes of a claim."""

    objections: tuple[str, ...]  # What is proven to be false in it, or wrong with its witness
    missing: tuple[str, ...]  # What is neither proven nor false

    @property
    def holds(self) -> bool:
        """Whether every part of the claim is proven."""
        return not self.objections and not self.missing


class Judge:
    """Compares claims with facts."""

    def __init__(self, bias: Bias, rule: Rule) -> None:
        self._bias, self._rule = bias, rule

    def judge(self, claim: dict[str, Any], facts: Facts) -> Judgement:
        """Return what is false in a claim, and what is not proven of it."""
        parts = [*self._about_scores(claim, facts), *self._about_budgets(claim, facts)]
        if (claim["verdict"] == "not-robust") != ("witness" in claim):
            parts.append((False, "a witness must be given if it is not robust, and only then", ""))
        elif "witness" in claim or "enough" in claim:
            parts.extend(self._about_witness(claim, facts))
        return Judgement(
            tuple(text for holds, text, _ in parts if holds is False),
            tuple(name for holds, _, name in parts if holds is None),
        )

    def _about_scores(self, claim: dict[str, Any], facts: Facts) -> Parts:
        if "decision" in claim:
            found = self._rule.decision(facts.score)
            holds = None if found is None else claim["decision"] == found
            yield holds, f"the decision is {found}", "the decision"
        for end, way in (("low", DOWN), ("high", UP)):
            if end in claim:
                said = Fraction(claim[end]) * way
                score = facts.score if way > 0 else (-facts.score[1], -facts.score[0])
                low, high = facts.reach[way, BUDGET]
                holds = True if score[1] + high <= said else None
                holds = False if score[0] + low > said else holds
                yield holds, f"scores beyond {end} {claim[end]!r} are reached", f"its {end} end"

    def _about_budgets(self, claim: dict[str, Any], facts: Facts) -> Parts:
        (least, most), budget = claimed_budgets(claim), self._bias.budget
        if claim["verdict"] == "robust" and least <= budget.said:
            found = self._overturned(facts, facts.within(BUDGET))
            yield _not(found), "labels within the budget overturn it", "that it is robust"
        if claim["verdict"] == "robust" and most <= budget.said:
            yield False, "its minimum budget is within the budget", ""
        if claim["verdict"] == "not-robust" and least > budget.said:
            yield False, "its minimum budget is beyond the budget", ""
        if least > most:
            yield False, "its minimum budget is no number", ""
        if least > 0:
            found = self._overturned(facts, facts.within(FEWER))
            text = f"its minimum budget is below {budget.some(least)}"
            yield _not(found), text, "that less does not overturn it"
        if most < math.inf:
            found = self._overturned(facts, facts.within(ENOUGH))
            moves = read_witness(claim, len(self._bias.lower))
            if found is None and moves is not None and self._size(moves) <= budget.exactly(most):
                return  # the witness shows it, or is objected to
            text = f"its minimum budget is above {budget.some(most)}"
            yield found, text, "that as much overturns it"

    def _size(self, moves: Moves) -> Number:
        return self._bias.budget.size(moves, self._bias.lower, self._bias.upper)

    def _overturned(self, facts: Facts, moved: dict[int, Ends]) -> Answer:
        """Return whether moves between two numbers, one pair for each way, overturn the answer."""
        margins = self._rule.margins(facts.score)
        if margins is None:
            return None
        found = {self._rule.crossed(margin, moved[way]) for way, margin in margins.items()}
        return True if True in found else (None if None in found else False)

    def _about_witness(self, claim: dict[str, Any], facts: Facts) -> Parts:
        """Yield whether a witness is as small as it must be, allowed, and overturns the answer."""
        moves, said = read_witness(claim, len(self._bias.lower)), claim.get("minimum_budget")
        assert moves is not None  # noqa: S101  (there are some)
        budget, size = self._bias.budget, self._size(moves)
        small = size <= budget.exactly(budget.said) and (type(said) is not int or size == said)
        yield small or "enough" in claim, f"its witness has {budget.some(size)}", ""
        text = "its witness moves a label twice, or one that the bias does not let move so"
        yield moves.allowed(self._bias.lower, self._bias.upper), text, ""
        low, high = facts.shift
        holds = self._overturned(facts, {UP: (low, high), DOWN: (-high, -low)})
        yield holds, "its witness does not overturn it", "that its witness overturns it"


def read_witness(claim: dict[str, Any], n_rows: int) -> Moves | None:
    """Return the labels that a claim says overturn its answer; None if it names none."""
    given = claim.get("witness", claim.get("enough"))
    if given is None or isinstance(given, Moves):
        return given
    return read_moves(given, n_rows, f"the witness of row {claim['row']}")


def claimed_budgets(claim: dict[str, Any]) -> tuple[float, float]:
    """Return the bounds on the minimum budget that a claim names."""
    bounds = claim.get("minimum_budget", [0, "never"])
    bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
    least, most = (math.inf if bound == "never" else bound for bound in bounds)
    return least, most


def _not(answer: Answer) -> Answer:
    return None if answer is None else not answer
