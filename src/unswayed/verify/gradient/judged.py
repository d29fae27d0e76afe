"""One claim, compared with what is known of its row."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from unswayed.verify.data import Bias
from unswayed.verify.document import row_numbers
from unswayed.verify.facts import Moves, claimed_budgets
from unswayed.verify.gradient.known import Known
from unswayed.verify.gradient.question import Range, Rule

Part = tuple[bool | None, str]  # whether it holds (None: not re-proven), and what if it does not


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of one subject."""

    at: int  # Its number
    base: Range  # Between which its score is as things are
    reached: Range  # Between which all admissible labels lead
    fewer: dict[int, Range]  # The same for fewer labels than the budget


class Judge:
    """Compares claims with what is known."""

    def __init__(self, known: Known, bias: Bias, rule: Rule) -> None:
        self._known, self._bias, self._rule = known, bias, rule

    def stays(self, base: Range, reached: Range) -> bool:
        """Return whether all scores between two are proven to be the same answer."""
        rule = self._rule
        return bool(rule.stays_above(base, reached[0]) and rule.stays_below(base, reached[1]))

    def judge(self, claim: dict[str, Any], bounds: Bounds) -> tuple[list[str], list[str]]:
        """Return what is false in a claim, and what is not re-proven."""
        parts = [
            *self._decision(claim, bounds), *self._verdict(claim, bounds),
            *self._ends(claim, bounds), *self._budgets(claim, bounds),
        ]  # fmt: skip
        objections = [text for holds, text in parts if holds is False]
        return objections, [text for holds, text in parts if holds is None]

    def _decision(self, claim: dict[str, Any], bounds: Bounds) -> Iterator[Part]:
        if "decision" in claim:
            found = self._rule.decision(bounds.base)
            holds = None if found is None else claim["decision"] == found
            yield holds, "the decision is " + ("not known" if found is None else str(found))

    # --- verdicts -----------------------------------------------------------------------------

    def _verdict(self, claim: dict[str, Any], bounds: Bounds) -> Iterator[Part]:
        if (claim["verdict"] == "not-robust") != ("witness" in claim):
            yield False, "a witness must be given if it is not robust, and only then"
        elif claim["verdict"] == "not-robust":
            yield from self._witness(claim, bounds)
        elif claim["verdict"] == "robust" and not self.stays(bounds.base, bounds.reached):
            if not self._known.has_box:
                yield False, f"that it is robust is not proven: {self._known.why}"
                return
            labels = self._attack(bounds)
            if labels is None:
                yield None, "that it is robust does not follow from the region by itself"
            else:
                yield False, f"it is not-robust: {labels} labels overturn it"

    def _attack(self, bounds: Bounds) -> int | None:
        """Return how many labels were found to overturn a subject; None if none were."""
        for sign in (1.0, -1.0):
            moves = self._known.guess(bounds.at, sign, self._bias.budget)
            score = self._known.moved(bounds.at, moves)
            if score is not None and self._rule.overturned(bounds.base, score):
                return len(moves.up) + len(moves.down)
        return None

    def _witness(self, claim: dict[str, Any], bounds: Bounds) -> Iterator[Part]:
        moves = self._moves(claim)
        count = len(moves.up) + len(moves.down)
        yield count <= self._bias.budget, f"its witness has {count} labels"
        if not moves.allowed(self._bias):
            text = "its witness moves a label twice, or one that the bias does not let move so"
            yield False, text
            return
        score = self._known.moved(bounds.at, moves)
        found = None if score is None else self._rule.overturned(bounds.base, score)
        unknown = "what its witness leads to could not be enclosed"
        yield found, unknown if found is None else "its witness does not overturn it"

    def _moves(self, claim: dict[str, Any]) -> Moves:
        size, where = len(self._bias.lower), f"the witness of row {claim['row']}"
        up, down = (row_numbers(claim["witness"][way], size, size, where) for way in ("up", "down"))
        return Moves(up, down)

    # --- ranges and budgets -------------------------------------------------------------------

    def _ends(self, claim: dict[str, Any], bounds: Bounds) -> Iterator[Part]:
        for name, bound, sign in zip(("low", "high"), bounds.reached, (-1.0, 1.0), strict=True):
            if name not in claim or sign * bound <= sign * claim[name]:
                continue
            if not self._known.has_box:
                yield False, f"its {name} is not proven: {self._known.why}"
                continue
            moves = self._known.guess(bounds.at, sign, self._bias.budget)
            score = self._known.moved(bounds.at, moves)
            nearest = None if score is None else score[0] if sign > 0 else score[1]
            if nearest is not None and sign * nearest > sign * claim[name]:
                yield False, f"scores beyond {name} {claim[name]!r} are reached"
            else:
                yield None, f"its {name} {claim[name]!r} is not re-proven, only {bound!r}"

    def _budgets(self, claim: dict[str, Any], bounds: Bounds) -> Iterator[Part]:
        least, most = claimed_budgets(claim)
        budget = self._bias.budget
        if least > most:
            yield False, "its minimum budgets are no range"
        if least > 0 and not self._safe(least - 1, bounds):
            yield self._too_many(claim, least), f"that {least - 1} labels are too few"
        if most < inf:
            enough = "witness" in claim and self._size(claim) <= most
            robust = most <= budget and self.stays(bounds.base, bounds.reached)
            if not enough:
                yield False if robust else None, f"that {most:.0f} labels overturn it"

    def _safe(self, labels: float, bounds: Bounds) -> bool:
        """Return whether so many labels are proven not to overturn a subject."""
        if labels <= 0:
            return True
        reached = bounds.fewer.get(int(labels)) if labels < self._bias.budget else bounds.reached
        covered = labels <= self._bias.budget or self._bias.budget >= len(self._bias.lower)
        return covered and reached is not None and self.stays(bounds.base, reached)

    def _too_many(self, claim: dict[str, Any], least: float) -> bool | None:
        """Return False if a witness has fewer labels than are claimed to be necessary."""
        if "witness" in claim and self._size(claim) < least:
            return False
        return None if self._known.has_box else False

    def _size(self, claim: dict[str, Any]) -> int:
        moves = self._moves(claim)
        return len(moves.up) + len(moves.down)
